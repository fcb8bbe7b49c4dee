//! Tests of the engine, without any mail: answers go in, asks come out.

use super::*;
use crate::workflow::reading::parse;
use crate::workflow::repeat::Repeat;
use serde_json::json;

fn engine(text: &str) -> Engine {
    let definition = parse(text, "w").unwrap_or_else(|problems| panic!("{problems:?}"));
    let facts = RunFacts {
        persons: vec![],
        run: "w-1".into(),
        inputs: Default::default(),
        results: "/results".into(),
        body_bytes: 1 << 20,
    };
    Engine::new(Arc::new(definition), facts, HashMap::new(), BTreeMap::new(), HashSet::new())
}

/// The open asks, as `step/item to: body`, sorted.
fn asks(engine: &Engine) -> Vec<String> {
    let shown = |ask: &Ask| {
        let name = &engine.definition().steps[ask.step].name;
        match &ask.kind {
            AskKind::Work { to, body, .. } => format!("{name}/{} {to}: {}", ask.item, body.trim()),
            AskKind::Approval { by, .. } => format!("{name}/{} {by}?", ask.item),
            AskKind::Command { gate, .. } => format!("{name}/{} gate {gate}", ask.item),
        }
    };
    let mut all: Vec<String> = engine.open().values().map(shown).collect();
    all.sort();
    all
}

