//! Under fire: commands that are started again and again, and the random kills of them, of supervisors and of agents.
//!
//! Git is not killed: what it leaves behind then is not Postroom's, and only a person knows whether it may be removed. Nor
//! is a process that an agent has started, whose agent would go on with half of its work.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::l_fence::Draws;
use crate::lab::Findings;
use crate::place::names_in;
use crate::process::Run;
use crate::x_workflow::parent;

/// How long one command may live.
const LIMIT: Duration = Duration::from_secs(1200);

pub(crate) struct Fire<'a> {
    commands: Mutex<Vec<u32>>,
    is_over: AtomicBool,
    /// Commands, supervisors, agents.
    kills: [AtomicUsize; 3],
    findings: &'a Findings,
}

impl<'a> Fire<'a> {
    pub(crate) fn new(findings: &'a Findings) -> Self {
        let kills = [const { AtomicUsize::new(0) }; 3];
        Self { commands: Mutex::default(), is_over: AtomicBool::new(false), kills, findings }
    }

    /// Lets commands be kept again after an end.
    pub(crate) fn begin(&self) {
        self.is_over.store(false, Ordering::Relaxed);
    }

    pub(crate) fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Starts a command whenever it has ended, until all is over.
    pub(crate) fn keep(&self, command: &Run) {
        while self.goes_on() {
            let running = command.clone().deadline(LIMIT).start();
            let id = running.id();
            self.commands.lock().unwrap().push(id);
            let ended = running.end();
            self.commands.lock().unwrap().retain(|other| *other != id);
            // A signal ends a dispatcher that has started nothing as it ends any process.
            let as_wanted = ended.was_killed() || ended.was_asked_to_end() || ended.crash().is_none();
            self.findings.check(as_wanted, || ended.shown());
        }
    }

    /// Kills a command, a supervisor of these rooms, or an agent of such a supervisor.
    pub(crate) fn kill_one(&self, roots: &[&Path], draws: &mut Draws) {
        let kind = draws.below(3);
        let victims = match kind {
            0 => self.commands.lock().unwrap().clone(),
            1 => supervisors(roots),
            _ => agents(&supervisors(roots)),
        };
        let victim = victims.get(draws.below(victims.len().max(1)));
        let pid = victim.and_then(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
        if pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok()) {
            self.kills[kind].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn kills(&self) -> usize {
        self.kills.iter().map(|kills| kills.load(Ordering::Relaxed)).sum()
    }

    /// How many of each were killed, in words.
    pub(crate) fn told(&self) -> String {
        let [commands, supervisors, agents] = [0, 1, 2].map(|kind| self.kills[kind].load(Ordering::Relaxed));
        format!("{} kills ({commands} dispatchers, {supervisors} supervisors, {agents} agents)", self.kills())
    }

    /// Ends the commands.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        for id in self.commands.lock().unwrap().iter() {
            let _ = Pid::from_raw(*id as i32).map(|pid| kill_process(pid, Signal::TERM));
        }
    }
}

fn words(pid: u32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|b| *b == 0).map(<[u8]>::to_vec).collect()
}

fn processes() -> Vec<u32> {
    names_in("/proc".as_ref()).iter().filter_map(|name| name.parse().ok()).collect()
}

fn is_supervisor(pid: u32) -> bool {
    words(pid).iter().any(|word| word == b"supervise")
}

/// The supervisors of these rooms, without what is about to become an agent.
fn supervisors(roots: &[&Path]) -> Vec<u32> {
    let is_one = |pid: &u32| {
        let words = words(*pid);
        let is_its = |root: &&Path| words.iter().any(|word| word == root.as_os_str().as_encoded_bytes());
        words.iter().any(|word| word == b"supervise") && roots.iter().any(is_its)
    };
    let all: Vec<u32> = processes().into_iter().filter(is_one).collect();
    all.iter().filter(|pid| parent(**pid).is_none_or(|parent| !all.contains(&parent))).copied().collect()
}

/// What supervisors have started, apart from git.
fn agents(supervisors: &[u32]) -> Vec<u32> {
    let is_one = |pid: &u32| {
        let is_git = words(*pid).first().is_none_or(|word| word.ends_with(b"git") || word.is_empty());
        parent(*pid).is_some_and(|parent| supervisors.contains(&parent)) && !is_git && !is_supervisor(*pid)
    };
    processes().into_iter().filter(is_one).collect()
}

/// The processes that belong to a run and have this path in their environment.
pub(crate) fn left_in(base: &Path) -> Vec<String> {
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|found| found == part);
    let is_left = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        has(&environment, b"POSTROOM_RUN=") && has(&environment, base.as_os_str().as_encoded_bytes())
    };
    let shown = |pid: u32| {
        let words: Vec<String> =
            words(pid).iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        format!("{pid} {}", words.join(" "))
    };
    processes().into_iter().filter(is_left).map(shown).collect()
}
