//! `send --attach`: the file is beside the message before the message is there, in every protocol.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::protocols::conformance::{Kind, Way, claim, for_each_way, read};
use crate::support::room::TestRoom;

for_each_way!(
    sent_read_and_answered,
    claimed_and_done,
    a_retry_copies_nothing_twice,
    a_retry_with_another_file_is_refused,
    a_copy_that_was_left_by_an_interrupted_send_is_replaced,
);

pub(super) const ID: &str = "abcd1234-0000-4000-8000-000000000000";

/// A file of the sender.
pub(super) fn file(room: &TestRoom, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = room.around().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What is in the folder `attachments/` of a mailbox: `<message>/<name>`, sorted.
pub(super) fn attached(room: &TestRoom, name: &str) -> Vec<String> {
    let messages = room.files(name, "attachments");
    let inside = |id: &String| {
        let names = room.files(name, &format!("attachments/{id}"));
        names.into_iter().map(|name| format!("{id}/{name}")).collect::<Vec<_>>()
    };
    messages.iter().flat_map(inside).collect()
}

/// Insists that a message that is shown has this one attachment, and gives its path.
#[track_caller]
fn has(message: &Value, name: &str, bytes: &[u8]) -> PathBuf {
    let all = message["attachments"].as_array().unwrap_or_else(|| panic!("{message}"));
    let [one] = all.as_slice() else { panic!("{message}") };
    assert_eq!(
        (&one["name"], &one["size"], &one["state"]),
        (&name.into(), &bytes.len().into(), &"here".into()),
        "{message}"
    );
    assert!(message["extra"].as_object().unwrap().keys().all(|key| !key.starts_with("attach")), "{message}");
    let path = PathBuf::from(one["path"].as_str().unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    path
}

/// No file of a sender has come to a place of another protocol.
#[track_caller]
fn nothing_else(room: &TestRoom, bytes: &str, copies: usize) {
    let found = crate::support::picture::tree(room.around());
    let found = found.iter().filter(|(path, text)| path.contains('/') && text.contains(bytes));
    let found: Vec<_> = found.map(|(path, _)| path).collect();
    assert!(found.len() == copies && found.iter().all(|path| path.contains("/attachments/")), "{found:?}");
}

fn sent_read_and_answered(way: Way) {
    let room = way.room();
    let (asked, answered) = (file(&room, "plan.md", "step one\n"), file(&room, "out.bin", b"\0\xffresult"));
    std::fs::set_permissions(&asked, std::fs::Permissions::from_mode(0o755)).unwrap();
    room.by(way.asker(), ["send", way.worker(), "-m", "see the plan", "--id", ID, "--attach", &asked])
        .succeeds();
    let checked = room.by(way.worker(), ["check"]).succeeds().out;
    assert!(checked.contains(" attached=plan.md: see the plan\n"), "{checked}");
    assert_eq!(room.header(way.worker())["attachments"][0]["name"], "plan.md");
    nothing_else(&room, "step one", 1);
    let shown = room.by(way.worker(), ["read", "--keep"]).succeeds().out;
    let path = room.folder(way.worker(), "attachments").join(ID).join("plan.md");
    let line = format!("\nattachment: plan.md 9 bytes {}\n", path.display());
    assert!(shown.contains(&line) && !shown.contains("attach-1"), "{shown}");
    let message = read(&room, way.worker());
    assert_eq!(has(&message, "plan.md", b"step one\n"), path);

    let reference = message["file"].as_str().unwrap();
    room.by(way.worker(), ["reply", reference, "-m", "done", "--attach", &answered]).succeeds();
    let answer = read(&room, way.asker());
    let path = has(&answer, "out.bin", b"\0\xffresult");
    assert!(path.starts_with(room.folder(way.asker(), "attachments")), "{path:?}");
    assert_eq!(attached(&room, way.worker()).len(), if way.works == Kind::Tree { 2 } else { 1 });
}

fn claimed_and_done(way: Way) {
    let room = way.room();
    let (asked, answered) = (file(&room, "a.txt", "question"), file(&room, "b.txt", "answer"));
    room.by(way.asker(), ["send", way.worker(), "-m", "q", "--attach", &asked]).succeeds();
    let claimed = room.by(way.worker(), ["claim", "--json"]).json();
    has(&claimed["messages"][0], "a.txt", b"question");
    let token = claimed["claim"]["token"].as_str().unwrap();
    room.by(way.worker(), ["done", token, "--attach", &answered]).exits(2);
    room.by(way.worker(), ["done", token, "-m", "a", "--attach", &answered]).succeeds();
    has(&read(&room, way.asker()), "b.txt", b"answer");
}

/// The file of the only attachment.
#[track_caller]
fn only(room: &TestRoom, name: &str) -> PathBuf {
    let all = attached(room, name);
    assert_eq!(all.len(), 1, "{all:?}");
    room.folder(name, "attachments").join(&all[0])
}

fn a_retry_copies_nothing_twice(way: Way) {
    let room = way.room();
    let path = file(&room, "a.txt", "one");
    let send = ["send", way.worker(), "-m", "x", "--id", ID, "--attach", &path];
    room.by(way.asker(), send).succeeds();
    let inode = only(&room, way.worker()).metadata().unwrap().ino();
    assert!(room.by(way.asker(), send).succeeds().out.starts_with("sent before"));
    assert_eq!(only(&room, way.worker()).metadata().unwrap().ino(), inode);
    assert_eq!(room.headers(way.worker()).len(), 1);
}

fn a_retry_with_another_file_is_refused(way: Way) {
    let room = way.room();
    let path = file(&room, "a.txt", "one");
    room.by(way.asker(), ["send", way.worker(), "-m", "x", "--id", ID, "--attach", &path]).succeeds();
    for (name, bytes) in [("a.txt", "two"), ("b.txt", "one")] {
        let path = file(&room, name, bytes);
        room.by(way.asker(), ["send", way.worker(), "-m", "x", "--id", ID, "--attach", &path]).exits(4);
    }
    assert_eq!(std::fs::read_to_string(only(&room, way.worker())).unwrap(), "one");
    has(&read(&room, way.worker()), "a.txt", b"one");
}

fn a_copy_that_was_left_by_an_interrupted_send_is_replaced(way: Way) {
    let room = way.room();
    let left = room.folder(way.worker(), "attachments").join(ID);
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("a.txt"), "an older text").unwrap();
    room.bash("chmod -R go= \"$POSTROOM_ROOT\"").succeeds();
    let path = file(&room, "a.txt", "one");
    room.by(way.asker(), ["send", way.worker(), "-m", "x", "--id", ID, "--attach", &path]).succeeds();
    has(&read(&room, way.worker()), "a.txt", b"one");
}

#[test]
fn several_files_and_hostile_names() {
    let room = TestRoom::with(&["alice", "bob"]);
    let inside = room.around().join("in");
    std::fs::create_dir(&inside).unwrap();
    let names = [".env", "-rf", "$(id) `x`;.txt", "two\nlines", "same.txt"];
    let mut send = room.by("alice", ["send", "bob", "-m", "x"]);
    for name in names {
        std::fs::write(inside.join(name), name).unwrap();
        send = send.arg("--attach").arg(inside.join(name));
    }
    let again = file(&room, "same.txt", "another");
    send.arg("--attach").arg(&again).succeeds();
    let message = read(&room, "bob");
    let all = message["attachments"].as_array().unwrap();
    let shown: Vec<_> = all.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(shown, ["_env", "_rf", "_id_x_.txt", "two_lines", "same.txt", "same-2.txt"]);
    for (one, bytes) in all.iter().zip(names.into_iter().chain(["another"])) {
        assert_eq!(std::fs::read_to_string(one["path"].as_str().unwrap()).unwrap(), bytes);
    }
}

#[test]
fn what_cannot_be_attached_is_refused_and_leaves_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.limit("attachment_bytes = 10\nattachments = 2");
    let (small, large) = (file(&room, "small", "0123456789"), file(&room, "large", "0123456789a"));
    let secret = file(&room, "s", "AKIA");
    let fifo = room.around().join("fifo").display().to_string();
    room.bash(&format!("mkfifo {fifo}")).succeeds();
    let directory = room.around().display().to_string();
    let missing = room.around().join("missing").display().to_string();
    for (path, why) in [
        (&large, "over the limit of 10"),
        (&fifo, "a FIFO, not a regular file"),
        (&directory, "a directory, not a regular file"),
        (&missing, "No such file"),
        (&"/dev/zero".to_owned(), "not a regular file"),
        (&"/proc/self/status".to_owned(), "over the limit of 10"),
    ] {
        let ran = room.by("alice", ["send", "bob", "-m", "x", "--attach", path]).exits(4);
        assert!(ran.err.contains(why), "{ran:?}");
    }
    let three = ["send", "bob", "-m", "x", "--attach", &small, "--attach", &small, "--attach", &small];
    assert!(room.by("alice", three).exits(4).err.contains("at most 2"));
    assert_eq!((room.files("bob", "inbox").len(), attached(&room, "bob").len()), (0, 0));
    assert!(!room.folder("bob", "attachments").exists());
    room.by("alice", ["send", "bob", "-m", "x", "--attach", &small, "--attach", &secret]).succeeds();
}

