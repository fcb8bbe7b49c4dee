//! Copilot CLI in the matrix, with its extensions switched on.

use serde_json::json;

use super::{Clear, Profile, company, day};
use crate::agents::idle::settle_copilot;
use crate::support::models::copilot;

const COPILOT: Profile = Profile {
    program: copilot,
    start: "copilot --experimental --allow-tool=shell -i '{prompt}'",
    resume: "copilot --experimental --allow-tool=shell --continue",
    options: &[],
    busy: "esc interrupt",
    question: |file| json!({"tool": "create", "input": {"path": file, "file_text": "x"}}),
    asks: "Do you want",
    compact: ("/compact", "Compaction completed"),
    summary_is_turn: true,
    clear: Clear::Silently("/clear"),
    exit: "/exit",
    settle: |room| {
        settle_copilot(room);
        true
    },
    arrange: |_| {},
    greet: |_| {},
};

#[test]
fn copilot_lives_through_its_day() {
    day::lives("copilot_lives_through_its_day", &COPILOT);
}

#[test]
fn copilot_keeps_company() {
    company::keeps("copilot_keeps_company", &COPILOT);
}
