//! `fail` and `failed`: what is given up is a dead letter with a reason, can be looked at and tried again.

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::mask::mask;
use crate::support::pasted::commands;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, claim_json, end_lease, ends, taken};

/// Sends a job, claims it and gives it up; gives the digits of its id.
fn given_up(room: &TestRoom, text: &str, reason: &str) -> String {
    let (id, token) = taken(room, "alice", "bob", text);
    room.by("bob", ["fail", &token, "--reason", reason]).succeeds();
    id
}

#[test]
fn what_is_given_up_is_a_dead_letter() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    let ran = room.by("bob", ["fail", &token, "--reason", "no such file"]).succeeds();
    assert_eq!((ran.out, ran.err.as_str()), (format!("failed {token}\n"), ""));
    assert_eq!((room.files("bob", "failed").len(), room.files("bob", "claimed").len()), (1, 0));
    assert_eq!(ends(&room, "bob"), ["failed"]);
    room.by("bob", ["check"]).exits(1);
    room.by("bob", ["claim"]).exits(1);
    let ran = room.by("bob", ["claim", &id]).exits(4);
    assert!(ran.err.contains("it is in failed"), "{}", ran.err);
    room.by("bob", ["fail", &token, "--reason", "again"]).exits(3);
    assert_eq!(room.by("alice", ["check", "--count"]).succeeds().out, "1\n", "and its sender is told once");
    let told = room.by("alice", ["read"]).succeeds().out;
    assert!(told.contains(" to bob was given up after 1 attempt.\n"), "{told}");
    if lent("what_is_given_up_is_a_dead_letter") {
        let shown = on_terminal(&room, 100, "--as bob failed", &PLAIN);
        assert!(shown.contains("  1 attempt  no such file"), "{shown}");
    }
}

/// The bounce said `to answer: postroom reply …`, and nothing named the command that helps.
#[test]
fn a_person_was_not_told_how_a_failed_message_is_tried_again() {
    if !lent("a_person_was_not_told_how_a_failed_message_is_tried_again") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let id = given_up(&room, "job", "no such file");
    let retry = format!("postroom --as alice failed retry {id}  # makes it unread again\n");
    let listed = on_terminal(&room, 200, "--as alice failed list --all", &PLAIN);
    assert!(listed.ends_with(&retry), "{listed}");
    let read = on_terminal(&room, 200, "--as alice read", &PLAIN);
    assert!(read.contains(&format!("to try again: {retry}")) && !read.contains("to answer"), "{read}");
    room.by("alice", ["failed", "retry", &id]).succeeds();
    let bounce = room.files("alice", "archive").pop().unwrap();
    let bounce = bounce.split('-').nth(1).unwrap().to_owned();
    let read = on_terminal(&room, 200, &format!("--as alice read {bounce}"), &PLAIN);
    assert!(read.contains("to answer: "), "it was done already: {read}");
}

#[test]
fn the_dead_letters_of_the_whole_room_are_listed() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.run(["failed", "list"]).exits(1);
    let first = given_up(&room, "job one", "no such file");
    let (second, token) = taken(&room, "alice", "carol", "job two");
    room.by("carol", ["fail", &token, "--reason", "no time"]).succeeds();
    let all =
        format!("bob {first} attempts=1 no such file: job one\ncarol {second} attempts=1 no time: job two\n");
    assert_eq!(room.run(["failed", "list"]).succeeds().out, all, "without an identity");
    assert_eq!(room.by("bob", ["failed", "list", "--all"]).succeeds().out, all);
    assert!(!room.by("bob", ["failed", "list"]).succeeds().out.contains("carol"));
    let told = room.run(["failed", "list", "--json"]).json();
    assert_eq!(told["mailboxes"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(told["mailboxes"][1]["name"], "carol");
    assert_eq!(told["mailboxes"][1]["failed"][0]["reason"], "no time");
}

#[test]
fn a_dead_letter_of_any_mailbox_is_shown_and_tried_again_by_its_id() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let first = given_up(&room, "job one", "no such file");
    let second = given_up(&room, "job two", "no time");
    for by in [room.by("alice", ["failed", "show", &first]), room.run(["failed", "show", &first])] {
        let shown = by.succeeds().out;
        assert!(shown.contains("job one") && shown.ends_with(" bob failed no such file\n"), "{shown}");
    }
    room.by("alice", ["failed", "show", &first, "--agent", "carol"]).exits(3);
    let ran = room.by("alice", ["failed", "retry", &first, "0000dead"]).exits(3);
    assert!(ran.err.contains("failed list --all"), "{}", ran.err);
    assert_eq!(room.files("bob", "failed").len(), 2, "one id is wrong, so nothing is done");
    let ran = room.by("alice", ["failed", "retry", &first]).succeeds();
    assert_eq!(ran.out, format!("unread again {first}\n"));
    room.run(["failed", "retry", &second]).succeeds();
    assert_eq!(room.files("bob", "inbox").len(), 2);
    assert_eq!(ends(&room, "bob").iter().filter(|end| *end == "retried").count(), 2);
}