#[test]
fn a_secret_in_a_text_is_refused() {
    let room = TestRoom::with(&["alice", "bob"]);
    let key = format!("AKIA{}", "ABCDEFGH12345678");
    let text = file(&room, "notes.txt", format!("one\nkey = {key}\n"));
    let ran = room.by("alice", ["send", "bob", "-m", "x", "--attach", &text]).exits(4);
    assert!(ran.err.contains("line 2 of notes.txt looks like an AWS access key"), "{ran:?}");
    assert!(attached(&room, "bob").is_empty());
    room.by("alice", ["send", "bob", "-m", "x", "--attach", &text, "--allow-secrets"]).succeeds();
}

#[test]
fn each_recipient_has_a_copy_and_a_failed_delivery_leaves_none() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let path = file(&room, "a.txt", "one");
    room.block("carol");
    room.by("alice", ["send", "bob", "carol", "-m", "x", "--id", ID, "--attach", &path]).ends();
    assert_eq!(attached(&room, "bob"), [format!("{ID}/a.txt")]);
    assert_eq!(attached(&room, "carol"), Vec::<String>::new());
    assert!(!room.folder("carol", "attachments").join(ID).exists());
    room.unblock("carol");
    room.run(["doctor", "--fix"]).succeeds();
    room.by("alice", ["send", "bob", "carol", "-m", "x", "--id", ID, "--attach", &path]).succeeds();
    for name in ["bob", "carol"] {
        has(&read(&room, name), "a.txt", b"one");
    }
    let inode = |name| only(&room, name).metadata().unwrap().ino();
    assert_ne!(inode("bob"), inode("carol"));
}

