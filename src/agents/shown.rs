//! The process that shows a session to a person: found by a hook, from the processes above it.
//!
//! A program that has a terminal shows its session itself. Codex may run its sessions in a daemon, which calls the
//! hooks and has no terminal; then it is one of the terminals that are connected to it, and nothing says which. Taken is
//! the only one in the directory of the session, or else the only one in which somebody has just typed. `None` is the
//! answer to everything that is not certain, and to runs without a person.

use std::path::{Path, PathBuf};

use super::answer::Input;
use super::programs::{Program, Wake};
use crate::os;
use crate::process::Process;
use crate::process::marked::MARK;

/// Words on the command lines of runs without a person.
const ALONE_CODEX: [&str; 3] = ["exec", "e", "review"];
const ALONE_GEMINI: [&str; 4] = ["-p", "--prompt", "--acp", "--experimental-acp"];

/// The word of Codex's daemon.
const DAEMON: &str = "app-server";

/// The directory in the home of Codex with a file for each session, which the process that runs the session has open.
const LOCKS: &str = "thread-writer-locks";

/// A terminal in which somebody typed within so many seconds is in use: the kernel notes it every eight seconds.
const JUST_NOW: i64 = 10;

/// The process that shows the session whose hook this is. `now`: in seconds.
pub fn process(program: &Program, input: &Input, now: i64) -> Option<Process> {
    let above = os::ancestors(MARK).ok()?;
    let is_program =
        |process: &&os::Ancestor| process.name == program.word || os::terminal_of(process.pid).is_some();
    let first = above.iter().find(is_program)?;
    if program.wake == Wake::Queue && first.words.iter().any(|word| word == DAEMON) {
        return connected(program, input, now).and_then(Process::of);
    }
    shows(program, first.pid, &first.words).then(|| Process::of(first.pid)).flatten()
}

/// The session that a process has open and shows to a person, as far as that is seen without a hook: it is the only one.
pub fn open_session(program: &Program, pid: u64) -> Option<String> {
    let words = os::words_of(pid).ok()?;
    if words.iter().any(|word| word == DAEMON) || !shows(program, pid, &words) {
        return None;
    }
    let is_lock = |file: &PathBuf| file.parent().is_some_and(|dir| dir.ends_with(LOCKS));
    let id = |file: PathBuf| Some(file.file_stem()?.to_str()?.to_owned());
    let mut ids: Vec<String> = os::files_of(pid).into_iter().filter(is_lock).filter_map(id).collect();
    ids.sort();
    ids.dedup();
    only(&ids).cloned()
}

/// Whether a process runs the sessions of several terminals. `None` if it cannot be seen.
pub fn is_daemon(pid: u64) -> Option<bool> {
    os::words_of(pid).ok().map(|words| words.iter().any(|word| word == DAEMON))
}

/// Whether a process of a program has a terminal and a person.
fn shows(program: &Program, pid: u64, words: &[String]) -> bool {
    let alone: &[&str] = match program.wake {
        Wake::Queue => &ALONE_CODEX,
        Wake::Typed => &ALONE_GEMINI,
        Wake::Rewake | Wake::Plugin => &[],
    };
    let is_alone = |word: &String| alone.contains(&word.split('=').next().unwrap_or_default());
    os::terminal_of(pid).is_some() && !words.iter().skip(1).any(is_alone)
}

/// The terminal that shows a session of Codex's daemon.
fn connected(program: &Program, input: &Input, now: i64) -> Option<u64> {
    // The sessions are in the home of Codex, and its terminals have other files there open.
    let home = input.transcript_path.as_deref().map(Path::new)?;
    let home =
        home.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "sessions"))?.parent()?;
    let is_candidate = |pid: &u64| {
        let files = os::files_of(*pid);
        let words = os::words_of(*pid).unwrap_or_default();
        // One that runs its own session, without the daemon, holds a lock for it.
        let has_own = files.iter().any(|file| file.starts_with(home.join(LOCKS)));
        let is_daemon = words.iter().any(|word| word == DAEMON);
        files.iter().any(|file| file.starts_with(home))
            && !has_own
            && !is_daemon
            && shows(program, *pid, &words)
    };
    let all: Vec<u64> = os::called(program.word).into_iter().filter(is_candidate).collect();
    let here = |pid: &u64| {
        input
            .cwd
            .as_deref()
            .is_some_and(|cwd| os::directory_of(*pid).is_some_and(|dir| dir == Path::new(cwd)))
    };
    let near: Vec<u64> = all.iter().copied().filter(here).collect();
    // Another directory may have been given on its command line.
    let all = if near.is_empty() { all } else { near };
    let in_use = |pid: &u64| os::typed_at(*pid).is_some_and(|then| now - then <= JUST_NOW);
    only(&all).copied().or_else(|| only(&all.iter().copied().filter(in_use).collect::<Vec<_>>()).copied())
}

fn only<T>(list: &[T]) -> Option<&T> {
    match list {
        [one] => Some(one),
        _ => None,
    }
}
