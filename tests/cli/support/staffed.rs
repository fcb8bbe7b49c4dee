//! A room with agents: settings, and programs that are small scripts in a directory of the search path.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::hand::tighten;
use crate::support::room::{Run, TestRoom};

/// No pause between attempts.
pub(crate) const AT_ONCE: &str = "[dispatch]\nback_off = \"0s\"\n";

/// A room with alice, who asks, and these agents.
pub(crate) fn staffed(agents: &[&str], settings: &str) -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    for agent in agents {
        room.run(["setup", "--child", agent]).succeeds();
    }
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    settle(&room, settings);
    room
}

/// Writes the settings of the room, which are trusted.
pub(crate) fn settle(room: &TestRoom, settings: &str) {
    write_settings(room, settings);
    trust(room);
}

/// Writes the settings of the room.
pub(crate) fn write_settings(room: &TestRoom, settings: &str) {
    let path = room.root().join("postroom.toml");
    std::fs::write(&path, settings).unwrap();
    tighten(&path);
}

/// Says that the room may run what its settings say now.
pub(crate) fn trust(room: &TestRoom) {
    // A room without agents has nothing to trust.
    let ran = room.run(["trust", room.root().to_str().unwrap(), "-q"]).by_person();
    assert!([0, 1].contains(&ran.code), "{ran:?}");
}

/// The settings of an agent that is a line of shell.
pub(crate) fn shell(name: &str, script: &str, more: &str) -> String {
    format!(
        "[agents.{name}]\npreset = \"command\"\ncommand = [\"sh\", \"-c\", '''{script}''']\n{more}\n{AT_ONCE}"
    )
}

/// Puts a program on the search path of the agents.
pub(crate) fn program(room: &TestRoom, name: &str, script: &str) -> PathBuf {
    let bin = room.around().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = bin.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

/// A command that finds those programs, and `postroom` itself.
pub(crate) fn with_path(room: &TestRoom, run: Run) -> Run {
    let own = Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
    let path =
        format!("{}:{}:/usr/local/bin:/usr/bin:/bin", room.around().join("bin").display(), own.display());
    run.env("PATH", path)
}

/// `postroom dispatch` with these arguments.
pub(crate) fn dispatch<'a>(room: &TestRoom, arguments: impl IntoIterator<Item = &'a str>) -> Run {
    with_path(room, room.run(["dispatch"].into_iter().chain(arguments)))
}

/// The bodies of all that came for somebody, in order.
pub(crate) fn inbox(room: &TestRoom, name: &str) -> Vec<String> {
    let body = |file: &String| {
        let text = std::fs::read_to_string(room.folder(name, "inbox").join(file)).unwrap();
        text.split_once("\n---\n\n").unwrap().1.to_owned()
    };
    room.files(name, "inbox").iter().map(body).collect()
}

/// The records of all runs, oldest first.
pub(crate) fn runs(room: &TestRoom) -> Vec<serde_json::Value> {
    room.run(["runs", "--json", "--limit", "1000"]).json()["runs"].as_array().cloned().unwrap()
}

/// The reason of the newest run.
pub(crate) fn reason(room: &TestRoom) -> String {
    runs(room).last().unwrap()["why"].as_str().unwrap().to_owned()
}
