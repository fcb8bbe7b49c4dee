//! The bounce: the sender of a message that was given up is told, once, and a bounce itself is never bounced.

use serde_json::Value;

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, taken, terms_path};

/// All that lies unread for somebody, with bodies; consumes it.
fn all_mail(room: &TestRoom, name: &str) -> Vec<Value> {
    let mut all = vec![];
    loop {
        let read = room.by(name, ["read", "--json"]).json();
        match read["messages"].get(0) {
            Some(message) => all.push(message.clone()),
            None => return all,
        }
    }
}

#[test]
fn the_sender_reads_what_failed_and_why() {
    let room = TestRoom::with(&["alice", "bob"]);
    let sent =
        room.by("alice", ["send", "bob", "-s", "job one", "-m", "x", "--channel", "build", "--json"]).json();
    let id = &sent["receipts"][0]["id"];
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["fail", &token, "--reason", "no such file"]).succeeds();
    let header = room.by("alice", ["check"]).succeeds().out;
    assert!(mask(&header, &room.root()).starts_with("<id> <age> bob re="), "{header}");
    let bounce = all_mail(&room, "alice").remove(0);
    assert_eq!(
        (&bounce["subject"], &bounce["reply_to"], &bounce["channel"], &bounce["extra"]),
        (&"failed: job one".into(), id, &"build".into(), &serde_json::json!({"bounce": "1"}))
    );
    let body = bounce["body"].as_str().unwrap();
    assert!(body.contains("Reason: no such file\n") && body.contains(id.as_str().unwrap()), "{body}");
}

#[test]
fn a_bounce_is_never_bounced() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    room.by("bob", ["fail", &token, "--reason", "x"]).succeeds();
    let token = claim(&room, "alice", &[]);
    room.by("alice", ["fail", &token, "--reason", "y"]).succeeds();
    assert_eq!(room.files("alice", "failed").len(), 1);
    room.by("bob", ["check"]).exits(1);
    room.by("alice", ["check"]).exits(1);
    // What other programs mark with another value is one as well.
    let marked =
        by_hand(&room.id("bob"), "abcd1111", "m", "x").replacen("---\n\n", "bounce: yes\n---\n\n", 1);
    room.place("alice", "20260101T000000Z-abcd1111-m.md", marked);
    let token = claim(&room, "alice", &[]);
    room.by("alice", ["fail", &token, "--reason", "z"]).succeeds();
    room.by("bob", ["check"]).exits(1);
}

#[test]
fn a_failure_that_is_run_again_after_an_interruption_bounces_once() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    let terms = std::fs::read(terms_path(&room, "bob", &token)).unwrap();
    room.by("bob", ["fail", &token, "--reason", "x"]).succeeds();
    for read in [false, true] {
        if read {
            assert_eq!(all_mail(&room, "alice").len(), 1);
        }
        put_back(&room, "bob", "failed", &token, &terms);
        room.by("bob", ["fail", &token, "--reason", "x"]).succeeds();
        assert_eq!(room.files("bob", "failed").len(), 1);
        let count = room.files("alice", "inbox").len() + room.files("alice", "archive").len();
        assert_eq!(count, 1, "one failure, one bounce (read before: {read})");
    }
}

#[test]
fn a_done_that_is_run_again_after_an_interruption_answers_once() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    let terms = std::fs::read(terms_path(&room, "bob", &token)).unwrap();
    room.by("bob", ["done", &token, "-m", "the answer"]).succeeds();
    put_back(&room, "bob", "archive", &token, &terms);
    let again = room.by("bob", ["done", &token, "-m", "the answer"]).succeeds().out;
    assert!(again.starts_with("sent before "), "{again}");
    assert_eq!(room.files("bob", "archive").len(), 1);
    assert_eq!(all_mail(&room, "alice").len(), 1);
}

/// The answer was read in between, and is dated long ago: it is found by its id alone.
#[test]
fn a_done_that_is_run_again_finds_its_answer_whatever_it_was_called() {
    let plain = ["-m", "the answer"];
    let named = ["-m", "the answer", "-s", "special"];
    let urgent = ["-m", "the answer", "--priority", "urgent"];
    for (first, code) in [(&plain[..], 0), (&named[..], 4), (&urgent[..], 4)] {
        let room = TestRoom::with(&["alice", "bob"]);
        let (_, token) = taken(&room, "alice", "bob", "job");
        let terms = std::fs::read(terms_path(&room, "bob", &token)).unwrap();
        room.by("bob", ["done", &token].into_iter().chain(first.iter().copied())).succeeds();
        assert_eq!(all_mail(&room, "alice").len(), 1);
        room.backdate("alice", "archive");
        put_back(&room, "bob", "archive", &token, &terms);
        let again = room.by("bob", ["done", &token].into_iter().chain(plain)).exits(code);
        assert!(again.out.starts_with("sent before ") || code == 4, "{again:?}");
        assert_eq!((room.files("alice", "inbox").len(), room.files("alice", "archive").len()), (0, 1));
        if code == 4 {
            room.by("bob", ["done", &token]).succeeds();
        }
    }
}

