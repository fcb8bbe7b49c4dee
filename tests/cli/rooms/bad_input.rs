//! Bad input: a clear error, the right exit code, what to type next, and nothing lost or half done.

use std::os::unix::fs::chown;

use crate::support::room::{Ran, Run, TestRoom};
use crate::support::until::skip;

/// Insists on a refusal in words, with something to type next, that changed nothing in the room.
#[track_caller]
fn refused(room: &TestRoom, what: &str, run: Run, code: i32) -> Ran {
    let before = room.tree();
    let ran = run.ends();
    assert_eq!(ran.code, code, "{what}: {ran:?}");
    assert_eq!(ran.out, "", "{what}");
    let mut lines = ran.err.lines();
    assert!(
        lines.next().is_some_and(|line| line.starts_with("postroom: ") && line.len() > 12),
        "{what}: {}",
        ran.err
    );
    assert!(lines.next().is_some_and(|line| line.starts_with("  ")), "{what} has no hint: {}", ran.err);
    room.is_still(&before, what);
    ran
}

/// Keys that look real and are none, spelled apart so that no scanner takes this file for a leak.
fn secrets() -> Vec<(String, &'static str)> {
    vec![
        (format!("-----BEGIN {} KEY-----", "OPENSSH PRIVATE"), "a private key"),
        (format!("id = {}{}", "AKIA", "Q".repeat(16)), "an AWS access key"),
        (format!("{}_{}", "ghp", "a1".repeat(18)), "a GitHub token"),
        (format!("token: {}-{}", "glpat", "x".repeat(20)), "a GitLab token"),
    ]
}

#[test]
fn an_unknown_name() {
    let room = TestRoom::with(&["alice", "bob", "bobby"]);
    let ran = refused(&room, "unknown name", room.by("alice", ["send", "bobb", "-m", "x"]), 3);
    insta::assert_snapshot!(ran.err, @"
    postroom: nobody here is called `bobb`
      nearest: bob, bobby
      names here: alice, bob, bobby
    ");
    let ran = refused(&room, "far name", room.by("alice", ["send", "zacharias", "-m", "x"]), 3);
    assert!(!ran.err.contains("nearest") && ran.err.contains("alice, bob, bobby"), "{}", ran.err);
}

#[test]
fn text_where_a_name_belongs_tells_of_dash_m() {
    let room = TestRoom::with(&["alice", "bob"]);
    for arguments in [
        ["send", "bob", "hello there"],
        ["send", "bob", "please review src/parse.rs"],
        ["send", "bob", "hello"],
    ] {
        let before = room.tree();
        let ran = room.by("alice", arguments).ends();
        assert!([2, 3, 4].contains(&ran.code) && ran.err.contains("-m"), "{ran:?}");
        room.is_still(&before, "a text without -m");
    }
}

#[test]
fn an_empty_body() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (what, run) in [
        ("no input", room.by("alice", ["send", "bob"])),
        ("blank input", room.by("alice", ["send", "bob"]).input(" \n\t\n")),
        ("empty option", room.by("alice", ["send", "bob", "-m", ""])),
        ("only a subject", room.by("alice", ["send", "bob", "-s", "subject"])),
        ("empty file", room.by("alice", ["send", "bob", "--file", "/dev/null"])),
    ] {
        let ran = refused(&room, what, run, 4);
        assert!(ran.err.contains("no text") && ran.err.contains("-m TEXT"), "{}", ran.err);
    }
}

#[test]
fn a_body_over_the_limit() {
    let room = TestRoom::with(&["alice", "bob"]);
    let just = "x".repeat(1024 * 1024);
    room.by("alice", ["send", "bob", "-s", "just"]).input(&just).succeeds();
    let file = room.around().join("large");
    std::fs::write(&file, format!("{just}x")).unwrap();
    let file = file.to_str().unwrap();
    for (what, run) in [
        ("input", room.by("alice", ["send", "bob", "-s", "s"]).input(format!("{just}x"))),
        ("file", room.by("alice", ["send", "bob", "--file", file])),
    ] {
        let ran = refused(&room, what, run, 4);
        assert!(ran.err.contains("1048576 bytes") && ran.err.contains("file"), "{}", ran.err);
    }
    room.limit("body_bytes = 5");
    room.by("alice", ["send", "bob", "-m", "12345"]).succeeds();
    refused(&room, "a limit of the room", room.by("alice", ["send", "bob", "-m", "123456"]), 4);
    // Unread mail that came before the limit was set is still there.
    assert_eq!(room.files("bob", "inbox").len(), 2);
    std::fs::remove_file(room.root().join("postroom.toml")).unwrap();
}

