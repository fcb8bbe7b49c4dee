//! `workflow check` and `graph`: what is wrong with a definition is told with line and column, all of it at once, and
//! nothing of it runs.

use crate::support::crew::begin;
use crate::support::crew::{crew, project, shared, status, steps, workflow};
use crate::support::pasted::commands;
use crate::support::staffed::dispatch;

/// Definitions that are wrong, with the line and column of each fault and a part of what is said of it.
const WRONG: &[(&str, &[(&str, &str)])] = &[
    (
        "steps:\n  a: {agent: one, prompt: x, needs: b}\n  b: {agent: one, prompt: x, needs: a}\n  c: {agent: one, prompt: x, needs: b}\n",
        &[("2:3", "in a circle: a → b → a"), ("4:3", "`c` can never run")],
    ),
    ("steps:\n  a: {agent: one, prompt: x, needs: nothing}\n", &[("2:37", "there is no step `nothing`")]),
    ("steps:\n  a:\n    agent: nobody\n    prompt: x\n", &[("3:12", "nobody here is called `nobody`")]),
    (
        "steps:\n  a:\n    agent: one\n    prompt: |\n      hello\n      and {{ then\n",
        &[("6:", "`prompt`: the template is wrong")],
    ),
    (
        "steps:\n  a: {agent: one, prompt: '{{ inputs.x }} {{ steps.b.result }} {{ what }}'}\n",
        &[
            ("2:31", "there is no input `x`; it has none"),
            ("2:46", "there is no step `b`; there is only `a`"),
            ("2:67", "`what` is not defined here"),
        ],
    ),
    (
        "steps:\n  a: {agent: one, prompt: '{{ steps.b.result }}'}\n  b: {agent: one, prompt: x}\n",
        &[("2:31", "not among its `needs`")],
    ),
    ("steps:\n  a: {agent: one, prompt: x, when: 5}\n", &[("2:36", "`when` is an expression")]),
    ("steps:\n  a: {agent: one, prompt: x, when: '1 +'}\n", &[("2:", "`when`: the expression is wrong")]),
    ("steps:\n  a: {agent: one, prompt: x, when: false}\n", &[("2:3", "can never run: its `when` is false")]),
    (
        "steps:\n  a: {agent: one, promt: x}\n",
        &[("2:3", "has no `prompt`"), ("2:19", "did you mean `prompt`?")],
    ),
    (
        "steps:\n  a: {agent: one, prompt: x}\n  a: {agent: one, prompt: y}\n",
        &[("3:3", "`a` is there twice")],
    ),
    (
        "steps:\n  a: {agent: one, prompt: x, retry: -1, timeout: soon, output: xml, join: some}\n",
        &[
            ("2:37", "`retry` is a whole number"),
            ("2:50", "not a span of time"),
            ("2:64", "`output` is `text` or `json`"),
            ("2:75", "`join` is"),
        ],
    ),
    (
        "steps:\n  a: {agent: one, prompt: x, gate: {schema: {type: nonsense}}}\n",
        &[("2:", "this is no JSON schema")],
    ),
    (
        "steps:\n  a: {agent: one, prompt: x, gate: {command: 'rm -rf /'}}\n",
        &[("2:46", "`command` is a list")],
    ),
    (
        "steps:\n  a: {agent: one, prompt: x, gate: {contains: y, command: [z]}}\n",
        &[("2:50", "several are a list")],
    ),
    (
        "steps:\n  a: {agent: one, prompt: x, on_failure: b}\n  b: {agent: one, prompt: x, needs: a}\n",
        &[("2:3", "it has no `needs`")],
    ),
    (
        "steps:\n  a: {agent: one, prompt: x}\n  b: {agent: one, prompt: x, needs: a, join: 2}\n",
        &[("3:3", "wants 2 results of 1"), ("3:3", "on_failure: continue")],
    ),
    (
        "inputs:\n  n: {type: number, default: many}\n  2: x\nsteps:\n  a: {agent: one, prompt: x}\n",
        &[("2:30", "the default is no number"), ("3:3", "cannot name an input")],
    ),
    ("steps: &x\n  a: {agent: one, prompt: x}\n", &[("2:3", "anchors")]),
    ("steps:\n\ta: b\n", &[("2:1", "a tab cannot indent: indent with spaces")]),
    ("", &[("1:1", "there is nothing in it")]),
    ("- a\n", &[("1:1", "a workflow is a map")]),
];

