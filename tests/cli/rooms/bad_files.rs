//! Files in an inbox that are no messages: reported by `check`, put aside by `read`, and the rest is shown.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::hand::{BROKEN, by_hand};
use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::until::skip;

/// Plants one of each kind beside a good message, and gives what each is called.
fn planted(room: &TestRoom) -> Vec<&'static str> {
    let inbox = room.folder("bob", "inbox");
    let canary = room.around().join("canary.md");
    std::fs::write(&canary, by_hand(&room.id("alice"), "ffff0000", "canary", "outside of the room")).unwrap();
    symlink(&canary, inbox.join("link.md")).unwrap();
    symlink("/nowhere", inbox.join("dangling.md")).unwrap();
    std::fs::create_dir(inbox.join("directory.md")).unwrap();
    std::fs::set_permissions(inbox.join("directory.md"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    std::fs::hard_link(&canary, inbox.join("hard.md")).unwrap();
    crate::support::hand::tighten(&canary);
    crate::support::hand::age(&canary, 60);
    room.bash(&format!("mkfifo -m 600 '{}'", inbox.join("fifo.md").display())).succeeds();
    room.place("bob", "empty.md", "");
    room.place("bob", "blank.md", "\n \n");
    room.place("bob", "no-field.md", "---\nfrom: a\njust text\n---\n\nx");
    room.place("bob", "unclosed.md", "---\nfrom: a\nmsg_id: abcd0001\n");
    room.place("bob", "nobody.md", "---\nmsg_id: abcd 0002\n---\n\nx");
    room.place("bob", "twice.md", "---\nfrom: a\nfrom: b\nmsg_id: abcd0003\n---\n\nx");
    room.place("bob", "not-utf8.md", b"---\nfrom: a\nmsg_id: abcd0004\n---\n\n\xff\xfe");
    room.place("bob", "nul-field.md", "---\nfrom: a\nmsg_id: a\0b\n---\n\nx");
    let large = room.place("bob", "large.md", by_hand("a", "abcd0005", "large", ""));
    let file = std::fs::File::options().write(true).open(&large).unwrap();
    file.set_len(3 * 1024 * 1024).unwrap();
    crate::support::hand::age(&large, 60);
    vec![
        "blank.md",
        "dangling.md",
        "directory.md",
        "empty.md",
        "fifo.md",
        "hard.md",
        "large.md",
        "link.md",
        "no-field.md",
        "nobody.md",
        "not-utf8.md",
        "nul-field.md",
        "twice.md",
        "unclosed.md",
    ]
}

#[test]
fn check_reports_each_and_lists_the_rest() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let bad = planted(&room);
    let good = room.send("alice", "bob", "good");
    let before = room.tree();
    let ran = room.by("bob", ["check"]).succeeds();
    assert!(ran.out.starts_with(&good) && ran.out.lines().count() == 1, "{}", ran.out);
    for name in &bad {
        assert!(ran.err.contains(&format!("unreadable: {name}: ")), "{name}: {}", ran.err);
    }
    assert_eq!(ran.err.matches("unreadable: ").count(), bad.len(), "{}", ran.err);
    room.is_still(&before, "check leaves everything where it is");
    let told = room.by("bob", ["check", "--json"]).json();
    assert_eq!(told["unreadable"].as_array().unwrap().len(), bad.len(), "{told}");
}

#[test]
fn read_puts_each_aside_and_shows_the_rest() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let bad = planted(&room);
    room.send("alice", "bob", "good");
    let ran = room.by("bob", ["read"]).succeeds();
    assert!(ran.out.contains("\ngood\n") && !ran.out.contains("canary"), "{}", ran.out);
    // What sorts behind the good message is met by the next read.
    let rest = room.by("bob", ["read"]).exits(1);
    for name in &bad {
        assert!(
            [&ran.err, &rest.err].iter().any(|err| err.contains(&format!("quarantine: {name}: "))),
            "{name}: {rest:?}"
        );
    }
    assert_eq!(room.files("bob", "quarantine"), bad);
    assert!(room.files("bob", "inbox").is_empty());
    assert_eq!(room.files("bob", "archive").len(), 1);
    let canary = std::fs::read_to_string(room.around().join("canary.md")).unwrap();
    assert!(canary.ends_with("outside of the room"), "what a link leads to stays as it was");
}

