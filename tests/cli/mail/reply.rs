//! `reply`: to the sender, in the thread; then the answered message is archived.

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;

/// The header of the only unread message.
fn only(room: &TestRoom, name: &str) -> serde_json::Value {
    let found = room.by(name, ["check", "--json"]).json();
    assert_eq!(found["unread"], 1, "{found}");
    found["messages"][0].clone()
}

#[test]
fn an_answer_goes_to_the_sender_in_thread_and_channel() {
    let room = TestRoom::with(&["alice", "bob"]);
    let sent = room.by("alice", ["send", "bob", "-s", "q", "-m", "?", "--channel", "build", "--json"]).json();
    let id = sent["receipts"][0]["id"].as_str().unwrap();
    let ran = room.by("bob", ["reply", &id[..8]]).input("the answer\n").succeeds();
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @"queued <id> for alice: re: q");
    let answer = only(&room, "alice");
    assert_eq!(
        (&answer["reply_to"], &answer["channel"], &answer["from"]["name"]),
        (&id.into(), &"build".into(), &"bob".into())
    );
    assert_eq!((room.files("bob", "inbox").len(), room.files("bob", "archive").len()), (0, 1));
    assert!(room.files("bob", "answering").is_empty());
}

#[test]
fn a_long_thread_keeps_one_re() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "Re: topic", "-m", "x"]).succeeds();
    for (me, peer) in [("bob", "alice"), ("alice", "bob"), ("bob", "alice")] {
        let id = only(&room, me)["id"].as_str().unwrap().to_owned();
        room.by(me, ["reply", &id, "-m", "x"]).succeeds();
        assert_eq!(only(&room, peer)["subject"], "re: topic");
    }
}

#[test]
fn subject_channel_and_priority_can_be_said() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "q");
    room.by("bob", ["reply", &id, "-s", "other", "--channel", "c", "--priority", "urgent", "-m", "x"])
        .succeeds();
    let answer = only(&room, "alice");
    assert_eq!(
        (&answer["subject"], &answer["channel"], &answer["priority"]),
        (&"other".into(), &"c".into(), &"urgent".into())
    );
}

#[test]
fn what_was_read_can_still_be_answered() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "q");
    room.by("bob", ["read"]).succeeds();
    room.by("bob", ["reply", &id, "-m", "x"]).succeeds();
    assert_eq!(only(&room, "alice")["subject"], "re: q");
}

#[test]
fn answering_twice_in_other_words_is_two_answers() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "q");
    room.by("bob", ["reply", &id, "-m", "one"]).succeeds();
    room.by("bob", ["reply", &id, "-m", "two"]).succeeds();
    assert_eq!(room.files("alice", "inbox").len(), 2);
}

#[test]
fn an_interrupted_reply_that_is_run_again_arrives_once() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "q");
    room.by("bob", ["reply", &id, "-m", "the answer"]).succeeds();
    // As a kill between delivery and archiving leaves it: the answered mail unread, the note of the answer there.
    let answer = only(&room, "alice")["id"].as_str().unwrap().to_owned();
    let asked = only_archived(&room);
    room.by("bob", ["unarchive", &id]).succeeds();
    let note = format!("{}.{answer}", digest(&asked));
    let note = room.folder("bob", "answering").join(note);
    std::fs::write(&note, "").unwrap();
    crate::support::hand::tighten(&note);

    let again = room.by("bob", ["reply", &id, "-m", "the answer"]).succeeds();
    assert!(again.out.starts_with("sent before"), "{}", again.out);
    assert_eq!(room.files("alice", "inbox").len(), 1);
    assert!(room.files("bob", "inbox").is_empty() && room.files("bob", "answering").is_empty());
}

/// The id of the only archived message of bob.
fn only_archived(room: &TestRoom) -> String {
    let file = room.files("bob", "archive").pop().unwrap();
    let text = std::fs::read_to_string(room.folder("bob", "archive").join(file)).unwrap();
    text.lines().find_map(|line| line.strip_prefix("msg_id: ")).unwrap().to_owned()
}

