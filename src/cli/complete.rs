//! `postroom complete`: the scripts of `postroom tools completions` call it for each Tab. It reads the same table of verbs
//! as the parser, so that both know the same words. It is silent on errors and changes nothing.
//!
//! Prints `VALUE<Tab>DESCRIPTION` lines, or the one line `/` where the shell should complete a path. Names and subjects are
//! written by others: a value has only characters that mean nothing to a shell, a description has no controls.

use clap::{Arg, Args, Command, ValueHint};

use super::context::Context;
use super::fail::Fail;
use super::surroundings::ThisProcess;
use super::{Globals, Verb, staff, verbs, workflows};
use crate::agents::programs::PROGRAMS;
use crate::dispatch;
use crate::mailbox::Folder;
use crate::message::{Priority, Protocol, visible};
use crate::post::{Offer, Post};
use crate::staff::FoundWorkflow;
use crate::surroundings::rooms;
use crate::workflow;

/// The longest description, in columns.
const LONGEST: usize = 60;

/// Print what may complete the last of these words (called by shells)
#[derive(Debug, Args)]
pub(super) struct Complete {
    /// The words of the command line up to the cursor, the program's name first
    #[arg(trailing_var_arg = true)]
    words: Vec<String>,
}

impl Verb for Complete {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let Some((current, before)) = self.words.get(1..).and_then(<[String]>::split_last) else {
            return Ok(());
        };
        let mut line = Line::new();
        before.iter().for_each(|word| line.take(word));
        // The room and the identity are those of the line, not of this command.
        let mut context_of_line = Context::new(&line.globals);
        let (prefix, offers) = line.offers(current, &mut context_of_line);
        let wanted = current[prefix.len()..].to_lowercase();
        for (value, description) in offers {
            let fits = value.to_lowercase().starts_with(&wanted) && value.chars().all(is_harmless);
            if value == PATH || fits {
                let description = visible::clip(&visible::line(&description), LONGEST);
                context.output.line(format!("{prefix}{value}\t{description}").trim_end());
            }
        }
        Ok(())
    }
}

/// Stands for a path, which the shell completes itself.
const PATH: &str = "/";

fn is_harmless(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@')
}

/// What the words before the cursor say.
struct Line {
    globals: Globals,
    /// The verb and its sub-verbs, such as `workflow run`.
    path: String,
    command: Command,
    /// The number of words that are no options.
    position: usize,
    /// The option whose value comes next.
    open: Option<Arg>,
    only_values: bool,
}

impl Line {
    fn new() -> Self {
        Self {
            globals: Globals::default(),
            path: String::new(),
            command: Globals::augment_args(Command::new("postroom")),
            position: 0,
            open: None,
            only_values: false,
        }
    }

    fn take(&mut self, word: &str) {
        if let Some(option) = self.open.take() {
            return self.set(&option, word);
        }
        match word {
            _ if self.only_values => self.position += 1,
            "--" => self.only_values = true,
            _ if word.len() > 1 && word.starts_with('-') => {
                let (name, value) = word.split_once('=').unzip();
                let option = self.option(name.unwrap_or(word)).filter(takes_value).cloned();
                match (option, value) {
                    (Some(option), Some(value)) => self.set(&option, value),
                    (option, _) => self.open = option,
                }
            }
            _ => self.enter(word),
        }
    }

    /// A verb, a sub-verb or a value.
    fn enter(&mut self, word: &str) {
        let inner = match self.path.as_str() {
            "" if word == "help" => Some(Command::new("help")),
            "" => verbs::find(word).map(|entry| built((entry.command)())),
            "help" => None,
            _ => self.command.find_subcommand(word).cloned(),
        };
        match inner {
            Some(command) => {
                self.command = command;
                self.path = format!("{} {word}", self.path).trim_start().to_owned();
            }
            None => self.position += 1,
        }
    }

