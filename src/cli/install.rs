//! `postroom install` and `postroom uninstall`: an agent program at home in the room.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::context::Context;
use super::fail::Fail;
use super::spawn::known;
use super::{Verb, surroundings};
use crate::agents::change::State;
use crate::agents::ledger::{self, Cause, Done, Ledger};
use crate::agents::pieces::{Piece, Site};
use crate::agents::programs::{self, PROGRAMS, Program, Wake};
use crate::agents::witness::{self, Said, Trust};
use crate::message::visible;
use crate::post::Failure;

/// Give an agent program its skill, hooks, MCP server and permissions
///
/// Settings keep their comments and their form; what stood there before is kept, and `uninstall` puts it back. Then the
/// program itself is asked what it sees. --check only looks, at all programs if none is named, and exits 1 if one is
/// not as it should be.
#[derive(Debug, Args)]
pub(super) struct Install {
    /// claude, codex, gemini, opencode or copilot
    #[arg(required_unless_present = "check")]
    program: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Say what is installed, and change nothing
    #[arg(long)]
    check: bool,
    /// Whose mailbox the program's sessions have, unless they have another
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Also take the place of files that are not postroom's; `uninstall` puts them back
    #[arg(long)]
    replace: bool,
}

/// Take out again what `install` put in
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// claude, codex, gemini, opencode or copilot
    program: String,
    #[command(flatten)]
    place: Place,
}

/// For whom.
#[derive(Debug, Args)]
struct Place {
    /// For all of this user's work (the default)
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// For the project around the working directory
    #[arg(long)]
    project: bool,
}

impl Place {
    fn project(&self) -> Result<Option<PathBuf>, Fail> {
        self.project.then(surroundings::project_dir).transpose()
    }
}

/// A program by its word.
pub(super) fn program(word: &str) -> Result<&'static Program, Fail> {
    programs::find(word).ok_or_else(|| {
        let hint = format!("one of {}", known());
        Fail::Usage(format!("there is no program `{}`", visible::clip(word, 40)), vec![hint])
    })
}

impl From<ledger::Error> for Fail {
    fn from(e: ledger::Error) -> Self {
        let hint = match &e {
            ledger::Error::Disk(_) => {
                return Self::told(Failure::Refused, e.to_string(), "nothing was changed there");
            }
            ledger::Error::Settings { .. } => "mend the file first; it was left as it is",
            ledger::Error::NotText { .. } | ledger::Error::Path { .. } => "it was left as it is",
            ledger::Error::ReadOnly { .. } => {
                "make it writable, or add the settings by hand (docs/integrations.md)"
            }
            ledger::Error::NotOurs { .. } => "--replace takes its place; `uninstall` puts it back",
        };
        Self::told(Failure::Refused, e.to_string(), hint)
    }
}

/// Everything about one program here.
struct Scene {
    spec: &'static Program,
    /// The program's own file, if it can be found.
    file: Option<PathBuf>,
    version: Option<[u32; 3]>,
    site: Site,
}

impl Scene {
    fn look(
        context: &Context,
        spec: &'static Program,
        project: Option<PathBuf>,
        name: Option<String>,
    ) -> Result<Self, Fail> {
        let home = surroundings::home()?;
        let (variable, usual) = spec.config;
        let moved = Some(variable).filter(|v| !v.is_empty()).and_then(surroundings::directory);
        let xdg = usual
            .strip_prefix(".config/")
            .and_then(|rest| Some(surroundings::directory("XDG_CONFIG_HOME")?.join(rest)));
        let config = moved.clone().or(xdg).unwrap_or_else(|| home.join(usual));
        let file = surroundings::on_path(spec.word);
        let version = file.as_deref().and_then(witness::version);
        let own = surroundings::on_path("postroom").or_else(|| surroundings::myself().ok());
        let postroom = match (&project, own) {
            (None, Some(own)) => own.display().to_string(),
            _ => "postroom".to_owned(),
        };
        // An unknown hook may cost a program all of its settings, so it must be known to know it.
        let wakes = spec.wake != Wake::Rewake || version.is_some_and(|version| version >= spec.tested);
        let site = Site {
            home,
            config,
            moved: moved.is_some(),
            project,
            postroom,
            root: context.root.clone(),
            name,
            wakes,
        };
        Ok(Self { spec, file, version, site })
    }

