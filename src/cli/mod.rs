//! The command line: one file per verb, each with its arguments, whose doc comments are the help text.
//!
//! [`run`] finds the verb, builds the parser of that verb alone (the whole tree would cost more than the work), and
//! turns the result into text and an exit code. The verbs here hold no rules: they call `post` and show the result, for
//! a person, for an agent (no terminal) or as JSON.

mod adopt;
mod agents;
mod approve;
mod archive;
mod ask;
mod check;
mod claim;
mod companion;
mod complete;
mod completions;
mod compose;
mod context;
#[cfg(feature = "courier")]
mod courier;
#[cfg(feature = "courier")]
mod courier_accept;
#[cfg(feature = "courier")]
mod courier_shown;
mod demo;
#[cfg(any(feature = "tui", feature = "web"))]
mod desk;
mod dispatch;
mod dispatch_shown;
mod doctor;
mod drawing;
mod everywhere;
mod fail;
mod failed;
mod fold;
mod follow;
mod group;
mod guessed;
mod header;
mod hook;
mod hook_call;
mod install;
mod install_plan;
mod installed;
mod keeper;
mod launch;
#[cfg(any(feature = "mcp", feature = "web"))]
mod listening;
mod log;
mod man;
mod mb;
#[cfg(feature = "mcp")]
mod mcp;
mod names;
mod notify;
mod opened;
mod output;
mod own_program;
mod progress;
mod prune;
mod read;
#[cfg(all(test, feature = "mcp"))]
mod reference;
mod rename;
mod reply;
mod retry;
mod rooms;
mod runs;
mod scene;
mod search;
mod send;
mod session_limits;
mod setup;
mod shell_init;
mod shown;
mod spawn;
mod staff;
mod stage;
mod stats;
mod status;
mod status_shown;
mod stop;
mod surroundings;
mod table;
mod takeover;
mod terminal;
mod text;
mod thread;
mod tools;
mod trace;
mod tree;
mod tree_shared;
mod trust;
#[cfg(feature = "tui")]
mod tui;
mod uninstall;
mod unit;
mod verbs;
mod verify;
mod version;
mod wait;
mod waker;
#[cfg(feature = "web")]
mod web;
mod whoami;
mod workflow;
mod workflow_order;
mod workflow_shown;
mod workflows;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches};

use context::Context;
use fail::Fail;
use output::Output;

use crate::hint::Hint;

/// The options of every verb, before or after its name.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = EVERYWHERE)]
struct Globals {
    /// The room's directory (else that of this agent session, POSTROOM_ROOT, postroom.toml, the git repository, `main`)
    #[arg(long, value_name = "DIR", conflicts_with = "room", global = true)]
    root: Option<std::path::PathBuf>,
    /// A room by its name
    #[arg(long, value_name = "NAME", global = true)]
    room: Option<String>,
    /// Act as this mailbox (else that of this agent session, AGENT_MAILBOX_ID, that of this terminal)
    #[arg(long = "as", value_name = "NAME", global = true)]
    acting: Option<String>,
    /// One JSON document instead of text
    #[arg(long, global = true)]
    json: bool,
    /// No receipts and no remarks
    #[arg(long, short, global = true)]
    quiet: bool,
}

impl Globals {
    /// The options among the arguments of a verb that is not known.
    fn in_words(arguments: &[OsString]) -> Self {
        let value = |flag: &str| {
            arguments.iter().enumerate().find_map(|(at, word)| match word.to_str()?.strip_prefix(flag)? {
                "" => arguments.get(at + 1)?.clone().into_string().ok(),
                rest => rest.strip_prefix('=').map(str::to_owned),
            })
        };
        let is_there = |flag: &str| arguments.iter().any(|word| word == flag);
        Self {
            root: value("--root").map(Into::into),
            room: value("--room"),
            acting: value("--as"),
            json: is_there("--json"),
            quiet: false,
        }
    }
}

/// Options of [`Globals`] that take a value, so that the verb can be found after them.
const GLOBALS_WITH_VALUE: [&str; 3] = ["--root", "--room", "--as"];

