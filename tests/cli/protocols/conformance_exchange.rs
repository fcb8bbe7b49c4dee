//! 36 exchanges: each protocol asks each, by command or by hand, and is answered, by command or by hand.
//!
//! A hand looks only where its own protocol says. What crosses from one protocol into another is carried over by any
//! command that acts on the mailbox; `check` stands for all of them.

use crate::protocols::conformance::{Kind, Way, for_each_way, reads_once, reference, sent_id};
use crate::protocols::conformance_hand::{answer, ask, finds_answer, question_id};

for_each_way!(
    asked_by_command_answered_by_command,
    asked_by_command_answered_by_hand,
    asked_by_hand_answered_by_command,
    asked_by_hand_answered_by_hand,
);

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Command,
    Hand,
}

#[track_caller]
fn exchange(way: Way, asked: By, answered: By) {
    let room = way.room();
    let question = match asked {
        By::Command => {
            let words = ["send", way.worker(), "-s", "Build it", "-m", "please build\n", "--json"];
            Some(sent_id(&room.by(way.asker(), words).json()))
        }
        By::Hand => {
            ask(&room, way);
            None
        }
    };
    // What a hand wrote this moment may still be growing.
    room.by(way.worker(), ["wait", "--timeout", "5"]).succeeds();
    let header = room.header(way.worker());
    assert_eq!(header["from"]["name"], way.asker(), "{header}");
    // A workspace by hand has no field for a subject: it is the first line.
    let subject = match (asked, way.asks) {
        (By::Hand, Kind::Workspace) => "please build",
        _ => "Build it",
    };
    assert_eq!(header["subject"], subject, "{header}");
    match answered {
        By::Command => {
            room.by(way.worker(), ["reply", &reference(&header), "-m", "built\n"]).succeeds();
        }
        By::Hand => answer(&room, way),
    }
    let waited = room.by(way.asker(), ["wait", "--timeout", "5"]).succeeds();
    assert_eq!(waited.out.lines().count(), 1, "{waited:?}");
    let told = room.header(way.asker());
    match question {
        Some(id) => assert_eq!(told["reply_to"], id, "{told}"),
        None => finds_answer(&room, way, question_id(way.asks)),
    }
    let message = reads_once(&room, way.asker());
    assert_eq!(message["from"]["name"], way.worker(), "{message}");
    assert_eq!(message["subject"], format!("re: {subject}"), "{message}");
    assert_eq!(message["body"], "built\n", "{message}");
    room.by(way.worker(), ["check"]).exits(1);
    if (asked, answered, way.works) == (By::Hand, By::Hand, Kind::Workspace) {
        return; // A hand removes what it has answered: the question is in nobody's mailbox.
    }
    let thread = room.run(["thread", told["reply_to"].as_str().unwrap()]).succeeds().out;
    assert_eq!(thread.lines().count(), 2, "{thread}");
}

fn asked_by_command_answered_by_command(way: Way) {
    exchange(way, By::Command, By::Command);
}

fn asked_by_command_answered_by_hand(way: Way) {
    exchange(way, By::Command, By::Hand);
}

fn asked_by_hand_answered_by_command(way: Way) {
    exchange(way, By::Hand, By::Command);
}

fn asked_by_hand_answered_by_hand(way: Way) {
    exchange(way, By::Hand, By::Hand);
}
