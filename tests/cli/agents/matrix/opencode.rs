//! OpenCode in the matrix.

use serde_json::{Value, json};

use super::{Clear, Profile, company, day};
use crate::agents::real::has_plugins;
use crate::support::models::opencode;
use crate::support::room::TestRoom;

const OPENCODE: Profile = Profile {
    program: opencode,
    start: "opencode --prompt '{prompt}'",
    resume: "opencode --continue",
    options: &[],
    busy: "esc interrupt",
    question: |file| json!({"shell": format!("touch {}", file.display())}),
    asks: "Permission required",
    compact: ("/compact", "Compaction · m"),
    summary_is_turn: false,
    clear: Clear::Beside("/new"),
    exit: "/exit",
    settle: |room| has_plugins(room, "home/.config/opencode"),
    arrange,
    greet: |_| {},
};

/// The person wants to be asked about one command.
fn arrange(room: &TestRoom) {
    let path = room.around().join("home/.config/opencode/opencode.json");
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    settings["permission"]["bash"] = json!({"*": "allow", "touch */asked": "ask", "postroom *": "allow"});
    std::fs::write(&path, settings.to_string()).unwrap();
}

#[test]
fn opencode_lives_through_its_day() {
    day::lives("opencode_lives_through_its_day", &OPENCODE);
}

#[test]
fn opencode_keeps_company() {
    let both = |room: &TestRoom| has_plugins(room, ".opencode") && has_plugins(room, "home/.config/opencode");
    company::keeps("opencode_keeps_company", &Profile { settle: both, ..OPENCODE });
}
