//! `postroom install`: connects an agent program to the room.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::io::Errno;

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::scene::Scene;
use super::spawn::known;
use super::surroundings::ThisProcess;
use super::{Verb, install_plan, installed, own_program, terminal};
use crate::agents::install_files::Piece;
use crate::agents::ledger::{self, Cause, Done, InstallOptions, Ledger};
use crate::agents::probe::Trust;
use crate::agents::programs::{self, PROGRAMS, Program, Wake};
use crate::agents::verify::Report;
use crate::hint::Hint;
use crate::mailbox::{self, Dir};
use crate::message::visible;
use crate::name::Name;
use crate::post::{self, Error, Failure, NewMailbox};
use crate::surroundings::{home, project_dir, state};
use crate::view::install as view;

/// Give an agent program its skill and hooks
///
/// Settings keep their form, and `uninstall` puts all back. The program itself is asked what it sees. Without PROGRAM it
/// lists those that are here, and asks. --check exits 1 if what is installed is not current.
#[derive(Debug, Args)]
pub(super) struct Install {
    /// claude, codex, gemini, opencode or copilot
    program: Option<String>,
    #[command(flatten)]
    place: InstallScope,
    /// Show what is installed
    #[arg(long)]
    check: bool,
    /// Show the difference in every file
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// The mailbox of sessions that have no other; made if it is missing
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Also register the MCP server: 170 to 1,700 more tokens per request
    #[arg(long, overrides_with = "no_mcp")]
    mcp: bool,
    /// Without the MCP server (the default)
    #[arg(long)]
    no_mcp: bool,
    /// Bring bodies of up to so many bytes along with the notice of a message, which is then archived as by `read`
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..=4000))]
    bodies: Option<u64>,
    /// Gemini in tmux only: type one fixed line to wake it, when it is idle and its input is empty
    #[arg(long)]
    type_into_tmux: bool,
    /// Also replace files that are not postroom's; `uninstall` puts them back
    #[arg(long)]
    replace: bool,
}

/// The scope.
#[derive(Debug, Args)]
pub(super) struct InstallScope {
    /// For all of this user's work (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// For the project around the working directory
    #[arg(long)]
    project: bool,
}

impl InstallScope {
    pub(super) fn project(&self) -> Result<Option<PathBuf>, Fail> {
        let Some(project) = self.project.then(|| project_dir(&ThisProcess)).transpose()? else {
            return Ok(None);
        };
        // The files of the project and of the user would be the same.
        if is_home(&project)? {
            let why = "your home directory is no project";
            return Err(Fail::refused(why, "go to a project's directory, or leave out --project"));
        }
        Ok(Some(project))
    }
}

/// Whether a project is the home directory. `false` without a home directory.
fn is_home(project: &Path) -> Result<bool, Fail> {
    let Ok(home) = home(&ThisProcess) else { return Ok(false) };
    match home.canonicalize() {
        Ok(home) => Ok(home == project),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(source) => Err(ledger::Error::Path { path: home, source }.into()),
    }
}

/// Finds a program by its word.
pub(super) fn program(word: &str) -> Result<&'static Program, Fail> {
    programs::find(word).ok_or_else(|| {
        let why = format!("there is no program `{}`", visible::clip(word, 40));
        Fail::usage(why, format!("one of {}", known()))
    })
}

/// Another run finishes what was interrupted or could not be read: no record is removed before.
const AGAIN: &str = "run it again";

impl From<ledger::Error> for Fail {
    fn from(e: ledger::Error) -> Self {
        let why = e.to_string();
        let hint = match e {
            ledger::Error::Disk(mailbox::Error::Content { .. }) => {
                let hint = "compare it with the file, which was left as it is; then run this again";
                return Self::not_done(why, hint);
            }
            ledger::Error::Disk(source) => match post::Error::from(source).code() {
                Failure::NotDone => return Self::not_done(why, AGAIN),
                _ => "nothing was changed there",
            },
            ledger::Error::Record { .. } => "move it away; what it kept of that file can be read in it",
            ledger::Error::Settings { .. } => "correct the file first; it was left as it is",
            ledger::Error::Path { source, .. } => match Errno::from_io_error(&source) {
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => "it was left as it is",
                _ => return Self::not_done(why, AGAIN),
            },
            ledger::Error::NotText { .. } => "it was left as it is",
            ledger::Error::ReadOnly { .. } => "make it writable, and run this again",
            ledger::Error::NotOurs { .. } => "--replace takes its place; `uninstall` puts it back",
        };
        Self::refused(why, hint)
    }
}

