//! Machines for the courier: each a network namespace with a room, linked to the one of the server. Without the right to make
//! namespaces everything is on loopback, and links are not cut.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::disk::{Disk, Kind};
use crate::lab::{Lab, NotPassed};
use crate::n_clock;

/// The server of this machine: a current one if there is one.
pub(crate) fn server_program() -> Result<PathBuf, NotPassed> {
    let current =
        Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("nats-server").join("venv/bin/nats-server");
    let places = [current, "/usr/sbin/nats-server".into(), "/usr/bin/nats-server".into()];
    places.into_iter().find(|path| path.exists()).ok_or_else(|| {
        NotPassed::Skipped("no nats-server: the Debian package nats-server, or `cargo xtask test`".to_owned())
    })
}

/// How many seconds the clock of each machine is fast or slow.
const APART: [i64; 3] = [0, 3600, -3600];

pub(crate) struct Machine {
    pub(crate) name: &'static str,
    dir: PathBuf,
    number: usize,
    courier: Option<Child>,
}

/// What the server is, and what is between it and the machines.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    /// Each machine is a network namespace, where that can be made.
    pub(crate) spaces: bool,
    /// The server syncs each write before it acknowledges it, if it is new enough.
    pub(crate) syncs: bool,
    /// The server writes to a disk whose power can be cut.
    pub(crate) disk: bool,
    /// The couriers may read the configuration of the server.
    pub(crate) monitored: bool,
}

impl Site {
    pub(crate) const PLAIN: Self = Self { spaces: false, syncs: true, disk: false, monitored: false };
}

/// All machines, and the server between them.
pub(crate) struct Scene {
    binary: PathBuf,
    program: PathBuf,
    dir: PathBuf,
    site: Site,
    /// The prefix of the namespaces, if there are any.
    spaces: Option<String>,
    port: u16,
    monitor: u16,
    disk: Option<Disk>,
    server: Option<Child>,
    pub(crate) machines: Vec<Machine>,
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn quietly(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn ip(words: &str) -> bool {
    quietly(Command::new("ip").args(words.split(' ')))
}

impl Scene {
    /// Makes machines with these names, each with a mailbox of the same name, that all know each other.
    pub(crate) fn new(lab: &Lab, dir: &Path, names: &[&'static str], site: Site) -> Result<Self, NotPassed> {
        let program = server_program()?;
        let disk = if site.disk { Some(Disk::new(&dir.join("disk"), Kind::EXT4)?) } else { None };
        let machines = names.iter().enumerate().map(|(number, name)| Machine {
            name,
            dir: dir.join(name),
            number,
            courier: None,
        });
        let mut scene = Self {
            binary: lab.binary.clone(),
            program,
            dir: dir.to_owned(),
            site,
            spaces: None,
            port: free_port(),
            monitor: free_port(),
            disk,
            server: None,
            machines: machines.collect(),
        };
        if site.spaces && lab.is_root() {
            scene.make_spaces();
        }
        fs::create_dir_all(scene.store()).unwrap();
        scene.start_server();
        for (number, name) in names.iter().enumerate() {
            fs::create_dir_all(scene.machines[number].dir.join("home")).unwrap();
            scene.must(number, &["setup", name]);
            scene.must(number, &["setup", "gone"]);
            let (url, monitor) = (scene.url(), format!("http://127.0.0.1:{}", scene.monitor));
            let mut words = vec!["courier", "join", &url, "--network", "team", "--room-as", name];
            if site.monitored {
                words.extend(["--monitor", &monitor]);
            }
            scene.must(number, &words);
        }
        scene.accept_all();
        Ok(scene)
    }

    /// Each machine is 10.77.N.2, with the server at 10.77.N.1.
    fn make_spaces(&mut self) {
        let prefix = format!("pr{}", std::process::id() % 100_000);
        if !ip(&format!("netns add {prefix}s")) {
            return;
        }
        self.spaces = Some(prefix.clone());
        let mut made = ip(&format!("-n {prefix}s link set lo up"));
        for number in 0..self.machines.len() {
            made &= ip(&format!("netns add {prefix}m{number}"))
                && ip(&format!(
                    "-n {prefix}s link add v{number} type veth peer name v netns {prefix}m{number}"
                ))
                && ip(&format!("-n {prefix}s addr add 10.77.{number}.1/24 dev v{number}"))
                && ip(&format!("-n {prefix}m{number} addr add 10.77.{number}.2/24 dev v"))
                && ip(&format!("-n {prefix}s link set v{number} up"))
                && ip(&format!("-n {prefix}m{number} link set v up"))
                && ip(&format!("-n {prefix}m{number} link set lo up"))
                && ip(&format!("-n {prefix}m{number} route add default via 10.77.{number}.1"));
        }
        assert!(made, "the namespaces could be begun, and not finished");
    }

    pub(crate) fn has_links(&self) -> bool {
        self.spaces.is_some()
    }

    /// Every machine reaches the server by the address of the first link.
    fn url(&self) -> String {
        let host = if self.spaces.is_some() { "10.77.0.1" } else { "127.0.0.1" };
        format!("nats://{host}:{}", self.port)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.disk.as_ref().map_or_else(|| self.dir.join("js"), |disk| disk.mount.join("js"))
    }

    fn within(&self, space: &str, program: &Path) -> Command {
        match &self.spaces {
            Some(prefix) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &format!("{prefix}{space}")]).arg(program);
                command
            }
            None => Command::new(program),
        }
    }

