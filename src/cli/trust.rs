//! `postroom trust`: shows what a repository or a room would run, and asks the person.

use std::path::{Path, PathBuf};

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::{CYAN, GREEN, MAGENTA, Output, PLAIN, RED};
use super::surroundings::ThisProcess;
use super::{Verb, staff, terminal};
use crate::hint::Hint;
use crate::message::visible;
use crate::name::Name;
use crate::person;
use crate::post::{Error, Failure, Post};
use crate::surroundings::{project_file, whole_path};
use crate::trust::{self, Choice, Item, Key, Look, Record, TrustState, What, plain};
use crate::view::trust::{TrustItems, TrustRecord, TrustSaid};

/// How many of the files that an agent program reads are listed.
const NAMED: usize = 12;

/// Show what a repository, or a room, would run, and let it
///
/// Trust is per agent and per workflow. It covers the table or file, and the files that the agent program reads there.
/// If one of them changes, you are asked again and see the difference. Versions that you trusted before stay trusted.
/// Only a person at a terminal can decide. For a machine without one, copy the output of --export from your machine
/// into the file that its first line names; the path of the project must be the same there.
#[derive(Debug, Args)]
pub(super) struct Trust {
    /// The repository, or the root of a room; default: the repository around the working directory
    dir: Option<PathBuf>,
    /// Only this agent; may be repeated
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,
    /// Only this workflow; may be repeated
    #[arg(long, value_name = "NAME")]
    workflow: Vec<String>,
    /// Forget the versions that were trusted before
    #[arg(long)]
    only: bool,
    /// Revoke the trust
    #[arg(long, conflicts_with = "only")]
    revoke: bool,
    /// Print the record instead of writing it
    #[arg(long, conflicts_with = "revoke")]
    export: bool,
    /// Do not ask; still needs a terminal
    #[arg(long)]
    yes: bool,
}

impl Verb for Trust {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let dir = match (&self.dir, project_file(&ThisProcess)?) {
            (Some(dir), _) => whole_path(dir)?,
            (None, Some((file, _))) => file.parent().unwrap_or(&file).to_owned(),
            (None, None) => whole_path(Path::new("."))?,
        };
        let shown = visible::line(&dir.display().to_string());
        person::at_hand(context.surroundings.by_agent, &shown, terminal::typed).map_err(Error::from)?;
        let store = staff::store()?;
        let before = store.record(&dir).map_err(fail)?;
        let choice = Choice { agents: self.agent, workflows: self.workflow, only: self.only };
        if self.revoke {
            let after = choice.revoked(&before);
            if after == before {
                return Err(context.nothing(&format!("{shown} was not trusted")));
            }
            store.keep(&dir, &after).map_err(fail)?;
            let said = TrustSaid { revoked: Some(dir.display().to_string()), ..TrustSaid::default() };
            context.done = true;
            context.output.receipt(&said, [format!("not trusted any more: {shown}")]);
            return Ok(());
        }
        // Before the question: a change while the person reads is not covered.
        let items = Look::at(&dir).items().and_then(|items| choice.of(items)).map_err(fail)?;
        let after = choice.agreed(&before, &items);
        if self.export {
            let record = after.text(&dir);
            match context.output.json {
                true => context.output.json(&TrustRecord { directory: dir.display().to_string(), record }),
                false => context.output.text(&record),
            }
            return Ok(());
        }
        if !choice.only && !items.iter().any(|item| is_shown(item, &before.state(item))) {
            let why = format!("nothing in {shown} would be started, so there is nothing to trust");
            return Err(Fail::told(
                Failure::Nothing,
                why,
                Hint::run(&["help", "dispatch"]).to("what an agent needs"),
            ));
        }
        show(context, &dir, &before, &items);
        context.output.flush().map_err(Fail::Output)?;
        let asks = !self.yes && items.iter().any(|item| !before.trusts(item));
        if asks && !terminal::agrees(&format!("May this be started in {shown}?")) {
            return Err(Fail::told(
                Failure::Nothing,
                "nothing was changed",
                Hint::again_with("--yes").to("does not ask"),
            ));
        }
        if before != after {
            store.keep(&dir, &after).map_err(fail)?;
        }
        let said = TrustSaid { trusted: Some(dir.display().to_string()), ..TrustSaid::default() };
        context.done = true;
        let next = mailboxes_to_make(context, &dir, items.iter().filter(|item| !before.trusts(item)));
        context.output.receipt(&said, [format!("trusted: {shown}")].into_iter().chain(next));
        Ok(())
    }
}

