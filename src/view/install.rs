//! Installations: the files of Postroom in the settings of an agent program.

use std::path::PathBuf;

use serde::Serialize;

use crate::agents::change;
use crate::agents::ledger::Done;
use crate::agents::probe::{Said, Trust};

/// A file of an installation, and the action on it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstalledFile {
    /// Its path.
    pub path: String,
    /// `written`, `in place`, `restored`, `taken out`, `kept`, or `left, changed by hand:`.
    pub done: &'static str,
}

impl InstalledFile {
    fn all(files: &[(PathBuf, Done)]) -> Vec<Self> {
        files
            .iter()
            .map(|(path, done)| Self { path: path.display().to_string(), done: done.as_str() })
            .collect()
    }
}

/// The installation for an agent program, printed by `install`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Install<'a> {
    /// The program.
    pub program: &'a str,
    /// For all of the user's work, or for a project: `user` or `project`.
    #[cfg_attr(test, schemars(extend("enum" = ["user", "project"])))]
    pub scope: &'a str,
    /// Its version, in words.
    pub version: String,
    /// The files.
    pub files: Vec<InstalledFile>,
    /// Whether the program sees the server of Postroom; left out if it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<bool>,
    /// Whether the program trusts the hooks, in words; left out if it has no such trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// What the person has to do next; empty if nothing.
    pub then: &'a str,
}

impl<'a> Install<'a> {
    pub fn of(
        (program, scope, then): (&'a str, &'a str, &'a str),
        version: String,
        files: &[(PathBuf, Done)],
        (said, trust): &(Said, Option<Trust>),
    ) -> Self {
        let (files, server) = (InstalledFile::all(files), sees_server(said));
        Self { program, scope, version, files, server, trust: trust.as_ref().map(Trust::to_string), then }
    }
}

fn sees_server(said: &Said) -> Option<bool> {
    match said {
        Said::Yes => Some(true),
        Said::No(_) => Some(false),
        Said::Nothing => None,
    }
}

/// A file of an installation, and whether it is as it should be.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedFile {
    /// Its path.
    pub path: String,
    /// `current`, `drifted` or `missing`, or why it cannot be read.
    pub state: String,
}

/// The installation for one program.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedProgram {
    /// The program.
    pub program: &'static str,
    /// For all of the user's work, or for a project: `user` or `project`.
    #[cfg_attr(test, schemars(extend("enum" = ["user", "project"])))]
    pub scope: &'static str,
    /// Whether all is as it should be.
    #[cfg_attr(test, schemars(extend("enum" = ["current", "drifted", "missing"])))]
    pub state: &'static str,
    /// Its version, in words.
    pub version: String,
    /// The files.
    pub files: Vec<CheckedFile>,
    /// Whether the program sees the server of Postroom; left out if it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<bool>,
    /// Whether the program trusts the hooks, in words; left out if it has no such trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
}

impl CheckedProgram {
    pub fn of(
        (program, scope): (&'static str, &'static str),
        state: change::FileState,
        version: String,
        files: Vec<CheckedFile>,
        (said, trust): (&Said, Option<&Trust>),
    ) -> Self {
        let (state, server) = (state.as_str(), sees_server(said));
        Self { program, scope, state, version, files, server, trust: trust.map(Trust::to_string) }
    }
}

/// The installations, printed by `install --check`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstallCheck {
    /// The programs.
    pub programs: Vec<CheckedProgram>,
}

/// The removed installation, printed by `uninstall`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Uninstall<'a> {
    /// The program.
    pub program: &'a str,
    /// The files.
    pub files: Vec<InstalledFile>,
}

impl<'a> Uninstall<'a> {
    pub fn of(program: &'a str, files: &[(PathBuf, Done)]) -> Self {
        Self { program, files: InstalledFile::all(files) }
    }
}
