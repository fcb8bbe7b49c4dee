//! A run needs no process between its steps, and follows from its mail alone: what is lost is computed again, what was
//! changed is reported, and nothing is done twice.

use crate::support::crew::*;
use crate::support::staffed::{dispatch, settle};
use crate::support::until::until_watching;

const CHAIN: &str = "
steps:
  a: {agent: one, prompt: first}
  b: {agent: one, needs: a, prompt: 'second after {{ steps.a.result }}'}
  c: {agent: one, needs: b, prompt: 'third after {{ steps.b.result }}'}
";

#[test]
fn nothing_lives_between_the_steps() {
    let room = crew(&[("one", ECHO)], &[("chain", CHAIN)]);
    let run = begin(&room, "chain", &[]);
    for settled in 1..=3 {
        dispatch(&room, ["--limit", "1"]).succeeds();
        workflow(&room, ["resume", &run]).succeeds();
        assert_eq!(shown(&room, &run)["settled"], settled);
    }
    assert_eq!(results(&room, &run, "c"), ["third after second after first"]);
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn a_watch_carries_runs_on_that_began_after_it() {
    let room = crew(&[("one", ECHO)], &[("chain", CHAIN)]);
    let mut watch = dispatch(&room, ["--watch"]).start();
    until_watching(&watch);
    let run = begin(&room, "chain", &[]);
    crate::support::until::until("the end of the run", || status(&room, &run) == "completed");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn everything_but_the_mail_may_be_lost() {
    let room = crew(&[("one", ECHO)], &[("chain", CHAIN)]);
    let run = begin(&room, "chain", &[]);
    dispatch(&room, ["--limit", "1"]).succeeds();
    workflow(&room, ["resume", &run]).succeeds();
    let state = shared(&room, &format!("workflows/{run}.md"));
    let own = room.root().join(".workflows");
    std::fs::remove_dir_all(own.join("shared")).unwrap();
    std::fs::remove_dir_all(own.join("open")).unwrap();
    for file in ["sent.jsonl", "turn", "lock"] {
        std::fs::remove_file(own.join("runs").join(&run).join(file)).unwrap();
    }
    let before = room.files("one", "inbox");
    workflow(&room, ["resume", &run]).succeeds();
    assert_eq!(shared(&room, &format!("workflows/{run}.md")), state, "the state is what it was");
    assert_eq!(room.files("one", "inbox"), before, "nothing is sent twice");
    dispatch(&room, []).succeeds();
    assert_eq!((status(&room, &run), received(&room, "one").len()), ("completed".into(), 3));
}

#[test]
fn a_state_that_was_changed_by_hand_is_put_aside_and_reported() {
    let room = crew(&[("one", ECHO)], &[("chain", CHAIN)]);
    let run = begin(&room, "chain", &[]);
    let file = room.root().join(format!(".workflows/shared/workflows/{run}.md"));
    let state = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, state.replace("1. [ ]", "1. [x]") + "\n## Notes\n\nmine\n").unwrap();
    let top = room.root().join(".workflows/shared/workflow-state.md");
    std::fs::write(&top, state.clone() + "\n## Notes\n\nmine too\n").unwrap();
    dispatch(&room, ["--limit", "1"]).succeeds();
    let told = workflow(&room, ["resume", &run]).succeeds().err;
    let told = if told.is_empty() { "told by the dispatcher".to_owned() } else { told };
    let kept: Vec<_> = std::fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".edited-"))
        .collect();
    assert_eq!(kept.len(), 1, "{told}");
    assert!(std::fs::read_to_string(file.with_file_name(&kept[0])).unwrap().contains("1. [x]"));
    let now = std::fs::read_to_string(&file).unwrap();
    assert!(now.contains("## Notes\n\nmine\n") && now.contains("1. [x] one: first (a)\n2. [ ]"), "{now}");
    assert!(std::fs::read_to_string(&top).unwrap().contains("mine too"), "what others wrote stays");
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn an_edit_is_told_to_the_command_that_carries_the_run_on() {
    let room = crew(&[("one", ECHO)], &[("chain", CHAIN)]);
    let run = begin(&room, "chain", &[]);
    let file = room.root().join(format!(".workflows/shared/workflows/{run}.md"));
    let state = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, state.replace("in_progress", "completed")).unwrap();
    let told = workflow(&room, ["resume", &run]).succeeds().err;
    assert!(told.contains("was changed by hand; it was rebuilt from the mail"), "{told}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), state);
}

#[test]
fn two_at_once_do_nothing_twice() {
    let room = crew(&[("one", ECHO)], &[("chain", CHAIN)]);
    let run = begin(&room, "chain", &[]);
    let lock = std::fs::File::open(room.root().join(format!(".workflows/runs/{run}/lock"))).unwrap();
    lock.lock().unwrap();
    let refused = workflow(&room, ["resume", &run]).exits(5).err;
    assert!(refused.contains("another process is carrying the run"), "{refused}");
    drop(lock);
    let all: Vec<_> = (0..4).map(|_| workflow(&room, ["resume", &run]).start()).collect();
    let others: Vec<_> = (0..2).map(|_| dispatch(&room, []).start()).collect();
    for child in all.into_iter().chain(others) {
        child.wait_with_output().unwrap();
    }
    while dispatch(&room, []).ends().code != 1 {}
    assert_eq!((status(&room, &run), received(&room, "one").len()), ("completed".into(), 3));
}

