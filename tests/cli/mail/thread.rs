//! `thread`: a whole conversation over all mailboxes, as a tree, from any of its messages.

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::TestRoom;

/// Answers as somebody, and gives the digits of the answer's id.
fn answer(room: &TestRoom, by: &str, id: &str, text: &str) -> String {
    let out = room.by(by, ["reply", id, "-m", text]).succeeds().out;
    out.split(' ').nth(1).unwrap().to_owned()
}

/// A message by hand that answers another.
fn place_answer(room: &TestRoom, to: &str, from: &str, id: &str, reply_to: &str) {
    let text = by_hand(from, id, &format!("subject of {id}"), "x");
    let text = text.replacen("---\n\n", &format!("reply_to: {reply_to}\n---\n\n"), 1);
    room.place(to, &format!("20260101T000000Z-{}-x.md", &id[..8]), text);
}

/// The conversation between three, and the digits of its messages.
fn conversation(room: &TestRoom) -> Vec<String> {
    let first = room.by("alice", ["send", "bob", "carol", "-s", "plan", "-m", "?"]).succeeds().out;
    let first = first.split(' ').nth(1).unwrap().to_owned();
    let second = answer(room, "bob", &first, "yes");
    let third = answer(room, "alice", &second, "good");
    let fourth = answer(room, "carol", &first, "no");
    vec![first, second, third, fourth]
}

const WHOLE: &str = "\
<id> <time> alice → bob, carol: plan
  <id> <time> bob → alice: re: plan
    <id> <time> alice → bob: re: plan
  <id> <time> carol → alice: re: plan
";

#[test]
fn a_conversation_is_shown_whole_from_any_of_its_messages() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let ids = conversation(&room);
    let whole = room.by("alice", ["thread", &ids[0]]).succeeds().out;
    assert_eq!(mask(&whole, &room.root()), WHOLE);
    for (line, id) in whole.lines().zip(&ids) {
        assert!(line.trim_start().starts_with(id.as_str()), "{id}: {whole}");
    }
    for id in &ids {
        assert_eq!(room.by("bob", ["thread", id]).succeeds().out, whole, "from {id}");
        assert_eq!(room.run(["thread", id]).succeeds().out, whole, "anyone may look");
    }
}

#[test]
fn a_conversation_is_the_same_without_the_journal() {
    let room = TestRoom::with(&["alice", "bob", "carol"]);
    let ids = conversation(&room);
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    let shown = mask(&room.by("alice", ["thread", &ids[2]]).succeeds().out, &room.root());
    // Within one second files are ordered by their own time, so that here too bob comes before carol.
    assert_eq!(shown, WHOLE);
    assert!(!room.root().join(".journal").exists(), "looking writes nothing");
}

#[test]
fn a_conversation_that_is_older_than_the_journal_is_whole() {
    // The journal is pruned by age and may be deleted at any time; what it lacks is in the files.
    let room = TestRoom::with(&["alice", "bob"]);
    let first = room.send("alice", "bob", "plan");
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    let second = answer(&room, "bob", &first, "yes");
    for id in [&first, &second] {
        let shown = room.by("alice", ["thread", id]).succeeds().out;
        assert_eq!(shown.lines().count(), 2, "from {id}: {shown}");
        assert!(shown.starts_with(&first), "from {id}: {shown}");
    }
}

#[test]
fn an_answer_that_was_written_by_hand_belongs_to_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let first = room.send("alice", "bob", "plan");
    let whole = room.by("bob", ["read", &first, "--json"]).json()["messages"][0]["id"].clone();
    place_answer(&room, "alice", &room.id("bob"), "abcd1111-2222", whole.as_str().unwrap());
    for id in [&first, "abcd1111"] {
        let shown = room.by("alice", ["thread", id]).succeeds().out;
        assert_eq!(shown.lines().count(), 2, "from {id}: {shown}");
        assert!(shown.contains("\n  abcd1111 ") && shown.starts_with(&first), "from {id}: {shown}");
    }
}

