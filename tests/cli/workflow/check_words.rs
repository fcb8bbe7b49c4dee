//! `workflow check` and the words of a definition: names, filters, tests and kinds that are wrong are told where they
//! stand, before anything runs; a text that is not YAML is refused in plain words; and a definition can be looked at.

use crate::support::crew::{ECHO, begin, crew, project, status, steps, workflow};
use crate::support::staffed::dispatch;

/// A workflow with inputs, a step to speak of, and this step after it.
fn with(step: &str) -> String {
    format!(
        "inputs: {{deep: 2, name: x, many: [a], yes: true}}\nsteps:\n  look: {{agent: one, prompt: x}}\n  tell:\n    agent: one\n    needs: look\n{step}"
    )
}

/// A line of a step that is wrong, the place of the fault and what is said of it. The step begins in line 7.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "    prompt: \"{{ steps.look.reslts | join(', ') }}\"\n",
        "7:17",
        "a step has no `reslts`; did you mean `results`?",
    ),
    ("    prompt: \"{{ steps['look'].reslts }}\"\n", "7:17", "a step has no `reslts`"),
    (
        "    prompt: \"{{ steps.look.results | jion(', ') }}\"\n",
        "7:38",
        "there is no filter `jion`; did you mean `join`?",
    ),
    (
        "    prompt: |\n      hello\n      {% if inputs.deep is nosuchtest %}x{% endif %}\n",
        "9:28",
        "there is no test `nosuchtest`",
    ),
    ("    prompt: |\n      hello\n      and {{ nope }}\n", "9:14", "`nope` is not defined here"),
    ("    prompt: >\n      hello\n      and {{ nope }}\n", "9:14", "`nope` is not defined here"),
    ("    prompt: 'it''s {{ nope }}'\n", "7:23", "`nope` is not defined here"),
    ("    prompt: it is {{ nope }}\n", "7:22", "`nope` is not defined here"),
    ("    prompt: \"{{ steps.loook.result }}\"\n", "7:17", "there is no step `loook`; did you mean `look`?"),
    ("    prompt: \"{{ inputs.deeep }}\"\n", "7:17", "there is no input `deeep`; did you mean `deep`?"),
    (
        "    prompt: \"{{ inputs.whatever }}\"\n",
        "7:17",
        "there is no input `whatever`; there are deep, name, many, yes",
    ),
    (
        "    prompt: x\n    on_failure: {step: loook}\n",
        "8:24",
        "there is no step `loook`; did you mean `look`?",
    ),
    (
        "    prompt: x\n    when: inputs.deep\n",
        "8:11",
        "`when` is true or false, but `inputs.deep` is a number",
    ),
    (
        "    prompt: x\n    when: \"{{ inputs.name }}\"\n",
        "8:15",
        "`when` is true or false, but `inputs.name` is a text",
    ),
    ("    prompt: x\n    when: \"'yes'\"\n", "8:11", "`when` is true or false, but `'yes'` is a text"),
    (
        "    prompt: x\n    foreach: inputs.deep\n",
        "8:14",
        "`foreach` is a list, but `inputs.deep` is a number",
    ),
    ("    prompt: x\n    foreach: inputs.name\n", "8:14", "`foreach` is a list, but `inputs.name` is a text"),
    ("    prompt: {{ 1 }}\n", "7:13", "a value that begins with `{{` needs quotes"),
    ("    prompt: hi {{ 1 }}: there\n", "7:23", "a value with `: ` in it needs quotes"),
    ("    prompt: [a\n    about: x\n", "7:13", "this `[` is never closed"),
    ("    prompt: \"a\n    about: x\n", "7:13", "this `\"` is never closed"),
    ("\tprompt: x\n", "7:1", "a tab cannot indent: indent with spaces"),
    ("   prompt: x\n", "7:4", "indent the keys of a map alike"),
];

#[test]
fn what_means_nothing_is_told_where_it_stands() {
    let room = crew(&[("one", ECHO)], &[]);
    let file = project(&room).join(".postroom/workflows/wrong.yaml");
    for (step, place, what) in WRONG {
        std::fs::write(&file, with(step)).unwrap();
        let told = workflow(&room, ["check", "wrong"]).exits(4).out;
        assert_eq!(told.lines().count(), 1, "{step}: {told}");
        assert!(
            told.contains(&format!("/wrong.yaml:{place}: ")) && told.contains(what),
            "{place} {what}: {told}"
        );
        workflow(&room, ["run", "wrong"]).exits(4);
    }
    assert!(!room.root().join(".workflows").exists(), "nothing has begun");
}

