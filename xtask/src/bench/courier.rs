//! The courier between two rooms of this machine, over a server on loopback.
//!
//! A hop is the time from the start of a `send` until the letter is in the inbox of the other room; its floor is a bare hop over
//! JetStream between two durable writes (`benches/courier.rs`), on the same server. The rate is that of letters which waited
//! when the courier of the sender began, against deliveries by the library on the same disk. Then many letters pass, and the
//! memory of both couriers is looked at.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::Bench;
use super::deliver::build;
use super::mail::rows;
use super::pair::{Pair, Sides, Unit, microseconds};
use super::place::Place;
use super::room::Room;
use super::table::{Limit, Row, Without};
use super::trace::{Trace, high_water};
use super::wake::until_waiting;
use crate::repo::Repo;

const HOPS: usize = 60;
const RATES: usize = 10;
/// Letters of one round of the rate.
const LETTERS: usize = 2000;
/// Letters that pass while the memory is looked at, and how many wait at once.
const MANY: usize = 1_000_000;
const AT_ONCE: usize = 20_000;
/// How long an idle courier is watched, and what it may still have to do before.
const IDLE: Duration = Duration::from_secs(30);
const SETTLED: Duration = Duration::from_secs(3);
const MIB: f64 = 1024.0 * 1024.0;
const SOON: Duration = Duration::from_secs(120);

pub(crate) fn courier(bench: &Bench) -> Vec<Row> {
    rows("`courier`", || {
        let (library, bare) = (build(&bench.repo, "deliver")?, build(&bench.repo, "courier")?);
        let place = Place::ext4()?;
        let scene = Scene::new(bench, &place)?;
        let mut found = rows("hops", || hops(&scene, &bare, &place));
        found.extend(rows("idle", || idle(bench, &scene)));
        found.extend(rows("rate", || rate(&scene, &library, &place)));
        drop(scene);
        let fast = Place::tmpfs()?;
        let scene = Scene::new(bench, &fast)?;
        found.extend(rows("memory", || memory(&scene, &library)));
        Ok(found)
    })
}

/// Two rooms that know each other, and the server between them.
struct Scene<'a> {
    here: Member<'a>,
    there: Member<'a>,
    server: Server,
}

impl<'a> Scene<'a> {
    fn new(bench: &'a Bench, place: &Place) -> Result<Self, Without> {
        let server = Server::start(&bench.repo, &place.dir.join("server"))?;
        let here = Member::join(bench, &place.dir, "laptop", "alice", &server)?;
        let there = Member::join(bench, &place.dir, "build", "bob", &server)?;
        for member in [&here, &there, &here] {
            member.says(&["courier", "once"])?;
        }
        for (member, other) in [(&here, "build"), (&there, "laptop")] {
            let words = ["courier", "accept", other].map(AsRef::<OsStr>::as_ref);
            member.room.programs.by_person(&member.command(&words))?;
        }
        Ok(Self { here, there, server })
    }

    fn arrived(&self) -> Result<usize, String> {
        let inbox = self.there.room.folder("bob", "inbox")?;
        Ok(fs::read_dir(inbox).map_err(|e| e.to_string())?.count())
    }

