//! The table of verbs: dispatch, help, completions, man pages and docs/reference/verbs.md all come from it, so none can
//! differ from another. The first page of the help shows what most people need; `postroom help all` shows every verb.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;

use super::{Verb, run_verb};
use crate::hint::Hint;

/// One verb.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) group: Group,
    /// Whether the first page of the help shows it.
    pub(super) is_common: bool,
    pub(super) command: fn() -> Command,
    pub(super) run: fn(&Entry, Vec<OsString>) -> ExitCode,
}

/// What one wants to do with a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Start,
    Write,
    Read,
    Work,
    Agents,
    Look,
    Manage,
    /// Not shown: called by other programs.
    Hidden,
}

const fn common<V: Verb>(name: &'static str, group: Group) -> Entry {
    Entry { is_common: true, ..rare::<V>(name, group) }
}

const fn rare<V: Verb>(name: &'static str, group: Group) -> Entry {
    Entry { name, group, is_common: false, command: super::command::<V>, run: run_verb::<V> }
}

pub(super) const VERBS: &[Entry] = &[
    super::launch::entry("claude"),
    super::launch::entry("codex"),
    super::launch::entry("gemini"),
    super::launch::entry("opencode"),
    super::launch::entry("copilot"),
    common::<super::setup::Setup>("setup", Group::Start),
    common::<super::names::Names>("names", Group::Start),
    common::<super::install::Install>("install", Group::Start),
    rare::<super::uninstall::Uninstall>("uninstall", Group::Start),
    rare::<super::whoami::Whoami>("whoami", Group::Start),
    rare::<super::takeover::Takeover>("takeover", Group::Start),
    rare::<super::demo::Demo>("demo", Group::Start),
    common::<super::send::Send>("send", Group::Write),
    common::<super::reply::Reply>("reply", Group::Write),
    common::<super::ask::Ask>("ask", Group::Write),
    common::<super::check::Check>("check", Group::Read),
    common::<super::read::Read>("read", Group::Read),
    common::<super::wait::Wait>("wait", Group::Read),
    rare::<super::search::Search>("search", Group::Read),
    rare::<super::archive::Archive>("archive", Group::Read),
    rare::<super::archive::Unarchive>("unarchive", Group::Read),
    common::<super::claim::Claim>("claim", Group::Work),
    common::<super::claim::Done>("done", Group::Work),
    common::<super::claim::GiveUp>("fail", Group::Work),
    common::<super::failed::Failed>("failed", Group::Work),
    rare::<super::claim::Release>("release", Group::Work),
    rare::<super::spawn::Handback>("handback", Group::Work),
    rare::<super::tree::Tree>("tree", Group::Work),
    common::<super::dispatch::Dispatch>("dispatch", Group::Agents),
    common::<super::workflow::Workflow>("workflow", Group::Agents),
    rare::<super::agents::Agents>("agents", Group::Agents),
    common::<super::runs::RunsOf>("runs", Group::Agents),
    rare::<super::trust::Trust>("trust", Group::Agents),
    rare::<super::stop::Stop>("stop", Group::Agents),
    rare::<super::stop::Pause>("pause", Group::Agents),
    rare::<super::stop::Resume>("resume", Group::Agents),
    rare::<super::approve::Approve>("approve", Group::Agents),
    rare::<super::approve::Reject>("reject", Group::Agents),
    rare::<super::spawn::Spawn>("spawn", Group::Agents),
    #[cfg(feature = "mcp")]
    rare::<super::mcp::Mcp>("mcp", Group::Agents),
    #[cfg(feature = "courier")]
    rare::<super::courier::CourierOf>("courier", Group::Agents),
    common::<super::status::StatusOf>("status", Group::Look),
    #[cfg(feature = "web")]
    rare::<super::web::WebPage>("web", Group::Look),
    #[cfg(feature = "tui")]
    rare::<super::tui::TerminalClient>("tui", Group::Look),
    common::<super::trace::Trace>("trace", Group::Look),
    common::<super::doctor::Doctor>("doctor", Group::Look),
    rare::<super::thread::Thread>("thread", Group::Look),
    rare::<super::thread::Sent>("sent", Group::Look),
    rare::<super::log::Log>("log", Group::Look),
    rare::<super::stats::Stats>("stats", Group::Look),
    rare::<super::rename::Rename>("rename", Group::Manage),
    rare::<super::group::Group>("group", Group::Manage),
    rare::<super::rooms::RoomsOf>("rooms", Group::Manage),
    rare::<super::adopt::Adopt>("adopt", Group::Manage),
    rare::<super::prune::Prune>("prune", Group::Manage),
    rare::<super::prune::Undo>("undo", Group::Manage),
    rare::<super::tools::Tools>("tools", Group::Manage),
    rare::<super::complete::Complete>("complete", Group::Hidden),
    rare::<super::mb::Mb>("mb", Group::Hidden),
    super::hook::ENTRY,
    rare::<super::waker::Waker>("waker", Group::Hidden),
    rare::<super::keeper::Keeper>("keeper", Group::Hidden),
    rare::<super::dispatch::Supervise>("supervise", Group::Hidden),
    rare::<super::workflow::WorkflowGate>("workflow-gate", Group::Hidden),
    rare::<super::notify::TellPerson>("tell-person", Group::Hidden),
];

