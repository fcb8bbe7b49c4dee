//! The client at a pseudo-terminal: it shows the room, lives with it, and gives the terminal back, whatever ends it.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::support::room::{Run, TestRoom};
use crate::support::screen::Screen;
use crate::support::seat;
use crate::support::until::{skip, until};

const SOON: Duration = Duration::from_secs(30);

/// The client, for looking only, at a terminal of its own.
pub(super) struct Client {
    pub(super) screen: Screen,
    pub(super) child: Child,
    /// Its side of the terminal, as it was.
    side: File,
    before: Termios,
}

impl Client {
    pub(super) fn start(room: &TestRoom, width: u16, height: u16) -> Self {
        Self::start_with(room.run(["tui"]), width, height)
    }

    pub(super) fn start_with(tui: Run, width: u16, height: u16) -> Self {
        // A job of its own, as a shell would make it.
        let mut command: Command = tui.command();
        command.process_group(0);
        Self::start_as(command, width, height)
    }

    fn start_as(mut command: Command, width: u16, height: u16) -> Self {
        let (terminal, name) = seat::terminal();
        let screen = Screen::of(File::from(terminal), width, height);
        let held = seat::open_both_ways(Path::new(&name));
        let before = tcgetattr(&held).unwrap();
        let side = || Stdio::from(held.try_clone().unwrap());
        // Agents are told not to act; a test that is run at a terminal is no person either.
        command.env("CLAUDECODE", "1").env("EDITOR", "true");
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        Self { screen, child, side: held, before }
    }