#[test]
fn an_id_in_several_mailboxes_is_that_of_the_caller_or_of_a_named_agent() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let id = "3f2a9c1d-one";
    for name in ["bob", "carol"] {
        room.by("alice", ["send", name, "-m", "job", "--id", id]).succeeds();
        let token = claim(&room, name, &[]);
        room.by(name, ["fail", &token, "--reason", "no time"]).succeeds();
    }
    let ran = room.by("alice", ["failed", "retry", "3f2a9c1d"]).exits(4);
    assert!(ran.err.contains("several mailboxes have `3f2a9c1d`: bob, carol"), "{}", ran.err);
    let hints: Vec<String> = commands(&ran.err).collect();
    assert_eq!(hints.len(), 2, "{}", ran.err);
    room.paste(&hints[1]).succeeds();
    assert_eq!((room.files("bob", "failed").len(), room.files("carol", "failed").len()), (1, 0));
    room.by("bob", ["failed", "retry", "3f2a9c1d"]).succeeds();
}

#[test]
fn dead_letters_are_listed_with_their_reasons() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("bob", ["failed", "list"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "none is silence");
    let first = given_up(&room, "job one", "no such file");
    let second = given_up(&room, "job two", "no time");
    let listed = room.by("bob", ["failed", "list"]).succeeds().out;
    for (id, rest) in [(&first, "no such file: job one"), (&second, "no time: job two")] {
        assert!(listed.contains(&format!("{id} attempts=1 {rest}\n")), "{listed}");
    }
    assert_eq!(listed.lines().count(), 2, "one line each");
    room.by("alice", ["failed", "list"]).exits(1);
}

#[test]
fn only_what_was_tried_in_vain_counts_as_an_attempt() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    room.by("bob", ["release", &token, "--reason", "not mine"]).succeeds();
    let token = claim(&room, "bob", &[]);
    end_lease(&room, "bob", &token);
    let told = claim_json(&room, "bob", &[]);
    assert_eq!(told["claim"]["attempt"], 2, "one expired, none for what was given back");
    room.by("bob", ["fail", told["claim"]["token"].as_str().unwrap(), "--reason", "hopeless"]).succeeds();
    let bounce = room.by("alice", ["read"]).succeeds().out;
    assert!(bounce.contains("after 2 attempts"), "{bounce}");
    let listed = room.by("bob", ["failed", "list"]).succeeds().out;
    assert_eq!(listed, format!("{id} attempts=2 hopeless: job\n"));
}

#[test]
fn a_dead_letter_is_shown_with_all_its_attempts() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    end_lease(&room, "bob", &token);
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["fail", &token, "--reason", "no such file"]).succeeds();
    let shown = room.by("bob", ["failed", "show", &id]).succeeds().out;
    insta::assert_snapshot!(mask(&shown, &room.root()), @r"
    <id> <age> alice (unverified): job
    note: it is a dead letter
    [<id>: 3 bytes]
    job
    [<id> end]
    <time> bob expired
    <time> bob failed no such file
    ");
    assert_eq!(room.files("bob", "failed").len(), 1, "looking consumes nothing");
    room.by("bob", ["failed", "show", "0000dead"]).exits(3);
    room.by("bob", ["failed", "show", "1"]).exits(2);
    let unread = room.send("alice", "bob", "not a dead letter");
    room.by("bob", ["failed", "show", &unread]).exits(3);
}

#[test]
fn a_long_dead_letter_tells_where_all_of_it_lies() {
    let room = TestRoom::with(&["alice", "bob"]);
    let text = "line of a long letter\n".repeat(2000);
    let file = room.around().join("text");
    std::fs::write(&file, &text).unwrap();
    room.by("alice", ["send", "bob", "-s", "long", "--file", file.to_str().unwrap()]).succeeds();
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["fail", &token, "--reason", "too long"]).succeeds();
    let id = room.by("bob", ["failed", "list"]).succeeds().out[..8].to_owned();
    for arguments in [["failed", "show", id.as_str()].as_slice(), &["read", &id]] {
        let shown = room.by("bob", arguments.iter().copied()).succeeds().out;
        let (_, rest) = shown.split_once("; all: ").unwrap_or_else(|| panic!("{arguments:?}: {shown:.300}"));
        let path = rest.split_once("]\n").unwrap().0;
        let whole = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{arguments:?}: {path}: {e}"));
        assert!(whole.ends_with(&text), "{arguments:?}");
    }
}

