//! What is said where a run has no result: of a step, and of a dead letter that its run asked for.

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::crew::{begin, crew, status, workflow};
use crate::support::staffed::{dispatch, runs};

const FAILS: &str = "
inputs: {deep: {default: 'no'}}
steps:
  a: {agent: one, prompt: x, on_failure: continue}
  b: {agent: two, when: inputs.deep == 'yes', prompt: y}
  c: {agent: two, prompt: y, gate: {contains: right}, on_failure: {step: d, rounds: 1}}
  d: {agent: two, prompt: z}
  e: {agent: one, prompt: x}
";

/// It printed nothing, so nobody knew why, or what to type next.
#[test]
fn a_step_without_a_result_says_why() {
    let room = crew(&[("one", "seq 1 9 >&2; exit 3"), ("two", "echo right")], &[("fails", FAILS)]);
    let run = begin(&room, "fails", &[]);
    let shown = workflow(&room, ["show", &run, "a"]).exits(1);
    assert!(shown.err.contains("the step `a` has no result: asked\n"), "{shown:?}");
    dispatch(&room, []).exits(5);
    assert_eq!(status(&room, &run), "failed");
    let shown = |step| {
        let shown = workflow(&room, ["show", &run, step]).exits(1);
        assert_eq!(shown.out, "");
        shown.err
    };
    let reason = "has no result: failed: it exited with 3; it ended with:\n1\n2\n";
    for step in ["a", "e"] {
        let (err, all) = (shown(step), runs(&room));
        assert!(err.contains(&format!("the step `{step}` {reason}")) && err.contains("\n9\n"), "{err}");
        let id = err.split("runs ").nth(1).unwrap().split(' ').next().unwrap();
        let found = all.iter().find(|found| found["id"] == id).unwrap_or_else(|| panic!("{err}"));
        assert_eq!((&found["agent"], &found["from"]), (&"one".into(), &run.as_str().into()), "{found}");
        assert!(err.contains(&format!("workflow retry {run}")), "{err}");
    }
    assert!(shown("b").contains("the step `b` has no result: skipped: "), "{}", shown("b"));
    assert!(shown("d").contains("the step `d` has no result: not begun\n"), "{}", shown("d"));
    assert!(shown("d").contains(&format!("workflow show {run}")), "{}", shown("d"));
    let json = workflow(&room, ["show", &run, "a", "--json"]).exits(1);
    assert_eq!((json.out.lines().count(), json.err.as_str()), (1, ""), "JSON says it as before");
    assert_eq!(workflow(&room, ["show", &run, "c"]).succeeds().out, "right\n");
}

/// The list advised `failed retry ID`, which was refused without a next command, and `status` asked for attention for ever.
#[test]
fn a_dead_letter_of_a_run_says_what_to_do_with_it() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n";
    let room = crew(&[("one", "if [ -e right ]; then echo good; else exit 1; fi")], &[("short", text)]);
    let run = begin(&room, "short", &[]);
    room.send("alice", "one", "x");
    dispatch(&room, []).exits(5);
    let in_status = || {
        let status = room.run(["status", "--json"]).json();
        status["failed"].as_array().unwrap().iter().map(|one| one["messages"].clone()).collect::<Vec<_>>()
    };
    let list = || on_terminal(&room, 200, "failed list --all", &PLAIN);
    let (retry, prune) = (format!("workflow retry {run}"), "prune --failed 0d --only one");
    assert_eq!(in_status(), [2]);
    if lent("a_dead_letter_of_a_run_says_what_to_do_with_it") {
        let list = list();
        assert!(list.contains("failed retry ") && list.contains(&retry) && !list.contains(prune), "{list}");
    }
    std::fs::write(room.around().join("right"), "").unwrap();
    workflow(&room, ["retry", &run]).succeeds();
    dispatch(&room, []).succeeds();
    assert_eq!((status(&room, &run).as_str(), in_status()), ("completed", vec![1.into()]));
    if lent("a_dead_letter_of_a_run_says_what_to_do_with_it") {
        let list = list();
        assert!(list.contains("failed retry ") && !list.contains(&retry) && list.contains(prune), "{list}");
    }
    room.run(["failed", "retry", "--all"]).succeeds();
    dispatch(&room, []).succeeds();
    assert_eq!(in_status(), [0; 0]);
    let refused = room.run(["failed", "retry", &room.files("one", "failed")[0]]).exits(4).err;
    assert!(refused.contains("no longer waits for it\n") && refused.contains(prune), "{refused}");
    room.run(prune.split(' ').chain(["--yes"])).succeeds();
    assert!(room.files("one", "failed").is_empty());
}