#[test]
fn every_fault_is_told_with_its_place() {
    for (text, faults) in WRONG {
        let room = crew(&[("one", "echo x")], &[("wrong", text)]);
        let told = workflow(&room, ["check", "wrong"]).exits(4).out;
        let is_fault = |line: &&str| !line.starts_with("  ");
        assert_eq!(told.lines().filter(is_fault).count(), faults.len(), "{text}: {told}");
        for (place, what) in *faults {
            let fits = |line: &str| line.contains(&format!("/wrong.yaml:{place}")) && line.contains(what);
            assert!(told.lines().any(fits), "{place} {what}: {text}: {told}");
        }
        let refused = workflow(&room, ["run", "wrong"]).ends();
        assert!([3, 4].contains(&refused.code) && refused.err.contains("/wrong.yaml:"), "{refused:?}");
        assert!(!room.root().join(".workflows").exists(), "nothing has begun");
        let document = workflow(&room, ["check", "wrong", "--json"]).json();
        assert_eq!(
            (document["ok"].as_bool(), document["problems"].as_array().unwrap().len()),
            (Some(false), faults.len())
        );
    }
}

#[test]
fn a_file_by_its_path_and_a_name_that_is_none() {
    let room = crew(&[("one", "echo x")], &[("right", "steps:\n  a: {agent: one, prompt: x}\n")]);
    let path = project(&room).join(".postroom/workflows/right.yaml");
    let told = workflow(&room, ["check"]).arg(&path).succeeds().out;
    assert!(told.ends_with("right.yaml: right, 1 step\n"), "{told}");
    for name in ["nothing", "../x", "UP", ""] {
        let refused = workflow(&room, ["check", name]).exits(3).err;
        assert!(refused.contains("there is no workflow"), "{name}: {refused}");
    }
}

#[test]
fn inputs_are_what_they_say() {
    let text = "inputs: {n: {type: number, about: how many}, b: false, l: [x], j: {type: json, default: {}}}\nsteps:\n  a: {agent: one, prompt: '{{ inputs.n }} {{ inputs.l[1] }}'}\n";
    let room = crew(&[("one", "sed -n '/ bytes]$/{n;p;}'")], &[("typed", text)]);
    for (inputs, what) in [
        (&[][..], "the input `n` (how many) is missing: --input n=…"),
        (&["n=x"], "`x` is no number"),
        (&["n=1", "b=perhaps"], "neither true nor false"),
        (&["n=1", "m=1"], "has no input `m`; it has n, b, l, j"),
        (&["n=1", "n=2"], "given twice"),
        (&["n=1", "j={"], "not JSON"),
        (&["n=1", "l=[1"], "begins like JSON"),
    ] {
        let words = inputs.iter().flat_map(|input| ["--input", *input]);
        let refused = workflow(&room, ["run", "typed"].into_iter().chain(words)).exits(2).err;
        assert!(refused.contains(what), "{inputs:?}: {refused}");
    }
    let run = begin(&room, "typed", &["n=2.5", "l=x, y"]);
    dispatch(&room, []).succeeds();
    assert_eq!(crate::support::crew::results(&room, &run, "a"), ["2.5 y"]);
}

