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
        assert_eq!(digest("abc", 4), "ba7816bf");
        assert_eq!(digest_of_two("a", "b", 16), digest("a\0b", 16));
    }
}
