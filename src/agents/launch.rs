//! One start of a program with a mailbox: `postroom claude`. What the person typed is split into our options and the
//! program's words, and the kit of the start (files, arguments, variables) comes from the table. Pure; `starts` keeps
//! the files on disk, and the command line starts the program.
//!
//! The person's words reach the program unchanged and in their order. What an installation has brought is left out.

use std::ffi::OsString;

use serde_json::{Map, Value};

use super::change::{self, Language};
use super::install_files::{Form, Piece, Site};
use super::program::{Argument, Content, File, Position, Resume, Variable};
use super::programs::Program;
use super::tables;

/// The variable that says that a process belongs to a start.
pub const START: &str = "POSTROOM_START";

/// The variable by which the person allows typing into tmux in a start: all starts of a program share the file of its hooks.
pub const TYPES: &str = "POSTROOM_TYPE_INTO_TMUX";

/// The option that allows it.
pub const TYPE_INTO_TMUX: &str = "--type-into-tmux";

/// Words with which every program only tells about itself.
const ABOUT_ITSELF: [&str; 5] = ["-h", "--help", "-v", "-V", "--version"];

/// What a person typed behind the name of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Typed {
    pub acting: Option<String>,
    pub about: Option<String>,
    pub room: Option<String>,
    pub root: Option<String>,
    /// `--resume` without an id, for a name that was given: its last conversation.
    pub resumes: bool,
    /// The person allows typing into tmux.
    pub types: bool,
    /// The words of the program.
    pub words: Vec<OsString>,
}

impl Typed {
    /// Takes our options out, up to a `--`. `Err`: the option that lacks its value.
    pub fn split(words: impl IntoIterator<Item = OsString>) -> Result<Self, &'static str> {
        let mut typed = Self::default();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or_default();
            let (option, value) = text.split_once('=').map_or((text, None), |(o, v)| (o, Some(v.to_owned())));
            let (place, option) = match option {
                "--as" => (&mut typed.acting, "--as"),
                "--about" => (&mut typed.about, "--about"),
                "--room" => (&mut typed.room, "--room"),
                "--root" => (&mut typed.root, "--root"),
                TYPE_INTO_TMUX if value.is_none() => {
                    typed.types = true;
                    continue;
                }
                "--" => {
                    typed.words.push(word);
                    typed.words.extend(words);
                    break;
                }
                _ => {
                    typed.words.push(word);
                    continue;
                }
            };
            let value = value.or_else(|| words.next().map(|next| next.to_string_lossy().into_owned()));
            *place = Some(value.ok_or(option)?);
        }
        typed.take_resume();
        Ok(typed)
    }

    /// With an id behind it, or without a name, `--resume` is the program's own.
    fn take_resume(&mut self) {
        let end = self.words.iter().position(|word| word == "--").unwrap_or(self.words.len());
        let is_option =
            |word: Option<&OsString>| word.is_none_or(|word| word.to_string_lossy().starts_with('-'));
        let bare = self.words[..end].iter().position(|word| word == "--resume");
        let bare = bare.filter(|at| self.acting.is_some() && is_option(self.words.get(at + 1)));
        if let Some(at) = bare {
            self.words.remove(at);
            self.resumes = true;
        }
    }

    /// Whether the words open a session. A command of the program, or a question about it, needs no mailbox.
    pub fn is_session(&self, program: &Program) -> bool {
        let first = self.words.first().and_then(|word| word.to_str()).unwrap_or_default();
        let before = self.words.iter().take_while(|word| *word != "--");
        let is_question = |word: &OsString| word.to_str().is_some_and(|word| ABOUT_ITSELF.contains(&word));
        !program.launch.commands.contains(&first) && !before.clone().any(is_question)
    }

    /// Whether the person goes on with a session in the program's own way; that session may have a mailbox.
    pub fn goes_on(&self, program: &Program) -> bool {
        let option =
            |word: &OsString| word.to_str().map(|w| w.split('=').next().unwrap_or_default().to_owned());
        let mut before = self.words.iter().take_while(|word| *word != "--").filter_map(option);
        before.any(|word| program.launch.resumes.contains(&word.as_str()))
    }

    /// Whether the person gave this option to the program.
    fn has_option(&self, option: &str) -> bool {
        let is_it = |word: &OsString| {
            word.to_str().is_some_and(|word| word == option || word.starts_with(&format!("{option}=")))
        };
        self.words.iter().take_while(|word| *word != "--").any(is_it)
    }

    fn first_is_headless(&self, program: &Program) -> bool {
        let first = self.words.first().and_then(|word| word.to_str());
        first.is_some_and(|first| program.launch.headless.contains(&first))
    }
}

