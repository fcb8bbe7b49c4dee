//! Codex in the matrix, without its daemon: `agents/idle.rs` has a test with it.

use serde_json::json;

use super::{Clear, Profile, company, day};
use crate::agents::idle::{settle_codex, trusts};
use crate::support::models::codex;

const CODEX: Profile = Profile {
    program: codex,
    start: "codex --no-daemon '{prompt}'",
    resume: "codex --no-daemon resume --last",
    // Without its server, a resumed session is woken only if `postroom codex` has started it (`agents/launch_real.rs`).
    options: &["--mcp"],
    busy: "esc to interrupt",
    question: |file| {
        let command = format!("touch {}", file.display());
        let input =
            json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": "a test"});
        json!({"tool": "exec_command", "input": input})
    },
    asks: "Would you like to run",
    compact: ("/compact", "Context compacted"),
    summary_is_turn: false,
    clear: Clear::AtPrompt("/clear"),
    exit: "/quit",
    settle: |_| true,
    arrange: settle_codex,
    greet: |session| trusts(session.terminal),
};

#[test]
fn codex_lives_through_its_day() {
    day::lives("codex_lives_through_its_day", &CODEX);
}

#[test]
fn codex_keeps_company() {
    company::keeps("codex_keeps_company", &CODEX);
}
