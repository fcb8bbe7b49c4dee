//! Installations: the files of Postroom in the settings of an agent program.

use std::path::PathBuf;

use serde::Serialize;

use crate::agents::change;
use crate::agents::ledger::Done;
use crate::agents::probe::Trust;
use crate::agents::programs::Program;
use crate::agents::verify::Report;

/// A file of an installation, and the action on it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstalledFile {
    /// Its path.
    pub path: String,
    /// `written`, `in place`, `removed`, `restored`, `removed from`, `kept`, or `left, changed by hand:`.
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
    /// Whether the program sees the hooks of Postroom; left out if it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<bool>,
    /// Whether it sees the skill; left out if it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<bool>,
    /// Whether it sees the MCP server; left out if that is not registered, or it could not be asked.
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
        program: &'a Program,
        scope: &'a str,
        version: String,
        files: &[(PathBuf, Done)],
        report: &Report,
    ) -> Self {
        let (hooks, skill) = (report.hooks.known(), report.skill.known());
        let (server, trust) = (report.server.known(), report.trust.as_ref().map(Trust::to_string));
        let (files, then) = (InstalledFile::all(files), program.then);
        Self { program: program.word, scope, version, files, hooks, skill, server, trust, then }
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
    /// Whether the program sees the hooks of Postroom; left out if it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<bool>,
    /// Whether it sees the skill; left out if it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<bool>,
    /// Whether it sees the MCP server; left out if that is not registered, or it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<bool>,
    /// Whether the program trusts the hooks, in words; left out if it has no such trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
}

impl CheckedProgram {
    pub fn of(
        program: &'static Program,
        scope: &'static str,
        state: change::FileState,
        version: String,
        files: Vec<CheckedFile>,
        report: &Report,
    ) -> Self {
        let (hooks, skill) = (report.hooks.known(), report.skill.known());
        let (server, trust) = (report.server.known(), report.trust.as_ref().map(Trust::to_string));
        let state = state.as_str();
        Self { program: program.word, scope, state, version, files, hooks, skill, server, trust }
    }
}

/// The installations, printed by `install --check`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstallCheck {
    /// The programs.
    pub programs: Vec<CheckedProgram>,
}

/// A file that would change.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlannedFile {
    /// Its path.
    pub path: String,
    /// `write` a new file, `change` it or `remove` it.
    #[cfg_attr(test, schemars(extend("enum" = ["write", "change", "remove"])))]
    pub action: &'static str,
    /// Its lines: removed ones begin with `- `, added ones with `+ `, others with two spaces; `…` stands for skipped ones.
    pub difference: Vec<String>,
}

/// What would change, printed by `install --dry-run` and `uninstall --dry-run`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InstallPlan {
    /// The program.
    pub program: &'static str,
    /// For all of the user's work, or for a project: `user` or `project`.
    #[cfg_attr(test, schemars(extend("enum" = ["user", "project"])))]
    pub scope: &'static str,
    /// The files that would change.
    pub files: Vec<PlannedFile>,
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
