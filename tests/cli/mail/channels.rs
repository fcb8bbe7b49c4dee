//! Channels of a workspace: `check` puts them together, and `reply --channel` answers all that waits in one.

use crate::support::kinds_room::{Folder, request};
use crate::support::room::TestRoom;

/// A workspace that answers, and those that ask it.
fn room_with(askers: &[&str]) -> TestRoom {
    let room = TestRoom::empty();
    room.workspace("carol");
    askers.iter().for_each(|name| drop(room.workspace(name)));
    room
}

/// Asks carol in a channel; the files get times that are well apart, oldest first.
fn ask(room: &TestRoom, from: &str, channel: &str, text: &str) -> String {
    let inbox = room.of_workspace("carol", "inbox");
    let before = inbox.files();
    room.by(from, ["send", "carol", "--channel", channel, "-m", text]).succeeds();
    let id = inbox.files().into_iter().find(|name| !before.contains(name)).unwrap();
    crate::support::hand::age(&inbox.0.join(&id), 500 - 10 * u64::try_from(before.len()).unwrap());
    id
}

/// The body of a message.
fn body(folder: &Folder, name: &str) -> String {
    folder.text(name).split_once("\n---\n\n").unwrap().1.to_owned()
}

#[test]
fn the_newest_gets_the_text_and_each_older_one_its_own_reply() {
    let room = room_with(&["dave"]);
    let ids: Vec<_> = ["one", "two", "three"].map(|text| ask(&room, "dave", "build", text)).into();
    let other = ask(&room, "dave", "other", "not meant");
    let out = room.by("carol", ["reply", "--channel", "build", "-m", "all is built\n"]).succeeds().out;
    let told: Vec<_> = out.lines().map(|line| line.split_once(" for ").unwrap().1).collect();
    assert_eq!(told, ["dave: \"\"", "dave: \"\"", "dave: re: three"], "one receipt each, oldest first");
    let inbox = room.of_workspace("dave", "inbox");
    assert_eq!(body(&inbox, &ids[0]), "\"\"\n");
    assert_eq!(body(&inbox, &ids[1]), "\"\"\n");
    assert_eq!(body(&inbox, &ids[2]), "all is built\n");
    for id in &ids {
        let text = inbox.text(id);
        assert!(
            text.contains("MESSAGE_TYPE: REPLY\nCHANNEL_ID: build\n"),
            "a valid reply of its own: {text}"
        );
        assert!(text.contains(&format!("REQUEST_ID: {id}\n")), "{text}");
        assert_eq!(room.of_workspace("carol", "scratch").text(id), text);
    }
    assert_eq!(inbox.files().len(), 3, "one delivery each");
    assert_eq!(room.of_workspace("carol", "inbox").only(), other, "another channel is left alone");
}

/// Two requests of one channel by hand, from a workspace that the room does not know; each names the file of its reply.
fn by_hand(room: &TestRoom, old: &str, new: &str) -> Folder {
    let (carol, away) = (room.of_workspace("carol", "inbox"), room.around().join("away/.mailbox/inbox"));
    std::fs::create_dir_all(&away).unwrap();
    for (name, file) in [("old1", old), ("new2", new)] {
        let text = request("NEW", name, &carol.0.join(name), &away.join(file), &format!("{name}\n"));
        carol.put(name, text.replace("MESSAGE_TYPE: NEW\n", "MESSAGE_TYPE: NEW\nCHANNEL_ID: build\n"));
    }
    Folder(away)
}

