//! `workflow run`: the four shipped workflows from their first message to their end, with agents that are scripts; and
//! what else a definition can say.

use crate::support::crew::*;
use crate::support::staffed::dispatch;

#[test]
fn research_then_create() {
    let room = crew(
        &[
            ("explore", "grep -q 'Python testing' && echo 'found: pytest'"),
            ("skill-writer", "grep -q 'found: pytest' && echo 'created SKILL.md'"),
        ],
        &[],
    );
    let run = begin(&room, "research-create", &["topic=Python testing"]);
    assert_eq!(steps(&room, &run)[1].1, "waiting");
    assert_eq!(room.files("explore", "inbox").len(), 1, "the first request is sent before the command ends");
    let first =
        std::fs::read_to_string(room.folder("explore", "inbox").join(&room.files("explore", "inbox")[0]))
            .unwrap();
    for field in [
        format!("from: {run}"),
        format!("workflow: {run}"),
        "step: 1".to_owned(),
        "step_name: explore".to_owned(),
    ] {
        assert!(first.contains(&format!("\n{field}\n")), "{field}: {first}");
    }
    let table = dispatch(&room, []).succeeds().out;
    assert_eq!(table.lines().count(), 2, "one dispatch carries it to its end: {table}");
    assert_eq!(
        (status(&room, &run), results(&room, &run, "create")),
        ("completed".into(), vec!["created SKILL.md".into()])
    );
    for file in ["workflow-state.md".to_owned(), format!("workflows/{run}.md")] {
        let state = shared(&room, &file);
        for part in [
            format!("workflow_id: {run}\nstatus: completed\ncurrent_step: 2\ntotal_steps: 2\n"),
            "1. [x] explore: Research the subject (explore)\n".to_owned(),
            "## Accumulated Results\n\n### explore\n\n> found: pytest\n".to_owned(),
        ] {
            assert!(state.contains(&part), "{file}: {part}: {state}");
        }
    }
    let session = shared(&room, "session-context.md");
    assert!(
        session.contains("agents_invoked:\n  - explore (completed)\n  - skill-writer (completed)\n"),
        "{session}"
    );
    let listed = workflow(&room, ["list"]).succeeds().out;
    assert!(
        listed.contains(&format!("run {run} completed 2/2\n")) && listed.contains("plan-approve shipped: "),
        "{listed}"
    );
    dispatch(&room, []).exits(1);
}

