//! One agent process: started in its own group, fed its prompt, heard until it ends, and ended when its time is over.
//!
//! What it prints goes to two files, up to a bound, and through a [`Reading`]; nothing else of it is kept. When the
//! process ends, whatever it left in its group is ended too, so nothing holds a pipe or a lock for it.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::output::{AgentOutput, Reading};
use super::presets::Preset;
use crate::clock::Clock;
use crate::os::{Handle, await_end};

/// How much of an output is kept in its file.
const KEPT: usize = 64 * 1024 * 1024;

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How long output may follow the end of its process.
const DRAIN: Duration = Duration::from_secs(2);

/// How often the caller is told how it goes; the end of the process is seen at once.
const LOOK: Duration = Duration::from_millis(500);

/// What became of a process.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Its time was over.
    pub timed_out: bool,
    /// Somebody else has decided about its message meanwhile.
    pub overtaken: bool,
    pub found: Result<AgentOutput, String>,
    /// Its last lines, for people: of its errors, if there were any.
    pub tail: String,
    /// The last lines of the output that `tail` is not of.
    pub other_tail: String,
    /// The end of its output and of its errors, as they were printed.
    pub output: String,
    pub errors: String,
}

/// What a run asks for while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    GoOn,
    /// The message is not this run's any more.
    Stop,
}

/// Runs a command to its end. `look` is called at once, and again and again, with its group and what is known so far.
pub fn run(
    command: &mut Command,
    prompt: Vec<u8>,
    preset: &Preset,
    (out, err): (File, File),
    limit: Duration,
    clock: &dyn Clock,
    mut look: impl FnMut(u32, &AgentOutput) -> Next,
) -> io::Result<Ended> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let (process, group) = (Handle::of_child(&child), Pid::from_child(&child));
    let end_group = |signal: Signal| {
        let _ = kill_process_group(group, signal);
        // It may have gone into another group.
        if let Some(process) = &process {
            process.signal(signal);
        }
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its prompt to the end is no reason to fail, or to wait.
        thread::spawn(move || stdin.write_all(&prompt));
    }
    let reading = Arc::new(Mutex::new(Reading::new(preset)));
    let said = Arc::new(Mutex::new(Reading::new(&Preset::of_text())));
    let (open, readers) = mpsc::channel();
    if let Some(from) = child.stdout.take() {
        listen(from, out, Arc::clone(&reading), open.clone());
    }
    if let Some(from) = child.stderr.take() {
        listen(from, err, Arc::clone(&said), open.clone());
    }
    drop(open);
    let start = clock.boot();
    let (mut timed_out, mut overtaken, mut asked_to_end) = (false, false, None);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let now = clock.boot();
        match asked_to_end {
            None => {
                timed_out = now.saturating_sub(start) >= limit;
                overtaken = !timed_out && look(child.id(), lock(&reading).found()) == Next::Stop;
                if timed_out || overtaken {
                    asked_to_end = Some(now);
                    end_group(Signal::TERM);
                }
            }
            Some(since) if now.saturating_sub(since) >= GRACE => end_group(Signal::KILL),
            Some(_) => {}
        }
        let left = limit.saturating_sub(now.saturating_sub(start));
        await_end(process.as_ref(), LOOK.min(left.max(Duration::from_millis(20))));
    };
    drain(&readers);
    // Whatever is left in the group holds pipes and locks that nobody reads or needs. The process itself is no more.
    let _ = kill_process_group(group, Signal::KILL);
    drain(&readers);
    let (reading, said) = (taken(&reading, preset), taken(&said, &Preset::of_text()));
    let (output, errors) = (reading.raw_tail(), said.raw_tail());
    let (reading, said) = (reading.end(), said.end());
    let (tail, other_tail) =
        if said.tail.is_empty() { (reading.tail, said.tail) } else { (said.tail, reading.tail) };
    Ok(Ended {
        code: status.code(),
        signal: status.signal(),
        timed_out,
        overtaken,
        found: reading.found,
        tail,
        other_tail,
        output,
        errors,
    })
}

/// Copies what comes into a file, up to a bound, and into a reading. `open` is let go at its end.
fn listen(
    mut from: impl Read + Send + 'static,
    mut file: File,
    into: Arc<Mutex<Reading>>,
    open: Sender<Infallible>,
) {
    thread::spawn(move || {
        let _open = open;
        let mut buffer = vec![0; 64 * 1024];
        let mut kept = 0;
        loop {
            let bytes = match from.read(&mut buffer) {
                Ok(0) => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
                Ok(length) => &buffer[..length],
            };
            let part = &bytes[..bytes.len().min(KEPT - kept)];
            // A full disk costs the record of a run, not the run.
            if file.write_all(part).is_ok() {
                kept += part.len();
            }
            lock(&into).take(bytes);
        }
    });
}

/// Waits a moment for outputs to end: nobody says anything, but the last who could lets go.
fn drain(readers: &Receiver<Infallible>) {
    let _ = readers.recv_timeout(DRAIN);
}

/// What was read until now. What comes later is read for nobody.
fn taken(reading: &Mutex<Reading>, preset: &Preset) -> Reading {
    std::mem::replace(&mut *lock(reading), Reading::new(preset))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    fn shell(script: &str, limit: Duration) -> Ended {
        let (out, err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let preset = Preset::of_text();
        run(&mut command, b"prompt\n".to_vec(), &preset, (out, err), limit, &SystemClock, |_, _| Next::GoOn)
            .unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_prompt_comes_on_standard_input() {
        let ended = shell("cat; echo said >&2; exit 3", LONG);
        assert_eq!(
            (ended.code, ended.found.unwrap().text.as_str(), ended.tail.trim()),
            (Some(3), "prompt", "said")
        );
    }

    #[test]
    fn a_program_that_reads_nothing_closes_stdout_or_floods_it_still_ends() {
        assert_eq!(shell("exec >&- 2>&-; exit 0", LONG).found.unwrap().text, "");
        let flood = shell("head -c 200000000 /dev/zero | tr '\\0' x", LONG);
        assert_eq!((flood.code, flood.found.unwrap().text.len()), (Some(0), 1024 * 1024));
    }

    #[test]
    fn time_limits_reach_the_whole_group() {
        let ended = shell("sleep 1000 & sleep 1000", Duration::from_millis(200));
        assert!(ended.timed_out && ended.signal.is_some(), "{ended:?}");
    }

    #[test]
    fn what_is_left_behind_does_not_hold_the_run() {
        let start = std::time::Instant::now();
        let ended = shell("sleep 1000 & echo done", LONG);
        assert_eq!(ended.found.unwrap().text, "done");
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
