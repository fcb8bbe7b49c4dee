//! Gemini CLI in the matrix, in tmux, where the person allowed typing: it has no other way to be woken.

use serde_json::json;

use super::{Clear, Profile, company, day};
use crate::support::models::gemini;
use crate::support::room::TestRoom;

const GEMINI: Profile = Profile {
    program: gemini,
    start: "gemini -m gemini-2.5-flash -i '{prompt}'",
    resume: "gemini -m gemini-2.5-flash --resume latest",
    options: &["--type-into-tmux"],
    busy: "esc to cancel",
    question: |file| json!({"tool": "write_file", "input": {"file_path": file, "content": "x"}}),
    asks: "Apply this change",
    compact: ("/compress", "compressed from"),
    summary_is_turn: false,
    clear: Clear::AtOnce("/clear"),
    exit: "/quit",
    settle,
    arrange: |_| {},
    greet: |_| {},
};

/// The person trusts this directory, and every command.
fn settle(room: &TestRoom) -> bool {
    let home = room.around().join("home/.gemini");
    std::fs::create_dir_all(home.join("policies")).unwrap();
    let here = room.around().canonicalize().unwrap();
    let trusted = json!({here.to_str().unwrap(): "TRUST_FOLDER"});
    std::fs::write(home.join("trustedFolders.json"), trusted.to_string()).unwrap();
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 100\nallowRedirection = true\n";
    std::fs::write(home.join("policies/all.toml"), rule).unwrap();
    true
}

#[test]
fn gemini_lives_through_its_day() {
    day::lives("gemini_lives_through_its_day", &GEMINI);
}

#[test]
fn gemini_keeps_company() {
    company::keeps("gemini_keeps_company", &GEMINI);
}
