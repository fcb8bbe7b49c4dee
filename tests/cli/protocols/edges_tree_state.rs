//! Number 6, what lies around the requests of a tree: shared state, finished chains, names outside the tree, and names
//! after an interruption.

use crate::protocols::conformance::reads_once;
use crate::support::edges_strike::{can_be_struck, points, sample, struck};
use crate::support::project::Project;
use crate::support::room::TestRoom;
use crate::support::staffed::dispatch;

const STATE: &str = "---\nworkflow_id: create-skill\nstatus: in_progress\ncurrent_step: 1\ntotal_steps: 3\n---\n\n## Steps\n\n\
    1. [ ] Explore: Research Python testing patterns\n2. [ ] Skill-Writer: Create skill from findings\n\
    3. [ ] Validator: Test skill activation\n\n## Accumulated Results\n\n";

/// Whatever collects what was written by hand.
fn collect(project: &Project) {
    dispatch(&project.room, []).ends();
    for agent in ["explore", "skill-writer", "validator"] {
        project.by(agent, ["check"]).ends();
    }
}

#[test]
fn a_chain_by_hand_updates_the_shared_state() {
    let project = Project::with(&[], &["explore", "skill-writer", "validator"]);
    project.write("shared/workflow-state.md", STATE);
    let in_state = |line: &str| project.text("shared/workflow-state.md").lines().any(|l| l == line);
    let invoked = |line: &str| {
        let text = project.text("shared/session-context.md");
        text.lines().any(|l| l.trim_start() == format!("- {line}"))
    };
    project.put("explore", "2026-01-02-001", "workflow: create-skill\nstep: 1\n");
    project.respond("explore", "2026-01-02-001", "user", "completed", "## Summary\n\nfound\n");
    project.put("skill-writer", "2026-01-02-002", "from: explore\nworkflow: create-skill\nstep: 2\n");
    collect(&project);
    let shown = project.text("shared/workflow-state.md");
    assert!(in_state("1. [x] Explore: Research Python testing patterns"), "{shown}");
    assert!(in_state("2. [ ] Skill-Writer: Create skill from findings"), "{shown}");
    // As in the seed: the step that comes next is the current one.
    assert!(in_state("current_step: 2") && in_state("total_steps: 3"), "{shown}");
    assert!(invoked("explore (completed)"), "{}", project.text("shared/session-context.md"));
    project.respond("skill-writer", "2026-01-02-002", "explore", "completed", "written\n");
    project.put("validator", "2026-01-02-003", "from: skill-writer\nworkflow: create-skill\nstep: 3\n");
    collect(&project);
    project.respond("validator", "2026-01-02-003", "skill-writer", "completed", "valid\n");
    for _ in 0..2 {
        collect(&project);
    }
    let shown = project.text("shared/workflow-state.md");
    assert!(in_state("current_step: 3") && shown.matches("[x]").count() == 3, "{shown}");
    let session = project.text("shared/session-context.md");
    for agent in ["explore", "skill-writer", "validator"] {
        assert!(invoked(&format!("{agent} (completed)")), "{session}");
        assert_eq!(session.matches(&format!("- {agent} (")).count(), 1, "{session}");
    }
}

#[test]
fn a_clean_up_takes_routed_answers_too() {
    let project = Project::with(&[], &["explore", "writer"]);
    let id = project.ask("explore", "writer", "question");
    project.by("writer", ["reply", &id, "-m", "answer"]).succeeds();
    let [routed] = project.ids("explore").try_into().unwrap();
    reads_once(&project.room, "explore");
    project.run(["tree", "cleanup"]).succeeds();
    for tray in ["inboxes/explore", "inboxes/writer", "outboxes/writer"] {
        assert_eq!(project.names(tray), [""; 0], "{tray}");
    }
    assert_eq!(project.names("archive/inboxes/explore"), [format!("{routed}.md")]);
    project.by("explore", ["check"]).exits(1);
    project.run(["tree", "cleanup"]).exits(1);
}

