//! The web page of a large room: 100,000 messages in 200 mailboxes, and 5,000 runs that have ended.
//!
//! The first page is compared with `status --json`, which shows as much of the room. An arrival counts as shown when the view
//! of the mailbox, asked for again because the stream said that something changed, has come back with the message; painting it is
//! the browser's work. Its floor is the wake of a `wait` in the same mailbox.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Bench;
use super::chromium;
use super::mail::rows;
use super::names::member_names;
use super::pair::{Pair, Sides, Unit, microseconds};
use super::place::Place;
use super::room::{Letter, Room, file_name, message_id};
use super::table::{Limit, Row, Without};
use super::trace::{Trace, high_water};
use super::wake::{publish, wake_of};
use crate::browser::{Browser, Events};
use crate::seat;

const MAILBOXES: u32 = 200;
pub(crate) const MESSAGES: u32 = 100_000;
const RUNS: u32 = 5_000;
const ROUNDS: usize = 40;
const ARRIVALS: usize = 100;
const CLIENTS: usize = 10;
/// The mailbox that is looked at.
pub(crate) const SHOWN: &str = "member0007";
/// The rows of a page, which are all that it may open.
const PAGE: f64 = 50.0;
/// A message and its answer, each found and then shown.
const THREAD: f64 = 6.0;
const MIB: f64 = 1024.0 * 1024.0;
/// How long an idle server is watched, and the time between two looks of its own.
const IDLE: Duration = Duration::from_secs(17);
const BETWEEN: f64 = 4.9;
pub(super) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn web(bench: &Bench) -> Vec<Row> {
    rows("`web`", || {
        let place = Place::tmpfs()?;
        let room = large_room(bench, &place)?;
        let server = Server::start(&room, &place)?;
        let browser = Browser::enter(server.port, &server.code);
        let mut found = rows("first page", || first_page(&room, &browser));
        found.extend(rows("what views open", || opened(bench, &server, &browser)));
        found.extend(rows("arrival", || arrival(&room, &browser)));
        found.extend(rows("clients", || clients(&room, &server, &browser)));
        found.extend(rows("idle", || idle(bench, &server, &browser)));
        drop(server);
        found.extend(rows("screen", || chromium::screen(&room, &place)));
        Ok(found)
    })
}

pub(crate) fn large_room<'a>(bench: &'a Bench, place: &Place) -> Result<Room<'a>, String> {
    let names = member_names(MAILBOXES as usize);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let room = Room::set_up(&bench.programs, &place.dir, &all)?;
    let now = said_by_date("+%Y-%m-%dT%H:%M")?;
    let mut journal = String::new();
    for number in 0..MESSAGES {
        let to = all[(number % MAILBOXES) as usize];
        let reply_to = answered(number);
        let letter = Letter { number, from: "alice", to, reply_to, body: "body\n" };
        let is_unread = (number / MAILBOXES).is_multiple_of(2);
        let folder = if is_unread { "inbox" } else { "archive" };
        room.put(&room.folder(to, folder)?.join(file_name(number)), &letter)?;
        journal += &events(&now, &room, number, to, is_unread)?;
    }
    let folder = room.root().join(".journal");
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    fs::write(folder.join(format!("{}.jsonl", &now[..10])), journal).map_err(|e| e.to_string())?;
    for number in 0..RUNS {
        let name = all[(number % MAILBOXES) as usize];
        let (id, text) = ended_run(&now[..10], number, name, room.id(name)?);
        let dir = room.root().join(".dispatch/runs").join(&id);
        fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        fs::write(dir.join("run.json"), text).map_err(|e| e.to_string())?;
    }
    Ok(room)
}

/// Every tenth message answers the one before it.
fn answered(number: u32) -> Option<u32> {
    number.is_multiple_of(10).then(|| number.checked_sub(1)).flatten()
}

