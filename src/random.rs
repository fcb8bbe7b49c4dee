//! Randomness from the kernel: for message ids, minted ids, nonces and names of staging files.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

use crate::os;

/// Sixteen random bytes.
pub fn bytes() -> [u8; 16] {
    let mut bytes = [0u8; 16];
    // The clock is then the best there is.
    if !os::random(&mut bytes) {
        let now = clock_gettime(ClockId::Monotonic);
        bytes[..8].copy_from_slice(&now.tv_sec.to_ne_bytes());
        bytes[8..].copy_from_slice(&now.tv_nsec.to_ne_bytes());
    }
    bytes
}

/// A random number.
pub fn number() -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = bytes();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// Eight random hex digits.
pub fn hex() -> String {
    format!("{:08x}", number() as u32)
}

/// Sixteen hex digits that no other call gives: random once per process, then counted.
pub fn unique_hex() -> String {
    static START: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let next = START.get_or_init(number).wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed));
    format!("{next:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_and_have_their_length() {
        assert_ne!(bytes(), bytes());
        assert_ne!(unique_hex(), unique_hex());
        assert_eq!((hex().len(), unique_hex().len()), (8, 16));
    }
}
