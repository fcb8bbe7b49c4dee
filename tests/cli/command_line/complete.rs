//! Completion: what a shell offers at Tab, in the real shells. Names and subjects are hostile, and a look changes nothing.

use std::process::Command;

use super::terminal::{HOSTILE, harmless, lent};
use crate::support::hand::by_hand;
use crate::support::room::{Ran, TestRoom};
use crate::support::staffed::{shell, staffed};
use crate::support::until::skip;

/// Text that does something wherever a shell evaluates it, and breaks the lists of each.
const EVIL: &str =
    "$(touch pwned) `touch pwned` (touch pwned) \"; touch pwned; ' : \\a %F{red} ~ * $HOME | touch pwned";

/// What may complete the last of these words.
fn offers(room: &TestRoom, words: &[&str]) -> Vec<(String, String)> {
    let run = room.bare([&["complete", "--", "postroom"], words].concat()).env("POSTROOM_ROOT", room.root());
    let ran = run.succeeds();
    assert_eq!(ran.err, "", "{words:?}");
    let line = |line: &str| {
        line.split_once('\t').map_or((line.to_owned(), String::new()), |(a, b)| (a.into(), b.into()))
    };
    ran.out.lines().map(line).collect()
}

fn values(room: &TestRoom, words: &[&str]) -> Vec<String> {
    offers(room, words).into_iter().map(|(value, _)| value).collect()
}

/// A room with mail, a claim, a group, and hostile words wherever others write.
fn furnished() -> TestRoom {
    let room = TestRoom::with(&["alice", "bob"]);
    room.run(["setup", "carol", "--alias", "cc", "--about", EVIL]).succeeds();
    room.run(["group", "add", "team", "bob", "carol"]).succeeds();
    room.by("alice", ["send", "bob", "-s", EVIL, "-m", "x", "--id", "aaaa1111-x"]).succeeds();
    room.by("alice", ["send", "bob", "-s", "plain", "-m", "x", "--id", "bbbb2222-x"]).succeeds();
    room
}

#[test]
fn every_kind_of_word_is_known() {
    let room = furnished();
    assert_eq!(values(&room, &["send", ""]), ["alice", "bob", "carol", "cc", "@team", "@all"]);
    assert_eq!(values(&room, &["send", "alice", "C"]), ["carol", "cc"], "each of several, in any case");
    assert_eq!(values(&room, &["send", "@t"]), ["@team"]);
    assert_eq!(values(&room, &["--as", "a"]), ["alice"]);
    assert_eq!(values(&room, &["check", "--as=a"]), ["--as=alice"]);
    assert_eq!(values(&room, &["send", "bob", "--priority", ""]), ["urgent", "high", "normal", "low"]);
    assert_eq!(values(&room, &["send", "bob", "--pri"]), ["--priority"]);
    assert_eq!(values(&room, &["send", "bob", "--wait-for", "d"]), ["done"]);
    assert_eq!(values(&room, &["unar"]), ["unarchive"]);
    assert_eq!(values(&room, &["help", "unar"]), ["unarchive"]);
    assert_eq!(values(&room, &["tree", "s"]), ["status", "shared"]);
    assert_eq!(values(&room, &["tree", "shared", "g"]), ["get"]);
    assert_eq!(values(&room, &["workflow", "run", "plan"]), ["plan-approve"]);
    assert_eq!(values(&room, &["tools", "completions", "z"]), ["zsh"]);
    assert_eq!(values(&room, &["install", "co"]), ["codex", "copilot"]);
    assert_eq!(values(&room, &["group", "add", "t"]), ["team"]);
    assert_eq!(values(&room, &["group", "add", "team", "@"]), ["@team", "@all"]);
    assert_eq!(values(&room, &["rename", "b"]), ["bob"]);
    assert_eq!(values(&room, &["tools", "verify", ""]), ["/"], "the shell completes paths");
    for nothing in
        [&["rename", "bob", ""][..], &["setup", ""], &["send", "bob", "-m", ""], &["frobnicate", ""], &["m"]]
    {
        let found = values(&room, nothing);
        assert!(found.iter().all(|word| word == "mcp"), "{nothing:?}: {found:?}");
    }
    let described = offers(&room, &["ch"]);
    assert_eq!(
        described,
        [("check".to_owned(), "Show the headers of unread mail; consumes nothing".to_owned())]
    );
}

