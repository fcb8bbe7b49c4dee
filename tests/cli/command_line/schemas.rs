//! Every document of docs/schema/ is printed by a real command, and fits; the builder holds each against its schema.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::support::crew::{begin, crew, project, settings, workflow};
use crate::support::room::{Ran, Run, TestRoom};
use crate::support::schemas;
use crate::support::staffed::{dispatch, program, settle, shell, staffed, with_path};
use crate::support::taken::claim;

type Names = BTreeSet<String>;

/// The documents that commands printed.
#[derive(Default)]
struct Seen(Names);

impl Seen {
    #[track_caller]
    fn run(&mut self, run: Run) -> serde_json::Value {
        self.note(run.arg("--json").ends())
    }

    /// Gives the last document, which must not be an error.
    #[track_caller]
    fn note(&mut self, ran: Ran) -> serde_json::Value {
        let last = ran.out.lines().last().unwrap_or_else(|| panic!("nothing was printed: {ran:?}"));
        assert!(!ran.documents.contains(&"error".to_owned()), "{ran:?}");
        let last = serde_json::from_str(last).unwrap();
        self.0.extend(ran.documents);
        last
    }

    #[track_caller]
    fn are(&self, names: &[&str]) {
        assert_eq!(self.0.iter().map(String::as_str).collect::<Vec<_>>(), names);
    }
}

/// The documents of each test below, in order; together all there are.
const MAIL: [&str; 19] = [
    "archive",
    "ask",
    "check",
    "claim",
    "claim-state",
    "failed-list",
    "failed-list-all",
    "failed-retry",
    "failed-show",
    "read",
    "receipts",
    "search",
    "send-wait-for",
    "sent",
    "spawn",
    "text",
    "thread",
    "trace",
    "wait",
];
const ROOMS: [&str; 21] = [
    "adopt",
    "check-all",
    "doctor",
    "group",
    "log",
    "names",
    "names-all",
    "prune",
    "rename",
    "rooms",
    "rooms-prune",
    "rooms-relink",
    "setup",
    "stats",
    "status-all",
    "takeover",
    "trash",
    "undo",
    "verify",
    "wait-all",
    "whoami",
];
const TREE: [&str; 5] =
    ["tree-cleanup", "tree-shared-done", "tree-shared-files", "tree-shared-text", "tree-status"];
const WORK: [&str; 21] = [
    "agents",
    "approve",
    "dispatch",
    "pause",
    "runs",
    "runs-event",
    "runs-one",
    "runs-output",
    "status",
    "stop",
    "trust",
    "trust-export",
    "trust-said",
    "unit",
    "workflow-check",
    "workflow-graph",
    "workflow-graph-yaml",
    "workflow-list",
    "workflow-run",
    "workflow-step",
    "workflow-unreadable",
];
/// Printed by the tests of the courier, which have a server.
const COURIER: [&str; 4] = ["courier-carried", "courier-join", "courier-said", "courier-status"];
const HOME: [&str; 6] = ["install", "install-check", "install-plan", "mcp-http", "uninstall", "web"];

#[test]
fn every_schema_is_of_a_document_that_is_printed() {
    let files = std::fs::read_dir(schemas::docs().join("schema")).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let there: Names = files.map(|file| file.strip_suffix(".json").unwrap().to_owned()).collect();
    let all = [&MAIL[..], &ROOMS, &TREE, &WORK, &HOME, &COURIER].concat();
    let tools =
        ["archive", "check", "names", "read", "receipts", "setup", "wait"].map(|tool| format!("mcp-{tool}"));
    let printed = all.iter().chain(&["error", "notify"]).map(|name| (*name).to_owned());
    assert_eq!(there, printed.chain(tools).collect::<Names>());
}

#[test]
fn every_command_of_the_overview_is_in_the_table() {
    let overview = TestRoom::empty().bare(["help", "all"]).succeeds().out;
    let page = std::fs::read_to_string(schemas::docs().join("reference/json.md")).unwrap();
    let verbs = super::help::named(&overview);
    assert!(verbs.contains(&"setup") && verbs.contains(&"tools") && verbs.len() > 40, "{verbs:?}");
    for verb in verbs {
        assert!(page.contains(&format!("`{verb}`")) || page.contains(&format!("`{verb} ")), "{verb}");
    }
}

