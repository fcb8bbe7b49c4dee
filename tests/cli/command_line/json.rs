//! `--json`: one document per command, for errors as well.

use serde_json::{Value, json};

use crate::support::room::TestRoom;

pub(crate) const HEADER: [&str; 8] = ["id", "from", "to", "subject", "time", "priority", "extra", "file"];

/// Insists on the version and on these keys.
#[track_caller]
pub(crate) fn has(document: &Value, keys: &[&str]) {
    assert_eq!(document["v"], 1, "{document}");
    carries(document, keys);
}

#[track_caller]
pub(crate) fn carries(value: &Value, keys: &[&str]) {
    let map = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    for key in keys {
        assert!(map.contains_key(*key), "{key} is missing in {value}");
    }
}

#[test]
fn every_document_has_its_version_and_its_documented_keys() {
    let room = TestRoom::empty();
    has(
        &room.run(["setup", "alice", "--json"]).json(),
        &["name", "id", "root", "created", "bound", "unread", "chosen"],
    );
    room.run(["setup", "bob"]).succeeds();
    has(&room.by("bob", ["whoami", "--json"]).json(), &["name", "id", "why", "root", "unread"]);

    let names = room.run(["names", "--json"]).json();
    has(&names, &["root", "names"]);
    let name = ["name", "aliases", "id", "protocol", "harness", "unread", "presence"];
    carries(&names["names"][0], &name);

    let sent = room.by("alice", ["send", "bob", "-m", "hi", "--json"]).json();
    has(&sent, &["receipts"]);
    let receipt = ["id", "to", "subject", "state", "file"];
    carries(&sent["receipts"][0], &receipt);
    carries(&sent["receipts"][0]["to"], &["id", "name"]);
    let id = sent["receipts"][0]["id"].as_str().unwrap();

    let check = room.by("bob", ["check", "--json"]).json();
    has(&check, &["root", "mailbox", "unread", "messages", "unreadable"]);
    carries(&check["messages"][0], &HEADER);
    carries(&check["messages"][0], &["size"]);
    carries(&check["messages"][0]["from"], &["id", "name"]);

    let wait = room.by("bob", ["wait", "--timeout", "0", "--json"]).json();
    has(&wait, &["root", "mailbox", "messages", "timed_out"]);
    assert_eq!(wait["messages"], check["messages"]);

    let read = room.by("bob", ["read", "--json"]).json();
    has(&read, &["root", "mailbox", "messages"]);
    carries(&read["messages"][0], &HEADER);
    carries(&read["messages"][0], &["was", "body"]);
    assert_eq!(read["messages"][0]["from"]["verified"], false);
    assert_eq!(read["messages"][0]["was"], "inbox");

    let reply = room.by("bob", ["reply", id, "-m", "re", "--json"]).json();
    has(&reply, &["receipts"]);
    carries(&reply["receipts"][0], &receipt);

    let back = room.by("bob", ["unarchive", id, "--json"]).json();
    has(&back, &["folder", "filed"]);
    assert_eq!((&back["folder"], &back["filed"][0]["moved"]), (&"inbox".into(), &true.into()));
    let filed = room.by("bob", ["archive", id, "--json"]).json();
    has(&filed, &["folder", "filed"]);
    carries(&filed["filed"][0], &["file", "moved"]);

    has(&room.run(["doctor", "--json"]).json(), &["root", "faults", "findings"]);
    for line in room.run(["log", "--json"]).succeeds().out.lines() {
        has(&serde_json::from_str(line).unwrap(), &["time", "event", "by"]);
    }
}

#[test]
fn every_document_says_in_which_room_it_looked() {
    let room = TestRoom::with(&["bob"]);
    let root = room.root().display().to_string();
    for arguments in
        [vec!["whoami"], vec!["names"], vec!["check"], vec!["wait", "--timeout", "0"], vec!["doctor"]]
    {
        let told = room.by("bob", arguments.clone()).arg("--json").json();
        assert_eq!(told["root"], root.as_str(), "{arguments:?}");
    }
}

