//! The golden files: bytes of each protocol as Postroom writes them, and as others write them by hand.
//!
//! ```text
//! tests/golden/<protocol>/compose-*.md     what `compose` makes of given parts
//!                        /delivered-*.md   what a delivery left, with ids, times and places made equal
//!                        /hand-*.md        what readers accept
//! ```
//!
//! A change of these bytes is a change of the format. `UPDATE_GOLDEN=1 cargo test golden` writes them anew.

use std::path::{Path, PathBuf};

use postroom::clock::Timestamp;
use postroom::message::compose::{Parts, compose};
use postroom::message::tree::Status;
use postroom::message::{Priority, Protocol, any, maildir, protocol, tree, workspace};

use crate::support::project::{Project, names_in};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Insists that a golden file holds these bytes.
#[track_caller]
fn is_golden(protocol: Protocol, name: &str, text: &str) {
    let path = golden().join(protocol.as_str()).join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, wanted, "{}", path.display());
}

/// Every golden file with its protocol.
fn all() -> Vec<(Protocol, String, String)> {
    let mut found = vec![];
    for protocol in Protocol::ALL {
        let dir = golden().join(protocol.as_str());
        for name in names_in(&dir) {
            let text = std::fs::read_to_string(dir.join(&name)).unwrap();
            found.push((protocol, name, text));
        }
    }
    found
}

/// The same text as other programs save it.
fn forms(text: &str) -> [String; 4] {
    let crlf = text.replace('\n', "\r\n");
    [text.to_owned(), crlf.clone(), format!("\u{feff}{text}"), format!("\u{feff}{crlf}")]
}

#[test]
fn what_is_composed() {
    let made = |protocol: Protocol, parts: &Parts| {
        compose(protocol, parts, Timestamp::parse("2025-03-04T10:00:00Z").unwrap(), [0xab; 16]).unwrap()
    };
    let text = |text: &str| Some(text.to_owned());
    let ends =
        Parts { from: text("alice"), to: text("bob"), body: "# Hello\n\nthere\n".into(), ..Parts::default() };
    let full = Parts {
        id: text("3f2a9c1d-0000-4000-8000-000000000000"),
        subject: text("re: x #12"),
        reply_to: text("deadbeef-0000-4000-8000-000000000000"),
        channel: text("build"),
        priority: Priority::Urgent,
        workflow: text("release: 2"),
        step: Some(2),
        body: "no line break at the end".into(),
        ..ends.clone()
    };
    let paths = Parts {
        receiver: text("/srv/b/.mailbox/inbox/abababababababababababababababab"),
        reply_path: text("/srv/a/.mailbox/inbox/abababababababababababababababab"),
        body: "Please build.\n".into(),
        ..Parts::default()
    };
    let reply = Parts {
        reply_to: text("0123456789abcdef0123456789abcdef"),
        channel: text("build"),
        priority: Priority::High,
        body: "\"\"\n".into(),
        ..paths.clone()
    };
    let task = Parts { id: text("2025-03-04-012"), reply_to: None, ..full.clone() };
    let response = Parts { id: None, reply_to: text("2025-03-04-012"), ..full.clone() };
    for (protocol, name, parts) in [
        (Protocol::Maildir, "compose-plain.md", &ends),
        (Protocol::Maildir, "compose-full.md", &full),
        (Protocol::Workspace, "compose-new.md", &paths),
        (Protocol::Workspace, "compose-reply.md", &reply),
        (Protocol::Tree, "compose-plain.md", &ends),
        (Protocol::Tree, "compose-request.md", &task),
        (Protocol::Tree, "compose-response.md", &response),
    ] {
        is_golden(protocol, name, &made(protocol, parts));
    }
}

/// A delivered message with what differs from run to run made equal, and still a message.
fn made_equal(project: &Project, text: &str) -> String {
    let mut text = text.replace(project.dir.to_str().unwrap(), "/srv/project");
    let around = project.room.around().canonicalize().unwrap();
    text = text.replace(around.to_str().unwrap(), "/srv");
    for (pattern, equal) in [
        (
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "01234567-89ab-4def-8123-456789abcdef",
        ),
        (r"\b[0-9a-f]{32}\b", "0123456789ab4def8123456789abcdef"),
        (r"\d{4}-\d\d-\d\dT[0-9:]{8}Z", "2025-03-04T10:00:00Z"),
        (r"\b\d{4}-\d\d-\d\d-(\d{3,})", "2025-03-04-$1"),
        (r"\b([a-z]+)-[0-9a-f]{8}\b", "$1-01234567"),
        (r"duration_seconds: \d+", "duration_seconds: 0"),
    ] {
        text = regex::Regex::new(pattern).unwrap().replace_all(&text, equal).into_owned();
    }
    text
}