    fn cause(&self) -> Cause<'_> {
        let (project, name) = (self.site.project.as_deref(), self.site.name.as_deref());
        Cause { program: self.spec.word, project, root: &self.site.root, name }
    }

    fn scope(&self) -> &'static str {
        if self.site.project.is_some() { "project" } else { "user" }
    }

    fn base(&self) -> &Path {
        self.site.project.as_deref().unwrap_or(&self.site.home)
    }

    /// What the program itself says.
    fn witness(&self) -> (Said, Option<Trust>) {
        let Some(file) = &self.file else { return (Said::Nothing, None) };
        let trust = (self.spec.wake == Wake::Queue).then(|| witness::trust(file, self.base()));
        (witness::server(self.spec, file, self.base()), trust)
    }

    fn version_shown(&self) -> String {
        match (self.version, &self.file) {
            (Some([a, b, c]), _) => format!("{a}.{b}.{c}"),
            (None, Some(_)) => "of an unknown version".to_owned(),
            (None, None) => "not on the search path".to_owned(),
        }
    }

    fn is_older(&self) -> bool {
        self.version.is_some_and(|version| version < self.spec.tested)
    }
}

impl Verb for Install {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let project = self.place.project()?;
        if self.check {
            return self.look(context, project);
        }
        let spec = program(self.program.as_deref().unwrap_or_default())?;
        let post = context.post_or_new()?;
        let name =
            self.name.as_deref().map(|name| post.addressee(name).map(|_| name.to_owned())).transpose()?;
        let scene = Scene::look(context, spec, project, name)?;
        if scene.file.is_none() && !scene.site.config.exists() && scene.site.project.is_none() {
            let config = scene.site.config.display();
            let why = format!(
                "{} is not installed: no `{}` on the search path and no {config}",
                spec.title, spec.word
            );
            return Err(Fail::told(Failure::Unknown, why, "install it first"));
        }
        let ledger = Ledger::open(&surroundings::state()?)?;
        let pieces = scene.site.pieces(spec);
        // All are looked at before one is changed.
        pieces.iter().try_for_each(|piece| ledger.examine(piece, self.replace))?;
        let mut files = vec![];
        for piece in &pieces {
            let done = ledger.put(piece, scene.cause(), self.replace)?;
            files.push((piece.path.clone(), done));
        }
        context.done = true;
        self.tell(context, &scene, &ledger, &files);
        Ok(())
    }
}

impl Install {
    fn tell(&self, context: &mut Context, scene: &Scene, ledger: &Ledger, files: &[(PathBuf, Done)]) {
        let (said, trust) = scene.witness();
        if context.output.json {
            let list: Vec<Value> = files.iter().map(|(path, done)| file_json(path, *done)).collect();
            context.output.json(&json!({
                "v": 1, "program": scene.spec.word, "scope": scene.scope(), "version": scene.version_shown(), "files": list,
                "server": said_word(&said), "trust": trust.as_ref().map(trust_shown), "then": scene.spec.then,
            }));
            return;
        }
        if context.output.quiet {
            return;
        }
        for (path, done) in files.iter().filter(|(_, done)| *done == Done::Written) {
            let backup =
                ledger.backup(path).map(|at| format!(" (as it was: {})", at.display())).unwrap_or_default();
            context.output.line(&format!("{} {}{backup}", done_word(*done), path.display()));
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
            Some(trust) => context.output.line(&format!("{}; {}", trust_shown(trust), scene.spec.then)),
            None if !scene.spec.then.is_empty() => context.output.line(scene.spec.then),
            None => {}
        }
        if surroundings::on_path("postroom").is_none() {
            context
                .output
                .line("postroom is not on the search path; agents call it by that name, so put it there");
        }
    }

