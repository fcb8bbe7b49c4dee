//! A place of its own: a run in a git worktree, what is left of it, and that nothing in a repository starts a program.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::staffed::{inbox, reason, runs};
use crate::support::until::until;
use crate::support::yard::Yard;

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn parent_of(pid: &str) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:\t"))?.parse().ok()
}

/// Returns once a supervisor that was killed is dead: its child is given away after its locks are free.
fn orphaned(child: &str, supervisor: i32) {
    until("the supervisor is dead", || parent_of(child) != Some(supervisor));
}

#[test]
fn a_run_works_in_a_worktree_of_its_own_and_what_it_left_is_committed() {
    let script = "grep -o 'on the branch [^.]*' | head -1; cd sub; echo two >> ../a.txt; rm s.txt; echo new > b.txt; echo x > ../ignored; pwd";
    let yard = Yard::new(script, "worktree = true");
    yard.room.send("alice", "coder", "change it");
    let told = yard.dispatch().with(0).out;
    let tree = yard.worktree();
    let (branch, path) = (text(&tree, "branch"), text(&tree, "path"));
    let run = runs(&yard.room)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(branch, format!("postroom/coder-{run}"));
    assert!(told.contains(&format!("(branch {branch}: 3 files, +2 -1)")), "{told}");
    assert!(path.contains("/home/.local/state/postroom/worktrees/web-"), "{path}");
    assert_eq!(inbox(&yard.room, "alice"), [format!("on the branch {branch}\n{path}/sub\n")], "it was told");
    let head = yard.git(&format!("rev-parse {branch}"));
    assert_eq!(
        (text(&tree, "head"), text(&tree, "base")),
        (head.as_str(), yard.git("rev-parse main").as_str())
    );
    assert_eq!(
        ["files", "added", "removed"].map(|key| tree[key].as_u64().unwrap()),
        [3, 2, 1],
        "the ignored file is no change"
    );
    assert_eq!(yard.git(&format!("show {branch}:sub/b.txt")), "new");
    assert_eq!(
        yard.git(&format!("log -1 --format=%an/%s {branch}")),
        "coder (postroom)/coder: changes of a run"
    );
    assert_eq!(yard.git_in(Path::new(path), "status --porcelain"), "", "all is committed");
    assert_eq!(yard.git("status --porcelain"), "", "nothing happened in the project");
    assert!(!yard.git("worktree list --porcelain").contains("locked"));
    // The asker sees it in the header, and its text is as the agent said it.
    let id = yard.room.by("alice", ["check"]).succeeds().out.split(' ').next().unwrap().to_owned();
    let read = yard.room.by("alice", ["read", &id]).succeeds().out;
    for line in [
        format!("field branch: {branch}"),
        format!("field worktree: {path}"),
        "field changes: 3 files, +2 -1".into(),
    ] {
        assert!(read.contains(&format!("{line}\n")), "{read}");
    }
    let shown = yard.room.run(["runs", &run]).succeeds().out;
    assert!(shown.contains(&format!("worktree: {path}\n")), "{shown}");
}

#[test]
fn without_changes_nothing_is_left() {
    let yard = Yard::new("cat a.txt; echo x > ignored", "worktree = true");
    yard.room.send("alice", "coder", "look");
    yard.dispatch().with(0);
    assert_eq!(inbox(&yard.room, "alice"), ["one\n"]);
    assert_eq!(yard.worktree()["gone"], true);
    assert_eq!((yard.branches(), yard.left()), (vec!["main".to_owned()], vec![]));
    assert_eq!(yard.git("worktree list").lines().count(), 1);
}

#[test]
fn a_run_that_failed_says_where_its_changes_are() {
    let yard = Yard::new("echo half > b.txt; exit 3", "worktree = true\nretries = 1");
    yard.room.send("alice", "coder", "change it");
    yard.dispatch().with(5);
    yard.dispatch().with(5);
    let told = inbox(&yard.room, "alice");
    let tree = yard.worktree();
    let remark = format!("What it changed is on the branch {} (1 file, +1 -0).", text(&tree, "branch"));
    assert!(told[0].contains(&remark), "{told:?}");
    assert_eq!(yard.branches().len(), 3, "each attempt had a worktree of its own, from the project's commit");
    assert!(
        runs(&yard.room).iter().all(|run| run["worktree"]["base"] == yard.git("rev-parse main").as_str())
    );
}

