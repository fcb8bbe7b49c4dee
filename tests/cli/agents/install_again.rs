//! Installations that meet something: what the person had already, a second installation, an interruption, files that
//! cannot be written. Whatever happens, taking out gives back what was there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::agents::install::{home, picture, postroom, read, settled, write};
use crate::support::picture::tree;
use crate::support::until::skip;

/// Every path with the times of its last changes.
pub(crate) fn times(root: &Path) -> Vec<(PathBuf, i64, i64, i64, i64)> {
    let mut found = vec![];
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let stat = path.symlink_metadata().unwrap();
        if stat.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.push((path, stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()));
    }
    found.sort();
    found
}

#[test]
fn a_look_changes_nothing_at_all() {
    let room = settled();
    let before = times(room.around());
    postroom(&room, ["install", "--check"]).exits(1);
    postroom(&room, ["uninstall", "claude"]).exits(1);
    assert_eq!(times(room.around()), before, "not even the directory of records is made");
    postroom(&room, ["install", "claude"]).succeeds();
    let before = times(room.around());
    postroom(&room, ["install", "claude", "--check"]).succeeds();
    assert_eq!(times(room.around()), before);
}

#[test]
fn what_the_person_had_of_the_same_comes_back() {
    let room = settled();
    let rules = "{\"permissions\": {\"allow\": [ \"Bash(postroom *)\" ]}}\n";
    let server = "{\"mcpServers\":{\"postroom\":{\"command\":\"mine\",\"args\":[\"--as\",\"me\",\"mcp\"]}}}";
    write(&room, ".claude/settings.json", rules);
    write(&room, ".claude.json", server);
    postroom(&room, ["install", "claude", "--mcp"]).succeeds();
    assert_eq!(read(&room, ".claude/settings.json").matches("Bash(postroom *)").count(), 1);
    postroom(&room, ["uninstall", "claude"]).succeeds();
    assert_eq!(
        (read(&room, ".claude/settings.json"), read(&room, ".claude.json")),
        (rules.into(), server.into())
    );
    // Also where somebody has written into the files since.
    postroom(&room, ["install", "claude", "--mcp"]).succeeds();
    for path in [".claude/settings.json", ".claude.json"] {
        write(&room, path, &read(&room, path).replacen('{', "{\"new\": 1, ", 1));
    }
    assert!(postroom(&room, ["uninstall", "claude"]).succeeds().out.contains("removed from "));
    let (rules, server) = (read(&room, ".claude/settings.json"), read(&room, ".claude.json"));
    assert!(rules.contains("\"new\": 1") && rules.contains("Bash(postroom *)"), "{rules}");
    assert!(!rules.contains("hook claude") && !rules.contains("mcp__postroom"), "{rules}");
    assert!(server.contains("\"mine\"") && server.contains("\"--as\""), "{server}");
}

#[test]
fn files_that_others_share_by_their_repository_stay() {
    let (room, other) = (settled(), settled());
    let project = room.around().join("work");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    postroom(&room, ["install", "claude", "--project"]).within(&project).succeeds();
    let cloned = tree(&project);
    // Somebody else, who has cloned all that.
    assert!(
        postroom(&other, ["install", "claude", "--project"])
            .within(&project)
            .succeeds()
            .out
            .contains("already")
    );
    postroom(&other, ["uninstall", "claude", "--project"]).within(&project).succeeds();
    assert_eq!(tree(&project), cloned);
}

#[test]
fn each_program_is_looked_at_with_its_own_name() {
    let room = settled();
    room.run(["setup", "bob"]).succeeds();
    postroom(&room, ["install", "codex", "--name", "bob"]).succeeds();
    postroom(&room, ["install", "gemini", "--name", "alice"]).succeeds();
    for name in ["codex", "gemini"] {
        let ran = postroom(&room, ["install", name, "--check"]).ends();
        assert!(ran.out.starts_with(&format!("{name} user current")), "{ran:?}");
    }
}

#[test]
fn a_project_and_the_user_are_taken_out_in_any_order() {
    for order in [["--user", "--project"], ["--project", "--user"]] {
        let room = settled();
        room.run(["setup", "bob"]).succeeds();
        let project = room.around().join("work");
        std::fs::create_dir_all(project.join(".git")).unwrap();
        let before = (picture(&room), tree(&project));
        for program in ["claude", "codex", "gemini", "opencode"] {
            for place in ["--user", "--project"] {
                postroom(&room, ["install", program, place, "--name", "alice"]).within(&project).succeeds();
                // Another name takes the place of the first.
                postroom(&room, ["install", program, place, "--name", "bob"]).within(&project).succeeds();
            }
        }
        assert!(!read(&room, ".claude/settings.json").contains("--name alice"));
        for place in order {
            for program in ["claude", "codex", "gemini", "opencode"] {
                postroom(&room, ["uninstall", program, place]).within(&project).succeeds();
            }
        }
        assert_eq!((picture(&room), tree(&project)), before);
    }
}

