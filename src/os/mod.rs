//! What the kernel does for us beyond the calls that every Unix has, behind one interface. No other file names such a call.
//!
//! `linux` is for Linux, and `posix` for every other Unix and for the feature `portable`, by which it is tested here. Both have the
//! same files and names. Where `posix` has no such call, it says `NOSYS`, "no watch" or "not known", and the caller goes the way
//! that it also goes on a disk or in a sandbox without that call. docs/why/porting.md says what that costs, and what a port could add.

#[cfg_attr(all(target_os = "linux", not(feature = "portable")), path = "linux/mod.rs")]
#[cfg_attr(not(all(target_os = "linux", not(feature = "portable"))), path = "posix/mod.rs")]
mod platform;
#[cfg(target_feature = "crt-static")]
mod static_hosts;

/// Which of the two this build has.
pub const LAYER: &str =
    if cfg!(all(target_os = "linux", not(feature = "portable"))) { "linux" } else { "posix" };

pub use platform::{files::*, processes::*, system::*, wait::*};

/// What a watch on a directory hears.
#[derive(Debug, Clone, Copy)]
pub enum News {
    Arrivals,
    Departures,
    Both,
}

/// A process above this one.
#[derive(Debug)]
pub struct Ancestor {
    pub pid: u64,
    /// What the kernel calls it.
    pub name: String,
    /// Its command line.
    pub words: Vec<String>,
    /// It has the variable that was asked for in its environment.
    pub is_marked: bool,
}

/// The controlling terminal of this process.
#[derive(Debug)]
pub struct Terminal {
    pub device: u32,
    /// Such as `/dev/pts/3`.
    pub name: String,
    /// Whether this process is in its foreground.
    pub in_foreground: bool,
}

/// The supervisor of a run, as seen by who looks for its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervisor {
    Me,
    Lives,
    Dead,
}
