//! What is left of a worktree: locks of a git that was killed, records of what somebody removed, and agents that outlive
//! their supervisor.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::at_work::{lives, parent_of};
use crate::support::room::Run;
use crate::support::staffed::{inbox, runs};
use crate::support::until::until;
use crate::support::yard::Yard;

/// A git that was killed leaves its lock, and nothing could be committed any more.
#[test]
fn a_lock_that_git_left_behind_is_removed() {
    let script = "echo x > b.txt; own=$(git rev-parse --git-dir); : > $own/index.lock; : > $own/HEAD.lock; \
                  branch=$(git symbolic-ref HEAD); : > $(git rev-parse --git-common-dir)/$branch.lock; echo done";
    let yard = Yard::new(script, "worktree = true");
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(0);
    let tree = yard.worktree();
    assert_eq!((tree["files"].as_u64(), tree.get("fault")), (Some(1), None), "{tree}");
    assert_eq!(yard.git(&format!("show {}:b.txt", tree["branch"].as_str().unwrap())), "x");
}

/// The checkout was killed by the stop, and the message was tried again as if it had failed.
#[test]
fn a_run_that_is_stopped_while_its_worktree_is_made_is_parked() {
    let yard = Yard::new("echo ran", "worktree = true\nretries = 3");
    let bin = yard.slow_git();
    yard.room.send("alice", "coder", "work");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let mut dispatcher = yard.command(["dispatch"]).env("PATH", &path).start();
    let pid = bin.join("git.pid");
    until("git waits", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let stopped = yard.command(["stop", "coder", "-m", "enough"]).exits(0).out;
    assert!(stopped.contains(" is parked\n"), "{stopped}");
    dispatcher.wait().unwrap();
    let all = runs(&yard.room);
    assert_eq!(
        (all.len(), &all[0]["state"], &all[0]["why"]),
        (1, &"parked".into(), &"stopped: enough".into())
    );
    assert!(inbox(&yard.room, "alice").is_empty(), "nobody is told that it failed");
    // What was made of the worktree is removed by the next run.
    std::fs::remove_file(bin.join("git.stop")).unwrap();
    yard.room.run(["failed", "retry", "--agent", "coder"]).by_person().with(0);
    yard.dispatch().with(0);
    assert_eq!((inbox(&yard.room, "alice"), yard.left()), (vec!["ran\n".to_owned()], vec![]));
}

/// Each left a record and a lock for ever.
#[test]
fn a_worktree_that_somebody_removed_is_forgotten() {
    let yard = Yard::new("echo x > b.txt; echo done", "worktree = true");
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(0);
    yard.git(&format!("worktree remove {}", yard.worktree()["path"].as_str().unwrap()));
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(0);
    let other = yard.worktree()["branch"].as_str().unwrap().replace('/', "+");
    let mut left = yard.left();
    left.sort();
    assert_eq!(left, [other.clone(), format!("{other}.json"), format!("{other}.lock")]);
}

/// Lets an agent begin, and kills its dispatcher and its supervisor. Returns the agent.
fn orphan(dispatch: Run, pid: &Path) -> String {
    let mut dispatcher = dispatch.start();
    until("the agent runs", || std::fs::read_to_string(pid).is_ok_and(|text| text.ends_with('\n')));
    let agent = std::fs::read_to_string(pid).unwrap().trim().to_owned();
    let supervisor = parent_of(&agent);
    dispatcher.kill().unwrap();
    dispatcher.wait().unwrap();
    kill_process(Pid::from_raw(supervisor).unwrap(), Signal::KILL).unwrap();
    // Its child is given away after its locks are free.
    until("the supervisor is dead", || parent_of(&agent) != supervisor);
    agent
}

/// The recovery of one room committed what the agent of another room had done so far, or removed its worktree under it.
#[test]
fn a_worktree_is_left_to_its_own_room_while_its_agent_lives() {
    let script = "repository=$(git rev-parse --git-common-dir); repository=${repository%/.git}; pid=$HOME/${repository##*/}.pid; \
                  echo half > b.txt; echo $$ > $pid.new; mv $pid.new $pid; while :; do sleep 1; done";
    let yard = Yard::new(script, "worktree = true\nretries = 0");
    let around = yard.room.around().canonicalize().unwrap();
    yard.room.bash("cp -r web api").succeeds();
    // A second room, whose agent works in the second repository.
    let (api, root) = (around.join("api"), around.join("other"));
    let other = |words: &[&str]| {
        let words = ["--root", root.to_str().unwrap()].into_iter().chain(words.iter().copied());
        yard.room.bare(words).within(&api).env("PATH", "/usr/local/bin:/usr/bin:/bin")
    };
    other(&["setup", "alice"]).succeeds();
    other(&["setup", "--child", "coder"]).succeeds();
    other(&["trust", ".", "-q"]).by_person().with(0);
    other(&["--as", "alice", "send", "coder", "-m", "work"]).succeeds();
    yard.room.send("alice", "coder", "work");
    let home = around.join("home");
    let mine = orphan(yard.command(["dispatch"]), &home.join("web.pid"));
    let others = orphan(other(&["dispatch"]), &home.join("api.pid"));
    let place = yard.worktree()["path"].as_str().unwrap().to_owned();
    other(&["dispatch"]).exits(5);
    assert!(!lives(&others) && lives(&mine), "the second room ended its own agent and no other");
    assert_eq!(yard.git_in(Path::new(&place), "status --porcelain"), "?? b.txt", "nothing was committed");
    assert!(yard.git("worktree list --porcelain").contains("locked postroom run "));
    yard.dispatch().with(5);
    assert!(!lives(&mine));
    let tree = yard.worktree();
    assert_eq!((tree["files"].as_u64(), tree["path"].as_str()), (Some(1), Some(place.as_str())), "{tree}");
}

/// The run was done and its answer was sent, and nobody heard that the changes were lost.
#[test]
fn a_worktree_that_is_deleted_under_its_agent_is_told() {
    let yard = Yard::new("echo x > b.txt; rm -rf \"$PWD\"; echo done", "worktree = true");
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(0);
    let tree = yard.worktree();
    let lost = "its worktree was removed while it ran, and what was not committed is lost";
    assert_eq!((tree["fault"].as_str(), tree["gone"].as_bool()), (Some(lost), Some(true)), "{tree}");
    let listed = yard.command(["runs"]).exits(0).out;
    assert!(listed.contains(" done ") && listed.contains(lost), "{listed}");
    let read = yard.room.by("alice", ["read"]).succeeds().out;
    assert!(read.contains(lost), "{read}");
}

#[test]
fn the_doctor_tells_how_many_worktrees_are_kept() {
    if !lent("the_doctor_tells_how_many_worktrees_are_kept") {
        return;
    }
    let yard = Yard::new("echo x > b.txt; echo done", "worktree = true");
    let doctor = || on_terminal(&yard.room, 400, "doctor", &PLAIN);
    assert!(!doctor().contains("worktree"));
    yard.room.send("alice", "coder", "work");
    yard.dispatch().with(0);
    let told = doctor();
    let path = yard.worktree()["path"].as_str().unwrap().to_owned();
    assert!(told.contains("1 worktree of ended runs kept") && told.contains(&path), "{told}");
}