    pub(super) fn sees(&self, text: &str) {
        self.screen.sees(text, SOON).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn state(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        status.lines().find(|line| line.starts_with("State:")).unwrap_or_default().to_owned()
    }

    pub(super) fn ends(mut self) -> std::process::ExitStatus {
        let status = self.child.wait().unwrap();
        until("the terminal is as before", || self.screen.is_as_before());
        status
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn room() -> TestRoom {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "The first message");
    room
}

#[test]
fn it_shows_the_room_and_what_arrives() {
    let room = room();
    let client = Client::start(&room, 100, 30);
    client.sees("looking only");
    client.screen.types("2");
    client.sees("Mailboxes");
    client.screen.types(":mail bob\r");
    client.sees("The first message");
    room.send("alice", "bob", "Another one came");
    client.sees("Another one came");
    client.screen.resize(60, 15);
    client.signal(Signal::WINCH);
    client.sees("Another one came");
    client.screen.types("?");
    client.sees("everywhere");
    // An escape and a letter in one read would be one key.
    client.screen.types("?q");
    assert_eq!(client.ends().code(), Some(0));
}

#[test]
fn it_comes_back_to_where_it_was() {
    let room = room();
    let client = Client::start(&room, 100, 30);
    client.sees("Now");
    client.screen.types(":mail bob\r");
    client.sees("The first message");
    client.screen.types("q");
    client.ends();
    let client = Client::start(&room, 100, 30);
    client.sees("The first message");
    client.screen.types("\x03");
    client.ends();
}

#[test]
fn a_signal_gives_the_terminal_back() {
    use std::os::unix::process::ExitStatusExt;
    let room = room();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let client = Client::start(&room, 80, 24);
        client.sees("Now");
        assert!(client.screen.is_taken() && !client.screen.is_as_before());
        client.signal(signal);
        assert_eq!(client.ends().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn it_sleeps_and_wakes() {
    let room = room();
    let client = Client::start(&room, 80, 24);
    client.sees("Now");
    for sleep in [true, false] {
        match sleep {
            true => client.screen.types("\x1a"),
            false => client.signal(Signal::TSTP),
        }
        until("it sleeps", || client.state().contains('T'));
        until("the terminal is as before", || client.screen.is_as_before());
        client.signal(Signal::CONT);
        client.sees("Now");
        assert!(client.screen.is_taken());
    }
    client.screen.types("q");
    assert_eq!(client.ends().code(), Some(0));
}

/// As in a container: the leader of the session has no number here.
#[test]
fn it_sleeps_and_wakes_in_a_pid_namespace() {
    let (test, inner) = ("it_sleeps_and_wakes_in_a_pid_namespace", "tui::terminal::it_sleeps_and_wakes");
    let alone = |script: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", script, "bash"]);
        unshare.arg(std::env::current_exe().unwrap()).args([inner, "--exact"]);
        unshare.output()
    };
    if !alone("true").is_ok_and(|allowed| allowed.status.success()) {
        return skip(test, "unshare is not allowed here");
    }
    // The first process there takes no signals, so it must not be the test.
    let ran = alone("\"$@\"; exit $?").unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
}

#[test]
fn without_a_shell_to_wake_it_it_does_not_sleep() {
    let room = room();
    let mut leader = Command::new("setsid");
    seat::like(leader.arg("--wait"), &room.run(["tui"]).command());
    let client = Client::start_as(leader, 80, 24);
    client.sees("Now");
    client.screen.types("\x1a");
    client.sees("there is no shell to go back to; q ends");
    client.screen.types("q");
    assert_eq!(client.ends().code(), Some(0));
}

#[test]
fn after_a_stop_that_it_did_not_see_it_takes_the_terminal_again() {
    let room = room();
    let client = Client::start(&room, 80, 24);
    client.sees("Now");
    client.signal(Signal::STOP);
    until("it is stopped", || client.state().contains('T'));
    // As a shell does.
    tcsetattr(&client.side, OptionalActions::Now, &client.before).unwrap();
    client.signal(Signal::CONT);
    let is_raw = || !tcgetattr(&client.side).unwrap().local_modes.contains(LocalModes::ICANON);
    until("it reads single keys", is_raw);
    client.screen.types("q");
    assert_eq!(client.ends().code(), Some(0));
}

#[test]
fn a_vanished_room_is_said_and_seen_again() {
    let room = room();
    let client = Client::start(&room, 80, 24);
    client.sees("bob");
    let aside = room.around().join("aside");
    std::fs::rename(room.root(), &aside).unwrap();
    client.sees("cannot be read now");
    std::fs::rename(&aside, room.root()).unwrap();
    client.sees("bob");
    client.screen.types("q");
    assert_eq!(client.ends().code(), Some(0));
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let room = room();
    let (terminal, name) = seat::terminal();
    let side = || Stdio::from(File::options().read(true).write(true).open(Path::new(&name)).unwrap());
    let mut command: Command = room.run(["tui"]).command();
    let mut child =
        command.env("CLAUDECODE", "1").stdin(side()).stdout(side()).stderr(Stdio::null()).spawn().unwrap();
    drop(terminal);
    assert!(!child.wait().unwrap().success());
}

#[test]
fn without_a_terminal_it_says_so() {
    let room = room();
    let ran = room.run(["tui"]).exits(2);
    assert!(ran.err.contains("this needs a terminal") && ran.err.contains("postroom"), "{ran:?}");
}

/// Bytes at random, among them sequences that are cut off, while mail arrives and the size changes.
#[test]
fn a_hundred_thousand_keys_do_not_break_the_terminal() {
    const KEYS: usize = 100_000;
    let room = room();
    let client = Client::start(&room, 80, 24);
    client.sees("Now");
    let mut number = 20_261_118_u64;
    let mut below = |limit: u64| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) % limit
    };
    let sequences: [&[u8]; 12] = [
        b"\x1b[A",
        b"\x1b[B",
        b"\x1b[6~",
        b"\x1b[5~",
        b"\x1b[Z",
        b"\x1b[<0;9;9M",
        b"\x1b[<65;3;3M",
        b"\x1b[20",
        "陳".as_bytes(),
        b"\xff",
        b"\x1b[200~q:quit\r\x1b[201~",
        b"\x1b",
    ];
    let (mut typed, mut sent) = (0, 0);
    while typed < KEYS {
        let mut bytes = vec![];
        for _ in 0..500 {
            match below(6) {
                0 => bytes.extend(sequences[below(12) as usize]),
                1 => bytes.push([b'\r', b'\t', 0x7f, 0x0c, 0x13, 0x0f][below(6) as usize]),
                // Without what ends it on purpose.
                _ => bytes
                    .push(Some(b' ' + below(95) as u8).filter(|key| !b"q:".contains(key)).unwrap_or(b'j')),
            }
        }
        typed += 500;
        client.screen.types(&bytes);
        if typed % 20_000 == 0 {
            sent += 1;
            room.send("alice", "bob", &format!("live {sent}"));
            client.screen.resize(40 + below(100) as u16, 10 + below(40) as u16);
            client.signal(Signal::WINCH);
        }
    }
    client.screen.resize(100, 30);
    client.signal(Signal::WINCH);
    // Out of whatever is open, also a paste that half a sequence began, and to a place that is known. An Escape that is followed
    // by a key too soon is part of that key, and how soon that is depends on the machine.
    client.screen.types("\x1b[201~");
    let is_there = (0..20).any(|_| {
        for _ in 0..4 {
            client.screen.types("\x1b");
            std::thread::sleep(Duration::from_millis(200));
        }
        client.screen.types("1");
        client.screen.sees("What happens", Duration::from_secs(2)).is_ok()
    });
    assert!(is_there, "it does not answer");
    assert!(client.screen.written() > 100_000);
    client.screen.types("q");
    assert_eq!(client.ends().code(), Some(0));
}
