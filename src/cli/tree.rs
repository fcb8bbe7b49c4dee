//! `postroom tree status|cleanup|shared`: a `.claude` tree as a whole.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::header::age;
use super::output::{BOLD, CYAN, GREEN, MAGENTA, PLAIN, RED, note};
use super::surroundings::ThisProcess;
use super::tree_shared::Shared;
use crate::message::tree::Status as State;
use crate::message::visible;
use crate::post::{Chain, Failure, TreeStatus, clean_up, tree_status};
use crate::view::tree as view;

/// Show a .claude tree, clean it up, change its shared files
#[derive(Debug, Args)]
pub(super) struct Tree {
    #[command(subcommand)]
    command: TreeCommand,
    /// The project with the .claude tree; default: the nearest at or above the working directory
    #[arg(long, value_name = "DIR", global = true)]
    tree: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum TreeCommand {
    Status(Status),
    Cleanup(Cleanup),
    Shared(Shared),
}

impl Verb for Tree {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let claude = crate::surroundings::tree(&ThisProcess, self.tree.as_deref())?;
        match self.command {
            TreeCommand::Status(status) => status.run(context, &claude),
            TreeCommand::Cleanup(cleanup) => cleanup.run(context, &claude),
            TreeCommand::Shared(shared) => shared.run(context, &claude),
        }
    }
}

/// Show messages per agent and state, the latest, the shared state
///
/// One line per agent, with its response time and whether work piles up, then one per message, newest first, then the
/// fields of each shared file. Changes no message. Unreadable files and responses without a request are reported on
/// standard error, and exit 4.
#[derive(Debug, Args)]
struct Status {
    /// At most this many messages
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Status {
    fn run(self, context: &mut Context, claude: &Path) -> Result<(), Fail> {
        let status = tree_status(claude, self.limit)?;
        if context.output.json {
            context.output.json(&view::TreeStatus::of(claude.display().to_string(), &status));
        } else {
            show(context, &status);
        }
        for (file, why) in &status.faults {
            note(&format!("postroom: {}: {}", visible::line(file), visible::line(why)));
        }
        if status.faults.is_empty() { Ok(()) } else { Err(Fail::Code(Failure::Refused)) }
    }
}

fn show(context: &mut Context, status: &TreeStatus) {
    let now = context.clock().now();
    let output = &mut context.output;
    for agent in &status.agents {
        let name = visible::line(&agent.agent);
        if output.terminal {
            let mut cells = vec![(BOLD, agent.agent.clone())];
            for (state, count) in State::ALL.iter().zip(agent.counts) {
                let style = if count == 0 { PLAIN } else { colour(*state) };
                cells.push((style, format!("{count:>4} {}", state.as_str())));
            }
            let took = agent.median.map_or("-".to_owned(), |seconds| format!("{seconds}s"));
            cells.push((PLAIN, format!("{took:>5} each")));
            if agent.piles_up {
                let since = agent.oldest.map(|time| age(now, time)).unwrap_or_default();
                cells.push((MAGENTA, format!("piles up {since}")));
            }
            output.row(&cells);
            continue;
        }
        let counts = State::ALL.iter().zip(agent.counts).map(|(state, n)| format!(" {}={n}", state.as_str()));
        let took = agent.median.map(|seconds| format!(" median={seconds}s")).unwrap_or_default();
        let oldest = agent.oldest.map(|time| format!(" oldest={time}")).unwrap_or_default();
        let piles = if agent.piles_up { " piles-up" } else { "" };
        let counts = counts.collect::<String>();
        output.line(&format!("{name}{counts} responses={}{took}{oldest}{piles}", agent.responses));
    }
    output.end_table();
    for message in &status.latest {
        let (from, to) = (visible::line(&message.from), visible::line(&message.agent));
        let (id, subject) = (visible::line(&message.id), visible::line(&message.subject));
        let took = message.duration.map(|seconds| format!(" {seconds}s")).unwrap_or_default();
        let waits =
            message.waits.as_ref().map(|waits| format!(", {}", visible::line(waits))).unwrap_or_default();
        if output.terminal {
            let old = message.time.map_or(String::new(), |time| age(now, time));
            output.row(&[
                (CYAN, id),
                (PLAIN, format!("{old:>4}")),
                (BOLD, format!("{from} → {to}")),
                (colour(message.status), format!("{}{took}{waits}", message.status)),
                (PLAIN, subject),
            ]);
            continue;
        }
        let time = message.time.map(|time| format!(" {time}")).unwrap_or_default();
        output.line(&format!("{id}{time} {from} → {to} {}{took}{waits}: {subject}", message.status));
    }
    for (file, fields) in &status.shared {
        let fields: Vec<String> =
            fields.iter().map(|(k, v)| format!("{}={}", visible::line(k), visible::line(v))).collect();
        if !fields.is_empty() {
            output.line(&format!("shared/{}: {}", visible::line(file), fields.join(" ")));
        }
    }
}

fn colour(status: State) -> anstyle::Style {
    match status {
        State::Pending => MAGENTA,
        State::InProgress => PLAIN,
        State::Completed => GREEN,
        State::Failed => RED,
    }
}

/// Archive finished chains
///
/// A chain is a request with its response. It goes to .claude/archive/ when both are completed and no open message
/// refers to it. Nothing is removed. Exits 1 if there is nothing to archive.
#[derive(Debug, Args)]
struct Cleanup {
    /// Only show what would be archived
    #[arg(long)]
    dry_run: bool,
}

impl Cleanup {
    fn run(self, context: &mut Context, claude: &Path) -> Result<(), Fail> {
        let chains = clean_up(claude, self.dry_run)?;
        context.done = true;
        let verb = if self.dry_run { "would archive" } else { "archived" };
        let line = |chain: &Chain| format!("{verb} {} of {}", visible::line(&chain.id), chain.agent);
        context.output.receipt(&view::TreeCleanup::of(self.dry_run, &chains), chains.iter().map(line));
        if chains.is_empty() {
            context.output.remark("nothing is finished");
            return Err(Fail::Code(Failure::Nothing));
        }
        Ok(())
    }
}
