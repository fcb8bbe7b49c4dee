//! Text made safe to show: the content of a message never reaches a terminal as a control.
//!
//! [`line`] returns one line, [`text`] keeps line breaks. Controls and all characters that draw nothing (`invisible`)
//! become visible escapes such as `\u{1b}`, so that a reader sees that something was there. Emoji and some scripts need
//! such characters: they stay where they change the drawing ([`is_drawn_with`]), and nowhere else.
//!
//! [`piped`] is for a body that does not go to a terminal: a program gets its bytes, except the few characters by which
//! it could still reach one, or be read in another order than it is written.

use std::borrow::Cow;

use serde::Serialize;
use unicode_normalization::char::canonical_combining_class;

use crate::invisible::{is_emoji, is_invisible};

const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
const KEYCAP: char = '\u{20e3}';

/// One line: line breaks and tabs become spaces.
pub fn line(text: &str) -> String {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.to_owned();
    }
    shown(text, |c, _, out| match c {
        '\n' | '\t' | '\u{2028}' | '\u{2029}' => {
            out.push(' ');
            true
        }
        _ => false,
    })
}

/// Several lines: line breaks stay, tabs become spaces.
pub fn text(text: &str) -> String {
    shown(text, |c, next, out| {
        match c {
            '\n' => out.push('\n'),
            '\r' if next == Some('\n') => {}
            '\t' => out.push_str("    "),
            _ => return false,
        }
        true
    })
}

/// A body in a pipe: only ESC, C1 controls and bidi controls become escapes.
pub fn piped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe_in_a_pipe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_unsafe_in_a_pipe(c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// ESC, C1, and what Unicode calls `Bidi_Control`.
fn is_unsafe_in_a_pipe(c: char) -> bool {
    matches!(c, '\u{1b}' | '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with escapes for unsafe characters. `own` may write a character itself, with a look at the next one; it
/// returns whether it did.
fn shown(text: &str, own: impl Fn(char, Option<char>, &mut String) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = [None; 2];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let escaped = is_unsafe(c) && !is_drawn_with(before, c, next);
        match own(c, next, &mut out) {
            true => {}
            false if escaped => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
        // A character shown as an escape does not affect the drawing of the next.
        before = [before[1], (!escaped).then_some(c)];
    }
    out
}

/// Whether an invisible character changes how its neighbours are drawn: a selector right after an emoji or in a keycap,
/// a joiner between two emoji or after a virama, a non-joiner after a virama or between letters of the Arabic script.
/// So at most one follows a character, and none a letter of most scripts.
fn is_drawn_with(before: [Option<char>; 2], c: char, next: Option<char>) -> bool {
    let [earlier, Some(last)] = before else { return false };
    let is_virama = || canonical_combining_class(last) == 9;
    match (c, next) {
        ('\u{fe0f}', Some(KEYCAP)) if matches!(last, '0'..='9' | '#' | '*') => true,
        ('\u{fe0e}' | '\u{fe0f}', _) => is_emoji(last),
        (JOINER, Some(next)) => {
            let joined = is_emoji(last) || last == '\u{fe0f}' && earlier.is_some_and(is_emoji);
            joined && is_emoji(next) || is_virama()
        }
        (NON_JOINER, Some(next)) => is_virama() || is_arabic(last) && is_arabic(next),
        _ => false,
    }
}

/// A letter of the blocks in which letters join with their neighbours.
fn is_arabic(c: char) -> bool {
    c.is_alphabetic() && matches!(c, '\u{620}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}')
}

/// The number of columns of a line.
pub fn columns(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line(text).as_str())
}

/// A line padded, or cut, to exactly `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    let text = clip(text, width);
    let fill = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(fill))
}

/// One line of at most `width` columns; ends with an ellipsis if something was cut.
pub fn clip(text: &str, width: usize) -> String {
    use unicode_width::UnicodeWidthChar;
    let clean = line(text);
    // Joined characters are narrower than their parts.
    if unicode_width::UnicodeWidthStr::width(clean.as_str()) <= width {
        return clean;
    }
    let mut used = 0;
    for (at, c) in clean.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            let mut keep = at;
            let mut room = used - c.width().unwrap_or(0);
            while room >= width.max(1) {
                let Some((before, last)) = clean[..keep].char_indices().next_back() else { break };
                room -= last.width().unwrap_or(0);
                keep = before;
            }
            // A joiner whose second half was cut off.
            return format!("{}…", clean[..keep].trim_end_matches([JOINER, NON_JOINER]));
        }
    }
    clean
}

/// One line of at most so many bytes; ends with an ellipsis if something was cut.
pub fn cut(text: &str, bytes: usize) -> String {
    let mut clean = line(text);
    if clean.len() > bytes {
        clean.truncate(clean.floor_char_boundary(bytes.saturating_sub('…'.len_utf8())));
        clean.truncate(clean.trim_end_matches([JOINER, NON_JOINER]).len());
        clean.push('…');
    }
    clean
}

