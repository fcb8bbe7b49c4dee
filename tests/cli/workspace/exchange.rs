//! A mailbox that is the `.mailbox` of a workspace: setting it up, and the verbs of mail in it.

use crate::support::kinds_room::{REQUEST, request, two_workspaces};
use crate::support::room::TestRoom;
use crate::support::until::until_watching;

#[test]
fn setup_makes_the_folders_and_takes_the_name_of_the_directory() {
    let room = TestRoom::empty();
    let dir = room.workspace("carol");
    for folder in ["inbox", "scratch", "archive"] {
        assert!(dir.join(".mailbox").join(folder).is_dir(), "{folder}");
    }
    let names = room.run(["names", "--json"]).json();
    let entry = &names["names"][0];
    assert_eq!((entry["name"].as_str(), entry["protocol"].as_str()), (Some("carol"), Some("workspace")));
    let registry = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
    assert!(
        registry.contains(&format!("\"inbox\":\"{}\"", dir.join(".mailbox/inbox").display())),
        "{registry}"
    );
}

#[test]
fn setup_again_is_success_and_changes_nothing() {
    let room = TestRoom::empty();
    room.workspace("carol");
    let before = (room.tree(), crate::support::picture::tree(&room.around().join("carol")));
    let again = room.run(["setup", "--workspace", "carol"]).succeeds();
    assert!(again.out.starts_with("name: carol\n"), "{}", again.out);
    room.is_still(&before.0, "the same setup again");
    assert_eq!(crate::support::picture::tree(&room.around().join("carol")), before.1);
    // Another name would leave it with two.
    room.run(["setup", "--workspace", "carol", "erin"]).exits(4);
    room.is_still(&before.0, "another name");
}

#[test]
fn a_refused_setup_makes_nothing_in_the_directory() {
    let room = TestRoom::with(&["alice"]);
    let dir = room.around().join("alice");
    std::fs::create_dir(&dir).unwrap();
    let before = room.tree();
    let by_directory = room.run(["setup", "--workspace", "alice"]).exits(4);
    assert!(by_directory.err.contains("the name `alice` is taken"), "{}", by_directory.err);
    room.run(["setup", "--workspace", "alice", "Alice"]).exits(4);
    room.run(["setup", "--workspace", "alice", "no/path"]).exits(4);
    let missing = room.run(["setup", "--workspace", "nowhere", "erin"]).exits(4);
    assert!(missing.err.contains("nowhere"), "{}", missing.err);
    room.is_still(&before, "refusals");
    assert!(!dir.join(".mailbox").exists(), "a refused name makes no mailbox");
    room.run(["setup", "-q", "--workspace", "alice", "erin"]).succeeds();
    assert!(dir.join(".mailbox/inbox").is_dir());
}

#[test]
fn the_bytes_of_a_request_as_it_is_delivered() {
    let room = two_workspaces();
    room.by("dave", ["send", "carol", "-m", "Please build.\nNow.\n", "--channel", "build"]).succeeds();
    let (inbox, scratch) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "scratch"));
    let id = inbox.only();
    assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{id}");
    let golden = format!(
        "---\nREQUEST_ID: {id}\nMESSAGE_TYPE: NEW\nCHANNEL_ID: build\nRECEIVER_INBOX_PATH: {}\nREPLY_INBOX_PATH: {}\n---\n\nPlease build.\nNow.\n",
        inbox.0.join(&id).display(),
        room.of_workspace("dave", "inbox").0.join(&id).display(),
    );
    assert_eq!(inbox.text(&id), golden);
    assert_eq!((scratch.only(), scratch.text(&id)), (id, golden), "the sender's own copy");
}