#[test]
fn nothing_there_is_a_document_too() {
    // A caller that gets no bytes at all cannot tell an empty inbox from a broken pipe.
    let room = TestRoom::with(&["bob"]);
    let root = room.root().display().to_string();
    for arguments in [vec!["check"], vec!["check", "--count"], vec!["wait", "--timeout", "0"], vec!["read"]] {
        let ran = room.by("bob", arguments.clone()).arg("--json").exits(1);
        let told: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {ran:?}"));
        assert_eq!(
            (&told["v"], &told["root"], &told["messages"]),
            (&json!(1), &json!(root), &json!([])),
            "{arguments:?}"
        );
    }
}

#[test]
fn nobody_there_has_the_same_exit_code_as_in_text() {
    let room = TestRoom::with(&["bob"]);
    std::fs::remove_dir_all(room.root().join(room.id("bob"))).unwrap();
    std::fs::write(room.root().join("registry.json"), "{\n}\n").unwrap();
    let text = room.run(["names"]).ends().code;
    assert_eq!(room.run(["names", "--json"]).ends().code, text);
}

#[test]
fn errors_are_documents_with_their_exit_code() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (run, code) in [
        (room.by("alice", ["send", "carol", "-m", "x"]), 3),
        (room.by("alice", ["send", "bob", "-m", ""]), 4),
        (room.by("alice", ["read", "0000dead"]), 3),
        (room.by("alice", ["read", "1"]), 2),
        (room.by("nobody", ["check"]), 3),
        (room.run(["check"]), 3),
        (room.run(["setup", "bob"]), 4),
        (room.run(["setup", "a b"]), 4),
        (room.run(["frobnicate"]), 2),
        (room.run(["help", "frobnicate"]), 2),
        (room.bare(["--root", "/nowhere/at/all", "check"]), 3),
    ] {
        let ran = run.arg("--json").exits(code);
        let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
        has(&told, &["error"]);
        carries(&told["error"], &["code", "message", "hints"]);
        assert_eq!(told["error"]["code"], code);
        assert!(!told["error"]["message"].as_str().unwrap().is_empty() && ran.err.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_usage_error_names_the_argument() {
    let room = TestRoom::with(&["alice"]);
    for (arguments, named) in [
        (vec!["send", "--json"], "TO"),
        (vec!["archive", "--json"], "ID"),
        (vec!["check", "--json", "--limt"], "--limt"),
        (vec!["send", "--json", "bob", "--priority", "asap"], "--priority"),
    ] {
        let ran = room.by("alice", arguments.clone()).exits(2);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{arguments:?}: {told}");
    }
}

#[test]
fn what_is_absent_is_left_out() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "hi");
    let told = room.by("bob", ["check", "--json"]).json();
    let header = told["messages"][0].as_object().unwrap();
    assert_eq!(header["from"]["name"], "alice");
    // By `contains_key`: an index says null of a key that is missing, too.
    for key in ["channel", "reply_to"] {
        assert!(!header.contains_key(key), "{key}: {told}");
    }
    assert_eq!(header["extra"], json!({}), "what is empty is there");
}

#[test]
fn several_recipients_of_whom_one_fails_are_told_apart() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.block("bob");
    let ran = room.by("alice", ["send", "bob", "carol", "-m", "x", "--json"]).exits(4);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let states: Vec<_> =
        told["receipts"].as_array().unwrap().iter().map(|r| r["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["failed", "queued"]);
    assert!(told["receipts"][0]["detail"].as_str().unwrap().contains("not a directory"), "{told}");
    room.unblock("bob");
}

#[test]
fn commands_that_print_text_give_a_document_too() {
    let room = TestRoom::empty();
    for arguments in
        [vec!["tools", "man"], vec!["tools", "completions", "bash"], vec!["tools", "shell-init", "bash"]]
    {
        let ran = room.bare(arguments.clone()).arg("--json").ends();
        let told: Value = serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{arguments:?}: {e}"));
        assert_eq!(told["v"], 1, "{arguments:?}");
    }
}
