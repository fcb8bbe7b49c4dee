//! The table of verbs: dispatch, help, completions and man pages all come from it, so none can differ from another.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;

use super::{Verb, run_verb};

/// One verb.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) group: Group,
    pub(super) command: fn() -> Command,
    pub(super) run: fn(&Entry, Vec<OsString>) -> ExitCode,
}

/// The place of a verb in the overview.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Mail,
    Who,
    Queue,
    People,
    Agents,
    Home,
    Look,
    Tools,
    /// Not shown: called by other programs.
    Hidden,
}

const fn entry<V: Verb>(name: &'static str, group: Group) -> Entry {
    Entry { name, group, command: super::command::<V>, run: run_verb::<V> }
}

pub(super) const VERBS: &[Entry] = &[
    entry::<super::setup::Setup>("setup", Group::Who),
    entry::<super::whoami::Whoami>("whoami", Group::Who),
    entry::<super::names::Names>("names", Group::Who),
    entry::<super::adopt::Adopt>("adopt", Group::People),
    entry::<super::group::Group>("group", Group::People),
    entry::<super::takeover::Takeover>("takeover", Group::People),
    entry::<super::prune::Prune>("prune", Group::People),
    entry::<super::prune::Undo>("undo", Group::People),
    entry::<super::rooms::RoomsOf>("rooms", Group::People),
    entry::<super::send::Send>("send", Group::Mail),
    entry::<super::check::Check>("check", Group::Mail),
    entry::<super::read::Read>("read", Group::Mail),
    entry::<super::reply::Reply>("reply", Group::Mail),
    entry::<super::wait::Wait>("wait", Group::Mail),
    entry::<super::ask::Ask>("ask", Group::Mail),
    entry::<super::archive::Archive>("archive", Group::Mail),
    entry::<super::archive::Unarchive>("unarchive", Group::Mail),
    entry::<super::claim::Claim>("claim", Group::Queue),
    entry::<super::claim::Done>("done", Group::Queue),
    entry::<super::claim::Release>("release", Group::Queue),
    entry::<super::claim::GiveUp>("fail", Group::Queue),
    entry::<super::failed::Failed>("failed", Group::Queue),
    entry::<super::tree::Tree>("tree", Group::Queue),
    entry::<super::dispatch::Dispatch>("dispatch", Group::Agents),
    entry::<super::workflow::Workflow>("workflow", Group::Agents),
    entry::<super::agents::Agents>("agents", Group::Agents),
    entry::<super::agents::RunsOf>("runs", Group::Agents),
    entry::<super::trust::Trust>("trust", Group::Agents),
    entry::<super::approve::Approve>("approve", Group::Agents),
    entry::<super::approve::Reject>("reject", Group::Agents),
    #[cfg(feature = "mcp")]
    entry::<super::mcp::Mcp>("mcp", Group::Home),
    entry::<super::install::Install>("install", Group::Home),
    entry::<super::install::Uninstall>("uninstall", Group::Home),
    entry::<super::attend::Attend>("attend", Group::Home),
    entry::<super::spawn::Spawn>("spawn", Group::Home),
    entry::<super::spawn::Handback>("handback", Group::Home),
    entry::<super::trace::Trace>("trace", Group::Look),
    entry::<super::thread::Thread>("thread", Group::Look),
    entry::<super::thread::Sent>("sent", Group::Look),
    entry::<super::search::Search>("search", Group::Look),
    entry::<super::stats::Stats>("stats", Group::Look),
    entry::<super::log::Log>("log", Group::Look),
    entry::<super::doctor::Doctor>("doctor", Group::Look),
    entry::<super::compose::Compose>("compose", Group::Tools),
    entry::<super::verify::Verify>("verify", Group::Tools),
    entry::<super::demo::Demo>("demo", Group::Tools),
    entry::<super::shell_init::ShellInit>("shell-init", Group::Tools),
    entry::<super::completions::Completions>("completions", Group::Tools),
    entry::<super::man::Man>("man", Group::Tools),
    entry::<super::mb::Mb>("mb", Group::Hidden),
    super::hook::ENTRY,
    entry::<super::dispatch::Supervise>("supervise", Group::Hidden),
    entry::<super::workflow::WorkflowGate>("workflow-gate", Group::Hidden),
];

pub(super) fn find(name: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|e| e.name == name)
}

/// Verbs that a mistyped one may mean.
pub(super) fn nearest(name: &str) -> Vec<String> {
    let mut near: Vec<(usize, &str)> = VERBS
        .iter()
        .filter(|e| e.group != Group::Hidden && name.len() < 64)
        .map(|e| (strsim::osa_distance(name, e.name), e.name))
        .filter(|(distance, _)| *distance <= 2)
        .collect();
    near.sort();
    near.into_iter()
        .map(|(_, name)| format!("did you mean `postroom {name}`?"))
        .chain(["postroom --help lists the commands".to_owned()])
        .collect()
}

/// The whole tree, for completions and man pages.
pub(super) fn tree() -> Command {
    let verbs = VERBS.iter().filter(|e| e.group != Group::Hidden).map(|e| (e.command)().name(e.name));
    Command::new("postroom")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Mail for coding agents, on plain files")
        .subcommand_required(true)
        .subcommands(verbs)
}

/// The text of `postroom --help`: one screen. The verbs that every agent needs have a line each; the rest is named, and
/// `postroom help COMMAND` explains it.
pub(super) fn overview() -> String {
    let mut text = String::from(
        "Mail for coding agents, on plain files.\n\n\
         Start:  postroom setup NAME     then send, check, read, reply, wait.\n\
         Usage:  postroom COMMAND [ARGUMENTS]     postroom help COMMAND tells more\n\nMail:\n",
    );
    for entry in VERBS.iter().filter(|e| e.group == Group::Mail || e.group == Group::Who) {
        let about = (entry.command)().get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("  {:<12} {about}\n", entry.name));
    }
    text.push_str("\nMore:\n");
    for (group, title) in [
        (Group::Queue, "work queues"),
        (Group::People, "people"),
        (Group::Agents, "agents"),
        (Group::Home, "at home"),
        (Group::Look, "look"),
        (Group::Tools, "tools"),
    ] {
        let names: Vec<&str> = VERBS.iter().filter(|e| e.group == group).map(|e| e.name).collect();
        text.push_str(&format!("  {title:<12} {}\n", names.join(", ")));
    }
    text.push_str(
        "\nEverywhere: --as NAME  --root DIR  --room NAME  --json  --quiet\n\
         A message is named by the first digits of its id. A text is given by -m, --file or standard input:\n  \
         postroom send bob -s 'parser review' <<'EOF'\n  The parser is done. Please review src/parse.rs.\n  EOF\n\
         Exit: 0 done, 1 nothing there or timed out, 2 usage, 3 no such name or message, 4 refused,\n      \
         5 not done (try again), 6 delivered but not proven durable.\n",
    );
    text
}
