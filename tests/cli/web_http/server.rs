//! `postroom web` for a test: started by a script, which may only look, or at a person's seat.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::client::Browser;
use crate::support::room::TestRoom;
use crate::support::seat;
use crate::support::until::until;

/// Waits until its parent has ended, so that no process above the server is one of the tests.
const SCRIPT: &str = r#"read -r go; echo $$ >"$1"; shift; exec "$@" </dev/tty"#;

/// The same in the background, until another line is typed.
const BACKGROUND: &str =
    r#"read -r go; set -m; pid=$1; shift; "$@" </dev/tty & echo $! >"$pid"; read -r front; fg >/dev/null"#;

/// A server for a room without a name, whose word is `-`.
pub(crate) struct Server {
    child: Option<Child>,
    pub(crate) id: u32,
    pub(crate) port: u16,
    pub(crate) code: String,
    /// The lines of its standard output.
    pub(crate) said: Vec<String>,
    pub(crate) token_file: PathBuf,
    terminal: Option<JoinHandle<()>>,
    /// What it prints after those.
    later: Option<Receiver<String>>,
    _place: tempfile::TempDir,
}

/// Any free port.
const ANY: [&str; 2] = ["--listen", "127.0.0.1:0"];

fn command(room: &TestRoom) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_postroom"));
    command.arg("--root").arg(room.root()).arg("web");
    command.env_clear().env("HOME", room.around().join("home")).current_dir(room.around());
    command
}

/// Starts a page at a person's seat: its terminal, its standard output, and the directory with its process id.
fn seated(room: &TestRoom, script: &str) -> (File, ChildStdout, tempfile::TempDir) {
    let (terminal, name) = seat::terminal();
    let slave = seat::open(name.as_ref());
    let place = tempfile::tempdir().unwrap();
    let mut command = command(room);
    command.args(ANY);
    let mut seated = Command::new("/usr/bin/setsid");
    seated.args(["--fork", "--ctty", "/bin/sh", "-c", script, "sh"]).arg(place.path().join("pid"));
    seated.arg(command.get_program()).args(command.get_args()).env_clear();
    seated.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    seated.current_dir(room.around());
    let mut child = seated.stdin(slave).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(seated);
    let out = child.stdout.take().unwrap();
    assert!(child.wait().unwrap().success());
    let mut terminal = File::from(terminal);
    terminal.write_all(b"go\n").unwrap();
    (terminal, out, place)
}

/// The first lines of a page for looking only, and those that follow.
fn hear(out: ChildStdout) -> (Vec<String>, Receiver<String>) {
    let (tell, later) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(out).lines().map_while(Result::ok);
        lines.take_while(|line| tell.send(line.clone()).is_ok()).for_each(drop);
    });
    (later.iter().take(3).collect(), later)
}

/// The port and the code of a line `open: URL`. A proxy has another port.
fn open(line: &str) -> (u16, String) {
    let (before, code) = line.split_once("/enter#").unwrap();
    let port = before.strip_prefix("open: http://127.0.0.1:").map_or(0, |port| port.parse().unwrap());
    (port, code.to_owned())
}

fn token_file(said: &[String]) -> PathBuf {
    let line = said.iter().find_map(|line| line.split_once("/metrics, token in "));
    line.map(|(_, file)| file.into()).expect("where the token is")
}

impl Server {
    /// A page for looking only.
    pub(crate) fn reader(room: &TestRoom) -> Self {
        Self::reader_with(room, &ANY)
    }

    /// A page for looking only, with these words behind `web`.
    pub(crate) fn reader_with(room: &TestRoom, more: &[&str]) -> Self {
        let mut command = command(room);
        command.args(more);
        let mut command = seat::apart(command);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (said, later) = hear(child.stdout.take().unwrap());
        let (port, code) = open(&said[1]);
        let (token_file, id, place) = (token_file(&said), child.id(), tempfile::tempdir().unwrap());
        let later = Some(later);
        Self { child: Some(child), id, port, code, said, token_file, terminal: None, later, _place: place }
    }

    /// The code that is printed next.
    pub(crate) fn next_code(&self) -> String {
        let later = self.later.as_ref().expect("a page for looking only");
        let mut next = std::iter::from_fn(|| later.recv_timeout(Duration::from_secs(30)).ok());
        open(&next.find(|line| line.starts_with("open: ")).expect("another code")).1
    }

    /// A page that a person started in the background of a terminal, and the terminal: a line that is typed there brings
    /// the server to the foreground.
    pub(crate) fn background(room: &TestRoom) -> (Self, File) {
        let (terminal, out, place) = seated(room, BACKGROUND);
        let (said, later) = hear(out);
        let (port, code) = open(&said[1]);
        let (pid, mut id) = (place.path().join("pid"), 0);
        until("its process id", || {
            id = std::fs::read_to_string(&pid).map_or(0, |text| text.trim().parse().unwrap_or(0));
            id > 0
        });
        let (token_file, later) = (token_file(&said), Some(later));
        let server =
            Self { child: None, id, port, code, said, token_file, terminal: None, later, _place: place };
        (server, terminal)
    }

    /// A page that a person started.
    pub(crate) fn person(room: &TestRoom) -> Self {
        let (mut terminal, out, place) = seated(room, SCRIPT);
        let pid = place.path().join("pid");
        let mut bytes = [0; 4096];
        let mut seen = String::new();
        let (port, code) = loop {
            let count = terminal.read(&mut bytes).unwrap();
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
            let shown =
                seen.split_once("open http://127.0.0.1:").and_then(|(_, rest)| rest.split_once("\r\n"));
            if let Some((port, code)) = shown.and_then(|(shown, _)| shown.split_once("/enter#")) {
                break (port.parse().unwrap(), code.to_owned());
            }
        };
        let said: Vec<String> = BufReader::new(out).lines().map_while(Result::ok).take(2).collect();
        let id = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        let reading = std::thread::spawn(move || while matches!(terminal.read(&mut bytes), Ok(1..)) {});
        let (token_file, terminal, later) = (token_file(&said), Some(reading), None);
        Self { child: None, id, port, code, said, token_file, terminal, later, _place: place }
    }

    pub(crate) fn enter(&self) -> Browser {
        Browser::enter(self.port, &self.code)
    }

    /// The most memory it ever had, in kB.
    pub(crate) fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        } else if let Some(pid) = Pid::from_raw(self.id as i32) {
            let _ = kill_process(pid, Signal::KILL);
        }
        if let Some(reading) = self.terminal.take() {
            let _ = reading.join();
        }
    }
}