/// What the journal says of a message: that it was sent, and read.
fn events(now: &str, room: &Room<'_>, number: u32, to: &str, is_unread: bool) -> Result<String, String> {
    let (by, to) = (room.id("alice")?, room.id(to)?);
    let (id, file) = (message_id(number), file_name(number));
    let reply_to = answered(number).map(|number| format!(r#","reply_to":"{}""#, message_id(number)));
    let reply_to = reply_to.unwrap_or_default();
    let time = format!("{now}:00.{:03}Z", number % 1000);
    let sent = format!(
        r#"{{"v":1,"time":"{time}","event":"sent","by":"{by}","id":"{id}","to":"{to}","subject":"filled"{reply_to},"file":"{file}"}}"#
    );
    let shown = format!(r#"{{"v":1,"time":"{time}","event":"shown","by":"{to}","id":"{id}"}}"#);
    Ok(if is_unread { format!("{sent}\n") } else { format!("{sent}\n{shown}\n") })
}

/// The present time in UTC.
fn said_by_date(form: &str) -> Result<String, String> {
    let said =
        Command::new("date").args(["-u", form]).output().map_err(|e| format!("cannot run date: {e}"))?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The record of a run that took a second on this day, and its id.
fn ended_run(day: &str, number: u32, agent: &str, mailbox: &str) -> (String, String) {
    let (hour, minute, second) = (number / 3600, number / 60 % 60, number % 60);
    let id = format!("{}T{hour:02}{minute:02}{second:02}000Z-{number:08x}", day.replace('-', ""));
    let time = format!("{day}T{hour:02}:{minute:02}:{second:02}.000Z");
    let text = format!(
        r#"{{"v":1,"id":"{id}","mailbox":"{mailbox}","agent":"{agent}","message":"m-{number}","file":"{file}","from":"alice","thread":"t-{number}","attempt":1,"started":"{time}","ended":"{time}","state":"done"}}"#,
        file = file_name(number),
    );
    (id, text)
}

fn first_page(room: &Room<'_>, browser: &Browser) -> Result<Vec<Row>, Without> {
    let pair = Pair::take(Unit::Microseconds, ROUNDS, &mut Boards { room, browser })?;
    let what = "first page of `web`, 100,000 messages, against `status --json`, tmpfs";
    Ok(vec![Row::ratio(what, &pair, Limit::AtMost(3.0))])
}

struct Boards<'a> {
    room: &'a Room<'a>,
    browser: &'a Browser,
}

impl Sides for Boards<'_> {
    fn measured(&mut self, _round: usize) -> Result<f64, String> {
        view(self.browser, "now", SHOWN)
    }

    fn floor(&mut self, _round: usize) -> Result<f64, String> {
        let args = ["--root".as_ref(), self.room.root().as_os_str(), "status".as_ref(), "--json".as_ref()];
        self.room.programs.time(self.room.programs.postroom(&args), &[0]).map(microseconds)
    }
}

/// The time of a view, which must say something.
fn view(browser: &Browser, path: &str, says: &str) -> Result<f64, String> {
    let start = Instant::now();
    let reply = browser.get(&format!("/r/-/{path}"));
    let took = microseconds(start.elapsed());
    match reply.status == 200 && reply.body.contains(says) {
        true => Ok(took),
        false => Err(format!("{path} answered {} without `{says}`", reply.status)),
    }
}

/// A page of a list opens its own rows, and a board no mail that has been read.
fn opened(bench: &Bench, server: &Server, browser: &Browser) -> Result<Vec<Row>, Without> {
    let mail = format!("mail/{SHOWN}");
    let trace = |path: &str| {
        Trace::of_process(&bench.programs, server.child.id(), || view(browser, path, "").map(drop))
    };
    let messages = trace(&mail)?.messages_opened() as f64;
    let one = trace(&format!("message/{}", message_id(9)))?.messages_opened() as f64;
    let records = trace("runs")?.opened("run.json") as f64;
    Ok(vec![
        Row::count("messages that a page of a mailbox opens", messages, "", Limit::AtMost(PAGE)),
        Row::count("messages that the page of a message opens", one, "", Limit::AtMost(THREAD)),
        Row::count("records that a page of 5,000 runs opens", records, "", Limit::AtMost(PAGE + 1.0)),
    ])
}

fn arrival(room: &Room<'_>, browser: &Browser) -> Result<Vec<Row>, Without> {
    let mut stream = browser.stream("-", None);
    stream.next(SOON).ok_or_else(|| "the stream says nothing".to_owned())?;
    let pair = Pair::take(Unit::Microseconds, ARRIVALS, &mut Arrivals { room, browser, stream })?;
    let what = "from an arrival to its view, 100,000 messages, against the wake of a `wait`, tmpfs";
    Ok(vec![Row::ratio(what, &pair, Limit::AtMost(5.0))])
}

struct Arrivals<'a> {
    room: &'a Room<'a>,
    browser: &'a Browser,
    stream: Events,
}

impl Sides for Arrivals<'_> {
    fn measured(&mut self, round: usize) -> Result<f64, String> {
        // What the round before did is told first.
        while self.stream.next(Duration::from_millis(30)).is_some() {}
        let number = MESSAGES + u32::try_from(round).unwrap_or(u32::MAX);
        let id = super::room::digits(number);
        let publication = publish(self.room, SHOWN, number)?;
        let start = publication.now()?;
        self.stream.next(SOON).ok_or_else(|| "an arrival was not told".to_owned())?;
        view(self.browser, &format!("mail/{SHOWN}"), &id)?;
        let took = microseconds(start.elapsed());
        publication.take_back()?;
        Ok(took)
    }

    fn floor(&mut self, round: usize) -> Result<f64, String> {
        wake(self.room, round)
    }
}

