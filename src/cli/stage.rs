//! The stage of the demo: a temporary directory with a room, and commands that are shown, run and checked there.
#![allow(
    clippy::disallowed_methods,
    reason = "it starts and times real processes, in a directory for temporary files"
)]

use std::io::{Read, Write};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, GREEN, note};
use super::surroundings::{self, ThisProcess};
use crate::hint::quoted;
use crate::post::Failure;
use crate::random;
use crate::surroundings::{Environment, ROOT};

/// One performance.
pub(super) struct Stage<'a> {
    context: &'a mut Context,
    pub(super) program: PathBuf,
    base: PathBuf,
    /// The signal that is to end the performance, or 0.
    signal: Arc<AtomicUsize>,
}

/// A process of the performance. It ends with its act, however that ends.
pub(super) struct Player(Child);

impl Deref for Player {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Player {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // Does nothing to one that has ended.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// An error that only a fault of this program explains.
pub(super) fn wrong(what: impl Into<String>) -> Fail {
    Fail::told(Failure::NotDone, what, "this should not happen; please report it")
}

impl<'a> Stage<'a> {
    pub(super) fn new(context: &'a mut Context) -> Result<Self, Fail> {
        let program = surroundings::myself().map_err(|e| wrong(format!("cannot find this program: {e}")))?;
        let base = std::env::temp_dir().join(format!("postroom-demo-{}", random::hex()));
        let stage = Self { context, program, base, signal: Arc::default() };
        // Before the room is there, so that no signal leaves it behind.
        stage.hear_signals().map_err(|e| wrong(e.to_string()))?;
        std::fs::create_dir_all(stage.project()).map_err(|e| wrong(e.to_string()))?;
        Ok(stage)
    }

    /// The first signal ends the performance, a second one this process at once.
    fn hear_signals(&self) -> std::io::Result<()> {
        let is_second = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_default(signal, Arc::clone(&is_second))?;
            flag::register(signal, Arc::clone(&is_second))?;
            flag::register_usize(signal, Arc::clone(&self.signal), signal.unsigned_abs() as usize)?;
        }
        Ok(())
    }

    /// The signal that came.
    pub(super) fn signal(&self) -> Option<i32> {
        i32::try_from(self.signal.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    fn room(&self) -> PathBuf {
        self.base.join("room")
    }

    /// The directory in which commands run.
    pub(super) fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    /// The settings of the person in the demo.
    pub(super) fn config(&self) -> PathBuf {
        self.base.join("config/postroom")
    }

    pub(super) fn tell_room(&mut self) -> Result<(), Fail> {
        let room = quoted(&self.room().display().to_string());
        self.put(&format!("The room is kept: postroom --root {room} names"))
    }

    /// Removes everything.
    pub(super) fn strike(&self) -> Result<(), Fail> {
        std::fs::remove_dir_all(&self.base)
            .map_err(|e| wrong(format!("cannot remove {}: {e}", self.base.display())))
    }

    /// A command in the room. Nothing of the caller's identity and rooms reaches it.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let base = &self.base;
        command.args(arguments).current_dir(self.project()).env_clear();
        command.env(ROOT, self.room()).env("HOME", base).env("XDG_CONFIG_HOME", base.join("config"));
        command.envs(ThisProcess.variables(&mut ["PATH", "TMPDIR"].into_iter()));
        command
    }

    /// Shows a command, runs it with `input`, and shows its output.
    pub(super) fn run(&mut self, arguments: &[&str], input: &str) -> Result<String, Fail> {
        self.prompt(arguments, input)?;
        let mut child = self.spawn(arguments)?;
        if let Some(mut stdin) = child.stdin.take() {
            // It may end without reading; its exit code tells.
            let _ = stdin.write_all(input.as_bytes());
        }
        let printed = self.finish(child)?;
        self.show(&printed)?;
        Ok(printed)
    }

    /// The output of a command that is not shown.
    pub(super) fn output_of(&self, arguments: &[&str]) -> Result<String, Fail> {
        self.finish(self.spawn(arguments)?)
    }

    /// Repeats a command until it prints something.
    pub(super) fn until_printed(&self, arguments: &[&str], limit: Duration) -> Result<String, Fail> {
        let start = Instant::now();
        loop {
            let printed = self.output_of(arguments)?;
            if !printed.is_empty() || start.elapsed() > limit {
                return Ok(printed);
            }
            crate::mailbox::pause(Duration::from_millis(50));
        }
    }

    /// Shows a command and starts it.
    pub(super) fn start(&mut self, arguments: &[&str]) -> Result<Player, Fail> {
        self.prompt(&[arguments, &["&"]].concat(), "")?;
        self.spawn(arguments)
    }

    pub(super) fn spawn(&self, arguments: &[&str]) -> Result<Player, Fail> {
        if self.signal().is_some() {
            return Err(wrong("interrupted"));
        }
        let mut command = self.command(arguments);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        child.map(Player).map_err(|e| wrong(e.to_string()))
    }

    pub(super) fn finish(&self, mut player: Player) -> Result<String, Fail> {
        drop(player.stdin.take());
        let mut printed = vec![];
        let read = player.stdout.take().map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut printed));
        let status = read.and_then(|_| player.wait()).map_err(|e| wrong(e.to_string()))?;
        match status.code() {
            Some(0 | 1) => Ok(String::from_utf8_lossy(&printed).into_owned()),
            _ => Err(wrong(format!("a command ended with {status}"))),
        }
    }