#[test]
fn mail_and_queues() {
    let mut seen = Seen::default();
    let room = TestRoom::with(&["alice", "bob"]);
    let sent = seen.run(room.by("alice", ["send", "bob", "-m", "job"]));
    let id = sent["receipts"][0]["id"].as_str().unwrap();
    let more = ["send", "bob", "-m", "x", "--wait-for", "shown", "--timeout", "0"];
    seen.run(room.by("alice", more));
    for verb in ["check", "read"] {
        seen.run(room.by("bob", [verb]));
    }
    seen.run(room.by("bob", ["wait", "--timeout", "0"]));
    seen.run(room.by("bob", ["reply", id, "-m", "y"]));
    seen.run(room.by("alice", ["wait", "--timeout", "0"]));
    seen.run(room.by("alice", ["ask", "bob", "-m", "why?", "--timeout", "0"]));
    let token = claim(&room, "bob", &[]);
    seen.run(room.by("bob", ["claim", "--renew", &token]));
    seen.run(room.by("bob", ["fail", &token, "--reason", "no"]));
    let list = seen.run(room.by("bob", ["failed", "list"]));
    seen.run(room.by("bob", ["failed", "list", "--all"]));
    let dead = list["failed"][0]["id"].as_str().unwrap();
    seen.run(room.by("bob", ["failed", "show", dead]));
    seen.run(room.by("bob", ["failed", "retry", dead]));
    seen.run(room.by("bob", ["claim"]));
    seen.run(room.by("bob", ["unarchive", id]));
    for arguments in [vec!["thread", id], vec!["trace", id], vec!["sent"], vec!["search", "job"]] {
        seen.run(room.by("alice", arguments));
    }
    seen.run(room.by("alice", ["spawn", "worker", "--preset", "gemini", "--print", "-m", "do it"]));
    seen.run(room.run(["tools", "man"]));
    seen.are(&MAIL);
}

#[test]
fn names_and_rooms() {
    let mut seen = Seen::default();
    let room = TestRoom::with(&["bob"]);
    seen.run(room.run(["setup", "alice"]));
    for verb in ["whoami", "names", "log", "doctor", "stats"] {
        seen.run(room.by("alice", [verb]));
    }
    let message = room.around().join("message.md");
    std::fs::write(&message, "---\nfrom: alice\nsubject: hi\n---\n\nhi\n").unwrap();
    seen.run(room.run(["tools", "verify"]).arg(&message));
    seen.run(room.run(["group", "add", "team", "bob"]));
    seen.run(room.run(["rename", "bob", "bobby"]));
    seen.run(room.run(["rename", "bobby", "bob"]));
    seen.run(room.run(["takeover", "bob", "--force"]).env("CODEX_THREAD_ID", "t"));
    std::fs::create_dir(room.around().join("site")).unwrap();
    seen.run(room.run(["setup", "explore", "--tree"]).arg(room.around().join("site")));
    room.send("alice", "bob", "job");
    room.by("bob", ["read"]).succeeds();
    seen.run(room.by("alice", ["prune", "--archived", "0s"]));
    let pruned = seen.run(room.by("alice", ["prune", "--archived", "0s", "--yes"]));
    seen.run(room.by("alice", ["undo"]));
    seen.run(room.by("alice", ["undo", pruned["undo"].as_str().unwrap()]));
    seen.run(room.by("alice", ["prune", "bob", "--yes"]));
    seen.run(room.by("alice", ["prune", "--forever", "--yes"]));
    everywhere(&room, &mut seen);
    seen.are(&ROOMS);
}

/// Rooms of repositories, and looks into all of them.
fn everywhere(room: &TestRoom, seen: &mut Seen) {
    let around = room.around();
    room.bash("git init -q web && git init -q new").succeeds();
    room.bare(["setup", "carol"]).within(&around.join("web")).succeeds();
    room.bare(["--as", "carol", "send", "carol", "-m", "x"]).within(&around.join("web")).succeeds();
    let looks = [
        vec!["names", "--all"],
        vec!["status", "--all"],
        vec!["check", "--all"],
        vec!["wait", "--all", "--timeout", "0"],
    ];
    for arguments in looks {
        seen.run(room.bare(["--as", "carol"].into_iter().chain(arguments)));
    }
    seen.run(room.bare(["rooms"]));
    std::fs::remove_dir_all(around.join("web")).unwrap();
    seen.run(room.bare(["rooms", "prune"]));
    seen.run(room.bare(["rooms", "relink", "web"]).arg(around.join("new")));
    std::fs::remove_dir_all(around.join("new")).unwrap();
    seen.run(room.bare(["rooms", "prune", "--yes"]));
}

