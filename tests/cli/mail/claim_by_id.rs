//! A lost token: `done`, `fail`, `release` and `claim --renew` take the id of a message instead, and only for the claim
//! that this mailbox holds now. `trace` says who has it, until when, and how it is finished.

use crate::support::pasted::commands;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, end_lease, set_term, taken, terms};

#[test]
fn the_id_stands_for_the_claim_that_this_mailbox_holds() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "one");
    let renewed = room.by("bob", ["claim", "--renew", &id, "--lease", "2h", "--json"]).json();
    assert_eq!((renewed["token"].as_str(), &renewed["state"]), (Some(token.as_str()), &"renewed".into()));
    assert_eq!(renewed["until"], terms(&room, "bob", &token)["ends"]);
    assert_eq!(room.by("bob", ["release", &id]).succeeds().out, format!("released {id}\n"));
    claim(&room, "bob", &[]);
    assert_eq!(room.by("bob", ["done", &id[..4]]).succeeds().out, format!("done {}\n", &id[..4]));
    // A whole id, and a mailbox that is not the claimer's own.
    let sent = room.by("alice", ["send", "jobs", "-m", "two", "--json"]).json();
    let whole = sent["receipts"][0]["id"].as_str().unwrap();
    claim(&room, "bob", &["--queue", "jobs"]);
    room.by("bob", ["done", whole, "-m", "the answer"]).succeeds();
    assert!(room.by("alice", ["read"]).succeeds().out.contains("the answer"));
    let (id, _) = taken(&room, "alice", "bob", "three");
    room.by("bob", ["fail", &id, "--reason", "too hard"]).succeeds();
    assert!(room.by("alice", ["read"]).succeeds().out.contains("too hard"));
}

#[test]
fn the_claim_of_another_is_refused_with_its_holder() {
    let room = TestRoom::with(&["alice", "jobs", "bob", "carol"]);
    let id = room.send("alice", "jobs", "job");
    let token = claim(&room, "bob", &["--queue", "jobs"]);
    let until = terms(&room, "jobs", &token)["ends"].as_str().unwrap().to_owned();
    let before = room.tree();
    for by in ["carol", "jobs", "alice"] {
        for arguments in [
            vec!["done", &id],
            vec!["done", &id, "-m", "x"],
            vec!["fail", &id, "--reason", "x"],
            vec!["release", &id],
        ] {
            let ran = room.by(by, arguments.clone()).exits(4);
            let says = format!("`{id}` is claimed by `bob` until {until}");
            assert!(ran.err.contains(&says), "{by} {arguments:?}: {}", ran.err);
            room.is_still(&before, &format!("{arguments:?} by {by}"));
        }
    }
    room.by("bob", ["done", &id]).succeeds();
    let ran = room.by("bob", ["done", &id]).exits(3);
    assert!(ran.err.contains(&format!("there is no claim {id}")), "{}", ran.err);
}

#[test]
fn a_stale_worker_cannot_finish_what_was_given_to_another() {
    let room = TestRoom::with(&["alice", "jobs", "bob", "carol"]);
    let id = room.send("alice", "jobs", "job");
    let stale = claim(&room, "bob", &["--queue", "jobs"]);
    end_lease(&room, "jobs", &stale);
    let before = room.tree();
    let ran = room.by("bob", ["done", &id]).exits(3);
    assert!(ran.err.contains("is not claimed any more: its lease ended at "), "{}", ran.err);
    room.is_still(&before, "the id of a claim that is over");
    claim(&room, "carol", &["--queue", "jobs"]);
    let before = room.tree();
    let ran = room.by("bob", ["done", &id, "-m", "too late"]).exits(4);
    assert!(ran.err.contains("is claimed by `carol`"), "{}", ran.err);
    room.by("bob", ["done", &stale]).exits(3);
    room.is_still(&before, "a stale worker");
    room.by("carol", ["done", &id]).succeeds();
}

#[test]
fn a_run_of_the_dispatcher_ends_its_claim_itself() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    set_term(&room, "bob", &token, "run", "r-1");
    let before = room.tree();
    let ran = room.by("bob", ["done", &id]).exits(4);
    assert!(ran.err.contains("is claimed by the run r-1 of `bob`"), "{}", ran.err);
    room.is_still(&before, "the id of what a run works on");
    set_term(&room, "bob", &token, "run", "");
    room.by("bob", ["done", &id]).succeeds();
}

#[test]
fn an_unread_message_and_one_claimed_twice_are_no_claim_to_end() {
    let room = TestRoom::with(&["alice", "jobs", "bob"]);
    let unread = room.send("alice", "bob", "unread");
    let ran = room.by("bob", ["done", &unread]).exits(4);
    assert!(ran.err.contains("is not claimed: it is in inbox"), "{}", ran.err);
    let hint = commands(&ran.err).next().unwrap();
    assert!(hint.ends_with(&format!("claim {unread}")), "{hint}");
    room.paste(&hint).succeeds();
    // Copies share their id.
    let sent = room.by("alice", ["send", "jobs", "bob", "-m", "to two"]).succeeds().out;
    let id = sent.split(' ').nth(1).unwrap();
    let tokens = [claim(&room, "bob", &[id]), claim(&room, "bob", &["--queue", "jobs"])];
    let ran = room.by("bob", ["done", id]).exits(4);
    assert!(ran.err.contains("fits several claims"), "{}", ran.err);
    for token in &tokens {
        assert!(ran.err.contains(token), "{}", ran.err);
        room.by("bob", ["done", token]).succeeds();
    }
}

#[test]
fn trace_says_who_has_it_and_how_its_holder_finishes_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    let until = terms(&room, "bob", &token)["ends"].as_str().unwrap().to_owned();
    let says = format!("at bob: claimed by bob until {until}, attempt 1\n");
    let others = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(others.contains(&says) && !others.contains("to finish"), "{others}");
    let own = room.by("bob", ["trace", &id]).succeeds().out;
    let finish = commands(&own).next().unwrap_or_else(|| panic!("{own}"));
    assert!(own.contains(&says) && finish.ends_with(&format!("done {id}")), "{own}");
    assert!(room.paste(&finish).succeeds().out.contains("done"));
}
