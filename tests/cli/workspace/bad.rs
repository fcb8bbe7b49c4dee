//! Bad input in a workspace: each error names file, line and field, the message stays where it was, and the draft of
//! a reply that was refused stays in scratch.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::kinds_room::{Folder, REQUEST, request};
use crate::support::room::{Ran, TestRoom};
use crate::support::until::skip;

fn room() -> TestRoom {
    let room = TestRoom::empty();
    room.workspace("carol");
    room
}

fn inbox(room: &TestRoom) -> Folder {
    room.of_workspace("carol", "inbox")
}

/// Places a request whose reply is to go to `reply`, and tries to answer it.
#[track_caller]
fn refused(room: &TestRoom, reply: &Path, why: &str) -> Ran {
    let text = request("NEW", REQUEST, &inbox(room).0.join(REQUEST), reply, "question\n");
    let path = inbox(room).put(REQUEST, &text);
    let ran = room.by("carol", ["reply", REQUEST, "-m", "the draft\n"]).exits(4);
    let place = format!("{}, line 5: `REPLY_INBOX_PATH`: {}: ", path.display(), reply.display());
    assert!(ran.err.contains(&place) && ran.err.contains(why), "{why}: {}", ran.err);
    assert_eq!(ran.out, "", "{why}");
    assert_eq!(inbox(room).text(REQUEST), text, "{why}: the message stays");
    let scratch = room.of_workspace("carol", "scratch");
    assert!(scratch.text(REQUEST).ends_with("---\n\nthe draft\n"), "{why}: the draft stays");
    std::fs::remove_file(scratch.0.join(REQUEST)).unwrap();
    ran
}

