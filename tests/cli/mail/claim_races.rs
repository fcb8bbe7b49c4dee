//! Two who end one claim: one of them decides, and the sender hears of that decision alone.

use crate::protocols::conformance::{Kind, Way, claim, for_each_kind};
use crate::support::edges_strike::{Point, can_be_struck, points, sample, stopped, struck};
use crate::support::room::TestRoom;

for_each_kind!(
    a_refused_end_has_told_the_sender_nothing,
    a_claim_is_whole_or_an_error_whatever_cannot_be_read,
);

const CALLS: &str = "openat,newfstatat,fsync,getdents64,flock,renameat2";

fn sampled(room: &TestRoom, arguments: &str) -> Vec<Point> {
    sample(points(room, CALLS, arguments), 14)
}

/// `fail` or `done`, stopped at many points beside a `release` of the same claim.
fn a_refused_end_has_told_the_sender_nothing(kind: Kind) {
    if !can_be_struck("a_refused_end_has_told_the_sender_nothing") {
        return;
    }
    let way = Way { asks: Kind::Maildir, works: kind };
    let (room, worker) = (way.room(), way.worker());
    for (verb, words) in [("fail", "--reason nope.here"), ("done", "-m nope.here")] {
        let take = || {
            room.by(way.asker(), ["send", worker, "-m", "job"]).succeeds();
            claim(&room, worker, &[])
        };
        let command = |token: &str| format!("--as {worker} {verb} {token} {words}");
        let all = sampled(&room, &command(&take()));
        for point in &all {
            let before = Kind::Maildir.copies(&room, way.asker(), "nope.here").len();
            let token = take();
            // A release that waits for the claim is ended: it decided nothing.
            let release = format!("timeout 1 postroom --as {worker} release {token}; exit $?");
            let (ended, released) = stopped(&room, point, &command(&token), || room.bash(&release).ends());
            let told = Kind::Maildir.copies(&room, way.asker(), "nope.here").len() - before;
            let did = ended.status.success();
            assert_eq!(told, usize::from(did), "{verb} at {point:?}: {ended:?}, release: {released:?}");
            let also = released.is_some_and(|ran| ran.code == 0);
            assert!(!(did && also), "{verb} at {point:?}: both ended the claim: {ended:?}");
            if !did && !also {
                room.by(worker, ["release", &token]).ends();
            }
            // Whatever is unread again is finished, so that each round begins alike.
            room.by(worker, ["claim", "--json"]).ends();
            for token in tokens(&room, worker) {
                room.by(worker, ["done", &token]).succeeds();
            }
        }
    }
}

/// The claims that this mailbox can renew, in whatever protocol.
fn tokens(room: &TestRoom, worker: &str) -> Vec<String> {
    let found = room.bash(
        "find \"$POSTROOM_ROOT\"/.. -path '*/claimed/*' -name claim.json | sed 's,/claim.json$,,; s,.*/,,'",
    );
    let all: Vec<String> = found.ends().out.lines().map(str::to_owned).collect();
    all.into_iter().filter(|token| room.by(worker, ["claim", "--renew", token]).ends().code == 0).collect()
}

/// A boot that cannot be read is not another boot: the claim would be over at once.
fn a_claim_is_whole_or_an_error_whatever_cannot_be_read(kind: Kind) {
    if !can_be_struck("a_claim_is_whole_or_an_error_whatever_cannot_be_read") {
        return;
    }
    let way = Way { asks: Kind::Maildir, works: kind };
    let (room, worker) = (way.room(), way.worker());
    room.by(way.asker(), ["send", worker, "-m", "job"]).succeeds();
    let command = format!("--as {worker} claim --json");
    let all = points(&room, "openat,read", &command);
    let held = |room: &TestRoom| tokens(room, worker).pop();
    room.by(worker, ["release", &held(&room).unwrap()]).succeeds();
    for error in ["EMFILE", "EIO"] {
        for point in &all {
            let ran = struck(&room, point, &format!("error={error}"), &command);
            let Some(token) = held(&room) else {
                assert_ne!(ran.code, 0, "{error} at {point:?}: taken and lost: {ran:?}");
                continue;
            };
            // A look that fails the same way gives nothing back.
            struck(&room, point, &format!("error={error}"), &format!("--as {worker} check"));
            room.by(worker, ["check"]).exits(1);
            room.by(worker, ["release", &token]).succeeds();
        }
    }
}

/// P1: a request that was filed and whose number could not be noted was called not delivered, and came twice.
#[test]
fn a_request_that_is_filed_is_delivered_whatever_fails_afterwards() {
    if !can_be_struck("a_request_that_is_filed_is_delivered_whatever_fails_afterwards") {
        return;
    }
    let way = Way { asks: Kind::Maildir, works: Kind::Tree };
    let room = way.room();
    let send = |n: usize| format!("--as alice send writer -m letter.{n}.here");
    let all = points(&room, "openat,fsync,renameat", &send(0));
    for (n, point) in all.iter().enumerate() {
        let text = format!("letter.{}.here", n + 1);
        let ran = struck(&room, point, "error=EIO", &send(n + 1));
        let copies = Kind::Tree.copies(&room, "writer", &text).len();
        assert_eq!(copies, usize::from(ran.code == 0 || ran.code == 6), "{point:?}: {ran:?}");
    }
}
