//! Runs of which a part is gone: removed by hand, or never made because the command was killed. Each can be ended and removed.

use crate::support::crew::*;
use crate::support::edges_strike::{can_be_struck, points, struck};
use crate::support::room::TestRoom;
use crate::support::staffed::dispatch;

const ONE: &str = "steps:\n  a: {agent: one, prompt: x}\n";

/// A room with a run whose mailbox or records somebody removed.
fn damaged(records: bool) -> (TestRoom, String) {
    let room = crew(&[("one", "echo x")], &[("asks", ONE)]);
    let run = begin(&room, "asks", &[]);
    dispatch(&room, ["--limit", "1"]).succeeds();
    let gone = if records { room.root().join(".workflows/runs").join(&run) } else { room.root().join(&run) };
    std::fs::remove_dir_all(gone).unwrap();
    // The answer may have ended the run.
    std::fs::write(room.root().join(".workflows/open").join(&run), "").unwrap();
    crate::support::hand::tighten(&room.root().join(".workflows/open").join(&run));
    (room, run)
}

#[test]
fn a_dispatcher_ends_a_run_of_which_a_part_is_gone() {
    for (records, why) in [(false, "its mailbox is gone"), (true, "its records are gone")] {
        let (room, run) = damaged(records);
        let told = dispatch(&room, []).succeeds().err;
        assert!(
            told.contains(why) && told.contains(&format!("{} prune {run}`", room.root().display())),
            "{told}"
        );
        dispatch(&room, []).exits(1);
    }
}

#[test]
fn it_can_be_cancelled() {
    for records in [false, true] {
        let (room, run) = damaged(records);
        let told = workflow(&room, ["cancel", &run]).succeeds().out;
        assert!(told.starts_with(&format!("run {run} ended: its ")), "{told}");
        dispatch(&room, []).exits(1);
        let told = workflow(&room, ["show", &run]).ends();
        if !records {
            assert!(
                told.err.contains("cannot go on: its mailbox is gone") && told.err.contains("prune"),
                "{told:?}"
            );
        }
        let (room, run) = damaged(records);
        assert_eq!(workflow(&room, ["cancel", &run, "--json"]).json()["status"], "unreadable");
    }
}

#[test]
fn it_can_be_pruned() {
    for records in [false, true] {
        let (room, run) = damaged(records);
        let listed = workflow(&room, ["list"]).succeeds().out;
        assert!(listed.contains(&format!("run {run} unreadable: ")), "{listed}");
        room.run(["prune", &run, "--yes"]).succeeds();
        let listed = workflow(&room, ["list"]).succeeds().out;
        assert!(!listed.contains(&run), "{listed}");
        dispatch(&room, []).exits(1);
    }
}

#[test]
fn the_doctor_ends_it() {
    for records in [false, true] {
        let (room, _) = damaged(records);
        let found = room.run(["doctor"]).ends();
        assert!(found.out.contains("marks a run as in progress, but its"), "{found:?}");
        room.run(["doctor", "--fix"]).ends();
        room.run(["doctor", "--strict"]).succeeds();
        dispatch(&room, []).exits(1);
    }
}

#[test]
fn a_run_whose_definition_cannot_be_read_can_be_ended_and_removed() {
    let room = crew(&[("one", "echo x")], &[("asks", ONE)]);
    let run = begin(&room, "asks", &[]);
    let definition = room.root().join(format!(".workflows/runs/{run}/definition.yaml"));
    std::fs::write(&definition, "steps: []\n").unwrap();
    let told = dispatch(&room, []).exits(5).err;
    assert!(told.contains(&format!("{} workflow cancel {run}`", room.root().display())), "{told}");
    workflow(&room, ["cancel", &run]).succeeds();
    room.run(["prune", &run, "--yes"]).succeeds();
    assert!(!workflow(&room, ["list"]).succeeds().out.contains(&run));
    dispatch(&room, []).ends();
}

#[test]
fn a_start_that_is_killed_anywhere_leaves_nothing_that_cannot_be_removed() {
    if !can_be_struck("a_start_that_is_killed_anywhere_leaves_nothing_that_cannot_be_removed") {
        return;
    }
    // Litter stays until the doctor removes it.
    let room = crew(&[("explore", "echo x"), ("skill-writer", "echo x")], &[]).leaves_faults();
    let arguments = "workflow run research-create --input topic=x";
    let calls = "mkdirat,openat,renameat,renameat2,linkat,fsync,unlinkat";
    for point in points(&room, calls, arguments) {
        struck(&room, &point, "signal=KILL", arguments);
        let list = workflow(&room, ["list", "--json"]).json();
        for run in list["runs"].as_array().unwrap() {
            let id = run["run"].as_str().unwrap();
            // One that began goes on, and one that did not can be removed.
            if run["status"] == "in_progress" {
                workflow(&room, ["cancel", id]).succeeds();
            }
            room.run(["prune", id, "--yes"]).succeeds();
        }
    }
    let left = workflow(&room, ["list", "--json"]).json();
    assert!(left["runs"].as_array().unwrap().is_empty(), "{left}");
    let told = dispatch(&room, []).exits(1);
    assert_eq!(told.err, "");
}