/// What the program said before its start.
#[derive(Debug, Default)]
pub struct Asked {
    /// Those of `hook_words` and `trust`.
    pub hooks: Vec<String>,
    /// Its settings, if it tells them.
    pub settings: Option<Value>,
}

/// What one start needs beyond what the program has already.
#[derive(Debug, Clone, Copy)]
pub struct Kit<'a> {
    pub program: &'static Program,
    /// With the directory of the start.
    pub site: &'a Site,
    /// `postroom install` has set the program up for this user.
    pub installed: bool,
    /// The program has the skill, by this installation or by that of another program.
    pub has_skill: bool,
}

impl Kit<'_> {
    /// The files: those in the directory of the start, and those in the directories of the program.
    pub fn files(&self) -> (Vec<Piece>, Vec<Piece>) {
        if self.installed {
            return (vec![], vec![]);
        }
        let is_needed = |file: &&File| !(self.has_skill && matches!(file.content, Content::Skill));
        let files = self.program.launch.files.iter().filter(is_needed);
        let (own, others): (Vec<File>, Vec<File>) = files.partition(|file| file.path.starts_with("{start}"));
        // A plugin without its skill is nothing, where the hooks come by arguments.
        let has_skill = others.iter().any(|file| matches!(file.content, Content::Skill));
        let others = if has_skill || !self.brings_hooks_by_words() { others } else { vec![] };
        (self.site.pieces(self.program, &own), self.site.pieces(self.program, &others))
    }

    /// Whether the hooks stand on the command line, where the program asks for trust in them.
    pub fn brings_hooks_by_words(&self) -> bool {
        self.program.launch.arguments.iter().any(|argument| matches!(argument, Argument::Hooks))
    }

    /// The hooks as settings on the command line.
    pub fn hook_words(&self) -> Vec<String> {
        let mut lists: Vec<(&str, Vec<Value>)> = vec![];
        for hook in self.site.hooks(self.program) {
            let value = self.site.hook(self.program, hook);
            match lists.iter_mut().find(|(name, _)| *name == hook.name) {
                Some((_, list)) => list.push(value),
                None => lists.push((hook.name, vec![value])),
            }
        }
        let setting = |(name, list): (&str, Vec<Value>)| {
            let value = tables::line(&Value::Array(list));
            ["-c".to_owned(), format!("hooks.{name}={}", value.trim())]
        };
        lists.into_iter().flat_map(setting).collect()
    }

    /// The person's trust in our hooks for this start, from what the program says of them. `None` unless it sees each
    /// of them as it was given; no other hook is trusted by it.
    pub fn trust(&self, seen: &[Value]) -> Option<Vec<String>> {
        let commands: Vec<String> =
            self.site.hooks(self.program).map(|hook| self.site.command(self.program, hook.event)).collect();
        let is_ours = |hook: &&Value| {
            hook["source"] == "sessionFlags"
                && hook["command"].as_str().is_some_and(|line| commands.iter().any(|own| own == line))
        };
        let mut state = Map::new();
        for hook in seen.iter().filter(is_ours) {
            let hash = hook["currentHash"].as_str()?;
            state.insert(hook["key"].as_str()?.to_owned(), serde_json::json!({"trusted_hash": hash}));
        }
        let all = state.len() == commands.len();
        let state = tables::line(&Value::Object(state));
        all.then(|| vec!["-c".to_owned(), format!("hooks.state={}", state.trim())])
    }

    /// The whole command line behind the program's name.
    pub fn words(&self, typed: &Typed, asked: &Asked, session: Option<&str>) -> Vec<OsString> {
        let ours =
            self.program.launch.arguments.iter().flat_map(|argument| self.argument(*argument, typed, asked));
        let ours: Vec<OsString> = ours.map(Into::into).collect();
        let resumed: Vec<OsString> = match (session, self.program.launch.resume) {
            (Some(id), Resume::Option(option) | Resume::Word(option)) => vec![option.into(), id.into()],
            (None, _) => vec![],
        };
        let mut words = typed.words.clone();
        let front = usize::from(typed.first_is_headless(self.program));
        words.splice(front..front, resumed);
        let at = match self.program.launch.position {
            Position::Front => front,
            Position::End => words.iter().position(|word| word == "--").unwrap_or(words.len()),
        };
        words.splice(at..at, ours);
        words
    }

    fn argument(&self, argument: Argument, typed: &Typed, asked: &Asked) -> Vec<String> {
        match argument {
            Argument::Always(words) => self.filled(words),
            Argument::Attended(words) if !typed.first_is_headless(self.program) => self.filled(words),
            Argument::Hooks => asked.hooks.clone(),
            _ if self.installed => vec![],
            Argument::Kit(words) => self.filled(words),
            Argument::Skill(words) if !self.has_skill => self.filled(words),
            Argument::Unless(option, words) if !typed.has_option(option) => self.filled(words),
            Argument::Setting(key, value) => {
                let value = tables::line(&self.site.value(value, ""));
                vec!["-c".to_owned(), format!("{key}={}", value.trim())]
            }
            Argument::Writable(option, path) => self.writable(option, path, typed, asked),
            Argument::Attended(_) | Argument::Skill(_) | Argument::Unless(..) => vec![],
        }
    }

    fn filled(&self, words: &[&str]) -> Vec<String> {
        let start = self.site.start.as_deref().unwrap_or(&self.site.home).display().to_string();
        let config = self.site.config.display().to_string();
        let fill = |word: &str, root: &str| {
            word.replace("{start}", &start).replace("{config}", &config).replace("{root}", root)
        };
        let roots: Vec<String> = match words.iter().any(|word| word.contains("{root}")) {
            true => self.site.roots.iter().map(|root| root.display().to_string()).collect(),
            false => vec![String::new()],
        };
        roots.iter().flat_map(|root| words.iter().map(|word| fill(word, root))).collect()
    }

    /// The rooms as directories that the sandbox leaves writable. A terminal of Codex does not start with the option where
    /// its sandbox is read-only, as in a folder that the person has yet to trust; so they come as a setting, which
    /// repeats the person's own list. Only where that list has no effect or is not known, the option is needed.
    fn writable(&self, option: &str, [table, list]: [&str; 2], typed: &Typed, asked: &Asked) -> Vec<String> {
        let has_profile = typed.has_option("-p") || typed.has_option("--profile");
        let is_listed = |settings: &&Value| {
            !has_profile && settings["default_permissions"].as_str().is_none_or(|name| name == ":read-only")
        };
        let Some(settings) = asked.settings.as_ref().filter(is_listed) else {
            return self.filled(&[option, "{root}"]);
        };
        let mut roots = settings[table][list].as_array().cloned().unwrap_or_default();
        let ours = self.filled(&["{root}"]).into_iter().map(Value::from);
        roots.extend(ours.filter(|root| !roots.contains(root)).collect::<Vec<_>>());
        vec!["-c".to_owned(), format!("{table}.{list}={}", tables::line(&Value::Array(roots)).trim())]
    }

    /// The variables that the kit changes. `present`: their values now.
    pub fn variables(
        &self,
        present: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<(&'static str, String)>, (&'static str, change::Error)> {
        let mut variables = vec![];
        for variable in self.program.launch.variables {
            match variable {
                Variable::Settings(name, entries) if !self.installed => {
                    let changes: Vec<_> =
                        entries.iter().flat_map(|entry| self.site.changes(self.program, entry)).collect();
                    let text = present(name).unwrap_or_default();
                    let text = Language::Json.apply(&text, &changes).map_err(|e| (*name, e))?;
                    variables.push((*name, text));
                }
                Variable::Settings(..) => {}
                Variable::Listed(name, item) => {
                    let list = present(name).unwrap_or_default();
                    let items = list.split(',').map(str::trim).filter(|i| !i.is_empty() && i != item);
                    variables.push((*name, items.chain([*item]).collect::<Vec<_>>().join(",")));
                }
            }
        }
        Ok(variables)
    }
}

/// The text of a file that is wholly ours.
pub fn text(piece: &Piece) -> Result<String, change::Error> {
    match &piece.form {
        Form::Whole(text) => Ok(text.clone()),
        Form::Settings(language, changes) => language.apply("", changes),
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
