//! The main road: set up, send, check, read, reply, wait, archive.

use crate::support::room::TestRoom;

#[test]
fn a_message_goes_from_send_to_archive() {
    let room = TestRoom::with(&["alice", "bob"]);
    let sent = room.by("alice", ["send", "bob", "-s", "parser review"]).input("Please review.\n").succeeds();
    let id = sent.out.split(' ').nth(1).unwrap().to_owned();
    assert_eq!(sent.out, format!("queued {id} for bob: parser review\n"));

    let checked = room.by("bob", ["check"]).succeeds().out;
    assert!(checked.starts_with(&id) && checked.ends_with("s alice: parser review\n"), "{checked}");
    assert_eq!(room.files("bob", "inbox").len(), 1, "check consumes nothing");

    let read = room.by("bob", ["read"]).succeeds().out;
    assert!(read.contains(" alice (unverified): ") && read.contains("\nPlease review.\n"), "{read}");
    assert!(room.files("bob", "inbox").is_empty());
    assert_eq!(room.files("bob", "archive").len(), 1);
    room.by("bob", ["check"]).exits(1);

    let again = room.by("bob", ["read", &id]).succeeds().out;
    assert!(again.contains("note: it lay in the archive\n") && again.contains("Please review."), "{again}");
}

#[test]
fn the_bytes_on_disk_are_those_of_the_protocol() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by(
        "alice",
        ["send", "bob", "-s", "re: x #12", "-m", "hi", "--priority", "urgent", "--channel", "build"],
    )
    .succeeds();
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    let name = room.files("bob", "inbox").pop().unwrap();
    let text = std::fs::read_to_string(room.folder("bob", "inbox").join(&name)).unwrap();
    let id = text.lines().find_map(|l| l.strip_prefix("msg_id: ")).unwrap();
    assert_eq!(
        text,
        format!(
            "---\nfrom: {alice}\nmsg_id: {id}\nsubject: re: x #12\nto: {bob}\npriority: urgent\nchannel: build\n---\n\nhi"
        )
    );
    assert!(name.ends_with(&format!("Z-{}-re-x-12--urgent.md", &id[..8])), "{name}");
}

#[test]
fn a_reply_is_threaded_and_archives_what_it_answers() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "question?");
    let answer = room.by("bob", ["reply", &id, "-m", "answer."]).succeeds().out;
    assert!(answer.ends_with("for alice: re: question?\n"), "{answer}");
    assert!(room.files("bob", "inbox").is_empty() && room.files("bob", "answering").is_empty());
    let headers = room.by("alice", ["check", "--json"]).json();
    assert!(headers["messages"][0]["reply_to"].as_str().unwrap().starts_with(&id));
}

#[test]
fn a_wait_ends_when_mail_comes_and_at_once_when_it_is_there() {
    let room = TestRoom::with(&["alice", "bob"]);
    let waiting = room.by("bob", ["wait", "--timeout", "30"]).start();
    let id = room.send("alice", "bob", "wake up");
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with(&id));
    room.by("bob", ["wait", "--timeout", "0"]).succeeds();
    room.by("alice", ["wait", "--timeout", "0.05"]).exits(1);
    room.by("bob", ["wait", "--from", "bob", "--timeout", "0.05"]).exits(1);
}

#[test]
fn archive_and_unarchive_move_mail_unread() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "later");
    assert_eq!(room.by("bob", ["archive", &id]).succeeds().out, format!("archived {id}\n"));
    assert_eq!(room.by("bob", ["archive", &id]).succeeds().out, format!("already archived {id}\n"));
    room.by("bob", ["unarchive", &id]).succeeds();
    assert_eq!(room.by("bob", ["check", "--count"]).succeeds().out, "1\n");
}

#[test]
fn a_second_message_of_the_same_name_is_archived_too() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    for digits in ["abcd1111", "abcd2222"] {
        let text = format!("---\nfrom: {}\nmsg_id: {digits}\nsubject: x\n---\n\nhi\n", room.id("alice"));
        room.place("bob", "hello.md", text);
        room.by("bob", ["read"]).succeeds();
    }
    assert_eq!(room.files("bob", "archive"), ["hello-2.md", "hello.md"]);
}
