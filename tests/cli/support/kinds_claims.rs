//! Claims, for the suite that runs for each kind of mailbox (kinds.rs).

use crate::protocols::conformance::{Kind, claim as take};
use crate::support::kinds::{only, room_of};
use crate::support::room::TestRoom;

#[track_caller]
fn claim(room: &TestRoom) -> String {
    take(room, "reader", &[])
}

pub(crate) fn claimed_and_done(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "work");
    let id = only(&room)["id"].clone();
    let token = claim(&room);
    room.by("reader", ["check"]).exits(1);
    room.by("reader", ["claim"]).exits(1);
    room.by("writer", ["done", &token]).exits(4);
    room.by("reader", ["done", &token, "-m", "the result"]).succeeds();
    room.by("reader", ["done", &token]).exits(3);
    let answer = room.header("writer");
    assert_eq!((answer["reply_to"].clone(), answer["subject"].as_str()), (id, Some("re: work")));
    assert!(room.by("writer", ["read"]).succeeds().out.contains("\nthe result\n"));
    assert!(room.headers("reader").is_empty());
}

pub(crate) fn claimed_and_released(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "work");
    let token = claim(&room);
    room.by("reader", ["release", &token]).succeeds();
    assert_eq!(only(&room)["subject"], "work");
    let again = claim(&room);
    assert_ne!(token, again);
    room.by("reader", ["done", &token]).exits(3);
    room.by("reader", ["done", &again]).succeeds();
}

pub(crate) fn claimed_and_failed(kind: Kind) {
    let room = room_of(kind);
    room.send("writer", "reader", "work");
    let token = claim(&room);
    room.by("reader", ["fail", &token, "--reason", "no compiler here"]).succeeds();
    room.by("reader", ["check"]).exits(1);
    let failed = room.by("reader", ["failed", "list"]).succeeds().out;
    assert!(failed.contains("work"), "{failed}");
    let told = room.by("writer", ["read"]).succeeds().out;
    assert!(told.contains("no compiler here") && told.contains("answers: "), "{told}");
    let id = failed.split(' ').next().unwrap();
    assert!(room.by("reader", ["failed", "show", id]).succeeds().out.contains("work"));
    room.by("reader", ["failed", "retry", id]).succeeds();
    assert_eq!(only(&room)["subject"], "work", "{failed}");
    // The second try goes as well as a first one.
    let token = claim(&room);
    room.by("reader", ["done", &token, "-m", "found one"]).succeeds();
    assert!(room.by("writer", ["read"]).succeeds().out.contains("\nfound one\n"));
    room.by("writer", ["read"]).exits(1);
}