    fn set(&mut self, option: &Arg, value: &str) {
        let value = Some(value.to_owned());
        match option.get_id().as_str() {
            "root" => self.globals.root = value.map(Into::into),
            "room" => self.globals.room = value,
            "acting" => self.globals.acting = value,
            _ => {}
        }
    }

    /// The options of the verb and of every verb.
    fn options(&self) -> impl Iterator<Item = &Arg> {
        self.command.get_arguments().filter(|arg| !arg.is_positional())
    }

    /// The option of a word: `--limit`, or `-m`, which may be the last of several letters.
    fn option(&self, word: &str) -> Option<&Arg> {
        let is_meant = |arg: &Arg| match word.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => arg.get_short() == word.chars().last(),
        };
        self.options().find(|arg| is_meant(arg))
    }

    /// What may come next, behind a part of the word that stays.
    fn offers<'a>(&self, current: &'a str, context: &mut Context) -> (&'a str, Vec<Offer>) {
        if let Some(option) = &self.open {
            return ("", self.values(option, context));
        }
        if !self.only_values && current.starts_with('-') {
            let Some((name, _)) = current.split_once('=') else { return ("", self.option_names()) };
            let values = self.option(name).filter(takes_value).map(|option| self.values(option, context));
            return (&current[..=name.len()], values.unwrap_or_default());
        }
        let inner = |command: &Command| (command.get_name().to_owned(), about(command));
        match self.path.as_str() {
            "" if self.position == 0 => ("", verbs_and(&["help"])),
            "help" if self.position == 0 => ("", verbs_and(&["all"])),
            _ if self.position == 0 && self.command.has_subcommands() => {
                ("", self.command.get_subcommands().map(inner).collect())
            }
            _ => {
                let positions: Vec<&Arg> = self.command.get_positionals().collect();
                let several = |arg: &&&Arg| matches!(arg.get_action(), clap::ArgAction::Append);
                let arg = positions.get(self.position).or_else(|| positions.last().filter(several));
                ("", arg.map(|arg| self.values(arg, context)).unwrap_or_default())
            }
        }
    }

    fn option_names(&self) -> Vec<Offer> {
        let help = |arg: &Arg| arg.get_help().map(ToString::to_string).unwrap_or_default();
        let named = |arg: &Arg| Some((format!("--{}", arg.get_long()?), help(arg)));
        self.options().filter(|arg| !arg.is_hide_set()).filter_map(named).collect()
    }

    /// The values of an argument.
    fn values(&self, arg: &Arg, context: &mut Context) -> Vec<Offer> {
        let named = arg
            .get_value_names()
            .and_then(|names| names.first())
            .map(|name| name.as_str())
            .unwrap_or_default();
        let plain = |words: &[&str]| words.iter().map(|word| ((*word).to_owned(), String::new())).collect();
        let here = |context: &mut Context, look: fn(&Post) -> Vec<Offer>| {
            context.post().map(look).unwrap_or_default()
        };
        let messages = |context: &mut Context, folders: &[Folder]| {
            context.post().map(|post| post.offered_messages(folders)).unwrap_or_default()
        };
        match (self.path.as_str(), arg.get_id().as_str(), named) {
            _ if !arg.get_possible_values().is_empty() => arg
                .get_possible_values()
                .iter()
                .map(|value| (value.get_name().to_owned(), String::new()))
                .collect(),
            _ if arg.get_value_hint() != ValueHint::Unknown => vec![(PATH.to_owned(), String::new())],
            (_, "room", _) | ("rooms relink", "name", _) => {
                let all = rooms(&ThisProcess).ok().and_then(|rooms| rooms.all().ok()).unwrap_or_default();
                all.iter().map(|room| (room.as_str().to_owned(), String::new())).collect()
            }
            ("runs", "id", _) => here(context, runs),
            ("approve" | "reject", "id", _) | (_, _, "RUN") => here(context, workflow_runs),
            ("workflow run" | "workflow graph" | "workflow check", "name", _) | ("trust", "workflow", _) => {
                let about = |found: &FoundWorkflow| found.parsed().map(|parsed| parsed.about);
                workflows::all()
                    .iter()
                    .map(|found| (found.name.clone(), about(found).unwrap_or_default()))
                    .collect()
            }
            (_, _, "AGENT") | ("trust", "agent", _) => here(context, agents),
            ("undo", "id", _) => here(context, trashed),
            ("unarchive", "ids", _) => messages(context, &[Folder::Archive]),
            ("failed show" | "failed retry", ..) => messages(context, &[Folder::Failed]),
            ("trace" | "thread", "id", _) | (_, "reply_to", "ID") => {
                messages(context, &[Folder::Inbox, Folder::Archive])
            }
            ("read" | "archive" | "claim", "ids" | "id", _) | (_, "id_of_message", _) => {
                messages(context, &[Folder::Inbox])
            }
            (_, _, "TOKEN|ID") => here(context, Post::offered_claims),
            (_, _, "TO" | "MEMBER") => {
                [here(context, Post::offered_names), here(context, Post::offered_groups)].concat()
            }
            (_, _, "GROUP") => {
                let groups =
                    here(context, Post::offered_groups).into_iter().filter(|(name, _)| name != "@all");
                groups.map(|(name, members)| (name.trim_start_matches('@').to_owned(), members)).collect()
            }
            (_, _, "PRIORITY") => plain(&Priority::ALL.map(Priority::as_str)),
            (_, _, "PROTOCOL") => plain(&Protocol::ALL.map(Protocol::as_str)),
            (_, _, "PROGRAM") => {
                PROGRAMS.iter().map(|program| (program.word.to_owned(), String::new())).collect()
            }
            (_, _, "COMMAND") => verbs_and(&[]),
            // Names that are to be new.
            ("setup" | "spawn" | "undo" | "install" | "adopt" | "mcp" | "tools compose", ..) => vec![],
            (_, _, "NAME" | "OLD") => here(context, Post::offered_names),
            (_, _, words) if words.contains('|') => plain(&words.split('|').collect::<Vec<_>>()),
            _ => vec![],
        }
    }
}

