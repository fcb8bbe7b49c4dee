//! Running a command: with a clean environment, a deadline, and its output kept.
//!
//! A command that does not end is ended by its own process group and reported as hung, never waited for.
//! Output goes to memory files, so that nothing has to be read while the command runs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::seat;

/// How long a command may take before it counts as hung.
const DEADLINE: Duration = Duration::from_secs(40);

/// A command line and its surroundings.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) words: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    directory: PathBuf,
    stdin: Option<PathBuf>,
    /// A terminal of its own.
    terminal: Option<Arc<OwnedFd>>,
    deadline: Duration,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
    pub(crate) time: Duration,
    pub(crate) hung: bool,
}

/// A command that is running.
pub(crate) struct Running {
    child: Child,
    out: Option<File>,
    err: Option<File>,
    start: Instant,
    deadline: Duration,
}

impl Run {
    pub(crate) fn new(words: impl IntoIterator<Item = impl Into<OsString>>, directory: &Path) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            words: words.into_iter().map(Into::into).collect(),
            env: vec![("PATH".into(), path)],
            directory: directory.to_owned(),
            stdin: None,
            terminal: None,
            deadline: DEADLINE,
        }
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// In another directory.
    pub(crate) fn within(mut self, directory: &Path) -> Self {
        directory.clone_into(&mut self.directory);
        self
    }

    /// Standard input from a file; otherwise it is empty.
    pub(crate) fn stdin(mut self, path: &Path) -> Self {
        self.stdin = Some(path.to_owned());
        self
    }

    /// Another deadline than the usual one, for a test that expects many commands to be quick.
    pub(crate) fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The same command with another word at its end.
    pub(crate) fn and(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    /// The same command behind other words, such as those of `strace`.
    pub(crate) fn behind(mut self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let mut all: Vec<OsString> = words.into_iter().map(Into::into).collect();
        all.append(&mut self.words);
        self.words = all;
        self
    }

    /// The same command from a shell that first does something to itself: `ulimit -n 12`, `umask 0`, or a
    /// redirection after `exec "$@"`.
    pub(crate) fn in_shell(self, before: &str, redirection: &str) -> Self {
        let script = format!("{before}; exec \"$@\" {redirection}");
        self.behind([OsStr::new("sh"), OsStr::new("-c"), OsStr::new(&script), OsStr::new("sh")])
    }

    /// Gives it a terminal of its own, in the foreground: with no agent above the battery, a person has no more.
    pub(crate) fn at_terminal(mut self) -> Self {
        let (terminal, name) = seat::terminal();
        (self.terminal, self.stdin) = (Some(Arc::new(terminal)), Some(name.into()));
        self
    }

    /// Runs it to its end as a person does, whatever is above the battery.
    pub(crate) fn by_person(&self) -> Ended {
        let start = Instant::now();
        let (code, out, err) = seat::run(&self.as_typed(), b"", true);
        let (out, err) = (out.into_bytes(), err.into_bytes());
        Ended { code: Some(code), signal: None, out, err, time: start.elapsed(), hung: false }
    }

    /// Starts it at the terminal of a person, which `attend` gets.
    pub(crate) fn seated(&self, attend: impl FnOnce(File) + Send + 'static) -> seat::Seated {
        seat::start_with(&self.as_typed(), Path::new("/dev/null"), attend)
    }

    fn as_typed(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).envs(self.env.iter().cloned()).current_dir(&self.directory);
        command
    }

    /// Runs it to its end, its output kept.
    pub(crate) fn end(&self) -> Ended {
        self.start().end()
    }

    /// Starts it, its output kept.
    pub(crate) fn start(&self) -> Running {
        let (out, err) = (memory_file(), memory_file());
        let sinks = [&out, &err].map(|file| Stdio::from(file.try_clone().expect("a second descriptor")));
        let [to_out, to_err] = sinks;
        self.spawn(to_out, to_err, Some(out), Some(err))
    }

    /// Starts it with its errors, and what `strace` says of it, going elsewhere.
    pub(crate) fn start_with_errors(&self, err: impl Into<Stdio>) -> Running {
        let out = memory_file();
        let to_out = Stdio::from(out.try_clone().expect("a second descriptor"));
        self.spawn(to_out, err.into(), Some(out), None)
    }

    /// Runs it to its end with its output going elsewhere.
    pub(crate) fn end_with(&self, out: Stdio, err: Stdio) -> Ended {
        self.spawn(out, err, None, None).end()
    }

    fn spawn(&self, to_out: Stdio, to_err: Stdio, out: Option<File>, err: Option<File>) -> Running {
        let stdin = match &self.stdin {
            Some(path) => Stdio::from(seat::open(path)),
            None => Stdio::null(),
        };
        let mut command = match &self.terminal {
            // It makes a group, too.
            Some(_) => Command::new("setsid"),
            None => Command::new(&self.words[0]),
        };
        match &self.terminal {
            Some(_) => command.arg("--ctty").args(&self.words),
            None => command.args(&self.words[1..]).process_group(0),
        };
        let child = command
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.directory)
            .stdin(stdin)
            .stdout(to_out)
            .stderr(to_err)
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {:?}: {e}", self.words[0]));
        Running { child, out, err, start: Instant::now(), deadline: self.deadline }
    }
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it ends in this time; its end is still to be asked for.
    pub(crate) fn ends_within(&self, limit: Duration) -> bool {
        ends_in_time(Pid::from_child(&self.child), limit)
    }

    pub(crate) fn end(mut self) -> Ended {
        let pid = Pid::from_child(&self.child);
        let hung = !ends_in_time(pid, self.deadline);
        if hung {
            // The group was made for this command alone.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let status = self.child.wait().expect("a child can be waited for");
        Ended {
            code: status.code(),
            signal: status.signal(),
            out: self.out.take().map(contents).unwrap_or_default(),
            err: self.err.take().map(contents).unwrap_or_default(),
            time: self.start.elapsed(),
            hung,
        }
    }
}

