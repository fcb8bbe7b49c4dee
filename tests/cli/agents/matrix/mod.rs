//! The matrix of docs/guides/programs.md: each real program goes through the events of a session, in a terminal (tmux). For
//! each event it is seen how often the model heard of a message, when an idle session was woken, and whose mailbox
//! it acts as. Every run holds these promises; `cargo xtask matrix` writes the figures into the page (`seen.rs`).

mod claude;
mod codex;
mod company;
mod copilot;
mod day;
mod gemini;
mod opencode;
pub(crate) mod seen;
mod session;

use std::path::Path;

use serde_json::{Value, json};

use crate::agents::idle::has_tmux;
use crate::support::models::{MISSING, Program, Stage};
use crate::support::room::TestRoom;
use crate::support::until::skip;
use session::Session;

/// What is different between the programs.
pub(crate) struct Profile {
    pub(crate) program: fn() -> Option<Program>,
    /// Starts it; `{prompt}` is its first prompt.
    pub(crate) start: &'static str,
    /// Goes on with its last session.
    pub(crate) resume: &'static str,
    /// More words for `postroom install`.
    pub(crate) options: &'static [&'static str],
    /// Stands on the screen while it works.
    pub(crate) busy: &'static str,
    /// What the model does so that the person is asked, with a file that it would write, and what is asked then.
    pub(crate) question: fn(&Path) -> Value,
    pub(crate) asks: &'static str,
    /// The command that compacts, and what the screen shows when that is done.
    pub(crate) compact: (&'static str, &'static str),
    /// Whether its request for a summary looks like a turn.
    pub(crate) summary_is_turn: bool,
    pub(crate) clear: Clear,
    pub(crate) exit: &'static str,
    /// Prepares the home for it; `false` if something is missing.
    pub(crate) settle: fn(&TestRoom) -> bool,
    /// Changes settings after the installation.
    pub(crate) arrange: fn(&TestRoom),
    /// Answers what it asks a person when it first starts.
    pub(crate) greet: fn(&Session<'_>),
}

/// How the person begins anew.
#[derive(Clone, Copy)]
pub(crate) enum Clear {
    /// The new session is there at once.
    AtOnce(&'static str),
    /// The same, but nothing says so before the first mail or prompt.
    Silently(&'static str),
    /// It is there from its first prompt on.
    AtPrompt(&'static str),
    /// The first session stays beside it, and keeps the mailbox.
    Beside(&'static str),
}

/// Where a program is to run: `None`, with the reason said, if it cannot be.
fn ready(test: &str, profile: &Profile) -> Option<(Program, TestRoom)> {
    let (Some(real), true) = ((profile.program)(), has_tmux()) else {
        skip(test, MISSING);
        return None;
    };
    let room = TestRoom::with(&["alice"]);
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    if !(profile.settle)(&room) {
        skip(test, "its package for plugins is not installed");
        return None;
    }
    Some((real, room))
}

/// Installs Postroom for a program, once for each list of words.
fn equipped<'a>(room: &'a TestRoom, real: Program, profile: &Profile, installs: &[&[&str]]) -> Stage<'a> {
    let name = real.name;
    let stage = Stage::set(room, real);
    // A login shell has its own idea of the search path.
    let own = Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
    let profile_of_shell = format!("export PATH='{}':$PATH\n", own.display());
    std::fs::write(stage.home().join(".profile"), profile_of_shell).unwrap();
    for words in installs {
        stage.plays(&json!([]), [&["postroom", "install", name], *words, profile.options].concat());
    }
    (profile.arrange)(room);
    stage
}

/// The turns in which the agent sends mail, so that it is seen as whom, and is done.
fn acts(event: &str) -> [Value; 2] {
    let send = format!("postroom send alice -s who-{event} -m x");
    [json!({"shell": send}), json!({"text": format!("answer-{event}.")})]
}