#[test]
fn what_is_right_stays_right() {
    let room = crew(&[("one", ECHO)], &[]);
    let file = project(&room).join(".postroom/workflows/right.yaml");
    for step in [
        "    prompt: \"{{ steps.look.results | join(', ') | default('x') | upper }}\"\n",
        "    prompt: \"{{ steps['look']['result'] }} {% raw %}{{ x | nothing }}{% endraw %} {# {{ y }} #}\"\n",
        "    prompt: \"{% for a in inputs.many %}{{ loop.index }} {{ a is string }}{% endfor %}\"\n",
        "    prompt: \"{% set is_x = 'a | b is c' %}{{ is_x }} {{ {'a': {'b': inputs.deep}} | tojson }}\"\n",
        "    prompt: x\n    when: inputs.yes\n    foreach: inputs.many\n",
        "    prompt: x\n    when: inputs.deep > 1 and inputs.name is not none\n    foreach: steps.look.results\n",
        "    prompt: x\n    when: steps.look.json.fine\n    foreach: [a, b]\n",
    ] {
        std::fs::write(&file, with(step)).unwrap();
        let told = workflow(&room, ["check", "right"]).succeeds().out;
        assert!(told.ends_with("right.yaml: right, 2 steps\n"), "{step}: {told}");
    }
}

#[test]
fn a_filter_makes_no_prompt_of_what_is_not_there() {
    let text = "steps:\n  a: {agent: one, prompt: x, output: json}\n  b:\n    agent: one\n    needs: a\n    prompt: |\n      All of them:\n      {{ steps.a.json.missing | join(', ') }}\n";
    let room = crew(&[("one", "echo '{}'")], &[("late", text)]);
    let run = begin(&room, "late", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "failed");
    let how = &steps(&room, &run)[1].1;
    assert_eq!(
        how,
        "failed (its template cannot be rendered: `steps.a.json.missing | join(', ')` (line 8, column 10): undefined value)"
    );
}

#[test]
fn a_file_that_cannot_be_a_workflow_is_told_as_such() {
    let room = crew(&[("one", ECHO)], &[("broken", "steps: {}\n")]);
    let place = project(&room).join(".postroom/workflows");
    std::fs::write(place.join("two steps.yaml"), "steps:\n  a: {agent: one, prompt: x}\n").unwrap();
    let listed = workflow(&room, ["list"]).succeeds().out;
    assert!(listed.contains("`two steps.yaml` project: the file name is wrong"), "{listed}");
    assert!(
        listed.contains("broken project: 1 fault: postroom ") && listed.contains(" workflow check broken\n"),
        "{listed}"
    );
    let refused = workflow(&room, ["check", "two steps"]).exits(3).err;
    assert!(refused.contains("there is no workflow `two steps`: the file name is wrong"), "{refused}");
    assert!(refused.contains("rename ") && refused.contains("two steps.yaml"), "{refused}");
    let missing = workflow(&room, ["check", "./nosuch.yaml"]).exits(3).err;
    assert!(missing.contains("there is no file ") && missing.contains("nosuch.yaml"), "{missing}");
}

#[test]
fn a_definition_is_printed_as_it_is() {
    let room = crew(&[], &[("broken", "steps: {}  # not yet\n")]);
    let printed = workflow(&room, ["graph", "plan-approve", "--yaml"]).succeeds().out;
    std::fs::write(project(&room).join(".postroom/workflows/mine.yaml"), &printed).unwrap();
    workflow(&room, ["graph", "mine"]).succeeds();
    assert!(printed.contains("\nsteps:\n"), "{printed}");
    let own = workflow(&room, ["graph", "broken", "--yaml"]).succeeds().out;
    assert_eq!(own, "steps: {}  # not yet\n", "wrong or right, it can be looked at");
    let document = workflow(&room, ["graph", "plan-approve", "--yaml", "--json"]).json();
    assert_eq!((document["yaml"].as_str(), document["file"].is_null()), (Some(printed.as_str()), true));
    workflow(&room, ["graph", "plan-approve", "--yaml", "--mermaid"]).exits(2);
}