/// An inbox that a reply could go to.
fn strange(room: &TestRoom) -> PathBuf {
    let dir = room.around().join("strange/.mailbox/inbox");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn a_path_outside_an_inbox_is_refused() {
    let room = room();
    let dir = strange(&room);
    for path in [
        room.around().join("strange/notes.md"),
        room.around().join("strange/.mailbox/scratch/x"),
        room.around().join("strange/.mailbox/x"),
        dir.join("deeper/x"),
        PathBuf::from("/etc/passwd"),
        PathBuf::from("/inbox/x"),
        room.root().join("registry.json"),
    ] {
        refused(&room, &path, "it is in no inbox of a .mailbox");
    }
    assert!(Folder(dir).files().is_empty());
}

#[test]
fn a_path_that_is_not_whole_or_goes_up_is_refused() {
    let room = room();
    let dir = strange(&room);
    for path in [
        dir.join("../inbox/x"),
        dir.join("x/.."),
        dir.join("./x"),
        PathBuf::from("strange/.mailbox/inbox/x"),
        PathBuf::from("~/.mailbox/inbox/x"),
    ] {
        refused(&room, &path, "it is not an absolute path without `.` and `..`");
    }
    for name in [".hidden", "-rf", "a b", "x\\y"] {
        refused(&room, &dir.join(name), "its last part: ");
    }
    assert!(Folder(dir).files().is_empty());
}

#[test]
fn a_link_anywhere_is_refused_and_named() {
    let room = room();
    let dir = strange(&room);
    // On the way, as the inbox itself, and as the file.
    symlink(room.around().join("strange"), room.around().join("link")).unwrap();
    let inside = room.around().join("link/.mailbox/inbox");
    refused(
        &room,
        &inside.join("x"),
        &format!("{} is a symbolic link", room.around().join("link").display()),
    );
    let other = room.around().join("other/.mailbox");
    std::fs::create_dir_all(&other).unwrap();
    symlink(&dir, other.join("inbox")).unwrap();
    let last = other.join("inbox");
    refused(&room, &last.join("x"), &format!("{} is a symbolic link", last.display()));
    symlink(room.around().join("secret"), dir.join("x")).unwrap();
    refused(&room, &dir.join("x"), "it is a symbolic link");
    assert_eq!(Folder(dir).files(), ["x"], "nothing lies beside the link either");
    assert!(!room.around().join("secret").exists());
}

#[test]
fn a_missing_directory_is_refused_and_not_made() {
    let room = room();
    let gone = room.around().join("gone/.mailbox/inbox");
    refused(&room, &gone.join("x"), "there is no such directory");
    assert!(!room.around().join("gone").exists());
    // A file where a directory belongs.
    std::fs::create_dir_all(room.around().join("odd/.mailbox")).unwrap();
    std::fs::write(room.around().join("odd/.mailbox/inbox"), "").unwrap();
    refused(&room, &room.around().join("odd/.mailbox/inbox/x"), "not a directory");
}

#[test]
fn the_directory_of_another_user_is_refused() {
    let room = room();
    let dir = strange(&room);
    if std::os::unix::fs::chown(&dir, Some(12_345), None).is_err() {
        return skip("the_directory_of_another_user_is_refused", "only root can give a directory away");
    }
    refused(&room, &dir.join("x"), "belongs to another user (uid 12345)");
    assert!(Folder(dir).files().is_empty());
}

#[test]
fn reply_destinations_allows_a_directory_and_only_that_one() {
    let room = room();
    let spool = room.around().join("spool");
    std::fs::create_dir_all(spool.join("deeper")).unwrap();
    refused(&room, &spool.join("x"), "of `reply_destinations`");
    let settings = room.root().join("postroom.toml");
    std::fs::write(&settings, format!("reply_destinations = [\"{}\"]\n", spool.display())).unwrap();
    crate::support::hand::tighten(&settings);
    refused(&room, &spool.join("deeper/x"), "it is in no inbox");
    refused(&room, &room.around().join("spool2/x"), "it is in no inbox");
    symlink(room.around().join("secret"), spool.join("y")).unwrap();
    refused(&room, &spool.join("y"), "it is a symbolic link");
    // The last one is answered once it names what is allowed: as a file, and by the directory alone.
    for (path, name) in [(spool.join("x"), "x"), (spool.clone(), REQUEST)] {
        let text = request("NEW", REQUEST, &inbox(&room).0.join(REQUEST), &path, "question\n");
        inbox(&room).put(REQUEST, text);
        let told = room.by("carol", ["reply", REQUEST, "-m", "answer", "--json"]).succeeds().out;
        let to = &serde_json::from_str::<serde_json::Value>(&told).unwrap()["receipts"][0]["to"];
        assert_eq!(*to, serde_json::json!({"name": path}), "a file is no mailbox");
        assert!(spool.join(name).is_file(), "{name}");
    }
    assert!(inbox(&room).files().is_empty());
}

#[test]
fn what_cannot_be_parsed_is_reported_with_file_line_and_field_and_left_alone() {
    let room = room().leaves_faults();
    let good = request("NEW", "good", &inbox(&room).0.join("good"), &strange(&room).join("good"), "fine\n");
    let bad = |name: &str, from: &str, to: &str| good.replace("good", name).replace(from, to);
    let files = [
        (
            "bad1",
            bad("bad1", "MESSAGE_TYPE: NEW", "MESSAGE_TYPE: reply"),
            "line 3: `MESSAGE_TYPE`: not NEW or REPLY",
        ),
        ("bad2", bad("bad2", "MESSAGE_TYPE: NEW\n", ""), "the field `MESSAGE_TYPE` is missing"),
        (
            "bad3",
            bad("bad3", "REQUEST_ID: bad3\n", "REQUEST_ID: bad3\nRequest_Id: other\n"),
            "line 3: the field `REQUEST_ID` is there twice",
        ),
        (
            "bad4",
            bad("bad4", "RECEIVER_INBOX_PATH", "RECEIVER"),
            "the field `RECEIVER_INBOX_PATH` is missing",
        ),
        (
            "bad5",
            bad("bad5", "MESSAGE_TYPE: NEW\n", "MESSAGE_TYPE: NEW\nMESSAGE_TYPE: NEW\n"),
            "line 4: the field `MESSAGE_TYPE` is there twice",
        ),
        ("bad6", bad("bad6", "REQUEST_ID: bad6", "REQUEST_ID: bad 6"), "line 2: `REQUEST_ID`: "),
        ("bad7", bad("bad7", "---\n\nfine", "fine"), "the frontmatter is not closed"),
        (
            "bad8",
            bad("bad8", "MESSAGE_TYPE: NEW", "MESSAGE_TYPE NEW"),
            "line 3: not of the form `key: value`",
        ),
    ];
    for (name, text, _) in &files {
        inbox(&room).put(name, text);
    }
    inbox(&room).put("good", &good);
    let all = inbox(&room).files();
    let checked = room.by("carol", ["check"]).succeeds();
    assert!(checked.out.starts_with("good "), "one bad file does not stop the others: {}", checked.out);
    for (name, text, why) in &files {
        assert!(checked.err.contains(&format!("unreadable: {name}: {why}")), "{name}: {}", checked.err);
        let path = inbox(&room).0.join(name).display().to_string();
        for verb in [vec!["reply", name, "-m", "x"], vec!["read", name]] {
            let ran = room.by("carol", verb.clone()).exits(4);
            assert!(ran.err.contains(&format!("{path}: {why}")), "{verb:?}: {}", ran.err);
        }
        assert_eq!(inbox(&room).text(name), *text, "{name}");
    }
    let read = room.by("carol", ["read"]).succeeds();
    assert!(read.out.contains("\nfine\n") && read.err.contains("unreadable, left alone: bad1: "), "{read:?}");
    assert!(!checked.err.contains("--fix") && !read.err.contains("quarantine"), "nothing is put aside here");
    room.run(["doctor", "--fix"]).ends();
    assert_eq!(inbox(&room).files(), all);
    assert!(!room.around().join("carol/.mailbox/quarantine").exists());
}

#[test]
fn an_entry_that_is_not_a_file_is_reported_and_stops_nothing() {
    let room = room().leaves_faults();
    symlink("/etc/passwd", inbox(&room).0.join("link")).unwrap();
    std::fs::create_dir(inbox(&room).0.join("folder")).unwrap();
    std::fs::write(inbox(&room).0.join(".hidden"), "no message").unwrap();
    let path = strange(&room).join("good");
    inbox(&room).put("good", request("NEW", "good", &inbox(&room).0.join("good"), &path, "fine\n"));
    let checked = room.by("carol", ["check"]).succeeds();
    assert_eq!(checked.out.lines().count(), 1, "{}", checked.out);
    assert!(checked.err.contains("unreadable: link: it is a symbolic link"), "{}", checked.err);
    assert!(room.by("carol", ["read"]).succeeds().out.contains("\nfine\n"));
    room.by("carol", ["reply", "good", "-m", "a"]).succeeds();
    assert!(path.is_file());
    assert_eq!(inbox(&room).files(), ["folder", "link"]);
}

#[test]
fn a_file_that_still_grows_is_not_called_broken() {
    let room = room();
    std::fs::write(inbox(&room).0.join("growing"), "---\nREQUEST_ID: growing\nMESSAGE_").unwrap();
    let ran = room.by("carol", ["check"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn a_file_whose_name_cannot_be_an_id_is_reported() {
    let room = room();
    let text = request("NEW", REQUEST, &inbox(&room).0.join(REQUEST), &strange(&room).join("x"), "lost?\n");
    inbox(&room).put("my request", &text);
    inbox(&room).put(".staged", &text);
    let checked = room.by("carol", ["check"]).succeeds();
    assert_eq!(checked.out, "");
    assert_eq!(
        checked.err,
        "postroom: unreadable: my request: it is a file whose name cannot be an id (left alone)\n"
    );
    room.by("carol", ["read"]).exits(1);
    assert_eq!(inbox(&room).only(), "my request");
}
