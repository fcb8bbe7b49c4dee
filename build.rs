//! How the binary is linked, and what it knows of its own build.
//!
//! Most commands end within a millisecond, so what happens before `main` counts: ten thousand relocations, or one more shared
//! library, would cost more than a `check`. A static binary (`cargo xtask dist`) loads none, so nothing here concerns it.

#![allow(clippy::disallowed_methods, reason = "a build script is told everything by its environment")]

use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") && !is_static() {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        if let Some(place) = unwinder() {
            println!("cargo::rustc-link-arg-bins=-L{}", place.display());
        }
    }
    say_what_is_built();
}

fn is_static() -> bool {
    var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|features| features.split(',').any(|one| one == "crt-static"))
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

/// What makes the binary: a change there is a new build anyway, so it costs nothing to ask for the commit again. A commit alone
/// changes none of this. It starts no build, and the binary still names the commit, with changes, that it was made from. Only
/// `cargo xtask dist` names the commit in its environment, so that what is shipped is built of it.
const SOURCE: [&str; 4] = ["src", "Cargo.toml", "Cargo.lock", "build.rs"];

/// For `postroom --version --verbose`.
fn say_what_is_built() {
    for path in SOURCE {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed=POSTROOM_RELEASE_OF");
    let unknown = || "unknown".to_owned();
    println!("cargo::rustc-env=POSTROOM_COMMIT={}", commit().unwrap_or_else(unknown));
    println!("cargo::rustc-env=POSTROOM_PROFILE={}", profile().unwrap_or_else(unknown));
    println!("cargo::rustc-env=POSTROOM_TARGET={}", var("TARGET").unwrap_or_else(|_| unknown()));
}

/// The commit of the checkout; `None` without git, and in an unpacked archive, also if that is inside another repository.
fn commit() -> Option<String> {
    let said = git(&["rev-parse", "--show-prefix", "HEAD"])?;
    let commit = said.strip_prefix('\n')?.trim();
    let status = git(&[&["status", "--porcelain", "--"], SOURCE.as_slice()].concat())?;
    Some(format!("{commit}{}", if status.is_empty() { "" } else { " with changes" }))
}

/// What git says, from the directory of the package, in which cargo runs this.
fn git(words: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    // Refreshing the index would take its lock, and get in the way of a commit.
    let said =
        git.arg("--no-optional-locks").args(words).output().ok().filter(|said| said.status.success())?;
    String::from_utf8(said.stdout).ok()
}

/// The profile by its own name, which is that of the directory: `PROFILE` says `release` for every optimised build.
fn profile() -> Option<String> {
    let out = PathBuf::from(var("OUT_DIR").ok()?);
    let build = out.ancestors().find(|path| path.file_name().is_some_and(|name| name == "build"))?;
    Some(build.parent()?.file_name()?.to_string_lossy().into_owned())
}
