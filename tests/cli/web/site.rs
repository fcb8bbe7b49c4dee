//! The page of a room: `postroom web` at a person's seat, and the scene that pictures show.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::support::room::{Run, TestRoom};
use crate::support::seat::Seated;
use crate::support::until::until;
use crate::web::driver::Browser;

/// A server that a person started. It ends when the person presses Ctrl-C.
pub(crate) struct Site {
    seated: Option<Seated>,
    terminal: File,
    /// `HOST:PORT`.
    pub(crate) host: String,
    code: String,
    hear: Receiver<String>,
}

impl Site {
    /// `run` is `postroom web`.
    pub(crate) fn open(run: Run) -> Self {
        let (tell, hear) = channel();
        let (lend, lent) = channel();
        let seated = run.seated(move |terminal| {
            lend.send(terminal.try_clone().unwrap()).unwrap();
            attend(terminal, &tell);
        });
        let shown: String = hear.recv().expect("the terminal shows an address");
        let (host, code) = shown.split_once("/enter#").unwrap();
        let (host, code) = (host.to_owned(), code.to_owned());
        Self { seated: Some(seated), terminal: lent.recv().unwrap(), host, code, hear }
    }

    /// Presses Enter in the terminal. Returns the address with another code.
    pub(crate) fn another(&mut self) -> String {
        self.terminal.write_all(b"\n").unwrap();
        self.hear.recv().expect("the terminal shows another address")
    }

    /// The code, as the terminal shows it.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    pub(crate) fn port(&self) -> u16 {
        self.host.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Opens the address from the terminal, at another host if there is something in between, and arrives at the board.
    pub(crate) fn enter(&self, browser: &Browser, host: &str) {
        browser.go(&format!("http://{host}/enter#{}", self.code));
        browser.until("location.pathname.endsWith('/now') && document.querySelector('#feed')");
        browser.until_says("#link", "live");
        assert_eq!(
            browser.run("return location.hash + document.referrer"),
            "",
            "the code is gone from the address"
        );
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.terminal.write_all(b"\x03");
        if let Some(seated) = self.seated.take() {
            seated.ends();
        }
    }
}

/// Reads the terminal until nobody has it any more, and tells the first address there.
fn attend(mut terminal: File, tell: &Sender<String>) {
    terminal.write_all(b"go\n").unwrap();
    let (mut seen, mut bytes) = (String::new(), [0; 4096]);
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        let address = seen.split_once("open http://").and_then(|(_, rest)| rest.split_once("\r\n"));
        if let Some((address, _)) = address {
            let _ = tell.send(address.to_owned());
            seen.clear();
        }
    }
}

/// The room of the pictures (tests/web), with its page.
pub(crate) struct Scene {
    // Ends first.
    pub(crate) site: Site,
    _runs: Running,
    _room: TestRoom,
}

/// The program that holds the runs of the scene.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl Scene {
    pub(crate) fn open() -> Self {
        let room = TestRoom::empty().leaves_faults();
        let project = room.around().join("project");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(room.around().join("home")).unwrap();
        let beside = std::env::current_exe().unwrap();
        let file = beside.parent().unwrap().with_file_name("examples").join("scene");
        assert!(file.is_file(), "{} is not there: cargo build --example scene", file.display());
        let mut scene = Command::new(file);
        scene.arg(room.root()).arg(&project).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut runs = Running(scene.spawn().unwrap());
        let said = BufReader::new(runs.0.stdout.take().unwrap()).lines().map_while(Result::ok).next();
        assert_eq!(said.as_deref(), Some("ready"));
        room.run(["trust"]).arg(&project).by_person().with(0);
        let site = Site::open(room.run(["web"]).within(&project));
        Self { site, _runs: runs, _room: room }
    }
}

/// A process that is ended with this value.
pub(crate) struct Ending(pub(crate) Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        until("it has ended", || self.0.try_wait().unwrap().is_some());
    }
}