/// The open asks on one line each, without the fences of results.
fn bare(engine: &Engine) -> Vec<String> {
    let fences = regex::Regex::new(r"\[[0-9a-f]{8}(: \d+ bytes| end)\]").unwrap();
    let words = |ask: &String| {
        fences.replace_all(ask, "").split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    asks(engine).iter().map(words).collect()
}

fn say(engine: &mut Engine, step: &str, item: usize, answer: Result<&str, &str>) {
    let index = engine.definition().step(step).unwrap();
    let id = engine.open().values().find(|ask| ask.step == index && ask.item == item).unwrap().id.clone();
    let (body, failed) = match answer {
        Ok(body) => (body.to_owned(), None),
        Err(why) => (String::new(), Some(why.to_owned())),
    };
    assert!(engine.accept(&id, Answer { body, failed, from: "x".into(), file: "f".into(), said: None }));
}

/// A person repeats a run from a step on, or what failed in it.
fn retry(engine: &mut Engine, from: Option<&str>, all: bool) {
    let repeat = match from.map(|name| engine.definition().step(name).unwrap()) {
        Some(step) => Repeat::from_step(engine, step, all),
        None => Repeat::failed(engine),
    };
    let number = engine.controls().keys().next_back().map_or(1, |last| last + 1);
    engine.add_control(number, Control::Retry(repeat));
}

/// Computes the run again from its answers alone.
fn again(engine: &Engine) -> Engine {
    let (definition, facts) = (Arc::clone(&engine.definition), engine.facts.clone());
    let asked = engine.open().keys().chain(engine.answers.keys()).cloned().collect();
    Engine::new(definition, facts, engine.answers.clone(), engine.controls.clone(), asked)
}

#[test]
fn steps_run_as_soon_as_their_needs_are_met() {
    let mut run = engine(
        "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: x, prompt: B}\n  c: {agent: y, needs: [a, b], prompt: '{{ steps.a.result }} {{ steps.b.result }}'}\n",
    );
    assert_eq!(asks(&run), ["a/0 x: A", "b/0 x: B"]);
    say(&mut run, "b", 0, Ok("2\n"));
    assert_eq!(asks(&run), ["a/0 x: A"]);
    say(&mut run, "a", 0, Ok("1\n"));
    assert_eq!((bare(&run), run.status()), (vec!["c/0 y: 1 2".to_owned()], Status::InProgress));
    say(&mut run, "c", 0, Ok("3"));
    assert_eq!((asks(&run).len(), run.status()), (0, Status::Completed));
}

#[test]
fn a_run_computed_again_is_the_same_at_every_point() {
    let text = "steps:\n  a: {agent: x, prompt: A, retry: 1}\n  b: {agent: y, needs: a, foreach: '[1, 2, 3]', prompt: 'B{{ item }}', on_failure: continue}\n  c: {agent: z, needs: b, prompt: '{{ steps.b.results }}'}\n";
    let mut run = engine(text);
    for (step, item, answer) in [
        ("a", 0, Err("no")),
        ("a", 0, Ok("yes")),
        ("b", 2, Ok("three")),
        ("b", 0, Err("gone")),
        ("b", 1, Ok("two")),
        ("c", 0, Ok("end")),
    ] {
        say(&mut run, step, item, answer);
        let other = again(&run);
        assert_eq!((asks(&other), other.status(), other.steps()), (asks(&run), run.status(), run.steps()));
        let ids = |engine: &Engine| engine.open().keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(ids(&other), ids(&run), "what is asked has the same ids");
    }
    assert_eq!(run.status(), Status::Completed);
}

#[test]
fn an_answer_counts_once_and_only_while_it_is_waited_for() {
    let mut run = engine("steps:\n  a: {agent: x, prompt: A}\n");
    let id = run.open().keys().next().unwrap().clone();
    assert!(run.accept(&id, Answer { body: "one".into(), ..Answer::default() }));
    assert!(!run.accept(&id, Answer { body: "two".into(), ..Answer::default() }));
    assert_eq!(run.steps()[0].items[0].text.as_deref(), Some("one"));
}

#[test]
fn gates_are_passed_in_order_and_each_is_asked_once() {
    let mut run = engine(
        "steps:\n  a: {agent: x, prompt: A, retry: 1, gate: [{contains: ok}, {command: [c]}, {approval: p}]}\n",
    );
    say(&mut run, "a", 0, Ok("ok"));
    assert_eq!(asks(&run), ["a/0 gate 1"]);
    say(&mut run, "a", 0, Ok("passed"));
    assert_eq!(asks(&run), ["a/0 p?"]);
    say(&mut run, "a", 0, Ok("reject: longer"));
    let asked = asks(&run);
    assert!(asked[0].contains("p rejected it: longer"), "{asked:?}");
    say(&mut run, "a", 0, Ok("bad"));
    assert_eq!(run.status(), Status::Failed);
}

#[test]
fn a_failure_is_repaired_round_by_round_and_then_final() {
    let text = "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: y, needs: a, prompt: '{{ round }}: {{ steps.fix.result or steps.a.result }}', gate: {contains: ok}, on_failure: {step: fix, rounds: 2}}\n  fix: {agent: x, prompt: 'repair {{ steps.b.result }}'}\n  c: {agent: x, needs: b, prompt: C}\n";
    let mut run = engine(text);
    assert_eq!(asks(&run), ["a/0 x: A"], "a failure handler is not begun by itself");
    say(&mut run, "a", 0, Ok("one"));
    say(&mut run, "b", 0, Ok("no"));
    assert_eq!(bare(&run), ["fix/0 x: repair no"]);
    say(&mut run, "fix", 0, Ok("repaired"));
    assert_eq!(bare(&run), ["b/0 y: 2: repaired"]);
    assert_eq!(asks(&again(&run)), asks(&run));
    let mut good = again(&run);
    say(&mut good, "b", 0, Ok("ok"));
    assert_eq!(asks(&good), ["c/0 x: C"]);
    for (step, said) in [("b", "still no"), ("fix", "more"), ("b", "no")] {
        say(&mut run, step, 0, Ok(said));
    }
    assert_eq!((asks(&run).len(), run.status()), (0, Status::Failed));
    let mut smooth = engine(text);
    for (step, said) in [("a", "one"), ("b", "ok"), ("c", "two")] {
        say(&mut smooth, step, 0, Ok(said));
    }
    assert_eq!((smooth.status(), smooth.settled()), (Status::Completed, 4), "the handler was not needed");
}

#[test]
fn some_results_are_enough_where_a_join_says_so() {
    let text = "steps:\n  a: {agent: x, foreach: '[1, 2, 3]', prompt: A, on_failure: continue}\n  b: {agent: y, needs: a, join: 2, prompt: B}\n";
    let mut run = engine(text);
    say(&mut run, "a", 0, Ok("1"));
    say(&mut run, "a", 2, Ok("3"));
    assert!(!asks(&run).contains(&"b/0 y: B".to_owned()), "nothing depends on who is quicker");
    say(&mut run, "a", 1, Err("no"));
    assert_eq!(asks(&run), ["b/0 y: B"], "two of three are there");
    let mut few = engine(text);
    for item in 0..3 {
        say(&mut few, "a", item, if item == 0 { Ok("1") } else { Err("no") });
    }
    assert_eq!(few.status(), Status::Failed);
    assert!(matches!(&few.steps()[1].phase, Phase::Failed(why, _) if why.contains("only 1 of the 2")));
}

#[test]
fn a_stop_begins_nothing_more_and_waits_for_what_is_under_way() {
    let mut run = engine(
        "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: y, prompt: B}\n  c: {agent: y, needs: b, prompt: C}\n",
    );
    say(&mut run, "a", 0, Err("no"));
    assert_eq!((asks(&run), run.status()), (vec!["b/0 y: B".to_owned()], Status::InProgress));
    say(&mut run, "b", 0, Ok("done"));
    assert_eq!((asks(&run).len(), run.status()), (0, Status::Failed));
}

#[test]
fn a_stopped_run_computed_again_lets_end_what_had_begun() {
    let text = "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: y, prompt: B}\n  c: {agent: y, needs: b, prompt: C}\n  d: {agent: y, needs: c, prompt: D}\n";
    let mut run = engine(text);
    say(&mut run, "b", 0, Ok("done"));
    say(&mut run, "a", 0, Err("no"));
    assert_eq!((asks(&run), run.status()), (vec!["c/0 y: C".to_owned()], Status::InProgress));
    let mut same = again(&run);
    assert_eq!((asks(&same), same.status()), (asks(&run), Status::InProgress), "c was asked before a failed");
    say(&mut same, "c", 0, Ok("late"));
    assert_eq!(same.status(), Status::Failed);
    assert_eq!(again(&same).steps()[2].phase, Phase::Done, "its result is not forgotten");
    assert_eq!(again(&same).steps()[3].phase, Phase::Waiting);
}

#[test]
fn nothing_is_repaired_in_a_run_that_is_to_stop() {
    let text = "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: y, prompt: B, gate: {contains: ok}, on_failure: fix}\n  fix: {agent: x, prompt: repair}\n";
    let mut run = engine(text);
    say(&mut run, "a", 0, Err("no"));
    say(&mut run, "b", 0, Ok("bad"));
    assert_eq!((asks(&run).len(), run.status()), (0, Status::Failed), "{:?}", asks(&run));
    let mut run = engine(text);
    say(&mut run, "b", 0, Ok("bad"));
    say(&mut run, "a", 0, Err("no"));
    assert_eq!((asks(&run), asks(&again(&run))), (vec!["fix/0 x: repair".to_owned()], asks(&run)));
    say(&mut run, "fix", 0, Ok("repaired"));
    assert_eq!(
        (asks(&run).len(), run.status()),
        (0, Status::Failed),
        "the handler ends, and no round follows"
    );
}

#[test]
fn what_stands_before_a_step_stands_before_every_round_of_it() {
    let text = "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: y, needs: a, when: steps.a.result, prompt: B, on_failure: {step: fix, rounds: 2}}\n  fix: {agent: x, prompt: repair}\n";
    let mut run = engine(text);
    say(&mut run, "a", 0, Ok("no truth value"));
    for _ in 0..2 {
        assert_eq!(asks(&run), ["fix/0 x: repair"]);
        say(&mut run, "fix", 0, Ok("repaired"));
    }
    assert_eq!((asks(&run).len(), run.status()), (0, Status::Failed), "b was never to be done");
}

#[test]
fn what_repairs_begun_again_begins_again_what_it_repairs() {
    let text = "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: y, needs: a, prompt: B, gate: {contains: ok}, on_failure: fix}\n  fix: {agent: x, prompt: repair}\n";
    let mut run = engine(text);
    for (step, said) in [("a", "1"), ("b", "bad"), ("fix", "repaired"), ("b", "ok")] {
        say(&mut run, step, 0, Ok(said));
    }
    assert_eq!(run.status(), Status::Completed);
    retry(&mut run, Some("fix"), false);
    assert_eq!(asks(&run), ["b/0 y: B"], "an answer from before the handler does not count after it");
}

#[test]
fn a_person_cancels_and_begins_again_from_a_step() {
    let mut run = engine(
        "steps:\n  a: {agent: x, prompt: A}\n  b: {agent: x, needs: a, prompt: B}\n  c: {agent: x, prompt: C}\n",
    );
    for step in ["a", "b", "c"] {
        say(&mut run, step, 0, Ok(step));
    }
    let before = again(&run);
    retry(&mut run, Some("b"), false);
    assert_eq!((asks(&run), run.status()), (vec!["b/0 x: B".to_owned()], Status::InProgress));
    run.add_control(2, Control::Cancel { let_finish: false });
    assert_eq!(run.status(), Status::Cancelled);
    retry(&mut run, Some("a"), false);
    assert_eq!(asks(&run), ["a/0 x: A"]);
    say(&mut run, "a", 0, Ok("a"));
    say(&mut run, "b", 0, Ok("b"));
    assert_eq!((run.status(), before.status()), (Status::Completed, Status::Completed));
}

#[test]
fn a_retry_repeats_the_items_that_failed_and_keeps_the_others() {
    let text = "steps:\n  a: {agent: x, foreach: '[1, 2, 3, 4]', prompt: 'A{{ item }}'}\n  b: {agent: y, needs: a, prompt: '{{ steps.a.results | length }}'}\n";
    for from in [None, Some("a")] {
        let mut run = engine(text);
        for item in 0..4 {
            say(&mut run, "a", item, if item % 2 == 0 { Ok("fine") } else { Err("no") });
        }
        assert_eq!(run.status(), Status::Failed);
        let mut all = again(&run);
        retry(&mut run, from, false);
        assert_eq!(
            (asks(&run), run.status()),
            (vec!["a/1 x: A2".into(), "a/3 x: A4".into()], Status::InProgress)
        );
        assert_eq!(asks(&again(&run)), asks(&run));
        say(&mut run, "a", 1, Err("still no"));
        say(&mut run, "a", 3, Ok("fine"));
        assert_eq!(run.status(), Status::Failed);
        retry(&mut run, from, false);
        assert_eq!(asks(&run), ["a/1 x: A2"]);
        say(&mut run, "a", 1, Ok("fine"));
        assert_eq!(asks(&run), ["b/0 y: 4"]);
        retry(&mut all, Some("a"), true);
        assert_eq!(asks(&all).len(), 4);
    }
}

#[test]
fn a_retry_goes_on_where_the_rounds_ended() {
    let text = "steps:\n  a: {agent: y, prompt: 'A{{ round }}', gate: {contains: ok}, on_failure: {step: fix, rounds: 1}}\n  fix: {agent: x, prompt: repair}\n";
    let mut run = engine(text);
    for (step, said) in [("a", Ok("bad")), ("fix", Err("broken"))] {
        say(&mut run, step, 0, said);
    }
    assert_eq!(run.status(), Status::Failed);
    retry(&mut run, None, false);
    assert_eq!(asks(&run), ["fix/0 x: repair"], "the handler failed, not what it handles");
    say(&mut run, "fix", 0, Ok("repaired"));
    say(&mut run, "a", 0, Ok("bad"));
    assert_eq!(run.status(), Status::Failed);
    retry(&mut run, None, false);
    assert_eq!(asks(&run), ["a/0 y: A2"]);
    retry(&mut run, Some("a"), false);
    assert_eq!(asks(&run), ["a/0 y: A1"], "from the step on, its rounds begin again");
}

#[test]
fn a_retry_repeats_what_a_join_lacks_and_what_was_made_of_it() {
    let text = "steps:\n  a: {agent: x, foreach: '[1, 2]', prompt: 'A{{ item }}', on_failure: continue}\n  b: {agent: y, needs: a, prompt: B}\n  c: {agent: z, needs: a, join: 2, prompt: C}\n";
    let mut run = engine(text);
    for (step, item, said) in [("a", 0, Ok("1")), ("a", 1, Err("no")), ("b", 0, Ok("made"))] {
        say(&mut run, step, item, said);
    }
    assert_eq!(run.status(), Status::Failed);
    retry(&mut run, None, false);
    assert_eq!(asks(&run), ["a/1 x: A2"]);
    say(&mut run, "a", 1, Ok("2"));
    assert_eq!(asks(&run), ["b/0 y: B", "c/0 z: C"]);
}

#[test]
fn a_cancelled_run_asks_again_for_what_was_under_way() {
    let mut run = engine("steps:\n  a: {agent: x, prompt: A}\n  b: {agent: y, needs: a, prompt: B}\n");
    say(&mut run, "a", 0, Ok("done"));
    let before: Vec<MessageId> = run.open().keys().cloned().collect();
    run.add_control(1, Control::Cancel { let_finish: false });
    retry(&mut run, None, false);
    assert_eq!(asks(&run), ["b/0 y: B"]);
    assert!(
        !before.iter().any(|id| run.open().contains_key(id)),
        "the request that was withdrawn has another id"
    );
}

#[test]
fn an_unclear_verdict_is_asked_again_and_a_rejection_is_not() {
    let text = "steps:\n  a: {agent: y, prompt: A, retry: 1, gate: {verdict: {accept: [GO, SHIP], reject: STOP}}, on_failure: {step: fix, rounds: 1}}\n  fix: {agent: x, prompt: repair}\n";
    let mut run = engine(text);
    assert!(
        asks(&run)[0]
            .ends_with("End with a line that is `VERDICT: GO` or `VERDICT: SHIP` or `VERDICT: STOP`.")
    );
    for unclear in ["I cannot say VERDICT: GO. VERDICT: STOP", "VERDICT: GO\nVERDICT: STOP"] {
        say(&mut run, "a", 0, Ok(unclear));
        let asked = asks(&run);
        assert!(asked[0].starts_with("a/0 y:") && asked[0].contains("Why the last attempt"), "{asked:?}");
    }
    let mut never = again(&run);
    say(&mut run, "a", 0, Err("it exited with 1"));
    assert!(asks(&run)[0].starts_with("a/0 y:"), "what was unclear leaves the retry: {:?}", asks(&run));
    say(&mut run, "a", 0, Ok("no\nVERDICT: STOP"));
    assert_eq!(asks(&run), ["fix/0 x: repair"]);
    say(&mut run, "fix", 0, Ok("repaired"));
    say(&mut run, "a", 0, Ok("VERDICT: SHIP"));
    assert_eq!(run.status(), Status::Completed);
    say(&mut never, "a", 0, Ok("hm"));
    assert_eq!(asks(&never), ["fix/0 x: repair"], "it is not asked for ever");
}

#[test]
fn results_that_are_too_large_are_kept_and_named() {
    let text = "result_bytes: 300\nsteps:\n  a: {agent: x, foreach: '[1, 2]', prompt: A}\n  b: {agent: y, needs: a, prompt: '{{ steps.a.result }}'}\n";
    let mut run = engine(text);
    let long = "é".repeat(140);
    say(&mut run, "a", 0, Ok("short"));
    say(&mut run, "a", 1, Ok(&long));
    let asked = asks(&run);
    assert!(asked[0].contains("short\n\n[280 bytes") || asked[0].contains(&long), "{asked:?}");
    let longer = "x".repeat(400);
    let mut run = engine(text);
    say(&mut run, "a", 0, Ok("short"));
    say(&mut run, "a", 1, Ok(&longer));
    let kept = run.take_kept();
    let (file, text) = kept.iter().next().unwrap();
    assert!(asks(&run)[0].contains(&format!("read the file /results/{file}]")), "{:?}", asks(&run));
    assert_eq!(text, &longer);
}

#[test]
fn a_thousand_steps_are_computed_at_once() {
    let mut text = String::from("steps:\n  s0: {agent: x, prompt: go}\n");
    for n in 1..1000 {
        text.push_str(&format!(
            "  s{n}: {{agent: x, needs: s{}, prompt: '{{{{ steps.s{}.result }}}}'}}\n",
            n - 1,
            n - 1
        ));
    }
    let mut run = engine(&text);
    for n in 0..1000 {
        say(&mut run, &format!("s{n}"), 0, Ok("r"));
    }
    assert_eq!((run.status(), again(&run).status()), (Status::Completed, Status::Completed));
    assert_eq!(run.steps()[999].items[0].json, None::<serde_json::Value>);
    let _ = json!({});
}
