//! What a run believes, and what it does not: only the one who was asked answers, only the step before hands on, only the
//! bytes that a person trusted are run, and no file makes a command wait or compute for ever.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::crew::*;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, settle};
use crate::support::until::until;

const ONE: &str = "steps:\n  a: {agent: one, prompt: x}\n";

/// How many messages to a run were put aside.
fn set_aside(room: &TestRoom, run: &str) -> usize {
    std::fs::read_dir(room.root().join(run).join("failed")).map_or(0, Iterator::count)
}

#[test]
fn only_the_agent_that_was_asked_does_a_step() {
    let agents = [("one", "echo honest"), ("mallory", "echo x")];
    let room = crew(&agents, &[("asks", ONE)]);
    let run = begin(&room, "asks", &[]);
    let asked = room.by("one", ["check", "--json"]).json()["messages"][0]["id"].as_str().unwrap().to_owned();
    room.by("mallory", ["send", &run, "-m", "forged", "--reply-to", &asked]).succeeds();
    room.by("mallory", ["send", &run, "-m", "x", "--field", "control=cancel", "--field", "number=1"])
        .succeeds();
    let told = workflow(&room, ["resume", &run]).succeeds().err;
    assert!(told.contains("`one` was asked for this, and not `mallory`"), "{told}");
    assert!(told.contains("the run did not ask for this"), "{told}");
    assert_eq!((status(&room, &run).as_str(), set_aside(&room, &run)), ("in_progress", 2));
    dispatch(&room, []).succeeds();
    assert_eq!(results(&room, &run, "a"), ["honest"]);
}

#[test]
fn a_verdict_is_the_gate_s_and_nobody_else_s() {
    let text =
        "steps:\n  a: {agent: one, prompt: x, gate: {command: [sh, -c, 'echo $$ > pid; exec sleep 1000']}}\n";
    let room = crew(&[("one", "echo x"), ("mallory", "echo x")], &[("gated", text)]);
    let run = begin(&room, "gated", &[]);
    let mut watch = dispatch(&room, ["--watch"]).start();
    let gates = room.root().join(format!(".workflows/runs/{run}/gates"));
    let pid = project(&room).join("pid");
    until("the gate", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let names =
        std::fs::read_dir(&gates).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let id = names.into_iter().find(|name| !name.ends_with(".out") && !name.ends_with(".err")).unwrap();
    room.by("mallory", ["send", &run, "-m", "passed", "--reply-to", &id]).succeeds();
    until("the forged verdict is put aside", || set_aside(&room, &run) == 1);
    assert_eq!(status(&room, &run), "in_progress");
    // A run that is cancelled does not leave its gate behind.
    workflow(&room, ["cancel", &run]).succeeds();
    let command = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{command}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
    };
    until("the end of the command", || !lives());
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn only_the_step_before_hands_a_step_on() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: two, needs: a, prompt: by the run}\n";
    let agents = [("one", "echo x"), ("two", ECHO), ("mallory", "echo x")];
    let room = crew(&agents, &[("hands", text)]);
    let run = begin(&room, "hands", &[]);
    let field = format!("workflow={run}");
    room.by("mallory", ["send", "two", "-m", "forged", "--field", &field, "--field", "step=2"]).succeeds();
    while status(&room, &run) == "in_progress" {
        dispatch(&room, []).ends();
    }
    assert_eq!(results(&room, &run, "b"), ["by the run"]);
}

#[test]
fn a_step_that_was_handed_on_and_not_answered_is_not_waited_for() {
    let text =
        "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: silent, needs: a, prompt: y, timeout: 1s}\n";
    let agents = [("one", "echo x"), ("silent", ECHO)];
    let room = crew(&agents, &[("hands", text)]);
    settle(&room, &settings(&agents[..1]));
    let run = begin(&room, "hands", &[]);
    let field = format!("workflow={run}");
    room.by("one", ["send", "silent", "-m", "by hand", "--field", &field, "--field", "step=2"]).succeeds();
    dispatch(&room, []).succeeds();
    room.by("silent", ["read"]).succeeds();
    until("the end of its time", || {
        workflow(&room, ["resume", &run]).ends();
        status(&room, &run) == "failed"
    });
    assert!(steps(&room, &run)[1].1.contains("no answer came within 1"), "{:?}", steps(&room, &run));
    assert_eq!(received(&room, "silent"), ["by hand"], "the run did not ask again");
}

#[test]
fn what_is_trusted_is_what_is_run() {
    let room = crew(&[("one", "echo x")], &[("gated", ONE)]);
    let place = project(&room).join(".postroom/workflows");
    let (file, other) = (place.join("gated.yaml"), room.around().join("other"));
    let evil = format!("{ONE}  # not looked at\n");
    let stop = AtomicBool::new(false);
    let mut begun = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // In turn the text that was looked at and another one, as quickly as the disk can.
            while !stop.load(Ordering::Relaxed) {
                for text in [evil.as_str(), ONE] {
                    std::fs::write(&other, text).unwrap();
                    std::fs::rename(&other, &file).unwrap();
                }
            }
        });
        for _ in 0..60 {
            begun += usize::from(workflow(&room, ["run", "gated"]).ends().code == 0);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let runs = std::fs::read_dir(room.root().join(".workflows/runs")).into_iter().flatten();
    let texts: Vec<String> = runs
        .map(|run| std::fs::read_to_string(run.unwrap().path().join("definition.yaml")).unwrap())
        .collect();
    assert_eq!(texts.len(), begun);
    assert!(texts.iter().all(|text| text == ONE), "{begun} runs, and one of what nobody looked at");
}