/// What commands that a guess leads to show.
const MEANINGS: &[(&str, &str)] =
    &[("check", "unread mail"), ("names", "who is here"), ("status", "the room")];

/// Words that people try first, and the commands that do it. Where a command needs a name or a text, its help stands here:
/// a line with `NAME` or `TEXT` would be run as it is.
const GUESSES: &[(&[&str], &[&str])] = &[
    (&["inbox", "inbx", "mail", "messages", "msgs", "list", "ls", "unread"], &["check", "names"]),
    (&["get", "show", "cat", "open", "view"], &["read"]),
    (&["msg", "message", "write", "post", "mailto", "tell"], &["help send"]),
    (&["rm", "delete", "remove", "del"], &["help archive", "help prune"]),
    (&["who", "users", "contacts"], &["names", "whoami"]),
    (&["me", "id"], &["whoami"]),
    (&["poll", "listen", "watch"], &["wait"]),
    (&["broadcast", "forward"], &["help send"]),
    (&["next", "queue", "take"], &["claim", "help claim"]),
    (&["ack", "finish", "complete"], &["help done", "help archive"]),
    (&["dead", "errors"], &["failed list --all"]),
    (&["unsend", "recall"], &["help trace"]),
    (&["mv", "move"], &["help rename"]),
    (&["new", "register", "login", "init", "join", "create", "add"], &["setup"]),
    (&["stat", "info", "overview", "board"], &["status", "check"]),
    (&["start", "launch"], &["claude", "dispatch --watch", "workflow list"]),
    (&["ps", "jobs", "top"], &["status", "runs"]),
    (&["kill", "abort", "cancel"], &["help stop", "help workflow cancel"]),
    (&["history", "logs", "events", "tail"], &["log"]),
    (&["outbox"], &["sent"]),
    (&["grep", "find"], &["help search"]),
    (&["version"], &["--version"]),
    (&["config", "settings"], &["rooms", "agents"]),
    (&["completions", "completion"], &["tools completions bash"]),
    (&["man"], &["tools man"]),
    (
        &["aider", "amp", "cursor", "cursor-agent", "crush", "droid", "goose", "kiro", "qwen"],
        &["help claude", "setup"],
    ),
    (&["compose", "verify", "shell-init"], &["help tools"]),
];

/// What a command shows, where its name alone does not say it.
fn meaning(command: &str) -> Option<&'static str> {
    let (_, meaning) = MEANINGS.iter().find(|(known, _)| *known == command)?;
    Some(meaning)
}

pub(super) fn find(name: &str) -> Option<&'static Entry> {
    VERBS.iter().find(|e| e.name == name)
}

/// The verbs that people and agents type.
pub(super) fn shown() -> impl Iterator<Item = &'static Entry> {
    VERBS.iter().filter(|e| e.group != Group::Hidden)
}

/// The command that words name, such as `workflow run`, and how it is called. Words behind it are left alone.
pub(super) fn named(words: &[String]) -> Result<(Command, String), Vec<Hint>> {
    let first = words.first().map(String::as_str).unwrap_or_default();
    let entry = find(first).ok_or_else(|| nearest(first, None))?;
    let mut name = format!("postroom {first}");
    let mut command = (entry.command)().bin_name(&name);
    command.build();
    for word in &words[1..] {
        let Some(inner) = command.find_subcommand(word).cloned() else { break };
        (command, name) = (inner, format!("{name} {word}"));
    }
    Ok((command, name))
}

