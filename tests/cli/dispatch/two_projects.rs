//! Two projects in one room that have an agent of the same name: neither does the other's work.

use std::path::{Path, PathBuf};

use crate::support::room::{Ran, TestRoom};
use crate::support::staffed::inbox;

/// A room with alice and coder, and two projects whose coder says where it works.
fn shared() -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "--child", "coder"]).succeeds();
    ["a", "b"].iter().for_each(|name| settle(&room, name, "coder"));
    room
}

fn place(room: &TestRoom, name: &str) -> PathBuf {
    room.around().canonicalize().unwrap().join(name)
}

fn settle(room: &TestRoom, project: &str, agent: &str) {
    let dir = place(room, project);
    std::fs::create_dir_all(dir.join(".postroom/workflows")).unwrap();
    let agent = format!("[agents.{agent}]\npreset = \"command\"\ncommand = [\"pwd\"]\nretries = 0\n");
    std::fs::write(dir.join("postroom.toml"), agent).unwrap();
    let steps = "steps:\n  a: {agent: coder, prompt: go}\n";
    std::fs::write(dir.join(".postroom/workflows/w.yaml"), steps).unwrap();
    room.run(["trust", "-q"]).arg(&dir).by_person().with(0);
}

fn within(room: &TestRoom, dir: &Path, arguments: &[&str]) -> Ran {
    room.run(arguments.iter().copied()).within(dir).env("PATH", "/usr/bin:/bin").ends()
}

fn dispatch(room: &TestRoom, project: &str) -> Ran {
    within(room, &place(room, project), &["dispatch"])
}

#[test]
fn the_second_project_is_refused_and_both_are_named() {
    let room = shared();
    room.send("alice", "coder", "first");
    dispatch(&room, "a").with(0);
    assert_eq!(inbox(&room, "alice"), [format!("{}\n", place(&room, "a").display())]);
    room.send("alice", "coder", "second");
    for arguments in [vec!["dispatch"], vec!["dispatch", "--dry-run"]] {
        let refused = within(&room, &place(&room, "b"), &arguments).with(4);
        for project in ["a", "b"] {
            assert!(refused.err.contains(place(&room, project).to_str().unwrap()), "{refused:?}");
        }
        assert!(
            refused.err.contains("agent `coder`") && refused.err.contains("room = \"NAME\""),
            "{refused:?}"
        );
    }
    assert_eq!(room.files("coder", "inbox").len(), 1, "it waits");
    // The first project has another name for its agent now.
    settle(&room, "a", "builder");
    dispatch(&room, "b").with(0);
    assert!(inbox(&room, "alice").contains(&format!("{}\n", place(&room, "b").display())));
    settle(&room, "a", "coder");
    room.send("alice", "coder", "third");
    dispatch(&room, "a").with(4);
    std::fs::remove_dir_all(place(&room, "b")).unwrap();
    dispatch(&room, "a").with(0);
}

#[test]
fn a_dry_run_makes_nobody_the_owner() {
    let room = shared();
    room.send("alice", "coder", "first");
    within(&room, &place(&room, "a"), &["dispatch", "--dry-run"]).with(0);
    dispatch(&room, "b").with(0);
}

#[test]
fn worktrees_of_a_repository_are_one_project() {
    let room = shared();
    let git = |dir: &str, words: &str| {
        let dir = place(&room, dir);
        let names = "-c user.name=t -c user.email=t@t";
        room.bash(&format!("cd '{}' && git {names} {words} >/dev/null 2>&1", dir.display())).succeeds();
    };
    git("a", "init");
    git("a", "add .");
    git("a", "commit -m first");
    git("a", "worktree add ../c");
    room.run(["trust", "-q"]).arg(place(&room, "c")).by_person().with(0);
    for project in ["a", "c"] {
        room.send("alice", "coder", project);
        dispatch(&room, project).with(0);
        assert!(inbox(&room, "alice").contains(&format!("{}\n", place(&room, project).display())));
    }
    dispatch(&room, "b").with(4);
}

#[test]
fn a_step_of_another_project_s_run_is_not_done_here() {
    let room = shared();
    let begun = within(&room, &place(&room, "b"), &["workflow", "run", "w"]).with(0);
    let run = begun.out.trim().strip_prefix("run ").unwrap().to_owned();
    dispatch(&room, "a");
    let shown = within(&room, &place(&room, "b"), &["workflow", "show", &run]).out;
    let (a, b) = (place(&room, "a"), place(&room, "b"));
    let why = format!("it is a step of a run of {}, but this agent belongs to {}", b.display(), a.display());
    assert!(shown.contains(&why), "{shown}");
}
