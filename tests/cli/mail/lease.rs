//! Leases: measured on the boot clock, ended by time or by a new boot; what is over goes back by itself, with its
//! attempt counted, and its old holder finds nothing under the token.

use crate::support::hand::tighten;
use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::taken::{
    attempts, claim, claim_json, end_lease, ends, set_term, taken, terms, terms_path, until_over,
};
use crate::support::until::{until, until_watching};

#[test]
fn a_lease_that_ends_gives_the_message_back_with_its_attempt_counted() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    let token = claim(&room, "bob", &["--lease", "1s"]);
    room.by("bob", ["check"]).exits(1);
    until("the message is back", || room.by("bob", ["check", "--count"]).ends().out == "1\n");
    assert!(room.files("bob", "claimed").is_empty(), "nothing is left of the claim");
    assert_eq!(ends(&room, "bob"), ["expired"]);
    let ran = room.by("bob", ["done", &token]).exits(3);
    assert!(ran.err.contains("it ended at ") && ran.err.contains(": expired"), "{}", ran.err);
    let again = claim_json(&room, "bob", &[]);
    assert_eq!((&again["claim"]["attempt"], &again["messages"][0]["body"]), (&2.into(), &"job".into()));
    let trace = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(trace.contains("attempt 2\n") && trace.contains(" expired\n"), "{trace}");
    room.by("bob", ["done", again["claim"]["token"].as_str().unwrap()]).succeeds();
}

#[test]
fn done_after_another_took_it_does_nothing_to_the_other() {
    let room = TestRoom::with(&["alice", "jobs", "bob", "carol"]);
    room.send("alice", "jobs", "job");
    let stale = claim(&room, "bob", &["--queue", "jobs"]);
    end_lease(&room, "jobs", &stale);
    let fresh = claim(&room, "carol", &["--queue", "jobs"]);
    let before = room.tree();
    for arguments in [
        vec!["done", &stale],
        vec!["done", &stale, "-m", "too late"],
        vec!["release", &stale],
        vec!["fail", &stale, "--reason", "x"],
        vec!["claim", "--renew", &stale],
    ] {
        let ran = room.by("bob", arguments.clone()).exits(3);
        assert!(
            ran.err.contains(&format!("there is no claim {stale}: it ended at ")),
            "{arguments:?}: {}",
            ran.err
        );
        room.is_still(&before, &format!("{arguments:?} with a stale token"));
    }
    room.by("carol", ["done", &fresh, "-m", "in time"]).succeeds();
    let answers = room.by("alice", ["check"]).succeeds().out;
    assert!(answers.lines().count() == 1 && answers.contains(" carol "), "{answers}");
}

#[test]
fn what_is_over_and_was_not_taken_by_others_can_still_be_finished() {
    // The first to move the message out of the claim decides; nobody was quicker, and the work is done.
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    end_lease(&room, "bob", &token);
    room.by("bob", ["done", &token]).succeeds();
    assert_eq!(room.files("bob", "archive").len(), 1);
    assert!(room.files("bob", "attempts").is_empty(), "it was no attempt in vain");
}

#[test]
fn the_boot_clock_decides_and_on_another_host_the_wall_clock() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (key, value, over) in [
        ("until_ms", serde_json::json!(0), true),
        ("boot", "another boot".into(), true),
        ("host", "another-host".into(), false),
        // On this host the wall clock says nothing: anyone may set it.
        ("ends", "2001-01-01T00:00:00Z".into(), false),
    ] {
        let (id, token) = taken(&room, "alice", "bob", "job");
        set_term(&room, "bob", &token, key, value);
        let there = room.by("bob", ["check"]).ends().out.contains(&id);
        assert_eq!(there, over, "{key}");
        if over {
            room.by("bob", ["archive", &id]).succeeds();
        } else {
            room.by("bob", ["done", &token]).succeeds();
        }
    }
    let (id, token) = taken(&room, "alice", "bob", "job");
    set_term(&room, "bob", &token, "host", "another-host");
    set_term(&room, "bob", &token, "ends", "2001-01-01T00:00:00Z");
    assert!(
        room.by("bob", ["check"]).succeeds().out.starts_with(&id),
        "another host's lease that has passed"
    );
}

#[test]
fn the_terms_say_who_until_when_and_which_attempt() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    room.send("alice", "jobs", "job");
    let told = claim_json(&room, "bob", &["--queue", "jobs", "--lease", "45m"]);
    let token = told["claim"]["token"].as_str().unwrap();
    let terms = terms(&room, "jobs", token);
    assert_eq!((&terms["v"], &terms["attempt"]), (&1.into(), &1.into()));
    assert_eq!(terms["owner"], room.id("bob").as_str());
    assert_eq!(terms["file"].as_str().unwrap(), told["messages"][0]["file"].as_str().unwrap());
    assert_eq!(terms["ends"], told["claim"]["until"]);
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(terms["boot"], boot.trim());
    assert!(!terms["host"].as_str().unwrap().is_empty());
    room.by("bob", ["done", token]).succeeds();
}