    /// Waits until this many letters are in the inbox of the other room.
    fn until_arrived(&self, count: usize) -> Result<(), String> {
        let start = Instant::now();
        while self.arrived()? < count {
            if start.elapsed() > SOON {
                return Err(format!("{} of {count} letters arrived", self.arrived()?));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Puts letters on their way; no courier need run.
    fn send_many(&self, library: &Path, count: usize) -> Result<(), String> {
        let count = count.to_string();
        let args: [&OsStr; 5] = [
            self.here.room.root().as_os_str(),
            "alice".as_ref(),
            "bob@build".as_ref(),
            count.as_ref(),
            "send".as_ref(),
        ];
        self.here
            .room
            .programs
            .output(self.here.at_home(self.here.room.programs.command(library, &args)))
            .map(drop)
    }
}

struct Member<'a> {
    room: Room<'a>,
    home: PathBuf,
    name: &'static str,
}

impl<'a> Member<'a> {
    fn join(
        bench: &'a Bench,
        dir: &Path,
        name: &'static str,
        mailbox: &'static str,
        server: &Server,
    ) -> Result<Self, String> {
        let (dir, home) = (dir.join(name), dir.join(name).join("home"));
        fs::create_dir_all(&home).map_err(|e| e.to_string())?;
        let member = Self { room: Room::set_up(&bench.programs, &dir, &[mailbox])?, home, name: mailbox };
        let url = format!("nats://127.0.0.1:{}", server.port);
        member.says(&["courier", "join", &url, "--network", "team", "--room-as", name])?;
        Ok(member)
    }

    fn at_home(&self, mut command: Command) -> Command {
        command.env("HOME", &self.home);
        command
    }

    fn command(&self, words: &[&OsStr]) -> Command {
        self.at_home(self.room.postroom(self.name, words))
    }

    fn says(&self, words: &[&str]) -> Result<String, String> {
        let words: Vec<&OsStr> = words.iter().map(AsRef::as_ref).collect();
        self.room.programs.output(self.command(&words))
    }

    /// Starts a courier that carries until it is dropped.
    fn run(&self) -> Result<Running, String> {
        let mut command = self.command(&["courier".as_ref(), "run".as_ref()]);
        self.room.programs.silence(&mut command)?;
        let running = Running(command.spawn().map_err(|e| format!("cannot start a courier: {e}"))?);
        let start = Instant::now();
        while !self.says(&["courier", "status", "--json"])?.contains("\"connected\":true") {
            if start.elapsed() > SOON {
                return Err("a courier did not connect".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }
}

/// A process that is killed in the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

struct Server {
    port: u16,
    _child: Running,
}

impl Server {
    fn start(repo: &Repo, dir: &Path) -> Result<Self, Without> {
        let current = repo.target.join("nats-server/venv/bin/nats-server");
        let places = [current, "/usr/sbin/nats-server".into(), "/usr/bin/nats-server".into()];
        let program = places.into_iter().find(|path| path.exists());
        let program = program.ok_or_else(|| Without::Wanting("no nats-server".to_owned()))?;
        let told = |e: std::io::Error| format!("no server: {e}");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).map_err(told)?.port();
        fs::create_dir_all(dir).map_err(told)?;
        let log = File::create(dir.join("log")).map_err(told)?;
        let mut command = Command::new(program);
        command.args(["-a", "127.0.0.1", "-js", "-sd"]).arg(dir).arg("-p").arg(port.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = Running(command.spawn().map_err(told)?);
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if start.elapsed() > SOON {
                return Err(Without::Failed("the server does not listen".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { port, _child: child })
    }
}

fn hops(scene: &Scene<'_>, bare: &Path, place: &Place) -> Result<Vec<Row>, Without> {
    let _couriers = (scene.here.run()?, scene.there.run()?);
    let bare = Bare::start(scene, bare, place)?;
    let pair = Pair::take_among_others(Unit::Microseconds, HOPS, &mut Hops { scene, bare })?;
    let what = format!("from `send` to the inbox of another room, against a bare hop, {}", place.kind);
    Ok(vec![Row::ratio(what, &pair, Limit::AtMost(4.0))])
}

/// The process that makes bare hops.
struct Bare {
    asks: ChildStdin,
    says: BufReader<ChildStdout>,
    _child: Running,
}

impl Bare {
    fn start(scene: &Scene<'_>, program: &Path, place: &Place) -> Result<Self, String> {
        let (url, dir) = (format!("nats://127.0.0.1:{}", scene.server.port), place.dir.join("bare"));
        fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        let mut command =
            scene.here.room.programs.command(program, &["hop".as_ref(), url.as_ref(), dir.as_os_str()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("cannot start the bare hops: {e}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(asks), Some(says)) => Ok(Self { asks, says: BufReader::new(says), _child: Running(child) }),
            _ => Err("the bare hops have no pipes".to_owned()),
        }
    }
}

struct Hops<'a> {
    scene: &'a Scene<'a>,
    bare: Bare,
}

impl Sides for Hops<'_> {
    fn measured(&mut self, _round: usize) -> Result<f64, String> {
        let (here, there) = (&self.scene.here, &self.scene.there);
        let mut waiter = there.room.floor("wait", "bob", &[])?;
        there.room.programs.silence(&mut waiter)?;
        let mut waiter = Running(waiter.spawn().map_err(|e| e.to_string())?);
        until_waiting(waiter.0.id())?;
        let body = here.room.body.as_os_str();
        let words =
            ["send".as_ref(), "bob@build".as_ref(), "-s".as_ref(), "hop".as_ref(), "--file".as_ref(), body];
        let start = Instant::now();
        here.room.programs.time(here.command(&words), &[0])?;
        waiter.0.wait().map_err(|e| e.to_string())?;
        let took = microseconds(start.elapsed());
        there.room.sweep("bob")?;
        Ok(took)
    }

    fn floor(&mut self, _round: usize) -> Result<f64, String> {
        writeln!(self.bare.asks).map_err(|e| e.to_string())?;
        let mut line = String::new();
        self.bare.says.read_line(&mut line).map_err(|e| e.to_string())?;
        line.trim().parse().map_err(|e| format!("`{}` is no time: {e}", line.trim()))
    }
}

/// The keep-alives of the connection, of the stream and of the names, and nothing else.
fn idle(bench: &Bench, scene: &Scene<'_>) -> Result<Vec<Row>, Without> {
    let couriers = (scene.here.run()?, scene.there.run()?);
    std::thread::sleep(SETTLED);
    let trace = Trace::of_process(&bench.programs, couriers.0.0.id(), || {
        std::thread::sleep(IDLE);
        Ok(())
    })?;
    // The first burst is the trace itself.
    let bursts = trace.bursts().len().saturating_sub(1) as f64;
    let what = format!("bursts of an idle courier in {} s", IDLE.as_secs());
    Ok(vec![Row::count(what, bursts, "", Limit::AtMost(15.0))])
}

fn rate(scene: &Scene<'_>, library: &Path, place: &Place) -> Result<Vec<Row>, Without> {
    let _courier = scene.there.run()?;
    let pair = Pair::take_among_others(Unit::PerSecond, RATES, &mut Rates { scene, library })?;
    let what =
        format!("letters of 2 KiB between two rooms, against deliveries by the library, {}", place.kind);
    Ok(vec![Row::ratio(what, &pair, Limit::AtLeast(0.5))])
}

struct Rates<'a> {
    scene: &'a Scene<'a>,
    library: &'a Path,
}

impl Sides for Rates<'_> {
    fn measured(&mut self, _round: usize) -> Result<f64, String> {
        let (here, there) = (&self.scene.here, &self.scene.there);
        self.scene.send_many(self.library, LETTERS)?;
        here.room.settle()?;
        let mut command = here.command(&["courier".as_ref(), "once".as_ref()]);
        here.room.programs.silence(&mut command)?;
        let start = Instant::now();
        let mut carrying = Running(command.spawn().map_err(|e| e.to_string())?);
        self.scene.until_arrived(LETTERS)?;
        let took = start.elapsed();
        let status = carrying.0.wait().map_err(|e| e.to_string())?;
        there.room.sweep("bob")?;
        match status.success() {
            true => Ok(LETTERS as f64 / took.as_secs_f64()),
            false => Err(format!("a courier ended with {status}")),
        }
    }

    fn floor(&mut self, _round: usize) -> Result<f64, String> {
        let (room, count) = (&self.scene.there.room, LETTERS.to_string());
        let args: [&OsStr; 4] = [room.root().as_os_str(), "bob".as_ref(), "bob".as_ref(), count.as_ref()];
        let said = room.programs.output(room.programs.command(self.library, &args))?;
        room.sweep("bob")?;
        said.trim().parse().map_err(|e| format!("`{}` is no rate: {e}", said.trim()))
    }
}

/// Many letters pass; what has arrived, and the copies of what has its receipt, are removed by the way.
fn memory(scene: &Scene<'_>, library: &Path) -> Result<Vec<Row>, Without> {
    let couriers = [scene.here.run()?, scene.there.run()?];
    let archive = || -> Result<PathBuf, String> {
        let room = scene.here.room.root().join(".courier/rooms/team/build");
        Ok(room.join(scene.there.room.id("bob")?).join("archive"))
    };
    let mut early = 0.0;
    for round in 0..MANY / AT_ONCE {
        scene.send_many(library, AT_ONCE)?;
        scene.until_arrived(AT_ONCE)?;
        scene.there.room.empty("bob", "inbox")?;
        for entry in fs::read_dir(archive()?).map_err(|e| e.to_string())?.flatten() {
            let _ = fs::remove_file(entry.path());
        }
        if round == 4 {
            early = peak(&couriers)?;
        }
    }
    let peak = peak(&couriers)?;
    let rounded = |value: f64| (value * 10.0).round() / 10.0;
    let what = format!("memory of a courier at its peak, {MANY} letters");
    Ok(vec![
        Row::count(what, rounded(peak), " MiB", Limit::AtMost(96.0)),
        Row::count("of it since the first tenth", rounded(peak - early), " MiB", Limit::AtMost(8.0)),
    ])
}

/// The larger peak of the two.
fn peak(couriers: &[Running; 2]) -> Result<f64, String> {
    let of = |one: &Running| high_water(&PathBuf::from(format!("/proc/{}", one.0.id())));
    let found: Option<Vec<f64>> =
        couriers.iter().map(|one| of(one).map(|bytes| bytes as f64 / MIB)).collect();
    found.and_then(|all| all.into_iter().reduce(f64::max)).ok_or_else(|| "a courier is gone".to_owned())
}