/// A command for each of these agents that has no mailbox: without one it gets no mail, and is not started.
fn mailboxes_to_make<'a>(
    context: &mut Context,
    dir: &Path,
    items: impl Iterator<Item = &'a Item>,
) -> Vec<String> {
    let agents: Vec<&str> = items.filter_map(agent_name).collect();
    if agents.is_empty() || context.locate().is_err() {
        return vec![];
    }
    let here = context.root.clone();
    if here != dir {
        context.here = Some(dir.to_owned());
        if context.locate().is_err() {
            return vec![];
        }
    }
    let elsewhere = (context.root != here).then(|| context.room.clone());
    let post = Post::open(&context.root, context.caller(), context.clock());
    let has_mailbox = |name: &str| post.as_ref().is_ok_and(|post| post.addressee(name).is_ok());
    let hint = |name: &str| {
        let make = Hint::run(&["setup", "--child", name]).to("its mailbox");
        match &elsewhere {
            None => Some(context.hint(make)),
            Some(room) => room.as_deref().map(|room| context.hint(make.in_room(room))),
        }
    };
    agents.into_iter().filter(|name| !has_mailbox(name)).filter_map(hint).collect()
}

/// The name of an agent that has a table of its own.
fn agent_name(item: &Item) -> Option<&str> {
    match &item.key {
        Key::Agent(name) => Some(name.as_str()).filter(|name| Name::parse(name).is_ok()),
        Key::Limits | Key::Described(_) | Key::Workflow(_) => None,
    }
}

/// Shows what would run: new items in full, changed ones as a difference, the rest in one line each.
fn show(context: &mut Context, dir: &Path, before: &Record, items: &[Item]) {
    let output = &mut context.output;
    if output.json {
        return output.json(&TrustItems::of(dir, before, items));
    }
    if output.quiet {
        return;
    }
    for item in items {
        let state = before.state(item);
        if !is_shown(item, &state) {
            continue;
        }
        let style = match state {
            TrustState::New => CYAN,
            TrustState::Changed(_) => MAGENTA,
            TrustState::Unchanged => PLAIN,
        };
        let head =
            output.paint(style, &format!("{} {}", state.as_str(), visible::line(&item.key.to_string())));
        output.line(&head);
        if state == TrustState::Unchanged {
            continue;
        }
        let lines = match &item.what {
            What::Limits => vec![],
            What::Agent { command, variables, .. } => agent_lines(command, variables),
            What::Workflow { agents, commands, faults } => workflow_lines(agents, commands, faults),
        };
        lines.iter().for_each(|line| detail(output, line));
        match &state {
            TrustState::Changed(changes) => changes.iter().for_each(|line| detail(output, &shortened(line))),
            _ => whole(output, item),
        }
    }
}

/// Whether an item says anything: default limits do not.
fn is_shown(item: &Item, state: &TrustState) -> bool {
    item.key != Key::Limits || !item.description.is_empty() || matches!(state, TrustState::Changed(_))
}

/// The further details of a new item.
fn whole(output: &mut Output, item: &Item) {
    match &item.what {
        // Its text is in a file to read; its difference is not.
        What::Workflow { .. } => return,
        What::Limits | What::Agent { .. } => {
            // Those two were already shown.
            let is_new = |line: &&String| !line.starts_with("command: ") && !line.starts_with("env: ");
            item.table().filter(is_new).for_each(|line| detail(output, line));
        }
    }
    if let What::Agent { reads, .. } = &item.what
        && !reads.is_empty()
    {
        let more = reads.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        detail(output, &format!("reads: {}{more}", reads[..reads.len().min(NAMED)].join(", ")));
    }
}

fn agent_lines(command: &[String], variables: &[String]) -> Vec<String> {
    let mut lines = vec![format!("runs: {}", words(command))];
    if !variables.is_empty() {
        lines.push(format!("variables: {}", variables.join(", ")));
    }
    lines
}

fn workflow_lines(agents: &[String], commands: &[(String, Vec<String>)], faults: &[String]) -> Vec<String> {
    let mut lines = vec![];
    if !agents.is_empty() {
        lines.push(format!("asks: {}", agents.join(", ")));
    }
    lines.extend(commands.iter().map(|(step, command)| format!("step {step} runs: {}", words(command))));
    lines.extend(faults.iter().map(|fault| format!("cannot be run: {fault}")));
    lines
}

fn words(command: &[String]) -> String {
    command.iter().map(|word| plain(word)).collect::<Vec<_>>().join(" ")
}

fn detail(output: &mut Output, line: &str) {
    let style = match line.get(..2) {
        Some("- ") => RED,
        Some("+ ") => GREEN,
        _ => PLAIN,
    };
    let line = output.paint(style, &format!("  {}", visible::line(line)));
    output.line(line.trim_end());
}

/// A line about a file with its digest shortened to what people compare.
fn shortened(line: &str) -> String {
    match line.rsplit_once(" sha256:") {
        Some((path, digits)) if digits.len() == 64 => format!("{path} sha256:{}", &digits[..12]),
        _ => line.to_owned(),
    }
}

fn fail(e: trust::Error) -> Fail {
    let (code, hint) = match e {
        trust::Error::Disk(e) => return e.into(),
        trust::Error::Uncovered { .. } => {
            let hint = "agent programs read it: leave plain files with plain names there, not too many and not too deep";
            (Failure::Refused, hint)
        }
        trust::Error::Settings { .. } => (Failure::Refused, "correct that file"),
        trust::Error::Unknown { .. } => (Failure::Unknown, "without a name, `trust` shows everything"),
    };
    Fail::told(code, e.to_string(), hint)
}
