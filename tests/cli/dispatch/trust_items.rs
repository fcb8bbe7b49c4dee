//! Trust item by item: what is edited is left out alone, and the person sees what would run and what changed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::crew::{self, crew, workflow};
use crate::support::room::{Ran, Run, TestRoom};
use crate::support::staffed::{AT_ONCE, dispatch, inbox, settle, shell, staffed, with_path};

/// A room, and a project beside it with these settings.
fn project(agents: &[&str], settings: &str) -> (TestRoom, PathBuf) {
    let room = staffed(agents, "");
    let project = room.around().join("project");
    std::fs::create_dir_all(project.join("sub")).unwrap();
    write(&project.join("postroom.toml"), settings);
    (room, project)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn go(room: &TestRoom, project: &Path, words: &[&str]) -> Run {
    with_path(room, room.run(words.iter().copied())).within(project)
}

#[track_caller]
fn trust(room: &TestRoom, project: &Path) -> Ran {
    go(room, project, &["trust"]).by_person().with(0)
}

/// The items that are left out.
fn left_out(room: &TestRoom, project: &Path) -> Vec<String> {
    let told = go(room, project, &["agents", "--json"]).ends();
    let told: serde_json::Value = serde_json::from_str(&told.out).unwrap_or_else(|e| panic!("{e}: {told:?}"));
    let items = told["untrusted"].as_array().unwrap();
    items.iter().map(|item| item["item"].as_str().unwrap().to_owned()).collect()
}

fn two(one: &str, other: &str) -> String {
    let table = |name, script: &str| shell(name, script, "").replace(AT_ONCE, "");
    format!("{}{}{AT_ONCE}", table("one", one), table("other", other))
}

/// Agents of real presets, each with this much in its table.
fn presets(agents: &[(&str, &str)]) -> String {
    let table = |(preset, more): &(&str, &str)| format!("[agents.{preset}]\npreset = \"{preset}\"\n{more}\n");
    agents.iter().map(table).collect()
}

#[test]
fn an_edited_agent_is_left_out_alone() {
    let (room, project) = project(&["one", "other"], &two("echo 1", "echo 2"));
    let file = project.join("postroom.toml");
    trust(&room, &project);
    assert!(left_out(&room, &project).is_empty());
    write(&file, &two("echo stolen", "echo 2"));
    assert_eq!(left_out(&room, &project), ["agent one"]);
    room.send("alice", "one", "x");
    room.send("alice", "other", "x");
    let told = go(&room, &project, &["dispatch"]).succeeds().err;
    let why = format!(
        "the agent `one` of {0} is left out until you have looked at it\n  postroom trust {0}",
        project.display()
    );
    assert!(told.contains(&why), "{told}");
    assert_eq!(inbox(&room, "alice"), ["2\n"]);
    assert_eq!(room.files("one", "inbox").len(), 1, "its message waits");
    let told = go(&room, &project, &["dispatch", "--only", "one"]).exits(3).err;
    assert!(told.contains("postroom trust "), "{told}");
    // What says nothing about agents is nobody's.
    write(&file, &format!("# a remark\nroom = \"main\"\n{}", two("echo 1", "echo 2")));
    assert!(left_out(&room, &project).is_empty());
    write(&file, &two("echo 1", "echo 2").replace("[agents.other]", "[agents.other]\ncwd = \"sub\""));
    assert_eq!(left_out(&room, &project), ["agent other"], "another directory");
}

#[test]
fn a_file_of_one_program_is_the_matter_of_agents_that_read_it() {
    let names = ["claude", "codex", "gemini", "opencode"];
    let (room, project) = project(&names, &presets(&names.map(|name| (name, ""))));
    write(&project.join(".gemini/settings.json"), "{}");
    trust(&room, &project);
    std::fs::create_dir(project.join(".claude")).unwrap();
    std::fs::rename(project.join(".gemini/settings.json"), project.join(".claude/settings.json")).unwrap();
    assert_eq!(left_out(&room, &project), ["agent claude", "agent gemini"]);
    trust(&room, &project);
    for (file, who) in [("opencode.jsonc", "opencode"), (".opencode/plugin/x.js", "opencode")] {
        write(&project.join(file), "{}");
        assert_eq!(left_out(&room, &project), [format!("agent {who}")], "{file}");
        trust(&room, &project);
    }
    write(&project.join("sub/.codex/config.toml"), "x = 1");
    assert!(left_out(&room, &project).is_empty(), "nobody works there");
}

#[test]
fn an_agent_counts_with_its_own_directory_only() {
    let more = "[agents.below]\npreset = \"claude\"\ncwd = \"sub\"\n";
    let settings = presets(&[("claude", ""), ("codex", "cwd = \"sub\"")]) + more;
    let (room, project) = project(&["claude", "codex", "below"], &settings);
    trust(&room, &project);
    for file in ["sub/.claude/settings.json", "sub/.mcp.json"] {
        write(&project.join(file), "{}");
        assert_eq!(left_out(&room, &project), ["agent below"], "{file}");
        let told = trust(&room, &project).out;
        assert!(
            told.contains("changed agent below\n") && told.contains(&format!("+ reads {file} ")),
            "{told}"
        );
    }
    write(&project.join("real/SKILL.md"), "one");
    symlink("../../real", project.join("sub/.claude/skills")).unwrap();
    assert_eq!(left_out(&room, &project), ["agent below"]);
    trust(&room, &project);
    write(&project.join("real/SKILL.md"), "two");
    assert_eq!(left_out(&room, &project), ["agent below"], "what a link leads to");
    trust(&room, &project);
    std::fs::rename(project.join("real"), project.join("moved")).unwrap();
    std::fs::remove_file(project.join("sub/.claude/skills")).unwrap();
    symlink("../../moved", project.join("sub/.claude/skills")).unwrap();
    assert_eq!(left_out(&room, &project), ["agent below"], "where a link leads");
}

#[test]
fn a_file_whose_name_is_no_text_was_not_covered() {
    let (room, project) = project(&["opencode"], &presets(&[("opencode", "")]));
    trust(&room, &project);
    let plugins = project.join(".opencode/plugin");
    std::fs::create_dir_all(&plugins).unwrap();
    std::fs::write(plugins.join(OsStr::from_bytes(b"x\xff.js")), "evil()").unwrap();
    assert_eq!(left_out(&room, &project), ["agent opencode"]);
    let refused = go(&room, &project, &["trust"]).by_person().with(4);
    assert!(refused.err.contains("cannot be covered by trust"), "{refused:?}");
}

#[test]
fn an_edited_workflow_is_left_alone_and_no_other() {
    let text = "steps:\n  a: {agent: one, prompt: x}\n";
    let room = crew(&[("one", "echo x")], &[("first", text), ("second", text)]);
    let file = crew::project(&room).join(".postroom/workflows/first.yaml");
    write(&file, "steps:\n  a: {agent: one, prompt: y}\n");
    let refused = workflow(&room, ["run", "first"]).exits(4).err;
    assert!(refused.contains("the workflow `first` of "), "{refused}");
    assert!(refused.contains("is left alone until you have looked at it"), "{refused}");
    workflow(&room, ["run", "second"]).succeeds();
    write(&file, text);
    workflow(&room, ["run", "first"]).succeeds();
    std::fs::rename(&file, file.with_file_name("third.yaml")).unwrap();
    workflow(&room, ["run", "third"]).exits(4);
}

#[test]
fn an_earlier_version_stays_trusted_unless_only_this_one_is() {
    let (room, project) = project(&["one", "other"], &two("echo 1", "echo 2"));
    let file = project.join("postroom.toml");
    trust(&room, &project);
    write(&file, &two("echo changed", "echo 2"));
    trust(&room, &project);
    write(&file, &two("echo 1", "echo 2"));
    assert!(left_out(&room, &project).is_empty(), "as on the branch before");
    assert!(trust(&room, &project).out.contains("unchanged agent one\n"));
    go(&room, &project, &["trust", "--only"]).by_person().with(0);
    assert!(left_out(&room, &project).is_empty());
    write(&file, &two("echo changed", "echo 2"));
    assert_eq!(left_out(&room, &project), ["agent one"]);
}

#[test]
fn trust_shows_what_would_run_and_then_what_changed() {
    let more = "cwd = \"sub\"\naccess = \"full\"\nenv = [\"TOKEN\"]\nsession = true";
    let (room, project) =
        project(&["one", "other", "codex"], &(presets(&[("codex", more)]) + &two("echo 1", "echo 2")));
    write(&project.join("sub/AGENTS.md"), "be good");
    let flow = "steps:\n  a: {agent: one, prompt: x, gate: {command: [make, 'all of it']}}\n";
    write(&project.join(".postroom/workflows/build.yaml"), flow);
    let shown = go(&room, &project, &["trust"]).by_doubter().with(1).out;
    assert!(!left_out(&room, &project).is_empty(), "nobody agreed");
    for line in [
        "new limits\n  back_off: 0s\n",
        "new agent codex\n  runs: codex exec --json ",
        "\n  directory: sub\n",
        "\n  access: full\n",
        "\n  session: true\n",
        "\n  variables: CODEX_API_KEY, CODEX_HOME, OPENAI_API_KEY, OPENAI_BASE_URL, TOKEN\n",
        "\n  reads: sub/AGENTS.md\n",
        "new agent one\n  runs: sh -c \"echo 1\"\n",
        "new workflow build (.postroom/workflows/build.yaml)\n  asks: one\n  step a runs: make \"all of it\"\n",
    ] {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    let told = trust(&room, &project).out;
    assert!(told.ends_with(&format!("trusted: {}\n", project.display())), "{told}");
    let again = trust(&room, &project).out;
    assert!(again.contains("unchanged agent codex\n") && !again.contains("runs:"), "{again}");
    write(&project.join("sub/AGENTS.md"), "be bad");
    write(&project.join(".postroom/workflows/build.yaml"), &flow.replace("all of it", "none"));
    let file = project.join("postroom.toml");
    let text =
        std::fs::read_to_string(&file).unwrap().replace("full", "read").replace("echo 2", "echo\\u001b[2J");
    write(&file, &text.replace("'''echo\\u001b[2J'''", "\"echo\\u001b[2J\""));
    let told = trust(&room, &project).out;
    assert!(!told.contains('\x1b'), "{told:?}");
    for line in [
        "changed agent codex\n",
        "\n  - access: full\n  + access: read\n",
        "\n  - reads sub/AGENTS.md sha256:",
        "\n  + reads sub/AGENTS.md sha256:",
        "unchanged agent one\n",
        "changed agent other\n",
        "changed workflow build (.postroom/workflows/build.yaml)\n",
        "\n  -   a: {agent: one, prompt: x, gate: {command: [make, 'all of it']}}\n",
        "\n  +   a: {agent: one, prompt: x, gate: {command: [make, 'none']}}\n",
    ] {
        assert!(told.contains(line), "{line:?} is not in {told}");
    }
}

#[test]
fn trust_as_data() {
    let (room, project) = project(&["one", "other"], &two("echo 1", "echo 2"));
    let told = go(&room, &project, &["trust", "--json"]).by_person().with(0).out;
    let documents: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [shown, done] = documents.try_into().unwrap();
    let one = &shown["items"][1];
    assert_eq!((&one["item"], &one["state"]), (&"agent one".into(), &"new".into()), "{shown}");
    assert_eq!(one["runs"], serde_json::json!(["sh", "-c", "echo 1"]));
    assert_eq!((&one["directory"], &one["access"]), (&".".into(), &"edit".into()));
    assert_eq!(done["trusted"], project.display().to_string());
}

#[test]
fn one_item_is_trusted_and_revoked_by_its_name() {
    let (room, project) = project(&["one", "other"], &two("echo 1", "echo 2"));
    let flow = "steps:\n  a: {agent: one, prompt: x}\n";
    write(&project.join(".postroom/workflows/first.yaml"), flow);
    write(&project.join(".postroom/workflows/second.yaml"), flow);
    let told =
        go(&room, &project, &["trust", "--agent", "one", "--workflow", "first"]).by_person().with(0).out;
    assert!(told.contains("new agent one\n") && !told.contains("other"), "{told}");
    assert_eq!(left_out(&room, &project), ["agent other"]);
    workflow(&room, ["run", "first"]).succeeds();
    workflow(&room, ["run", "second"]).exits(4);
    trust(&room, &project);
    assert!(left_out(&room, &project).is_empty());
    go(&room, &project, &["trust", "--revoke", "--agent", "one"]).by_person().with(0);
    assert_eq!(left_out(&room, &project), ["agent one"]);
    go(&room, &project, &["trust", "--revoke", "--agent", "one"]).by_person().with(1);
    let unknown = go(&room, &project, &["trust", "--agent", "nobody"]).by_person().with(3);
    assert!(unknown.err.contains("nobody"), "{unknown:?}");
    go(&room, &project, &["trust", "--revoke"]).by_person().with(0);
    assert_eq!(left_out(&room, &project), ["agent one", "agent other"]);
}

#[test]
fn limits_hold_for_every_agent_of_their_file() {
    let (room, project) = project(&["one", "other"], &two("echo 1", "echo 2"));
    let file = project.join("postroom.toml");
    trust(&room, &project);
    write(&file, &two("echo 1", "echo 2").replace(AT_ONCE, ""));
    assert_eq!(left_out(&room, &project), ["agent one", "agent other"], "limits were taken out");
    write(&file, &format!("{}hour_runs = 1000000\n", two("echo 1", "echo 2")));
    assert_eq!(left_out(&room, &project), ["agent one", "agent other"]);
    let told = trust(&room, &project).out;
    assert!(told.contains("changed limits\n") && told.contains("\n  + hour_runs: 1000000\n"), "{told}");
    assert!(left_out(&room, &project).is_empty());
}

/// Its table was changed, and so it would have run with the table of others.
#[test]
fn an_edited_agent_does_not_fall_back_to_a_pattern() {
    let table = |name: &str, script: &str| shell(name, script, "").replace(AT_ONCE, "");
    let all = |script: &str| {
        format!("{}{}{AT_ONCE}", table("\"farm.*\"", "echo farm"), table("\"farm.one\"", script))
    };
    let room = staffed(&["farm.one", "farm.two"], &all("echo one"));
    write(&room.root().join("postroom.toml"), &all("echo changed"));
    assert_eq!(left_out(&room, room.around()), ["agent farm.one"]);
    room.send("alice", "farm.one", "x");
    room.send("alice", "farm.two", "x");
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice"), ["farm\n"]);
    settle(&room, &all("echo one"));
}

/// A branch may bring other settings into the worktree in which an agent works.
#[test]
fn a_checkout_in_a_worktree_is_looked_at_again() {
    let (room, project) = project(&["worker"], &shell("worker", "echo x", "cwd = \"../tree\""));
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@example.org", "-C"]).arg(&project).args(words);
        let ran = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(ran.status.success(), "{words:?}: {ran:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    git(&["worktree", "add", "-q", "../tree", "-b", "work"]);
    write(&project.join(".mcp.json"), "{\"mcpServers\": {}}");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "two"]);
    std::fs::remove_file(project.join(".mcp.json")).unwrap();
    trust(&room, &project);
    room.send("alice", "worker", "x");
    let tree = room.around().join("tree");
    let tree = tree.to_str().unwrap();
    git(&["-C", tree, "merge", "-q", "main"]);
    let told = go(&room, &project, &["dispatch"]).exits(3).err;
    assert!(told.contains("the agent `worker` of ") && told.contains("is left out"), "{told}");
    assert_eq!(room.files("worker", "inbox").len(), 1);
    git(&["-C", tree, "reset", "-q", "--hard", "HEAD~1"]);
    go(&room, &project, &["dispatch"]).succeeds();
    assert_eq!(inbox(&room, "alice"), ["x\n"]);
}