#[test]
fn a_home_is_no_project() {
    let room = settled();
    std::fs::create_dir_all(home(&room).join(".git")).unwrap();
    let before = picture(&room);
    let ran = postroom(&room, ["install", "claude", "--project"]).within(&home(&room)).exits(4);
    assert!(ran.err.contains("no project") && ran.err.contains("--project"), "{}", ran.err);
    assert_eq!(picture(&room), before);
}

#[test]
fn two_at_once_take_turns() {
    let room = settled();
    room.run(["setup", "bob"]).succeeds();
    let before = picture(&room);
    for _ in 0..4 {
        std::thread::scope(|scope| {
            for name in ["alice", "bob", "alice", "bob"] {
                let run = postroom(&room, ["install", "claude", "--name", name]);
                scope.spawn(move || run.succeeds());
            }
        });
        assert_eq!(read(&room, ".claude/settings.json").matches(" hook claude stop").count(), 1);
        postroom(&room, ["uninstall", "claude"]).succeeds();
        assert_eq!(picture(&room), before);
    }
}

#[test]
fn an_interruption_leaves_nothing_that_the_next_run_cannot_finish() {
    let room = settled();
    room.run(["setup", "bob"]).succeeds();
    let before = picture(&room);
    let records = home(&room).join(".local/state/postroom/.installed");
    let count = || std::fs::read_dir(&records).map_or(0, |list| list.count());
    for at in 0..40 {
        // An older version is in place in every other round, so that something is replaced too.
        if at % 2 == 1 {
            postroom(&room, ["install", "claude", "--name", "alice"]).succeeds();
            write(&room, ".claude/skills/mailbox/references/prune.md", "");
            std::fs::remove_file(home(&room).join(".claude/skills/mailbox/references/prune.md")).unwrap();
        }
        let start = count();
        let mut child = postroom(&room, ["install", "claude", "--name", "bob"]).start();
        while count() < (start + at / 2).max(1) && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if at % 4 < 2 {
            postroom(&room, ["install", "claude", "--name", "bob"]).succeeds();
            postroom(&room, ["install", "claude", "--check"]).succeeds();
        }
        // Taking out may be interrupted as well.
        let mut child = postroom(&room, ["uninstall", "claude"]).start();
        let full = count();
        while count() + at % 3 > full && child.try_wait().unwrap().is_none() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        postroom(&room, ["uninstall", "claude"]).ends();
        assert_eq!(picture(&room), before, "round {at}");
    }
}

#[test]
fn what_belongs_to_somebody_else_is_left_alone() {
    if !rustix::process::geteuid().is_root() {
        return skip("what_belongs_to_somebody_else_is_left_alone", "only root can give a file away");
    }
    let room = settled();
    for path in [".claude.json", ".claude/skills"] {
        let path = home(&room).join(path);
        if !path.exists() {
            std::fs::create_dir_all(&path).unwrap();
        }
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        let before = picture(&room);
        let ran = postroom(&room, ["install", "claude", "--mcp"]).exits(4);
        assert!(ran.err.contains(path.to_str().unwrap()), "{}", ran.err);
        assert_eq!(picture(&room), before, "nothing was begun");
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    }
    postroom(&room, ["install", "claude"]).succeeds();
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_anything_is() {
    let room = settled();
    let commands = home(&room).join(".gemini/commands");
    std::fs::create_dir_all(&commands).unwrap();
    let before = picture(&room);
    let script = "unshare --user --map-root-user --mount bash -c '
        mount --bind home/.gemini/commands home/.gemini/commands || exit 99
        mount -o remount,ro,bind home/.gemini/commands || exit 99
        export PATH=$PWD/bin:$PATH
        postroom install gemini'";
    let ran = room.bash(script).ends();
    if ran.code == 99 || ran.err.contains("unshare") {
        return skip(
            "a_place_that_cannot_be_written_is_told_before_anything_is",
            "nothing can be mounted here",
        );
    }
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains(".gemini/commands is read-only"), "{ran:?}");
    assert_eq!(picture(&room), before);
}

#[test]
fn a_record_that_cannot_be_read_is_told() {
    let room = settled();
    postroom(&room, ["install", "gemini"]).succeeds();
    let records = home(&room).join(".local/state/postroom/.installed");
    let first = std::fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path());
    let first = first.filter(|path| path.extension().is_some()).min().unwrap();
    let kept = std::fs::read(&first).unwrap();
    std::fs::write(&first, "{").unwrap();
    let before = picture(&room);
    for verb in [["install", "gemini"], ["uninstall", "gemini"]] {
        let ran = postroom(&room, verb).exits(4);
        assert!(ran.err.contains("cannot be read"), "{}", ran.err);
        assert_eq!(picture(&room), before);
    }
    std::fs::write(&first, kept).unwrap();
    postroom(&room, ["uninstall", "gemini"]).succeeds();
}
