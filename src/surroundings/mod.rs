//! The surroundings of a command: its environment, working directory and home directory identify the caller, the room,
//! and the directories of the person's rooms and settings.
//!
//! The library reads no environment. A face implements [`Environment`], and everything here is computed from that.

mod caller;
mod paths;
mod room;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use thiserror::Error as ThisError;

pub use caller::{HARNESS, MAILBOX, Surroundings, agent_process, is_attended, sandbox_hint};
pub use paths::{
    above, nearest_tree, program_from, programs_on_path, project_around, project_dir, project_file, tree,
    whole_path,
};
pub use room::{ROOT, Wanted, bound_root, room, rooms, sessions};

use crate::hint::Hint;
use crate::name::BadName;
use crate::post::{Failure, Worktrees};
use crate::{repository, settings};

pub type Result<T> = std::result::Result<T, Error>;

/// The environment that a process was started with.
pub trait Environment {
    fn variable(&self, name: &str) -> Option<OsString>;
    /// The working directory.
    fn here(&self) -> io::Result<PathBuf>;
    fn home(&self) -> Option<PathBuf>;

    /// A variable with a text of a sensible length.
    fn text(&self, name: &str) -> Option<String> {
        self.variable(name)?.into_string().ok().filter(|value| !value.is_empty() && value.len() <= 1024)
    }

    /// A variable with a directory.
    fn directory(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The variables with these names, unchanged.
    fn variables(&self, names: &mut dyn Iterator<Item = &str>) -> Vec<(OsString, OsString)> {
        names.filter_map(|name| Some((OsString::from(name), self.variable(name)?))).collect()
    }
}

/// An environment, as if the process had been started in another directory.
#[derive(Clone)]
pub struct Elsewhere<'a> {
    pub environment: &'a dyn Environment,
    /// `None`: where it was started.
    pub here: Option<PathBuf>,
}

impl std::fmt::Debug for Elsewhere<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elsewhere").field("here", &self.here).finish_non_exhaustive()
    }
}

