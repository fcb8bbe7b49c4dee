//! `claim`, `done`, `release`: a message is taken with a lease, and finished or given back by the holder of its token.

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;
use crate::support::taken::{claim, claim_json, ends, taken, terms};

#[test]
fn a_message_is_taken_shown_and_finished() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.by("alice", ["send", "bob", "-s", "job one"]).input("Do this.\n").succeeds();
    let shown = room.by("bob", ["claim"]).succeeds();
    insta::assert_snapshot!(mask(&shown.out, &room.root()), @r"
    <id> <age> alice (unverified): job one
    note: claimed as <fence> until <time>, attempt 1
    to finish: postroom --root <room> --as bob done <fence>  # -m TEXT answers it
    [<id>: 9 bytes]
    Do this.
    [<id> end]
    ");
    assert_eq!(shown.err, "");
    assert!(room.files("bob", "inbox").is_empty(), "what is taken is not unread");
    let token = room.files("bob", "claimed").pop().unwrap();
    assert!(shown.out.contains(&format!(" --as bob done {token} ")), "{}", shown.out);
    assert_eq!(room.files("bob", &format!("claimed/{token}")).len(), 2, "the message and its terms");

    assert_eq!(room.by("bob", ["done", &token]).succeeds().out, format!("done {token}\n"));
    assert_eq!((room.files("bob", "archive").len(), room.files("bob", "claimed").len()), (1, 0));
    assert!(room.files("alice", "inbox").is_empty(), "no answer was given, so none is sent");
}

#[test]
fn a_room_with_a_claim_in_it_is_sound() {
    let room = TestRoom::with(&["alice", "bob"]);
    taken(&room, "alice", "bob", "job");
    let looked = room.run(["doctor", "--strict"]).ends();
    assert_eq!((looked.code, looked.out.as_str()), (0, ""));
}

#[test]
fn nothing_to_take_is_silence_and_exit_1() {
    let room = TestRoom::with(&["alice", "bob"]);
    let ran = room.by("bob", ["claim"]).exits(1);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    room.send("alice", "bob", "job");
    room.by("bob", ["claim", "--from", "bob"]).exits(1);
    assert_eq!(room.files("bob", "inbox").len(), 1);
    assert!(room.files("bob", "claimed").is_empty(), "a look that finds nothing leaves nothing");
}

#[test]
fn the_most_urgent_goes_first_and_then_the_oldest() {
    let room = TestRoom::with(&["alice", "bob"]);
    let first = room.send("alice", "bob", "first");
    let second = room.send("alice", "bob", "second");
    room.by("alice", ["send", "bob", "-m", "now", "--priority", "urgent"]).succeeds();
    let order: Vec<String> = (0..3)
        .map(|_| {
            let taken = claim_json(&room, "bob", &[]);
            room.by("bob", ["done", taken["claim"]["token"].as_str().unwrap()]).succeeds();
            taken["messages"][0]["id"].as_str().unwrap()[..8].to_owned()
        })
        .collect();
    assert_eq!(order[1..], [first, second]);
}

#[test]
fn a_filter_chooses_what_is_taken() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    room.send("alice", "bob", "of alice");
    room.send("carol", "bob", "of carol");
    room.by("alice", ["send", "bob", "-m", "of the build", "--channel", "build"]).succeeds();
    let asked = room.send("bob", "carol", "question");
    room.by("carol", ["reply", &asked, "-m", "answer"]).succeeds();
    for (filter, body) in [
        (["--channel", "build"], "of the build"),
        (["--reply-to", asked.as_str()], "answer"),
        (["--from", "carol"], "of carol"),
    ] {
        let taken = claim_json(&room, "bob", &filter);
        assert_eq!(taken["messages"][0]["body"], body, "{filter:?}");
        room.by("bob", ["done", taken["claim"]["token"].as_str().unwrap()]).succeeds();
    }
    let ran = room.by("bob", ["claim", "--from", "nobody"]).exits(3);
    assert!(ran.err.contains("names here: alice, bob, carol"), "{}", ran.err);
}

#[test]
fn one_message_can_be_named_if_it_is_unread() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "first");
    let second = room.send("alice", "bob", "second");
    let token = claim(&room, "bob", &[&second]);
    let before = room.tree();
    let ran = room.by("bob", ["claim", &second]).exits(4);
    assert!(ran.err.contains("is not unread: it is in claimed"), "{}", ran.err);
    room.by("bob", ["claim", "0000dead"]).exits(3);
    room.by("bob", ["claim", "12"]).exits(2);
    room.is_still(&before, "claims that were refused");
    room.by("bob", ["done", &token]).succeeds();
    let ran = room.by("bob", ["claim", &second]).exits(4);
    assert!(ran.err.contains("it is in archive"), "{}", ran.err);
    assert_eq!(room.files("bob", "inbox").len(), 1, "the other one was never touched");
}

#[test]
fn done_with_a_text_answers_the_sender_first() {
    let room = TestRoom::with(&["alice", "bob"]);
    let sent = room.by("alice", ["send", "bob", "-s", "q", "-m", "?", "--channel", "build", "--json"]).json();
    let id = sent["receipts"][0]["id"].as_str().unwrap();
    let token = claim(&room, "bob", &[]);
    let ran = room.by("bob", ["done", &token, "-m", "the answer"]).succeeds();
    insta::assert_snapshot!(mask(&ran.out, &room.root()), @"queued <id> for alice: re: q");
    let answer = room.by("alice", ["read", "--json"]).json()["messages"][0].clone();
    assert_eq!(
        (&answer["reply_to"], &answer["channel"], &answer["body"], &answer["from"]["name"]),
        (&id.into(), &"build".into(), &"the answer".into(), &"bob".into())
    );
    assert_eq!(room.files("bob", "archive").len(), 1);
    let again = room.by("bob", ["done", &token, "-m", "the answer"]).exits(3);
    assert_eq!(again.out, "", "{}", again.err);
    room.by("alice", ["check"]).exits(1);
}