    /// A waiter counts as waiting once it has a watch open.
    pub(super) fn until_watching(player: &mut Player) -> Result<(), Fail> {
        for _ in 0..500 {
            if crate::os::is_watching(player.id()) || !matches!(player.try_wait(), Ok(None)) {
                return Ok(());
            }
            crate::mailbox::pause(Duration::from_millis(4));
        }
        Err(wrong("a waiter does not wait"))
    }

    pub(super) fn kill(&mut self, mut player: Player, remark: &str) -> Result<(), Fail> {
        player.kill().and_then(|()| player.wait()).map_err(|e| wrong(e.to_string()))?;
        self.show(&format!("({remark})"))
    }

    /// The file of an unread message, relative to the base of the demo.
    pub(super) fn unread_file(&self, id: &str) -> Option<String> {
        fn find(dir: &Path, id: &str) -> Option<PathBuf> {
            let mut paths = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
            paths.find_map(|path| {
                if path.is_dir() {
                    return find(&path, id);
                }
                // A sender may keep a copy elsewhere.
                let unread = path.to_str().is_some_and(|path| path.contains("/inbox"));
                let text = std::fs::read_to_string(&path).ok()?;
                (unread && text.contains(id)).then_some(path)
            })
        }
        let found = find(&self.base, id)?;
        Some(found.strip_prefix(&self.base).unwrap_or(&found).display().to_string())
    }

    pub(super) fn expect(&mut self, holds: bool, what: &str) -> Result<(), Fail> {
        if !holds {
            return Err(wrong(format!("this does not hold: {what}")));
        }
        let line = self.context.output.paint(GREEN, &format!("   ✓ {what}"));
        self.put(&line)
    }

    pub(super) fn prompt(&mut self, arguments: &[&str], input: &str) -> Result<(), Fail> {
        let words: Vec<String> =
            arguments.iter().map(|word| if *word == "&" { "&".to_owned() } else { quoted(word) }).collect();
        let mut line = format!("   $ postroom {}", words.join(" "));
        match input.lines().count() {
            0 => {}
            1 => line.push_str(&format!(" <<< '{}'", input.trim_end())),
            n => line.push_str(&format!(" < long.txt   # {n} lines")),
        }
        let line = self.context.output.paint(CYAN, &line);
        self.put(&line)
    }

    pub(super) fn show(&mut self, text: &str) -> Result<(), Fail> {
        for line in text.lines() {
            self.put(&format!("     {line}"))?;
        }
        Ok(())
    }

    pub(super) fn say(&mut self, line: &str) -> Result<(), Fail> {
        let line = self.context.output.paint(BOLD, line);
        self.put(&line)
    }

    fn put(&mut self, line: &str) -> Result<(), Fail> {
        let output = &mut self.context.output;
        match output.json {
            true => output.result(&format!("{line}\n")),
            false => output.line(line),
        }
        self.context.output.flush().map_err(|e| {
            note("postroom: the demo's output was closed");
            Fail::Output(e)
        })
    }
}
