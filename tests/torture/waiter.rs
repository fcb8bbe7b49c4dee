//! A waiter that sleeps, and the sender that wakes it.
//!
//! The sender lives in this process and uses the library, so that between its acknowledgement and the end of
//! a waiter lies nothing but the waiter's own work.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use postroom::clock::SystemClock;
use postroom::message::Priority;
use postroom::post::{Caller, Letter, Me, Outcome, Post};
use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Ended, Run, Running};

/// A `wait` that has looked and found nothing.
pub(crate) struct Waiter(Running);

impl Waiter {
    /// Starts a `wait` and comes back when it sleeps.
    pub(crate) fn asleep(run: &Run) -> Self {
        let waiter = Self(run.start());
        let deadline = Instant::now() + Duration::from_secs(20);
        while !waiter.sleeps() {
            // The kernel tells nobody that a process fell asleep, only that it ended.
            let ended = waiter.ends_within(Duration::from_millis(1));
            if ended || Instant::now() > deadline {
                waiter.signal(Signal::KILL);
                panic!("a waiter did not wait: {}", waiter.end().shown());
            }
        }
        waiter
    }

    /// A waiter takes its lock and sleeps next when it has nothing left to do.
    fn sleeps(&self) -> bool {
        let open = fs::read_dir(self.proc("fd")).into_iter().flatten().flatten();
        let held = open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|path| path.ends_with(".alive"));
        held && self.is("S")
    }

    /// Whether its state is one of these letters.
    fn is(&self, letters: &str) -> bool {
        let stat = fs::read_to_string(self.proc("stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .and_then(|(_, state)| state.chars().next())
            .is_some_and(|c| letters.contains(c))
    }

    /// Stops it, and comes back when it stands still.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.is("Tt") {
            assert!(Instant::now() < deadline, "a waiter never stopped");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn proc(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.0.id())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).expect("the id of a process");
        kill_process(pid, signal).expect("a signal to a child");
    }

    /// Whether it ends in this time.
    pub(crate) fn ends_within(&self, limit: Duration) -> bool {
        self.0.ends_within(limit)
    }

    /// The time it has spent on a processor; also after its end, until that is asked for.
    pub(crate) fn cpu(&self) -> Duration {
        let told = fs::read_to_string(self.proc("schedstat")).expect("the times of a child");
        let spent = told.split(' ').next().and_then(|nanos| nanos.parse().ok());
        Duration::from_nanos(spent.expect("a number of nanoseconds"))
    }

    /// How often it went to sleep.
    pub(crate) fn sleeps_so_far(&self) -> u64 {
        let told = fs::read_to_string(self.proc("status")).expect("the state of a child");
        let line = told.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse().ok()).expect("a number of switches")
    }

    pub(crate) fn end(self) -> Ended {
        self.0.end()
    }
}

/// Somebody who sends from within this process.
pub(crate) struct Sender {
    post: Post,
    me: Me,
}

impl Sender {
    pub(crate) fn new(root: &Path, name: &str) -> Self {
        let caller = Caller { flag: Some(name.to_owned()), ..Caller::default() };
        let post = Post::open(root, caller, Arc::new(SystemClock)).expect("the room");
        let me = post.me().expect("a mailbox to send from");
        Self { post, me }
    }

    /// Comes back when the message is acknowledged.
    pub(crate) fn send(&self, to: &str, body: &str) {
        self.send_with(Priority::Normal, to, body);
    }

    pub(crate) fn send_with(&self, priority: Priority, to: &str, body: &str) {
        let letter = Letter { to: vec![to.to_owned()], body: body.to_owned(), priority, ..Letter::default() };
        let receipts = self.post.send(&self.me, &letter).expect("a message that is sent");
        assert!(matches!(receipts[..], [ref one] if matches!(one.outcome, Outcome::Queued)), "{receipts:?}");
    }
}
