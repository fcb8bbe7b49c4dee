//! A conversation with a program in lines of JSON, on its standard input and output. The program ends with it, and so does
//! what it has started.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A program that is talked to.
pub(super) struct Talk {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Talk {
    pub(super) fn begin(command: &mut Command) -> Option<Self> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let lines = BufReader::new(child.stdout.take()?);
        Some(Self { child, lines })
    }

    pub(super) fn say(&mut self, value: &Value) {
        // The reader notices a program that has ended.
        if let Some(stdin) = &mut self.child.stdin {
            let _ = writeln!(stdin, "{value}");
        }
    }

    /// The next line that is JSON. `None` at the end.
    pub(super) fn hear(&mut self) -> Option<Value> {
        loop {
            let mut line = vec![];
            if self.lines.read_until(b'\n', &mut line).ok()? == 0 {
                return None;
            }
            if let Ok(value) = serde_json::from_slice(&line) {
                return Some(value);
            }
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The signal goes through `timeout` to the program and what that has started.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        );
        let _ = self.child.wait();
    }
}
