//! One suite, run for each of the three kinds: every verb that makes sense in a kind does the same in it.

use serde_json::Value;

use crate::kinds_claims::{
    a_lease_that_is_over_comes_back, claimed_and_done, claimed_and_failed, claimed_and_released,
};
use crate::room::TestRoom;
use crate::until::until_watching;

/// A kind of mailbox: a reader and somebody who writes to it, both of that kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Maildir,
    Workspace,
    Tree,
}

impl Kind {
    pub(crate) fn room(self) -> TestRoom {
        let room = TestRoom::empty();
        match self {
            Self::Maildir => ["reader", "writer"].iter().for_each(|name| {
                room.run(["setup", "-q", name]).succeeds();
            }),
            Self::Workspace => ["reader", "writer"].iter().for_each(|name| drop(room.workspace(name))),
            Self::Tree => drop(room.agents(&["reader", "writer"])),
        }
        // Whoever is of another kind is no part of the suite, only of the room.
        room.run(["setup", "-q", "bystander"]).succeeds();
        room
    }

    fn word(self) -> &'static str {
        match self {
            Self::Maildir => "maildir",
            Self::Workspace => "workspace",
            Self::Tree => "tree",
        }
    }
}

/// Makes one test of each function for each kind.
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        suite!(@kind maildir Maildir $($test)*);
        suite!(@kind workspace Workspace $($test)*);
        suite!(@kind tree Tree $($test)*);
    };
    (@kind $module:ident $kind:ident $($test:ident)*) => {
        mod $module {
            $(#[test] fn $test() { super::$test(super::Kind::$kind); })*
        }
    };
}

suite!(
    sent_checked_and_read,
    read_again,
    kept_unread,
    answered_once,
    waited_for,
    filed_away_and_back,
    claimed_and_done,
    claimed_and_released,
    claimed_and_failed,
    a_lease_that_is_over_comes_back,
    sent_again_with_the_same_id,
    most_urgent_first,
    traced_threaded_and_found,
    in_groups_and_names,
    pruned,
    refused_without_a_trace,
    unreadable_and_told_of,
);

/// The only unread message, as `check` tells of it.
#[track_caller]
pub(crate) fn only(room: &TestRoom) -> Value {
    room.header("reader")
}

fn file(header: &Value) -> String {
    header["file"].as_str().unwrap().to_owned()
}

fn sent_checked_and_read(kind: Kind) {
    let room = kind.room();
    room.by("reader", ["check"]).exits(1);
    room.by("reader", ["read"]).exits(1);
    room.by("writer", ["send", "reader", "-s", "a subject"]).input("line one\n--- not a fence\n").succeeds();
    let header = only(&room);
    assert_eq!(
        (header["subject"].as_str(), header["protocol"].as_str()),
        (Some("a subject"), Some(kind.word()))
    );
    let checked = room.by("reader", ["check"]).succeeds().out;
    assert!(checked.ends_with(" writer: a subject\n"), "{checked}");
    assert_eq!(room.by("reader", ["check", "--count"]).succeeds().out, "1\n");
    let id = checked.split(' ').next().unwrap();
    let read = room.by("reader", ["read", id]).succeeds().out;
    assert!(
        read.contains("from: writer (claimed, same user)\n")
            && read.contains("\nline one\n--- not a fence\n"),
        "{read}"
    );
    room.by("reader", ["read"]).exits(1);
}

fn read_again(kind: Kind) {
    let room = kind.room();
    room.send("writer", "reader", "hello");
    let id = only(&room)["id"].as_str().unwrap().to_owned();
    let next = room.by("reader", ["read", "--json"]).json();
    assert_eq!(next["messages"][0]["id"], id.as_str());
    let again = room.by("reader", ["read", &id, "--json"]).json();
    assert_eq!(again["messages"][0]["body"], "hello");
    room.by("reader", ["read", "0000dead"]).exits(3);
}

fn kept_unread(kind: Kind) {
    let room = kind.room();
    room.send("writer", "reader", "hello");
    for _ in 0..2 {
        assert!(room.by("reader", ["read", "--keep"]).succeeds().out.contains("\nhello\n"));
    }
    assert_eq!(room.headers("reader").len(), 1);
}

