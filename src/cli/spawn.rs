//! `postroom spawn` and `postroom handback`: a new agent with its task, and its result back.

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::send::{Writing, tell};
use super::{Verb, header, opened, surroundings};
use crate::agents::programs;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{self, Failure, Letter, NewMailbox, SPAWN};
use crate::process::opener::Extent;
use crate::view;

/// Open a new agent with a mailbox, a name and a first message
///
/// In tmux or zellij it opens a window or pane, elsewhere a window of the terminal that is there; where none can be opened
/// it says why and prints the command to run. The text is the task. Its subject begins with `spawn:`, and the new agent
/// returns its result with `postroom handback`.
#[derive(Debug, Args)]
pub(super) struct Spawn {
    /// The name of the new agent
    name: String,
    /// The program: claude, codex, gemini, opencode or copilot
    #[arg(long, value_name = "PROGRAM")]
    preset: String,
    /// Only print the command
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    writing: Writing,
}

impl Verb for Spawn {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let program = super::install::program(&self.preset)?;
        let (post, me) = context.post_and_me()?;
        let letter = self.writing.letter(post)?;
        let first = letter.body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let subject = letter.subject.clone().unwrap_or_else(|| visible::clip(first.trim(), 60));
        let subject = Some(format!("{SPAWN} {}", subject.trim_start_matches(SPAWN).trim()));
        let letter = Letter { subject, ..letter };
        let opener = match self.print {
            true => None,
            false => Some(opened::opener()),
        };
        // Do not create an agent that would have no task, or could not start it.
        post.check_letter(&letter)?;
        if matches!(opener, Some(Ok(_))) && surroundings::on_path(program.word).is_none() {
            let why = format!("{} is not installed: no `{}` on the search path", program.title, program.word);
            return Err(Fail::unknown(why, "install it first; --print only prints the command"));
        }
        let wanted = NewMailbox {
            name: Some(self.name.clone()),
            child: true,
            program: Some(program.word.to_owned()),
            ..NewMailbox::default()
        };
        let child = post.setup(&wanted).map_err(|e| taken(e, &self.name))?;
        // Only a room that is opened now knows the new name.
        let post = context.post()?;
        let letter = Letter { to: vec![child.id.to_string()], ..letter };
        let receipts = post.send(&me, &letter)?;
        let prompt = prompt(&child.name);
        let words: Vec<String> = program.open.iter().map(|word| word.replace("{prompt}", &prompt)).collect();
        let line = opened::line_of(context, program, &child.name, &words);
        let opened = opener
            .map(|opener| opener.and_then(|opener| opened::open(opener, Extent::Window, &child.name, &line)));
        let why = opened.as_ref().and_then(|opened| opened.as_ref().err());
        let line = opened::pasted(&line);
        if context.output.json {
            context.done = true;
            let document = view::send::Spawn {
                name: &child.name,
                id: child.id.as_str(),
                message: receipts.first().map(|r| r.id.as_str()),
                opened: matches!(opened, Some(Ok(_))),
                why: why.map(String::as_str),
                command: &line,
            };
            context.output.json(&document);
            return Ok(());
        }
        let told = tell(context, &receipts);
        if let Some(why) = why {
            note(&format!("postroom: nothing was opened: {why}; this command starts the agent:"));
        }
        match &opened {
            Some(Ok(_)) if context.output.quiet => {}
            Some(Ok(noun)) => context.output.line(&format!("opened {noun} {}", visible::line(&child.name))),
            Some(Err(_)) | None => context.output.line(&line),
        }
        told
    }
}

/// A taken name: this command again with a free one.
fn taken(e: post::Error, given: &str) -> Fail {
    let post::Error::Taken { suggestions, .. } = &e else { return e.into() };
    let hints = suggestions.iter().map(|free| Hint::again_instead(given, free).into()).collect();
    Fail::Told(e.code(), e.to_string(), hints)
}

/// The new agent's first prompt: a fixed text with its name.
fn prompt(name: &str) -> String {
    format!(
        "You are the agent {name}. Run your mailbox skill's check flow: your first mail, whose subject begins with `spawn:`, holds your task. \
         If a command does not know who you are, use `postroom --as {name}`."
    )
}

/// Answer the message that began your work, and archive it
///
/// The subject of that message begins with `spawn:`; without such a message it exits 1. If several wait for an answer,
/// they are listed, and ID selects one. A result may be sent in parts: when all are answered, the most recent is
/// answered again.
#[derive(Debug, Args)]
pub(super) struct Handback {
    /// The message, if several wait for an answer
    #[arg(value_name = "ID")]
    id_of_message: Option<String>,
    #[command(flatten)]
    writing: Writing,
}

impl Verb for Handback {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        let tasks = post.tasks_given(&me)?;
        let task = match tasks.meant(self.id_of_message.as_deref()).as_slice() {
            [] => return Err(context.nothing("no task began with `spawn:`")),
            [one] => *one,
            several => {
                let mut hints: Vec<Hint> = several.iter().map(|h| header::plain(post, h).into()).collect();
                let last = several.last().map(|h| h.envelope.id.to_string()).unwrap_or_default();
                hints.push(Hint::run(&["handback", &last]).to("says which").into());
                return Err(Fail::Told(
                    Failure::Refused,
                    format!("{} tasks wait for an answer", several.len()),
                    hints,
                ));
            }
        };
        let answer = post.reply(&me, task.envelope.id.as_str(), self.writing.letter(post)?)?;
        let told = tell(context, [&answer.receipt]);
        context.output.flush().map_err(Fail::Output)?;
        post.answered(&me, &answer);
        told
    }
}

/// The programs that can be opened.
pub(super) fn known() -> String {
    programs::PROGRAMS.iter().map(|program| program.word).collect::<Vec<_>>().join(", ")
}