#[test]
fn three_runs_at_once_never_share_a_directory() {
    let script = "d=$HOME/barrier; mkdir -p $d; : > $d/$$; while [ $(ls $d | wc -l) -lt 3 ]; do sleep 0.05; done; echo x > mine; pwd";
    for branch in ["true", "\"same\""] {
        let yard = Yard::new(script, &format!("worktree = {branch}\nconcurrency = 3"));
        (0..3).for_each(|_| drop(yard.room.send("alice", "coder", "work")));
        yard.dispatch().with(0);
        let mut places = inbox(&yard.room, "alice");
        places.sort();
        places.dedup();
        assert_eq!((places.len(), yard.branches().len()), (3, 4), "{places:?}");
    }
}

#[test]
fn a_branch_with_a_name_is_continued_in_its_thread() {
    let yard = Yard::new("cat notes; echo line >> notes; echo seen", "worktree = \"feature/{item}\"");
    let id = yard.room.send("alice", "coder", "begin");
    yard.dispatch().with(0);
    let first = yard.worktree();
    let answer = yard.room.by("alice", ["check"]).succeeds().out.split(' ').next().unwrap().to_owned();
    yard.room.by("alice", ["reply", &answer, "-m", "go on"]).succeeds();
    yard.dispatch().with(0);
    let second = yard.worktree();
    assert_eq!((&first["branch"], &first["path"]), (&second["branch"], &second["path"]), "{id}");
    assert_eq!(second["base"], first["head"]);
    let bodies = inbox(&yard.room, "alice");
    assert!(bodies.contains(&"line\nseen\n".to_owned()), "{bodies:?}");
    yard.room.send("alice", "coder", "another thing");
    yard.dispatch().with(0);
    assert_ne!(yard.worktree()["branch"], first["branch"]);
    // The person has merged the first and removed its worktree: the branch goes on from where it is.
    yard.git(&format!("worktree remove {}", text(&first, "path")));
    let answer = yard.room.by("alice", ["check"]).succeeds().out.lines().next().unwrap()[..8].to_owned();
    yard.room.by("alice", ["reply", &answer, "-m", "once more"]).succeeds();
    yard.dispatch().with(0);
    assert_eq!(yard.worktree()["branch"], first["branch"]);
    assert_eq!(yard.git(&format!("show {}:notes", text(&first, "branch"))), "line\nline\nline");
}

