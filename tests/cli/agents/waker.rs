//! The waker of Codex, with a stand-in for the program: it sits at a terminal, calls hooks as it is told, and notes what
//! is queued for it.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::room::TestRoom;
use crate::support::seat;
use crate::support::staffed::program;
use crate::support::until::until_at_last;

/// The line of the waker.
const PUSH: &str = "postroom: mail has arrived for this session's mailbox. `postroom check` lists it.";

/// The input of a hook.
fn asks(prompt: &str) -> String {
    asks_in("thread-7", prompt)
}

fn asks_in(thread: &str, prompt: &str) -> String {
    static TURNS: AtomicU32 = AtomicU32::new(0);
    let turn = TURNS.fetch_add(1, Ordering::Relaxed);
    let input = serde_json::json!({"session_id": thread, "cwd": "/", "prompt": prompt, "turn_id": turn, "source": "startup"});
    input.to_string()
}

/// A room in which bob is a session of Codex. What it is asked to queue is noted; `code` is its answer.
fn room(code: i32) -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "bob"]).env("CODEX_THREAD_ID", "thread-7").succeeds();
    answering(&room, code);
    room
}

/// Without `queue`, it runs the lines that it reads.
fn answering(room: &TestRoom, code: i32) {
    let log = room.around().join("asked");
    let script = format!(
        "test \"$1\" = queue && {{ printf '%s|' \"$@\" >> '{}'; exit {code}; }}\n\
         while read -r line; do eval \"$line\"; done",
        log.display()
    );
    program(room, "codex", &script);
}

fn asked(room: &TestRoom) -> String {
    std::fs::read_to_string(room.around().join("asked")).unwrap_or_default()
}

/// The program at its terminal, which is closed with this value.
struct Seat<'a> {
    room: &'a TestRoom,
    child: Child,
    terminal: Option<std::fs::File>,
    calls: u32,
}

impl<'a> Seat<'a> {
    fn take(room: &'a TestRoom, arguments: &[&str]) -> Self {
        let (terminal, name) = seat::terminal();
        let own = std::path::Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
        let path = format!("{}:{}:/usr/bin:/bin", room.around().join("bin").display(), own.display());
        let mut command = Command::new("/usr/bin/setsid");
        command.arg("--ctty").arg(room.around().join("bin/codex")).args(arguments);
        command.env_clear().env("HOME", room.around().join("home")).env("PATH", path);
        command.current_dir(room.around()).env("POSTROOM_ROOT", room.root());
        let slave = seat::open(std::path::Path::new(&name));
        let child = command.stdin(slave).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { room, child, terminal: Some(terminal.into()), calls: 0 }
    }

    /// Types a line, and waits until it was done.
    fn types(&mut self, line: &str) {
        self.calls += 1;
        let done = self.room.around().join(format!("done-{}-{}", self.child.id(), self.calls));
        writeln!(self.terminal.as_mut().unwrap(), "{line}; touch '{}'", done.display()).unwrap();
        until_at_last("the end of the line", || done.exists());
    }

    /// Lets it call a hook; `push` is a prompt that is the line of the waker.
    fn hook(&mut self, event: &str) -> String {
        let answer = self.room.around().join("answer");
        let (event, prompt) = if event == "push" { ("prompt", PUSH) } else { (event, "go") };
        let line = format!("{} >'{}' 2>&1", self.call(event, &asks(prompt)), answer.display());
        self.types(&line);
        std::fs::read_to_string(answer).unwrap()
    }

    fn call(&self, event: &str, asks: &str) -> String {
        let input = self.room.around().join("input");
        std::fs::write(&input, asks).unwrap();
        format!("postroom hook codex {event} <'{}'", input.display())
    }

    /// The person begins anew in the same terminal: what the new session is told first.
    fn begins_anew(&mut self, thread: &str) -> String {
        let answer = self.room.around().join("answer");
        let call = self.call("session-start", &asks_in(thread, "go"));
        self.types(&format!("{call} >'{}' 2>&1", answer.display()));
        std::fs::read_to_string(answer).unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            until_at_last("the end of the waker", || wakers(self.room).is_empty());
        }
    }
}

