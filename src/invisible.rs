//! Characters that draw nothing: what a reader would not see, and what lets two names look alike.
//!
//! Unicode decides, not a list of ours: `Default_Ignorable_Code_Point`, format characters (Cf), private use (Co) and what
//! is not assigned (Cn), which may come to mean anything. `table` is generated from those properties; a test compares it
//! with the tables of another crate and writes a new one when they differ. Pure.

mod table;

/// Whether a character has no picture of its own, or one that nobody can know.
pub fn is_invisible(c: char) -> bool {
    contains(&table::INVISIBLE, c)
}

/// Whether a character beyond ASCII may be an emoji, alone or with what follows it.
pub fn is_emoji(c: char) -> bool {
    contains(&table::EMOJI, c)
}

fn contains(ranges: &[(u32, u32)], c: char) -> bool {
    let c = u32::from(c);
    let after = ranges.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= ranges[after - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_ranges_belong_to_them() {
        assert!(is_invisible('\u{fe00}') && is_invisible('\u{fe0f}'));
        assert!(!is_invisible('\u{fdff}') && !is_invisible('\u{fe10}'));
        assert!(is_invisible(char::MAX) && !is_invisible('\0') && !is_invisible('a'));
        assert!(is_emoji('❤') && is_emoji('👩') && !is_emoji('1') && !is_emoji('é'));
    }
}
