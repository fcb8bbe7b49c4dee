//! How the binary is linked. Most commands end within a millisecond, so what happens before `main` counts: ten thousand
//! relocations, or one more shared library, would cost more than a `check`.

#![allow(clippy::disallowed_methods, reason = "a build script is told everything by its environment")]

use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        if let Some(place) = unwinder() {
            println!("cargo::rustc-link-arg-bins=-L{}", place.display());
        }
    }
}

/// A directory in which the linker finds the unwinder as an archive. The compiler asks for `libgcc_s`, which is a shared
/// library only; a linker script of that name, found first, leads to the same code. Where the archive is not installed, or
/// another machine is built for, everything stays as it is.
fn unwinder() -> Option<PathBuf> {
    let known = |name| var(name).ok();
    if known("CARGO_CFG_TARGET_ENV")? != "gnu" || known("HOST") != known("TARGET") {
        return None;
    }
    let linker = known("RUSTC_LINKER").unwrap_or_else(|| "cc".to_owned());
    let said = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output().ok()?;
    // A file that is not found is told by its bare name.
    if !Path::new(str::from_utf8(&said.stdout).ok()?.trim()).is_absolute() {
        return None;
    }
    let place = PathBuf::from(known("OUT_DIR")?);
    std::fs::write(place.join("libgcc_s.so"), "INPUT(-lgcc_eh -lgcc)\n").ok()?;
    Some(place)
}
