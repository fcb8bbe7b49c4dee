//! Mailboxes that lie elsewhere (docs/reference/format.md §9 to §12): what broke once.

use std::path::Path;

use crate::support::hand::age;
use crate::support::room::TestRoom;
use crate::support::taken::claim;

/// A room with alice, carol in a workspace, and explore in a tree.
fn room() -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    for directory in ["web", "site"] {
        std::fs::create_dir(room.around().join(directory)).unwrap();
    }
    room.run(["setup", "carol", "--workspace"]).arg(room.around().join("web")).succeeds();
    room.run(["setup", "explore", "--tree"]).arg(room.around().join("site")).succeeds();
    room
}

fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    age(path, 60);
}

#[test]
fn a_claim_in_a_workspace_that_lost_its_terms_gives_its_message_back() {
    let room = room();
    let id = room.send("alice", "carol", "build it");
    let token = claim(&room, "carol", &[]);
    let own = room.around().join("web/.mailbox/claimed").join(token);
    std::fs::remove_file(own.join("claim.json")).unwrap();
    assert!(room.by("carol", ["check"]).succeeds().out.starts_with(&id[..8]));
    assert!(!own.exists());
}

#[test]
fn the_terms_of_a_claim_in_a_workspace_are_no_message() {
    let room = room();
    room.send("alice", "carol", "build it");
    let token = claim(&room, "carol", &[]);
    age(&room.around().join("web/.mailbox/claimed").join(token).join("claim.json"), 60);
    assert_eq!(room.run(["doctor", "--strict"]).succeeds().out, "");
}

#[test]
fn a_sender_that_is_a_name_is_known_when_its_mail_is_carried_over() {
    let room = room();
    let text =
        "---\nfrom: alice\nmsg_id: 4567abcd-0000-4000-8000-000000000000\nsubject: by hand\n---\n\nhello\n";
    room.place("carol", "hand.md", text);
    assert!(room.by("carol", ["check"]).succeeds().out.ends_with(" alice: by hand\n"));
    room.by("carol", ["reply", "4567abcd", "-m", "hello too"]).succeeds();
    assert!(room.by("alice", ["check"]).succeeds().out.contains("carol re=4567abcd: re: by hand"));
}

#[test]
fn a_fault_in_a_tree_names_its_file_once() {
    let room = room().leaves_faults();
    let inbox = room.around().join("site/.claude/inboxes/explore");
    put(
        &inbox.join("bad.md"),
        "---\nid: 1\nfrom: a\nto: b\nstatus: odd\ncreated: 2026-01-01T00:00:00Z\n---\n",
    );
    let told = room.run(["tree", "status", "--tree"]).arg(room.around().join("site")).exits(4).err;
    let found = room.run(["doctor"]).succeeds().out;
    for text in [told, found] {
        assert_eq!(text.matches("bad.md").count(), 1, "{text}");
        assert!(text.contains("bad.md: line 5: `status`: not one of"), "{text}");
    }
}

#[test]
fn a_response_answers_the_request_that_its_name_says() {
    let room = room();
    room.send("alice", "explore", "find it");
    let site = room.around().join("site/.claude");
    let request = std::fs::read_dir(site.join("inboxes/explore")).unwrap().next().unwrap().unwrap();
    let id = request.file_name().into_string().unwrap().replace(".md", "");
    let text = "---\nid: r\nfrom: explore\nto: alice\nstatus: completed\ncreated: 2026-01-01T00:00:00Z\n---\n\nhere\n";
    put(&site.join(format!("outboxes/explore/{id}-response.md")), text);
    assert_eq!(room.run(["doctor", "--strict"]).succeeds().out, "");
    assert!(room.by("alice", ["check"]).succeeds().out.ends_with(": re: find it\n"));
}

#[test]
fn a_thread_is_found_by_what_check_calls_its_message() {
    let room = room();
    let inbox = room.around().join("web/.mailbox/inbox");
    let request = "0123456789abcdef0123456789abcdef";
    let text = format!(
        "---\nREQUEST_ID: {request}\nMESSAGE_TYPE: REPLY\nRECEIVER_INBOX_PATH: {}/{request}\n---\n\nmain\n",
        inbox.display()
    );
    put(&inbox.join(request), &text);
    assert!(room.by("carol", ["check"]).succeeds().out.starts_with("01234567 "));
    assert!(room.by("carol", ["thread", "01234567"]).succeeds().out.ends_with("carol: main\n"));
}

#[test]
fn a_task_that_was_filed_by_hand_is_not_called_by_the_digits_of_its_day() {
    let room = room();
    let inbox = room.around().join("site/.claude/inboxes/explore");
    let text = |id: u32| {
        format!(
            "---\nid: 2026-01-01-00{id}\nrequest_id: 2025-12-31-001\nfrom: user\nto: explore\nstatus: pending\ncreated: 2026-01-01T00:00:00Z\n---\n\nhello\n"
        )
    };
    put(&inbox.join("2026-01-01-001.md"), &text(1));
    put(&inbox.join("2026-01-01-002.md"), &text(2));
    let out = room.by("explore", ["check"]).succeeds().out;
    assert_eq!(out.matches("re=2025-12-31-001@user").count(), 2, "{out}");
    let out = room.by("explore", ["thread", "2026-01-01-002"]).succeeds().out;
    assert!(out.starts_with("2026-01-01-002@explore "), "{out}");
}
