//! An operator at the client: decides at a gate, stops a run, gives its message back to the agent, pauses and resumes, tries again
//! what failed, ends a workflow, and goes from a message to what its run changed.

use std::time::Duration;

use crate::support::crew::{crew, project, results, status, workflow};
use crate::support::room::TestRoom;
use crate::support::screen::Screen;
use crate::support::staffed::{dispatch, inbox, runs, shell, staffed, with_path};
use crate::support::until::{until, until_at_last, until_watching};
use crate::support::yard::Yard;
use crate::tui::person::seated;

const SOON: Duration = Duration::from_secs(30);

/// A dispatcher that watches, until it is dropped.
struct Watch(std::process::Child);

impl Watch {
    fn of(room: &TestRoom) -> Self {
        let child = dispatch(room, ["--watch"]).start();
        until_watching(&child);
        Self(child)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn sees(screen: &Screen, text: &str) {
    screen.sees(text, SOON).unwrap();
}

/// Prints, and goes on until it is stopped; the second time it is quick.
const SLOW: &str =
    "[ -e again ] && { echo all is fine; exit; }; echo the first part; while :; do sleep 1; done";

#[test]
fn a_run_is_stopped_its_message_released_and_its_agent_paused_and_resumed() {
    let room = staffed(&["worker"], &shell("worker", SLOW, "cwd = \"..\""));
    room.run(["setup", "user"]).by_person().with(0);
    let _dispatcher = Watch::of(&room);
    room.send("alice", "worker", "Count to ten");
    until_at_last("it runs", || runs(&room).iter().any(|run| run["state"] == "running"));
    let (again, records) = (room.around().join("again"), room.root().join(".dispatch/runs"));
    seated(with_path(&room, room.run(["tui"])), "true", move |screen| {
        screen.types("3");
        sees(screen, "running");
        screen.types("\r");
        sees(screen, "the first part");
        screen.types("s");
        sees(screen, "Stop the run of worker?");
        screen.types("y");
        sees(screen, "stopped 1 run");
        std::fs::write(&again, "").unwrap();
        screen.types(":pause worker lunch\r");
        sees(screen, "worker is paused");
        screen.types("5");
        sees(screen, "R release");
        screen.types("R");
        sees(screen, "1 message unread again");
        // It is paused, so nothing starts although the message is back.
        screen.types("1");
        sees(screen, "1 message: lunch");
        assert_eq!(std::fs::read_dir(&records).unwrap().count(), 1);
        screen.types(":resume worker\r");
        sees(screen, "worker goes on");
        screen.types("3");
        sees(screen, "done");
        screen.types("q");
    });
    until_at_last("the answer", || inbox(&room, "alice") == ["all is fine\n"]);
    let states = || runs(&room).iter().map(|run| run["state"].clone()).collect::<Vec<_>>();
    until_at_last("both runs have ended", || states() == ["parked", "done"]);
}

#[test]
fn a_workflow_is_started_rejected_with_a_reason_and_approved_with_a_comment() {
    let plan = "if grep -q 'too vague'; then until [ -e go ]; do sleep 0.1; done; echo 'plan: two tests'; \
                else echo 'plan: something'; fi";
    let room = crew(&[("planner", plan), ("coder", "grep -q 'two tests' && echo built")], &[]);
    room.run(["setup", "--child", "user"]).succeeds();
    let _dispatcher = Watch::of(&room);
    let go = room.around().join("go");
    seated(with_path(&room, room.run(["tui"]).within(&project(&room))), "true", move |screen| {
        screen.types(":start plan-approve task=a parser\r");
        sees(screen, "has begun");
        // What happens has the word too, and keeps it.
        let gate = "◆ approve?";
        let is_gone = || !screen.text().contains(gate);
        screen.types("1");
        sees(screen, gate);
        screen.types("gn");
        sees(screen, "Reject plan-approve");
        screen.types("too vague\r");
        until("the gate is gone", is_gone);
        std::fs::write(&go, "").unwrap();
        sees(screen, gate);
        // It is decided where its message is read, too.
        screen.types("2\r");
        sees(screen, "It asks you: y approves, n rejects");
        screen.types("y");
        sees(screen, "Approve plan-approve");
        screen.types("go ahead\r1");
        sees(screen, "Now");
        until("the gate is gone", is_gone);
        screen.types("4");
        sees(screen, "completed");
        screen.types("q");
    });
    let listed = workflow(&room, ["list", "--json"]).json();
    let run = listed["runs"][0]["run"].as_str().unwrap();
    assert_eq!(status(&room, run), "completed");
    assert_eq!(results(&room, run, "plan"), ["plan: two tests"]);
    assert_eq!(results(&room, run, "implement"), ["built"]);
    let sent = room.by("user", ["search", "go ahead"]).ends();
    assert!(sent.out.contains(run), "the comment is in the answer: {sent:?}");
}

#[test]
fn dead_letters_are_tried_again_a_workflow_is_cancelled_and_a_message_comes_back_from_the_trash() {
    let room = crew(
        &[("worker", "[ -e good ] && echo fine"), ("holder", "while :; do sleep 1; done")],
        &[("hold", "steps:\n  hold: {agent: holder, prompt: wait}\n")],
    );
    room.run(["setup", "user"]).by_person().with(0);
    let _dispatcher = Watch::of(&room);
    room.send("alice", "worker", "The first of two");
    room.send("alice", "worker", "The second of two");
    room.send("alice", "user", "Old news");
    until_at_last("both have failed", || room.files("worker", "failed").len() == 2);
    let (good, archive) = (room.around().join("good"), room.folder("user", "archive"));
    seated(with_path(&room, room.run(["tui"]).within(&project(&room))), "true", move |screen| {
        // What happens has their subjects too.
        screen.types("5");
        sees(screen, "✗ 1 try");
        std::fs::write(&good, "").unwrap();
        screen.types("gR");
        sees(screen, "1 message unread again");
        screen.types("A");
        sees(screen, "Try everything again");
        screen.types("y");
        sees(screen, "1 message unread again");
        sees(screen, "Nothing failed");

        screen.types(":start hold\r");
        sees(screen, "has begun");
        sees(screen, "holder");
        screen.types("K");
        sees(screen, "End the run hold-");
        screen.types("y");
        sees(screen, "· cancelled ·");

        let archived = || std::fs::read_dir(&archive).unwrap().count();
        screen.types(":mail user\r");
        sees(screen, "Old news");
        screen.types("a");
        sees(screen, "archived");
        screen.types("]]");
        sees(screen, "a unread");
        screen.types("x");
        sees(screen, "moved to the trash");
        assert_eq!(archived(), 0);
        screen.types("T");
        sees(screen, "1 message");
        screen.types("\r");
        sees(screen, "brought back 1 message");
        assert_eq!(archived(), 1);
        screen.types("q");
    });
    let fine = || inbox(&room, "alice").iter().filter(|body| *body == "fine\n").count();
    until_at_last("both answers", || fine() == 2);
    let listed = workflow(&room, ["list", "--json"]).json();
    assert_eq!(status(&room, listed["runs"][0]["run"].as_str().unwrap()), "cancelled");
    until_at_last("no run goes on", || runs(&room).iter().all(|run| run["state"] != "running"));
}

#[test]
fn one_goes_from_a_message_to_its_run_its_workflow_and_its_changes_and_back() {
    let yard = Yard::new("echo two >> a.txt; echo it is built", "worktree = true");
    yard.write(".postroom/workflows/one.yaml", "steps:\n  build: {agent: coder, prompt: build it}\n");
    yard.commit("workflow");
    yard.trust();
    yard.room.run(["setup", "user"]).by_person().with(0);
    let begun = yard.command(["workflow", "run", "one"]).succeeds().out;
    let run = begun.trim().strip_prefix("run ").unwrap().to_owned();
    yard.dispatch().with(0);
    seated(yard.command(["tui"]), "true", move |screen| {
        screen.types(":mail coder\r");
        sees(screen, "no message is unread");
        screen.types("]]");
        sees(screen, "1/1");
        for (key, there) in [("o", "coder · transcript"), ("d", "+two"), ("w", "· completed · 1/1")] {
            screen.types(key);
            sees(screen, there);
            screen.types("\x1b");
            sees(screen, &format!("workflow {run}"));
            sees(screen, "─ Message ");
        }
        screen.types("o");
        sees(screen, "it is built");
        screen.types("d");
        sees(screen, "+two");
        screen.types("\x1b");
        sees(screen, "it is built");
        screen.types("\x1b");
        sees(screen, "─ Message ");
        screen.types("\x1b");
        sees(screen, "archive");
        screen.types("q");
    });
}