/// The wakers of a room's programs.
pub(crate) fn wakers(room: &TestRoom) -> Vec<i32> {
    let home = format!("HOME={}", room.around().join("home").display());
    let is_waker = |pid: &i32| {
        let read = |what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        let has = |bytes: Vec<u8>, word: &str| bytes.split(|b| *b == 0).any(|found| found == word.as_bytes());
        has(read("cmdline"), "waker") && has(read("environ"), &home)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_waker).collect()
}

fn until_waker(room: &TestRoom) -> i32 {
    let watches = |pid: i32| {
        std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|list| {
            list.flatten().any(|fd| {
                std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("inotify"))
            })
        })
    };
    until_at_last("a waker that watches", || matches!(wakers(room)[..], [one] if watches(one)));
    wakers(room)[0]
}

fn end(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_session_is_woken_once_for_a_message_while_its_terminal_is_open() {
    let room = room(0);
    let mut seat = Seat::take(&room, &[]);
    seat.hook("session-start");
    let waker = until_waker(&room);
    room.by("alice", ["send", "bob", "-s", "SECRET", "-m", "x"]).succeeds();
    until_at_last("the push", || asked(&room).contains("thread-7"));
    let words = asked(&room);
    assert!(words.starts_with("queue|--thread|thread-7|--message|postroom: mail has arrived"), "{words}");
    assert!(!words.contains("SECRET"), "no content: {words}");
    assert!(seat.hook("push").contains("SECRET"), "the header comes with it");
    assert!(seat.hook("push").contains("\"decision\":\"block\""), "and no second turn");
    room.send("alice", "bob", "next");
    until_at_last("the next push", || asked(&room).matches("thread-7").count() == 2);
    assert_eq!(wakers(&room), [waker], "one serves all");
    // The line is in the queue of the program when its terminal is closed.
    drop(seat.terminal.take());
    until_at_last("the end of the waker", || wakers(&room).is_empty());
    drop(seat);
    let answer = room.run(["hook", "codex", "prompt"]).input(asks(PUSH)).succeeds().out;
    assert!(answer.contains("\"decision\":\"block\""), "nobody would see it run: {answer}");
    // The mail that it was for wakes it when a terminal shows it again.
    let mut seat = Seat::take(&room, &[]);
    seat.hook("session-start");
    until_at_last("the push once more", || asked(&room).matches("thread-7").count() == 3);
    let told = seat.hook("push");
    assert!(told.contains("1 unread message"), "{told}");
    drop(seat);
    room.send("alice", "bob", "for nobody");
    assert_eq!(asked(&room).matches("thread-7").count(), 3);
}

#[test]
fn one_waker_comes_and_goes_with_the_session() {
    let room = room(0);
    let mut seat = Seat::take(&room, &[]);
    let line = seat.call("prompt", &asks("go"));
    seat.types(&format!("{line} & {line} & {line} & {line} & wait"));
    let waker = until_waker(&room);
    let stat = std::fs::read_to_string(format!("/proc/{waker}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!((fields[3], fields[4]), (waker.to_string().as_str(), "0"), "its own session, no terminal");
    for fd in std::fs::read_dir(format!("/proc/{waker}/fd")).unwrap().flatten() {
        let to = std::fs::read_link(fd.path()).unwrap().to_string_lossy().into_owned();
        let others = ["pipe:", "socket:", "/dev/pts", "/dev/tty"].iter().any(|part| to.contains(part));
        assert!(!others, "inherited: {to}");
    }
    // A waker that was killed comes back with the next prompt.
    end(waker);
    // It holds its lock until all of its files are closed.
    let state = || std::fs::read_to_string(format!("/proc/{waker}/stat")).unwrap_or_default();
    until_at_last("its end", || state().rsplit_once(')').is_none_or(|(_, rest)| rest.starts_with(" Z")));
    seat.hook("prompt");
    assert_ne!(until_waker(&room), waker);
    seat.hook("session-end");
    until_at_last("the end with the session", || wakers(&room).is_empty());
    seat.hook("session-start");
    until_waker(&room);
    seat.kill();
    until_at_last("the end with the program", || wakers(&room).is_empty());
    let left = room.around().join("home/.local/state/postroom/sessions/.open");
    assert_eq!(std::fs::read_dir(left).unwrap().count(), 0, "nothing is left");
}

#[test]
fn what_a_killed_hook_left_does_not_keep_the_waker() {
    let room = room(0);
    let mut seat = Seat::take(&room, &[]);
    seat.hook("session-start");
    until_waker(&room);
    let open = room.around().join("home/.local/state/postroom/sessions/.open");
    let window = std::fs::read_dir(&open).unwrap().next().unwrap().unwrap().path();
    std::fs::write(window.join(".session.0"), "{").unwrap();
    seat.hook("session-end");
    until_at_last("the end with the session", || wakers(&room).is_empty());
    seat.hook("session-start");
    until_waker(&room);
    seat.kill();
    until_at_last("the end with the program", || wakers(&room).is_empty());
    assert_eq!(std::fs::read_dir(open).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_run_without_a_person_has_no_waker() {
    let room = room(0);
    let mut seat = Seat::take(&room, &["exec", "--json", "-"]);
    seat.hook("session-start");
    seat.hook("prompt");
    assert!(wakers(&room).is_empty());
    assert!(!room.around().join("home/.local/state/postroom/sessions/.open").exists());
}

#[test]
fn a_push_that_fails_is_not_counted_as_one() {
    let room = room(1);
    let mut seat = Seat::take(&room, &[]);
    seat.hook("session-start");
    until_waker(&room);
    room.send("alice", "bob", "hello");
    until_at_last("the push", || asked(&room).contains("thread-7"));
    answering(&room, 0);
    seat.hook("session-end");
    until_at_last("the end with the session", || wakers(&room).is_empty());
    seat.hook("session-start");
    until_at_last("another push for the same mail", || asked(&room).matches("thread-7").count() == 2);
}

#[test]
fn a_session_that_takes_the_place_of_another_has_its_mailbox() {
    let room = room(0);
    let is_there = || {
        room.run(["names"]).succeeds().out.lines().any(|l| l.starts_with("bob ") && l.ends_with("in session"))
    };
    let mut seat = Seat::take(&room, &[]);
    assert!(seat.hook("session-start").contains("has the mailbox bob"));
    assert!(is_there(), "its terminal is open");
    assert!(seat.begins_anew("thread-8").contains("has the mailbox bob"));
    room.send("alice", "bob", "hello");
    until_at_last("the push", || asked(&room).contains("thread-8"));
    assert!(!asked(&room).contains("thread-7"), "the terminal shows it no more");
    seat.kill();
    assert!(!is_there(), "its terminal is gone");
    room.run(["takeover", "bob"]).env("CODEX_THREAD_ID", "thread-9").succeeds();
}

#[test]
fn a_line_for_a_mailbox_that_was_taken_over_is_dropped() {
    let room = room(0);
    let mut seat = Seat::take(&room, &[]);
    seat.hook("session-start");
    until_waker(&room);
    room.send("alice", "bob", "hello");
    until_at_last("the push", || asked(&room).contains("thread-7"));
    // It waits in the queue of the program meanwhile.
    room.run(["takeover", "bob", "--force"]).env("CODEX_THREAD_ID", "thread-9").succeeds();
    let answer = seat.hook("push");
    assert!(answer.contains("\"decision\":\"block\"") && answer.contains("no longer has"), "{answer}");
    assert!(!seat.hook("prompt").contains("block"), "what the person types is not");
}

#[test]
fn a_session_that_gets_another_mailbox_is_woken_for_that_at_once() {
    let room = room(0);
    let mut seat = Seat::take(&room, &[]);
    seat.hook("session-start");
    until_waker(&room);
    room.run(["setup", "carol"]).succeeds();
    room.run(["takeover", "carol", "--force"]).env("CODEX_THREAD_ID", "thread-7").succeeds();
    let began = std::time::Instant::now();
    room.send("alice", "carol", "hello");
    until_at_last("the push", || asked(&room).contains("thread-7"));
    // Without a sign it looks once a minute.
    assert!(began.elapsed().as_secs() < 40, "{:?}", began.elapsed());
}
