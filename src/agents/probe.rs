//! The probe: a question to an agent program, bounded in time. `verify` asks what it sees of an installation.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::notice;
use crate::message::visible;

/// How long a program may take for an answer, in seconds.
const PATIENCE: &str = "60";

/// The answer of a program about one part of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It sees it.
    Yes,
    /// It does not; why, if it says so.
    No(String),
    /// It could not be asked, or gave no answer.
    Nothing,
}

impl Said {
    pub(super) fn of(yes: bool, otherwise: &str) -> Self {
        if yes { Self::Yes } else { Self::No(otherwise.to_owned()) }
    }

    /// Whether it sees it. `None`: not known.
    pub fn known(&self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No(_) => Some(false),
            Self::Nothing => None,
        }
    }
}

/// Whether hooks that a person must trust are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    /// `open` of `all` hooks are not trusted.
    Asked {
        open: usize,
        all: usize,
    },
    Unknown(String),
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trusted => write!(f, "its hooks are trusted"),
            Self::Asked { open, all } => {
                write!(f, "{open} of {all} hooks are not trusted yet, so they do not run")
            }
            Self::Unknown(why) => write!(f, "whether its hooks are trusted is not known ({why})"),
        }
    }
}

/// The outcome of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    Yes,
    /// It did not arrive; in the program's words.
    No(String),
    /// It took too long, so the outcome is unknown.
    Perhaps(String),
}

/// The exit codes of `timeout` when the time is up.
const TIME_IS_UP: [i32; 2] = [124, 137];

/// Queues the fixed line for a session of Codex.
pub fn push(program: &Path, session: &str) -> Pushed {
    let words = ["queue", "--thread", session, "--message", notice::WAKE];
    match question(program, &words, Path::new("/")).output() {
        Ok(output) if output.status.success() => Pushed::Yes,
        Ok(output) if output.status.code().is_none_or(|code| TIME_IS_UP.contains(&code)) => {
            Pushed::Perhaps(format!("it did not answer within {PATIENCE} s"))
        }
        Ok(output) => Pushed::No(visible::clip(String::from_utf8_lossy(&output.stderr).trim(), 300)),
        Err(e) => Pushed::No(e.to_string()),
    }
}

/// A question to a program, bounded in time.
pub(super) fn question(program: &Path, arguments: &[&str], place: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "2", PATIENCE]).arg(program).args(arguments).current_dir(place);
    command.stdin(Stdio::null());
    command
}

/// What a program is given that is asked for its version. Gemini CLI ends while it still writes its list of projects, and
/// would leave two temporary files in the home each time; here it cannot begin one.
pub const FOR_VERSION: (&str, &str) = ("GEMINI_CLI_HOME", "/dev/null");

/// The version that a program reports, as three numbers.
pub fn version(program: &Path) -> Option<[u32; 3]> {
    let (variable, value) = FOR_VERSION;
    let output = question(program, &["--version"], Path::new("/")).env(variable, value).output().ok()?;
    numbers(&String::from_utf8_lossy(&output.stdout))
}

fn numbers(text: &str) -> Option<[u32; 3]> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let parts: Vec<u32> = word.trim_matches('.').split('.').map_while(|part| part.parse().ok()).collect();
        <[u32; 3]>::try_from(parts.get(..3)?).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        assert_eq!(numbers("2.1.325 (Claude Code)"), Some([2, 1, 325]));
        assert_eq!(numbers("codex-cli 0.166.0\n"), Some([0, 166, 0]));
        assert_eq!(numbers("GitHub Copilot CLI 1.0.102."), Some([1, 0, 102]));
        assert_eq!(numbers("v1.2"), None);
    }
}
