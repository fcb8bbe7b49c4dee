//! Hexadecimal text: of bytes, and of digests that stand for texts of any kind in names of files.

use sha2::{Digest, Sha256};

/// Two digits for each byte.
pub fn of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The bytes of an even number of digits, in small or large letters.
pub fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let bytes = pairs.iter().map(|[high, low]| Some(value(*high)? << 4 | value(*low)?)).collect();
    rest.is_empty().then_some(bytes)?
}

/// The first `bytes` of the SHA-256 of a text.
pub fn digest(text: impl AsRef<[u8]>, bytes: usize) -> String {
    of(&Sha256::digest(text)[..bytes])
}

/// The digest of two texts with a zero byte between them.
pub fn digest_of_two(one: &str, other: &str, bytes: usize) -> String {
    of(&Sha256::new().chain_update(one).chain_update([0]).chain_update(other).finalize()[..bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_for_each_byte() {
        assert_eq!(of(&[0, 15, 16, 255]), "000f10ff");
        assert_eq!(bytes("000f10Ff"), Some(vec![0, 15, 16, 255]));
        assert_eq!(bytes(""), Some(vec![]));
        for wrong in ["0", "+f", " 1", "0g", "é"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
        assert_eq!(digest("abc", 4), "ba7816bf");
        assert_eq!(digest_of_two("a", "b", 16), digest("a\0b", 16));
    }
}