impl Environment for Elsewhere<'_> {
    fn variable(&self, name: &str) -> Option<OsString> {
        self.environment.variable(name)
    }

    fn here(&self) -> io::Result<PathBuf> {
        self.here.clone().map_or_else(|| self.environment.here(), Ok)
    }

    fn home(&self) -> Option<PathBuf> {
        self.environment.home()
    }
}

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("neither XDG_STATE_HOME nor HOME says where rooms are")]
    NoState,
    #[error("HOME does not say where settings are")]
    NoHome,
    #[error("cannot find the working directory: {0}")]
    NoHere(io::Error),
    #[error("the room {}: {why}", .path.display())]
    BadRoot { path: PathBuf, why: String },
    #[error("the room `{}`: {why}", crate::message::visible::clip(.text, 80))]
    BadRoom { text: String, why: BadName },
    #[error(transparent)]
    Repository(#[from] repository::Error),
    #[error(transparent)]
    Settings(#[from] settings::Error),
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not a file, or is too large", .path.display())]
    Odd { path: PathBuf },
    #[error("there is no .claude tree at {}", .at.display())]
    NoTree { at: PathBuf },
    #[error("cannot look at {}: {source}", .path.display())]
    Look { path: PathBuf, source: io::Error },
    #[error("{}: {source}", .path.display())]
    NoPath { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Post(#[from] crate::post::Error),
}

impl Error {
    pub fn code(&self) -> Failure {
        match self {
            Self::NoHere(_) | Self::Unreadable { .. } | Self::Look { .. } => Failure::NotDone,
            Self::NoTree { .. } => Failure::Unknown,
            Self::NoState
            | Self::NoHome
            | Self::BadRoot { .. }
            | Self::BadRoom { .. }
            | Self::Repository(_)
            | Self::Settings(_)
            | Self::Odd { .. }
            | Self::NoPath { .. } => Failure::Refused,
            Self::Post(e) => e.code(),
        }
    }

    /// What to do next.
    pub fn hints(&self) -> Vec<Hint> {
        let hint = match self {
            Self::Post(e) => return e.hints(),
            Self::NoState => "--root DIR names one",
            Self::NoHome => "set HOME to your home directory",
            Self::NoHere(_) => "go to a directory that exists, or name a room: --room NAME",
            Self::BadRoot { .. } => "--root DIR names a directory",
            Self::BadRoom { .. } => {
                "ASCII letters and digits, `.`, `-`, `_`, beginning with a letter or digit"
            }
            Self::Repository(_) => "correct it, or name a room: --room NAME",
            Self::Settings(_) => "correct that file, or name a room: --room NAME",
            Self::Unreadable { .. } => "--root DIR works without it",
            Self::Odd { .. } => "move it away",
            Self::NoTree { .. } => {
                let new = Hint::run(&["help", "setup"]).to("how `setup --tree` lays one out");
                return vec!["--tree DIR names a project".into(), new.into()];
            }
            Self::Look { .. } => "try again",
            Self::NoPath { .. } => "name a directory that is there",
        };
        vec![hint.into()]
    }
}

/// The home directory of this person.
pub fn home(environment: &dyn Environment) -> Result<PathBuf> {
    environment.home().filter(|home| home.is_absolute()).ok_or(Error::NoHome)
}

/// The home directory of a user in the text of `/etc/passwd`.
pub fn home_in(passwd: &[u8], user: u32) -> Option<PathBuf> {
    let user = user.to_string();
    let fields = passwd.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':'));
    let home =
        fields.filter(|fields| fields.clone().nth(2) == Some(user.as_bytes())).find_map(|mut f| f.nth(5))?;
    Some(PathBuf::from(OsStr::from_bytes(home)))
}

/// The directory of this person's rooms and sessions.
pub fn state(environment: &dyn Environment) -> Result<PathBuf> {
    let state = environment.directory("XDG_STATE_HOME");
    let state = state.or_else(|| home(environment).ok().map(|home| home.join(".local/state")));
    Ok(state.ok_or(Error::NoState)?.join("postroom"))
}

/// Where runs of agents have their git worktrees.
pub fn worktrees(environment: &dyn Environment) -> Option<Worktrees> {
    let dir = state(environment).ok()?.join("worktrees");
    Some(Worktrees { dir, search: environment.variable("PATH") })
}

/// The directory of this person's settings: what is trusted, and what was approved.
pub fn config(environment: &dyn Environment) -> Result<PathBuf> {
    let config = environment.directory("XDG_CONFIG_HOME");
    Ok(config.map_or_else(|| home(environment).map(|home| home.join(".config")), Ok)?.join("postroom"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An environment for a test.
    #[derive(Debug, Default)]
    pub(crate) struct Given {
        pub(crate) variables: Vec<(&'static str, String)>,
        pub(crate) here: PathBuf,
        pub(crate) home: Option<PathBuf>,
    }

    impl Environment for Given {
        fn variable(&self, name: &str) -> Option<OsString> {
            self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        }

        fn here(&self) -> io::Result<PathBuf> {
            Ok(self.here.clone())
        }

        fn home(&self) -> Option<PathBuf> {
            self.home.clone()
        }
    }

    #[test]
    fn a_home_is_found_by_the_number_of_its_user() {
        let passwd = b"root:x:0:0:root:/root:/bin/bash\n\nann:x:1000:1000::/h/ann:/bin/sh\nbad:x:7\n";
        assert_eq!(home_in(passwd, 1000), Some("/h/ann".into()));
        assert_eq!(home_in(passwd, 0), Some("/root".into()));
        assert_eq!((home_in(passwd, 7), home_in(passwd, 10), home_in(b"", 0)), (None, None, None));
    }

    #[test]
    fn a_persons_directories_come_from_xdg_and_then_from_home() {
        let mut given = Given { home: Some("/h/ann".into()), ..Given::default() };
        assert_eq!(state(&given).unwrap(), PathBuf::from("/h/ann/.local/state/postroom"));
        assert_eq!(config(&given).unwrap(), PathBuf::from("/h/ann/.config/postroom"));
        given.variables = vec![("XDG_STATE_HOME", "/s".into()), ("XDG_CONFIG_HOME", "/c".into())];
        assert_eq!(state(&given).unwrap(), PathBuf::from("/s/postroom"));
        assert_eq!(config(&given).unwrap(), PathBuf::from("/c/postroom"));
        // A relative path is ignored, as the standard says.
        given.variables = vec![("XDG_STATE_HOME", "s".into()), ("XDG_CONFIG_HOME", "c".into())];
        given.home = None;
        assert!(matches!(state(&given), Err(Error::NoState)));
        assert!(matches!(config(&given), Err(Error::NoHome)));
    }
}