/// Commands that a mistyped verb may mean: the present one with another verb, or the help of that verb if `rest`, the
/// arguments of the mistyped one, does not fit it.
pub(super) fn nearest(name: &str, rest: Option<&[OsString]>) -> Vec<Hint> {
    let guessed = GUESSES.iter().find(|(guesses, _)| guesses.contains(&name));
    let mut near: Vec<(usize, &Entry)> = shown()
        .filter(|_| guessed.is_none() && name.len() < 64)
        .map(|e| (strsim::osa_distance(name, e.name), e))
        .filter(|(distance, _)| *distance <= 2)
        .collect();
    near.sort_by_key(|(distance, e)| (*distance, e.name));
    let guessed = guessed.map(|(_, commands)| *commands).unwrap_or_default().iter();
    let guessed = guessed.map(|command| {
        Hint::run(&command.split(' ').collect::<Vec<_>>()).to(meaning(command).unwrap_or_default())
    });
    let fits = |e: &Entry| rest.is_none_or(|rest| (e.command)().try_get_matches_from(rest).is_ok());
    let near = near.into_iter().map(|(_, e)| match fits(e) {
        true => Hint::again_instead(name, e.name),
        false => Hint::run(&["help", e.name]),
    });
    guessed.chain(near).chain([Hint::run(&["help", "all"])]).map(Hint::from).collect()
}

/// The whole tree, for completions and man pages.
pub(super) fn tree() -> Command {
    Command::new("postroom")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Mail for coding agents, on plain files")
        .subcommand_required(true)
        .subcommands(shown().map(|e| (e.command)().name(e.name)))
}

/// The text of `postroom --help`: one screen of 24 lines, with the command above it and the next prompt below it.
pub(super) fn overview() -> String {
    // A build may lack some of them.
    let others: Vec<&str> =
        ["tui", "web", "log", "trust"].into_iter().filter(|name| find(name).is_some()).collect();
    format!(
        "Mail for coding agents, on plain files. Begin with: postroom claude\n{}\
         postroom help COMMAND explains one; help all shows more: {}.\n",
        lines(|entry| entry.is_common),
        others.join(", ")
    )
}

/// The text of `postroom help all`.
pub(super) fn everything() -> String {
    format!(
        "Usage: postroom COMMAND [ARGUMENTS]\n\n{}\n\
         Everywhere: --as NAME    act as this mailbox (else that of this session)\n            \
         --room NAME  a room by its name (else that of this repository)\n            \
         --root DIR   a room by its directory\n            \
         --json       one JSON document instead of text\n            \
         -q, --quiet  no receipts and no remarks\n\
         A message is named by the first digits of its id. A text is given by -m, --file\n\
         or standard input:\n  \
         postroom send bob -s 'parser review' <<'EOF'\n  The parser is done. Please review src/parse.rs.\n  EOF\n\
         Exit: 0 done, 1 nothing there or timed out, 2 usage, 3 no such name or message,\n      \
         4 refused, 5 not done (try again), 6 delivered but not proven durable.\n",
        lines(|_| true)
    )
}

/// A line for each wanted verb, each group behind its title. Verbs with one parser share a line.
fn lines(wanted: impl Fn(&Entry) -> bool) -> String {
    let (mut text, mut last) = (String::new(), None);
    for entry in shown().filter(|entry| wanted(entry) && is_first(entry)) {
        let title = if last == Some(entry.group) { String::new() } else { format!("{:?}", entry.group) };
        let about = (entry.command)().get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("{title:<8}{:<9}  {about}\n", names(entry)));
        last = Some(entry.group);
    }
    text
}

/// The verbs with the parser of this one.
fn alike(entry: &Entry) -> impl Iterator<Item = &'static Entry> {
    let command = entry.command;
    shown().filter(move |other| std::ptr::fn_addr_eq(other.command, command))
}

/// Whether it is the first of the verbs with its parser.
pub(super) fn is_first(entry: &Entry) -> bool {
    alike(entry).next().is_some_and(|first| first.name == entry.name)
}

/// The names of all verbs with its parser.
pub(super) fn names(entry: &Entry) -> String {
    alike(entry).map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `postroom broadcast` was answered with `postroom send @all -m TEXT`, which mails "TEXT" to everybody when it is pasted.
    #[test]
    fn what_a_first_guess_leads_to_can_be_run_as_it_is() {
        for command in GUESSES.iter().flat_map(|(_, commands)| *commands) {
            let words = ["postroom"].into_iter().chain(command.split(' ')).map(OsString::from);
            assert_eq!(super::super::misread(words.collect()), None, "{command}");
            let is_blank = |word: &str| word.bytes().all(|b| b.is_ascii_uppercase());
            assert!(!command.split(' ').any(is_blank), "{command}");
        }
    }
}