#[test]
fn the_bytes_of_a_reply_as_it_is_delivered() {
    let room = two_workspaces();
    room.by("dave", ["send", "carol", "-m", "Build?", "--channel", "build"]).succeeds();
    let id = room.of_workspace("carol", "inbox").only();
    room.by("carol", ["reply", &id[..8], "-s", "It is built.", "-m", "It is built.\n"]).succeeds();
    let inbox = room.of_workspace("dave", "inbox");
    let text = inbox.text(&id);
    let own = text.lines().find_map(|line| line.strip_prefix("msg_id: ")).unwrap();
    assert_eq!(
        text,
        format!(
            "---\nREQUEST_ID: {id}\nMESSAGE_TYPE: REPLY\nCHANNEL_ID: build\nRECEIVER_INBOX_PATH: {}\nREPLY_INBOX_PATH: {}\nmsg_id: {own}\n---\n\nIt is built.\n",
            inbox.0.join(&id).display(),
            room.of_workspace("carol", "inbox").0.join(&id).display(),
        )
    );
    assert_eq!(room.of_workspace("carol", "scratch").text(&id), text, "the copy of the one who answered");
    assert!(room.of_workspace("carol", "inbox").files().is_empty(), "what is answered leaves the inbox");
    assert_eq!(room.of_workspace("carol", "archive").only(), id, "and is kept");
}

#[test]
fn a_request_stays_until_it_is_answered_and_read_goes_on() {
    let room = two_workspaces();
    room.send("dave", "carol", "first");
    room.send("dave", "carol", "second");
    let read = room.by("carol", ["read"]).succeeds().out;
    assert!(
        read.contains("\nfirst\n") && read.contains("it stays in the inbox until it is answered"),
        "{read}"
    );
    assert!(room.by("carol", ["read"]).succeeds().out.contains("\nsecond\n"));
    room.by("carol", ["read"]).exits(1);
    assert_eq!(room.of_workspace("carol", "inbox").files().len(), 2);
    assert_eq!(room.by("carol", ["check", "--count"]).succeeds().out, "2\n", "they still want an answer");
    let first = room.headers("carol").iter().find(|h| h["subject"] == "first").unwrap()["id"].clone();
    let again = room.by("carol", ["read", first.as_str().unwrap()]).succeeds().out;
    assert!(again.contains("\nfirst\n"), "{again}");
}

#[test]
fn what_wants_no_reply_goes_to_the_archive_when_it_was_read() {
    let room = two_workspaces();
    room.send("dave", "carol", "question");
    let id = room.of_workspace("carol", "inbox").only();
    room.by("carol", ["reply", &id, "-m", "answer"]).succeeds();
    let read = room.by("dave", ["read"]).succeeds().out;
    assert!(read.contains(" carol (unverified): re: question\n"), "{read}");
    assert!(room.of_workspace("dave", "inbox").files().is_empty());
    assert_eq!(room.of_workspace("dave", "archive").only(), id);
    assert!(room.by("dave", ["read", &id[..8]]).succeeds().out.contains("it lay in the archive"));
}

#[test]
fn archive_and_unarchive_work_here_too() {
    let room = two_workspaces();
    let id = room.send("dave", "carol", "later");
    room.by("carol", ["archive", &id]).succeeds();
    assert!(room.of_workspace("carol", "inbox").files().is_empty());
    room.of_workspace("carol", "archive").only();
    assert!(room.by("carol", ["archive", &id]).succeeds().out.contains("already archived"));
    room.by("carol", ["unarchive", &id]).succeeds();
    assert_eq!(room.header("carol")["subject"], "later");
}

#[test]
fn a_reply_wakes_a_wait() {
    let room = two_workspaces();
    let id = room.send("dave", "carol", "question");
    let waiting = room.by("dave", ["wait", "--reply-to", &id, "--timeout", "30"]).start();
    until_watching(&waiting);
    let request = room.of_workspace("carol", "inbox").only();
    room.by("carol", ["reply", &request, "-m", "answer"]).succeeds();
    let output = waiting.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(out.starts_with(&request[..8]) && out.contains("carol re="), "{out}");
    room.by("carol", ["wait", "--timeout", "0.05"]).exits(1);
}

#[test]
fn a_hand_written_reply_wakes_a_wait() {
    let room = two_workspaces();
    room.send("dave", "carol", "question");
    let (asked, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    let id = asked.only();
    let waiting = room.by("dave", ["wait", "--timeout", "30"]).start();
    until_watching(&waiting);
    let text = request("REPLY", &id, &back.0.join(&id), &asked.0.join(&id), "by hand\n");
    std::fs::write(back.0.join(&id), text).unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("carol re="));
}