/// One verb of the command line: its arguments, whose doc comments are its help, and what it does.
trait Verb: Args {
    fn run(self, context: &mut Context) -> Result<(), Fail>;
}

/// The parser of one verb, with the global options.
fn command<V: Args>() -> Command {
    // The verb comes last, so that the help is about it and its options have no heading.
    V::augment_args(Globals::augment_args(Command::new("postroom")).next_help_heading(None::<&str>))
}

/// The heading of the options that every verb has.
const EVERYWHERE: &str = "Everywhere";

/// Makes the long help the only form of help, without empty lines between options and with one line for the options of
/// every verb, because agents pay for every byte.
fn compact(mut command: Command) -> Command {
    // Its option for help exists from here on.
    command.build();
    let text = command.get_long_about().or(command.get_about()).cloned();
    let command = command
        .long_about(clap::builder::Resettable::<clap::builder::StyledStr>::Reset)
        .mut_args(|arg| match arg.get_help_heading() == Some(EVERYWHERE) || arg.get_id() == "help" {
            true => arg.hide(true),
            false => arg,
        })
        .after_help("Everywhere: --as NAME, --room NAME, --root DIR, --json, -q (`postroom help all`)");
    match text {
        Some(text) => command.about(text),
        None => command,
    }
}

/// Shows a help. Where nobody sees columns, none are made.
fn show_help(mut command: Command) -> ExitCode {
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        return show(&command.render_help().to_string());
    }
    let help = command.term_width(0).render_help().to_string();
    show(&help.lines().map(slim).collect::<Vec<_>>().join("\n"))
}

/// A line without the spaces that make columns.
fn slim(line: &str) -> String {
    let text = line.trim_start();
    let indent = if text.len() < line.len() { "  " } else { "" };
    let parts: Vec<&str> = text.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
    format!("{indent}{}", parts.join("  "))
}

/// Runs the command line `arguments`, the program's name first.
pub fn run(mut arguments: Vec<OsString>) -> ExitCode {
    // A file size limit is an error to report, not a reason to die: with a handler the write fails instead.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    match find_verb(&arguments) {
        FirstWord::Verb(at) => {
            if let Some(code) = launch::run_several(&arguments, at) {
                return code;
            }
            let name = arguments.remove(at).to_string_lossy().into_owned();
            if name == "help" {
                return help(&arguments);
            }
            match verbs::find(&name) {
                Some(entry) => (entry.run)(entry, arguments),
                None => no_such_verb(&name, verbs::nearest(&name, Some(&arguments)), &arguments),
            }
        }
        FirstWord::Version if arguments.iter().any(|a| a == "--verbose") => show(&version::verbose()),
        FirstWord::Version => show(version::LINE),
        FirstWord::Nothing => without_verb(&arguments),
    }
}

enum FirstWord {
    Verb(usize),
    Version,
    Nothing,
}

/// The first argument that is neither a global option nor the value of one.
fn find_verb(arguments: &[OsString]) -> FirstWord {
    let mut at = 1;
    while let Some(argument) = arguments.get(at) {
        let text = argument.to_string_lossy();
        match text.as_ref() {
            "--version" | "-V" => return FirstWord::Version,
            "--help" | "-h" => return FirstWord::Nothing,
            option if GLOBALS_WITH_VALUE.contains(&option) => at += 2,
            option if option.len() > 1 && option.starts_with('-') => at += 1,
            _ => return FirstWord::Verb(at),
        }
    }
    FirstWord::Nothing
}

/// The first page of the help, unless the options cannot be read or ask for a document.
fn without_verb(arguments: &[OsString]) -> ExitCode {
    // Its options are those of a verb, and `--version`, so that a mistyped one is recognised.
    let command = Globals::augment_args(Command::new("postroom").version(env!("CARGO_PKG_VERSION")));
    match command.try_get_matches_from(arguments) {
        Err(e) if e.use_stderr() => {
            fail::from_clap(&e, "", arguments, arguments.iter().any(|word| word == "--json"))
        }
        Ok(matches) if matches.get_flag("json") => {
            let missing = Fail::usage("a command is missing", Hint::run(&["help", "all"]));
            fail::finish(Err(missing), &mut Context::new(&Globals::in_words(arguments)))
        }
        Ok(_) | Err(_) => show(&verbs::overview()),
    }
}

