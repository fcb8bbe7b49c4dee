//! Mutations: one sync or one no-replace flag left out, to see whether the torture battery notices it (D4).
//!
//! Compiled only with the feature `mutations`, which nothing but that test asks for. `POSTROOM_MUTATION` names what is
//! left out, as `sync src/mailbox/maildir/mod.rs:160`; `POSTROOM_MUTATION_SITES` names a file to which every place that is
//! reached is appended, in the same words.

use std::io::Write;
use std::panic::Location;

/// Whether this one is left out.
#[track_caller]
pub(super) fn leaves_out(what: &str) -> bool {
    let place = Location::caller();
    let site = format!("{what} {}:{}", place.file(), place.line());
    if let Some(path) = std::env::var_os("POSTROOM_MUTATION_SITES") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(format!("{site}\n").as_bytes()));
    }
    std::env::var_os("POSTROOM_MUTATION").is_some_and(|wanted| wanted == site.as_str())
}