#[test]
fn an_interrupted_answer_is_finished_by_the_next_run_and_nothing_is_answered_twice() {
    let room = room_with(&[]);
    let carol = room.of_workspace("carol", "inbox");
    let away = by_hand(&room, "old1", "new2");
    // The newest cannot be delivered while a link lies where it is to go; the older one can.
    std::os::unix::fs::symlink("nowhere", away.0.join("new2")).unwrap();
    let ran = room.by("carol", ["reply", "--channel", "build", "-m", "both"]).exits(4);
    assert!(ran.out.contains(": \"\"\n") && ran.err.contains("new2, line 6: `REPLY_INBOX_PATH`"), "{ran:?}");
    assert_eq!((carol.only(), away.files()), ("new2".to_owned(), vec!["new2".to_owned(), "old1".to_owned()]));
    assert_eq!(body(&room.of_workspace("carol", "scratch"), "new2"), "both", "the draft stays");
    let first = away.text("old1");

    std::fs::remove_file(away.0.join("new2")).unwrap();
    let ran = room.by("carol", ["reply", "--channel", "build", "-m", "both"]).succeeds();
    assert!(ran.out.lines().count() == 1 && ran.out.ends_with(": re: new2\n"), "{}", ran.out);
    assert_eq!((away.files(), away.text("old1")), (vec!["new2".to_owned(), "old1".to_owned()], first));
    assert_eq!(body(&away, "new2"), "both");
    assert!(carol.files().is_empty());
    room.by("carol", ["reply", "--channel", "build", "-m", "both"]).exits(3);
    assert_eq!(away.files().len(), 2, "nothing is answered twice");
}

#[test]
fn a_run_that_died_before_it_removed_a_request_delivers_nothing_again() {
    let room = room_with(&[]);
    let carol = room.of_workspace("carol", "inbox");
    let away = by_hand(&room, "old1", "new2");
    let (old, new) = (carol.text("old1"), carol.text("new2"));
    // The receipts cannot be written out, so the run does not know that they were seen.
    let run = room.by("carol", ["reply", "--channel", "build", "-m", "both"]).closed_pipe();
    run.wait_with_output().unwrap();
    assert!(carol.files().is_empty());
    let sent = (away.text("old1"), away.text("new2"));
    carol.put("old1", old);
    carol.put("new2", new);
    let ran = room.by("carol", ["reply", "--channel", "build", "-m", "both"]).succeeds();
    assert_eq!(ran.out.matches("sent before ").count(), 2, "{}", ran.out);
    assert_eq!((away.files().len(), away.text("old1"), away.text("new2")), (2, sent.0, sent.1));
    assert!(carol.files().is_empty());
}

#[test]
fn the_newest_is_not_answered_while_an_older_one_is_not() {
    let room = room_with(&[]);
    let away = by_hand(&room, "-bad", "new2");
    let ran = room.by("carol", ["reply", "--channel", "build", "-m", "both"]).exits(4);
    assert!(ran.err.contains("old1, line 6: `REPLY_INBOX_PATH`"), "{}", ran.err);
    assert_eq!(room.of_workspace("carol", "inbox").files(), ["new2", "old1"]);
    assert!(away.files().is_empty(), "nothing was delivered");
}

#[test]
fn several_senders_are_refused_and_one_can_be_named() {
    let room = room_with(&["dave", "erin"]);
    ask(&room, "dave", "build", "from dave");
    let hers = ask(&room, "erin", "build", "from erin");
    let before = (room.of_workspace("carol", "inbox").files(), room.of_workspace("carol", "scratch").files());
    let ran = room.by("carol", ["reply", "--channel", "build", "-m", "x"]).exits(4);
    assert!(ran.err.contains("dave") && ran.err.contains("erin"), "{}", ran.err);
    assert_eq!(ran.out, "");
    assert_eq!(
        before,
        (room.of_workspace("carol", "inbox").files(), room.of_workspace("carol", "scratch").files())
    );
    room.by("carol", ["reply", "--channel", "build", "--from", "erin", "-m", "yours"]).succeeds();
    assert_eq!(room.of_workspace("erin", "inbox").only(), hers);
    assert!(room.of_workspace("dave", "inbox").files().is_empty());
    room.by("carol", ["reply", "--channel", "build", "--from", "erin", "-m", "again"]).exits(3);
    room.by("carol", ["reply", "--channel", "build", "--from", "nobody", "-m", "x"]).exits(3);
}

