//! `postroom install` and `postroom uninstall`: connect an agent program to the room.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::io::Errno;

use super::context::Context;
use super::fail::Fail;
use super::scene::{Scene, said_shown};
use super::spawn::known;
use super::surroundings::ThisProcess;
use super::{Verb, installed, own_program};
use crate::agents::ledger::{self, Cause, Done, Ledger};
use crate::agents::probe::Trust;
use crate::agents::programs::{self, PROGRAMS, Program, Wake};
use crate::hint::Hint;
use crate::mailbox::{self, Dir};
use crate::message::visible;
use crate::name::Name;
use crate::post::{self, Error, Failure, Post};
use crate::surroundings::{home, project_dir, state};
use crate::view::install as view;

/// Give an agent program its skill, hooks and MCP server
///
/// Settings keep their comments and their form; replaced text is kept, and `uninstall` puts it back. Then the program
/// itself is asked what it sees. --check only looks, at all programs if none is named, and exits 1 if one is not as it
/// should be.
#[derive(Debug, Args)]
pub(super) struct Install {
    /// claude, codex, gemini, opencode or copilot
    #[arg(required_unless_present = "check")]
    program: Option<String>,
    #[command(flatten)]
    place: InstallScope,
    /// Show what is installed, and change nothing
    #[arg(long)]
    check: bool,
    /// The mailbox of the program's sessions, unless they have another
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
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

/// Remove what `install` put in
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// claude, codex, gemini, opencode or copilot
    program: String,
    #[command(flatten)]
    place: InstallScope,
}

/// The scope.
#[derive(Debug, Args)]
struct InstallScope {
    /// For all of this user's work (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// For the project around the working directory
    #[arg(long)]
    project: bool,
}

impl InstallScope {
    fn project(&self) -> Result<Option<PathBuf>, Fail> {
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

fn is_there(path: &Path) -> Result<bool, Fail> {
    path.try_exists().map_err(|source| ledger::Error::Path { path: path.to_owned(), source }.into())
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
            ledger::Error::ReadOnly { .. } => {
                "make it writable, or add the settings by hand (docs/guides/programs.md)"
            }
            ledger::Error::NotOurs { .. } => "--replace takes its place; `uninstall` puts it back",
        };
        Self::refused(why, hint)
    }
}

impl Verb for Install {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if cfg!(not(feature = "mcp")) {
            let why = "this build has no MCP server, and that is a part of what is installed";
            return Err(Fail::refused(why, "build it with the feature `mcp`, which is on by default"));
        }
        let project = self.place.project()?;
        if self.check {
            let programs = match &self.program {
                Some(word) => vec![program(word)?],
                None => PROGRAMS.iter().collect(),
            };
            return installed::look(context, programs, project, self.name);
        }
        let spec = program(self.program.as_deref().unwrap_or_default())?;
        if self.type_into_tmux && spec.wake != Wake::Typed {
            return Err(Fail::usage(
                format!("{} is woken without typing", spec.title),
                "leave out --type-into-tmux",
            ));
        }
        let post = context.post_or_new()?;
        if let Some(name) = &self.name {
            standing_name(context, post, name)?;
        }
        let mut scene = Scene::look(context, spec, project, self.name.clone())?;
        scene.site.bodies = self.bodies.and_then(|bytes| usize::try_from(bytes).ok());
        scene.site.types = self.type_into_tmux;
        for root in &scene.site.roots {
            Dir::make(root)?;
        }
        if scene.file.is_none() && scene.site.project.is_none() && !is_there(&scene.site.config)? {
            let config = scene.site.config.display();
            let why = format!(
                "{} is not installed: no `{}` on the search path and no {config}",
                spec.title, spec.word
            );
            return Err(Fail::unknown(why, "install it first"));
        }
        let ledger = Ledger::open(&state(&ThisProcess)?)?;
        let _lock = ledger.lock()?;
        let (pieces, with) = (scene.site.install_files(spec), scene.with());
        let cause = Cause { program: spec.word, project: scene.site.project.as_deref(), with: &with };
        // Check all before changing one.
        pieces.iter().try_for_each(|piece| ledger.examine(piece, cause.project, self.replace))?;
        let mut files = vec![];
        for piece in &pieces {
            let done = ledger.put(piece, cause, self.replace)?;
            files.push((piece.path.clone(), done));
        }
        context.done = true;
        self.tell(context, &scene, &ledger, &files);
        if scene.site.project.is_none() {
            own_program::warn(&scene.site.postroom);
        }
        if context.output.json || context.output.quiet { Ok(()) } else { own_program::offer_link(context) }
    }
}

/// Checks the name for sessions, which each get it in their own room. It may be free here.
fn standing_name(context: &Context, post: &Post, name: &str) -> Result<(), Fail> {
    Name::parse(name).map_err(|why| Error::BadName { what: "--name", text: name.to_owned(), why })?;
    if let Err(Error::UnknownName { .. }) = post.addressee(name) {
        let what = format!("nobody is called `{name}` in this room yet");
        context.warn(&what, Hint::run(&["setup", name]));
    }
    Ok(())
}

impl Install {
    fn tell(&self, context: &mut Context, scene: &Scene, ledger: &Ledger, files: &[(PathBuf, Done)]) {
        let probe = scene.probe();
        if context.output.json {
            let (which, version) = ((scene.spec.word, scene.scope(), scene.spec.then), scene.version_shown());
            return context.output.json(&view::Install::of(which, version, files, &probe));
        }
        let (said, trust) = probe;
        let project = scene.site.project.as_deref();
        if context.output.quiet {
            return;
        }
        for (path, done) in files.iter().filter(|(_, done)| *done == Done::Written) {
            let backup = ledger
                .backup(path, project)
                .map(|at| format!(" (as it was: {})", at.display()))
                .unwrap_or_default();
            context.output.line(&format!("{} {}{backup}", done.as_str(), path.display()));
        }
        if files.iter().all(|(_, done)| *done == Done::AsItWas) {
            context.output.line("everything was in its place already");
        }
        context.output.line(&format!(
            "{} {}: {}",
            scene.spec.title,
            scene.version_shown(),
            said_shown(&said)
        ));
        if scene.is_older() {
            let [a, b, c] = scene.spec.tested;
            context.output.line(&format!(
                "tested with {a}.{b}.{c}; what this older version does not know is left out or has no effect"
            ));
        }
        match &trust {
            Some(Trust::Trusted) => context.output.line("its hooks are trusted"),
            Some(trust) => context.output.line(&format!("{trust}; {}", scene.spec.then)),
            None if !scene.spec.then.is_empty() => context.output.line(scene.spec.then),
            None => {}
        }
    }
}

impl Verb for Uninstall {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let spec = program(&self.program)?;
        let project = self.place.project()?;
        let done = match Ledger::look(&state(&ThisProcess)?)? {
            None => vec![],
            Some(ledger) => {
                let _lock = ledger.lock()?;
                ledger.take_out(spec.word, project.as_deref())?
            }
        };
        if done.is_empty() {
            context.output.remark(&format!("nothing of postroom is installed for {}", spec.title));
            return Err(Fail::Code(Failure::Nothing));
        }
        context.done = true;
        let lines = done.iter().map(|(path, done)| format!("{} {}", done.as_str(), path.display()));
        context.output.receipt(&view::Uninstall::of(spec.word, &done), lines);
        Ok(())
    }
}