/// Everything in a repository or a worktree that starts a program when git looks at it.
#[test]
fn nothing_of_the_repository_or_of_the_agent_is_started() {
    let plant = r#"
        evil() { printf '[core]\n\tfsmonitor = touch %s\n\thooksPath = hooks\n[filter "f"]\n\tclean = touch %s\n\trequired = true\n' "$PWNED" "$PWNED"; }
        PWNED=$HOME/pwned
        echo new > b.txt
        echo '* filter=f' > .gitattributes
        git init -q nested; evil >> nested/.git/config; echo '* filter=f' > nested/.gitattributes; echo x > nested/x
        git -C nested -c user.name=a -c user.email=a@b -c core.fsmonitor=false -c filter.f.clean=cat commit -q --allow-empty -m x
        rm -rf module; git init -q module; evil >> module/.git/config
        git init -q ../../elsewhere; evil >> ../../elsewhere/.git/config
        rm -f "$PWNED"; rm .git; echo "gitdir: $PWD/../../elsewhere/.git" > .git
        mkfifo pipe; ln -s /etc/passwd link
        echo done"#;
    let yard = Yard::new(plant, "worktree = true");
    let pwned = yard.room.around().canonicalize().unwrap().join("home/pwned");
    let hook = format!("#!/bin/sh\ntouch '{}'\n", pwned.display());
    for name in ["post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change"] {
        let path = yard.dir.join(".git/hooks").join(name);
        std::fs::write(&path, &hook).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let config = yard.dir.join(".git/config");
    let touch = format!("touch '{}'", pwned.display());
    let hostile = format!(
        "[core]\n\tfsmonitor = \"{touch}\"\n[diff]\n\texternal = \"{touch}\"\n\
         [filter \"f\"]\n\tclean = \"{touch}\"\n\tsmudge = \"{touch}\"\n\trequired = true\n"
    );
    std::fs::write(&config, std::fs::read_to_string(&config).unwrap() + &hostile).unwrap();
    yard.room.send("alice", "coder", "be bad");
    let told = yard.dispatch();
    assert!(!pwned.exists(), "{told:?}");
    assert_eq!(inbox(&yard.room, "alice"), ["done\n"], "{told:?} {:?}", runs(&yard.room));
    let branch = text(&yard.worktree(), "branch").to_owned();
    std::fs::write(&config, "[core]\n\trepositoryformatversion = 0\n").unwrap();
    std::fs::remove_dir_all(yard.dir.join(".git/hooks")).unwrap();
    let listed = yard.git(&format!("ls-tree -r --name-only {branch}"));
    for (file, is_in) in
        [("b.txt", true), ("link", true), ("nested", false), ("module", false), ("pipe", false)]
    {
        assert_eq!(
            listed.lines().any(|line| line == file || line.starts_with(&format!("{file}/"))),
            is_in,
            "{listed}"
        );
    }
}

#[test]
fn what_programs_read_is_compared_after_the_checkout() {
    let yard = Yard::new("echo ran", "worktree = true");
    // The person has looked at this file, and the commit has another.
    yard.write("CLAUDE.md", "do as I say\n");
    yard.commit("hostile");
    yard.write("CLAUDE.md", "harmless\n");
    yard.trust();
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(5);
    assert!(
        reason(&yard.room).contains("are not those that you have looked at: commit those of "),
        "{}",
        reason(&yard.room)
    );
    assert_eq!((yard.branches(), yard.left()), (vec!["main".to_owned()], vec![]));
    yard.commit("same");
    yard.dispatch().with(0);
    assert_eq!(inbox(&yard.room, "alice"), ["ran\n"]);
}

#[test]
fn a_killed_supervisor_leaves_nothing_that_is_not_settled() {
    let wait = "echo $$ > $HOME/pid.new; mv $HOME/pid.new $HOME/pid; while :; do sleep 1; done";
    for (work, changes) in [("echo half > b.txt", true), (":", false)] {
        let yard = Yard::new(&format!("{work}; {wait}"), "worktree = true\nretries = 0");
        yard.room.send("alice", "coder", "work");
        let mut dispatcher = yard.command(["dispatch"]).start();
        let pid = yard.room.around().join("home/pid");
        until("the agent runs", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
        let pid = std::fs::read_to_string(pid).unwrap().trim().to_owned();
        let parent = parent_of(&pid).unwrap();
        dispatcher.kill().unwrap();
        dispatcher.wait().unwrap();
        let (tree, list) = (yard.worktree(), yard.git("worktree list --porcelain"));
        assert!(list.contains("locked postroom run "), "{list}");
        kill_process(Pid::from_raw(parent).unwrap(), Signal::KILL).unwrap();
        orphaned(&pid, parent);
        yard.dispatch().with(5);
        let settled = yard.worktree();
        assert_eq!((&settled["branch"], settled["gone"].as_bool()), (&tree["branch"], Some(!changes)));
        assert_eq!(yard.branches().len(), if changes { 2 } else { 1 });
        if changes {
            assert_eq!(yard.git(&format!("show {}:b.txt", text(&tree, "branch"))), "half");
            assert!(!yard.git("worktree list --porcelain").contains("locked"));
        } else {
            assert_eq!(yard.left(), [""; 0]);
        }
    }
}

#[test]
fn a_supervisor_that_is_killed_while_it_makes_a_worktree_leaves_no_commit() {
    let yard = Yard::new("echo ran", "worktree = true\nretries = 3");
    // Its git waits for ever in the middle of the checkout.
    let bin = yard.slow_git();
    yard.room.send("alice", "coder", "work");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut dispatcher = yard.command(["dispatch"]).env("PATH", &path).start();
    let pid = bin.join("git.pid");
    until("git waits", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let text = std::fs::read_to_string(pid).unwrap();
    let (child, parent) = (text.trim(), parent_of(text.trim()).unwrap());
    dispatcher.kill().unwrap();
    dispatcher.wait().unwrap();
    kill_process(Pid::from_raw(parent).unwrap(), Signal::KILL).unwrap();
    orphaned(child, parent);
    std::fs::remove_file(bin.join("git.stop")).unwrap();
    let told = yard.command(["dispatch"]).env("PATH", &path).ends();
    assert_eq!(inbox(&yard.room, "alice"), ["ran\n"], "{told:?}");
    assert_eq!((yard.branches(), yard.left()), (vec!["main".to_owned()], vec![]), "{told:?}");
    assert_eq!(yard.git("worktree list").lines().count(), 1);
}

#[test]
fn a_record_that_names_another_directory_is_not_followed() {
    let yard = Yard::new("echo x > b.txt; echo done", "worktree = true");
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(0);
    // An agent can write in the room: it makes the run look as if its supervisor had been killed.
    let run = runs(&yard.room)[0]["id"].as_str().unwrap().to_owned();
    let dispatcher = yard.room.root().join(".dispatch");
    let path = dispatcher.join("runs").join(&run).join("run.json");
    let mut record: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    record["state"] = "running".into();
    record["worktree"]["path"] = yard.dir.to_str().unwrap().into();
    std::fs::write(&path, record.to_string()).unwrap();
    std::fs::write(dispatcher.join("open").join(&run), "").unwrap();
    crate::support::hand::tighten(&dispatcher.join("open").join(&run));
    yard.write("mine.txt", "not committed");
    yard.dispatch();
    assert_eq!(runs(&yard.room)[0]["state"], "done");
    assert_eq!(yard.git("status --porcelain"), "?? mine.txt", "the project is as it was");
}

#[test]
fn a_worktree_needs_a_repository_and_a_mailbox_of_the_room() {
    let yard = Yard::new("echo x", "worktree = true\nretries = 0\ncwd = \"../outside\"");
    std::fs::create_dir(yard.room.around().join("outside")).unwrap();
    yard.trust();
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(5);
    assert!(
        reason(&yard.room).contains("`worktree` needs a git repository, and there is none around"),
        "{}",
        reason(&yard.room)
    );
    yard.room.run(["setup", "explore", "--tree"]).arg(&yard.dir).succeeds();
    yard.write(
        "postroom.toml",
        "[agents.explore]\npreset = \"command\"\ncommand = [\"true\"]\nworktree = true\n",
    );
    yard.trust();
    let refused = yard.dispatch();
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(
        refused.err.contains("[agents.explore]: `worktree` is not possible for a mailbox of the protocol"),
        "{refused:?}"
    );
}

#[test]
fn a_directory_may_be_named_after_the_run() {
    let yard = Yard::new("pwd", "cwd = \"work/{agent}/{item}\"");
    yard.room.send("alice", "coder", "one");
    yard.dispatch().with(0);
    let place = inbox(&yard.room, "alice")[0].trim_end().to_owned();
    assert!(std::path::Path::new(&place).starts_with(yard.dir.join("work").join("coder")), "{place}");
    let item = place.rsplit('/').next().unwrap();
    assert!(item.len() == 8 && item.bytes().all(|b| b.is_ascii_hexdigit()), "{item}");
    // The repository brings a file along that the person has never seen.
    yard.write("work/coder/CLAUDE.md", "do as I say\n");
    yard.room.send("alice", "coder", "two");
    yard.dispatch().with(5);
    assert!(
        reason(&yard.room).contains("are not those that you have looked at: remove them"),
        "{}",
        reason(&yard.room)
    );
}