#[test]
fn every_look_at_the_mailbox_gives_back_what_is_over() {
    for arguments in [
        vec!["check"],
        vec!["check", "--count"],
        vec!["wait", "--timeout", "0"],
        vec!["wait", "--timeout", "0", "--from", "alice"],
        vec!["claim"],
        // An agent that only ever reads would otherwise never see it again.
        vec!["read"],
    ] {
        let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
        let (_, token) = taken(&room, "alice", "bob", "job");
        end_lease(&room, "bob", &token);
        let ran = room.by("bob", arguments.clone()).ends();
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        assert_eq!(ends(&room, "bob"), ["expired"], "{arguments:?}");
    }
}

#[test]
fn another_s_look_gives_it_back_too() {
    let room = TestRoom::with(&["alice", "jobs", "bob", "carol"]);
    room.send("alice", "jobs", "job");
    let token = claim(&room, "bob", &["--queue", "jobs"]);
    room.by("carol", ["claim", "--queue", "jobs"]).exits(1);
    end_lease(&room, "jobs", &token);
    let again = claim_json(&room, "carol", &["--queue", "jobs"]);
    assert_eq!(again["claim"]["attempt"], 2);
    assert_eq!(attempts(&room, "jobs")[0]["owner"], room.id("bob").as_str(), "it was bob's attempt");
    room.by("carol", ["done", again["claim"]["token"].as_str().unwrap()]).succeeds();
}

#[test]
fn a_waiter_wakes_when_a_lease_ends() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = {
        let id = room.send("alice", "bob", "job");
        (id, claim(&room, "bob", &["--lease", "1s"]))
    };
    let waiting = room.by("bob", ["wait", "--timeout", "60"]).start();
    until_watching(&waiting);
    let output = waiting.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(0) && out.starts_with(&id), "{out}");
    assert_eq!(ends(&room, "bob"), ["expired"]);
    room.by("bob", ["done", &token]).exits(3);
}

#[test]
fn a_look_that_comes_before_the_end_gives_nothing_back() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    let token = claim(&room, "bob", &["--lease", "0.2s"]);
    until_over(&room, "bob", &token);
    room.by("bob", ["claim", "--renew", &token, "--lease", "1h"]).succeeds();
    room.by("bob", ["check"]).exits(1);
    assert!(room.files("bob", "attempts").is_empty());
    room.by("bob", ["done", &token]).succeeds();
    assert!(room.files("bob", "archive")[0].contains(&id));
}

#[test]
fn a_claim_without_readable_terms_gives_its_message_back() {
    // After a power cut the terms may be empty or torn; their owner did not survive it either.
    for torn in ["", "{\"v\":1,\"own", "[]", "\0\0\0"] {
        let room = TestRoom::with(&["alice", "bob"]);
        let (id, token) = taken(&room, "alice", "bob", "job");
        let path = terms_path(&room, "bob", &token);
        std::fs::write(&path, torn).unwrap();
        tighten(&path);
        assert!(room.by("bob", ["check"]).succeeds().out.starts_with(&id), "{torn:?}");
        assert!(room.files("bob", "claimed").is_empty(), "{torn:?}");
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    std::fs::remove_file(terms_path(&room, "bob", &token)).unwrap();
    assert!(room.by("bob", ["check"]).succeeds().out.starts_with(&id), "no terms at all");
}

#[test]
fn a_claimer_that_died_between_two_steps_blocks_nothing() {
    // Killed after the directory was made and before the message was moved into it.
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    let half = room.folder("bob", "claimed").join("0123456789abcdef");
    room.bash(&format!("umask 077; mkdir -p '{}'", half.display())).succeeds();
    assert_eq!(room.by("bob", ["check", "--count"]).succeeds().out, "1\n");
    let token = claim(&room, "bob", &[]);
    room.by("bob", ["done", &token]).succeeds();
    crate::support::hand::age(&half, 37 * 3600);
    room.by("bob", ["check"]).exits(1);
    assert!(!half.exists(), "what is old and empty goes with the next look");
}

#[test]
fn one_claim_is_one_attempt_however_often_its_end_was_noted() {
    // format.md §5.5: the tries of a message are its *tokens* with `expired` or `failed`.
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    end_lease(&room, "bob", &token);
    room.by("bob", ["check"]).succeeds();
    let path = room.folder("bob", "attempts").join(&room.files("bob", "attempts")[0]);
    let line = std::fs::read_to_string(&path).unwrap();
    // A failing owner and a look at the mailbox may both have noted the end, in any order and more than once.
    std::fs::write(&path, format!("{line}{}{line}", line.replace("expired", "failed"))).unwrap();
    let again = claim_json(&room, "bob", &[]);
    assert_eq!(again["claim"]["attempt"], 2, "{again}");
    room.by("bob", ["done", again["claim"]["token"].as_str().unwrap()]).succeeds();
}

#[test]
fn a_span_that_is_none_is_a_mistake_of_usage() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    for span in ["soon", "-1s", "", "1y", "99999w"] {
        let ran = room.by("bob", ["claim", &format!("--lease={span}")]).exits(2);
        assert!(ran.err.contains("--lease"), "{span}: {}", ran.err);
    }
    assert_eq!(room.files("bob", "inbox").len(), 1);
    let token = claim(&room, "bob", &["--lease", "1.5h"]);
    let told = mask(&room.by("bob", ["release", &token]).succeeds().out, &room.root());
    assert_eq!(told, "released <fence>\n");
}