/// The wake of a `wait` for new mail in the mailbox that is looked at, of which half is unread.
pub(crate) fn wake(room: &Room<'_>, round: usize) -> Result<f64, String> {
    let args = ["wait".as_ref(), "--new".as_ref(), "--timeout".as_ref(), "60".as_ref()];
    wake_of(room, room.postroom(SHOWN, &args), SHOWN, MESSAGES + 50_000 + round as u32)
}

fn clients(room: &Room<'_>, server: &Server, browser: &Browser) -> Result<Vec<Row>, Without> {
    let mut streams: Vec<Events> = (0..CLIENTS).map(|_| browser.stream("-", None)).collect();
    // A stream speaks when something happens.
    let publication = publish(room, SHOWN, 2 * MESSAGES)?;
    publication.now()?;
    for stream in &mut streams {
        stream.next(SOON).ok_or_else(|| "a stream says nothing".to_owned())?;
    }
    publication.take_back()?;
    std::thread::scope(|scope| {
        let looking = (0..CLIENTS).map(|_| {
            scope.spawn(|| {
                let message = format!("message/{}", message_id(9));
                let views = ["now", "mail", "mail/alice", &message, "runs", "numbers", "flow", "failed"];
                views.iter().try_for_each(|path| view(browser, path, "").map(drop))
            })
        });
        let looking: Vec<_> = looking.collect();
        looking.into_iter().try_for_each(|client| client.join().unwrap_or(Err("a client failed".to_owned())))
    })?;
    let peak = high_water(&PathBuf::from(format!("/proc/{}", server.child.id())));
    let peak = peak.ok_or_else(|| "the server is gone".to_owned())? as f64 / MIB;
    let what = "memory of `web` with ten clients at its peak";
    Ok(vec![Row::count(what, (peak * 10.0).round() / 10.0, " MiB", Limit::AtMost(96.0))])
}

fn idle(bench: &Bench, server: &Server, browser: &Browser) -> Result<Vec<Row>, Without> {
    let mut stream = browser.stream("-", None);
    while stream.next(Duration::from_secs(2)).is_some() {}
    let bursts = Trace::of_process(&bench.programs, server.child.id(), || {
        std::thread::sleep(IDLE);
        Ok(())
    })?
    .bursts();
    // The first burst is the trace itself.
    let gap = bursts.windows(2).skip(1).map(|pair| pair[1] - pair[0]).min_by(f64::total_cmp);
    let gap = gap.unwrap_or(IDLE.as_secs_f64());
    let what = "shortest time between the bursts of an idle `web` with a client";
    Ok(vec![Row::count(what, (gap * 100.0).round() / 100.0, " s", Limit::AtLeast(BETWEEN))])
}

/// A page for looking only.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
    pub(super) code: String,
}

impl Server {
    pub(super) fn start(room: &Room<'_>, place: &Place) -> Result<Self, String> {
        let root = ["--root".as_ref(), room.root().as_os_str()];
        let args = [&root[..], &["web".as_ref(), "--listen".as_ref(), "127.0.0.1:0".as_ref()]].concat();
        let mut command: Command = room.programs.postroom(&args);
        command.env("HOME", place.dir.join("home"));
        let mut command = seat::apart(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| format!("cannot start the server: {e}"))?;
        let lines = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines());
        let open = lines.map_while(Result::ok).find_map(|line| Some(line.strip_prefix("open: ")?.to_owned()));
        let found = open.as_deref().and_then(|open| {
            let (address, code) = open.split_once("/enter#")?;
            Some((address.rsplit_once(':')?.1.parse().ok()?, code.to_owned()))
        });
        match found {
            Some((port, code)) => Ok(Self { child, port, code }),
            None => {
                let _ = child.kill().and_then(|()| child.wait());
                Err("the server did not say its address".to_owned())
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_a_run_is_json_and_sorts_by_time() {
        let run = |number| ended_run("2026-11-18", number, "alice", "alice-1");
        let (first, text) = run(59);
        let record: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(record["id"].as_str(), Some(first.as_str()));
        assert!(first < run(60).0 && first < run(4999).0);
    }
}
