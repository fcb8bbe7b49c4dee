//! Typing into tmux: one fixed line for a program that cannot be woken in another way, and only if the person allowed it.
//!
//! It is typed only into the pane whose terminal is that of the program, while the pane shows the program's empty input
//! and no running turn. It is sent only if it then stands there alone, so that nothing a person types is sent with it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::notice;
use super::probe::Pushed;
use crate::mailbox::pause;
use crate::os;

/// How Gemini CLI shows an empty input, and a turn that runs.
const EMPTY: &str = "Type your message or @path/to/file";
const WORKS: &str = "esc to cancel";

/// The most lines of text below its input. A question has more.
const FOOTER: usize = 3;

/// How long a program may take to show what was typed, in steps of [`STEP`].
const STEPS: usize = 20;
const STEP: Duration = Duration::from_millis(100);

/// A pane of tmux, by the variables that tmux sets in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    socket: String,
    id: String,
}

impl Pane {
    /// From `TMUX` (`SOCKET,PID,NUMBER`) and `TMUX_PANE`.
    pub fn of(tmux: &str, id: &str) -> Option<Self> {
        let socket = tmux.split(',').next().filter(|socket| Path::new(socket).is_absolute())?;
        let is_id =
            id.strip_prefix('%').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        is_id.then(|| Self { socket: socket.to_owned(), id: id.to_owned() })
    }

    fn run(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "5", "tmux", "-S", &self.socket]).args(words).stdin(Stdio::null());
        match command.output() {
            Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(e) => Err(e.to_string()),
        }
    }

    fn screen(&self) -> Result<String, String> {
        // Lines that the terminal has wrapped are joined.
        self.run(&["capture-pane", "-p", "-J", "-t", &self.id])
    }

    /// Whether the pane shows this process, idle and with an empty input.
    pub fn is_ready(&self, pid: u64) -> bool {
        let words = ["display-message", "-p", "-t", &self.id, "#{pane_tty} #{pane_in_mode}#{pane_dead}"];
        let Ok(about) = self.run(&words) else { return false };
        let is_its = os::terminal_of(pid).is_some_and(|tty| about.trim() == format!("{tty} 00"));
        is_its && self.screen().is_ok_and(|screen| is_empty(&screen))
    }

    /// Types the fixed line, and sends it if it is alone in the input.
    pub fn push(&self, pid: u64) -> Pushed {
        if !self.is_ready(pid) {
            return Pushed::No("it works, or there is text in its input".to_owned());
        }
        if let Err(why) = self.run(&["send-keys", "-t", &self.id, "-l", notice::WAKE]) {
            return Pushed::No(why);
        }
        for _ in 0..STEPS {
            pause(STEP);
            if self.screen().is_ok_and(|screen| is_alone(&screen)) {
                return match self.run(&["send-keys", "-t", &self.id, "Enter"]) {
                    Ok(_) => Pushed::Yes,
                    Err(why) => Pushed::Perhaps(why),
                };
            }
        }
        Pushed::Perhaps("it does not show what was typed".to_owned())
    }
}

/// Whether the input is there and empty. It is the last prompt of the screen, with nothing but the footer below: a line
/// further up may be the text of a message, above a draft or a question.
fn is_empty(screen: &str) -> bool {
    let lines: Vec<&str> = screen.lines().collect();
    let Some(last) = lines.iter().rposition(|line| typed(line).is_some()) else { return false };
    let below = lines[last + 1..].iter().filter(|line| !is_border(line.trim())).count();
    typed(lines[last]) == Some(EMPTY) && below <= FOOTER && !screen.contains(WORKS)
}

/// Whether the fixed line is all that is in the input.
fn is_alone(screen: &str) -> bool {
    let lines: Vec<&str> = screen.lines().collect();
    let Some(first) = lines.iter().rposition(|line| typed(line).is_some_and(|t| notice::WAKE.starts_with(t)))
    else {
        return false;
    };
    let rest = lines[first + 1..].iter().map(|line| line.trim()).take_while(|line| !is_border(line));
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let whole: String = typed(lines[first]).into_iter().chain(rest).map(bare).collect();
    whole == bare(notice::WAKE) && !screen.contains(WORKS)
}

/// The text of a line of the input, behind its prompt.
fn typed(line: &str) -> Option<&str> {
    line.trim().trim_matches('│').trim().strip_prefix("> ").map(str::trim).filter(|text| !text.is_empty())
}

fn is_border(line: &str) -> bool {
    line.is_empty() || line.chars().all(|c| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_known_by_what_tmux_says() {
        assert_eq!(Pane::of("/tmp/t,1,0", "%3").unwrap().socket, "/tmp/t");
        for (tmux, id) in [("t,1,0", "%3"), ("/tmp/t", "3"), ("/tmp/t", "%"), ("/tmp/t", "%3;x"), ("", "%3")]
        {
            assert_eq!(Pane::of(tmux, id), None, "{tmux} {id}");
        }
    }

    #[test]
    fn only_an_empty_input_without_a_turn_is_typed_into() {
        let input = |text: &str| format!("hello\n\n ▀▀▀▀▀▀\n > {text}\n ▄▄▄▄▄▄\n ~/w   no sandbox\n");
        assert!(is_empty(&input(EMPTY)));
        assert!(!is_empty(&input("half a draft")));
        assert!(!is_empty(&format!("⠏ Thinking... (esc to cancel, 2s)\n{}", input(EMPTY))));
        let question = "Allow execution of this?\n 1. Once\n 2. For this session\n 3. No\n";
        assert!(!is_empty(question));
        let mail = format!("│ 1. mail from bob │\n│ > {EMPTY} │\n╰────╯\n");
        assert!(!is_empty(&format!("{mail}{}", input("half a draft"))), "the text of a message");
        assert!(!is_empty(&format!("{mail}{question}")), "the text of a message");
        assert!(is_empty(&format!("{mail}{}", input(EMPTY))));
        assert!(is_alone(&input(notice::WAKE)));
        let (begins, ends) = notice::WAKE.split_at(40);
        assert!(is_alone(&input(&format!("{begins}\n   {ends}"))), "wrapped by the program");
        assert!(!is_alone(&input(&format!("{} and mine", notice::WAKE))));
        assert!(!is_alone(&input(&format!("mine {}", notice::WAKE))));
        assert!(!is_alone(&input(EMPTY)));
    }
}
