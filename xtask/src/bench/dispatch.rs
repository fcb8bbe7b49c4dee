//! The dispatcher: what a poll costs when there is no mail, how soon after an arrival an agent is started, and how much
//! memory it takes when many agents print much.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::time::{ClockId, clock_gettime};

use super::Bench;
use super::mail::rows;
use super::pair::{Pair, Sides, Unit};
use super::place::Place;
use super::programs::Programs;
use super::room::{Room, file_name};
use super::runs::Runs;
use super::table::{Limit, Row};
use super::trace::peak_memory;

const MAILBOXES: usize = 1000;
const POLLS: usize = 100;
const STARTS: usize = 200;
/// Nothing waits, so nothing is started, and the exit code says so.
const NOTHING: &[i32] = &[0, 1];
const CHILDREN: u32 = 50;
/// What each of them prints.
const FLOOD: &str = "100000000";
const MIB: f64 = 1024.0 * 1024.0;
const PATIENCE: Duration = Duration::from_secs(10);
/// The guards are not what is measured.
const UNGUARDED: &str = "[dispatch]\nhour_runs = 1000000\nthread_runs = 1000000\n";

pub(crate) fn dispatch(bench: &Bench) -> Vec<Row> {
    let mut found = rows("a poll of 1,000 mailboxes", || {
        let place = Place::tmpfs()?;
        let names: Vec<String> = (0..MAILBOXES).map(|number| format!("agent-{number:04}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let room = Room::set_up(&bench.programs, &place.dir, &names)?;
        let mut found = vec![];
        for (how, tables) in [("one table", &["\"agent-*\""][..]), ("a table each", &names[..])] {
            hire(&room, tables.iter().map(|name| (*name, &[] as &[&str])), UNGUARDED)?;
            let poll = |_| Ok(postroom(&room, &["dispatch"]));
            let floor = |_| Ok(bench.programs.floor(&["scan-all".as_ref(), room.root().as_os_str()]));
            let runs =
                Runs { room: &room, measured: &poll, floor: &floor, expected: NOTHING, receivers: &[] };
            let pair = runs.take(POLLS)?;
            let what = format!("`dispatch`, 1,000 mailboxes without mail, {how}, tmpfs");
            found.push(Row::ratio(what, &pair, Limit::AtMost(2.0)));
        }
        Ok(found)
    });
    found.extend(rows("from arrival to the start of an agent", || {
        let place = Place::tmpfs()?;
        let room = Room::set_up(&bench.programs, &place.dir, &["alice", "bob", "carol"])?;
        let stamps = ["bob", "carol"].map(|name| place.dir.join(name));
        let start = ["start", stamps[0].to_str().unwrap_or_default()];
        hire(&room, [("bob", &start as &[&str])].into_iter(), UNGUARDED)?;
        let mut starts = Starts { room: &room, stamps, resident: [None, None] };
        let pair = Pair::take(Unit::Microseconds, STARTS, &mut starts)?;
        Ok(vec![Row::ratio("from arrival to the start of its agent, p50, tmpfs", &pair, Limit::AtMost(3.0))])
    }));
    found.extend(rows("memory of `dispatch`", || {
        // What the agents print is kept, and would fill a tmpfs.
        let temp = tempfile::tempdir().map_err(|e| e.to_string())?;
        let room = Room::set_up(&bench.programs, temp.path(), &["alice", "bob"])?;
        let at_once = format!("concurrency = {CHILDREN}\n{UNGUARDED}");
        hire(&room, [("bob", &["flood", FLOOD] as &[&str])].into_iter(), &at_once)?;
        room.fill("bob", CHILDREN)?;
        let parallel = CHILDREN.to_string();
        let run = postroom(&room, &["dispatch", "--parallel", &parallel]);
        let peak = peak_memory(&bench.programs, &run)? as f64 / MIB;
        let archived = fs::read_dir(room.folder("bob", "archive")?).map_err(|e| e.to_string())?.count();
        if archived != CHILDREN as usize {
            return Err(format!("only {archived} of {CHILDREN} runs came to an end").into());
        }
        let what = format!("memory of `dispatch`, {CHILDREN} agents that print 100 MB each");
        Ok(vec![Row::count(what, (peak * 10.0).round() / 10.0, " MiB", Limit::AtMost(64.0))])
    }));
    found
}

/// `postroom --root ROOT WORDS…`, with a place for what the person trusts.
fn postroom(room: &Room<'_>, words: &[&str]) -> Command {
    let mut all: Vec<&OsStr> = vec!["--root".as_ref(), room.root().as_os_str()];
    all.extend(words.iter().map(|word| OsStr::new(*word)));
    let mut command = room.programs.postroom(&all);
    let around = room.root().parent().unwrap_or(room.root());
    command.env("XDG_STATE_HOME", around).env("XDG_CONFIG_HOME", around.join("config"));
    command
}

/// Makes mailboxes those of agents, each of which is the floor with these words.
fn hire<'a>(
    room: &Room<'_>,
    agents: impl Iterator<Item = (&'a str, &'a [&'a str])>,
    rest: &str,
) -> Result<(), String> {
    let mut text = String::new();
    for (name, words) in agents {
        let program = room.programs.floor(&[]).get_program().to_string_lossy().into_owned();
        let words: Vec<&str> = std::iter::once(program.as_str()).chain(words.iter().copied()).collect();
        text += &format!("[agents.{name}]\npreset = \"command\"\ncommand = {words:?}\n");
    }
    fs::write(room.root().join("postroom.toml"), text + rest).map_err(|e| e.to_string())?;
    let root = room.root().to_string_lossy().into_owned();
    room.programs.by_person(&postroom(room, &["trust", &root]))
}

/// Postroom and a bare waiter, both resident: each starts the same program when something arrives.
struct Starts<'a> {
    room: &'a Room<'a>,
    /// The files into which the started programs write when they began.
    stamps: [PathBuf; 2],
    resident: [Option<Child>; 2],
}

impl Sides for Starts<'_> {
    fn measured(&mut self, round: usize) -> Result<f64, String> {
        if self.resident[0].is_none() {
            let watch = postroom(self.room, &["dispatch", "--watch"]);
            self.resident[0] = Some(begin(self.room.programs, watch)?);
        }
        let took = self.sample(0, "bob", round)?;
        // The next may come when this one has ended in every respect.
        let open = self.room.root().join(".dispatch/open");
        until("a run to end", || {
            (is_empty(&open) && is_empty(&self.room.folder("bob", "claimed").ok()?)).then_some(())
        })?;
        Ok(took)
    }

    fn floor(&mut self, round: usize) -> Result<f64, String> {
        if self.resident[1].is_none() {
            let program = self.room.programs.floor(&[]).get_program().to_string_lossy().into_owned();
            let stamp = self.stamps[1].to_string_lossy().into_owned();
            let command = self.room.floor("spawn", "carol", &[&program, "start", &stamp])?;
            self.resident[1] = Some(begin(self.room.programs, command)?);
        }
        let took = self.sample(1, "carol", round)?;
        self.room.empty("carol", "inbox")?;
        Ok(took)
    }
}

impl Starts<'_> {
    /// Publishes a message and waits for what the program that it starts has to say of its beginning.
    fn sample(&self, side: usize, name: &str, round: usize) -> Result<f64, String> {
        let file = file_name(u32::try_from(round).unwrap_or(u32::MAX));
        let staged = self.room.folder(name, "tmp")?.join(&file);
        let published = self.room.folder(name, "inbox")?.join(&file);
        self.room.write(&staged, u32::try_from(round).unwrap_or(u32::MAX), name)?;
        let before = now();
        renameat_with(CWD, &staged, CWD, &published, RenameFlags::NOREPLACE).map_err(|e| e.to_string())?;
        let stamp = &self.stamps[side];
        let began: f64 =
            until("an agent to be started", || fs::read_to_string(stamp).ok()?.trim().parse().ok())?;
        fs::remove_file(stamp).map_err(|e| e.to_string())?;
        Ok(began - before)
    }
}

impl Drop for Starts<'_> {
    fn drop(&mut self) {
        for child in self.resident.iter_mut().flatten() {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// Starts a resident process and waits until it watches.
fn begin(programs: &Programs, mut command: Command) -> Result<Child, String> {
    programs.silence(&mut command)?;
    let child = command.stderr(Stdio::inherit()).spawn().map_err(|e| e.to_string())?;
    until("a watch", || super::wake::has_watch(child.id()).then_some(()))?;
    Ok(child)
}

/// Asks again and again until there is an answer.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T, String> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(answer) = ask() {
            return Ok(answer);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Err(format!("waited {} s in vain for {what}", PATIENCE.as_secs()))
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none())
}

/// Microseconds on the clock that the started programs read too.
fn now() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}
