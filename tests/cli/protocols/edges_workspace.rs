//! Number 8: requests that a hand puts into a workspace.

use crate::support::kinds_room::{REQUEST, request, two_workspaces};
use crate::support::picture::tree;
use crate::support::room::TestRoom;

/// Files a request of dave's in the inbox of carol.
fn asked(room: &TestRoom, file: &str, text: &str) -> String {
    room.of_workspace("carol", "inbox").put(file, text);
    room.header("carol")["file"].as_str().unwrap().to_owned()
}

#[test]
fn a_reply_does_not_echo_the_fields_of_a_requester() {
    let room = two_workspaces();
    let (inbox, back) = (room.of_workspace("carol", "inbox").0, room.of_workspace("dave", "inbox"));
    let text = request("NEW", REQUEST, &inbox.join(REQUEST), &back.0.join(REQUEST), "question\n");
    let own = "CHANNEL_ID: c-1\nX_PRIVATE: 1\nx-token-hint: abc\nsession: left open\nMESSAGE_TYPE";
    let file = asked(&room, REQUEST, &text.replacen("MESSAGE_TYPE", own, 1));
    room.by("carol", ["reply", &file, "-m", "answer\n"]).succeeds();
    let reply = back.text(&back.only());
    for key in ["X_PRIVATE", "x-token-hint", "session"] {
        assert!(!reply.contains(key), "{key}: {reply}");
    }
    assert!(reply.contains("\nCHANNEL_ID: c-1\n") && reply.ends_with("---\n\nanswer\n"), "{reply}");
    let kept = room.of_workspace("carol", "archive");
    assert!(kept.text(&kept.only()).contains("\nX_PRIVATE: 1\n"), "the request stays as it was");
}

#[test]
fn a_relative_way_back_inside_the_workspace_is_accepted() {
    let room = two_workspaces();
    let inbox = room.of_workspace("carol", "inbox");
    let text = format!(
        "---\nREQUEST_ID: {REQUEST}\nMESSAGE_TYPE: NEW\nRECEIVER_INBOX_PATH: .mailbox/inbox/{REQUEST}\n\
         REPLY_INBOX_PATH: .mailbox/inbox/for-the-client\n---\n\nquestion\n"
    );
    let file = asked(&room, REQUEST, &text);
    // Relative to the workspace, whatever directory the command runs in.
    for place in [room.around().to_owned(), room.around().join("dave")] {
        room.by("carol", ["check"]).within(&place).succeeds();
    }
    room.by("carol", ["reply", &file, "-m", "answer\n"]).within(&room.around().join("dave")).succeeds();
    assert_eq!(inbox.only(), "for-the-client");
    let reply = inbox.text("for-the-client");
    assert!(reply.contains(&format!("\nREQUEST_ID: {REQUEST}\nMESSAGE_TYPE: REPLY\n")), "{reply}");
    assert!(reply.ends_with("---\n\nanswer\n"), "{reply}");
    assert_eq!(room.of_workspace("carol", "archive").only(), REQUEST);
}

#[test]
fn a_relative_way_back_out_of_the_workspace_is_refused() {
    for way in ["../dave/.mailbox/inbox/x", ".mailbox/inbox/../../../dave/.mailbox/inbox/x", "notes/x", "x"] {
        let room = two_workspaces();
        let inbox = room.of_workspace("carol", "inbox").0.join(REQUEST);
        let text = request("NEW", REQUEST, &inbox, way.as_ref(), "question\n");
        let file = asked(&room, REQUEST, &text);
        let before = tree(&room.around().join("dave"));
        room.by("carol", ["reply", &file, "-m", "answer"]).exits(4);
        assert_eq!(tree(&room.around().join("dave")), before, "{way}");
        assert_eq!(room.of_workspace("carol", "inbox").only(), REQUEST, "{way}: it is still asked");
    }
}

#[test]
fn an_id_that_is_no_file_name_is_echoed_and_becomes_no_path() {
    for whole in [true, false] {
        let room = two_workspaces();
        let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
        let to = if whole { back.0.join("for-chat-14") } else { back.0.clone() };
        let text = request("NEW", "user:chat/14", &inbox.0.join("chat-14"), &to, "question\n");
        let file = asked(&room, "chat-14", &text);
        let directories = |room: &TestRoom| -> Vec<String> {
            let all = tree(room.around()).into_iter().filter(|(_, what)| what.starts_with("directory"));
            all.map(|(path, _)| path).filter(|path| path.contains("chat") || path.contains("user")).collect()
        };
        let checked = room.by("carol", ["check"]).succeeds();
        assert_eq!((checked.out.lines().count(), checked.err.as_str()), (1, ""), "{checked:?}");
        room.by("carol", ["reply", &file, "-m", "answer\n"]).succeeds();
        let reply = back.text(&back.only());
        assert!(reply.contains("\nREQUEST_ID: user:chat/14\nMESSAGE_TYPE: REPLY\n"), "{reply}");
        assert!(!whole || back.only() == "for-chat-14", "{}", back.only());
        assert!(room.of_workspace("carol", "inbox").files().is_empty());
        room.of_workspace("carol", "archive").only();
        assert_eq!(directories(&room), [""; 0], "an id becomes no path");
        let header = room.header("dave");
        assert_eq!((&header["from"]["name"], &header["reply_to"]), (&"carol".into(), &"user:chat/14".into()));
        room.by("dave", ["wait", "--reply-to", "user:chat/14", "--timeout", "0"]).succeeds();
    }
}

#[test]
fn an_id_with_dots_leads_nowhere() {
    let room = two_workspaces().leaves_faults();
    let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    for (n, id) in ["../../../outside", "/etc/outside", ".."].into_iter().enumerate() {
        let name = format!("job-{n}");
        inbox.put(&name, request("NEW", id, &inbox.0.join(&name), &back.0.join(&name), "question\n"));
        room.by("carol", ["reply", &name, "-m", "answer"]).ends();
    }
    let stray: Vec<_> = tree(room.around()).into_keys().filter(|path| path.contains("outside")).collect();
    assert_eq!(stray, [""; 0]);
    assert!(!std::path::Path::new("/etc/outside").exists());
    for name in back.files() {
        assert!(name.starts_with("job-"), "{name}");
    }
}

#[test]
fn who_answers_an_answer_reaches_who_gave_it_although_others_answered_the_same_question() {
    let room = TestRoom::with(&["alice", "bob"]);
    std::fs::create_dir(room.around().join("ws")).unwrap();
    room.run(["setup", "dave", "--workspace", "ws"]).succeeds();
    room.by("dave", ["send", "@all", "-s", "question", "-m", "who?"]).succeeds();
    for name in ["alice", "bob"] {
        let id = room.headers(name)[0]["id"].as_str().unwrap().to_owned();
        room.by(name, ["reply", &id, "-m", &format!("I, {name}")]).succeeds();
    }
    let shown = room.by("dave", ["read"]).succeeds().out;
    let first = if shown.contains("I, alice") { "alice" } else { "bob" };
    let called = shown.split(' ').next().unwrap();
    room.by("dave", ["reply", called, "-m", "you it is"]).succeeds();
    assert_eq!(room.headers(first).len(), 1, "{shown}");
}
