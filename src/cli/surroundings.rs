//! The surroundings of this process: the only place that reads the environment, the home directory and the working directory. What
//! they mean is decided in [`crate::surroundings`].
#![allow(clippy::disallowed_methods, reason = "this is the place")]

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::surroundings::{Environment, home_in, program_from};

/// What this process was started with.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThisProcess;

impl Environment for ThisProcess {
    fn variable(&self, name: &str) -> Option<OsString> {
        env::var_os(name)
    }

    fn here(&self) -> io::Result<PathBuf> {
        env::current_dir()
    }

    fn home(&self) -> Option<PathBuf> {
        // Not `env::home_dir`: where HOME is not set, that asks the C library, which in a static binary loads whatever
        // libraries for users the machine has.
        env::var_os("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from)
            .or_else(|| home_in(&std::fs::read("/etc/passwd").ok()?, rustix::process::getuid().as_raw()))
    }
}

/// The command line, the program's name first.
pub(super) fn arguments() -> Vec<OsString> {
    env::args_os().collect()
}

/// A file of a program on the search path.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    program_from(&ThisProcess, program, Path::new(""))
}

/// The file of this program itself, to be started again.
pub(super) fn myself() -> io::Result<PathBuf> {
    // After an upgrade its name leads to another file, or to none; what runs goes on with what it began with.
    let named = env::current_exe()?;
    Ok(crate::os::replaced_program(&named).unwrap_or(named))
}

/// The path of this program, if it still leads to it.
pub(super) fn own_path() -> io::Result<Option<PathBuf>> {
    let named = env::current_exe()?;
    Ok(Some(named).filter(|named| crate::os::replaced_program(named).is_none()))
}

/// The process that started this command, which is the agent or its shell.
pub(super) fn parent() -> u64 {
    rustix::process::getppid().map_or(0, |pid| u64::try_from(pid.as_raw_nonzero().get()).unwrap_or(0))
}
