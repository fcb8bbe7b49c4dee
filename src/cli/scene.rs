//! The scene of an installation: one agent program on this machine, with its version, its settings and what it reports
//! itself.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::fail::Fail;
use super::surroundings::ThisProcess;
use super::{own_program, surroundings};
use crate::agents::install_files::Site;
use crate::agents::ledger::InstallOptions;
use crate::agents::probe::{self, Said, Trust};
use crate::agents::programs::{Program, Wake};
use crate::surroundings::{Environment, home, state};

/// One program on this machine.
pub(super) struct Scene {
    pub(super) spec: &'static Program,
    /// The executable, if it was found.
    pub(super) file: Option<PathBuf>,
    version: Option<[u32; 3]>,
    pub(super) site: Site,
}

impl Scene {
    pub(super) fn look(
        context: &Context,
        spec: &'static Program,
        project: Option<PathBuf>,
        name: Option<String>,
    ) -> Result<Self, Fail> {
        let home = home(&ThisProcess)?;
        let (config, moved) = config_of(spec, &home);
        let file = surroundings::on_path(spec.word);
        let version = file.as_deref().and_then(probe::version);
        let postroom = match &project {
            Some(_) => "postroom".to_owned(),
            None => own_program::lasting_path()?.display().to_string(),
        };
        // An unknown hook may make a program reject all its settings, so its version must be known to have it.
        let wakes = spec.wake != Wake::Rewake || version.is_some_and(|version| version >= spec.tested);
        let site = Site {
            home,
            config,
            moved,
            project,
            postroom,
            roots: roots(context)?,
            name,
            bodies: None,
            wakes,
            types: false,
            start: None,
        };
        Ok(Self { spec, file, version, site })
    }

    /// The options for its installation.
    pub(super) fn with(&self) -> InstallOptions {
        InstallOptions {
            roots: self.site.roots.clone(),
            name: self.site.name.clone(),
            bodies: self.site.bodies,
            types: self.site.types,
        }
    }

    pub(super) fn scope(&self) -> &'static str {
        if self.site.project.is_some() { "project" } else { "user" }
    }

    pub(super) fn base(&self) -> &Path {
        self.site.project.as_deref().unwrap_or(&self.site.home)
    }

    /// What the program itself reports.
    pub(super) fn probe(&self) -> (Said, Option<Trust>) {
        let Some(file) = &self.file else { return (Said::Nothing, None) };
        let trust = (self.spec.wake == Wake::Queue).then(|| probe::trust(file, self.base()));
        (probe::server(self.spec, file, self.base()), trust)
    }

    pub(super) fn version_shown(&self) -> String {
        match (self.version, &self.file) {
            (Some([a, b, c]), _) => format!("{a}.{b}.{c}"),
            (None, Some(_)) => "of an unknown version".to_owned(),
            (None, None) => "not on the search path".to_owned(),
        }
    }

    pub(super) fn is_older(&self) -> bool {
        self.version.is_some_and(|version| version < self.spec.tested)
    }
}

/// The settings directory of a program, and whether it is not in the default place.
fn config_of(spec: &Program, home: &Path) -> (PathBuf, bool) {
    let (variable, usual) = spec.config;
    let moved = Some(variable).filter(|v| !v.is_empty()).and_then(|variable| ThisProcess.directory(variable));
    let xdg = usual
        .strip_prefix(".config/")
        .and_then(|rest| Some(ThisProcess.directory("XDG_CONFIG_HOME")?.join(rest)));
    let is_moved = moved.is_some();
    (moved.or(xdg).unwrap_or_else(|| home.join(usual)), is_moved)
}

/// Where a program is started with a mailbox, without an installation. Its version is asked for only if that matters.
pub(super) fn site_of_start(context: &Context, spec: &'static Program, file: &Path) -> Result<Site, Fail> {
    let home = home(&ThisProcess)?;
    let (config, moved) = config_of(spec, &home);
    let wakes =
        spec.wake != Wake::Rewake || probe::version(file).is_some_and(|version| version >= spec.tested);
    Ok(Site {
        home,
        config,
        moved,
        project: None,
        postroom: own_program::lasting_path()?.display().to_string(),
        roots: roots(context)?,
        name: None,
        bodies: None,
        wakes,
        types: false,
        start: None,
    })
}

/// The directories that an agent program must be able to write: all rooms, the sessions, and a room outside them.
fn roots(context: &Context) -> Result<Vec<PathBuf>, Fail> {
    let state = state(&ThisProcess)?;
    let mut roots = vec![state.join("rooms"), state.join("sessions")];
    if !context.root.starts_with(&roots[0]) {
        roots.push(context.root.clone());
    }
    Ok(roots)
}

pub(super) fn said_shown(said: &Said) -> String {
    match said {
        Said::Yes => "it sees the server of postroom".to_owned(),
        Said::No(why) => format!("it does not see the server of postroom ({why})"),
        Said::Nothing => "it could not be asked".to_owned(),
    }
}
