//! Mail that a sender who knows only one protocol put where that protocol says: any command that acts on the mailbox
//! carries it over first.

use crate::command_line::shell::shell;
use crate::support::hand::{BROKEN, by_hand};
use crate::support::kinds_room::{Folder, REQUEST, request, task};
use crate::support::room::TestRoom;
use crate::support::until::until_watching;

/// A mailbox of each kind.
fn room() -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    room.workspace("carol");
    room.agents(&["explore", "writer"]);
    room
}

/// A folder at the home of a mailbox in the room.
fn home(room: &TestRoom, name: &str, folder: &str) -> Folder {
    Folder(room.folder(name, folder))
}

#[test]
fn what_the_functions_of_the_seed_send_reaches_a_mailbox_of_any_kind() {
    let room = room();
    for name in ["carol", "explore"] {
        assert!(home(&room, name, "inbox").0.is_dir(), "every name in a room has that directory");
        let script = format!(
            "export AGENT_MAILBOX_ID=alice
             printf 'please build\\n' | mb_send \"$(mb_lookup {name} | cut -f1)\" - 'a handoff' > /dev/null"
        );
        shell(&room, &script).succeeds();
        let header = room.header(name);
        assert_eq!(
            (header["subject"].as_str(), header["from"]["name"].as_str()),
            (Some("a handoff"), Some("alice"))
        );
    }
    assert_eq!(room.of_workspace("carol", "inbox").field("MESSAGE_TYPE"), "NEW");
    assert_eq!(room.of_agent("inboxes", "explore").field("status"), "pending");
}

#[test]
fn a_handoff_by_hand_is_carried_over_once_and_kept_at_home() {
    // A hand that uses an id twice leaves what the doctor complains of.
    let room = room().leaves_faults();
    for name in ["carol", "explore"] {
        home(&room, name, "inbox").put(
            "20260101T000000Z-abcd1111-x.md",
            by_hand(&room.id("alice"), "abcd1111-aaaa", "hi", "text\n"),
        );
        for _ in 0..2 {
            assert_eq!(room.header(name)["id"], "abcd1111-aaaa");
        }
        assert!(home(&room, name, "inbox").files().is_empty());
        home(&room, name, "archive").only();
        // Run again after an interruption between the two steps.
        home(&room, name, "inbox")
            .put("again.md", by_hand(&room.id("alice"), "abcd1111-aaaa", "hi", "text\n"));
        assert_eq!(room.headers(name).len(), 1);
        // Another message under the same id is another message.
        home(&room, name, "inbox")
            .put("other.md", by_hand(&room.id("alice"), "abcd1111-aaaa", "hi", "other text\n"));
        assert_eq!(room.headers(name).len(), 2, "{name}: no mail is lost for its id");
    }
}

#[test]
fn a_reply_copied_to_the_home_of_a_native_mailbox_is_its_mail() {
    let room = room();
    room.by(
        "alice",
        [
            "send",
            "carol",
            "-s",
            "Build",
            "-m",
            "build?",
            "--priority",
            "high",
            "--channel",
            "c",
            "--field",
            "step=2",
        ],
    )
    .succeeds();
    let inbox = room.of_workspace("carol", "inbox");
    let id = inbox.only();
    let back = home(&room, "alice", ".mailbox/inbox");
    assert_eq!(inbox.field("REPLY_INBOX_PATH"), back.0.join(&id).display().to_string());
    assert!(back.0.is_dir(), "an agent that answers by hand needs the directory");
    back.put(&id, request("REPLY", &id, &back.0.join(&id), &inbox.0.join(&id), "built\n"));
    let header = room.header("alice");
    assert_eq!(header["from"]["name"], "carol");
    assert_eq!((header["subject"].as_str(), header["priority"].as_str()), (Some("re: Build"), Some("high")));
    assert_eq!((header["channel"].as_str(), header["extra"]["step"].as_str()), (Some("c"), Some("2")));
    assert_eq!(header["reply_to"].as_str().unwrap().replace('-', ""), id);
    assert_eq!(header["protocol"], "maildir", "in the protocol of whom it is for");
    assert!(back.files().is_empty());
    assert_eq!(room.files("alice", "inbox").len(), 1);
}

#[test]
fn a_reply_copied_there_wakes_a_wait_and_ends_an_ask() {
    let room = room();
    let asking = room.by("alice", ["ask", "carol", "-m", "build?", "--timeout", "30"]).start();
    let inbox = room.of_workspace("carol", "inbox");
    crate::support::until::until("the question", || !inbox.files().is_empty());
    until_watching(&asking);
    let id = inbox.only();
    let back = home(&room, "alice", ".mailbox/inbox");
    let text = request("REPLY", &id, &back.0.join(&id), &inbox.0.join(&id), "built\n");
    std::fs::write(back.0.join(&id), text).unwrap();
    let output = asking.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("\nbuilt\n"), "{out}");
}

