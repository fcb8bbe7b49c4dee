//! Liberal reading, in each kind of mailbox: the forms in which people and models write a message by hand are listed,
//! read and counted; what is doubtful in one is said beside it, and moves it nowhere.

use std::path::Path;

use serde_json::Value;

use crate::protocols::conformance::{Kind, for_each_kind};
use crate::support::hand::{BROKEN, age, by_hand, tighten};
use crate::support::kinds::room_of;
use crate::support::kinds_room::{Folder, request, task};
use crate::support::room::TestRoom;

for_each_kind!(
    every_form_is_listed_counted_and_read,
    every_form_of_others_is_understood_too,
    a_bare_file_is_a_note_from_unknown_once_it_has_settled,
    a_bare_file_is_never_put_into_quarantine,
    a_note_of_the_future_is_listed,
    a_field_in_two_spellings_is_unreadable,
    a_count_counts_what_is_listed,
);

/// A message as a hand wrote it, and what is understood of it.
pub(crate) struct Form {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) subject: String,
    pub(crate) priority: &'static str,
    /// How the remark begins; nothing where the meaning is clear.
    pub(crate) doubt: &'static str,
}

/// The forms of one protocol: what is changed in a plain message, the priority that is read, and the doubt.
type Changes = &'static [(&'static str, &'static str, &'static str, &'static str)];

const OF_MAILDIR: Changes = &[
    ("---\nfrom", "\n \n---\nfrom", "normal", ""),
    ("---\nfrom", "\u{feff}---\nfrom", "normal", ""),
    ("\nfrom", "\nFrom", "normal", ""),
    ("\nmsg_id", "\nMSG_ID", "normal", ""),
    ("\nsubject", "\nSubject", "normal", ""),
    ("\nsubject", "\npriority: High\nsubject", "high", ""),
    ("\nsubject", "\npriority: medium\nsubject", "normal", "`priority: medium` is read as normal"),
    ("\nsubject", "\npriority: P1\nsubject", "high", "`priority: P1` is read as high"),
    ("\nsubject", "\npriority: whenever\nsubject", "normal", "`priority: whenever` is read as normal"),
    ("\nmsg_id: ", "\nx-id: ", "normal", "`msg_id` is missing"),
    ("\nfrom: ", "\nx-from: ", "normal", "`from` is missing"),
];

const OF_WORKSPACE: Changes = &[
    ("---\nREQ", "\n---\nREQ", "normal", ""),
    ("REQUEST_ID", "request_id", "normal", ""),
    ("MESSAGE_TYPE: NEW", "message_type: NEW", "normal", ""),
    ("MESSAGE_TYPE: NEW", "MESSAGE_TYPE: NEW # or REPLY", "normal", ""),
    ("MESSAGE_TYPE: NEW", "MESSAGE_TYPE: \"NEW\"", "normal", ""),
    ("REQUEST_ID: ", "REQUEST_ID: user:chat/", "normal", ""),
    ("MESSAGE_TYPE: NEW", "MESSAGE_TYPE: NEW\npriority: High", "high", ""),
    ("MESSAGE_TYPE: NEW", "MESSAGE_TYPE: NEW\npriority: P1", "high", "`priority: P1` is read as high"),
];

const OF_TREE: Changes = &[
    ("---\nid", "\n---\nid", "normal", ""),
    ("status: pending", "status: PENDING", "normal", ""),
    ("\nfrom", "\nFrom", "normal", ""),
    ("status: pending", "Status: 'pending' # so far", "normal", ""),
    ("status: pending", "status: pending\nstep: 1.5", "normal", ""),
    ("status: pending", "status: pending\npriority: High", "high", ""),
    (
        "status: pending",
        "status: pending\npriority: medium",
        "normal",
        "`priority: medium` is read as normal",
    ),
    ("status: pending", "status: pending\npriority: P1", "high", "`priority: P1` is read as high"),
    ("status: pending", "status: todo", "normal", "`status: todo` is read as pending"),
    ("status: pending\n", "", "normal", "`status` is missing and read as pending"),
    ("status: pending", "status: pending\nnote: fix: it", "normal", "`note` is not valid YAML"),
    ("2026-01-01T12:00:00Z", "2026-01-01", "normal", "`created: 2026-01-01` is read as 2026-01-01T00:00:00Z"),
    ("2026-01-01T12:00:00Z", "2026-01-01T12:00:00", "normal", "`created: 2026-01-01T12:00:00` is read as"),
    ("2026-01-01T12:00:00Z", "yesterday", "normal", "`created: yesterday` is not a time"),
    ("created: 2026-01-01T12:00:00Z\n", "", "normal", "`created` is missing"),
    ("\nfrom: ", "\nx-from: ", "normal", "`from` is missing"),
    ("\nid: ", "\nx-id: ", "normal", "`id` is missing"),
];

