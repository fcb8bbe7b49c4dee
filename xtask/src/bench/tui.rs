//! The terminal client in a large room: 100,000 messages in 200 mailboxes, and 5,000 runs that have ended.
//!
//! Its start is the time until the first screen shows what is in the room, at a terminal that this bench reads; it is compared
//! with `names`, which lists the same mailboxes. An arrival counts as shown when its subject stands on the screen; its floor
//! is the wake of a `wait` in the same mailbox.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Bench;
use super::mail::rows;
use super::pair::{Pair, Sides, Unit, microseconds};
use super::place::Place;
use super::room::Room;
use super::table::{Limit, Row, Without};
use super::trace::Trace;
use super::wake::publish;
use super::web::{MESSAGES, SHOWN, large_room, wake};
use crate::screen::Screen;
use crate::seat;

const ROUNDS: usize = 30;
const ARRIVALS: usize = 100;
const SOON: Duration = Duration::from_secs(20);
/// How long an idle client is watched, and the time between two looks of its own.
const IDLE: Duration = Duration::from_secs(17);
const BETWEEN: f64 = 4.9;
/// The rows of a page of a mailbox, and the message beside them.
const PAGE: f64 = 201.0;

pub(crate) fn tui(bench: &Bench) -> Vec<Row> {
    rows("`tui`", || {
        let place = Place::tmpfs()?;
        let room = large_room(bench, &place)?;
        let mut found = rows("start", || start(&room, &place));
        found.extend(rows("arrival", || arrival(&room, &place)));
        found.extend(rows("pages", || opened(bench, &room, &place)));
        found.extend(rows("idle", || idle(bench, &room, &place)));
        Ok(found)
    })
}

/// A client at a terminal of its own, for looking only.
struct Client {
    child: Child,
    screen: Screen,
}

impl Client {
    fn start(room: &Room<'_>, place: &Place) -> Result<Self, String> {
        let (terminal, name) = seat::terminal();
        let screen = Screen::of(File::from(terminal), 120, 40);
        let side = || File::options().read(true).write(true).open(Path::new(&name)).map(Stdio::from);
        let root = ["--root".as_ref(), room.root().as_os_str(), "tui".as_ref()];
        let mut command: Command = room.programs.postroom(&root);
        command.env("HOME", place.dir.join("home")).env("XDG_STATE_HOME", place.dir.join("state"));
        let sides = (side(), side());
        let (Ok(input), Ok(output)) = sides else { return Err("the terminal cannot be opened".to_owned()) };
        command.stdin(input).stdout(output).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| format!("cannot start the client: {e}"))?;
        Ok(Self { child, screen })
    }

    /// One that shows a mailbox, and has read all that it wants.
    fn at_mailbox(room: &Room<'_>, place: &Place) -> Result<Self, String> {
        let client = Self::start(room, place)?;
        client.screen.sees("alice", SOON)?;
        client.screen.types(format!(":mail {SHOWN}\r"));
        client.screen.sees("filled", SOON)?;
        std::thread::sleep(Duration::from_secs(1));
        Ok(client)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

fn start(room: &Room<'_>, place: &Place) -> Result<Vec<Row>, Without> {
    let pair = Pair::take(Unit::Microseconds, ROUNDS, &mut Starts { room, place })?;
    let what = "start of `tui`, 100,000 messages in 200 mailboxes, against `names`, tmpfs";
    Ok(vec![Row::ratio(what, &pair, Limit::AtMost(3.0))])
}

struct Starts<'a> {
    room: &'a Room<'a>,
    place: &'a Place,
}

impl Sides for Starts<'_> {
    fn measured(&mut self, _round: usize) -> Result<f64, String> {
        let _ = fs::remove_dir_all(self.place.dir.join("state/postroom/tui"));
        let start = Instant::now();
        let client = Client::start(self.room, self.place)?;
        client.screen.sees("Waiting mail 200", SOON)?;
        Ok(microseconds(start.elapsed()))
    }

    fn floor(&mut self, _round: usize) -> Result<f64, String> {
        self.room.programs.time(self.room.postroom("alice", &["names".as_ref()]), &[0]).map(microseconds)
    }
}

fn arrival(room: &Room<'_>, place: &Place) -> Result<Vec<Row>, Without> {
    let client = Client::at_mailbox(room, place)?;
    let pair = Pair::take(Unit::Microseconds, ARRIVALS, &mut Arrivals { room, client })?;
    let what =
        "from an arrival to the screen of `tui`, 100,000 messages, against the wake of a `wait`, tmpfs";
    Ok(vec![Row::ratio(what, &pair, Limit::AtMost(5.0))])
}

struct Arrivals<'a> {
    room: &'a Room<'a>,
    client: Client,
}

impl Sides for Arrivals<'_> {
    fn measured(&mut self, round: usize) -> Result<f64, String> {
        // What the round before did is looked at first.
        std::thread::sleep(Duration::from_millis(300));
        let publication = publish(self.room, SHOWN, MESSAGES + u32::try_from(round).unwrap_or(u32::MAX))?;
        let subject = format!("arrival{round}x");
        publication.change(|text| text.replace("subject: filled", &format!("subject: {subject}")))?;
        let start = publication.now()?;
        self.client.screen.sees(&subject, SOON)?;
        let took = microseconds(start.elapsed());
        publication.take_back()?;
        Ok(took)
    }

    fn floor(&mut self, round: usize) -> Result<f64, String> {
        wake(self.room, round)
    }
}

/// A page of a mailbox opens its own rows.
fn opened(bench: &Bench, room: &Room<'_>, place: &Place) -> Result<Vec<Row>, Without> {
    let client = Client::start(room, place)?;
    client.screen.sees("alice", SOON)?;
    std::thread::sleep(Duration::from_secs(1));
    let trace = Trace::of_process(&bench.programs, client.child.id(), || {
        client.screen.types(format!(":mail {SHOWN}\r"));
        client.screen.sees("filled", SOON)?;
        std::thread::sleep(Duration::from_secs(1));
        Ok(())
    })?;
    let messages = trace.messages_opened() as f64;
    Ok(vec![Row::count("messages that a mailbox in `tui` opens", messages, "", Limit::AtMost(PAGE))])
}

fn idle(bench: &Bench, room: &Room<'_>, place: &Place) -> Result<Vec<Row>, Without> {
    let client = Client::at_mailbox(room, place)?;
    let bursts = Trace::of_process(&bench.programs, client.child.id(), || {
        std::thread::sleep(IDLE);
        Ok(())
    })?
    .bursts();
    // The first burst is the trace itself.
    let gap = bursts.windows(2).skip(1).map(|pair| pair[1] - pair[0]).min_by(f64::total_cmp);
    let gap = gap.unwrap_or(IDLE.as_secs_f64());
    let what = "shortest time between the bursts of an idle `tui`";
    Ok(vec![Row::count(what, (gap * 100.0).round() / 100.0, " s", Limit::AtLeast(BETWEEN))])
}