#[test]
fn a_request_that_was_retried_and_completed_has_no_error() {
    let project = Project::with(&["alice"], &["writer"]);
    let id = project.ask("alice", "writer", "question");
    let token = project.claim("writer", &[]);
    project.by("writer", ["fail", &token, "--reason", "no compiler"]).succeeds();
    let file = format!("inboxes/writer/{id}.md");
    assert!(project.text(&file).contains("\nerror: "), "{}", project.text(&file));
    project.by("writer", ["failed", "retry", &id]).succeeds();
    let token = project.claim("writer", &[]);
    project.by("writer", ["done", &token, "-m", "found one"]).succeeds();
    assert_eq!(project.status("writer", &id), "completed");
    assert!(!project.text(&file).contains("\nerror:"), "{}", project.text(&file));
}

#[test]
fn a_hand_in_a_tree_reaches_a_name_outside_it() {
    let project = Project::with(&["alice"], &["explore"]);
    std::fs::create_dir(project.path("inboxes/alice")).unwrap();
    project.put("alice", "2026-01-02-001", "from: explore\ncontext: \"Over here\"\n");
    let header = project.room.header("alice");
    assert_eq!((&header["subject"], &header["from"]["name"]), (&"Over here".into(), &"explore".into()));
    assert_eq!(project.room.headers("alice").len(), 1, "a second look brings no second one");
    // Alice is no agent of the tree for it.
    let named = project.room.run(["names"]).succeeds().out;
    assert_eq!(named.matches("alice ").count(), 1, "{named}");
    project.by("alice", ["reply", header["id"].as_str().unwrap(), "-m", "seen"]).succeeds();
    assert_eq!(reads_once(&project.room, "explore")["body"], "seen");
    project.by("alice", ["check"]).exits(1);
}

/// Kills `command` at a sample of its points, runs it again, and insists that every inbox has one name.
#[track_caller]
fn killed_and_repeated(room: impl Fn() -> TestRoom, command: &str) {
    let calls = "openat,mkdirat,mkdir,renameat,renameat2,rename,linkat,unlinkat,fsync,write";
    let all = points(&room(), calls, command);
    for point in sample(all, 20) {
        let room = room();
        struck(&room, &point, "signal=KILL", command);
        room.bash(&format!("postroom {command}")).succeeds();
        // The doctor brings back a mailbox that is in the room without a name.
        room.run(["doctor", "--fix"]).ends();
        let text = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
        let registry: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut inboxes: Vec<_> =
            registry.as_object().unwrap().values().map(|e| e["inbox"].as_str()).collect();
        inboxes.sort_unstable();
        inboxes.dedup();
        assert_eq!((inboxes.len(), registry.as_object().unwrap().len()), (3, 3), "{point:?}: {text}");
        room.by("alice", ["send", "@all", "-m", "hello"]).succeeds();
        for agent in ["explore", "writer"] {
            room.of_agent("inboxes", agent).only();
        }
    }
}

#[test]
fn a_setup_that_was_killed_names_no_inbox_twice() {
    if !can_be_struck("a_setup_that_was_killed_names_no_inbox_twice") {
        return;
    }
    let room = || {
        let room = TestRoom::with(&["alice"]).leaves_faults();
        std::fs::create_dir(room.around().join("project")).unwrap();
        room
    };
    killed_and_repeated(room, "setup -q --tree project explore writer");
}

#[test]
fn an_adoption_that_was_killed_names_no_inbox_twice() {
    if !can_be_struck("an_adoption_that_was_killed_names_no_inbox_twice") {
        return;
    }
    let room = || {
        let room = TestRoom::with(&["alice"]).leaves_faults();
        for agent in ["explore", "writer"] {
            std::fs::create_dir_all(room.of_agent("inboxes", agent).0).unwrap();
            std::fs::create_dir_all(room.of_agent("outboxes", agent).0).unwrap();
        }
        room
    };
    killed_and_repeated(room, "adopt -q project");
}