#[test]
fn a_field_by_hand_is_only_text() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let path = file(&room, "abc", "abc");
    for value in [format!("{path} {sha} 3"), format!("../../../abc {sha} 3"), format!("abc {sha} 3")] {
        room.by("alice", ["send", "bob", "-m", "x", "--field", &format!("attach-1={value}")]).succeeds();
        let read = room.by("bob", ["read"]).succeeds().out;
        let shown = if value.starts_with("abc") {
            "attachment: abc 3 bytes missing\n".to_owned()
        } else {
            format!("field attach-1: {value}\n")
        };
        assert!(read.contains(&shown), "{read}");
    }
    // An id that is no path component names no directory.
    let text = format!("---\nfrom: alice\nmsg_id: ../x\nattach-1: abc {sha} 3\n---\n\nx\n");
    std::fs::create_dir_all(room.folder("bob", "attachments")).unwrap();
    std::fs::create_dir(room.folder("bob", "x")).unwrap();
    std::fs::write(room.folder("bob", "x").join("abc"), "abc").unwrap();
    room.place("bob", "hand.md", text);
    assert!(room.by("bob", ["read"]).succeeds().out.contains("attachment: abc 3 bytes missing\n"));
}

#[test]
fn what_became_of_the_file_is_shown() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    let path = file(&room, "a.txt", "x".repeat(1234));
    room.by("alice", ["send", "bob", "-m", "x", "--id", ID, "--attach", &path]).succeeds();
    let own = only(&room, "bob");
    let shown = |what: &str| {
        let read = room.by("bob", ["read", ID]).succeeds().out;
        assert!(read.contains(&format!("attachment: a.txt 1,234 bytes {what}\n")), "{read}");
        room.by("bob", ["read", ID, "--json"]).json()["messages"][0]["attachments"][0].clone()
    };
    assert_eq!(shown(own.to_str().unwrap())["path"], own.to_str().unwrap());
    std::fs::write(&own, "y".repeat(1234)).unwrap();
    assert_eq!(shown("changed")["state"], "changed");
    std::fs::remove_file(&own).unwrap();
    std::os::unix::fs::symlink(&path, &own).unwrap();
    assert_eq!(shown("changed")["path"], Value::Null);
    std::fs::remove_file(&own).unwrap();
    assert_eq!(shown("missing")["state"], "missing");
}