    fn look(&self, context: &mut Context, project: Option<PathBuf>) -> Result<(), Fail> {
        context.locate()?;
        let chosen = match &self.program {
            Some(word) => vec![program(word)?],
            None => PROGRAMS.iter().collect(),
        };
        let ledger = Ledger::open(&surroundings::state()?)?;
        let (mut list, mut good) = (vec![], true);
        for spec in chosen {
            let mut scene = Scene::look(context, spec, project.clone(), self.name.clone())?;
            if let Some((root, name)) = ledger.installed_with(spec.word, project.as_deref()) {
                scene.site.root = root;
                scene.site.name = self.name.clone().or(name);
            }
            let states: Vec<(Piece, String, State)> = scene
                .site
                .pieces(spec)
                .into_iter()
                .map(|piece| match ledger.state(&piece) {
                    Ok(state) => (piece, state_word(state).to_owned(), state),
                    Err(e) => (piece, e.to_string(), State::Drifted),
                })
                .collect();
            let all = |wanted: State| states.iter().all(|(_, _, state)| *state == wanted);
            let whole = match () {
                () if all(State::Current) => State::Current,
                () if all(State::Missing) => State::Missing,
                () => State::Drifted,
            };
            let (said, trust) = if whole == State::Missing { (Said::Nothing, None) } else { scene.witness() };
            good &= whole == State::Current && trust.as_ref().is_none_or(|trust| *trust == Trust::Trusted);
            if context.output.json {
                let files: Vec<Value> = states
                    .iter()
                    .map(|(piece, word, _)| json!({"path": piece.path, "state": word}))
                    .collect();
                list.push(json!({
                    "program": spec.word, "scope": scene.scope(), "state": state_word(whole), "version": scene.version_shown(),
                    "files": files, "server": said_word(&said), "trust": trust.as_ref().map(trust_shown),
                }));
                continue;
            }
            let more =
                if whole == State::Missing { String::new() } else { format!(": {}", said_shown(&said)) };
            let line = format!(
                "{} {} {} ({}){more}",
                spec.word,
                scene.scope(),
                state_word(whole),
                scene.version_shown()
            );
            context.output.line(&line);
            for (piece, word, _) in
                states.iter().filter(|(_, _, state)| whole == State::Drifted && *state != State::Current)
            {
                context.output.line(&format!("  {} {}", visible::line(word), piece.path.display()));
            }
            if let Some(trust) = trust {
                context.output.line(&format!("  {}", trust_shown(&trust)));
            }
        }
        if context.output.json {
            context.output.json(&json!({"v": 1, "programs": list}));
        }
        if good { Ok(()) } else { Err(Fail::Code(Failure::Nothing)) }
    }
}

impl Verb for Uninstall {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let spec = program(&self.program)?;
        let project = self.place.project()?;
        let ledger = Ledger::open(&surroundings::state()?)?;
        let done = ledger.take_out(spec.word, project.as_deref())?;
        if done.is_empty() {
            context.output.remark(&format!("nothing of postroom is installed for {}", spec.title));
            return Err(Fail::Code(Failure::Nothing));
        }
        context.done = true;
        if context.output.json {
            let list: Vec<Value> = done.iter().map(|(path, done)| file_json(path, *done)).collect();
            context.output.json(&json!({"v": 1, "program": spec.word, "files": list}));
        } else if !context.output.quiet {
            done.iter().for_each(|(path, done)| {
                context.output.line(&format!("{} {}", done_word(*done), path.display()))
            });
        }
        Ok(())
    }
}

fn file_json(path: &Path, done: Done) -> Value {
    json!({"path": path, "done": done_word(done)})
}

fn done_word(done: Done) -> &'static str {
    match done {
        Done::Written => "written",
        Done::AsItWas => "in place",
        Done::Restored => "restored",
        Done::TakenOut => "taken out",
        Done::Kept => "kept",
        Done::Left => "left, changed by hand:",
    }
}

fn state_word(state: State) -> &'static str {
    match state {
        State::Current => "current",
        State::Drifted => "drifted",
        State::Missing => "missing",
    }
}

fn said_word(said: &Said) -> Option<bool> {
    match said {
        Said::Yes => Some(true),
        Said::No(_) => Some(false),
        Said::Nothing => None,
    }
}

fn said_shown(said: &Said) -> String {
    match said {
        Said::Yes => "it sees the server of postroom".to_owned(),
        Said::No(why) => format!("it does not see the server of postroom ({why})"),
        Said::Nothing => "it was not asked".to_owned(),
    }
}

fn trust_shown(trust: &Trust) -> String {
    match trust {
        Trust::Trusted => "its hooks are trusted".to_owned(),
        Trust::Asked { open, all } => {
            format!("{open} of {all} hooks are not trusted yet, so they do not run")
        }
        Trust::Unknown(why) => format!("whether its hooks are trusted is not known ({why})"),
    }
}