#[test]
fn a_bad_file_alone_does_not_pass_for_an_empty_inbox() {
    let room = TestRoom::with(&["bob"]).leaves_faults();
    room.place("bob", "broken.md", BROKEN);
    let ran = room.by("bob", ["check"]).succeeds();
    insta::assert_snapshot!(mask(&ran.err, &room.root()), @"
    postroom: unreadable: broken.md: the frontmatter is not closed by a line `---`
      postroom --root <room> doctor --fix  # puts it aside
    ");
    assert_eq!(ran.out, "");
}

#[test]
fn a_wait_that_meets_only_a_bad_file_does_not_end_in_silence() {
    let room = TestRoom::with(&["bob"]).leaves_faults();
    room.place("bob", "broken.md", BROKEN);
    let ran = room.by("bob", ["wait", "--timeout", "0"]).exits(1);
    assert!(ran.err.contains("broken.md"), "mail is there that cannot be read: {ran:?}");
}

#[test]
fn a_broken_file_named_by_id_is_said_to_be_in_quarantine() {
    let room = TestRoom::with(&["bob"]).leaves_faults();
    let file = "20260101T000000Z-abcd1111-x.md";
    room.place("bob", file, BROKEN);
    let ran = room.by("bob", ["read", "abcd1111"]).exits(4);
    assert!(ran.err.contains("quarantine") && ran.err.contains("is not closed"), "{}", ran.err);
    assert_eq!(room.files("bob", "quarantine"), [file]);
}

#[test]
fn peeking_at_a_broken_file_leaves_it_where_it_is() {
    let room = TestRoom::with(&["bob"]).leaves_faults();
    room.place("bob", "20260101T000000Z-abcd1111-x.md", BROKEN);
    let before = room.tree();
    for arguments in [vec!["read", "--keep", "abcd1111"], vec!["read", "--keep"]] {
        let ran = room.by("bob", arguments.clone()).ends();
        assert!(ran.code != 0 && ran.err.contains("abcd1111"), "{ran:?}");
        room.is_still(&before, &format!("{arguments:?} only peeks"));
    }
}

#[test]
fn what_may_still_be_growing_is_passed_over() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let path = room.folder("bob", "inbox").join("growing.md");
    std::fs::write(&path, "---\nfrom: ").unwrap();
    let ran = room.by("bob", ["check"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    room.by("bob", ["read"]).exits(1);
    assert_eq!(room.files("bob", "inbox"), ["growing.md"]);
    std::fs::write(&path, by_hand(&room.id("alice"), "abcd1111", "grown", "x")).unwrap();
    assert!(room.by("bob", ["check"]).succeeds().out.contains("alice: grown"));
}

#[test]
fn many_that_grow_do_not_hide_a_message() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    for n in 0..20 {
        std::fs::write(room.folder("bob", "inbox").join(format!("0{n:02}.md")), "---\nfrom: ").unwrap();
    }
    let id = room.send("alice", "bob", "behind them");
    assert!(room.by("bob", ["check"]).succeeds().out.starts_with(&id));
    let ran = room.by("bob", ["read"]).ends();
    assert!(ran.code == 0 && ran.out.contains("behind them"), "{ran:?}");
}

#[test]
fn files_that_are_not_called_md_are_nobody_s_mail() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    for name in ["notes.txt", ".hidden.md", ".md", "x.md.tmp"] {
        room.place("bob", name, by_hand(&room.id("alice"), "abcd1111", "x", "x"));
    }
    room.by("bob", ["check"]).exits(1);
    room.by("bob", ["read"]).exits(1);
    assert_eq!(room.files("bob", "inbox").len(), 4);
}

#[test]
fn planted_links_in_the_mailbox_are_refused() {
    for folder in ["inbox", "tmp", "archive"] {
        let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
        room.send("alice", "bob", "there before");
        let (outside, inside) = (room.around().join("outside"), room.folder("bob", folder));
        std::fs::rename(&inside, &outside).unwrap();
        symlink(&outside, &inside).unwrap();
        let count = |path: &Path| std::fs::read_dir(path).unwrap().count();
        let before = count(&outside);
        for arguments in [vec!["--as", "alice", "send", "bob", "-m", "x"], vec!["--as", "bob", "read"]] {
            let ran = room.run(arguments.clone()).ends();
            if ran.code != 0 {
                assert!(
                    ran.code == 4 && ran.err.contains("is a symbolic link"),
                    "{folder} {arguments:?}: {ran:?}"
                );
            }
        }
        assert_eq!(count(&outside), before, "{folder}: nothing goes through a link");
    }
}

#[test]
fn a_message_of_another_owner_is_not_read() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let path = room.place("bob", "foreign.md", by_hand(&room.id("alice"), "abcd1111", "foreign", "x"));
    if std::os::unix::fs::chown(&path, Some(12345), None).is_err() {
        return skip("a_message_of_another_owner_is_not_read", "only root may give a file away");
    }
    let ran = room.by("bob", ["check"]).ends();
    assert!(ran.err.contains("belongs to another user"), "{ran:?}");
    assert_eq!(ran.out, "");
}
