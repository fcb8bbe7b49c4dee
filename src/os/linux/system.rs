//! The machine: its clock and boot, its randomness, the file of this program, and the users that a container knows.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Where the kernel says which boot this is.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Time since boot, sleep included.
pub fn boot_time() -> Timespec {
    clock_gettime(ClockId::Boottime)
}

/// Which boot this is; empty where the system does not say.
pub fn boot_id() -> io::Result<String> {
    // The kernel hands it out in one piece; asking for the size and the end of the file would double the calls.
    let mut text = [0; 64];
    let read = match File::open(BOOT_ID).and_then(|mut file| file.read(&mut text)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => 0,
        other => other?,
    };
    Ok(str::from_utf8(&text[..read]).unwrap_or_default().trim().to_owned())
}

/// Fills bytes from the kernel's generator, which fails only before boot has finished.
pub fn random(bytes: &mut [u8]) -> bool {
    getrandom(&mut *bytes, GetRandomFlags::empty()) == Ok(bytes.len())
}

/// A path to the file of this program, if its own path leads to another file, or to none, as after an upgrade. It means
/// another program to each process that reads it.
pub fn replaced_program(named: &Path) -> Option<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    let number = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    (number(&own).is_some() && number(&own) != number(named)).then_some(own)
}

/// Whether the kernel shows this number in place of one that this container does not know, such as root's outside of it.
pub fn is_unmapped(uid: u32) -> bool {
    const OVERFLOW: u32 = 65534;
    let map = || std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    uid == OVERFLOW && !is_mapped(&map(), uid)
}

/// Whether a map of a user namespace (`INSIDE OUTSIDE COUNT` in each line) has this number inside.
fn is_mapped(map: &str, uid: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().unwrap_or(0));
        let (inside, count) = (numbers.next().unwrap_or(0), numbers.nth(1).unwrap_or(0));
        (inside..inside + count).contains(&u64::from(uid))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_knows_the_numbers_of_its_map_alone() {
        let whole = "         0          0 4294967295\n";
        assert!(is_mapped(whole, 0) && is_mapped(whole, 65534));
        let one = "      1000       1000          1\n";
        assert!(is_mapped(one, 1000) && !is_mapped(one, 65534) && !is_mapped(one, 0));
        let two = "0 1000 1\n1 100000 65536\n";
        assert!(is_mapped(two, 65534) && is_mapped(two, 65536) && !is_mapped(two, 65537));
    }
}
