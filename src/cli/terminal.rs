//! Questions to the person at the terminal, even if input and output of the command are redirected.
#![allow(clippy::disallowed_methods, reason = "a terminal is on no disk")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

/// Whether the person types a name. Used where the parents of a command cannot be seen.
pub(super) fn typed(name: &str) -> bool {
    answer(&format!("Not every parent of this process can be seen. Type {name} to go on: ")).as_deref()
        == Some(name)
}

/// Whether the person answers yes.
pub(super) fn agrees(question: &str) -> bool {
    answers(question) == Some(true)
}

/// What the person answers. `None` if there is no terminal to ask.
pub(super) fn answers(question: &str) -> Option<bool> {
    let word = answer(&format!("{question} [y/N] "))?;
    Some(matches!(word.as_str(), "y" | "Y" | "yes"))
}

/// The line typed after a prompt. `None` if there is no terminal to ask.
fn answer(prompt: &str) -> Option<String> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
    terminal.write_all(prompt.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(terminal).read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

/// Shows a text at the terminal alone, wherever the output goes.
#[cfg(feature = "web")]
pub(super) fn tell(text: &str) {
    if let Ok(mut terminal) = File::options().write(true).open("/dev/tty") {
        let _ = terminal.write_all(text.as_bytes());
    }
}

/// The next line that is typed. `None` if there is no terminal any more.
#[cfg(feature = "web")]
pub(super) fn line() -> Option<String> {
    let mut line = String::new();
    let read = BufReader::new(File::open("/dev/tty").ok()?).read_line(&mut line).ok()?;
    (read > 0).then_some(line)
}