fn help(rest: &[OsString]) -> ExitCode {
    let FirstWord::Verb(at) = find_verb(rest) else { return show(&verbs::overview()) };
    let words: Vec<String> = rest[at..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if words[0] == "all" {
        return show(&verbs::everything());
    }
    match verbs::named(&words) {
        Ok((command, name)) => show_help(compact(command).bin_name(name)),
        Err(hints) => no_such_verb(&words[0], hints, rest),
    }
}

fn no_such_verb(name: &str, hints: Vec<Hint>, arguments: &[OsString]) -> ExitCode {
    let mut context = Context::new(&Globals::in_words(arguments));
    fail::finish(Err(Fail::no_such_verb(name, hints)), &mut context)
}

/// Parses the arguments of one verb.
fn parsed<V: Args>(command: Command, name: &str, rest: &[OsString]) -> Result<(V, Globals), clap::Error> {
    let matches = command.bin_name(format!("postroom {name}")).try_get_matches_from(rest)?;
    Ok((V::from_arg_matches(&matches)?, Globals::from_arg_matches(&matches)?))
}

/// The generic function behind every entry of the table of verbs.
fn run_verb<V: Verb>(entry: &verbs::Entry, mut arguments: Vec<OsString>) -> ExitCode {
    let json = arguments.iter().any(|a| a == "--json");
    let (verb, globals) = match parsed::<V>(command::<V>(), entry.name, &arguments) {
        Ok(parsed) => parsed,
        Err(e) if e.use_stderr() => return fail::from_clap(&e, entry.name, &arguments, json),
        // `--help`; the verb may have verbs of its own.
        Err(_) => {
            arguments.insert(1, entry.name.into());
            return help(&arguments);
        }
    };
    let mut context = Context::new(&globals);
    let result = verb.run(&mut context);
    fail::finish(result, &mut context)
}

/// Why these arguments, the program's name first, are not a command that would be run. For tests of printed commands.
#[doc(hidden)]
pub fn misread(mut arguments: Vec<OsString>) -> Option<String> {
    let at = match find_verb(&arguments) {
        FirstWord::Verb(at) => at,
        FirstWord::Version => return None,
        FirstWord::Nothing => return Some("no verb".to_owned()),
    };
    let name = arguments.remove(at).to_string_lossy().into_owned();
    if name == "help" {
        return None;
    }
    match verbs::find(&name) {
        Some(entry) => (entry.command)().try_get_matches_from(arguments).err().map(|e| e.to_string()),
        None => Some(format!("no such verb: {name}")),
    }
}

fn show(text: &str) -> ExitCode {
    let mut output = Output::new(false, false);
    text.lines().for_each(|line| output.line(line));
    match output.flush() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(crate::post::Failure::NotDone as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb_at(line: &str) -> Option<usize> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match find_verb(&arguments) {
            FirstWord::Verb(at) => Some(at),
            _ => None,
        }
    }

    #[test]
    fn the_verb_is_found_behind_global_options() {
        assert_eq!(verb_at("postroom send bob"), Some(1));
        assert_eq!(verb_at("postroom --root /r --as bob --json check"), Some(6));
        assert_eq!(verb_at("postroom --root=/r check"), Some(2));
        assert_eq!(verb_at("postroom --help"), None);
        assert_eq!(verb_at("postroom"), None);
    }

    #[test]
    fn every_verb_has_a_parser_that_stands_clap_s_own_checks() {
        for entry in verbs::VERBS {
            (entry.command)().debug_assert();
            assert!((entry.command)().get_about().is_some(), "{} has no help", entry.name);
        }
    }
}
