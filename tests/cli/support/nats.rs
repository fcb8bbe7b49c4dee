//! Real NATS servers, on loopback, each with a directory of its own; stopped when the test ends.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::room::TestRoom;
use crate::support::until::{skip, until_at_last};

/// The servers of this machine: the old one of the system, and a current one.
pub(crate) fn programs() -> Vec<PathBuf> {
    let current =
        Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("nats-server").join("venv/bin/nats-server");
    let places = ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"];
    let old = places.iter().map(PathBuf::from).find(|path| path.exists());
    old.into_iter().chain(Some(current).filter(|path| path.exists())).collect()
}

/// A current server, or the reason to skip a test.
pub(crate) fn current(test: &str) -> Option<PathBuf> {
    let found = programs().pop();
    if found.is_none() {
        skip(test, "no nats-server: the Debian package nats-server, or `cargo xtask test`");
    }
    found
}

/// A server that runs.
pub(crate) struct Server {
    program: PathBuf,
    child: Option<Child>,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) port: u16,
}

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    pub(crate) fn start(program: &Path) -> Self {
        Self::with(program, "")
    }

    /// With more lines of configuration. `DIR` in them is its directory.
    pub(crate) fn with(program: &Path, more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut server = Self { program: program.to_owned(), child: None, port: free_port(), dir };
        server.configure(more);
        server.up();
        server
    }

    pub(crate) fn configure(&self, more: &str) {
        let dir = self.dir.path().display().to_string();
        let block = if more.contains("jetstream") {
            String::new()
        } else {
            format!("jetstream {{ store_dir: \"{dir}/js\" }}")
        };
        let text = format!(
            "listen: 127.0.0.1:{}\n{block}\n{}\n",
            self.port,
            more.replace("DIR/", &format!("{dir}/"))
        );
        std::fs::write(self.dir.path().join("server.conf"), text).unwrap();
    }

    pub(crate) fn up(&mut self) {
        let log =
            std::fs::File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(self.dir.path().join("server.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let port = self.port;
        until_at_last("the server", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// Ends it as a power cut ends a process.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// How many parcels for a room are at the server.
    pub(crate) fn waiting(&self, network: &str, room: &str) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let context = async_nats::jetstream::new(async_nats::connect(self.url()).await.unwrap());
            let stream = context.get_stream(format!("POSTROOM_{network}_{room}")).await.unwrap();
            stream.cached_info().state.messages
        })
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join("js")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            println!("{}", log.lines().rev().take(15).collect::<Vec<_>>().join("\n"));
        }
    }
}

/// A machine: a room of its own that joined the network `team` under this name.
pub(crate) struct Machine {
    pub(crate) room: TestRoom,
    pub(crate) name: String,
}

impl Machine {
    pub(crate) fn join(server: &Server, name: &str, names: &[&str]) -> Self {
        let room = TestRoom::with(names);
        let machine = Self { room, name: name.to_owned() };
        machine.courier(["join", &server.url(), "--network", "team", "--room-as", name]).succeeds();
        machine
    }

    pub(crate) fn courier<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> crate::support::room::Run {
        self.room.run(["courier"].into_iter().chain(words))
    }

    /// Carries what there is.
    pub(crate) fn once(&self) -> String {
        self.courier(["once"]).succeeds().out
    }

    /// Accepts another machine, as a person does.
    pub(crate) fn accept(&self, other: &str) {
        self.courier(["accept", other]).by_person().with(0);
    }

    /// Starts a courier that carries until it is killed.
    pub(crate) fn run(&self) -> Running {
        Running(self.courier(["run"]).start())
    }
}

/// Lets machines know and accept each other.
pub(crate) fn acquaint(machines: &[&Machine]) {
    for machine in machines {
        machine.once();
    }
    for machine in machines {
        for other in machines.iter().filter(|other| other.name != machine.name) {
            machine.accept(&other.name);
        }
    }
}

/// A courier that runs.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
