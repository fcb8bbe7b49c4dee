//! What moves while others look: a message that goes from folder to folder is neither missed nor taken twice, and
//! a claim that comes and goes disturbs nobody.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::support::hand::tighten;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, claim_json, taken, terms_path};
use crate::support::until::{skip, until};

#[test]
fn claims_that_come_and_go_disturb_nobody_who_looks() {
    let room = TestRoom::with(&["alice", "jobs", "w0", "w1", "w2"]);
    let ids: Vec<String> = (0..3).map(|n| room.send("alice", "jobs", &format!("job {n}"))).collect();
    let busy = AtomicBool::new(true);
    let (room, ids, busy) = (&room, &ids, &busy);
    std::thread::scope(|scope| {
        let workers: Vec<_> = ["w0", "w1", "w2"]
            .into_iter()
            .map(|worker| {
                scope.spawn(move || {
                    for _ in 0..25 {
                        let ran = room.by(worker, ["claim", "--queue", "jobs", "--json"]).ends();
                        assert!([0, 1].contains(&ran.code), "{ran:?}");
                        let told: Value = serde_json::from_str(&ran.out).unwrap();
                        if let Some(token) = told["claim"]["token"].as_str() {
                            room.by(worker, ["release", token]).succeeds();
                        }
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            while busy.load(Ordering::Acquire) {
                for arguments in [
                    vec!["check"],
                    vec!["search", "job"],
                    vec!["trace", &ids[0]],
                    vec!["thread", &ids[1]],
                    vec!["send", "jobs", "--id", "cafe0001", "-m", "once", "-q"],
                    vec!["doctor"],
                ] {
                    let ran = room.by("jobs", arguments.clone()).ends();
                    assert!([0, 1].contains(&ran.code), "{arguments:?}: {ran:?}");
                }
            }
        });
        let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        busy.store(false, Ordering::Release);
        ends.into_iter().for_each(|end| end.unwrap());
    });
    let mut left: Vec<String> = room.files("jobs", "inbox").iter().map(|f| f[17..25].to_owned()).collect();
    left.sort();
    let mut all: Vec<String> = ids.iter().cloned().chain(["cafe0001".to_owned()]).collect();
    all.sort();
    assert_eq!(left, all, "everything is there, once");
}

/// A command whose looks into one directory take a second each, from the `nth` on.
struct Slow {
    child: Child,
    log: PathBuf,
}

impl Slow {
    /// Starts it; `None`, and a word to who watches, where commands cannot be slowed down.
    fn start(room: &TestRoom, test: &str, directory: &Path, nth: u32, command: &str) -> Option<Self> {
        let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
        if !traced.is_ok_and(|status| status.success()) {
            skip(test, "strace is not there or not allowed");
            return None;
        }
        let log = room.around().join("calls");
        let script = format!(
            "exec strace -y -o '{}' -P '{}' -e trace=openat,getdents64 -e inject=getdents64:delay_enter=1000000:when={nth}+ postroom {command}",
            log.display(),
            directory.display(),
        );
        Some(Self { child: room.bash(&script).start(), log })
    }

    /// Returns once its calls are so far.
    fn until(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        until(what, || {
            let ended = self.child.try_wait().unwrap().is_some();
            ended || std::fs::read_to_string(&self.log).is_ok_and(|log| holds(&log))
        });
    }

    fn end(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn a_claim_that_is_just_being_made_is_not_given_back() {
    // The look finds no terms; before it looks for a message, the claimer has written them and moved it in.
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, other) = taken(&room, "alice", "bob", "another job");
    let terms = std::fs::read_to_string(terms_path(&room, "bob", &other)).unwrap();
    room.by("bob", ["done", &other]).succeeds();
    room.send("alice", "bob", "job");
    let file = room.files("bob", "inbox").pop().unwrap();
    let own = room.folder("bob", "claimed").join("0123456789abcdef");
    room.bash(&format!("umask 077; mkdir '{}'", own.display())).succeeds();
    let Some(mut looking) =
        Slow::start(&room, "a_claim_that_is_just_being_made_is_not_given_back", &own, 1, "--as bob check")
    else {
        return;
    };
    looking.until("the look for terms", |log| log.contains("claim.json") || log.contains("getdents64"));
    let mut terms: Value = serde_json::from_str(&terms).unwrap();
    terms["file"] = file.as_str().into();
    std::fs::write(own.join("claim.json"), terms.to_string()).unwrap();
    tighten(&own.join("claim.json"));
    std::fs::rename(room.folder("bob", "inbox").join(&file), own.join(&file)).unwrap();
    looking.end();
    assert!(own.join(&file).exists(), "it was taken from its claimer: {:?}", room.files("bob", "inbox"));
    room.by("bob", ["done", "0123456789abcdef"]).succeeds();
}

#[test]
fn a_claim_that_ends_while_doctor_looks_is_no_fault() {
    // It finds the message; before it looks for the terms, both are gone.
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    let own = room.folder("bob", "claimed").join(&token);
    let test = "a_claim_that_ends_while_doctor_looks_is_no_fault";
    let Some(mut looking) = Slow::start(&room, test, &own, 2, "doctor") else { return };
    looking.until("the first look", |log| log.contains("getdents64"));
    room.by("bob", ["release", &token]).succeeds();
    let (code, err) = looking.end();
    assert!([Some(0), Some(1)].contains(&code), "{code:?}: {err}");
}

#[test]
fn a_retry_finds_what_goes_back_to_the_inbox_meanwhile() {
    // The inbox was looked into while the message was claimed; the claim is looked into when it is unread again.
    for nth in 1..=5 {
        let room = TestRoom::with(&["alice", "bob"]);
        let again = "--as alice send bob --id cafe0001 -m once";
        room.bash(&format!("postroom {again}")).succeeds();
        let token = claim(&room, "bob", &[]);
        let own = room.folder("bob", "claimed").join(&token);
        let Some(mut sending) =
            Slow::start(&room, "a_retry_finds_what_goes_back_to_the_inbox_meanwhile", &own, nth, again)
        else {
            return;
        };
        let looks = usize::try_from(nth).unwrap() - 1;
        sending.until("the look into the claim", |log| {
            log.matches("getdents64").count() >= looks && log.matches(&token).count() >= 1
        });
        room.by("bob", ["release", &token]).succeeds();
        let (code, err) = sending.end();
        assert_eq!(code, Some(0), "at look {nth}: {err}");
        assert_eq!(room.files("bob", "inbox").len(), 1, "at look {nth}: it was delivered twice");
    }
}

#[test]
fn nobody_takes_what_another_takes_at_the_same_moment() {
    let room = TestRoom::with(&["alice", "jobs", "w0", "w1", "w2", "w3"]);
    for round in 0..4 {
        let id = room.send("alice", "jobs", &format!("job {round}"));
        let running: Vec<_> = ["w0", "w1", "w2", "w3"]
            .iter()
            .map(|worker| room.by(worker, ["claim", &id, "--queue", "jobs", "--json"]).start())
            .collect();
        let codes: Vec<_> =
            running.into_iter().map(|c| c.wait_with_output().unwrap().status.code()).collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        // Too late is nothing there, or said to be taken already: never a failure of the disk.
        assert!(codes.iter().all(|code| [Some(0), Some(1), Some(3), Some(4)].contains(code)), "{codes:?}");
        let token = room.files("jobs", "claimed").pop().unwrap();
        let owner = crate::support::taken::terms(&room, "jobs", &token)["owner"].as_str().unwrap().to_owned();
        room.by(&owner, ["done", &token]).succeeds();
    }
    room.send("alice", "jobs", "last");
    let told = claim_json(&room, "w0", &["--queue", "jobs"]);
    assert_eq!(told["claim"]["attempt"], 1, "a claim that came too late does not count");
    room.by("w0", ["done", told["claim"]["token"].as_str().unwrap()]).succeeds();
}