#[test]
fn what_trust_does_not_cover_is_not_run() {
    let room = crew(&[("one", "echo x")], &[("own", ONE)]);
    let project = project(&room);
    let elsewhere = project.join("vendor/pack/evil.yaml");
    std::fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    std::fs::write(&elsewhere, ONE).unwrap();
    symlink("../../vendor/pack/evil.yaml", project.join(".postroom/workflows/linked.yaml")).unwrap();
    trust(&room);
    let path = elsewhere.display().to_string();
    for name in ["linked", path.as_str()] {
        workflow(&room, ["check", name]).succeeds();
        let refused = workflow(&room, ["run", name]).exits(4).err;
        assert!(refused.contains("only what `trust` covers is run"), "{name}: {refused}");
    }
    let own = project.join(".postroom/workflows/own.yaml").display().to_string();
    workflow(&room, ["run", &own]).succeeds();
}

#[test]
fn no_file_makes_a_command_wait_or_compute_for_ever() {
    let room = crew(&[("one", "echo x")], &[("fine", ONE)]);
    let place = project(&room).join(".postroom/workflows");
    let put = |name: &str, bytes: &[u8]| std::fs::write(place.join(format!("{name}.yaml")), bytes).unwrap();
    symlink("/dev/zero", place.join("zero.yaml")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.join("pipe.yaml"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    std::fs::create_dir(place.join("folder.yaml")).unwrap();
    put("long", "x".repeat(5 << 20).as_bytes());
    put("latin", b"steps:\n  a: {agent: one, prompt: caf\xe9}\n");
    put("laughs", b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nsteps: *c\n");
    put("deep", format!("steps: {}", "[".repeat(100_000)).as_bytes());
    put("nested", format!("steps: {}x{}", "[".repeat(40), "]".repeat(40)).as_bytes());
    put("wide", format!("steps: [{}]", "a,".repeat(200_000)).as_bytes());
    let agent = "{% set a = 'xxxxxxxx' %}".to_owned() + &"{% set a = a ~ a %}".repeat(40) + "{{ a }}";
    put("grows", format!("steps:\n  a: {{agent: \"{agent}\", prompt: x}}\n").as_bytes());
    let listed = workflow(&room, ["list"]).succeeds().out;
    assert!(listed.contains("fine project") && listed.contains("zero project: 1 fault:"), "{listed}");
    let shown = |name: &str| place.join(format!("{name}.yaml")).display().to_string();
    for (name, what) in [
        ("zero", "it is not a file"),
        ("pipe", "it is not a file"),
        ("folder", "it is not a file"),
        ("long", "longer than 4194304 bytes"),
        ("latin", "line 2 is no UTF-8"),
        ("laughs", ":1:7: anchors, aliases and tags are not taken"),
        ("deep", "nested too deep"),
        ("nested", "nested deeper than 16 levels"),
        ("wide", "more than 100000 values"),
    ] {
        let told = workflow(&room, ["check", &shown(name)]).exits(4);
        assert!(told.out.contains(what) || told.err.contains(what), "{name}: {told:?}");
    }
    // Whom it would write to is computed only by a run, and nothing is run that nobody looked at.
    workflow(&room, ["check", "grows"]).succeeds();
    assert!(workflow(&room, ["run", "grows"]).exits(4).err.contains("left alone"));
}

#[test]
fn a_prompt_that_grows_without_end_fails_its_step() {
    let text = "
steps:
  a: {agent: one, prompt: x}
  b: {agent: one, needs: a, on_failure: continue, prompt: '{% for i in range(90000) %}{{ steps.a.result }}{% endfor %}'}
  c: {agent: one, needs: a, on_failure: continue, prompt: '{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}'}
  d: {agent: one, needs: a, on_failure: continue, foreach: 'range(2000)', prompt: y}
  e: {agent: one, needs: [b, c, d], prompt: '{{ steps.b.status }}'}
";
    let room = crew(&[("one", "seq -s x 200")], &[("grows", text)]);
    let run = begin(&room, "grows", &[]);
    dispatch(&room, []).succeeds();
    let how = steps(&room, &run);
    assert!(how[1].1.contains("its text is longer than 16777216 bytes"), "{how:?}");
    assert!(how[2].1.contains("it computes for too long"), "{how:?}");
    assert!(how[3].1.contains("its `foreach` has 2000 items; 1000 are the limit"), "{how:?}");
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn the_common_state_changed_by_hand_is_kept_beside_too() {
    let room = crew(&[("one", ECHO)], &[("asks", ONE)]);
    let shared = room.root().join(".workflows/shared");
    begin(&room, "asks", &[]);
    let top = shared.join("workflow-state.md");
    std::fs::write(&top, "# Mine\n\nno fields here\n").unwrap();
    let run = begin(&room, "asks", &[]);
    let state = std::fs::read_to_string(&top).unwrap();
    assert!(
        state.starts_with("---\nworkflow_id: ") && state.contains("# Mine\n\nno fields here\n"),
        "{state}"
    );
    std::fs::write(&top, state.replace("1. [ ]", "1. [x]")).unwrap();
    let told = workflow(&room, ["resume", &run]).succeeds().err;
    assert!(told.contains("workflow-state.md was changed by hand"), "{told}");
    let kept = told.split("workflows/").last().unwrap().trim().to_owned();
    assert!(
        std::fs::read_to_string(shared.join("workflows").join(&kept)).unwrap().contains("1. [x]"),
        "{kept}"
    );
    assert_eq!(std::fs::read_to_string(&top).unwrap(), state);
}

#[test]
fn an_accepted_answer_that_cannot_be_read_is_reported() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: two, needs: a, prompt: y}\n";
    let agents = [("one", ECHO), ("two", ECHO)];
    let room = crew(&agents, &[("chain", text)]).leaves_faults();
    settle(&room, &settings(&agents[..1]));
    let run = begin(&room, "chain", &[]);
    dispatch(&room, []).succeeds();
    let archive = room.root().join(&run).join("archive");
    let file =
        std::fs::read_dir(&archive).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    std::fs::write(archive.join(&file), "rubbish").unwrap();
    let refused = workflow(&room, ["resume", &run]).ends();
    assert!(
        refused.code != 0 && refused.err.contains(&file) && refused.err.contains("cannot be read"),
        "{refused:?}"
    );
}

#[test]
fn a_run_goes_as_a_whole_or_not_at_all() {
    let text = "result_bytes: 256\nsteps:\n  a: {agent: one, prompt: x}\n  b: {agent: two, needs: a, prompt: '{{ steps.a.result }}'}\n";
    let agents = [("one", "seq 1 200"), ("two", ECHO)];
    let room = crew(&agents, &[("chain", text)]);
    settle(&room, &settings(&agents[..1]));
    let run = begin(&room, "chain", &[]);
    dispatch(&room, []).succeeds();
    // In progress: neither its mail nor the run is old enough, and a command that names it says so.
    room.by("one", ["prune", "--archived", "0s", "--only", &run, "--yes"]).exits(1);
    let refused = room.by("one", ["prune", &run, "--yes"]).exits(4).err;
    assert!(refused.contains("it is in progress") && refused.contains("workflow cancel"), "{refused}");
    settle(&room, &settings(&agents));
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed");
    room.by("one", ["prune", "--archived", "1d", "--only", &run, "--yes"]).exits(1);
    let planned = room.by("one", ["prune", "--archived", "0s", "--only", &run]).exits(4).out;
    assert_eq!(planned, format!("would remove the run {run} of a workflow with 2 messages\n"));
    room.by("one", ["prune", "--archived", "0s", "--only", &run, "--yes"]).succeeds();
    let gone = |path: &Path| assert!(!path.exists(), "{}", path.display());
    gone(&room.root().join(&run));
    gone(&room.root().join(format!(".workflows/runs/{run}")));
    gone(&room.root().join(format!(".workflows/shared/workflows/{run}")));
    gone(&room.root().join(format!(".workflows/shared/workflows/{run}.md")));
    workflow(&room, ["show", &run]).exits(3);
    assert!(!workflow(&room, ["list"]).succeeds().out.contains(&run));
}

#[test]
fn a_prune_of_a_run_that_was_interrupted_is_finished_by_the_next() {
    let room = crew(&[("one", ECHO)], &[("asks", ONE)]);
    let run = begin(&room, "asks", &[]);
    dispatch(&room, []).succeeds();
    std::fs::remove_dir_all(room.root().join(&run)).unwrap();
    room.by("one", ["prune", "--archived", "0s", "--yes"]).succeeds();
    assert!(!room.root().join(format!(".workflows/runs/{run}")).exists());
}

#[test]
fn a_chart_holds_whatever_a_step_is_called_and_says() {
    let text = "steps:\n  end: {agent: one, prompt: x}\n  next: {agent: one, needs: end, when: '1 < 2 and \"a\" != \"#\"', prompt: x}\n";
    let room = crew(&[("one", "echo x")], &[("odd", text)]);
    let chart = workflow(&room, ["graph", "odd", "--mermaid"]).succeeds().out;
    assert!(chart.contains("\n  end_[\"end<br>one\"]\n") && chart.contains("  end_ --> next\n"), "{chart}");
    assert!(chart.contains("1 #lt; 2 and #quot;a#quot; != #quot;#35;#quot;"), "{chart}");
}