/// The beginning of several lines, at most so many characters; says how many bytes are left out.
pub fn beginning(text: &str, characters: usize) -> String {
    let clean = self::text(text.trim_end());
    match clean.char_indices().nth(characters) {
        Some((at, _)) => format!("{}\n… {} more bytes", &clean[..at], clean.len() - at),
        None => clean,
    }
}

/// A document on one line. JSON leaves some characters raw that a terminal might obey, so these are escaped too.
pub fn json(document: &impl Serialize) -> String {
    let (mut text, mut units) = (String::new(), [0u16; 2]);
    // Only a map whose keys are not text could fail, and no document has one.
    for c in serde_json::to_string(document).unwrap_or_default().chars() {
        match is_unsafe(c) {
            true => {
                c.encode_utf16(&mut units).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")))
            }
            false => text.push(c),
        }
    }
    text
}

/// Whether this character could mislead a terminal or a reader, in any position.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c)
}

/// A name unchanged if it is one plain word, else in quotation marks that it cannot close: one that was written by hand
/// may hold a sentence.
pub fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '@');
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("\"{}\"", line(name).replace('"', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_visible() {
        assert_eq!(line("a\u{1b}[2Jb\nc\td"), "a\\u{1b}[2Jb c d");
        assert_eq!(text("a\r\nb\tc\rd"), "a\nb    c\\u{d}d");
        assert_eq!(line("x\u{202e}y\u{e0041}z\u{200b}"), "x\\u{202e}y\\u{e0041}z\\u{200b}");
        assert_eq!(line("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(line("Ångström 陳 👩\u{200d}🔬"), "Ångström 陳 👩\u{200d}🔬");
    }

    #[test]
    fn a_pipe_gets_everything_but_esc_c1_and_bidi() {
        let kept = "a\r\nb\tc\u{7}\u{8}\u{7f}\0\u{200b}\u{feff}\u{e0041}\u{2028}👩\u{200d}🔬";
        assert!(matches!(piped(kept), Cow::Borrowed(same) if same == kept));
        assert_eq!(piped("\u{1b}[2J\u{9b}1m\u{85}\u{9f}"), "\\u{1b}[2J\\u{9b}1m\\u{85}\\u{9f}");
        assert_eq!(piped("x\u{202e}y\u{2066}z\u{200f}\u{61c}"), "x\\u{202e}y\\u{2066}z\\u{200f}\\u{61c}");
        assert_eq!(piped(&piped("\u{1b}")), "\\u{1b}", "once");
    }

    #[test]
    fn what_draws_nothing_becomes_visible_where_it_changes_nothing() {
        for good in [
            "❤\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "👩🏽\u{200d}💻",
            "🏳\u{fe0f}\u{200d}🌈",
            "می\u{200c}خ",
            "क्\u{200d}ष",
        ] {
            assert_eq!((line(good), text(good)), (good.to_owned(), good.to_owned()));
        }
        for (bad, shown) in [
            ("1\u{fe0f}2", "1\\u{fe0f}2"),
            ("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}\\u{fe0f}"),
            ("👩\u{200d}", "👩\\u{200d}"),
            ("👩\u{200d}\u{200d}💻", "👩\\u{200d}\\u{200d}💻"),
            ("a\u{200d}💻", "a\\u{200d}💻"),
            ("a\u{fe0f}\u{200d}💻", "a\\u{fe0f}\\u{200d}💻"),
            ("a\u{200c}b", "a\\u{200c}b"),
            ("🏴\u{e0067}\u{e007f}", "🏴\\u{e0067}\\u{e007f}"),
            ("\u{fe0f}", "\\u{fe0f}"),
        ] {
            assert_eq!(line(bad), shown);
            assert_eq!(line(shown), shown, "shown twice");
        }
    }

    #[test]
    fn no_half_of_a_pair_is_left_by_a_cut() {
        let pair = "👩\u{200d}💻";
        assert!((0..12).all(|size| line(&cut(pair, size)) == cut(pair, size)), "by bytes");
        assert!((0..6).all(|size| line(&clip(pair, size)) == clip(pair, size)), "by columns");
    }

    #[test]
    fn cutting_counts_bytes() {
        assert_eq!((cut("hello", 5).as_str(), cut("hello!", 5).as_str()), ("hello", "he…"));
        assert_eq!((cut("陳陳陳", 8).as_str(), cut("a\n\u{1b}", 12).as_str()), ("陳…", "a \\u{1b}"));
    }

    #[test]
    fn a_beginning_says_how_much_is_left_out() {
        assert_eq!(beginning("ab\n\u{1b}[1m\n", 20), "ab\n\\u{1b}[1m");
        assert_eq!(beginning("äöü\n", 3), "äöü");
        assert_eq!(beginning("äöü\n", 2), "äö\n… 2 more bytes");
    }

    #[test]
    fn clipping_counts_columns() {
        assert_eq!(clip("hello", 5), "hello");
        assert_eq!(clip("hello!", 5), "hell…");
        assert_eq!(clip("陳陳陳", 5), "陳陳…");
        assert_eq!(clip("陳陳陳", 4), "陳…");
    }
}