#[test]
fn what_is_cancelled_is_taken_back_and_can_be_begun_again() {
    let room = crew(&[("one", ECHO)], &[("chain", CHAIN)]);
    let run = begin(&room, "chain", &[]);
    let digits = run.rsplit('-').next().unwrap().to_owned();
    assert_eq!(workflow(&room, ["cancel", &digits]).succeeds().out, format!("run {run} cancelled 0/3\n"));
    assert!(room.files("one", "inbox").is_empty());
    dispatch(&room, []).exits(1);
    assert!(workflow(&room, ["cancel", &run]).exits(4).err.contains("is cancelled"));
    assert!(workflow(&room, ["resume", &run]).exits(4).err.contains("retry"));
    assert!(workflow(&room, ["retry", &run, "--from", "x"]).exits(3).err.contains("there are a, b, c"));
    assert!(workflow(&room, ["cancel", "nothing"]).exits(3).err.contains("there is no run"));
    workflow(&room, ["retry", &run, "--from", "a"]).succeeds();
    assert!(workflow(&room, ["retry", &run, "--from", "a"]).exits(4).err.contains("is in_progress"));
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn from_a_step_on_everything_is_done_again_and_nothing_before_it() {
    let counting =
        format!("n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; {ECHO} | sed \"s/$/ #$n/\"");
    let room = crew(&[("one", &counting)], &[("chain", CHAIN)]);
    let run = begin(&room, "chain", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(results(&room, &run, "c"), ["third after second after first #0 #1 #2"]);
    workflow(&room, ["retry", &run, "--from", "b"]).succeeds();
    assert_eq!(steps(&room, &run)[0].1, "done");
    dispatch(&room, []).succeeds();
    assert_eq!(results(&room, &run, "c"), ["third after second after first #0 #3 #4"]);
    assert_eq!(received(&room, "one").len(), 5);
}

#[test]
fn a_result_that_is_too_large_is_referred_to_by_its_path() {
    let text = "
result_bytes: 1000
steps:
  a: {agent: big, prompt: x}
  b: {agent: one, needs: a, prompt: '{{ steps.a.result }}'}
";
    let big = "seq 1 1000";
    let room = crew(&[("big", big), ("one", "cat > asked; echo read")], &[("large", text)]);
    let run = begin(&room, "large", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed", "{:?}", steps(&room, &run));
    let asked = received(&room, "one").remove(0);
    let path = asked.split("read the file ").nth(1).unwrap().split(']').next().unwrap();
    assert!(asked.starts_with("[3892 bytes, too long for this message"), "{asked}");
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept.lines().count() == 1000 && kept.ends_with("\n1000"), "all of it is there");
    let state = shared(&room, "workflow-state.md");
    assert!(state.contains("(3893 bytes in all: `") || state.contains("(3892 bytes in all: `"), "{state}");
}

#[test]
fn an_agent_may_send_the_next_step_itself() {
    let first = "cat > asked; if grep -q 'needs no answer' asked; then echo seen; exit; fi; \
                 run=$(sed -n 's/^field workflow: //p' asked | head -1); postroom send two -m 'by hand: do it' --field workflow=$run --field step=2 >&2; echo handed on";
    let text = "
steps:
  a: {agent: first, prompt: x}
  b: {agent: two, needs: a, prompt: 'by the run'}
  c: {agent: two, needs: b, prompt: 'last {{ steps.b.result }}'}
";
    let agents = [("first", first), ("two", ECHO)];
    let room = crew(&agents, &[("hands", text)]);
    let run = begin(&room, "hands", &[]);
    dispatch(&room, []).succeeds();
    while status(&room, &run) == "in_progress" {
        dispatch(&room, []).ends();
        workflow(&room, ["resume", &run]).ends();
    }
    assert_eq!(results(&room, &run, "b"), ["by hand: do it"]);
    assert_eq!(results(&room, &run, "c"), ["last by hand: do it"]);
    assert_eq!(received(&room, "two").len(), 2, "the run does not ask for what was asked already");
}

#[test]
fn an_agent_that_is_unknown_when_it_is_asked_fails_the_step() {
    let text =
        "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: '{{ steps.a.result }}', needs: a, prompt: y}\n";
    let room = crew(&[("one", "echo nobody-here")], &[("asks", text)]);
    let run = begin(&room, "asks", &[]);
    dispatch(&room, []).succeeds();
    assert!(
        steps(&room, &run)[1].1.contains("it could not be sent: nobody here is called `nobody-here`"),
        "{:?}",
        steps(&room, &run)
    );
    room.run(["setup", "--child", "nobody-here"]).succeeds();
    settle(&room, &settings(&[("one", "echo nobody-here"), ("nobody-here", ECHO)]));
    workflow(&room, ["retry", &run, "--from", "b"]).succeeds();
    dispatch(&room, []).succeeds();
    assert_eq!(results(&room, &run, "b"), ["y"]);
}