#[test]
fn a_path_that_is_taken_is_not_overwritten_and_the_receipt_says_so() {
    let room = two_workspaces();
    room.send("dave", "carol", "question");
    let id = room.of_workspace("carol", "inbox").only();
    let inbox = room.of_workspace("dave", "inbox");
    let other = request("NEW", &id, &inbox.0.join(&id), &inbox.0.join(&id), "somebody else's\n");
    inbox.put(&id, &other);
    let sent = room.by("carol", ["reply", &id, "-m", "answer"]).succeeds().out;
    assert!(sent.contains(&format!(" for dave as {id}.2: re: question")), "{sent}");
    assert_eq!(inbox.files(), [id.clone(), format!("{id}.2")]);
    assert_eq!(inbox.text(&id), other);
    // Each can be meant: by its whole name, and by the id that `check` tells.
    assert!(room.by("dave", ["read", "--keep", &id]).succeeds().out.contains("somebody else's"));
    assert!(room.by("dave", ["read", "--keep", &format!("{id}.2")]).succeeds().out.contains("\nanswer\n"));
    room.by("dave", ["read", "--keep", &id[..8]]).exits(4);
}

#[test]
fn a_name_with_a_number_is_not_beside_anything() {
    let room = two_workspaces();
    let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    inbox.put("job.2", request("NEW", "job.2", &inbox.0.join("job.2"), &back.0.join("job.2"), "q\n"));
    let sent = room.by("carol", ["reply", "job.2", "-m", "answer"]).succeeds().out;
    assert!(sent.ends_with(" for dave: re: q\n"), "{sent}");
    assert_eq!(back.only(), "job.2");
}

#[test]
fn the_same_bytes_again_are_success() {
    let room = two_workspaces();
    room.send("dave", "carol", "question");
    let inbox = room.of_workspace("carol", "inbox");
    let id = inbox.only();
    let asked = inbox.text(&id);
    let answer = ["reply", id.as_str(), "-m", "answer", "--id", "abcdabcd-0000-4000-8000-000000000000"];
    room.by("carol", answer).succeeds();
    // As if the run had been interrupted before it removed the request.
    inbox.put(&id, &asked);
    let again = room.by("carol", answer).succeeds().out;
    assert!(again.starts_with("sent before abcdabcd for dave"), "{again}");
    assert_eq!(room.of_workspace("dave", "inbox").only(), id);
    assert!(inbox.files().is_empty());
}

#[test]
fn another_round_keeps_the_request_and_changes_the_paths_back() {
    let room = two_workspaces();
    room.send("dave", "carol", "question");
    let (carol, dave) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    let id = carol.only();
    room.by("carol", ["reply", &id, "-m", "which one?"]).succeeds();
    room.by("dave", ["reply", &id, "-m", "that one"]).succeeds();
    assert_eq!((carol.only(), carol.field("REQUEST_ID")), (id.clone(), id.clone()));
    assert_eq!(carol.field("MESSAGE_TYPE"), "REPLY");
    assert_eq!(carol.field("REPLY_INBOX_PATH"), dave.0.join(&id).display().to_string());
    let thread = room.run(["thread", &id[..8]]).succeeds().out;
    let depths: Vec<_> = thread.lines().map(|line| line.len() - line.trim_start().len()).collect();
    assert_eq!(depths, [0, 2, 4], "{thread}");
}

#[test]
fn a_request_by_hand_is_answered_where_it_says() {
    let room = two_workspaces();
    let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    inbox.put(
        REQUEST,
        request("NEW", REQUEST, &inbox.0.join(REQUEST), &back.0.join(REQUEST), "# Build\nnow\n"),
    );
    let header = room.header("carol");
    assert_eq!((header["subject"].as_str(), header["from"]["name"].as_str()), (Some("Build"), Some("dave")));
    room.by("carol", ["reply", "01234567", "-m", "done"]).succeeds();
    assert_eq!(back.only(), REQUEST);
    assert!(back.text(REQUEST).ends_with("---\n\ndone"));
}

#[test]
fn a_request_that_was_shown_is_nothing_to_wait_for() {
    let room = two_workspaces();
    room.by("dave", ["send", "carol", "-m", "please"]).succeeds();
    room.by("carol", ["wait", "--timeout", "30"]).succeeds();
    room.by("carol", ["read"]).succeeds();
    room.by("carol", ["wait", "--timeout", "0"]).exits(1);
    room.by("dave", ["send", "carol", "-m", "and this"]).succeeds();
    room.by("carol", ["wait", "--timeout", "30"]).succeeds();
}