#[test]
fn a_likely_secret() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (text, what) in secrets() {
        let body = format!("first line\n{text}\n");
        let ran = refused(&room, what, room.by("alice", ["send", "bob"]).input(&body), 4);
        assert!(ran.err.contains(what) && ran.err.contains("line 2"), "{}", ran.err);
        assert!(ran.err.contains("--allow-secrets"), "{}", ran.err);
        assert!(!ran.err.contains(&text), "the secret itself is not repeated: {}", ran.err);
        room.by("alice", ["send", "bob", "--allow-secrets"]).input(&body).succeeds();
    }
    assert_eq!(room.files("bob", "inbox").len(), secrets().len());
}

#[test]
fn a_secret_in_the_subject_is_called_that() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (text, what) = secrets().swap_remove(1);
    let ran = refused(&room, what, room.by("alice", ["send", "bob", "-s", &text, "-m", "x"]), 4);
    assert!(ran.err.contains("subject"), "{}", ran.err);
}

#[test]
fn a_secret_in_a_reply() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "q");
    let (text, what) = secrets().swap_remove(2);
    refused(&room, what, room.by("bob", ["reply", &id, "-m", &text]), 4);
    assert_eq!(room.files("bob", "inbox").len(), 1, "the question stays unread");
}

#[test]
fn a_mailbox_over_its_quota() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.limit("mailbox_messages = 1");
    room.send("alice", "bob", "fills it");
    let ran = refused(&room, "full", room.by("alice", ["send", "carol", "bob", "-m", "x"]), 4);
    insta::assert_snapshot!(ran.err, @"
    postroom: the mailbox of `bob` is full: 1 unread message, limit 1
      `bob` must read or archive mail first; nothing was sent
    ");
    room.by("bob", ["read"]).succeeds();
    room.by("alice", ["send", "carol", "bob", "-m", "x"]).succeeds();
}

/// Strings that are neither names nor ids.
const HOSTILE: [&str; 18] = [
    "../../x",
    "/etc/x",
    ".",
    "..",
    "",
    "-rf",
    "a/b",
    "a\\b",
    "a b",
    "~",
    "$(id)",
    "`id`",
    "a\nb",
    "a\u{1b}b",
    "a\u{202e}b",
    "a\u{200b}b",
    "\"",
    ".hidden",
];

