//! `postroom demo`: the main workflow, done for real in a temporary room with this binary.
#![allow(
    clippy::disallowed_methods,
    reason = "it starts and times real processes, in a directory for temporary files"
)]

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, DIM, GREEN, note};
use crate::agents::programs::PROGRAMS;
use crate::post::Failure;
use crate::random;
use crate::surroundings::MAILBOX;

/// Show what Postroom does, for real, in a temporary room
#[derive(Debug, Args)]
pub(super) struct Demo {}

impl Verb for Demo {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let program = std::env::current_exe().map_err(|e| wrong(format!("cannot find this program: {e}")))?;
        let root = std::env::temp_dir().join(format!("postroom-demo-{}", random::hex()));
        Stage { context, program, root }.play()
    }
}

struct Stage<'a> {
    context: &'a mut Context,
    program: PathBuf,
    root: PathBuf,
}

fn wrong(what: impl Into<String>) -> Fail {
    Fail::told(Failure::NotDone, what, "this should not happen; please report it")
}

impl Stage<'_> {
    fn play(mut self) -> Result<(), Fail> {
        let root = self.root.display().to_string();
        self.say(&format!("Two agents, one room: {root}"))?;
        self.say("1. Each makes a mailbox with a name.")?;
        self.run(&["setup", "alice", "--about", "writes parsers"], "")?;
        self.run(&["setup", "bob", "--about", "reviews Rust"], "")?;

        self.say("2. Bob waits, using no CPU. Alice sends, and Bob wakes.")?;
        let mut waiting = self.start(&["--as", "bob", "wait", "--timeout", "30"])?;
        self.until_watching(&mut waiting)?;
        self.run(
            &["--as", "alice", "send", "bob", "-s", "parser review"],
            "The parser is done. Please review src/parse.rs.\n",
        )?;
        let sent = Instant::now();
        let headers = self.finish(waiting)?;
        self.say(&format!(
            "   …and {:.1} ms later his wait printed:",
            sent.elapsed().as_secs_f64() * 1000.0
        ))?;
        self.show(&headers)?;
        let id = headers.split(' ').next().unwrap_or_default().to_owned();

        self.say("3. Bob reads it, which archives it, and answers in its thread.")?;
        self.run(&["--as", "bob", "read", &id], "")?;
        self.run(&["--as", "bob", "reply", &id, "-m", "Two remarks: line 12 overflows, line 40 leaks."], "")?;
        let unread = self.run(&["--as", "alice", "check"], "")?;
        self.expect(unread.contains(&format!("re={id}")), "the answer names what it answers")?;

        self.say("4. A reader is killed half-way through a long message. Nothing is lost.")?;
        let long = "All work and no mail makes a dull agent.\n".repeat(8000);
        self.run(&["--as", "alice", "send", "bob", "-s", "a long story"], &long)?;
        self.kill_half_way()?;
        let left = self.run(&["--as", "bob", "check"], "")?;
        self.expect(left.contains("a long story"), "the message is still unread")?;

        self.say("5. Who is here, and what happened.")?;
        self.run(&["names"], "")?;
        self.run(&["log"], "")?;
        self.run(&["doctor"], "")?;
        self.say("Done. The room is yours to look into:")?;
        self.show(&format!(
            "ls -R {root}\nexport POSTROOM_ROOT={root}   # then any postroom command works in it\n"
        ))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("POSTROOM_ROOT", &self.root);
        command.env_remove(MAILBOX);
        for variable in PROGRAMS.iter().filter_map(|program| program.session) {
            command.env_remove(variable);
        }
        command
    }

    /// Shows a command, runs it with `input`, and shows its output.
    fn run(&mut self, arguments: &[&str], input: &str) -> Result<String, Fail> {
        self.prompt(arguments, input)?;
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| wrong(e.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            use std::io::Write;
            let _ = stdin.write_all(input.as_bytes());
        }
        let printed = self.finish(child)?;
        self.show(&printed)?;
        Ok(printed)
    }

    fn start(&mut self, arguments: &[&str]) -> Result<Child, Fail> {
        self.prompt(&[arguments, &["&"]].concat(), "")?;
        self.command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| wrong(e.to_string()))
    }

    fn finish(&self, child: Child) -> Result<String, Fail> {
        let output = child.wait_with_output().map_err(|e| wrong(e.to_string()))?;
        match output.status.code() {
            Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            _ => Err(wrong(format!("a command ended with {}", output.status))),
        }
    }

    /// A waiter counts as waiting once it has a watch open.
    fn until_watching(&self, child: &mut Child) -> Result<(), Fail> {
        for _ in 0..500 {
            if crate::os::is_watching(child.id()) || !matches!(child.try_wait(), Ok(None)) {
                return Ok(());
            }
            crate::mailbox::pause(Duration::from_millis(4));
        }
        Ok(())
    }

    fn kill_half_way(&mut self) -> Result<(), Fail> {
        let mut reader = self.start(&["--as", "bob", "read", "--full"])?;
        let mut some = [0u8; 4096];
        let got = reader
            .stdout
            .as_mut()
            .map_or(Ok(0), |pipe| pipe.read(&mut some))
            .map_err(|e| wrong(e.to_string()))?;
        reader.kill().and_then(|()| reader.wait()).map_err(|e| wrong(e.to_string()))?;
        self.say(&format!("   (read {got} bytes of it, then kill -9)"))
    }

    fn expect(&mut self, holds: bool, what: &str) -> Result<(), Fail> {
        if !holds {
            return Err(wrong(format!("it should be that {what}")));
        }
        let line = self.context.output.paint(GREEN, &format!("   ✓ {what}"));
        self.put(&line)
    }

    fn prompt(&mut self, arguments: &[&str], input: &str) -> Result<(), Fail> {
        let words: Vec<String> = arguments
            .iter()
            .map(|a| if a.contains(' ') { format!("'{a}'") } else { (*a).to_owned() })
            .collect();
        let mut line = format!("   $ postroom {}", words.join(" "));
        match input.lines().count() {
            0 => {}
            1 => line.push_str(&format!(" <<< '{}'", input.trim_end())),
            n => line.push_str(&format!(" < long.txt   # {n} lines")),
        }
        let line = self.context.output.paint(CYAN, &line);
        self.put(&line)
    }

    fn show(&mut self, text: &str) -> Result<(), Fail> {
        for line in text.lines() {
            let line = self.context.output.paint(DIM, &format!("     {line}"));
            self.put(&line)?;
        }
        Ok(())
    }

    fn say(&mut self, line: &str) -> Result<(), Fail> {
        let line = self.context.output.paint(BOLD, line);
        self.put(&line)
    }

    fn put(&mut self, line: &str) -> Result<(), Fail> {
        self.context.output.result(&format!("{line}\n"));
        self.context.output.flush().map_err(|e| {
            note("postroom: the demo's output was closed");
            Fail::Output(e)
        })
    }
}
