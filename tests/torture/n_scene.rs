//! Machines for the courier: each a network namespace with a room, linked to the one of the server. Without the right to make
//! namespaces everything is on loopback, and links are not cut.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, NotPassed};

/// The server of this machine: a current one if there is one.
pub(crate) fn server_program() -> Result<PathBuf, NotPassed> {
    let current =
        Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("nats-server").join("venv/bin/nats-server");
    let places = [current, "/usr/sbin/nats-server".into(), "/usr/bin/nats-server".into()];
    places.into_iter().find(|path| path.exists()).ok_or_else(|| {
        NotPassed::Skipped("no nats-server: the Debian package nats-server, or `cargo xtask test`".to_owned())
    })
}

pub(crate) struct Machine {
    pub(crate) name: &'static str,
    dir: PathBuf,
    number: usize,
    courier: Option<Child>,
}

/// All machines, and the server between them.
pub(crate) struct Scene {
    binary: PathBuf,
    program: PathBuf,
    dir: PathBuf,
    /// The prefix of the namespaces, if there are any.
    spaces: Option<String>,
    port: u16,
    server: Option<Child>,
    pub(crate) machines: Vec<Machine>,
}

pub(crate) fn quietly(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn ip(words: &str) -> bool {
    quietly(Command::new("ip").args(words.split(' ')))
}

impl Scene {
    /// Makes machines with these names, each with a mailbox of the same name, that all know each other.
    pub(crate) fn new(
        lab: &Lab,
        dir: &Path,
        names: &[&'static str],
        spaces: bool,
    ) -> Result<Self, NotPassed> {
        let program = server_program()?;
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
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
            spaces: None,
            port,
            server: None,
            machines: machines.collect(),
        };
        if spaces && lab.is_root() {
            scene.make_spaces();
        }
        fs::create_dir_all(scene.store()).unwrap();
        scene.start_server();
        for (number, name) in names.iter().enumerate() {
            fs::create_dir_all(scene.machines[number].dir.join("home")).unwrap();
            scene.must(number, &["setup", name]);
            let url = scene.url();
            scene.must(number, &["courier", "join", &url, "--network", "team", "--room-as", name]);
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
        self.dir.join("js")
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
        let config = format!(
            "listen: {host}:{}\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n",
            self.port,
            store.display()
        );
        // An old server does not know the word; then it syncs as it does.
        let path = self.dir.join("server.conf");
        fs::write(&path, &config).unwrap();
        let test = Command::new(&self.program).arg("-t").arg("-c").arg(&path).output();
        if !test.is_ok_and(|test| test.status.success()) {
            fs::write(&path, config.replace(", sync_interval: always", "")).unwrap();
        }
        let log = fs::File::options().create(true).append(true).open(self.dir.join("log")).unwrap();
        let mut command = self.within("s", &self.program.clone());
        command.arg("-c").arg(&path).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.server = Some(command.spawn().unwrap());
    }

    /// `ip netns exec` becomes the program, so its process is that of the server.
    pub(crate) fn kill_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
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
            let room = self.machines[other].dir.join("room/.courier/rooms").join(self.machines[number].name);
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
            fs::write(member.join("peers.json"), serde_json::to_vec(&peers).unwrap()).unwrap();
            self.must(number, &["courier", "once"]);
        }
    }

    pub(crate) fn start_courier(&mut self, number: usize) {
        if self.machines[number].courier.is_none() {
            let mut command = self.command(number, &["courier", "run"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            self.machines[number].courier = Some(command.spawn().unwrap());
        }
    }

    pub(crate) fn kill_courier(&mut self, number: usize) {
        if let Some(mut courier) = self.machines[number].courier.take() {
            let _ = courier.kill();
            let _ = courier.wait();
        }
    }

    /// Cuts or mends the link of a machine.
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

    /// The subjects in a mailbox, by sender, in their order.
    pub(crate) fn received(&self, number: usize) -> Vec<(String, String)> {
        let name = self.machines[number].name;
        let (_, text) = self.say(number, &["--as", name, "check", "--json", "--limit", "1000000"]);
        let Ok(checked) = serde_json::from_str::<serde_json::Value>(&text) else { return vec![] };
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let all = checked["messages"].as_array().cloned().unwrap_or_default();
        all.iter().map(|m| (text(&m["from"]["name"]), text(&m["subject"]))).collect()
    }

    /// Whether nothing is on its way any more.
    pub(crate) fn is_settled(&self) -> bool {
        (0..self.machines.len()).all(|number| {
            let (_, text) = self.say(number, &["courier", "status", "--json"]);
            let Ok(status) = serde_json::from_str::<serde_json::Value>(&text) else { return false };
            let peers = status["peers"].as_array().cloned().unwrap_or_default();
            peers.iter().all(|peer| peer["waiting"] == 0 && peer["carried"] == 0)
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