#[test]
fn messages_are_offered_with_their_subjects_and_claims_by_the_id_of_their_message() {
    let room = furnished();
    let mail = offers(&room, &["--as", "bob", "read", ""]);
    let [(second, plain), (first, evil)] = mail.as_slice() else { panic!("{mail:?}") };
    assert_eq!([second.as_str(), first.as_str()], ["bbbb2222", "aaaa1111"]);
    assert!(plain == "plain" && evil.starts_with("$(touch pwned) `touch"), "{mail:?}");
    for words in [
        &["reply", "b"][..],
        &["archive", "b"],
        &["claim", "b"],
        &["trace", "b"],
        &["send", "bob", "--reply-to", "b"],
    ] {
        assert_eq!(values(&room, &[&["--as", "bob"], words].concat()), ["bbbb2222"], "{words:?}");
    }
    assert!(values(&room, &["read", ""]).is_empty(), "without an identity there is no mail");
    let token =
        room.by("bob", ["claim", "bbbb2222", "--json"]).json()["claim"]["token"].as_str().unwrap().to_owned();
    for verb in ["done", "fail", "release"] {
        assert_eq!(offers(&room, &["--as", "bob", verb, ""]), [("bbbb2222".to_owned(), "plain".to_owned())]);
    }
    assert!(values(&room, &["--as", "alice", "done", ""]).is_empty(), "a claim of another");
    room.by("alice", ["claim", "aaaa1111", "--queue", "bob"]).succeeds();
    assert_eq!(values(&room, &["--as", "alice", "done", ""]), ["aaaa1111"], "claimed from another mailbox");
    room.by("alice", ["release", "aaaa1111"]).succeeds();
    room.by("bob", ["fail", &token, "--reason", "no"]).succeeds();
    assert_eq!(values(&room, &["--as", "bob", "failed", "retry", ""]), ["bbbb2222"]);
    room.by("bob", ["archive", "aaaa1111"]).succeeds();
    assert_eq!(values(&room, &["--as", "bob", "unarchive", ""]), ["aaaa1111"]);
}

#[test]
fn runs_agents_and_rooms_are_known() {
    let room = staffed(&["worker"], &shell("worker", "cat", ""));
    room.send("alice", "worker", "do it");
    room.run(["dispatch"]).succeeds();
    assert_eq!(values(&room, &["dispatch", "--only", ""]), ["worker"]);
    let run = &room.run(["runs", "--json"]).json()["runs"][0]["id"];
    assert_eq!(values(&room, &["runs", ""]), [run.as_str().unwrap()]);
    room.bare(["--room", "blue", "setup", "eve"]).succeeds();
    room.bare(["--room", "main", "setup", "fay"]).succeeds();
    assert_eq!(values(&room, &["--room", "b"]), ["blue"]);
    assert_eq!(
        values(&room, &["--room", "blue", "send", ""]),
        ["eve", "@all"],
        "the room of the line counts"
    );
}

#[test]
fn a_look_leaves_no_trace_and_errors_are_silent() {
    let room = furnished().leaves_faults();
    let seen = room.folder("bob", "seen");
    let _ = std::fs::remove_file(&seen);
    let before = room.tree();
    for words in [
        &["--as", "bob", "read", ""][..],
        &["send", ""],
        &["--as", "bob", "done", ""],
        &["runs", ""],
        &["--as", "nobody", "read", ""],
    ] {
        offers(&room, words);
        room.is_still(&before, &format!("{words:?}"));
    }
    let empty = TestRoom::empty();
    for words in [
        &["send", ""][..],
        &["read", ""],
        &["runs", ""],
        &["--room", ""],
        &["--root", "/nowhere", "--as", "x", "read", ""],
        &[""],
        &[],
    ] {
        offers(&empty, words);
    }
    assert_eq!(std::fs::read_dir(empty.around()).unwrap().count(), 0, "no room is made");
    std::fs::write(room.root().join("registry.json"), "{").unwrap();
    assert!(values(&room, &["takeover", ""]).is_empty());
    room.run(["doctor", "--fix"]).ends();
}

#[test]
fn hostile_names_and_ids_are_never_offered() {
    let room = furnished().leaves_faults();
    room.place("bob", "x.md", by_hand("eve", "$(touch${IFS}pwned)", HOSTILE, "x"));
    let registry = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
    let entry = format!("{{\n  {}: {{\"id\":\"eve\"}},", serde_json::to_string("$(touch pwned)").unwrap());
    std::fs::write(room.root().join("registry.json"), registry.replacen('{', &entry, 1)).unwrap();
    for words in [&["send", ""][..], &["--as", "bob", "read", ""], &["--as", "bob", "trace", ""]] {
        let found = offers(&room, words);
        assert!(found.len() > 1, "{found:?}");
        for (value, description) in found {
            assert!(value.chars().all(|c| c.is_alphanumeric() || "._-@".contains(c)), "{value:?}");
            harmless(&value, &description);
        }
    }
}

