//! The machine: its clock and its randomness. There is no portable way to tell one boot from another, so a lease also ends by
//! the wall clock (`mailbox/claim.rs`).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// What an error would name. Reading it never fails here.
pub const BOOT_ID: &str = "the boot id";

/// Time since boot; whether sleep is included differs between systems.
pub fn boot_time() -> Timespec {
    clock_gettime(ClockId::Monotonic)
}

/// Which boot this is; empty where the system does not say.
pub fn boot_id() -> io::Result<String> {
    Ok(String::new())
}

/// Fills bytes from the kernel's generator.
pub fn random(bytes: &mut [u8]) -> bool {
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(bytes)).is_ok()
}

/// A path to the file of this program, if its own path leads to another file by now. This cannot be seen here.
pub fn replaced_program(_: &Path) -> Option<PathBuf> {
    None
}

/// Whether this number stands for one that a container does not know.
pub fn is_unmapped(_: u32) -> bool {
    false
}
