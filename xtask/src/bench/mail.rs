//! The short commands: what one `send` and one `check` cost as a cold process in an ordinary room.

use std::ffi::OsStr;
use std::process::Command;

use super::Bench;
use super::pair::Pair;
use super::place::{Open, Place};
use super::room::Room;
use super::runs::Runs;
use super::table::{Limit, Row, Without};
use super::trace::Trace;

const SENT: &[i32] = &[0];
/// An empty check may say so by its exit code.
const NOTHING: &[i32] = &[0, 1];

pub(crate) fn start(bench: &Bench) -> Vec<Row> {
    rows("start", || {
        let place = Place::tmpfs()?;
        let room = Room::set_up(&bench.programs, &place.dir, &["alice"])?;
        let nothing = |_| Ok(bench.programs.floor(&["nothing".as_ref()]));
        let take = |measured: &dyn Fn(usize) -> Result<Command, String>| {
            Runs { room: &room, measured, floor: &nothing, expected: SENT, receivers: &[] }.take(bench.rounds)
        };
        let scan = take(&|_| room.floor("scan", "alice", &[]))?;
        let version = take(&|_| Ok(bench.programs.postroom(&["--version".as_ref()])))?;
        Ok(vec![
            Row::ratio("the floor of check, against a bare process", &scan, Limit::None),
            Row::ratio("`postroom --version`, against a bare process", &version, Limit::None),
        ])
    })
}

pub(crate) fn send(bench: &Bench) -> Vec<Row> {
    on_both("send of 2 KiB", |place| {
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob"])?;
        let pair = send_pair(bench, &room)?;
        let mut found =
            vec![Row::ratio(format!("`send` of 2 KiB, {}", place.kind), &pair, Limit::AtMost(1.35))];
        if place.kind == "tmpfs" {
            found.extend(rows("calls of `send`", || {
                let trace = Trace::of(&bench.programs, &send_command(&room, "bob"), SENT)?;
                Ok(vec![
                    Row::count("fsyncs of a `send`", trace.syncs() as f64, "", Limit::AtMost(3.0)),
                    Row::count("system calls of a `send`", trace.calls() as f64, "", Limit::AtMost(120.0)),
                ])
            }));
        }
        Ok(found)
    })
}

fn send_pair(bench: &Bench, room: &Room<'_>) -> Result<Pair, String> {
    let measured = |_| Ok(send_command(room, "bob"));
    let floor = |round| floor_send(room, "bob", round);
    Runs { room, measured: &measured, floor: &floor, expected: SENT, receivers: &["bob"] }.take(bench.rounds)
}

/// `send` of an ordinary message from alice.
pub(crate) fn send_command(room: &Room<'_>, to: &str) -> Command {
    let args: [&OsStr; 6] = [
        "send".as_ref(),
        to.as_ref(),
        "-s".as_ref(),
        "subject".as_ref(),
        "--file".as_ref(),
        room.body.as_os_str(),
    ];
    room.postroom("alice", &args)
}

/// The floor's send of the same message.
pub(crate) fn floor_send(room: &Room<'_>, to: &str, round: usize) -> Result<Command, String> {
    room.floor("send", to, &[&format!("20260201T000000Z-{round:08x}-subject.md")])
}

pub(crate) fn check(bench: &Bench) -> Vec<Row> {
    on_both("check of an empty inbox", |place| {
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob"])?;
        let measured = |_| Ok(room.postroom("bob", &["check".as_ref()]));
        let floor = |_| room.floor("scan", "bob", &[]);
        let runs =
            Runs { room: &room, measured: &measured, floor: &floor, expected: NOTHING, receivers: &[] };
        let pair = runs.take(bench.rounds)?;
        let mut found = vec![Row::ratio(
            format!("`check` of an empty inbox, {}", place.kind),
            &pair,
            Limit::AtMost(1.35),
        )];
        if place.kind == "tmpfs" {
            found.extend(rows("calls of `check`", || {
                let trace = Trace::of(&bench.programs, &measured(0)?, NOTHING)?;
                let opened = trace.messages_opened() as f64;
                Ok(vec![
                    Row::count("messages that an empty `check` opens", opened, "", Limit::AtMost(0.0)),
                    Row::count("system calls of an empty `check`", trace.calls() as f64, "", Limit::None),
                ])
            }));
        }
        Ok(found)
    })
}

/// The hook of a bound session with an empty inbox, against the floor of the check that it has to make.
pub(crate) fn hook(bench: &Bench) -> Vec<Row> {
    on_both("hook of an empty inbox", |place| {
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob"])?;
        let session = |args: &[&str]| {
            let root: [&OsStr; 2] = ["--root".as_ref(), room.root().as_os_str()];
            let all: Vec<&OsStr> = root.into_iter().chain(args.iter().map(AsRef::as_ref)).collect();
            let mut command = bench.programs.postroom(&all);
            command.env("CLAUDE_CODE_SESSION_ID", "bench");
            command
        };
        bench.programs.output(session(&["takeover", "bob", "--force"]))?;
        let measured = |_| Ok(session(&["hook", "claude", "tool-end"]));
        let floor = |_| room.floor("scan", "bob", &[]);
        let runs = Runs { room: &room, measured: &measured, floor: &floor, expected: SENT, receivers: &[] };
        let pair = runs.take(bench.rounds)?;
        let name = format!("`hook` of an empty inbox, {}", place.kind);
        Ok(vec![Row::ratio(name, &pair, Limit::AtMost(1.35))])
    })
}

/// The rows of a measurement, or one that tells why there are none.
pub(crate) fn rows(what: &str, measure: impl FnOnce() -> Result<Vec<Row>, Without>) -> Vec<Row> {
    measure().unwrap_or_else(|why| vec![Row::without(what, why)])
}

/// The rows of a measurement on each file system that this machine offers.
pub(crate) fn on_both(what: &str, measure: impl Fn(&Place) -> Result<Vec<Row>, Without>) -> Vec<Row> {
    let on_one = |(kind, open): (&str, Open)| rows(&format!("{what}, {kind}"), || measure(&open()?));
    Place::BOTH.into_iter().flat_map(on_one).collect()
}
