//! A code: what a person reads from the terminal and types into a browser. Good once.

use crate::random;

/// Digits and letters that nobody takes for others.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A code that a person can type: 80 bits, in groups of four.
pub(super) fn new() -> String {
    let letters = random::bytes().map(|byte| LETTERS[usize::from(byte) % LETTERS.len()] as char);
    letters.chunks(4).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join("-")
}

/// A code as it was meant, however it was typed.
pub(super) fn meant(code: &str) -> String {
    let letters = code.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| c.to_ascii_lowercase());
    letters
        .map(|c| {
            if c == 'o' {
                '0'
            } else if c == 'i' || c == 'l' {
                '1'
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_can_be_typed() {
        let code = new();
        assert_eq!((code.len(), code.matches('-').count()), (19, 3), "{code}");
        let typed = code.replace('-', " ").replace('0', "O").replace('1', "l").to_uppercase();
        assert_eq!(meant(&typed), meant(&code), "{code} {typed}");
        assert_eq!(meant(&code).len(), 16);
        assert_ne!(new(), code);
    }
}