fn answered_once(kind: Kind) {
    let room = kind.room();
    room.send("writer", "reader", "question");
    let header = only(&room);
    let told = room.by("reader", ["reply", &file(&header), "-m", "answer"]).succeeds().out;
    assert!(told.starts_with("queued ") && told.ends_with(" for writer: re: question\n"), "{told}");
    room.by("reader", ["check"]).exits(1);
    let answer = room.header("writer");
    assert_eq!(
        (answer["reply_to"].clone(), answer["from"]["name"].as_str()),
        (header["id"].clone(), Some("reader"))
    );
    let read = room.by("writer", ["read"]).succeeds().out;
    assert!(read.contains("\nanswer\n"), "{read}");
    room.by("writer", ["check"]).exits(1);
    room.by("writer", ["read"]).exits(1);
}

fn waited_for(kind: Kind) {
    let room = kind.room();
    room.by("reader", ["wait", "--timeout", "0.05"]).exits(1);
    let waiting = room.by("reader", ["wait", "--from", "writer", "--timeout", "60"]).start();
    until_watching(&waiting);
    room.send("bystander", "reader", "not this");
    room.send("writer", "reader", "this");
    let output = waiting.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(out.ends_with(" writer: this\n") && out.lines().count() == 1, "{out}");
    room.by("reader", ["wait", "--timeout", "0"]).succeeds();
}

fn filed_away_and_back(kind: Kind) {
    let room = kind.room();
    room.send("writer", "reader", "later");
    let file = file(&only(&room));
    assert!(room.by("reader", ["archive", &file]).succeeds().out.starts_with("archived "));
    room.by("reader", ["check"]).exits(1);
    assert!(room.by("reader", ["archive", &file]).succeeds().out.contains("(before)"));
    room.by("reader", ["unarchive", &file]).succeeds();
    assert_eq!(only(&room)["subject"], "later");
}

fn sent_again_with_the_same_id(kind: Kind) {
    let room = kind.room();
    let id = "abcd1234-0000-4000-8000-000000000000";
    room.by("writer", ["send", "reader", "-m", "once", "--id", id]).succeeds();
    let again = room.by("writer", ["send", "reader", "-m", "once", "--id", id]).succeeds().out;
    assert!(again.starts_with("sent before abcd1234"), "{again}");
    let other = room.by("writer", ["send", "reader", "-m", "other words", "--id", id]).exits(4);
    assert!(other.err.contains("a message with the id"), "{}", other.err);
    assert_eq!(only(&room)["id"], id);
    room.by("reader", ["read"]).succeeds();
    let again = room.by("writer", ["send", "reader", "-m", "once", "--id", id]).succeeds().out;
    assert!(again.starts_with("sent before abcd1234"), "{kind:?}: after it was read too: {again}");
}

fn most_urgent_first(kind: Kind) {
    let room = kind.room();
    for (text, priority) in [("one", "normal"), ("two", "low"), ("three", "urgent"), ("four", "high")] {
        room.by("writer", ["send", "reader", "-m", text, "--priority", priority]).succeeds();
    }
    let order: Vec<_> =
        room.headers("reader").iter().map(|h| h["subject"].as_str().unwrap().to_owned()).collect();
    assert_eq!(order, ["three", "four", "one", "two"]);
    assert!(
        room.by("reader", ["read"]).succeeds().out.contains("\nthree\n"),
        "read goes in the order of check"
    );
    let claimed = room.by("reader", ["claim", "--json"]).json();
    assert_eq!(claimed["messages"][0]["subject"], if kind == Kind::Workspace { "three" } else { "four" });
}

fn traced_threaded_and_found(kind: Kind) {
    let room = kind.room();
    room.by("writer", ["send", "reader", "-m", "where is the teapot?"]).succeeds();
    let id = only(&room)["id"].as_str().unwrap().to_owned();
    assert!(room.run(["trace", &id]).succeeds().out.contains("queued"));
    assert!(room.by("writer", ["sent"]).succeeds().out.contains("reader queued"));
    let found = room.run(["search", "teapot"]).succeeds().out;
    assert!(found.contains("(reader/inbox)") && found.contains("1: where is the teapot?"), "{found}");
    room.by("reader", ["reply", &file(&only(&room)), "-m", "in the cupboard"]).succeeds();
    let thread = room.by("writer", ["thread", &id]).succeeds().out;
    assert_eq!(thread.lines().count(), 2, "{thread}");
    let log = room.run(["log"]).succeeds().out;
    assert!(log.contains("reader answered") && log.contains("writer sent"), "{log}");
    room.run(["search", "kettle"]).exits(1);
}

