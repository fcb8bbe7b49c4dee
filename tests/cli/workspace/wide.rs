//! What a workspace reads beyond what it writes: ids, names, paths and forms that the seeds show and hands write.

use crate::support::kinds_room::{REQUEST, request, two_workspaces};

#[test]
fn an_id_that_is_not_hex_is_kept_through_the_exchange() {
    let room = two_workspaces();
    let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    let id = "build-7.b_X";
    inbox.put(id, request("NEW", id, &inbox.0.join(id), &back.0.join(id), "q\n"));
    assert!(room.by("carol", ["check"]).succeeds().out.starts_with("build-7.b_X "));
    room.by("carol", ["reply", "buil", "-m", "a"]).succeeds();
    assert_eq!((back.only(), back.field("REQUEST_ID")), (id.to_owned(), id.to_owned()));
    assert!(inbox.files().is_empty());
    assert_eq!(room.header("dave")["reply_to"], id);
}

#[test]
fn a_path_that_names_the_inbox_means_the_request_in_it() {
    let room = two_workspaces();
    let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    inbox.put(REQUEST, request("NEW", REQUEST, &inbox.0, &back.0, "q\n"));
    assert_eq!(room.header("carol")["from"]["name"], "dave");
    room.by("carol", ["reply", REQUEST, "-m", "a"]).succeeds();
    assert_eq!(back.only(), REQUEST);
    // The same for an inbox that the room does not know.
    let strange = room.around().join("strange/.mailbox/inbox");
    std::fs::create_dir_all(&strange).unwrap();
    inbox.put(REQUEST, request("NEW", REQUEST, &inbox.0, &strange, "q\n"));
    room.by("carol", ["reply", REQUEST, "-m", "a"]).succeeds();
    assert!(strange.join(REQUEST).is_file());
}

#[test]
fn a_file_with_an_extension_is_read_and_removed_by_its_own_name() {
    let room = two_workspaces();
    let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    let file = format!("{REQUEST}.md");
    inbox.put(&file, request("NEW", REQUEST, &inbox.0.join(&file), &back.0.join(&file), "q\n"));
    assert!(room.by("carol", ["check"]).succeeds().out.starts_with(&file));
    assert!(room.by("carol", ["reply", &file, "-m", "a"]).succeeds().out.contains(" for dave: "));
    assert!(inbox.files().is_empty());
    assert_eq!(back.only(), file, "the reply is delivered as the file that was asked for");
}

#[test]
fn any_order_line_ends_and_a_mark_and_no_blank_line() {
    let room = two_workspaces();
    let (inbox, back) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    let whole = request("NEW", "plain1", &inbox.0.join("plain1"), &back.0.join("plain1"), "body\n");
    let lines: Vec<&str> = whole.lines().collect();
    let turned: Vec<&str> = lines[1..5].iter().rev().copied().collect();
    let turned = format!("---\n{}\nnote: re: x #12\n---\n\nbody\n", turned.join("\n"));
    for (name, text) in [
        ("plain1", turned.clone()),
        ("plain2", whole.replace("plain1", "plain2").replace('\n', "\r\n")),
        ("plain3", format!("\u{feff}{}", whole.replace("plain1", "plain3"))),
        ("plain4", whole.replace("plain1", "plain4").replace("---\n\nbody", "---\nbody")),
    ] {
        inbox.put(name, text);
        let read = room.by("carol", ["read", name, "--json"]).json();
        let message = &read["messages"][0];
        assert_eq!(message["body"].as_str().unwrap().trim_end(), "body", "{name}");
        assert_eq!(message["from"]["name"], "dave", "{name}");
        room.by("carol", ["reply", name, "-m", "a"]).succeeds();
        assert!(back.files().contains(&name.to_owned()), "{name}");
    }
    let kept = room.of_workspace("carol", "archive").text("plain1");
    assert_eq!(kept, turned, "a field of others is kept as it stands");
    let answer = back.text("plain1");
    assert!(!answer.contains("note:"), "and is not echoed: {answer}");
}