#[test]
fn what_is_delivered() {
    let project = Project::with(&["alice", "bob"], &["explore", "writer"]);
    let around = project.room.around().to_owned();
    std::fs::create_dir(around.join("carol")).unwrap();
    project.room.run(["setup", "--workspace", "carol", "carol"]).succeeds();
    let rest = [
        "-s",
        "The subject: #1",
        "--priority",
        "high",
        "--channel",
        "build",
        "--field",
        "note=a: b",
        "-m",
        "First line\n\nbody\n",
    ];
    let send = |from: &str, to: &str| drop(project.by(from, ["send", to].into_iter().chain(rest)).succeeds());
    let only = |dir: PathBuf| {
        let [name] = <[String; 1]>::try_from(names_in(&dir)).unwrap();
        (std::fs::read_to_string(dir.join(&name)).unwrap(), name)
    };
    let golden = |protocol, name: &str, dir: PathBuf| {
        let (text, file) = only(dir);
        is_golden(protocol, name, &made_equal(&project, &text));
        file
    };
    let inbox = |name: &str| project.room.folder(name, "inbox");
    let carol = around.join("carol/.mailbox/inbox");

    send("alice", "bob");
    let file = golden(Protocol::Maildir, "delivered-message.md", inbox("bob"));
    project.by("bob", ["reply", &file, "-m", "Answer.\n"]).succeeds();
    golden(Protocol::Maildir, "delivered-reply.md", inbox("alice"));
    project.by("alice", ["read"]).succeeds();

    send("alice", "carol");
    let file = golden(Protocol::Workspace, "delivered-request.md", carol.clone());
    project.by("carol", ["reply", &file, "-m", "Answer.\n"]).succeeds();
    project.by("alice", ["read"]).succeeds();
    send("carol", "bob");
    let file = only(inbox("bob")).1;
    project.by("bob", ["reply", &file, "-m", "Answer.\n"]).succeeds();
    golden(Protocol::Workspace, "delivered-reply.md", carol.clone());

    send("alice", "explore");
    let file = golden(Protocol::Tree, "delivered-request.md", project.path("inboxes/explore"));
    let token = project.claim("explore", &[]);
    project.by("explore", ["done", &token, "-m", "Answer.\n"]).succeeds();
    golden(Protocol::Tree, "delivered-response.md", project.path("outboxes/explore"));
    golden(Protocol::Maildir, "delivered-response.md", inbox("alice"));
    golden(Protocol::Tree, "delivered-completed.md", project.path("inboxes/explore"));
    assert_eq!(file.len(), "2025-03-04-001.md".len());

    send("explore", "writer");
    let token = project.claim("writer", &[]);
    project.by("writer", ["fail", &token, "--reason", "no: \"way\" #1"]).succeeds();
    golden(Protocol::Tree, "delivered-failed.md", project.path("inboxes/writer"));
    golden(Protocol::Tree, "delivered-failure.md", project.path("outboxes/writer"));
    let routed = project.ids("explore").pop().unwrap();
    let text = made_equal(&project, &project.text(&format!("inboxes/explore/{routed}.md")));
    is_golden(Protocol::Tree, "delivered-routed.md", &text);
}

#[test]
fn every_golden_file_is_read_in_every_form() {
    let all = all();
    assert!(all.len() >= 25, "{} golden files", all.len());
    for (kind, name, text) in all {
        for form in forms(&text) {
            let what = format!("{}/{name}: {form:?}", kind.as_str());
            assert_eq!(protocol::verify(form.as_bytes()), (Some(kind), Ok(vec![])), "{what}");
            any::parse(form.as_bytes()).unwrap_or_else(|e| panic!("{what}: {e}"));
            if kind == Protocol::Tree {
                let was = tree::parse(form.as_bytes()).unwrap().status;
                for status in Status::ALL {
                    let changed = tree::set_status(&form, status).unwrap();
                    assert_eq!(tree::parse(changed.as_bytes()).unwrap().status, status, "{what}");
                    assert_eq!(tree::set_status(&changed, was).unwrap(), form, "{what}");
                }
            }
        }
        if name.starts_with("hand-") {
            continue;
        }
        let again = match kind {
            Protocol::Maildir => {
                let message = maildir::parse(text.as_bytes()).unwrap();
                maildir::render(&message.envelope, &message.body).unwrap()
            }
            Protocol::Workspace => workspace::render(&workspace::parse(text.as_bytes()).unwrap()).unwrap(),
            Protocol::Tree => tree::render(&tree::parse(text.as_bytes()).unwrap()).unwrap(),
        };
        // A failed request is ours with a line that was added to it, and so are its bytes.
        assert!(again == text || name == "delivered-failed.md", "{name}: {again}");
    }
}

#[test]
fn verify_says_which_protocol() {
    let project = Project::with(&[], &[]);
    for kind in Protocol::ALL {
        let dir = golden().join(kind.as_str());
        let run = project.room.run(["tools", "verify"]);
        let run = names_in(&dir).iter().fold(run, |run, name| run.arg(dir.join(name)));
        let ran = run.succeeds();
        let valid = format!(": valid {}", kind.as_str());
        assert!(ran.out.lines().all(|line| line.ends_with(&valid)), "{}", ran.out);
        assert_eq!(ran.out.lines().count(), names_in(&dir).len());
    }
}