#[test]
fn fix_until_the_reviewer_accepts() {
    let review = "cat > seen; n=$(cat rounds 2>/dev/null || echo 0); echo $((n + 1)) > rounds; \
                  if [ $n -lt 2 ]; then echo \"round $n: name the variable\"; echo 'VERDICT: FIX'; else echo 'VERDICT: ACCEPT'; fi";
    let code = "grep -q 'name the variable' && echo 'renamed it' || echo 'wrote it'";
    let room = crew(&[("coder", code), ("reviewer", review)], &[]);
    let run = begin(&room, "implement-review", &["task=a parser"]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed", "{:?}", steps(&room, &run));
    assert_eq!(steps(&room, &run)[1].1, "done (round 3)");
    assert_eq!((received(&room, "reviewer").len(), received(&room, "coder").len()), (3, 3));
    let last = std::fs::read_to_string(room.around().join("seen")).unwrap();
    assert!(last.contains("renamed it") && !last.contains("wrote it"), "the review is of the fix: {last}");
}

#[test]
fn a_reviewer_who_never_accepts_ends_the_run() {
    let room = crew(&[("coder", "echo done"), ("reviewer", "echo 'VERDICT: FIX'")], &[]);
    let run = begin(&room, "implement-review", &["task=x"]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "failed");
    assert_eq!(
        received(&room, "reviewer").len(),
        6,
        "five rounds of fixes, and a review before each and after the last"
    );
    let how = &steps(&room, &run)[1].1;
    assert!(how.starts_with("failed (round 6, its verdict is FIX:"), "{how}");
}

#[test]
fn several_programs_review_and_one_verdict_joins_them() {
    let accept = "cat >/dev/null; echo '{\"verdict\": \"accept\", \"reasons\": [\"short\"]}'";
    let judge = "cat > seen; if grep -q Weigh seen; then cp seen weighed; echo '{\"verdict\": \"reject\", \"summary\": \"codex is right\"}'; \
                 else echo '{\"verdict\": \"accept\", \"reasons\": [\"tested\"]}'; fi";
    let codex = "if [ -e tried ]; then printf 'Here:\\n\\n```json\\n{\"verdict\": \"reject\", \"reasons\": [\"no tests\"]}\\n```\\n'; \
                 else touch tried; echo '{\"verdict\": \"perhaps\"}'; fi";
    let room = crew(&[("claude", judge), ("codex", codex), ("gemini", accept), ("broken", "exit 1")], &[]);
    let run = begin(&room, "fan-out-review", &["change=a patch", "reviewers=claude,codex,gemini,broken"]);
    assert_eq!(steps(&room, &run)[0].1, "asked 0/4");
    // The dispatcher reports a run that fails, and the workflow goes on.
    dispatch(&room, []).exits(5);
    assert_eq!(status(&room, &run), "completed", "{:?}", steps(&room, &run));
    let weighed = std::fs::read_to_string(room.around().join("weighed")).unwrap();
    for part in [
        "## claude\n\naccept",
        "## codex\n\nreject\n\n- no tests",
        "## gemini\n\naccept\n\n- short",
        "## broken\n\ngave no review",
    ] {
        assert!(weighed.contains(part), "{part}: {weighed}");
    }
    let told = shown(&room, &run);
    assert_eq!(told["steps"][0]["items"][1]["attempt"], 2, "what failed its schema was tried again");
    assert_eq!(told["steps"][0]["status"], "failed");
    assert!(results(&room, &run, "verdict")[0].contains("codex is right"));
    let again =
        received(&room, "codex").into_iter().find(|body| body.contains("## Why the last attempt")).unwrap();
    assert!(again.contains("does not fit the schema") && again.contains("perhaps"), "{again}");
}

#[test]
fn a_plan_waits_for_a_person() {
    let plan = "if grep -q 'too vague'; then echo 'plan: two tests'; else echo 'plan: something'; fi";
    let room = crew(
        &[("planner", plan), ("coder", "grep -q 'two tests' && echo built"), ("user", "echo never")],
        &[],
    );
    crate::support::staffed::settle(
        &room,
        &settings(&[("planner", plan), ("coder", "grep -q 'two tests' && echo built")]),
    );
    let run = begin(&room, "plan-approve", &["task=a parser"]);
    dispatch(&room, []).succeeds();
    assert_eq!(steps(&room, &run)[0].1, "asked (waits for approval by user)");
    let answer = |text: &str| {
        let file = room.files("user", "inbox").pop().unwrap();
        room.by("user", ["reply", &file, "-m", text]).by_person().with(0);
    };
    let asked = received(&room, "user");
    assert!(
        asked[0].contains("This is the plan for: a parser") && asked[0].contains("plan: something"),
        "{asked:?}"
    );
    // It is asked again at once: an answer lets the run go on, also if no dispatcher runs.
    answer("Hm, maybe.");
    let unclear = "Your answer was neither `approve` nor `reject`.";
    assert!(received(&room, "user").iter().any(|body| body.starts_with(unclear)));
    answer("reject: too vague");
    dispatch(&room, []).succeeds();
    assert_eq!(steps(&room, &run)[0].1, "asked (attempt 2, waits for approval by user)");
    answer("approve");
    dispatch(&room, []).succeeds();
    assert_eq!(
        (status(&room, &run), results(&room, &run, "implement")),
        ("completed".into(), vec!["built".into()])
    );
    let session = shared(&room, "session-context.md");
    for word in ["rejected by user (20", "approved by user (20"] {
        assert!(session.contains(&format!("- {run}: plan: {word}")), "{session}");
    }
    assert!(session.contains("Z, /dev/pts/"), "{session}");
}

#[test]
fn a_run_is_followed_to_its_end() {
    let room = crew(&[("explore", "echo found"), ("skill-writer", "echo made")], &[]);
    let out = workflow(&room, ["run", "research-create", "--input", "topic=x", "--follow"]).succeeds().out;
    let lines: Vec<&str> = out.lines().collect();
    let run = lines[0].strip_prefix("run ").unwrap();
    assert_eq!(lines[1], format!("workflow {run} in_progress 0/2 explore: asked"), "{out}");
    assert_eq!(lines[2], format!("workflow {run} in_progress 1/2 explore: done, create: asked"), "{out}");
    assert_eq!(lines.last(), Some(&format!("workflow {run} completed 2/2 create: done").as_str()), "{out}");
    let events = workflow(&room, ["run", "research-create", "--input", "topic=x", "--follow", "--json"])
        .succeeds()
        .out;
    let events: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["v"] == 1), "{events:?}");
    assert_eq!(events.last().unwrap()["status"], "completed");
    let room = crew(&[("explore", "exit 1"), ("skill-writer", "echo made")], &[]);
    let failed = workflow(&room, ["run", "research-create", "--input", "topic=x", "--follow"]).exits(5);
    assert!(failed.err.contains("is failed") && failed.err.contains("retry"), "{}", failed.err);
}