fn takes_value(arg: &&Arg) -> bool {
    arg.get_action().takes_values()
}

/// With the options of every verb in its sub-verbs.
fn built(mut command: Command) -> Command {
    command.build();
    command
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn verbs_and(more: &[&str]) -> Vec<Offer> {
    let verbs = verbs::shown().map(|entry| (entry.name.to_owned(), about(&(entry.command)())));
    verbs.chain(more.iter().map(|word| ((*word).to_owned(), String::new()))).collect()
}

fn runs(post: &Post) -> Vec<Offer> {
    let Ok(Some(runs)) = dispatch::runs::Runs::existing(post.room()) else { return vec![] };
    let shown = |id: &String| {
        runs.get(id)
            .ok()
            .flatten()
            .map(|run| (run.id.clone(), format!("{} → {} {}", run.from, run.agent, run.state.as_str())))
    };
    runs.ids().unwrap_or_default().iter().rev().take(50).filter_map(shown).collect()
}

fn workflow_runs(post: &Post) -> Vec<Offer> {
    let Ok(Some(runs)) = workflow::runs::Runs::existing(post.room()) else { return vec![] };
    runs.ids().unwrap_or_default().into_iter().rev().take(50).map(|id| (id, String::new())).collect()
}

fn agents(post: &Post) -> Vec<Offer> {
    let agents = staff::gather(post).map(|staff| staff.agents).unwrap_or_default();
    agents
        .into_iter()
        .map(|(agent, _)| (agent.name, agent.settings.about.clone().unwrap_or_default()))
        .collect()
}

fn trashed(post: &Post) -> Vec<Offer> {
    let shown = |bag: crate::post::Trashed| (bag.id, bag.mailboxes.join(", "));
    post.trashed().unwrap_or_default().into_iter().map(shown).collect()
}
