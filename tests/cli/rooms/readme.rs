//! The `README.md` of a room: what the folders are, and how to take part with `cat` and `mv`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::room::TestRoom;

/// The examples of a page behind a heading: each indented block, as it would be pasted.
fn examples(page: &str, heading: &str) -> Vec<String> {
    let (_, after) = page.split_once(heading).unwrap_or_else(|| panic!("no {heading} in {page}"));
    let mut blocks: Vec<String> = vec![];
    let mut inside = false;
    for line in after.lines() {
        let code = line.strip_prefix("    ");
        match (code, inside) {
            (Some(code), true) => blocks.last_mut().unwrap().push_str(&format!("{code}\n")),
            (Some(code), false) => blocks.push(format!("{code}\n")),
            // A message has an empty line in it, which is part of its block.
            (None, true) if line.is_empty() => blocks.last_mut().unwrap().push('\n'),
            (None, _) => {}
        }
        inside = code.is_some() || inside && line.is_empty();
    }
    blocks
}

#[test]
fn the_examples_of_the_page_work_as_they_stand() {
    let room = TestRoom::with(&["alice", "bob"]);
    let page = fs::read_to_string(room.root().join("README.md")).unwrap();
    let blocks = examples(&page, "## Take part by hand");
    let [find, send, read, archive, answer] = &blocks[..] else { panic!("{blocks:#?}") };
    let follow = |block: &str| {
        let script = format!("{find}{block}");
        room.bash("cd \"$POSTROOM_ROOT\" && exec sh -euc \"$SCRIPT\"").env("SCRIPT", script).succeeds()
    };

    follow(send);
    let check = room.by("bob", ["check"]).succeeds();
    assert!(check.out.ends_with(" alice: lunch\n") && check.err.is_empty(), "nothing to doubt: {check:?}");
    assert_eq!(
        (room.files("bob", "tmp").len(), room.files("bob", "inbox")),
        (0, vec!["lunch.md".to_owned()])
    );

    let shown = follow(read).out;
    assert!(shown.starts_with("lunch.md\n---\nfrom: alice-"), "{shown}");

    follow(archive);
    assert_eq!(room.files("bob", "archive"), ["lunch.md"]);
    room.by("bob", ["check"]).exits(1);

    follow(answer);
    let answer = &room.by("alice", ["read", "--json"]).json()["messages"][0];
    assert_eq!(answer["subject"], "re: lunch");
    let thread = room.by("alice", ["thread", answer["reply_to"].as_str().unwrap()]).succeeds().out;
    assert!(thread.contains("alice → bob: lunch\n  "), "an answer belongs to its question: {thread}");
    room.run(["doctor", "--strict"]).succeeds();
}

#[test]
fn the_page_is_made_with_the_room_and_is_a_persons_from_then_on() {
    let room = TestRoom::empty();
    room.run(["setup", "alice"]).succeeds();
    let page = room.root().join("README.md");
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(fs::read_to_string(&page).unwrap().lines().all(|line| line.chars().count() <= 80));

    fs::write(&page, "mine\n").unwrap();
    room.run(["setup", "bob"]).succeeds();
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine\n");
    fs::set_permissions(&page, PermissionsExt::from_mode(0o644)).unwrap();
    room.run(["doctor", "--strict"]).succeeds();
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o7777, 0o644);
}

#[test]
fn a_room_of_before_gets_the_page_by_the_next_setup() {
    let room = TestRoom::with(&["alice", "bob"]);
    let page = room.root().join("README.md");
    let text = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    for arguments in [["check"], ["names"], ["doctor"]] {
        room.by("alice", arguments).ends();
        assert!(!page.exists(), "{arguments:?} makes it");
    }
    room.run(["setup", "carol"]).succeeds();
    assert_eq!(fs::read_to_string(&page).unwrap(), text);
    // A name that is taken by something else is left as it is.
    fs::remove_file(&page).unwrap();
    fs::create_dir(&page).unwrap();
    room.run(["setup", "dave"]).succeeds();
    fs::remove_dir(&page).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &page).unwrap();
    room.run(["setup", "erin"]).succeeds();
    assert!(fs::symlink_metadata(&page).unwrap().is_symlink());
    assert!(room.run(["doctor"]).exits(4).out.contains("is a symbolic link"));
    fs::remove_file(&page).unwrap();
}

#[test]
fn a_directory_with_a_page_of_its_own_keeps_it() {
    let room = TestRoom::empty();
    fs::create_dir(room.root()).unwrap();
    fs::write(room.root().join("README.md"), "ours\n").unwrap();
    room.run(["setup", "alice"]).succeeds();
    assert_eq!(fs::read_to_string(room.root().join("README.md")).unwrap(), "ours\n");
}

#[test]
fn the_page_is_no_mailbox_and_no_message() {
    let room = TestRoom::with(&["alice"]);
    let names = room.run(["names"]).succeeds();
    assert_eq!(names.out.lines().count(), 1, "{names:?}");
    room.by("alice", ["send", "README.md", "-m", "x"]).exits(3);
    room.run(["--as", "README.md", "check"]).exits(3);
    room.by("alice", ["search", "mailbox"]).exits(1);
    room.run(["doctor", "--strict"]).succeeds();
    // Another room adopts mailboxes, not the page.
    let other = TestRoom::with(&["zoe"]);
    let ran = other.run(["adopt", room.root().to_str().unwrap()]).ends();
    assert!(!ran.out.contains("README") && !ran.err.contains("README"), "{ran:?}");
}
