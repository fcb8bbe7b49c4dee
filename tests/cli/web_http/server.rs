//! `postroom web` for a test: started by a script, which may only look, or at a person's seat.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};

use super::client::Browser;
use crate::support::room::TestRoom;
use crate::support::seat;

/// Waits until its parent has ended, so that no process above the server is one of the tests.
const SCRIPT: &str = r#"read -r go; echo $$ >"$1"; shift; exec "$@" </dev/tty"#;

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
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said: Vec<String> = lines.take(3).collect();
        let (before, code) = said[1].split_once("/enter#").unwrap();
        // A proxy has another port.
        let port = before.strip_prefix("open: http://127.0.0.1:").map_or(0, |port| port.parse().unwrap());
        let code = code.to_owned();
        let (token_file, id, place) = (token_file(&said), child.id(), tempfile::tempdir().unwrap());
        Self { child: Some(child), id, port, code, said, token_file, terminal: None, _place: place }
    }

    /// A page that a person started.
    pub(crate) fn person(room: &TestRoom) -> Self {
        let (terminal, name) = seat::terminal();
        let slave = seat::open(name.as_ref());
        let place = tempfile::tempdir().unwrap();
        let pid = place.path().join("pid");
        let mut command = command(room);
        command.args(ANY);
        let mut seated = Command::new("/usr/bin/setsid");
        seated.args(["--fork", "--ctty", "/bin/sh", "-c", SCRIPT, "sh"]).arg(&pid);
        seated.arg(command.get_program()).args(command.get_args()).env_clear();
        seated.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        seated.current_dir(room.around());
        let mut child = seated.stdin(slave).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(seated);
        let out = child.stdout.take().unwrap();
        assert!(child.wait().unwrap().success());
        let mut terminal = File::from(terminal);
        terminal.write_all(b"go\n").unwrap();
        let (mut seen, mut bytes) = (String::new(), [0; 4096]);
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
        let token_file = token_file(&said);
        Self { child: None, id, port, code, said, token_file, terminal: Some(reading), _place: place }
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