#[test]
fn a_channel_with_nothing_in_it_and_a_mailbox_without_channels() {
    let room = room_with(&["dave"]);
    room.run(["setup", "-q", "alice"]).succeeds();
    let empty = room.by("carol", ["reply", "--channel", "build", "-m", "x"]).exits(3);
    assert!(empty.err.contains("no request of the channel `build`"), "{}", empty.err);
    let native = room.by("alice", ["reply", "--channel", "build", "-m", "x"]).exits(3);
    assert!(native.err.contains("no request of the channel `build`"), "{}", native.err);
    // With an ID, --channel only says the conversation.
    let id = room.send("dave", "carol", "q");
    room.by("carol", ["reply", &id, "--channel", "later", "-m", "a"]).succeeds();
    assert_eq!(room.of_workspace("dave", "inbox").field("CHANNEL_ID"), "later");
    room.by("carol", ["reply", &id, "--from", "dave", "-m", "a"]).exits(2);
}

#[test]
fn a_reply_in_a_channel_is_not_answered_with_it() {
    let room = room_with(&["dave"]);
    ask(&room, "dave", "build", "question");
    let carol = room.of_workspace("carol", "inbox");
    let back = room.of_workspace("dave", "inbox");
    let reply = request("REPLY", "earlier", &carol.0.join("earlier"), &back.0.join("earlier"), "an answer\n");
    carol.put("earlier", reply.replace("MESSAGE_TYPE: REPLY\n", "MESSAGE_TYPE: REPLY\nCHANNEL_ID: build\n"));
    room.by("carol", ["reply", "--channel", "build", "-m", "x"]).succeeds();
    assert_eq!((carol.only(), back.files().len()), ("earlier".to_owned(), 1));
}

#[test]
fn check_puts_a_channel_together_and_marks_what_is_superseded() {
    let room = room_with(&["dave", "erin"]);
    let one = ask(&room, "dave", "build", "one");
    let lone = ask(&room, "dave", "alone", "lone");
    let hers = ask(&room, "erin", "build", "hers");
    let two = ask(&room, "dave", "build", "two");
    let out = room.by("carol", ["check"]).succeeds().out;
    let seen: Vec<_> = out.lines().map(|l| (l[..8].to_owned(), l.contains(" superseded: "))).collect();
    let wanted = [(&one, true), (&hers, false), (&two, false), (&lone, false)];
    let wanted: Vec<_> = wanted.iter().map(|(id, old)| (id[..8].to_owned(), *old)).collect();
    assert_eq!(seen, wanted, "{out}");
    let told: Vec<_> =
        room.headers("carol").iter().map(|h| h["remarks"][0].as_str() == Some("superseded")).collect();
    assert_eq!(told, [true, false, false, false]);
    room.by("carol", ["archive", &two]).succeeds();
    assert!(!room.by("carol", ["check"]).succeeds().out.contains("superseded"), "the newer one is away");
}

#[test]
fn two_requests_of_one_id_in_a_channel_are_both_answered() {
    let room = room_with(&["dave"]);
    let (carol, dave) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    for (name, text) in [("same", "older\n"), ("same.2", "newer\n")] {
        let text = request("NEW", "same", &carol.0.join("same"), &dave.0.join("same"), text);
        carol.put(name, text.replace("MESSAGE_TYPE: NEW\n", "MESSAGE_TYPE: NEW\nCHANNEL_ID: build\n"));
    }
    let out = room.by("carol", ["reply", "--channel", "build", "-m", "both"]).succeeds().out;
    assert!(out.contains(" for dave: \"\"\n") && out.contains(" for dave as same.2: re: newer\n"), "{out}");
    assert_eq!((body(&dave, "same"), body(&dave, "same.2")), ("\"\"\n".to_owned(), "both".to_owned()));
    assert!(carol.files().is_empty());
}