    pub(crate) fn start_server(&mut self) {
        let host = if self.spaces.is_some() { "0.0.0.0" } else { "127.0.0.1" };
        let store = self.store();
        let sync = if self.site.syncs { ", sync_interval: always" } else { "" };
        let config = format!(
            "listen: {host}:{}\nhttp: 127.0.0.1:{}\njetstream {{ store_dir: \"{}\"{sync} }}\n",
            self.port,
            self.monitor,
            store.display()
        );
        // An old server does not know the word; then it syncs as it does.
        let path = self.dir.join("server.conf");
        fs::write(&path, &config).unwrap();
        let test = Command::new(&self.program).arg("-t").arg("-c").arg(&path).output();
        if !test.is_ok_and(|test| test.status.success()) {
            fs::write(&path, config.replace(sync, "")).unwrap();
        }
        let log = fs::File::options().create(true).append(true).open(self.dir.join("log")).unwrap();
        let mut command = self.within("s", &self.program.clone());
        command.arg("-c").arg(&path).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.server = Some(command.spawn().unwrap());
    }

    /// Whether its monitoring port says when it syncs; an old one does not.
    pub(crate) fn tells_how_it_syncs(&self) -> bool {
        let said = Command::new(&self.program).arg("--version").output().unwrap().stdout;
        !String::from_utf8_lossy(&said).contains("v2.9.")
    }

    /// `ip netns exec` becomes the program, so its process is that of the server.
    pub(crate) fn kill_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// Cuts the power of the disk that the server writes to, and starts the server on what is left.
    pub(crate) fn cut_power(&mut self) {
        if let Some(disk) = &self.disk {
            disk.power_off();
        }
        self.kill_server();
        if let Some(disk) = &self.disk {
            disk.power_on();
        }
        self.start_server();
    }

    fn command(&self, number: usize, words: &[&str]) -> Command {
        let machine = &self.machines[number];
        let mut command = self.within(&format!("m{number}"), &self.binary.clone());
        command
            .arg("--root")
            .arg(machine.dir.join("room"))
            .args(words)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", machine.dir.join("home"))
            .env("POSTROOM_ROOT", machine.dir.join("room"));
        command
    }

    /// A command on the machine itself, which needs no network.
    fn local(&self, number: usize, words: &[&str]) -> Command {
        let machine = &self.machines[number];
        let mut command = Command::new(&self.binary);
        command
            .arg("--root")
            .arg(machine.dir.join("room"))
            .args(words)
            .env_clear()
            .env("HOME", machine.dir.join("home"));
        command
    }

