//! Failure: turns an error into text, hints and an exit code.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};

use super::context::Context;
use super::output::{Output, note};
use super::{FirstWord, guessed, verbs};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{self, Failure};
use crate::room;
use crate::staff;
use crate::surroundings::{self, sandbox_hint};
use crate::view::answer::{Error, Wrong};

/// Why a verb did not end with 0.
#[derive(Debug)]
pub(super) enum Fail {
    Post(post::Error),
    /// A refusal or failure of the view itself, with hints.
    Told(Failure, String, Vec<Hint>),
    /// Standard output could not be written.
    Output(io::Error),
    /// Everything was already reported.
    Code(Failure),
}

impl<E: Into<post::Error>> From<E> for Fail {
    fn from(e: E) -> Self {
        Self::Post(e.into())
    }
}

impl From<surroundings::Error> for Fail {
    fn from(e: surroundings::Error) -> Self {
        match e {
            surroundings::Error::Post(e) => Self::Post(e),
            e => Self::Told(e.code(), e.to_string(), e.hints()),
        }
    }
}

impl From<staff::Error> for Fail {
    fn from(e: staff::Error) -> Self {
        match e {
            staff::Error::Surroundings(e) => e.into(),
            staff::Error::Post(e) => Self::Post(e),
            staff::Error::Table { .. } => {
                let hint = Hint::run(&["help", "dispatch"]).to("what an agent needs");
                Self::told(e.code(), e.to_string(), hint)
            }
        }
    }
}

impl Fail {
    pub(super) fn told(code: Failure, message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Told(code, message.into(), vec![hint.into()])
    }

    pub(super) fn refused(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::told(Failure::Refused, message, hint)
    }

    pub(super) fn unknown(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::told(Failure::Unknown, message, hint)
    }

    pub(super) fn not_done(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::told(Failure::NotDone, message, hint)
    }

    pub(super) fn no_such_verb(name: &str, hints: Vec<Hint>) -> Self {
        Self::Told(Failure::Usage, format!("there is no command `{}`", visible::clip(name, 40)), hints)
    }

    /// A mistake on the command line that the parser could not see.
    pub(super) fn usage(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::told(Failure::Usage, message, hint)
    }
}

/// Flushes the output, reports the error, and returns the exit code.
pub(super) fn finish(result: Result<(), Fail>, context: &mut Context) -> ExitCode {
    let result = match (result, context.output.flush()) {
        // The unwritten output says that nothing is there; without it, the exit code alone would claim too much.
        (Ok(()) | Err(Fail::Code(Failure::Nothing)), Err(e)) => Err(Fail::Output(e)),
        (result, _) => result,
    };
    let json = context.output.json;
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Fail::Code(code)) => exit(code),
        Err(Fail::Told(code, message, hints)) => say(code, &message, &lines(context, hints), json),
        // The work is done; only the receipt is lost, and the exit code reports the work.
        Err(Fail::Output(e)) if context.done => {
            note(&format!("postroom: done, but the receipt could not be written: {e}"));
            ExitCode::SUCCESS
        }
        Err(Fail::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => exit(Failure::NotDone),
        Err(Fail::Output(e)) => {
            say(Failure::NotDone, &format!("cannot write to standard output: {e}"), &[], false)
        }
        Err(Fail::Post(e)) => {
            let mut hints = e.hints();
            if e.is_forbidden() {
                hints.push(sandbox_hint(&context.surroundings.harness, &context.root).into());
            }
            if let post::Error::UnknownName { name, .. } = &e {
                hints.extend(super::rooms::known_elsewhere(context, name).map(Hint::from));
            }
            if let post::Error::Room(room::Error::NoRoom { .. }) = &e {
                hints.extend(super::rooms::others(context));
            }
            say(e.code(), &e.to_string(), &lines(context, hints), json)
        }
    }
}

fn lines(context: &Context, hints: Vec<Hint>) -> Vec<String> {
    hints.into_iter().map(|hint| context.hint(hint)).collect()
}

/// An error of the parser: its first sentence, what it thinks was meant, and where the right form is explained. `verb` is
/// empty if there is none.
pub(super) fn from_clap(e: &clap::Error, verb: &str, arguments: &[OsString], json: bool) -> ExitCode {
    let text = e.render().to_string();
    let said: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let said = said.join(" ");
    let is_meant = |kind| {
        matches!(
            kind,
            ContextKind::SuggestedArg | ContextKind::SuggestedValue | ContextKind::SuggestedSubcommand
        )
    };
    let meant = e.context().find(|(kind, _)| is_meant(*kind));
    // The sub-verb is behind the options that every verb has.
    let inner = match super::find_verb(arguments) {
        FirstWord::Verb(at) => &arguments[at..],
        FirstWord::Version | FirstWord::Nothing => &[],
    };
    let words = inner.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once(verb.to_owned()).chain(words).collect();
    let guess = Some(e.kind()).filter(|kind| *kind == ErrorKind::UnknownArgument);
    let guess = guess.and_then(|_| guessed::hint(verb, arguments));
    let meant = guess.or_else(|| meant.map(|(_, words)| format!("did you mean `{words}`?")));
    let named = verbs::named(&words).ok();
    let is_bare = matches!(
        e.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    let said = match &named {
        Some((command, name)) if is_bare => sub_verbs(command, name),
        _ => said.trim_start_matches("error: ").to_owned(),
    };
    let is_missing = e.kind() == ErrorKind::MissingRequiredArgument;
    let list = named.as_ref().filter(|_| is_missing).and_then(|(_, name)| candidates(name));
    let help = named.map_or_else(|| "postroom".to_owned(), |(_, name)| name);
    let help = help.replacen("postroom", "postroom help", 1);
    let hints: Vec<String> = list.map(str::to_owned).into_iter().chain(meant).chain([help]).collect();
    say(Failure::Usage, &said, &hints, json)
}

/// The command that lists what the missing argument of another one may be.
fn candidates(name: &str) -> Option<&'static str> {
    match name {
        "postroom workflow show" => Some("postroom workflow list  # with the newest runs"),
        "postroom uninstall" => Some("postroom install --check  # what is installed"),
        _ => None,
    }
}

/// The sentence about a verb that stands without one of its own verbs.
fn sub_verbs(command: &clap::Command, name: &str) -> String {
    let own = command.get_subcommands().filter(|own| !own.is_hide_set() && own.get_name() != "help");
    let own: Vec<&str> = own.map(clap::Command::get_name).collect();
    format!("`{}` needs one of these words: {}", name.trim_start_matches("postroom "), own.join(", "))
}

fn say(code: Failure, message: &str, hints: &[String], json: bool) -> ExitCode {
    if json {
        let mut output = Output::new(true, false);
        output.json(&Error { error: Wrong { code: code as u8, message, hints } });
        if output.flush().is_ok() {
            return exit(code);
        }
    }
    note(&format!("postroom: {}", visible::text(message)));
    for hint in hints {
        note(&format!("  {}", visible::text(hint)));
    }
    exit(code)
}

fn exit(code: Failure) -> ExitCode {
    ExitCode::from(code as u8)
}