#[test]
fn a_cycle_is_walked_once() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    place_answer(&room, "bob", &alice, "aaaa1111-1", "bbbb2222-2");
    place_answer(&room, "alice", &bob, "bbbb2222-2", "cccc3333-3");
    place_answer(&room, "bob", &alice, "cccc3333-3", "aaaa1111-1");
    place_answer(&room, "alice", &bob, "dddd4444-4", "dddd4444-4");
    for id in ["aaaa1111", "bbbb2222", "cccc3333"] {
        let shown = room.by("alice", ["thread", id]).succeeds().out;
        assert_eq!(shown.lines().count(), 3, "from {id}: {shown}");
        for each in ["aaaa1111", "bbbb2222", "cccc3333"] {
            assert_eq!(
                shown.matches(each).count() - shown.matches(&format!("of {each}")).count(),
                1,
                "{shown}"
            );
        }
    }
    let shown = room.by("alice", ["thread", "dddd4444"]).succeeds().out;
    assert_eq!(shown.lines().count(), 1, "what answers itself: {shown}");
}

#[test]
fn an_answer_to_what_is_gone_stands_alone() {
    let room = TestRoom::with(&["alice", "bob"]);
    place_answer(&room, "bob", &room.id("alice"), "aaaa1111-1", "bbbb2222-2");
    let shown = room.by("bob", ["thread", "aaaa1111"]).succeeds().out;
    assert!(shown.starts_with("aaaa1111 ") && shown.lines().count() == 1, "{shown}");
    room.by("bob", ["thread", "bbbb2222"]).exits(3);
}

#[test]
fn what_was_removed_stays_in_its_conversation_while_the_journal_knows_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let first = room.send("alice", "bob", "plan");
    let second = answer(&room, "bob", &first, "yes");
    room.run(["prune", "--archived", "0s", "--yes"]).succeeds();
    let shown = room.by("alice", ["thread", &second]).succeeds().out;
    assert!(shown.lines().count() == 2 && shown.starts_with(&first), "{shown}");
    assert_eq!(room.by("alice", ["thread", &first]).succeeds().out, shown, "even from what is gone");
}

#[test]
fn claimed_and_failed_mail_is_part_of_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let first = room.send("alice", "bob", "plan");
    let token = crate::support::taken::claim(&room, "bob", &[]);
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    assert!(room.by("alice", ["thread", &first]).succeeds().out.starts_with(&first), "claimed");
    room.by("bob", ["fail", &token, "--reason", "x"]).succeeds();
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    let shown = room.by("alice", ["thread", &first]).succeeds().out;
    assert!(shown.starts_with(&first) && shown.contains(": failed: plan\n"), "{shown}");
}

#[test]
fn an_id_must_name_one_message() {
    let room = TestRoom::with(&["alice", "bob"]);
    let (alice, bob) = (room.id("alice"), room.id("bob"));
    room.place("bob", "20260101T000000Z-abcd1111-x.md", by_hand(&alice, "abcd1111-1", "x", "x"));
    room.place("alice", "20260101T000000Z-abcd2222-x.md", by_hand(&bob, "abcd2222-2", "x", "x"));
    let ran = room.run(["thread", "abcd"]).exits(4);
    assert!(ran.err.contains("abcd1111-1") && ran.err.contains("abcd2222-2"), "{}", ran.err);
    let own = room.by("bob", ["thread", "abcd"]).succeeds().out;
    assert!(own.starts_with("abcd1111"), "one's own mailbox is looked at first: {own}");
    for (id, code) in [("0000dead", 3), ("abc", 2), ("", 2), ("\u{1b}[2Jabcd", 3), ("../../etc", 3)] {
        let ran = room.by("bob", ["thread", "--", id]).exits(code);
        assert!(!ran.err.contains('\u{1b}'), "{id:?}: {}", ran.err);
    }
}