impl Verb for Install {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if cfg!(not(feature = "mcp")) && self.mcp {
            let why = "this build has no MCP server";
            return Err(Fail::refused(why, "build it with the feature `mcp`, which is on by default"));
        }
        let project = self.place.project()?;
        if self.check {
            let programs = match &self.program {
                Some(word) => vec![program(word)?],
                None => PROGRAMS.iter().collect(),
            };
            return installed::look(context, &programs, project, self.name.clone(), self.program.is_some());
        }
        if !self.dry_run {
            context.must_not_be_in_session("install")?;
        }
        match &self.program {
            Some(word) => self.one(context, program(word)?, project)?,
            None => self.chosen(context, project)?,
        }
        // Sessions with a standing name need no other.
        if context.done && self.name.is_none() {
            context.output.remark("in a new session, tell the agent: set up your mailbox as carol");
        }
        Ok(())
    }
}

impl Install {
    /// Lists the programs that are here, and installs for those that the person wants.
    fn chosen(&self, context: &mut Context, project: Option<PathBuf>) -> Result<(), Fail> {
        context.locate()?;
        let mut found = vec![];
        for spec in &PROGRAMS {
            let scene = Scene::look(context, spec, project.clone(), self.name.clone())?;
            if scene.is_here()? {
                found.push((spec, format!("{} {}", spec.title, scene.version_shown())));
            }
        }
        if found.is_empty() {
            return Err(Fail::unknown("no agent program is installed here", format!("one of {}", known())));
        }
        if !context.output.json {
            for (spec, shown) in &found {
                context.output.line(&format!("{}: {shown}", spec.word));
            }
        }
        context.output.flush().map_err(Fail::Output)?;
        let ask = |shown: &str| terminal::answers(&format!("Install for {shown}?"));
        let answers: Option<Vec<bool>> = found.iter().map(|(_, shown)| ask(shown)).collect();
        let Some(answers) = answers else {
            let hint = found.iter().map(|(spec, _)| Hint::from(Hint::run(&["install", spec.word]))).collect();
            return Err(Fail::Told(Failure::Usage, "name the program to install for".to_owned(), hint));
        };
        let wanted: Vec<_> = found
            .iter()
            .zip(answers)
            .filter(|(_, is_wanted)| *is_wanted)
            .map(|((spec, _), _)| *spec)
            .collect();
        if wanted.is_empty() {
            note("postroom: nothing was installed");
        }
        wanted.into_iter().try_for_each(|spec| self.one(context, spec, project.clone()))
    }

    fn one(
        &self,
        context: &mut Context,
        spec: &'static Program,
        project: Option<PathBuf>,
    ) -> Result<(), Fail> {
        if self.type_into_tmux && spec.wake != Wake::Typed {
            return Err(super::launch::needless(spec));
        }
        if let Some(name) = &self.name {
            Name::parse(name).map_err(|why| Error::BadName { what: "--name", text: name.to_owned(), why })?;
        }
        context.locate()?;
        let mut scene = Scene::look(context, spec, project, self.name.clone())?;
        let known = Ledger::look(&state(&ThisProcess)?)?;
        let before = match &known {
            Some(ledger) => ledger.installed_with(spec.word, scene.site.project.as_deref())?,
            None => None,
        };
        self.settle(&mut scene, before.as_ref());
        if !scene.is_here()? {
            let config = scene.site.config.display();
            let why = format!(
                "{} is not installed: no `{}` on the search path and no {config}",
                spec.title, spec.word
            );
            return Err(Fail::unknown(why, "install it first"));
        }
        let pieces = scene.site.install_files(spec);
        let project = scene.site.project.clone();
        // Check all before changing one.
        let plan = |piece: &Piece| Ledger::plan(known.as_ref(), piece, project.as_deref(), self.replace);
        let mut plans = pieces.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        let paths: Vec<PathBuf> = pieces.iter().map(|piece| piece.path.clone()).collect();
        if let Some(ledger) = &known {
            plans.extend(ledger.plan_removal(spec.word, project.as_deref(), &paths)?);
        }
        scene.must_load(known.as_ref(), &pieces)?;
        if self.dry_run {
            return install_plan::tell(context, spec.word, scene.scope(), &plans);
        }
        let post = context.post_or_new()?;
        if let Some(name) = &self.name
            && let Err(Error::UnknownName { .. }) = post.addressee(name)
        {
            let wanted = NewMailbox { name: Some(name.clone()), child: true, ..NewMailbox::default() };
            let made = post.setup(&wanted)?;
            if !context.output.json && !context.output.quiet {
                let (name, room) = (visible::line(&made.name), context.room_shown());
                context.output.line(&format!("made the mailbox {name} in the room {room}"));
            }
        }
        for root in &scene.site.roots {
            Dir::make(root)?;
        }
        let ledger = Ledger::open(&state(&ThisProcess)?)?;
        let lock = ledger.lock()?;
        let with = scene.with();
        let cause = Cause { program: spec.word, project: project.as_deref(), with: &with };
        let mut files = vec![];
        for piece in &pieces {
            let done = ledger.put(piece, cause, self.replace)?;
            files.push((piece.path.clone(), done));
        }
        files.extend(ledger.retire(spec.word, project.as_deref(), &paths)?);
        drop(lock);
        context.done = true;
        self.tell(context, &scene, &ledger, &files);
        if scene.site.project.is_none() {
            own_program::warn(&scene.site.postroom);
        }
        if context.output.json || context.output.quiet { Ok(()) } else { own_program::offer_link(context) }
    }