#[test]
fn to_another_room_and_back() {
    let room = TestRoom::empty();
    let run = |to: &str, by: &str, more: &[&str]| {
        let words = ["--room", to, "--as", by].into_iter().chain(more.iter().copied());
        room.bare(words.collect::<Vec<_>>())
    };
    for (place, name) in [("one", "alice"), ("two", "bob")] {
        room.bare(["--room", place, "setup", "-q", name]).succeeds();
    }
    let (asked, answered) = (file(&room, "a.txt", "question"), file(&room, "b.txt", "answer"));
    run("one", "alice", &["send", "bob@two", "-m", "x", "--attach", &asked]).succeeds();
    let message = run("two", "bob", &["read", "--json"]).json()["messages"][0].clone();
    assert!(has(&message, "a.txt", b"question").to_str().unwrap().contains("/rooms/two/bob-"));
    let id = message["id"].as_str().unwrap();
    run("two", "bob", &["reply", id, "-m", "y", "--attach", &answered]).succeeds();
    let answer = run("one", "alice", &["read", "--json"]).json()["messages"][0].clone();
    assert!(has(&answer, "b.txt", b"answer").to_str().unwrap().contains("/rooms/one/alice-"));
    for place in ["one", "two"] {
        room.bare(["--room", place, "doctor", "--strict"]).succeeds();
    }
}

#[test]
fn an_inbox_that_the_room_does_not_know_gets_no_attachment() {
    let room = TestRoom::with(&["bob"]);
    let inbox = room.around().join("web/.mailbox/inbox");
    std::fs::create_dir_all(&inbox).unwrap();
    let own = room.folder("bob", ".mailbox/inbox");
    let name = crate::support::kinds_room::REQUEST;
    let text = crate::support::kinds_room::request("NEW", name, &own.join(name), &inbox.join(name), "x\n");
    crate::support::kinds_room::Folder(own).put(name, text);
    room.bash("chmod -R go= \"$POSTROOM_ROOT\"").succeeds();
    let path = file(&room, "a.txt", "one");
    let reference = crate::protocols::conformance::reference(&room.header("bob"));
    let ran = room.by("bob", ["reply", &reference, "-m", "y", "--attach", &path]).exits(4);
    assert!(ran.err.contains("no mailbox in this room"), "{ran:?}");
    assert_eq!(Path::new(&inbox).read_dir().unwrap().count(), 0);
    room.by("bob", ["reply", &reference, "-m", "y"]).succeeds();
}

#[test]
fn an_answer_with_a_claim_in_a_tree_keeps_its_file_until_its_asker_can_be_reached() {
    let way = Way { asks: Kind::Maildir, works: Kind::Tree };
    let room = way.room();
    room.send("alice", "writer", "q");
    let path = file(&room, "a.txt", "answer");
    let token = claim(&room, "writer", &[]);
    room.block("alice");
    room.by("writer", ["done", &token, "-m", "a", "--attach", &path]).exits(4);
    std::fs::remove_file(&path).unwrap();
    room.unblock("alice");
    room.run(["doctor", "--fix"]).succeeds();
    room.by("writer", ["done", &token]).succeeds();
    has(&read(&room, "alice"), "a.txt", b"answer");
}