/// The state in which an interruption leaves a claim whose last step was not done.
fn put_back(room: &TestRoom, name: &str, folder: &str, token: &str, terms: &[u8]) {
    let file = room.files(name, folder).pop().unwrap();
    let claimed = room.folder(name, "claimed").join(token);
    room.bash(&format!("umask 077; mkdir -p '{}'", claimed.display())).succeeds();
    std::fs::write(claimed.join("claim.json"), terms).unwrap();
    crate::support::hand::tighten(&claimed.join("claim.json"));
    std::fs::rename(room.folder(name, folder).join(&file), claimed.join(&file)).unwrap();
}

#[test]
fn a_sender_whom_a_hand_wrote_by_name_is_told_too() {
    // `reply` finds such a sender; a failure must not be quieter than an answer.
    let room = TestRoom::with(&["alice", "bob"]);
    room.place("bob", "job.md", by_hand("alice", "abcd1111", "job", "x"));
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["fail", &token, "--reason", "no such file"]).succeeds();
    assert_eq!(all_mail(&room, "alice").len(), 1);
}

#[test]
fn that_nobody_could_be_told_is_said() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.place("bob", "job.md", by_hand("a stranger", "abcd1111", "job", "x"));
    let token = claim(&room, "bob", &[]);
    let ran = room.by("bob", ["fail", &token, "--reason", "x"]).succeeds();
    assert!(ran.err.contains("a stranger"), "no bounce, and not a word about it: {ran:?}");
    assert_eq!(room.files("bob", "failed"), ["job.md"], "the message is given up nevertheless");

    room.limit("mailbox_messages = 1");
    let token = {
        room.send("alice", "bob", "job");
        claim(&room, "bob", &[])
    };
    room.send("bob", "alice", "fills it");
    let ran = room.by("bob", ["fail", &token, "--reason", "x"]).exits(4);
    assert!(ran.err.contains("alice"), "a full mailbox got no bounce, and not a word about it: {ran:?}");
    assert_eq!(room.files("bob", "failed").len(), 1, "it is given up when its sender was told");
    room.by("alice", ["read"]).succeeds();
    room.by("bob", ["fail", &token, "--reason", "x"]).succeeds();
    assert_eq!((room.files("bob", "failed").len(), room.headers("alice").len()), (2, 1));
}

#[test]
fn a_reason_is_one_harmless_line() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    let reason = "first\nfrom: root\n---\n\u{1b}[2J\u{202e}last";
    room.by("bob", ["fail", &token, "--reason", reason]).succeeds();
    let body = all_mail(&room, "alice").remove(0)["body"].as_str().unwrap().to_owned();
    assert_eq!(body.lines().count(), 2, "{body:?}");
    assert!(!body.contains('\u{1b}') && !body.contains('\u{202e}') && body.contains("last"), "{body:?}");
    for arguments in [["failed", "list"].as_slice(), &["failed", "show", &id], &["trace", &id]] {
        let shown = room.by("bob", arguments.iter().copied()).succeeds().out;
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{arguments:?}: {shown:?}");
        assert!(!shown.lines().any(|line| line == "from: root"), "{arguments:?}: {shown}");
    }
}

#[test]
fn the_bounce_of_a_queue_comes_from_the_queue() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    room.send("alice", "jobs", "job");
    let token = claim(&room, "bob", &["--queue", "jobs"]);
    room.by("bob", ["fail", &token, "--reason", "x"]).succeeds();
    assert_eq!(all_mail(&room, "alice").remove(0)["from"]["name"], "jobs");
    assert!(room.by("jobs", ["failed", "list"]).succeeds().out.contains(" attempts=1 x: job\n"));
    room.by("bob", ["failed", "list"]).exits(1);
}

#[test]
fn a_bounce_is_no_reply_in_the_trace() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    room.by("bob", ["fail", &token, "--reason", "no such file"]).succeeds();
    for journal in [true, false] {
        if !journal {
            std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
        }
        let trace = room.by("alice", ["trace", &id]).succeeds().out;
        assert!(trace.contains("at bob: failed: no such file\n"), "{trace}");
        assert!(!trace.contains("answered by"), "nobody answered (journal: {journal}): {trace}");
    }
}
