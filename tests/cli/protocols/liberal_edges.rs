//! Doubtful messages beyond the list: no agent is started for them, the doctor has nothing against them, and of two notes
//! with the same words none is lost.

use crate::protocols::conformance::{Kind, for_each_kind};
use crate::protocols::liberal::{are_listed, doubts, forms, plain};
use crate::support::hand::{BROKEN, age, tighten};
use crate::support::kinds::room_of;
use crate::support::kinds_room::Folder;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, runs, settle, shell};

for_each_kind!(
    what_is_doubtful_starts_no_agent,
    a_task_without_an_id_is_called_like_its_file,
    what_check_calls_a_message_is_its_name_for_every_verb,
    a_bare_file_is_no_fault_to_the_doctor,
    two_notes_with_the_same_words_are_two,
    two_notes_left_in_the_room_are_two_and_from_unknown,
    nobody_is_called_unknown,
    a_blank_file_is_reported_alike_by_all,
    what_is_broken_behind_the_first_page_is_not_counted,
);

/// A room with an agent called worker, whose mailbox is of this kind.
fn at_work(kind: Kind) -> TestRoom {
    let room = TestRoom::with(&["alice", "writer"]).leaves_faults();
    match kind {
        Kind::Maildir => drop(room.run(["setup", "-q", "--child", "worker"]).succeeds()),
        Kind::Workspace => drop(room.workspace("worker")),
        Kind::Tree => drop(room.agents(&["worker"])),
    }
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    settle(&room, &shell("worker", "cat > /dev/null; echo done", ""));
    room
}

fn what_is_doubtful_starts_no_agent(kind: Kind) {
    let room = at_work(kind);
    let mut forms = forms(&room, kind);
    forms.retain(|form| !form.doubt.is_empty());
    for form in &forms {
        kind.inbox(&room, "worker").put(&form.file, &form.text);
    }
    let ran = dispatch(&room, ["--dry-run"]).ends();
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
    let ran = dispatch(&room, []).ends();
    assert_eq!((ran.code, ran.out.as_str(), runs(&room).len()), (1, "", 0), "{}", ran.err);
    are_listed(&room, "worker", &forms);
    // They stop nothing that is clear, and somebody can still take them.
    room.send("alice", "worker", "a clear one");
    dispatch(&room, []).succeeds();
    assert_eq!(runs(&room).len(), 1);
    let headers = are_listed(&room, "worker", &forms);
    room.by("worker", ["claim", headers[0]["file"].as_str().unwrap()]).succeeds();
}

fn a_task_without_an_id_is_called_like_its_file(kind: Kind) {
    let room = room_of(kind);
    let (file, text) = plain(&room, Kind::Tree, 1);
    tighten(&kind.inbox(&room, "reader").put(&file, text.replacen("id: 2026-01-01-001\n", "", 1)));
    let told = room.by("reader", ["check", "--json"]).json();
    assert_eq!(told["unreadable"], serde_json::json!([]), "{told}");
    assert!(doubts(&told["messages"][0])[0].starts_with("`id` is missing"), "{told}");
    room.run(["doctor", "--fix"]).succeeds();
    assert!(room.by("reader", ["read"]).succeeds().out.contains("form 1\n"));
}

/// A hand calls a file as it likes.
fn what_check_calls_a_message_is_its_name_for_every_verb(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    for form in forms(&room, kind) {
        kind.inbox(&room, "reader")
            .put(&format!("by-hand-{}.md", form.subject.replace(' ', "-")), &form.text);
    }
    let listed = room.by("reader", ["check"]).succeeds().out;
    for line in listed.lines() {
        let (id, subject) = (line.split(' ').next().unwrap(), line.rsplit(": ").next().unwrap());
        let ran = room.by("reader", ["read", "--keep", id]).ends();
        assert!(ran.code == 0 && ran.out.contains(&format!("{subject}\n")), "{line}: {ran:?}");
    }
}

fn a_bare_file_is_no_fault_to_the_doctor(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    tighten(&kind.inbox(&room, "reader").put("note.md", "buy milk\n"));
    room.run(["doctor", "--strict"]).succeeds();
    if kind == Kind::Tree {
        room.run(["tree", "status", "--tree", "project"]).succeeds();
    }
    room.by("reader", ["check"]).succeeds();
    room.run(["doctor", "--strict"]).succeeds();
}

/// The subjects that `check` lists.
fn subjects(room: &TestRoom) -> Vec<String> {
    room.headers("reader").iter().map(|h| h["subject"].as_str().unwrap().to_owned()).collect()
}

fn two_notes_with_the_same_words_are_two(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    let inbox = kind.inbox(&room, "reader");
    for name in ["one.md", "two.md"] {
        tighten(&inbox.put(name, "continue\n"));
    }
    assert_eq!(subjects(&room), ["continue", "continue"]);
    for _ in 0..2 {
        assert!(room.by("reader", ["read"]).succeeds().out.contains("continue\n"));
    }
    room.by("reader", ["read"]).exits(1);
    // And the same words the next day are a note again.
    tighten(&inbox.put("three.md", "continue\n"));
    assert_eq!(subjects(&room), ["continue"]);
}

fn two_notes_left_in_the_room_are_two_and_from_unknown(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    let inbox = Folder(room.folder("reader", "inbox"));
    for name in ["one.md", "two.md"] {
        tighten(&inbox.put(name, "continue\n"));
    }
    let headers = room.headers("reader");
    for header in &headers {
        assert_eq!((&header["subject"], &header["from"]["name"]), (&"continue".into(), &"unknown".into()));
        assert_eq!(doubts(header).len(), 1, "{header}");
    }
    assert_eq!(headers.len(), 2, "{headers:?}");
}

/// An unknown sender is nobody, and is never answered by mistake.
fn nobody_is_called_unknown(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    room.run(["setup", "-q", "unknown"]).ends();
    tighten(&kind.inbox(&room, "reader").put("note.md", "buy milk\n"));
    let file = room.header("reader")["file"].as_str().unwrap().to_owned();
    room.by("reader", ["reply", &file, "-m", "done"]).ends();
    let told = room.by("unknown", ["check"]).ends();
    assert!(told.out.is_empty(), "the answer to a note went to somebody: {told:?}");
}

fn a_blank_file_is_reported_alike_by_all(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    let path = kind.inbox(&room, "reader").put("blank.md", "  ");
    tighten(&path);
    age(&path, 60);
    let told = room.by("reader", ["check"]).succeeds();
    assert!(told.err.contains("unreadable: blank.md: it is empty"), "{}", told.err);
    assert_eq!(told.err.contains("doctor --fix  # puts it aside"), kind == Kind::Maildir, "{}", told.err);
    let doctor = room.run(["doctor", "--strict"]).exits(4).out;
    assert!(doctor.contains("blank.md: it is empty"), "{doctor}");
}

fn what_is_broken_behind_the_first_page_is_not_counted(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    let inbox = kind.inbox(&room, "reader");
    for number in 0..55 {
        let (file, text) = plain(&room, kind, number);
        inbox.put(&file, text);
    }
    inbox.put("zzz-broken.md", BROKEN);
    std::fs::write(inbox.0.join("zzz-young.md"), "---\nfrom: ").unwrap();
    let listed = room.by("reader", ["check", "--limit", "100"]).succeeds();
    assert_eq!(listed.out.lines().count(), 55, "{}", listed.out);
    assert_eq!(room.by("reader", ["check", "--count"]).succeeds().out, "55\n");
}