#[test]
fn a_dead_letter_is_tried_again_with_its_attempts_counted_anew() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = given_up(&room, "job", "no such file");
    assert_eq!(room.by("bob", ["failed", "retry", &id]).succeeds().out, format!("unread again {id}\n"));
    assert_eq!((room.files("bob", "failed").len(), room.files("bob", "inbox").len()), (0, 1));
    let told = claim_json(&room, "bob", &[]);
    assert_eq!(told["claim"]["attempt"], 1);
    room.by("bob", ["done", told["claim"]["token"].as_str().unwrap()]).succeeds();
    assert_eq!(ends(&room, "bob"), ["failed", "retried"], "what happened is not forgotten");
    room.by("bob", ["failed", "retry", &id]).exits(3);
    assert_eq!(room.by("alice", ["check", "--count"]).succeeds().out, "1\n", "the bounce, and nothing more");
}

#[test]
fn a_mistyped_id_tries_nothing_again() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (first, second) = (given_up(&room, "one", "x"), given_up(&room, "two", "x"));
    let before = room.tree();
    room.by("bob", ["failed", "retry", &first, "0000dead"]).exits(3);
    room.by("bob", ["failed", "retry", &first, "12"]).exits(2);
    room.by("bob", ["failed", "retry"]).exits(2);
    let (alone, list) =
        (room.by("bob", ["failed"]).succeeds().out, room.by("bob", ["failed", "list"]).succeeds().out);
    assert_eq!(alone, list, "alone it lists");
    room.is_still(&before, "a retry with an id that is none");
    room.by("bob", ["failed", "retry", &first, &second]).succeeds();
    assert_eq!(room.files("bob", "inbox").len(), 2);
}

#[test]
fn an_id_that_is_given_twice_is_tried_again_once() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = given_up(&room, "job", "x");
    room.by("bob", ["failed", "retry", &id, &id]).succeeds();
    assert_eq!(ends(&room, "bob"), ["failed", "retried"]);
}

#[test]
fn a_dead_letter_can_be_read_answered_and_filed_away() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = given_up(&room, "job", "x");
    let read = room.by("bob", ["read", &id, "--json"]).json();
    assert_eq!(read["messages"][0]["was"], "failed");
    assert_eq!(room.files("bob", "failed").len(), 1, "reading does not raise the dead");
    room.by("bob", ["reply", &id, "-m", "sorry"]).succeeds();
    assert_eq!(room.by("alice", ["check", "--count"]).succeeds().out, "2\n", "the bounce and the answer");
    room.by("bob", ["archive", &id]).succeeds();
    assert_eq!((room.files("bob", "failed").len(), room.files("bob", "archive").len()), (0, 1));
}

#[test]
fn the_reason_is_a_text_like_any_other() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (option, reason) in
        [("-m", "no such file"), ("--message", "- not even a list"), ("--reason", "no time")]
    {
        let (_, token) = taken(&room, "alice", "bob", "job");
        room.by("bob", ["release", &token, option, reason]).succeeds();
        let token = claim(&room, "bob", &[]);
        room.by("bob", ["fail", &token, option, reason]).succeeds();
        assert!(
            room.by("alice", ["read"]).succeeds().out.contains(&format!("Reason: {reason}\n")),
            "{option}"
        );
    }
}

#[test]
fn giving_up_needs_a_reason() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    let before = room.tree();
    let ran = room.by("bob", ["fail", &token]).exits(2);
    assert!(ran.err.contains("--reason"), "{}", ran.err);
    for empty in ["", " \t"] {
        let ran = room.by("bob", ["fail", &token, "--reason", empty]).ends();
        assert!([2, 4].contains(&ran.code), "an empty reason is none: {ran:?}");
    }
    room.is_still(&before, "a failure without a reason");
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn an_attempt_that_was_torn_by_a_power_cut_hides_no_other() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = given_up(&room, "job", "no such file");
    let path = room.folder("bob", "attempts").join(&room.files("bob", "attempts")[0]);
    let line = std::fs::read_to_string(&path).unwrap();
    for torn in [format!("{line}{{\"v\":1,\"tim"), format!("garbage\n{line}"), format!("\0\0\0\n{line}\n\n")]
    {
        std::fs::write(&path, &torn).unwrap();
        let listed = room.by("bob", ["failed", "list"]).succeeds().out;
        assert_eq!(listed, format!("{id} attempts=1 no such file: job\n"), "{torn:?}");
    }
    std::fs::remove_file(&path).unwrap();
    let listed = room.by("bob", ["failed", "list"]).succeeds().out;
    assert_eq!(listed, format!("{id} attempts=0 no reason given: job\n"));
    room.by("bob", ["failed", "retry", &id]).succeeds();
}