/// A plain message of a protocol, by the number of its form, and the name of its file.
pub(crate) fn plain(room: &TestRoom, kind: Kind, number: usize) -> (String, String) {
    let subject = format!("form {number}");
    let body = format!("{subject}\n");
    match kind {
        Kind::Maildir => {
            let id = format!("abcd{number:04}");
            (format!("20260101T000000Z-{id}-x.md"), by_hand("writer", &id, &subject, &body))
        }
        Kind::Workspace => {
            let id = format!("form{number}");
            let back = room.around().join("asker/.mailbox/inbox");
            (id.clone(), request("NEW", &id, Path::new("/here/.mailbox/inbox"), &back.join(&id), &body))
        }
        Kind::Tree => {
            let id = format!("2026-01-01-{number:03}");
            (format!("{id}.md"), task(&id, "user", "reader", &body))
        }
    }
}

pub(crate) fn forms(room: &TestRoom, kind: Kind) -> Vec<Form> {
    let changes = match kind {
        Kind::Maildir => OF_MAILDIR,
        Kind::Workspace => OF_WORKSPACE,
        Kind::Tree => OF_TREE,
    };
    let mut forms: Vec<Form> = vec![];
    for (number, (from, to, priority, doubt)) in changes.iter().enumerate() {
        let (file, text) = plain(room, kind, number);
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from:?} is there");
        forms.push(Form { file, text: changed, subject: format!("form {number}"), priority, doubt });
    }
    let number = forms.len();
    let (file, subject) = (plain(room, kind, number).0, format!("form {number}"));
    let text = format!("{subject}\n\nand no frontmatter\n");
    forms.push(Form { file, text, subject, priority: "normal", doubt: "it has no frontmatter" });
    forms
}

/// The doubts among the remarks of a header.
pub(crate) fn doubts(header: &Value) -> Vec<String> {
    let remarks = header["remarks"].as_array().unwrap();
    remarks.iter().filter_map(|r| r.as_str().unwrap().strip_prefix("doubtful: ").map(str::to_owned)).collect()
}

/// Insists that exactly these are listed, each as it is meant, and that nothing is called unreadable.
#[track_caller]
pub(crate) fn are_listed(room: &TestRoom, name: &str, forms: &[Form]) -> Vec<Value> {
    let told = room.by(name, ["check", "--json"]).json();
    assert_eq!(told["unreadable"], serde_json::json!([]), "{told}");
    let headers = told["messages"].as_array().unwrap().clone();
    for Form { subject, text, priority, doubt, .. } in forms {
        let found: Vec<_> = headers.iter().filter(|h| h["subject"] == subject.as_str()).collect();
        let [header] = found[..] else { panic!("{text}\nis listed {} times: {headers:#?}", found.len()) };
        assert_eq!(header["priority"], *priority, "{text}");
        let doubts = doubts(header);
        match doubt.is_empty() {
            true => assert!(doubts.is_empty(), "{text}: {doubts:?}"),
            false => assert!(doubts.iter().any(|d| d.contains(doubt)), "{text}: {doubts:?}"),
        }
        if doubt.contains("no frontmatter") || doubt.contains("`from` is missing") {
            assert_eq!(header["from"]["name"], "unknown", "{text}");
        }
    }
    let lines = room.by(name, ["check"]).succeeds().out;
    assert_eq!(lines.lines().count(), headers.len(), "{lines}");
    assert_eq!(lines.matches("doubtful: ").count(), forms.iter().filter(|f| !f.doubt.is_empty()).count());
    assert_eq!(room.by(name, ["check", "--count"]).succeeds().out, format!("{}\n", headers.len()));
    headers
}

fn every_form_is_listed_counted_and_read(kind: Kind) {
    is_understood_in(kind, kind);
}

/// A reader accepts all three kinds of frontmatter in any mailbox.
fn every_form_of_others_is_understood_too(kind: Kind) {
    for other in [Kind::Maildir, Kind::Workspace, Kind::Tree] {
        if other != kind {
            is_understood_in(kind, other);
        }
    }
}

fn is_understood_in(kind: Kind, protocol: Kind) {
    let room = room_of(kind).leaves_faults();
    let mut forms = forms(&room, protocol);
    forms.retain(|form| kind == protocol || !form.doubt.contains("`id`"));
    for form in &forms {
        let name = form.file.trim_end_matches(".md");
        let end = if kind == Kind::Workspace && protocol == kind { "" } else { ".md" };
        tighten(&kind.inbox(&room, "reader").put(&format!("{name}{end}"), &form.text));
    }
    let headers = are_listed(&room, "reader", &forms);
    assert_eq!(headers.len(), forms.len());
    room.run(["doctor", "--fix"]).ends();
    are_listed(&room, "reader", &forms);
    for header in &headers {
        let (file, subject) = (header["file"].as_str().unwrap(), header["subject"].as_str().unwrap());
        let read = room.by("reader", ["read", file]).succeeds();
        assert!(read.out.contains(&format!("{subject}\n")) && read.err.is_empty(), "{read:?}");
    }
    assert!(!room.root().join(room.id("reader")).join("quarantine").exists());
}