fn in_groups_and_names(kind: Kind) {
    let room = kind.room();
    let names = room.run(["names", "reader"]).succeeds().out;
    assert!(
        names.starts_with(&format!("reader {} ", kind.word())) && names.contains(" unread=0 "),
        "{names}"
    );
    room.run(["group", "add", "team", "reader", "bystander"]).succeeds();
    let told = room.by("writer", ["send", "@team", "-m", "to all"]).succeeds().out;
    assert_eq!(told.lines().count(), 2, "{told}");
    assert_eq!(only(&room)["subject"], "to all");
    assert!(room.run(["names", "reader"]).succeeds().out.contains(" unread=1 "));
    assert!(room.by("reader", ["whoami"]).succeeds().out.contains("reader"));
}

fn pruned(kind: Kind) {
    let room = kind.room();
    room.send("writer", "reader", "hello");
    let file = file(&only(&room));
    room.by("reader", ["archive", &file]).succeeds();
    // A tree is cleaned up by chains, not by age.
    let (code, left) = if kind == Kind::Tree { (1, 0) } else { (0, 3) };
    room.by("bystander", ["prune", "--archived", "0s", "--only", "reader", "--yes"]).exits(code);
    room.by("reader", ["read", &file]).exits(left);
    room.by("bystander", ["prune", "reader", "--yes"]).succeeds();
    room.run(["names", "reader"]).exits(1);
    room.by("writer", ["send", "reader", "-m", "x"]).exits(3);
}

fn refused_without_a_trace(kind: Kind) {
    let room = kind.room();
    room.send("writer", "reader", "question");
    let file = file(&only(&room));
    let before = crate::tree::tree(room.around());
    for arguments in [
        vec!["reply", file.as_str(), "-m", " \n"],
        vec!["reply", file.as_str(), "-m", "x", "-s", "two\nlines"],
        vec!["send", "writer", "-m", "x", "--channel", "two\nlines"],
        vec!["send", "writer", "-m", ""],
    ] {
        room.by("reader", arguments.clone()).exits(4);
        assert_eq!(crate::tree::tree(room.around()), before, "{arguments:?}");
    }
}

fn unreadable_and_told_of(kind: Kind) {
    let room = kind.room().leaves_faults();
    let inbox = match kind {
        Kind::Maildir => crate::kinds_room::Folder(room.folder("reader", "inbox")),
        Kind::Workspace => room.of_workspace("reader", "inbox"),
        Kind::Tree => room.of_agent("inboxes", "reader"),
    };
    let task = crate::kinds_room::task("2026-01-01-001", "writer", "reader", "x\n");
    inbox.put("00broken1.md", "no frontmatter\n");
    inbox.put("00broken2.md", task.replace("status: pending", "status: waiting"));
    inbox.put("00broken3.md", task.replace("to: reader", "to: reader\nFrom: x"));
    room.send("writer", "reader", "good");
    let checked = room.by("reader", ["check"]).succeeds();
    assert!(checked.out.ends_with(" writer: good\n"), "{}", checked.out);
    for why in [
        "00broken1.md: line 1: it does not begin with `---`",
        "00broken2.md: line 5: `status`: not one of pending, in_progress, completed, failed",
        "00broken3.md: line 5: the field `from` is there twice",
    ] {
        assert!(checked.err.contains(why), "{why}: {}", checked.err);
    }
    assert_eq!(inbox.files().len(), 4, "check moves nothing");
    let read = room.by("reader", ["read"]).succeeds();
    assert!(read.out.contains("\ngood\n"), "{read:?}");
    let fate = if kind == Kind::Maildir { "now in quarantine" } else { "left alone" };
    assert!(read.err.contains(&format!("unreadable, {fate}: 00broken1.md: ")), "{read:?}");
    assert_eq!(inbox.0.join("00broken2.md").exists(), kind != Kind::Maildir);
}