/// Whether a shell is there.
fn has(test: &str, shell: &str) -> bool {
    let there = Command::new(shell).arg("--version").output().is_ok();
    if !there {
        skip(test, &format!("{shell} is not installed"));
    }
    there
}

/// What a person sees who types these lines into an interactive shell.
fn typed(room: &TestRoom, shell: &str, lines: &str) -> Ran {
    let run = room.bash("exec script -qec \"stty cols 100 rows 40; exec $START\" /dev/null");
    run.env("START", shell).env("TERM", "dumb").env("SHELL", "/bin/sh").input(format!("{lines}exit\n")).ends()
}

/// Types the same into each shell: two words of a group and a name, an option and its value, and a list of mail.
#[track_caller]
fn completes(room: &TestRoom, shell: &str, begin: &str, list: &str) -> String {
    let lines = format!(
        "{begin}\npostroom --as alice send @te\t-m x -s one\npostroom --as=ali\tsend ca\t-m x -s two --pri\turg\t\n\
         postroom --as bob read --ke\tbb\t\npostroom --as bob read --keep {list}\n"
    );
    let ran = typed(room, shell, &lines);
    assert!(ran.out.contains("for bob: one") && ran.out.contains("for carol: one"), "{}", ran.out);
    let mail = room.by("carol", ["check"]).succeeds().out;
    assert!(mail.contains(" alice urgent: two"), "{mail}{}", ran.out);
    assert!(ran.out.contains("(unverified): plain"), "{}", ran.out);
    assert!(!room.around().join("pwned").exists(), "a subject was evaluated: {}", ran.out);
    ran.out
}

#[test]
fn bash_completes_what_is_typed() {
    let test = "bash_completes_what_is_typed";
    if !has(test, "bash") || !lent(test) {
        return;
    }
    let room = furnished();
    let begin = "eval \"$(postroom tools completions bash)\"";
    let shown = completes(&room, "bash --norc --noprofile -i", begin, "\t\t");
    assert!(shown.contains("aaaa1111") && shown.contains("bbbb2222"), "{shown}");
    // Paths are those of bash itself; break characters of the person's own change nothing.
    std::fs::write(room.around().join("letter.md"), "hello\n").unwrap();
    let lines = format!("{begin}\nCOMP_WORDBREAKS=' '\npostroom --as=ali\tsend bob -s three --file let\t\n");
    typed(&room, "bash --norc --noprofile -i", &lines);
    assert!(room.by("bob", ["check"]).succeeds().out.contains("three"));
}

#[test]
fn zsh_completes_what_is_typed_and_shows_subjects() {
    let test = "zsh_completes_what_is_typed_and_shows_subjects";
    if !has(test, "zsh") || !lent(test) {
        return;
    }
    let room = furnished();
    let begin = "autoload -U compinit; compinit -u -D; eval \"$(postroom tools completions zsh)\"";
    let shown = completes(&room, "zsh -f -i", begin, "\t");
    assert!(
        shown.contains("bbbb2222  -- plain") && shown.contains("aaaa1111  -- $(touch pwned) `touch"),
        "{shown}"
    );
    std::fs::write(room.around().join("letter.md"), "hello\n").unwrap();
    typed(&room, "zsh -f -i", &format!("{begin}\npostroom --as alice send bob -s three --file let\t\n"));
    assert!(room.by("bob", ["check"]).succeeds().out.contains("three"));
}

#[test]
fn fish_completes_with_subjects() {
    let test = "fish_completes_with_subjects";
    if !has(test, "fish") {
        return;
    }
    let room = furnished();
    std::fs::write(room.around().join("letter.md"), "hello\n").unwrap();
    let ask = |line: &str| {
        let script = "exec fish --no-config -c 'postroom tools completions fish | source; complete -C $LINE'";
        room.bash(script).env("LINE", line).succeeds().out
    };
    assert!(ask("postroom send ").contains("\n@team\tbob, carol\n"), "{}", ask("postroom send "));
    assert_eq!(ask("postroom send bob --priority u"), "urgent\n");
    assert_eq!(ask("postroom --as=al"), "--as=alice\n");
    assert_eq!(ask("postroom --as bob read b"), "bbbb2222\tplain\n");
    let mail = ask("postroom --as bob read ");
    assert!(mail.contains("aaaa1111\t$(touch pwned) `touch"), "{mail}");
    assert_eq!(mail.lines().count(), 2, "{mail}");
    assert!(ask("postroom unar").starts_with("unarchive\t"));
    assert_eq!(ask("postroom send bob --file let").trim(), "letter.md");
    assert!(!room.around().join("pwned").exists());
}

#[test]
fn there_is_a_script_for_every_shell() {
    let room = TestRoom::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(room.bare(["tools", "completions", shell]).succeeds().out.contains("postroom"), "{shell}");
    }
}