#[test]
fn a_done_whose_answer_is_refused_finishes_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (_, token) = taken(&room, "alice", "bob", "job");
    let before = room.tree();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    for (arguments, code) in [
        (vec!["-m", " \n"], 4),
        (vec!["-m", &secret], 4),
        (vec!["-m", "x", "-s", "a\nb"], 4),
        (vec!["--file", "/nowhere"], 4),
        (vec!["-m", "x", "--id", "../x"], 4),
    ] {
        room.by("bob", ["done", &token].into_iter().chain(arguments.iter().copied())).exits(code);
        room.is_still(&before, &format!("done {arguments:?}"));
    }
    room.by("bob", ["done", &token, "-m", "all is well"]).succeeds();
}

#[test]
fn a_sender_who_cannot_be_answered_does_not_block_the_queue() {
    let room = TestRoom::with(&["bob"]);
    room.place("bob", "job.md", by_hand("a stranger", "abcd1111", "job", "do it"));
    let token = claim(&room, "bob", &[]);
    let before = room.tree();
    let ran = room.by("bob", ["done", &token, "-m", "an answer"]).ends();
    assert!([3, 4].contains(&ran.code) && ran.err.contains("a stranger"), "{ran:?}");
    room.is_still(&before, "an answer to nobody");
    room.by("bob", ["done", &token]).succeeds();
    assert_eq!(room.files("bob", "archive"), ["job.md"]);
}

#[test]
fn what_is_given_back_is_unread_at_once_and_counts_as_no_attempt() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "job");
    let ran = room.by("bob", ["release", &token, "--reason", "not today"]).succeeds();
    assert_eq!(ran.out, format!("released {token}\n"));
    assert!(room.by("bob", ["check"]).succeeds().out.starts_with(&id));
    assert_eq!(ends(&room, "bob"), ["released"]);
    let again = claim_json(&room, "bob", &[]);
    assert_eq!(again["claim"]["attempt"], 1, "{again}");
    let ran = room.by("bob", ["release", &token]).exits(3);
    assert!(ran.err.contains("it ended at ") && ran.err.contains("released"), "{}", ran.err);
    room.by("bob", ["done", again["claim"]["token"].as_str().unwrap()]).succeeds();
}

#[test]
fn a_lease_can_be_made_longer_by_its_owner() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    let token = claim(&room, "bob", &["--lease", "60s"]);
    let before = terms(&room, "bob", &token);
    let ran = room.by("bob", ["claim", "--renew", &token, "--lease", "2h"]).succeeds();
    assert_eq!(mask(&ran.out, &room.root()), "renewed <fence> until <time>\n");
    let after = terms(&room, "bob", &token);
    let longer = after["until_ms"].as_u64().unwrap() - before["until_ms"].as_u64().unwrap();
    assert!((7_100_000..7_200_000).contains(&longer), "{longer} ms");
    assert_eq!(after["attempt"], 1, "it is the same attempt");
    let state = room.by("alice", ["trace", &id]).succeeds().out;
    assert!(state.contains(after["ends"].as_str().unwrap()), "{state}");
    let ran = room.by("bob", ["claim", "--renew", "0123456789abcdef"]).exits(3);
    assert!(ran.err.contains("there is no claim 0123456789abcdef"), "{}", ran.err);
    room.by("bob", ["claim", &id, "--renew", &token]).exits(2);
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn a_claim_that_nobody_saw_is_given_back() {
    // Nobody knows its token, so it would only block the message until the lease ends.
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    let output = room.by("bob", ["claim"]).closed_pipe().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(room.files("bob", "inbox").len(), 1, "a closed pipe");
    for nowhere in ["postroom --as bob claim >/dev/null", "postroom --as bob claim >&-"] {
        let ran = room.bash(nowhere).ends();
        assert_eq!((ran.code, room.files("bob", "inbox").len()), (5, 1), "{nowhere}: {}", ran.err);
    }
}

#[test]
fn what_cannot_be_read_is_put_aside_on_the_way_to_the_next() {
    let room = TestRoom::with(&["alice", "bob"]).leaves_faults();
    room.place("bob", "00-broken.md", crate::support::hand::BROKEN);
    room.send("alice", "bob", "good");
    let ran = room.by("bob", ["claim"]).succeeds();
    assert!(ran.out.contains("\ngood\n"), "{}", ran.out);
    assert!(ran.err.contains("unreadable, now in quarantine: 00-broken.md"), "{}", ran.err);
    assert_eq!(room.files("bob", "quarantine"), ["00-broken.md"]);
}

#[test]
fn claimed_mail_can_still_be_shown_and_answered() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (id, token) = taken(&room, "alice", "bob", "a long job");
    let shown = room.by("bob", ["read", &id, "--json"]).json();
    assert_eq!(
        (&shown["messages"][0]["was"], &shown["messages"][0]["body"]),
        (&"claimed".into(), &"a long job".into())
    );
    room.by("bob", ["reply", &id, "-m", "I am at it"]).succeeds();
    assert_eq!(room.by("alice", ["check", "--count"]).succeeds().out, "1\n");
    assert_eq!(room.files("bob", "claimed"), [token.as_str()], "an answer on the way does not end the claim");
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn filing_a_message_away_does_not_take_it_from_its_claimer() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let id = room.send("alice", "bob", "job");
    let token = claim(&room, "carol", &["--queue", "bob"]);
    let ran = room.by("bob", ["archive", &id]).exits(4);
    assert!(ran.err.contains("claimed"), "{}", ran.err);
    room.by("carol", ["done", &token]).succeeds();
}
