//! The full inbox: what `check` and `send` cost when 100,000 messages lie there unread.

use super::Bench;
use super::mail::{floor_send, on_both, rows, send_command};
use super::place::Place;
use super::room::Room;
use super::runs::Runs;
use super::table::{Limit, Row, Without};
use super::trace::{Trace, peak_memory};

const CROWD: u32 = 100_000;
const DONE: &[i32] = &[0];
/// A scan of so many names takes long enough to need few rounds.
const SCANS: usize = 40;
const MIB: f64 = 1024.0 * 1024.0;

pub(crate) fn crowd(bench: &Bench) -> Vec<Row> {
    on_both("100,000 unread", |place| {
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob", "carol"])?;
        room.fill("carol", CROWD)?;
        let mut found = rows("`check` of 100,000", || check(bench, &room, place));
        found.extend(rows("`send` into 100,000", || send(bench, &room, place)));
        Ok(found)
    })
}

fn check(bench: &Bench, room: &Room<'_>, place: &Place) -> Result<Vec<Row>, Without> {
    let command = || room.postroom("carol", &["check".as_ref(), "--limit".as_ref(), "20".as_ref()]);
    let measured = |_| Ok(command());
    let floor = |_| room.floor("scan", "carol", &[]);
    let pair =
        Runs { room, measured: &measured, floor: &floor, expected: DONE, receivers: &[] }.take(SCANS)?;
    let what = format!("`check --limit 20` of 100,000, {}", place.kind);
    let mut found = vec![Row::ratio(what, &pair, Limit::AtMost(2.0))];
    if place.kind == "tmpfs" {
        found.extend(rows("messages opened by `check`", || {
            let opened = Trace::of(&bench.programs, &command(), DONE)?.messages_opened() as f64;
            Ok(vec![Row::count("messages that this `check` opens", opened, "", Limit::AtMost(20.0))])
        }));
        found.extend(rows("memory of `check`", || {
            let peak = peak_memory(&bench.programs, &command())? as f64 / MIB;
            Ok(vec![Row::count(
                "memory of this `check` at its peak",
                (peak * 10.0).round() / 10.0,
                " MiB",
                Limit::AtMost(32.0),
            )])
        }));
    }
    Ok(found)
}

/// The second column is here the same command into an empty inbox, so that the ratio tells what the crowd costs.
fn send(bench: &Bench, room: &Room<'_>, place: &Place) -> Result<Vec<Row>, Without> {
    let receivers = &["bob", "carol"];
    let runs = Runs {
        room,
        measured: &|_| Ok(send_command(room, "carol")),
        floor: &|_| Ok(send_command(room, "bob")),
        expected: DONE,
        receivers,
    };
    let what = format!("`send` into 100,000, against an empty inbox, {}", place.kind);
    let send = Row::ratio(what, &runs.take(bench.rounds)?, Limit::AtMost(1.1));
    let runs = Runs {
        room,
        measured: &|round| floor_send(room, "carol", round),
        floor: &|round| floor_send(room, "bob", round),
        expected: DONE,
        receivers,
    };
    let what = format!("the floor's send, likewise, {}", place.kind);
    Ok(vec![send, Row::ratio(what, &runs.take(bench.rounds)?, Limit::None)])
}
