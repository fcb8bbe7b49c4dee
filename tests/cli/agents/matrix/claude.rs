//! Claude Code in the matrix.

use serde_json::json;

use super::{Clear, Profile, company, day};
use crate::agents::idle::settle_claude;
use crate::support::models::claude;

const CLAUDE: Profile = Profile {
    program: claude,
    start: "claude --permission-mode default --allowedTools=Bash '{prompt}'",
    resume: "claude --permission-mode default --allowedTools=Bash --continue",
    options: &[],
    busy: "esc to interrupt",
    question: |file| json!({"tool": "Write", "input": {"file_path": file, "content": "x"}}),
    asks: "Do you want to create",
    compact: ("/compact", "Compacted (ctrl+o"),
    summary_is_turn: true,
    clear: Clear::AtOnce("/clear"),
    exit: "/exit",
    settle: |room| {
        settle_claude(room);
        true
    },
    arrange: |_| {},
    greet: |_| {},
};

#[test]
fn claude_lives_through_its_day() {
    day::lives("claude_lives_through_its_day", &CLAUDE);
}

#[test]
fn claude_keeps_company() {
    company::keeps("claude_keeps_company", &CLAUDE);
}
