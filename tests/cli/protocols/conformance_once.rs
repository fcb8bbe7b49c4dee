//! Once: sending again with the same id delivers nothing, whatever became of the message in between.

use crate::protocols::conformance::{Kind, Way, claim, for_each_kind, for_each_way, reads_once, reference};
use crate::support::room::TestRoom;

const ID: &str = "abcd1234-0000-4000-8000-000000000000";
const TEXT: &str = "the words of the question";

for_each_way!(
    once_while_unread,
    once_after_read,
    once_while_claimed,
    once_after_release,
    once_after_a_lapsed_lease,
    once_after_done,
    once_after_done_with_an_answer,
    once_after_fail,
    once_after_reply,
    once_after_the_answer_was_read,
    once_after_archive,
    once_beside_other_senders,
);
for_each_kind!(once_after_cleanup);

fn send(room: &TestRoom, way: Way, text: &str) -> crate::support::room::Run {
    room.by(way.asker(), ["send", way.worker(), "-s", "a subject", "-m", text, "--id", ID])
}

/// Sends, does something with the message, and insists that sending again changes nothing.
#[track_caller]
fn once(way: Way, between: impl Fn(&TestRoom, &str)) {
    let room = way.room();
    send(&room, way, TEXT).succeeds();
    let file = reference(&room.header(way.worker()));
    between(&room, &file);
    let state = |room: &TestRoom| {
        let mail = |kind: Kind, name: &str| (kind.copies(room, name, "e"), room.headers(name).len());
        (mail(way.asks, way.asker()), mail(way.works, way.worker()))
    };
    let before = state(&room);
    assert_eq!(way.works.copies(&room, way.worker(), TEXT).len(), 1, "{before:?}");
    for _ in 0..2 {
        let again = send(&room, way, TEXT).succeeds();
        assert!(!again.out.starts_with("queued"), "{again:?}");
        assert_eq!(state(&room), before, "sent again");
    }
    let other = send(&room, way, "other words").exits(4);
    assert!(other.err.contains("abcd1234"), "{other:?}");
    assert_eq!(state(&room), before, "other words under that id");
}

fn once_while_unread(way: Way) {
    once(way, |room, _| assert_eq!(room.headers(way.worker()).len(), 1));
}

fn once_after_read(way: Way) {
    once(way, |room, _| drop(room.by(way.worker(), ["read"]).succeeds()));
}

fn once_while_claimed(way: Way) {
    once(way, |room, _| drop(claim(room, way.worker(), &[])));
}

fn once_after_release(way: Way) {
    once(way, |room, _| {
        let token = claim(room, way.worker(), &[]);
        room.by(way.worker(), ["release", &token]).succeeds();
        assert_eq!(room.headers(way.worker()).len(), 1);
    });
}

fn once_after_a_lapsed_lease(way: Way) {
    once(way, |room, _| {
        claim(room, way.worker(), &["--lease", "1"]);
        crate::support::until::until("the end of the lease", || !room.headers(way.worker()).is_empty());
    });
}

fn once_after_done(way: Way) {
    once(way, |room, _| {
        let token = claim(room, way.worker(), &[]);
        room.by(way.worker(), ["done", &token]).succeeds();
    });
}

fn once_after_done_with_an_answer(way: Way) {
    once(way, |room, _| {
        let token = claim(room, way.worker(), &[]);
        room.by(way.worker(), ["done", &token, "-m", "here"]).succeeds();
    });
}

fn once_after_fail(way: Way) {
    once(way, |room, _| {
        let token = claim(room, way.worker(), &[]);
        room.by(way.worker(), ["fail", &token, "--reason", "no compiler"]).succeeds();
    });
}

fn once_after_reply(way: Way) {
    once(way, |room, file| drop(room.by(way.worker(), ["reply", file, "-m", "here"]).succeeds()));
}

fn once_after_the_answer_was_read(way: Way) {
    once(way, |room, file| {
        room.by(way.worker(), ["reply", file, "-m", "here"]).succeeds();
        reads_once(room, way.asker());
    });
}

fn once_after_archive(way: Way) {
    once(way, |room, file| drop(room.by(way.worker(), ["archive", file]).succeeds()));
}

/// Several processes retry at the same time.
fn once_beside_other_senders(way: Way) {
    let room = way.room();
    let senders: Vec<_> = (0..6).map(|_| send(&room, way, TEXT).start()).collect();
    for sender in senders {
        let ended = sender.wait_with_output().unwrap();
        // 5: somebody else was delivering it, and the sender is to try again.
        assert!(matches!(ended.status.code(), Some(0 | 5)), "{ended:?}");
    }
    send(&room, way, TEXT).succeeds();
    assert_eq!(way.works.copies(&room, way.worker(), TEXT).len(), 1);
    assert_eq!(room.headers(way.worker()).len(), 1);
}

/// A tree keeps finished chains elsewhere.
fn once_after_cleanup(asks: Kind) {
    let way = Way { asks, works: Kind::Tree };
    once(way, |room, file| {
        room.by(way.worker(), ["reply", file, "-m", "here"]).succeeds();
        reads_once(room, way.asker());
        let project = room.around().join("project");
        room.run(["tree", "cleanup"]).within(&project).succeeds();
        assert_eq!(room.of_agent("inboxes", way.worker()).files(), [""; 0]);
    });
}