#[test]
fn without_a_reply_path_no_reply_is_wanted() {
    let room = two_workspaces();
    let inbox = room.of_workspace("carol", "inbox");
    let text = request("NEW", REQUEST, &inbox.0.join(REQUEST), &inbox.0, "only so you know\n");
    let text: String =
        text.lines().filter(|l| !l.starts_with("REPLY_INBOX_PATH")).map(|l| format!("{l}\n")).collect();
    let path = inbox.put(REQUEST, &text);
    let ran = room.by("carol", ["reply", REQUEST, "-m", "a"]).exits(4);
    assert!(ran.err.contains(&path.display().to_string()), "{}", ran.err);
    assert!(ran.err.contains("`REPLY_INBOX_PATH`: it is missing, so no reply is wanted"), "{}", ran.err);
    assert_eq!(inbox.text(REQUEST), text, "the message stays as it was");
    let read = room.by("carol", ["read"]).succeeds().out;
    assert!(!read.contains("it stays in the inbox"), "{read}");
    assert_eq!(room.of_workspace("carol", "archive").only(), REQUEST, "it needs no reply, so it is done");
}

#[test]
fn a_reply_with_copied_paths_comes_from_its_receiver() {
    let room = two_workspaces();
    room.send("dave", "carol", "question");
    let (carol, dave) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    let id = carol.only();
    // As the seed also shows it: both paths as they stand in the request.
    dave.put(&id, request("REPLY", &id, &carol.0.join(&id), &dave.0.join(&id), "copied\n"));
    let header = room.header("dave");
    assert_eq!(
        (header["from"]["name"].as_str(), header["subject"].as_str()),
        (Some("carol"), Some("re: question"))
    );
    std::fs::remove_file(carol.0.join(&id)).unwrap();
    // Another round goes to whom it came from, not to oneself.
    room.by("dave", ["reply", &id, "-m", "once more"]).succeeds();
    assert_eq!(carol.field("MESSAGE_TYPE"), "REPLY");
    assert_eq!(carol.field("RECEIVER_INBOX_PATH"), carol.0.join(&id).display().to_string());
    assert!(dave.files().is_empty());
}

#[test]
fn a_reply_without_words_means_superseded() {
    let room = two_workspaces();
    let (carol, dave) = (room.of_workspace("carol", "inbox"), room.of_workspace("dave", "inbox"));
    for (name, body) in [("old1", "\"\"\n"), ("old2", ""), ("old3", " \n\"\" \n"), ("new4", "words\n")] {
        dave.put(name, request("REPLY", name, &dave.0.join(name), &carol.0.join(name), body));
    }
    let out = room.by("dave", ["check"]).succeeds().out;
    let marked: Vec<_> = out.lines().filter(|l| l.contains(" superseded: ")).map(|l| &l[..4]).collect();
    assert_eq!(marked, ["old1", "old2", "old3"], "{out}");
    assert_eq!(out.lines().count(), 4, "{out}");
}

#[test]
fn all_three_kinds_of_frontmatter_are_read_in_a_workspace() {
    let room = two_workspaces();
    room.run(["setup", "-q", "alice"]).succeeds();
    let inbox = room.of_workspace("carol", "inbox");
    inbox.put("hand1.md", crate::support::hand::by_hand(&room.id("alice"), "abcd1111", "a handoff", "one\n"));
    inbox.put("hand2.md", crate::support::kinds_room::task("2026-01-01-001", "alice", "carol", "two\n"));
    inbox.put(
        REQUEST,
        request(
            "NEW",
            REQUEST,
            &inbox.0.join(REQUEST),
            &room.of_workspace("dave", "inbox").0.join(REQUEST),
            "three\n",
        ),
    );
    let headers = room.headers("carol");
    let mut seen: Vec<_> = headers
        .iter()
        .map(|h| {
            (
                h["protocol"].as_str().unwrap(),
                h["from"]["name"].as_str().unwrap(),
                h["subject"].as_str().unwrap(),
            )
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [("maildir", "alice", "a handoff"), ("tree", "alice", "two"), ("workspace", "dave", "three")]
    );
    room.by("carol", ["reply", "hand1.md", "-m", "answer"]).succeeds();
    room.by("carol", ["reply", "hand2.md", "-m", "answer"]).succeeds();
    let mut answers: Vec<_> =
        room.headers("alice").iter().map(|h| h["reply_to"].as_str().unwrap().to_owned()).collect();
    answers.sort();
    assert_eq!(answers, ["2026-01-01-001@carol", "abcd1111"]);
    assert_eq!(inbox.only(), REQUEST, "what was answered is gone");
}
