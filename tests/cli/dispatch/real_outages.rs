//! The real programs meet a provider that limits their rate, is overloaded, or is not there: the agent is paused, its mail
//! stays, and the reason is the right one.

use serde_json::json;

use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::staffed::{runs, staffed};
use crate::support::until::skip;

/// The program, with an address at which nobody listens.
fn alone(real: Program) -> Program {
    let closed = |text: &str| -> &'static str { text.replace("127.0.0.1:{PORT}", "localhost:1").leak() };
    let pairs = |list: &[(&'static str, &'static str)]| -> &'static [(&'static str, &'static str)] {
        list.iter().map(|(name, text)| (*name, closed(text))).collect::<Vec<_>>().leak()
    };
    Program { environment: pairs(real.environment), files: pairs(real.files), ..real }
}

const RATE: &str = "limits its rate";
const OVERLOAD: &str = "is overloaded or fails";
const NETWORK: &str = "cannot be reached";

/// One run with a provider that answers with this status, or is not there. `why` is how the pause is explained.
fn pauses(test: &str, real: Option<Program>, settings: &str, status: Option<u64>, why: &str) {
    let Some(real) = real else { return skip(test, MISSING) };
    // A program that tries again is ended after five times `probe`.
    let settings = format!(
        "[agents.worker]\npreset = \"{}\"\nretries = 0\n{settings}\n[dispatch]\nback_off = \"0s\"\nprobe = \"2s\"\n",
        real.name
    );
    let room = staffed(&["worker"], &settings);
    let stage = Stage::set(&room, if status.is_some() { real } else { alone(real) });
    let root = room.root().display().to_string();
    room.send("alice", "worker", "This is marker-1.");
    let script = json!([{"status": status, "repeat": true}]);
    let dispatch = [env!("CARGO_BIN_EXE_postroom"), "--root", &root, "dispatch"];
    let ended = stage.command(&script, dispatch).output().unwrap();
    let told = runs(&room);
    assert_eq!((told.len(), &told[0]["state"]), (1, &"again".into()), "{told:?} {ended:?}");
    assert!(told[0]["why"].as_str().unwrap().contains(why), "{told:?}");
    assert_eq!((room.files("worker", "inbox").len(), room.files("worker", "failed").len()), (1, 0));
    assert_eq!(stage.turns().is_empty(), status.is_none(), "whether the provider was asked");
}

#[test]
fn claude_waits_for_its_rate() {
    pauses("claude_waits_for_its_rate", claude(), "", Some(429), RATE);
}

#[test]
fn claude_waits_for_an_overloaded_provider() {
    pauses("claude_waits_for_an_overloaded_provider", claude(), "", Some(529), OVERLOAD);
}

#[test]
fn claude_waits_for_the_network() {
    pauses("claude_waits_for_the_network", claude(), "", None, NETWORK);
}

const KEY: &str = "env = [\"MOCK_API_KEY\"]";

#[test]
fn codex_waits_for_its_rate() {
    pauses("codex_waits_for_its_rate", codex(), KEY, Some(429), RATE);
}

#[test]
fn codex_waits_for_an_overloaded_provider() {
    pauses("codex_waits_for_an_overloaded_provider", codex(), KEY, Some(529), OVERLOAD);
}

#[test]
fn codex_waits_for_the_network() {
    pauses("codex_waits_for_the_network", codex(), KEY, None, NETWORK);
}

#[test]
fn copilot_waits_for_its_rate() {
    pauses("copilot_waits_for_its_rate", copilot(), "", Some(429), RATE);
}

#[test]
fn copilot_waits_for_an_overloaded_provider() {
    pauses("copilot_waits_for_an_overloaded_provider", copilot(), "", Some(529), OVERLOAD);
}

#[test]
fn copilot_waits_for_the_network() {
    pauses("copilot_waits_for_the_network", copilot(), "", None, NETWORK);
}

// These two try again for minutes without a word in their events, so only the time limit of the run ends them, and
// nothing says whether it is the rate, an overload or the network.

#[test]
fn gemini_waits_though_it_says_nothing() {
    let settings = "model = \"gemini-2.5-flash\"\ntime_limit = \"25s\"";
    pauses("gemini_waits_though_it_says_nothing", gemini(), settings, Some(429), NETWORK);
}

#[test]
fn gemini_waits_for_the_network() {
    let settings = "model = \"gemini-2.5-flash\"\ntime_limit = \"25s\"";
    pauses("gemini_waits_for_the_network", gemini(), settings, None, NETWORK);
}

#[test]
fn opencode_waits_though_it_says_nothing() {
    let settings = "model = \"mock/m\"\ntime_limit = \"25s\"";
    pauses("opencode_waits_though_it_says_nothing", opencode(), settings, Some(529), NETWORK);
}

#[test]
fn opencode_waits_for_the_network() {
    let settings = "model = \"mock/m\"\ntime_limit = \"25s\"";
    pauses("opencode_waits_for_the_network", opencode(), settings, None, NETWORK);
}
