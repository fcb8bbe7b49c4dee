//! Recovery: a supervisor that was killed leaves nothing that blocks, nothing that runs on, and nothing that is done twice.

use rustix::process::{Pid, Signal, kill_process};

use crate::support::at_work::{lives, parent_of, pid_of_agent};
use crate::support::hand::tighten;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, inbox, runs, settle, shell, staffed};
use crate::support::taken::{claim, end_lease};
use crate::support::until::until;

/// Starts an agent that does not end, kills its supervisor, and gives the number of the agent's process.
fn killed(room: &TestRoom) -> String {
    room.send("alice", "worker", "x");
    let mut dispatcher = dispatch(room, []).start();
    let pid = pid_of_agent(room);
    let parent = parent_of(&pid);
    dispatcher.kill().unwrap();
    dispatcher.wait().unwrap();
    assert!(lives(&pid), "the run goes on without its dispatcher");
    kill_process(Pid::from_raw(parent).unwrap(), Signal::KILL).unwrap();
    // A signal is sent before it has done its work; its child is given away after its locks are free.
    until("the supervisor is dead", || !lives(&pid) || parent_of(&pid) != parent);
    pid
}

const ENDLESS: &str = "trap '' PIPE; echo $$ > pid.new; mv pid.new pid; while :; do sleep 1; done";

#[test]
fn a_message_whose_supervisor_was_killed_comes_back_at_once_and_its_agent_ends() {
    let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\""));
    let pid = killed(&room);
    assert_eq!(room.files("worker", "claimed").len(), 1);
    settle(&room, &shell("worker", "echo fine", ""));
    // The first look finds it; the message is not left to its lease, and nothing of the first run is beside the second.
    let table = dispatch(&room, []).ends().out;
    assert!(table.contains("again") && table.contains("its supervisor was killed"), "{table}");
    assert!(table.contains("alice → worker done"), "{table}");
    assert!(!lives(&pid), "the agent of the dead run lives on");
    assert_eq!(inbox(&room, "alice"), ["fine\n"]);
    let told: Vec<_> = runs(&room).iter().map(|run| (run["state"].clone(), run["attempt"].clone())).collect();
    assert_eq!(told, [("again".into(), 1.into()), ("done".into(), 2.into())]);
}

/// The lease had ended before the supervisor was killed, and the message was started again although somebody had stopped it.
#[test]
fn a_stop_holds_although_the_lease_is_over_and_the_supervisor_is_dead() {
    for (then, parked) in [("park", true), ("give_up", false)] {
        let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\""));
        room.send("alice", "worker", "x");
        let mut dispatcher = dispatch(&room, []).start();
        let pid = pid_of_agent(&room);
        let parent = parent_of(&pid);
        let supervisor = Pid::from_raw(parent).unwrap();
        kill_process(supervisor, Signal::STOP).unwrap();
        dispatcher.kill().unwrap();
        dispatcher.wait().unwrap();
        end_lease(&room, "worker", &room.files("worker", "claimed").pop().unwrap());
        // Any look returns the message.
        room.by("worker", ["check"]).succeeds();
        assert_eq!(room.files("worker", "inbox").len(), 1);
        let run = runs(&room)[0]["id"].as_str().unwrap().to_owned();
        let request = room.root().join(".dispatch/runs").join(&run).join("stop");
        std::fs::write(&request, format!(r#"{{"v":1,"why":"enough","then":"{then}"}}"#)).unwrap();
        tighten(&request);
        kill_process(supervisor, Signal::KILL).unwrap();
        until("the supervisor is dead", || !lives(&pid) || parent_of(&pid) != parent);
        settle(&room, &shell("worker", "echo never", ""));
        dispatch(&room, []).ends();
        let all = runs(&room);
        let state = if parked { "parked" } else { "failed" };
        assert_eq!((all.len(), all[0]["state"].as_str()), (1, Some(state)), "{all:?}");
        assert_eq!(all[0]["why"], "stopped: enough");
        assert_eq!(room.files("worker", "inbox").len(), usize::from(parked));
        assert!(inbox(&room, "alice").is_empty());
    }
}

#[test]
fn the_last_attempt_of_a_killed_supervisor_is_given_up() {
    let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\"\nretries = 0"));
    killed(&room);
    dispatch(&room, []).exits(5);
    assert_eq!((room.files("worker", "failed").len(), room.files("worker", "inbox").len()), (1, 0));
    assert!(inbox(&room, "alice")[0].contains("its supervisor was killed"));
}

#[test]
fn a_killed_supervisor_that_had_its_answer_sent_is_done_and_answers_once() {
    let script =
        format!("id=$(sed -n 's/ .*(unverified): .*//p'); postroom reply \"$id\" -m once -q; {ENDLESS}");
    let room = staffed(&["worker"], &shell("worker", &script, "cwd = \"..\""));
    killed(&room);
    settle(&room, &shell("worker", "echo twice", ""));
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice"), ["once"]);
    assert_eq!(runs(&room).len(), 1);
}

#[test]
fn an_attempt_after_one_that_answered_does_not_answer_again() {
    let room = staffed(&["worker"], &shell("worker", "echo twice", ""));
    room.send("alice", "worker", "x");
    // As it is when a supervisor dies between its answer and its end, and the lease is over before anybody looks.
    let token = claim(&room, "worker", &[]);
    let file =
        room.files("worker", &format!("claimed/{token}")).into_iter().find(|f| f.ends_with(".md")).unwrap();
    room.by("worker", ["reply", &file, "-m", "once"]).succeeds();
    end_lease(&room, "worker", &token);
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice"), ["once"]);
    assert_eq!(runs(&room)[0]["state"], "done");
}

#[test]
fn a_claim_that_was_made_by_hand_is_left_alone() {
    let room = staffed(&["worker"], &shell("worker", "echo x", ""));
    room.send("alice", "worker", "mine");
    let token = claim(&room, "worker", &[]);
    dispatch(&room, []).exits(1);
    room.by("worker", ["done", &token]).succeeds();
}

#[test]
fn all_messages_of_a_killed_batch_come_back() {
    let room = staffed(&["worker"], &shell("worker", ENDLESS, "cwd = \"..\"\nbatch = 3"));
    room.send("alice", "worker", "first");
    room.send("alice", "worker", "second");
    killed(&room);
    assert_eq!((room.files("worker", "claimed").len(), room.files("worker", "inbox").len()), (3, 0));
    settle(&room, &shell("worker", "echo fine", ""));
    dispatch(&room, []).ends();
    assert_eq!(inbox(&room, "alice"), ["fine\n"; 3]);
    assert_eq!(room.files("worker", "archive").len(), 3);
}