#[test]
fn a_request_of_an_unknown_workspace_is_answered_where_it_says() {
    let room = room();
    let away = Folder(room.around().join("away/.mailbox/inbox"));
    std::fs::create_dir_all(&away.0).unwrap();
    for (name, id) in [("alice", "job-for-alice"), ("explore", "job-for-explore")] {
        let inbox = home(&room, name, "inbox");
        inbox.put(&format!("{id}.md"), request("NEW", id, &inbox.0.join(id), &away.0.join(id), "question\n"));
        let reference = room.header(name)["file"].as_str().unwrap().to_owned();
        let out = room.by(name, ["reply", &reference, "-m", "answer\n"]).succeeds().out;
        assert!(out.contains(&format!(" for {}", away.0.display())), "{name}: {out}");
        let text = away.text(id);
        assert!(text.contains(&format!("REQUEST_ID: {id}\nMESSAGE_TYPE: REPLY\n")), "{name}: {text}");
        assert!(text.ends_with("---\n\nanswer\n"), "{text}");
    }
}

#[test]
fn a_refused_way_back_names_the_field_it_was_carried_in() {
    let room = room();
    let own = home(&room, "alice", ".mailbox/inbox");
    let bad = room.around().join("gone/.mailbox/inbox/x");
    own.put(REQUEST, request("NEW", REQUEST, &own.0.join(REQUEST), &bad, "question\n"));
    let header = room.header("alice");
    let file = room.folder("alice", "inbox").join(header["file"].as_str().unwrap());
    let text = std::fs::read_to_string(&file).unwrap();
    let line = text.lines().position(|line| line.starts_with("reply_path: ")).unwrap() + 1;
    let ran = room.by("alice", ["reply", header["id"].as_str().unwrap(), "-m", "x"]).exits(4);
    assert!(ran.err.contains(&format!("{}, line {line}: `reply_path`", file.display())), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn what_cannot_be_read_stays_there_and_stops_nothing() {
    let room = room().leaves_faults();
    for name in ["alice", "carol", "explore"] {
        let own = home(&room, name, ".mailbox/inbox");
        own.put("broken", BROKEN);
        let from = room.id("writer");
        home(&room, name, "inbox").put("good.md", by_hand(&from, &format!("abcd1111-{name}"), "good", "x\n"));
        assert_eq!(room.header(name)["subject"], "good", "{name}");
        assert_eq!(own.only(), "broken");
    }
    let told = room.run(["doctor"]).ends().out;
    assert!(told.contains(".mailbox/inbox/broken: the frontmatter is not closed by a line `---`"), "{told}");
}

#[test]
fn an_answer_in_the_outbox_does_not_keep_a_full_mailbox_from_reading() {
    let room = room();
    room.by("alice", ["send", "explore", "-m", "question"]).succeeds();
    room.send("writer", "alice", "fills it");
    room.limit("mailbox_messages = 1");
    let asked = room.of_agent("inboxes", "explore").only();
    let id = asked.strip_suffix(".md").unwrap();
    let response = task(&format!("{id}-response"), "explore", &room.id("alice"), "found\n")
        .replace("status: pending", &format!("status: completed\nrequest_id: {id}"));
    room.of_agent("outboxes", "explore").put(&format!("{id}-response.md"), response);
    let read = room.by("alice", ["read"]).succeeds().out;
    assert!(read.contains("fills it"), "{read}");
    let read = room.by("alice", ["read"]).succeeds().out;
    assert!(read.contains("found") && read.contains("answers: "), "it comes when there is room: {read}");
    room.by("alice", ["read"]).exits(1);
}

#[test]
fn a_verb_with_an_id_carries_over_too() {
    let room = room();
    for name in ["carol", "explore"] {
        for (verb, id) in
            [("read", "abcd1111"), ("archive", "abcd2222"), ("reply", "abcd3333"), ("claim", "abcd4444")]
        {
            let file = format!("20260101T000000Z-{id}-x.md");
            home(&room, name, "inbox")
                .put(&file, by_hand(&room.id("alice"), &format!("{id}-{name}"), verb, "x\n"));
            let arguments = [verb, &format!("{id}-{name}"), "-m", "answer"];
            room.by(name, arguments.into_iter().take(if verb == "reply" { 4 } else { 2 })).succeeds();
            assert!(home(&room, name, "inbox").files().is_empty(), "{name} {verb}");
        }
        room.by(name, ["read", "abcd5555"]).exits(3);
    }
    assert_eq!(room.headers("alice").len(), 2);
}

#[test]
fn a_way_back_that_is_no_name_becomes_no_path() {
    let room = room();
    let inbox = room.of_workspace("carol", "inbox").0;
    for (n, request) in ["../../x", "a/b", ".", "-rf", "..."].into_iter().enumerate() {
        let text = by_hand("nobody", &format!("abcd111{n}"), "hi", "x\n");
        let fields = format!("request: {request}\nreply_path: {}\nsubject", inbox.display());
        room.place("alice", &format!("20260101T000000Z-abcd111{n}-x.md"), text.replace("subject", &fields));
    }
    for n in 0..5 {
        room.by("alice", ["reply", &format!("abcd111{n}"), "-m", "x"]).succeeds();
    }
    let answers = crate::support::kinds_room::Folder(inbox);
    let (files, mut echoed) = (answers.files(), vec![]);
    for file in &files {
        assert!(file.len() == 32 && file.bytes().all(|b| b.is_ascii_hexdigit()), "{file}");
        let text = answers.text(file);
        echoed.extend(text.lines().find_map(|line| line.strip_prefix("REQUEST_ID: ")).map(str::to_owned));
    }
    echoed.sort();
    assert_eq!(echoed, ["-rf", ".", "...", "../../x", "a/b"], "{files:?}");
}