    pub(crate) fn say(&self, number: usize, words: &[&str]) -> (bool, String) {
        let output = self.local(number, words).output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), text)
    }

    fn must(&self, number: usize, words: &[&str]) {
        let start = Instant::now();
        loop {
            let output = self.command(number, words).output().unwrap();
            if output.status.success() {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{words:?}: {output:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// What a person does at each terminal; here by the record itself, because the battery has no person.
    fn accept_all(&self) {
        let key = |number: usize| -> (PathBuf, String) {
            let courier = self.machines[number].dir.join("home/.config/postroom/courier");
            let member = fs::read_dir(courier).unwrap().next().unwrap().unwrap().path();
            let other = (number + 1) % self.machines.len();
            self.must(other, &["courier", "once"]);
            let room =
                self.machines[other].dir.join("room/.courier/rooms/team").join(self.machines[number].name);
            let news: serde_json::Value =
                serde_json::from_slice(&fs::read(room.join(".news.json")).unwrap()).unwrap();
            (member, news["key"].as_str().unwrap().to_owned())
        };
        let keys: Vec<(PathBuf, String)> = (0..self.machines.len()).map(key).collect();
        for (number, (member, _)) in keys.iter().enumerate() {
            let others = self.machines.iter().filter(|other| other.number != number);
            let peers: serde_json::Map<String, serde_json::Value> = others
                .map(|other| {
                    (other.name.to_owned(), serde_json::json!({"key": keys[other.number].1, "at": "now"}))
                })
                .collect();
            fs::write(member.join("peers.team.json"), serde_json::to_vec(&peers).unwrap()).unwrap();
            self.must(number, &["courier", "once"]);
        }
    }

    pub(crate) fn start_courier(&mut self, number: usize) {
        if self.machines[number].courier.is_none() {
            let mut command = match APART[number] {
                0 => self.command(number, &["courier", "run"]),
                apart => self.courier_apart(number, apart),
            };
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            self.machines[number].courier = Some(command.spawn().unwrap());
        }
    }

    /// The courier of a machine whose clock is wrong.
    fn courier_apart(&self, number: usize, seconds: i64) -> Command {
        let machine = &self.machines[number];
        let myself = std::env::current_exe().expect("the path of this program");
        let mut command = self.within(&format!("m{number}"), &myself);
        command.arg(n_clock::COURIER).arg(machine.dir.join("room"));
        command.arg(machine.dir.join("home/.config/postroom")).arg(seconds.to_string());
        command
    }

    /// Sends a letter from the mailbox of one machine, by its clock.
    pub(crate) fn send(&self, from: usize, to: &str, subject: &str) -> Result<(), String> {
        let machine = &self.machines[from];
        if APART[from] != 0 {
            return n_clock::send(&machine.dir.join("room"), APART[from], machine.name, to, subject);
        }
        let (is_sent, said) =
            self.say(from, &["--as", machine.name, "send", to, "-s", subject, "-m", "text"]);
        if is_sent { Ok(()) } else { Err(said) }
    }

    pub(crate) fn kill_courier(&mut self, number: usize) {
        if let Some(mut courier) = self.machines[number].courier.take() {
            let _ = courier.kill();
            let _ = courier.wait();
        }
    }

    /// Cuts or restores the link of a machine.
    pub(crate) fn link(&self, number: usize, up: bool) {
        if let Some(prefix) = &self.spaces {
            let word = if up { "up" } else { "down" };
            ip(&format!("-n {prefix}m{number} link set v {word}"));
            if up {
                ip(&format!("-n {prefix}m{number} route replace default via 10.77.{number}.1"));
            }
        }
    }

    /// Lets packets to a machine disappear, so that it talks to nobody and does not know.
    pub(crate) fn half_open(&self, number: usize, is_broken: bool) {
        if let Some(prefix) = &self.spaces {
            let (verb, address) = (if is_broken { "add" } else { "del" }, format!("10.77.{number}.2/32"));
            ip(&format!("-n {prefix}s route {verb} blackhole {address}"));
        }
    }

    /// The subjects in a mailbox.
    pub(crate) fn subjects(&self, number: usize) -> Vec<String> {
        self.received(number).into_iter().map(|(_, subject)| subject).collect()
    }

    /// The subjects in a mailbox, by sender, in their order.
    pub(crate) fn received(&self, number: usize) -> Vec<(String, String)> {
        let name = self.machines[number].name;
        let (_, text) = self.say(number, &["--as", name, "check", "--json", "--limit", "1000000"]);
        let Ok(checked) = serde_json::from_str::<serde_json::Value>(&text) else { return vec![] };
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let all = checked["messages"].as_array().cloned().unwrap_or_default();
        all.iter().map(|m| (text(&m["from"]["name"]), text(&m["subject"]))).collect()
    }

    /// What the courier of a machine knows of each other one.
    pub(crate) fn peers(&self, number: usize) -> Vec<serde_json::Value> {
        let (_, text) = self.say(number, &["courier", "status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        status["peers"].as_array().cloned().unwrap_or_default()
    }

    /// Whether nothing is on its way any more.
    pub(crate) fn is_settled(&self) -> bool {
        (0..self.machines.len()).all(|number| {
            let peers = self.peers(number);
            let others = self.machines.len() - 1;
            peers.len() == others && peers.iter().all(|peer| peer["waiting"] == 0 && peer["carried"] == 0)
        })
    }

    pub(crate) fn tail_of_log(&self) -> String {
        let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        log.lines().rev().take(5).collect::<Vec<_>>().join(" | ")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for number in 0..self.machines.len() {
            self.kill_courier(number);
        }
        self.kill_server();
        if let Some(prefix) = &self.spaces {
            for number in 0..self.machines.len() {
                ip(&format!("netns del {prefix}m{number}"));
            }
            ip(&format!("netns del {prefix}s"));
        }
    }
}
