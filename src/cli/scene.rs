//! The scene of an installation: one agent program on this machine, with its version, its settings and what it reports
//! itself.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::fail::Fail;
use super::surroundings::ThisProcess;
use super::{own_program, surroundings};
use crate::agents::install_files::{Piece, Site};
use crate::agents::ledger::{self, InstallOptions, Ledger};
use crate::agents::probe::{self, Said};
use crate::agents::programs::{Program, Wake};
use crate::agents::verify::{Asked, Report};
use crate::random;
use crate::surroundings::{Environment, home, state};

/// One program on this machine.
pub(super) struct Scene {
    pub(super) spec: &'static Program,
    /// The executable, if it was found.
    pub(super) file: Option<PathBuf>,
    version: Option<[u32; 3]>,
    pub(super) site: Site,
    /// Whether the shell in which it runs commands finds postroom.
    pub(super) finds: bool,
}

impl Scene {
    pub(super) fn look(
        context: &Context,
        spec: &'static Program,
        project: Option<PathBuf>,
        name: Option<String>,
    ) -> Result<Self, Fail> {
        let home = home(&ThisProcess)?;
        let (config, moved) = config(spec)?;
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
            mcp: false,
            called: None,
        };
        Ok(Self { spec, file, version, site, finds: true })
    }

    /// Whether the program is on this machine, or is set up for a project.
    pub(super) fn is_here(&self) -> Result<bool, Fail> {
        let config = &self.site.config;
        let has_config = || {
            let failed = |source| ledger::Error::Path { path: config.clone(), source };
            config.try_exists().map_err(failed)
        };
        Ok(self.file.is_some() || self.site.project.is_some() || has_config()?)
    }

    /// The options for its installation.
    pub(super) fn with(&self) -> InstallOptions {
        InstallOptions {
            roots: self.site.roots.clone(),
            name: self.site.name.clone(),
            bodies: self.site.bodies,
            types: self.site.types,
            mcp: self.site.mcp,
            called: self.site.called.clone(),
        }
    }

    /// Expects what was installed with these options.
    pub(super) fn expect(&mut self, with: InstallOptions) {
        let site = &mut self.site;
        (site.roots, site.bodies, site.types) = (with.roots, with.bodies, with.types);
        (site.mcp, site.called) = (with.mcp, with.called);
        site.name = site.name.take().or(with.name);
    }

    pub(super) fn scope(&self) -> &'static str {
        if self.site.project.is_some() { "project" } else { "user" }
    }

    pub(super) fn base(&self) -> &Path {
        self.site.project.as_deref().unwrap_or(&self.site.home)
    }

    fn asked(&self) -> Option<Asked<'_>> {
        let is_project = self.site.project.is_some();
        Some(Asked { spec: self.spec, program: self.file.as_deref()?, place: self.base(), is_project })
    }

    /// What the program itself reports.
    pub(super) fn report(&self) -> Report {
        let mut report = self.asked().map_or(Report::NOTHING, |asked| asked.report(&random::hex()));
        if !self.site.mcp {
            report.server = Said::Nothing;
        }
        report
    }

    /// Refuses to touch settings that the program does not load as they are.
    pub(super) fn must_load(&self, ledger: Option<&Ledger>, pieces: &[Piece]) -> Result<(), Fail> {
        let unknown = ledger::unknown_settings(ledger, pieces, self.site.project.as_deref())?;
        let paths: Vec<&Path> = unknown.iter().map(|piece| piece.path.as_path()).collect();
        let Some(asked) = self.asked().filter(|_| !paths.is_empty()) else { return Ok(()) };
        match asked.refusal(&paths) {
            None => Ok(()),
            Some(refusal) => {
                let (title, path) = (self.spec.title, refusal.path.display());
                let why = format!("{title} does not load {path}: {}", refusal.why);
                Err(Fail::refused(why, "correct the file first; nothing was changed"))
            }
        }
    }

    /// What the program sees, as lines.
    pub(super) fn lines(&self, report: &Report) -> Vec<String> {
        let mut parts = vec![("hooks", &report.hooks), ("skill", &report.skill)];
        if self.site.mcp {
            parts.push(("MCP server", &report.server));
        }
        let named = |wanted: Option<bool>| -> Vec<&str> {
            parts.iter().filter(|(_, said)| said.known() == wanted).map(|(name, _)| *name).collect()
        };
        let head = format!("{} {}", self.spec.title, self.version_shown());
        let mut lines = vec![];
        match (named(Some(true)).join(", "), named(None).join(", ")) {
            (seen, asked) if asked.is_empty() && !seen.is_empty() => {
                lines.push(format!("{head} sees: {seen}"))
            }
            (seen, asked) if seen.is_empty() && !asked.is_empty() => {
                lines.push(format!("{head} could not be asked about: {asked}"))
            }
            (seen, asked) if !seen.is_empty() => {
                lines.push(format!("{head} sees: {seen}; could not be asked about: {asked}"))
            }
            _ => {}
        }
        for (name, said) in &parts {
            if let Said::No(why) = said {
                let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
                lines.push(format!("{head} does not see: {name}{why}"));
            }
        }
        lines
    }

    /// What else the program needs, and has not yet.
    pub(super) fn missing(&self) -> Option<String> {
        let package = self.site.config.join("node_modules/@opencode-ai/plugin");
        (self.spec.word == "opencode" && !package.exists()).then(|| {
            "OpenCode loads its package @opencode-ai/plugin at the next start, which takes a minute or more where no network is"
                .to_owned()
        })
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

/// Where a program is started with a mailbox, without an installation. Its version is asked for only if that matters.
pub(super) fn site_of_start(context: &Context, spec: &'static Program, file: &Path) -> Result<Site, Fail> {
    let home = home(&ThisProcess)?;
    let (config, moved) = config(spec)?;
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
        mcp: true,
        called: None,
    })
}

/// The settings directory of a program, and whether it is not the usual one.
pub(super) fn config(spec: &Program) -> Result<(PathBuf, bool), Fail> {
    let (variable, usual) = spec.config;
    let moved = Some(variable).filter(|v| !v.is_empty()).and_then(|variable| ThisProcess.directory(variable));
    if let Some(moved) = moved {
        return Ok((moved, true));
    }
    let xdg = usual
        .strip_prefix(".config/")
        .and_then(|rest| Some(ThisProcess.directory("XDG_CONFIG_HOME")?.join(rest)));
    Ok((xdg.map_or_else(|| home(&ThisProcess).map(|home| home.join(usual)), Ok)?, false))
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