#[test]
fn a_tree() {
    let mut seen = Seen::default();
    let room = TestRoom::with(&["alice"]);
    let site = room.around().join("site");
    std::fs::create_dir(&site).unwrap();
    room.run(["setup", "explore", "--tree"]).arg(&site).succeeds();
    room.send("alice", "explore", "find it");
    let status = seen.run(room.run(["tree", "status"]).within(&site));
    room.by("explore", ["reply", status["latest"][0]["id"].as_str().unwrap(), "-m", "here"]).succeeds();
    seen.run(room.run(["tree", "cleanup"]).within(&site));
    seen.run(room.run(["tree", "shared", "get"]).within(&site));
    seen.run(room.run(["tree", "shared", "set", "workflow-state", "current_step", "2"]).within(&site));
    seen.run(room.run(["tree", "shared", "get", "workflow-state"]).within(&site));
    seen.run(room.run(["tree", "shared", "get", "workflow-state", "current_step"]).within(&site));
    seen.are(&TREE);
}

#[test]
fn dispatch_workflows_and_trust() {
    let mut seen = Seen::default();
    let gated = "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: one, needs: a, prompt: y, gate: {approval: user}}\n";
    let plain = "steps:\n  a: {agent: one, prompt: x}\n";
    let workflows = [("gated", gated), ("plain", plain), ("wrong", "steps:\n  a: {}\n")];
    let room = crew(&[("one", "echo x"), ("user", "echo never")], &workflows);
    settle(&room, &settings(&[("one", "echo x")]));
    let run = begin(&room, "gated", &[]);
    seen.run(dispatch(&room, ["--dry-run"]));
    seen.run(dispatch(&room, []));
    seen.note(room.run(["approve", &run, "--json"]).by_person().with(0));
    seen.run(workflow(&room, ["resume", &run]));
    for arguments in [vec!["list"], vec!["show", &run], vec!["show", &run, "a"], vec!["graph", "gated"]] {
        seen.run(workflow(&room, arguments));
    }
    seen.run(workflow(&room, ["run", "plain", "--follow"]));
    for arguments in [vec!["graph", "gated", "--yaml"], vec!["check", "gated"], vec!["check", "wrong"]] {
        seen.run(workflow(&room, arguments));
    }
    let lost = begin(&room, "plain", &[]);
    std::fs::remove_dir_all(room.root().join(&lost)).unwrap();
    seen.run(workflow(&room, ["cancel", &lost]));
    seen.run(dispatch(&room, ["--unit"]));
    seen.run(room.run(["pause", "one"]));
    seen.run(room.run(["stop", &room.send("alice", "one", "x")]));
    seen.run(with_path(&room, room.run(["agents"])));
    seen.run(room.run(["status"]));
    let runs = seen.run(room.run(["runs"]));
    let id = runs["runs"][0]["id"].as_str().unwrap();
    seen.run(room.run(["runs", id]));
    seen.run(room.run(["runs", id, "--raw"]));
    seen.run(room.run(["runs", id, "--follow"]));
    for option in ["--yes", "--export", "--revoke"] {
        seen.note(room.run(["trust", option, "--json"]).arg(project(&room)).by_person().with(0));
    }
    seen.are(&WORK);
}

#[test]
fn a_run_that_failed() {
    let mut seen = Seen::default();
    let room = staffed(&["worker"], &shell("worker", "exit 3", "retries = 0"));
    room.send("alice", "worker", "job");
    seen.run(dispatch(&room, []));
    let runs = seen.run(room.run(["runs"]));
    assert_eq!(runs["runs"][0]["state"], "failed");
    seen.are(&["dispatch", "runs"]);
}

#[test]
fn programs_at_home() {
    let mut seen = Seen::default();
    let room = TestRoom::with(&["alice"]);
    let says = "case $1 in --version) echo 9.9.999;; mcp) echo postroom;; esac";
    for name in ["claude", "codex"] {
        program(&room, name, says);
    }
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    for arguments in ["install claude --dry-run", "install claude", "install --check", "uninstall claude"] {
        seen.run(with_path(&room, room.run(arguments.split(' '))));
    }
    for words in [&["mcp", "--http"][..], &["web"]] {
        seen.0.extend(served(&room, &room.root(), words));
    }
    seen.are(&HOME);
}

/// The first line of a server, which then goes on until it is ended.
fn served(room: &TestRoom, root: &Path, words: &[&'static str]) -> Vec<String> {
    let root = ["--root", root.to_str().unwrap()];
    let arguments: Vec<&str> = root.iter().chain(words).chain(&["--json"]).copied().collect();
    let mut child = room.bare(arguments.iter().copied()).start();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    schemas::insist(&arguments, &line)
}
