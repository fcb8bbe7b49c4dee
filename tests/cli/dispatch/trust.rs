//! What a person's trust covers: every file that decides what is run, by its path and its content.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::room::TestRoom;
use crate::support::staffed::{shell, staffed, with_path};

/// A room, and a project beside it whose agent works in `cwd`.
fn project(cwd: &str) -> (TestRoom, PathBuf) {
    let room = staffed(&["worker"], "");
    let project = room.around().join("project");
    std::fs::create_dir_all(project.join("sub")).unwrap();
    let more = format!("cwd = \"{cwd}\"");
    std::fs::write(project.join("postroom.toml"), shell("worker", "echo x", &more)).unwrap();
    (room, project)
}

/// Trusts what is there now and nothing that was there before.
fn trust(room: &TestRoom, project: &Path) {
    room.run(["trust", "--only"]).within(project).by_person().with(0);
}

fn is_trusted(room: &TestRoom, project: &Path) -> bool {
    let told = with_path(room, room.run(["agents", "--json"])).within(project).ends();
    serde_json::from_str::<serde_json::Value>(&told.out).unwrap()["untrusted"].as_array().unwrap().is_empty()
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn settings_of_one_program_that_were_moved_to_another_stayed_trusted() {
    let (room, project) = project(".");
    let [gemini, claude] = [".gemini", ".claude"].map(|folder| project.join(folder).join("settings.json"));
    write(&gemini, "{}");
    std::fs::create_dir(project.join(".claude")).unwrap();
    trust(&room, &project);
    assert!(is_trusted(&room, &project));
    std::fs::rename(&gemini, &claude).unwrap();
    assert!(!is_trusted(&room, &project));
    std::fs::rename(&claude, &gemini).unwrap();
    assert!(is_trusted(&room, &project), "as it was");
}

#[test]
fn files_of_programs_were_not_looked_at() {
    let (room, project) = project("sub");
    trust(&room, &project);
    // One of each kind; `programs.rs` has them all, and another test holds it against this.
    let files = [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/skills/deploy/scripts/run.sh",
        ".mcp.json",
        "CLAUDE.md",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".codex/rules/x.rules",
        ".gemini/settings.json",
        ".gemini/extensions/x/gemini-extension.json",
        "opencode.json",
        "opencode.jsonc",
        ".opencode/plugin/x.js",
        ".opencode/plugins/x.ts",
        ".opencode/command/x.md",
        ".github/hooks/x.json",
        ".agents/skills/x/SKILL.md",
        "AGENTS.md",
    ];
    for place in ["", "sub"] {
        for file in files {
            let path = project.join(place).join(file);
            write(&path, "{}");
            assert!(!is_trusted(&room, &project), "{place}/{file} was added");
            trust(&room, &project);
            write(&path, "{ }");
            assert!(!is_trusted(&room, &project), "{place}/{file} was changed");
            trust(&room, &project);
            std::fs::remove_file(&path).unwrap();
            assert!(!is_trusted(&room, &project), "{place}/{file} was removed");
            trust(&room, &project);
        }
    }
    // What no program reads, and where none is.
    write(&project.join("src/main.rs"), "fn main() {}");
    write(&project.join("other/.mcp.json"), "{}");
    write(&project.join(".claude/inboxes/worker/x.md"), "x");
    assert!(is_trusted(&room, &project));
}

#[test]
fn a_worktree_counts_up_to_its_top() {
    let room = staffed(&["worker"], "");
    let (project, tree) = (room.around().join("project"), room.around().join("tree"));
    std::fs::create_dir_all(tree.join("crates/one")).unwrap();
    write(&tree.join(".git"), "gitdir: ../project/.git/worktrees/tree\n");
    write(&project.join("postroom.toml"), &shell("worker", "echo x", "cwd = \"../tree/crates/one\""));
    trust(&room, &project);
    for file in ["crates/one/.claude/settings.json", "crates/.codex/config.toml", "opencode.jsonc"] {
        write(&tree.join(file), "{}");
        assert!(!is_trusted(&room, &project), "{file}");
        trust(&room, &project);
    }
    // Above the top of a repository is somebody else's.
    write(&room.around().join(".mcp.json"), "{}");
    assert!(is_trusted(&room, &project));
}

#[test]
fn a_link_counts_with_what_it_leads_to() {
    let (room, project) = project(".");
    write(&project.join("AGENTS.md"), "one");
    symlink("AGENTS.md", project.join("CLAUDE.md")).unwrap();
    write(&room.around().join("shared/x/SKILL.md"), "one");
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    symlink(room.around().join("shared"), project.join(".claude/skills")).unwrap();
    symlink("nowhere", project.join("GEMINI.md")).unwrap();
    trust(&room, &project);
    assert!(is_trusted(&room, &project));
    write(&room.around().join("shared/x/SKILL.md"), "two");
    assert!(!is_trusted(&room, &project));
    trust(&room, &project);
    std::fs::remove_file(project.join("CLAUDE.md")).unwrap();
    write(&project.join("CLAUDE.md"), "one");
    assert!(!is_trusted(&room, &project), "a link became a file");
    // One that leads to what it is in has no end.
    symlink("..", project.join(".claude/commands")).unwrap();
    let refused = room.run(["trust"]).within(&project).by_person().with(4);
    assert!(refused.err.contains("cannot be covered by trust"), "{}", refused.err);
}

#[test]
fn the_room_s_own_agents_count_with_their_directories() {
    let room = staffed(&["worker"], "");
    let work = room.around().join("work");
    std::fs::create_dir(&work).unwrap();
    crate::support::staffed::settle(
        &room,
        &shell("worker", "echo x", &format!("cwd = \"{}\"", work.display())),
    );
    assert!(is_trusted(&room, room.around()));
    write(&work.join(".claude/settings.json"), "{}");
    assert!(!is_trusted(&room, room.around()));
}

/// Whatever `install` writes into a project is read by its program, and so it is covered.
#[test]
fn the_table_names_every_file_that_is_installed() {
    use postroom::agents::programs::PROGRAMS;
    for program in &PROGRAMS {
        for file in program.project {
            // Some keep what they allow in a repository in the home of the user.
            let Some(path) = file.path.strip_prefix("{project}/") else { continue };
            let is_read = |read: &&str| match read.ends_with('/') {
                true => path.starts_with(*read),
                false => path == *read,
            };
            assert!(program.reads.iter().any(is_read), "{}: {path}", program.word);
        }
    }
}

/// It said only `trusted`, and the agent had no mailbox, so nobody could write to it and `dispatch` did not start it.
#[test]
fn the_way_from_trust_to_a_started_agent_was_not_told() {
    let (room, project) = project(".");
    write(&project.join("postroom.toml"), &shell("counter", "echo x", ""));
    let ran = room.run(["trust", "-q"]).within(&project).by_person().with(0);
    assert!(!ran.out.contains("setup"), "{ran:?}");
    room.run(["trust", "--revoke"]).within(&project).by_person().with(0);
    let ran = room.run(["trust"]).within(&project).by_person().with(0);
    let told = ran.out.lines().map(str::trim).find(|line| line.contains("setup --child")).expect(&ran.out);
    let command = told.split("  # ").next().unwrap().strip_prefix("postroom ").unwrap();
    room.bare(command.split(' ')).within(&project).succeeds();
    room.send("alice", "counter", "x");
    with_path(&room, room.run(["dispatch"])).within(&project).succeeds();
    room.run(["trust", "--revoke"]).within(&project).by_person().with(0);
    let ran = room.run(["trust"]).within(&project).by_person().with(0);
    assert!(!ran.out.contains("setup"), "it has a mailbox now: {ran:?}");
}

/// It said that it trusted a directory in which nothing would be started, and wrote no record.
#[test]
fn there_may_be_nothing_to_trust() {
    let room = staffed(&["worker"], "");
    let bare = room.around().join("bare");
    std::fs::create_dir(&bare).unwrap();
    for words in [&["trust"][..], &["trust", "--yes"], &["trust", "--json"]] {
        let ran = room.run(words.iter().copied()).within(&bare).by_person().with(1);
        assert!(!ran.out.contains("trusted"), "{ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains("would be started"), "{ran:?}");
    }
    write(&bare.join("postroom.toml"), &shell("worker", "echo x", ""));
    assert!(room.run(["trust"]).within(&bare).by_person().with(0).out.contains("trusted: "));
}
