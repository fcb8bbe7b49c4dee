//! The static binary of a release, and what the packages say about it.
//!
//! It is linked with the C library of this machine, at a fixed address: nothing is loaded and hardly anything relocated before
//! `main`. The flags are passed for the target alone, so that build scripts and macros are built as usual.

use std::path::PathBuf;

use crate::repo::Repo;
use crate::run;

const TARGET: &str = "x86_64-unknown-linux-gnu";
const FLAGS: [&str; 2] = ["-Ctarget-feature=+crt-static", "-Crelocation-model=static"];
/// For the linker that comes with Rust on this target: code and texts that are the same are there once.
const LINK: [&str; 2] = ["-Clink-arg=-Wl,--icf=all", "-Clink-arg=-Wl,-O2"];
/// In every static binary that calls `getpwuid_r`, `getaddrinfo` or the like.
const NSS: &[u8] = b"/etc/nsswitch.conf";
const MOST_BYTES: usize = 16 << 20;

#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) version: &'static str,
    /// The time of the commit in seconds, for every file in every package: the same commit makes the same bytes.
    pub(crate) time: u64,
    pub(crate) path: PathBuf,
    pub(crate) binary: Vec<u8>,
}

impl Release {
    pub(crate) fn build(repo: &Repo) -> Result<Self, String> {
        // Each registry writes a pre-release in its own way; nobody has needed one yet.
        let version = env!("CARGO_PKG_VERSION");
        if version.contains(['-', '+']) {
            return Err(format!("{version} is a pre-release, and the packages have no form for that"));
        }
        let commit = run::unseen(repo.command("git").args(["rev-parse", "HEAD"]))?;
        let words = ["rustc", "--profile", "dist", "--locked", "--bin", "postroom", "--target", TARGET, "--"];
        // It comes before RUSTFLAGS and every configuration, which would otherwise replace these flags.
        let mut cargo = repo.cargo();
        cargo.args(words).args(LINK).env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
        run::run(cargo.env("POSTROOM_RELEASE_OF", commit.trim()))?;
        let path = repo.target.join(TARGET).join("dist/postroom");
        let binary = std::fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        if wants_loader(&binary) != Some(false) {
            return Err(format!("{} is not a static binary", path.display()));
        }
        if binary.windows(NSS.len()).any(|bytes| bytes == NSS) {
            let why =
                "looks up users or hosts by the C library, which loads libraries of the machine for that";
            return Err(format!("{} {why}", path.display()));
        }
        if binary.len() >= MOST_BYTES {
            return Err(format!("{} has {} bytes, {MOST_BYTES} or more", path.display(), binary.len()));
        }
        let said = run::unseen(repo.command("git").args(["log", "-1", "--format=%ct"]))?;
        let time = said.trim().parse().map_err(|_| format!("git gives no time: {said}"))?;
        Ok(Self { version, time, path, binary })
    }
}

/// Whether a 64-bit ELF file names a program that loads its libraries (`PT_INTERP`). `None` if it is no such file.
fn wants_loader(elf: &[u8]) -> Option<bool> {
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(elf.get(at..at.checked_add(size)?)?);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (first, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    let kinds = (0..count).map(|index| number(first.checked_add(index * size)?, 4));
    Some(kinds.collect::<Option<Vec<_>>>()?.contains(&3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_with_a_loader_is_not_static() {
        // The test itself is built as usual.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(wants_loader(&own), Some(true));
        assert_eq!((wants_loader(b"#!/bin/sh\n"), wants_loader(&own[..60])), (None, None));
    }
}
