//! A person: whether one is at this command. Trust, approvals and the mail of `user` are a person's, and agents can run every
//! command that a person can.
//!
//! A person has no agent program and no postroom among the parents of the command, no mark of an agent in its environment,
//! and a controlling terminal in whose foreground it runs. What cannot be seen is a refusal, never a person. In a nested PID
//! namespace the parents cannot all be seen, so there the person also types the name of what it is about. What this cannot
//! stop is in docs/why/security.md.

use thiserror::Error as ThisError;

use crate::agents::programs;
use crate::os::{self, Ancestor};
use crate::process::Process;
use crate::process::marked::MARK;

/// Programs that run scripts: their first argument says what they are.
const INTERPRETERS: [&str; 8] = ["node", "nodejs", "bun", "deno", "sh", "bash", "dash", "python3"];

/// A person at a terminal. Only [`at_hand`] makes one, so a `Person` that is passed on is the proof of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    terminal: String,
}

impl Person {
    /// Such as `/dev/pts/3`.
    pub fn terminal(&self) -> &str {
        &self.terminal
    }

    #[cfg(test)]
    pub(crate) fn of_test() -> Self {
        Self { terminal: "/dev/test".to_owned() }
    }
}

/// Why this is not a person.
#[derive(Debug, ThisError)]
pub enum NoPerson {
    #[error("this is the session of an agent")]
    Session,
    #[error("{what} started this")]
    Below { what: String },
    #[error("there is no terminal")]
    NoTerminal,
    #[error("another process has the terminal")]
    Background,
    #[error("this was started without a person at a terminal")]
    NotAtStart,
    #[error("the name was not typed")]
    NotTyped,
    #[error("cannot see who started this: {why}")]
    Unseen { why: String },
}

/// The person at this command. `by_agent`: the environment has the mark of an agent. `typed`: asks for a name at the terminal,
/// where only that can tell.
pub fn at_hand(by_agent: bool, name: &str, typed: impl FnOnce(&str) -> bool) -> Result<Person, NoPerson> {
    let (person, is_nested) = see(by_agent)?;
    if is_nested && !typed(name) {
        return Err(NoPerson::NotTyped);
    }
    Ok(person)
}

/// Looks without a question: in a nested namespace this is not enough, so it proves nothing.
pub fn look(by_agent: bool) -> Result<(), NoPerson> {
    see(by_agent).map(drop)
}

/// The person, as far as can be seen, and whether not all parents can be seen.
fn see(by_agent: bool) -> Result<(Person, bool), NoPerson> {
    if by_agent {
        return Err(NoPerson::Session);
    }
    below_no_agent()?;
    let terminal = os::terminal().map_err(unseen)?.ok_or(NoPerson::NoTerminal)?;
    if !terminal.in_foreground {
        return Err(NoPerson::Background);
    }
    Ok((Person { terminal: terminal.name }, !os::sees_all_ancestors().map_err(unseen)?))
}

/// Refuses a command that an agent program, or a part of a run, has started.
fn below_no_agent() -> Result<(), NoPerson> {
    match os::ancestors(MARK).map_err(unseen)?.iter().find_map(agent) {
        Some(what) => Err(NoPerson::Below { what }),
        None => Ok(()),
    }
}

fn unseen(e: std::io::Error) -> NoPerson {
    NoPerson::Unseen { why: e.to_string() }
}

/// Where commands are typed: a terminal, until the session in it ends.
#[derive(Debug, Clone, Copy)]
pub struct Seat {
    /// The device number of the terminal.
    device: u32,
    /// The process that leads the session.
    pub leader: Process,
}

impl Seat {
    /// The seat of this command. An agent may be the one that sits there.
    pub fn of_this_command() -> Option<Self> {
        let device = os::terminal().ok()??.device;
        Some(Self { device, leader: Process::of(os::session_leader().ok()?)? })
    }

    /// Whether a person types here, as far as can be seen: an agent has an identity of its own.
    pub fn is_a_persons(self) -> bool {
        below_no_agent().is_ok()
    }

    /// What tells it from every other seat of this machine.
    pub fn shown(self, boot: &str) -> String {
        let Process { pid, started, .. } = self.leader;
        format!("{boot} {} {pid} {started}", self.device)
    }
}

/// What a process is, if a person would not be below it.
fn agent(process: &Ancestor) -> Option<String> {
    if process.is_marked {
        return Some(format!("a run of an agent ({MARK})"));
    }
    let words = &process.words;
    let program = words.first().map_or("", |word| stem(word));
    let called = [process.name.as_str(), program];
    let mut scripts = vec![];
    if INTERPRETERS.contains(&program) || INTERPRETERS.contains(&process.name.as_str()) {
        let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
        // Installed by npm, the script may have any name; its package does not.
        let package = |script: &&String| script.contains("/node_modules/");
        scripts.extend(script.map(|script| stem(script)));
        scripts.extend(script.filter(package).into_iter().flat_map(|script| script.split('/')));
    }
    let is = |word: &str, known: &str| {
        word == known || word.strip_prefix(known).is_some_and(|rest| rest.starts_with("-c") || rest == "-ai")
    };
    let known =
        |word: &str| programs::PROGRAMS.iter().map(|program| program.word).find(|known| is(word, known));
    let found = called.iter().chain(&scripts).find_map(|word| known(word));
    // The script that npm puts before the binary is how a person starts us; what an agent started is the binary itself.
    let found = found.or_else(|| called.iter().any(|word| is(word, "postroom")).then_some("postroom"));
    found.map(|known| format!("`{known}`"))
}

/// The name of a program without its directory and ending.
fn stem(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word).trim_start_matches('-');
    [".exe", ".js", ".mjs", ".cjs"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, words: &str) -> Ancestor {
        let words = words.split(' ').map(str::to_owned).collect();
        Ancestor { pid: 1, name: name.to_owned(), words, is_marked: false }
    }

    #[test]
    fn agent_programs_are_known_by_name_script_or_package() {
        for (name, words) in [
            ("claude", "claude --continue"),
            ("node", "node /usr/local/bin/gemini -p x"),
            ("MainThread", "node --max-old-space-size=4096 /usr/bin/copilot"),
            ("node", "node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"),
            ("node", "/opt/node/bin/node /x/node_modules/@google/gemini-cli/dist/index.js"),
            ("codex", "/usr/lib/node_modules/@openai/codex/vendor/codex exec"),
            ("bun", "bun /x/node_modules/opencode-ai/bin/run.js"),
            ("sh", "sh ./claude"),
            ("postroom", "postroom supervise x"),
        ] {
            assert!(agent(&process(name, words)).is_some(), "{words}");
        }
        assert!(agent(&Ancestor { is_marked: true, ..process("sh", "sh") }).is_some());
        for (name, words) in [
            ("bash", "-bash"),
            ("sshd", "sshd: me@pts/3"),
            ("vim", "vim claude"),
            ("bash", "bash /srv/claude/build.sh"),
            ("tmux: server", "tmux new -s codex"),
            ("systemd", "/sbin/init"),
            ("node", "node /usr/local/bin/postroom trust"),
            ("node", "node /usr/lib/node_modules/postroom/bin/postroom.js approve x"),
            ("kernel", ""),
        ] {
            assert_eq!(agent(&process(name, words)), None, "{words}");
        }
    }

    #[test]
    fn the_mark_of_an_agent_is_enough() {
        assert!(matches!(look(true), Err(NoPerson::Session)));
    }
}