fn a_bare_file_is_a_note_from_unknown_once_it_has_settled(kind: Kind) {
    let room = room_of(kind);
    let Folder(inbox) = kind.inbox(&room, "reader");
    let path = inbox.join("note.md");
    std::fs::write(&path, "buy milk\n\nand bread\n").unwrap();
    for verb in [vec!["check"], vec!["check", "--count"], vec!["read"], vec!["wait", "--timeout", "0"]] {
        let ran = room.by("reader", verb.clone()).exits(1);
        assert!(!ran.out.contains("milk") && ran.err.is_empty(), "{verb:?}: {ran:?}");
    }
    assert!(path.exists(), "it may still be growing");
    age(&path, 6);
    let header = room.header("reader");
    assert_eq!(
        (header["subject"].as_str(), header["from"]["name"].as_str()),
        (Some("buy milk"), Some("unknown"))
    );
    assert_eq!(doubts(&header), ["it has no frontmatter; the sender is unknown"]);
    assert_eq!(room.by("reader", ["check", "--count"]).succeeds().out, "1\n");
    assert!(room.by("reader", ["wait", "--timeout", "0"]).succeeds().out.contains("unknown doubtful: "));
    let read = room.by("reader", ["read"]).succeeds().out;
    assert!(read.contains(" unknown (unverified): ") && read.contains("buy milk\n\nand bread\n"), "{read}");
}

fn a_bare_file_is_never_put_into_quarantine(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    let inbox = kind.inbox(&room, "reader");
    tighten(&inbox.put("note.md", "buy milk\n"));
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(inbox.text("note.md"), "buy milk\n");
    for verb in [vec!["check"], vec!["read", "--keep"], vec!["wait", "--timeout", "0"]] {
        let ran = room.by("reader", verb.clone()).succeeds();
        assert!(ran.out.contains("buy milk") && ran.err.is_empty(), "{verb:?}: {ran:?}");
        assert_eq!(inbox.files().len(), 1, "{verb:?}");
    }
    room.run(["doctor", "--fix"]).succeeds();
    let claimed = room.by("reader", ["claim"]).succeeds();
    assert!(claimed.out.contains("buy milk\n"), "{}", claimed.out);
    assert!(!room.root().join(room.id("reader")).join("quarantine").exists());
}

fn a_note_of_the_future_is_listed(kind: Kind) {
    let room = room_of(kind);
    let path = kind.inbox(&room, "reader").put("note.md", "buy milk\n");
    tighten(&path);
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    std::fs::File::options().read(true).open(path).unwrap().set_modified(ahead).unwrap();
    assert_eq!(room.header("reader")["subject"], "buy milk");
    assert!(room.by("reader", ["read"]).succeeds().out.contains("buy milk\n"));
}

fn a_field_in_two_spellings_is_unreadable(kind: Kind) {
    let room = room_of(kind).leaves_faults();
    let (file, text) = plain(&room, kind, 1);
    let (field, line) = match kind {
        Kind::Maildir => ("from", "\nFrom: somebody"),
        Kind::Workspace => ("REQUEST_ID", "\nrequest_id: other"),
        Kind::Tree => ("status", "\nStatus: completed"),
    };
    let twice = text.replacen("\n---\n", &format!("{line}\n---\n"), 1);
    let path = kind.inbox(&room, "reader").put(&file, &twice);
    let ran = room.by("reader", ["check"]).succeeds();
    assert!(ran.err.contains(&format!("the field `{field}` is there twice")), "{}", ran.err);
    assert_eq!((ran.out.as_str(), std::fs::read_to_string(path).unwrap()), ("", twice));
    assert_eq!(room.by("reader", ["check", "--count"]).exits(1).out, "0\n");
}

/// Notes, young files and broken ones, before and behind the clear messages, and more than one page of them.
fn a_count_counts_what_is_listed(kind: Kind) {
    for places in [&["000"][..], &["000", "zzz"]] {
        let room = room_of(kind).leaves_faults();
        let inbox = kind.inbox(&room, "reader");
        for number in 0..55 {
            let (file, text) = plain(&room, kind, number);
            inbox.put(&file, text);
        }
        for (number, name) in places.iter().enumerate() {
            inbox.put(&format!("{name}-broken.md"), BROKEN);
            inbox.put(&format!("{name}-note.md"), format!("note {number}\n"));
            std::fs::write(inbox.0.join(format!("{name}-young.md")), "---\nfrom: ").unwrap();
        }
        let all = 55 + places.len();
        let listed = room.by("reader", ["check", "--limit", "100"]).succeeds();
        assert_eq!(listed.out.lines().count(), all, "{places:?}: {}", listed.out);
        assert_eq!(listed.err.matches("postroom: ").count(), places.len(), "{places:?}: {}", listed.err);
        assert_eq!(room.by("reader", ["check", "--count"]).succeeds().out, format!("{all}\n"), "{places:?}");
        assert_eq!(room.by("reader", ["check", "--json"]).json()["unread"], all, "{places:?}");
        let first = room.by("reader", ["check"]).succeeds().out;
        let more = format!("… {} more: postroom ", all - 50);
        let last = first.lines().last().unwrap();
        assert!(last.starts_with(&more) && last.ends_with(&format!(" --limit {all}")), "{places:?}: {first}");
    }
}