#[test]
fn a_hostile_name_or_id() {
    let room = TestRoom::with(&["alice", "bob"]);
    let long = "x".repeat(2000);
    for text in HOSTILE.into_iter().chain([long.as_str()]) {
        let dashed = text.starts_with('-');
        let code = |ran: &Ran, what: &str| {
            assert!(
                [2, 3, 4].contains(&ran.code) && ran.out.is_empty() && !ran.err.is_empty(),
                "{what} {text:?}: {ran:?}"
            );
        };
        let before = room.tree();
        for (what, run) in [
            ("setup", room.run(["setup", "--", text])),
            ("alias", room.run(["setup", "carol"]).arg(format!("--alias={text}"))),
            ("send", room.by("alice", ["send", "-m", "x", "--", text])),
            ("as", room.run(["check"]).arg(format!("--as={text}"))),
            ("from", room.by("alice", ["check"]).arg(format!("--from={text}"))),
            ("id", room.by("alice", ["send", "bob", "-m", "x"]).arg(format!("--id={text}"))),
            ("reply-to", room.by("alice", ["send", "bob", "-m", "x"]).arg(format!("--reply-to={text}"))),
            ("read", room.by("alice", ["read", "--", text])),
            ("archive", room.by("alice", ["archive", "--", text])),
            ("reply", room.by("alice", ["reply", "-m", "x", "--", text])),
        ] {
            code(&run.ends(), what);
            room.is_still(&before, &format!("{what} {text:?}"));
        }
        if !dashed && !text.is_empty() {
            code(&room.run(["check"]).env("AGENT_MAILBOX_ID", text).ends(), "environment");
        }
    }
    let outside: Vec<_> = std::fs::read_dir(room.around()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(outside, ["room"]);
}

#[test]
fn a_name_that_is_the_id_of_another_is_taken() {
    // Mail to that id would have gone to the newcomer.
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.id("bob");
    refused(&room, "an id as a name", room.run(["setup", &id]), 4);
    refused(&room, "an id as an alias", room.by("alice", ["setup", "--alias", &id.to_uppercase()]), 4);
    room.by("alice", ["send", &id, "-m", "x"]).succeeds();
    assert_eq!(room.files("bob", "inbox").len(), 1);
}

#[test]
fn every_refusal_says_what_to_type_next() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "a");
    let file = room.around().join("binary");
    std::fs::write(&file, b"\xff\xfe").unwrap();
    let file = file.to_str().unwrap();
    for (what, run, code) in [
        ("a bad name", room.run(["setup", "a b"]), 4),
        ("a bad --about", room.run(["setup", "carol", "--about", "two\nlines"]), 4),
        ("a short id", room.by("bob", ["read", "ab"]), 2),
        ("no such message", room.by("bob", ["read", "0000dead"]), 3),
        ("a body of other bytes", room.by("bob", ["send", "alice", "--file", file]), 4),
        ("a missing file", room.by("bob", ["send", "alice", "--file", "missing"]), 4),
        ("a directory as file", room.by("bob", ["send", "alice", "--file", "/"]), 4),
        ("a subject of two lines", room.by("bob", ["send", "alice", "-s", "a\nb", "-m", "x"]), 4),
        ("a channel of two lines", room.by("bob", ["send", "alice", "--channel", "a\nb", "-m", "x"]), 4),
        ("an endless subject", room.by("bob", ["send", "alice", "-m", "x", "-s"]).arg("s".repeat(1001)), 4),
        ("an id without digits", room.by("bob", ["send", "alice", "--id", "xyz", "-m", "x"]), 4),
        ("a file as room", room.bare(["--root", file, "check"]), 4),
        ("a bad room name", room.bare(["--room", "a/b", "check"]), 4),
    ] {
        refused(&room, what, run, code);
    }
}

#[test]
fn a_root_of_another_owner() {
    let room = TestRoom::with(&["bob"]);
    if chown(room.root(), Some(12345), None).is_err() {
        return skip("a_root_of_another_owner", "only root may give a directory away");
    }
    for arguments in
        [vec!["check"], vec!["send", "bob", "-m", "x"], vec!["setup", "carol"], vec!["doctor", "--fix"]]
    {
        let ran = refused(&room, "another owner", room.by("bob", arguments), 4);
        assert!(ran.err.contains("belongs to another user (uid 12345)"), "{}", ran.err);
    }
    chown(room.root(), Some(0), None).unwrap();
}

#[test]
fn a_corrupt_registry_is_never_written_over() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    std::fs::write(room.root().join("registry.json"), "{\"alice\": ").unwrap();
    for arguments in [
        vec!["setup", "carol"],
        vec!["--as", &alice, "send", "bob", "-m", "x"],
        vec!["--as", "alice", "check"],
        vec!["names"],
    ] {
        let ran = refused(&room, "a corrupt registry", room.run(arguments), 4);
        assert!(ran.err.contains("registry.json") && ran.err.contains(" doctor --fix"), "{}", ran.err);
    }
    // Those who know the ids can still write and read.
    room.by(&alice, ["send", &bob, "-m", "x"]).succeeds();
    assert_eq!(room.by(&bob, ["check", "--count"]).succeeds().out, "1\n");
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(room.by("bob", ["check", "--count"]).succeeds().out, "1\n");
}