const ROUTES: &str = "
inputs: {kind: bug, files: [a, b, c]}
parallel: 2
steps:
  triage: {agent: one, prompt: 'triage {{ inputs.kind }}', output: json}
  fix: {agent: one, needs: triage, when: steps.triage.json.bug, prompt: fix}
  feature: {agent: one, needs: triage, when: not steps.triage.json.bug, prompt: feature}
  after_feature: {agent: one, needs: feature, prompt: polish}
  each: {agent: one, needs: [fix, feature], foreach: inputs.files, prompt: 'look at {{ item }} ({{ index }})'}
  join: {agent: one, needs: each, prompt: '{{ steps.each.results | join(\"+\") }}'}
";

#[test]
fn routes_fan_out_and_join() {
    let script = format!(
        "text=$({ECHO}); case \"$text\" in triage*) echo '{{\"bug\": true}}';; *) echo \"<$text>\";; esac"
    );
    let room = crew(&[("one", &script)], &[("routes", ROUTES)]);
    let run = begin(&room, "routes", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed", "{:?}", steps(&room, &run));
    let how: Vec<String> = steps(&room, &run).into_iter().map(|(_, how)| how).collect();
    assert_eq!(how[1], "done");
    assert_eq!(how[2], "skipped (`not steps.triage.json.bug` is false)");
    assert_eq!(how[3], "skipped (what it needs was skipped)");
    assert_eq!(how[4], "done 3/3");
    assert_eq!(results(&room, &run, "join"), ["<<look at a (1)>+<look at b (2)>+<look at c (3)>>"]);
}

#[test]
fn no_more_is_open_at_once_than_the_workflow_lets() {
    let text = "parallel: 2\nsteps:\n  each: {agent: one, foreach: '[1,2,3,4,5]', prompt: 'n {{ item }}'}\n";
    let room = crew(&[("one", "echo x")], &[("few", text)]);
    let run = begin(&room, "few", &[]);
    assert_eq!(room.files("one", "inbox").len(), 2);
    dispatch(&room, []).succeeds();
    assert_eq!((status(&room, &run), received(&room, "one").len()), ("completed".into(), 5));
}

#[test]
fn a_failure_stops_or_not_as_the_step_says() {
    let text = "
steps:
  bad: {agent: broken, prompt: x, retry: 1, on_failure: continue}
  after: {agent: one, needs: bad, prompt: 'after {{ steps.bad.status }}'}
  worse: {agent: broken, needs: after, prompt: x}
  never: {agent: one, needs: worse, prompt: x}
";
    let room = crew(&[("broken", "echo no >&2; exit 3"), ("one", ECHO)], &[("stops", text)]);
    let run = begin(&room, "stops", &[]);
    dispatch(&room, []).exits(5);
    assert_eq!(status(&room, &run), "failed");
    assert_eq!(results(&room, &run, "after"), ["after failed"]);
    let how: Vec<String> = steps(&room, &run).into_iter().map(|(_, how)| how).collect();
    assert!(how[0].starts_with("failed (attempt 2, it exited with 3"), "{how:?}");
    assert!(how[2].starts_with("failed (it exited with 3") && how[3] == "not begun", "{how:?}");
    assert_eq!(received(&room, "one").len(), 1);
}

#[test]
fn a_follower_of_a_run_is_told_for_whom_no_program_is_started() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: idle, needs: a, prompt: y}\n";
    let agents = [("one", "echo x"), ("idle", "echo x")];
    let room = crew(&agents, &[("half", text)]);
    crate::support::staffed::settle(&room, &settings(&agents[..1]));
    let follower = workflow(&room, ["run", "half", "--follow"]).start();
    crate::support::until::until("the request", || !room.files("idle", "inbox").is_empty());
    room.by("idle", ["reply", &room.files("idle", "inbox")[0], "-m", "by hand"]).succeeds();
    let told = crate::support::room::Ran::end(follower).with(0).err;
    assert!(told.contains("no program is started for `idle`") && told.contains("[agents.idle]"), "{told}");
    assert!(!told.contains("for `one`"), "{told}");
}
