//! Gates: what stands between a result and its acceptance, and what becomes of one that does not pass.

use crate::support::crew::*;
use crate::support::staffed::{dispatch, settle};
use crate::support::until::until;

#[test]
fn a_command_reads_the_result_and_its_exit_decides() {
    let text = "
steps:
  a:
    agent: one
    prompt: x
    retry: 2
    gate:
      - {contains: good}
      - {command: [sh, -c, 'cat > gated; echo checked; grep -q better gated']}
  b: {agent: one, needs: a, prompt: '{{ steps.a.result }}'}
";
    let script = "cat > asked; if grep -q 'the gate `sh' asked; then echo good and better; \
                  elif grep -q 'does not stand in' asked; then echo good; elif grep -q better asked; then echo end; else echo bad; fi";
    let room = crew(&[("one", script)], &[("gated", text)]);
    let run = begin(&room, "gated", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed", "{:?}", steps(&room, &run));
    assert_eq!(steps(&room, &run)[0].1, "done (attempt 3)");
    assert_eq!(std::fs::read_to_string(project(&room).join("gated")).unwrap(), "good and better\n");
    let told = received(&room, "one");
    let why = told.iter().find(|body| body.contains("the gate `sh")).unwrap();
    assert!(why.contains("ended with 1\n\nchecked"), "{why}");
    assert_eq!(results(&room, &run, "b"), ["end"]);
}

#[test]
fn a_gate_that_takes_too_long_or_cannot_be_started_refuses() {
    let text = "
steps:
  slow: {agent: one, prompt: x, on_failure: continue, gate: {command: [sleep, '60'], timeout: 1s}}
  missing: {agent: one, prompt: x, on_failure: continue, gate: {command: [no-such-program]}}
";
    let room = crew(&[("one", "echo x")], &[("gated", text)]);
    let run = begin(&room, "gated", &[]);
    dispatch(&room, []).succeeds();
    let how = steps(&room, &run);
    assert!(how[0].1.contains("the gate `sleep 60` took longer than 1"), "{how:?}");
    assert!(how[1].1.contains("the gate `no-such-program` cannot be started"), "{how:?}");
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn a_gate_whose_process_was_killed_is_run_again() {
    let text = "steps:\n  a: {agent: one, prompt: x, gate: {command: [sh, -c, 'echo $$ >> pids; [ $(wc -l < pids) -gt 1 ] || sleep 1000']}}\n";
    let room = crew(&[("one", "echo x")], &[("gated", text)]);
    let run = begin(&room, "gated", &[]);
    let mut watch = dispatch(&room, ["--watch"]).start();
    let pids = project(&room).join("pids");
    until("the gate", || std::fs::read_to_string(&pids).is_ok_and(|text| text.ends_with('\n')));
    let first: i32 = std::fs::read_to_string(&pids).unwrap().trim().parse().unwrap();
    // The process of the gate is the parent of the command.
    let stat = std::fs::read_to_string(format!("/proc/{first}/stat")).unwrap();
    let parent: i32 = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(parent).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    until("the end of the run", || status(&room, &run) == "completed");
    // Who is dead and not yet buried counts as ended.
    let stat = std::fs::read_to_string(format!("/proc/{first}/stat")).unwrap_or_default();
    let lives =
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'));
    assert!(!lives, "what it had started is ended: {stat}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn only_the_one_who_was_asked_approves() {
    let text = "steps:\n  a: {agent: one, prompt: x, gate: {approval: boss}}\n";
    let agents = [("one", "echo x"), ("boss", "echo approve"), ("mallory", "echo approve")];
    let room = crew(&agents, &[("asks", text)]);
    settle(&room, &settings(&agents[..1]));
    let run = begin(&room, "asks", &[]);
    dispatch(&room, []).succeeds();
    let asked = room.by("boss", ["check", "--json"]).json()["messages"][0]["id"].as_str().unwrap().to_owned();
    room.by("mallory", ["send", &run, "-m", "approve", "--reply-to", &asked]).succeeds();
    let told = workflow(&room, ["resume", &run]).succeeds();
    assert!(told.err.contains("`boss` was asked for approval, and not `mallory`"), "{told:?}");
    assert_eq!(status(&room, &run), "in_progress");
    room.by("boss", ["reply", &asked, "-m", "approve"]).succeeds();
    workflow(&room, ["resume", &run]).succeeds();
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn an_agent_that_does_not_answer_in_time_is_not_waited_for() {
    let text = "
steps:
  a: {agent: silent, prompt: x, timeout: 1s, on_failure: continue}
  b: {agent: one, needs: a, prompt: 'after {{ steps.a.failure }}'}
";
    let agents = [("silent", "echo never"), ("one", ECHO)];
    let room = crew(&agents, &[("waits", text)]);
    settle(&room, &settings(&agents[1..]));
    let run = begin(&room, "waits", &[]);
    // Who has read it has begun.
    room.by("silent", ["read"]).succeeds();
    workflow(&room, ["resume", &run, "--follow"]).succeeds();
    let why = "no answer came within 1.0s of the start of its work";
    assert_eq!(results(&room, &run, "b"), [format!("after {why}")]);
    // An answer that comes too late changes nothing, and is reported.
    let late = room.files("silent", "archive").remove(0);
    room.by("silent", ["reply", &late, "-m", "here"]).succeeds();
    let told = workflow(&room, ["resume", &run]).ends();
    let aside = format!("was put aside: it came after the run had given it up: {why}");
    assert!(told.err.contains(&aside), "{told:?}");
    assert_eq!(status(&room, &run), "completed");
}
