//! `postroom spawn` and `postroom handback`: a new agent with its task, and its result back.

use std::process::Command;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::send::{Writing, tell};
use super::surroundings::ThisProcess;
use super::{Verb, header, surroundings};
use crate::agents::programs;
use crate::hint::{Hint, quoted};
use crate::message::visible;
use crate::post::{Failure, Letter, NewMailbox, SPAWN};
use crate::surroundings::Environment;
use crate::view;

/// Open a new agent with a mailbox, a name and a first message
///
/// In tmux it opens a window; elsewhere it prints the command to run. The text is the task. Its subject begins with
/// `spawn:`, and the new agent returns its result with `postroom handback`.
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
        let in_window = !self.print && ThisProcess.text("TMUX").is_some();
        // Do not create an agent that would have no task, or could not start it.
        post.check_letter(&letter)?;
        if in_window && surroundings::on_path(program.word).is_none() {
            let why = format!("{} is not installed: no `{}` on the search path", program.title, program.word);
            return Err(Fail::unknown(why, "install it first; --print only prints the command"));
        }
        let child =
            post.setup(&NewMailbox { name: Some(self.name), child: true, ..NewMailbox::default() })?;
        // Only a room that is opened now knows the new name.
        let post = context.post()?;
        let letter = Letter { to: vec![child.id.to_string()], ..letter };
        let receipts = post.send(&me, &letter)?;
        let root = context.root.display().to_string();
        let variables = [
            ("AGENT_MAILBOX_ID", child.id.to_string()),
            ("POSTROOM_ROOT", root),
            ("AGENT_HARNESS", program.word.to_owned()),
        ];
        let prompt = prompt(&child.name, &variables[..2]);
        let words: Vec<String> = std::iter::once(program.word.to_owned())
            .chain(program.open.iter().map(|word| word.replace("{prompt}", &prompt)))
            .collect();
        let opened = in_window && window(&child.name, &variables, &words);
        let set: Vec<String> =
            variables.iter().map(|(key, value)| format!("{key}={}", quoted(value))).collect();
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let line = format!("{} {}", set.join(" "), line.join(" "));
        if context.output.json {
            context.done = true;
            let (name, id, message) =
                (&child.name, child.id.as_str(), receipts.first().map(|r| r.id.as_str()));
            context.output.json(&view::send::Spawn { name, id, message, opened, command: &line });
            return Ok(());
        }
        let told = tell(context, &receipts);
        match opened {
            true if context.output.quiet => {}
            true => context.output.line(&format!("opened the window {}", visible::line(&child.name))),
            false => context.output.line(&line),
        }
        told
    }
}

/// The new agent's first prompt: a fixed text with its name, its id and the room. Some programs run commands in a shell
/// without this environment, so the text says what to use then.
fn prompt(name: &str, variables: &[(&str, String)]) -> String {
    let set: Vec<String> = variables.iter().map(|(key, value)| format!("{key}={}", quoted(value))).collect();
    format!(
        "You are the agent {name}. Run your mailbox skill's check flow: your first mail, whose subject begins with `spawn:`, holds your task. \
         If a command does not know who you are, set {} for it, or use `postroom --as {name}`.",
        set.join(" ")
    )
}

fn window(name: &str, variables: &[(&str, String)], words: &[String]) -> bool {
    let mut tmux = Command::new("tmux");
    tmux.args(["new-window", "-d", "-n", name]);
    for (key, value) in variables {
        tmux.args(["-e", &argument(&format!("{key}={value}"))]);
    }
    tmux.arg("--").args(words.iter().map(|word| argument(word)));
    tmux.stdin(std::process::Stdio::null()).output().is_ok_and(|output| output.status.success())
}

/// A word for tmux, which reads a semicolon at the end of a word as the end of a command.
fn argument(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(start) => format!("{start}\\;"),
        None => word.to_owned(),
    }
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