    /// The options of this installation: as given, else those of the one before.
    fn settle(&self, scene: &mut Scene, before: Option<&InstallOptions>) {
        let site = &mut scene.site;
        site.bodies = self.bodies.and_then(|bytes| usize::try_from(bytes).ok());
        site.types = self.type_into_tmux;
        site.mcp = self.mcp || !self.no_mcp && before.is_some_and(|before| before.mcp);
        let finds = !scene.spec.login_shell || own_program::is_in_login_shell();
        // A project is shared with others, who have it at another path.
        site.called = (!finds && site.project.is_none()).then(|| site.postroom.clone());
        scene.finds = finds;
    }

    fn tell(&self, context: &mut Context, scene: &Scene, ledger: &Ledger, files: &[(PathBuf, Done)]) {
        let report = scene.report();
        if context.output.json {
            let (scope, version) = (scene.scope(), scene.version_shown());
            return context.output.json(&view::Install::of(scene.spec, scope, version, files, &report));
        }
        if context.output.quiet {
            return;
        }
        for (path, done) in files.iter().filter(|(_, done)| *done != Done::AsItWas) {
            let project = scene.site.project.as_deref();
            let backup = ledger.backup(path, project).filter(|_| *done == Done::Written);
            let backup = backup.map(|at| format!(" (as it was: {})", at.display())).unwrap_or_default();
            context.output.line(&format!("{} {}{backup}", done.as_str(), path.display()));
        }
        if files.iter().all(|(_, done)| *done == Done::AsItWas) {
            context.output.line("everything was in its place already");
        }
        scene.lines(&report).iter().for_each(|line| context.output.line(line));
        self.advise(context, scene, &report);
    }

    /// What else the person should know.
    fn advise(&self, context: &mut Context, scene: &Scene, report: &Report) {
        if scene.is_older() {
            let [a, b, c] = scene.spec.tested;
            context.output.line(&format!(
                "tested with {a}.{b}.{c}; what this older version does not know is left out or has no effect"
            ));
        }
        let (title, then) = (scene.spec.title, scene.spec.then);
        match (&scene.site.called, scene.finds) {
            (Some(path), _) => context.output.line(&format!(
                "{title} runs commands in a login shell, which finds no `postroom`: its rules allow {path}, and its \
                 sessions are told to call that"
            )),
            (None, false) => context.output.line(&format!(
                "{title} runs commands in a login shell, which finds no `postroom`: put it on the search path there"
            )),
            (None, true) => {}
        }
        scene.missing().iter().for_each(|line| context.output.line(line));
        match &report.trust {
            Some(Trust::Trusted) => context.output.line("its hooks are trusted"),
            Some(trust) => context.output.line(&format!("{trust}; {then}")),
            None if !then.is_empty() => context.output.line(then),
            None => {}
        }
    }
}