impl Ended {
    pub(crate) fn ok(&self) -> bool {
        self.code == Some(0)
    }

    pub(crate) fn was_killed(&self) -> bool {
        self.signal == Some(Signal::KILL.as_raw()) && !self.hung
    }

    /// Whether it was ended by the signal that asks for it.
    pub(crate) fn was_asked_to_end(&self) -> bool {
        self.signal == Some(Signal::TERM.as_raw()) && !self.hung
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }

    /// What no command may ever end with: a panic, a signal, a hang, or an exit code that no page documents.
    pub(crate) fn crash(&self) -> Option<String> {
        let what = match (self.hung, self.signal, self.code) {
            (true, ..) => "it hung".to_owned(),
            (_, Some(signal), _) => format!("it was ended by signal {signal}"),
            (_, _, Some(0..=6)) => return None,
            (_, _, code) => format!("it exited {}", code.unwrap_or(-1)),
        };
        Some(format!("{what}: {}", one_line(&self.stderr())))
    }

    /// How it ended, for a line of the report.
    pub(crate) fn shown(&self) -> String {
        let end = match (self.code, self.signal) {
            (Some(code), _) => format!("exit {code}"),
            (_, Some(signal)) => format!("signal {signal}"),
            _ => "no status".to_owned(),
        };
        format!("{end}, out `{}`, err `{}`", one_line(&self.stdout()), one_line(&self.stderr()))
    }
}

fn ends_in_time(pid: Pid, deadline: Duration) -> bool {
    let fd = pidfd_open(pid, PidfdFlags::empty()).expect("a descriptor of the child");
    let timeout = Timespec { tv_sec: deadline.as_secs() as _, tv_nsec: deadline.subsec_nanos().into() };
    loop {
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            ready => return ready.expect("a child can be polled") > 0,
        }
    }
}

fn memory_file() -> File {
    File::from(rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC).expect("a memory file"))
}

fn contents(mut file: File) -> Vec<u8> {
    let mut bytes = vec![];
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.read_to_end(&mut bytes))
        .expect("a memory file can be read");
    bytes
}

/// The beginning of a text on one line.
pub(crate) fn one_line(text: &str) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(220).collect();
    line
}
