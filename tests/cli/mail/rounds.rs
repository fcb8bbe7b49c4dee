//! Exchanges of several rounds, and messages that lie in a mailbox of another protocol than their own.

use crate::support::kinds_room::{REQUEST, request, task};
use crate::support::room::TestRoom;

#[test]
fn an_exchange_keeps_its_request_id_over_many_rounds() {
    let room = TestRoom::with(&["alice"]);
    room.workspace("carol");
    let inbox = room.of_workspace("carol", "inbox");
    room.by("alice", ["send", "carol", "-m", "one"]).succeeds();
    let first = inbox.only();
    for round in ["two", "four"] {
        room.by("carol", ["reply", &first, "-m", round]).succeeds();
        let answer = room.header("alice")["id"].as_str().unwrap().to_owned();
        room.by("alice", ["reply", &answer, "-m", "and?"]).succeeds();
        assert_eq!((inbox.only(), inbox.field("REQUEST_ID")), (first.clone(), first.clone()), "{round}");
        assert_eq!(inbox.field("MESSAGE_TYPE"), "REPLY");
    }
}

#[test]
fn an_agent_gets_messages_of_the_other_protocols_as_tasks() {
    let room = TestRoom::with(&["alice"]);
    room.agents(&["writer"]);
    room.workspace("carol");
    let inbox = room.of_agent("inboxes", "writer");
    let alice = room.id("alice");
    let letter = format!(
        "---\nfrom: {alice}\nmsg_id: 3f2a9c1d-0000-4000-8000-00000000000a\nsubject: a letter\nto: writer\n---\n\nhello\n"
    );
    inbox.put("letter.md", letter);
    let reply = room.of_workspace("carol", "inbox").0.join(REQUEST);
    inbox.put("request.md", request("NEW", REQUEST, &inbox.0.join(REQUEST), &reply, "a request\n"));
    let headers = room.headers("writer");
    let told: Vec<_> = headers
        .iter()
        .map(|h| (h["subject"].clone(), h["from"]["name"].clone(), h["protocol"].clone()))
        .collect();
    let wanted = [("a letter", "alice"), ("a request", "carol")];
    assert_eq!(told, wanted.map(|(subject, from)| (subject.into(), from.into(), "tree".into())));
    assert!(inbox.files().iter().all(|name| name.starts_with("20")), "{:?}", inbox.files());
    for header in &headers {
        let file = header["file"].as_str().unwrap();
        room.by("writer", ["reply", file, "-m", "done"]).succeeds();
    }
    assert_eq!(room.header("alice")["subject"], "re: a letter");
    assert_eq!(room.header("carol")["subject"], "re: a request");
}

#[test]
fn a_workspace_and_a_room_read_what_is_written_for_another_protocol() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.workspace("carol");
    let text = task("2026-11-15-001", "bob", "somebody", "Look at this.\n");
    room.of_workspace("carol", "inbox").put("task", &text);
    let header = room.header("carol");
    assert_eq!(
        (header["subject"].as_str(), header["protocol"].as_str()),
        (Some("Look at this."), Some("tree"))
    );
    room.by("carol", ["reply", "task", "-m", "seen"]).succeeds();
    assert_eq!(room.header("bob")["subject"], "re: Look at this.");
}