/// The first sixteen hex digits of SHA-256, by which a reply under way is noted (format.md §5.4).
fn digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_refused_reply_leaves_everything_as_it_was() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "q");
    // The folder for replies under way is made by the first one and stays.
    room.by("bob", ["reply", &id, "-m", "first"]).succeeds();
    room.by("bob", ["unarchive", &id]).succeeds();
    let before = room.tree();
    for (arguments, code) in [
        (vec!["reply", id.as_str(), "-m", " \n"], 4),
        (vec!["reply", id.as_str(), "--file", "missing.txt"], 4),
        (vec!["reply", "0000dead", "-m", "x"], 3),
        (vec!["reply", "-m", "x"], 2),
        (vec!["reply", id.as_str(), "-m", "x", "--priority", "asap"], 2),
        (vec!["reply", id.as_str(), "-m", "x", "-s", "two\nlines"], 4),
    ] {
        let ran = room.by("bob", arguments.clone()).exits(code);
        assert_eq!(ran.out, "", "{arguments:?}");
        room.is_still(&before, &format!("{arguments:?}"));
    }
}

#[test]
fn a_control_character_in_the_answered_subject_does_not_stop_an_answer() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.place("bob", "20260101T000000Z-abcd1111-x.md", by_hand(&room.id("alice"), "abcd1111", "a\tb", "x"));
    let ran = room.by("bob", ["reply", "abcd1111", "-m", "answer"]).ends();
    assert_eq!(ran.code, 0, "the one who answers gave no subject: {ran:?}");
    assert_eq!(only(&room, "alice")["subject"], "re: a b");
}

#[test]
fn a_sender_without_a_mailbox_is_told_without_a_false_hint() {
    let room = TestRoom::with(&["bob"]);
    room.place("bob", "20260101T000000Z-abcd1111-x.md", by_hand("stranger", "abcd1111", "hi", "x"));
    let before = room.tree();
    let ran = room.by("bob", ["reply", "abcd1111", "-m", "answer"]).exits(3);
    assert!(ran.err.contains("stranger"), "{}", ran.err);
    assert!(!ran.err.contains("doctor --fix"), "the doctor makes no mailbox for a stranger: {}", ran.err);
    room.is_still(&before, "looking or a refusal");
}

#[test]
fn a_sender_named_instead_of_its_id_can_be_answered() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.place("bob", "20260101T000000Z-abcd1111-x.md", by_hand("alice", "abcd1111", "hi", "x"));
    let ran = room.by("bob", ["reply", "abcd1111", "-m", "answer"]).ends();
    assert_eq!((ran.code, room.files("alice", "inbox").len()), (0, 1), "{ran:?}");
}

#[test]
fn a_hostile_sender_is_no_path() {
    let room = TestRoom::with(&["bob"]);
    for (n, from) in ["../../etc", "/etc", ".", "-rf", "a b"].into_iter().enumerate() {
        let file = format!("20260101T000000Z-abcd111{n}-x.md");
        room.place("bob", &file, by_hand(from, &format!("abcd111{n}"), "hi", "x"));
    }
    let before = room.tree();
    for n in 0..5 {
        let ran = room.by("bob", ["reply", &format!("abcd111{n}"), "-m", "x"]).ends();
        assert!([3, 4].contains(&ran.code) && ran.err.contains("the sender"), "{ran:?}");
    }
    room.is_still(&before, "looking or a refusal");
}

#[test]
fn a_reply_into_a_full_mailbox_is_refused_and_the_question_stays() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "q");
    room.send("bob", "alice", "fills it");
    room.limit("mailbox_messages = 1");
    let ran = room.by("bob", ["reply", &id, "-m", "x"]).exits(4);
    assert!(ran.err.contains("the mailbox of `alice` is full"), "{}", ran.err);
    assert_eq!((room.files("bob", "inbox").len(), room.files("alice", "inbox").len()), (1, 1));
    assert!(room.files("bob", "answering").is_empty(), "nothing is under way");
}