#[test]
fn a_template_that_cannot_be_filled_in_fails_its_step() {
    let text = "
steps:
  a: {agent: one, prompt: x, output: json}
  b: {agent: one, needs: a, prompt: '{{ steps.a.json.nothing.more }}'}
";
    let room = crew(&[("one", "echo '{}'")], &[("late", text)]);
    let run = begin(&room, "late", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "failed");
    let how = &steps(&room, &run)[1].1;
    assert_eq!(
        how,
        "failed (its template cannot be rendered: `steps.a.json.nothing.more` (line 4, column 41): \
         undefined value: `steps.a.json.nothing` is undefined)"
    );
    assert!(shared(&room, "workflow-state.md").contains("status: failed"));
}

#[test]
fn a_when_that_is_not_boolean_fails_its_step() {
    let text = "
steps:
  a: {agent: one, prompt: x, output: json}
  b: {agent: one, needs: a, when: steps.a.json, prompt: y}
  c: {agent: one, needs: a, foreach: steps.a.json, prompt: y}
";
    let room = crew(&[("one", "echo '\"yes\"'")], &[("late", text)]);
    let run = begin(&room, "late", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "failed");
    let how = &steps(&room, &run)[1].1;
    assert_eq!(
        how,
        "failed (its `when` cannot be evaluated: `steps.a.json` (line 4, column 35) is a string, not true or false)"
    );
}

#[test]
fn a_graph_is_drawn_and_written_for_mermaid() {
    let room = crew(&[], &[]);
    let drawn = workflow(&room, ["graph", "implement-review"]).succeeds().out;
    assert_eq!(
        drawn,
        "implement-review\n└─ implement → {{ inputs.coder }}\n   └─ review → {{ inputs.reviewer }} \
         [gate: verdict ACCEPT; on failure fix, then again, 5 rounds at most]\n      └╌ fix → {{ inputs.coder }}\n"
    );
    let mermaid = workflow(&room, ["graph", "implement-review", "--mermaid"]).succeeds().out;
    assert!(mermaid.starts_with("flowchart TD\n  implement[\"implement<br>"), "{mermaid}");
    for line in ["  implement --> review", "  review -. fails .-> fix", "  fix -. again .-> review"] {
        assert!(mermaid.lines().any(|found| found == line), "{line}: {mermaid}");
    }
    let both = workflow(&room, ["graph", "implement-review", "--json"]).json();
    assert_eq!(
        (both["text"].as_str(), both["mermaid"].as_str()),
        (Some(drawn.as_str()), Some(mermaid.as_str()))
    );
}

#[test]
fn a_repository_s_workflow_needs_the_person_s_word() {
    let text = "steps:\n  a: {agent: one, prompt: x, gate: {command: ['true']}}\n";
    let room = crew(&[("one", "echo x")], &[("gated", text)]);
    begin(&room, "gated", &[]);
    let file = project(&room).join(".postroom/workflows/gated.yaml");
    std::fs::write(&file, text.replace("true", "false")).unwrap();
    let refused = workflow(&room, ["run", "gated"]).exits(4).err;
    assert!(
        refused.contains("left alone until you have looked at it") && refused.contains("postroom trust "),
        "{refused}"
    );
    crate::support::crew::trust(&room);
    begin(&room, "gated", &[]);
}

/// The advice was `setup --child NAME` inside a sentence, without the program and the room.
#[test]
fn a_missing_recipient_comes_with_the_command_that_makes_it() {
    let text = "steps:\n  a: {agent: nobody, prompt: x}\n  b: {agent: nobody, prompt: y}\n";
    let room = crew(&[("one", "echo x")], &[("asks", text)]);
    let make = format!("postroom --root {} setup --child nobody", room.root().display());
    let checked = workflow(&room, ["check", "asks"]).exits(4).out;
    assert_eq!(commands(&checked).collect::<Vec<_>>(), [make.as_str()], "{checked}");
    let ran = workflow(&room, ["run", "asks"]).exits(3);
    assert_eq!(commands(&ran.err).collect::<Vec<_>>(), [make.as_str()], "{ran:?}");
    room.paste(&make).succeeds();
    workflow(&room, ["check", "asks"]).succeeds();
}
