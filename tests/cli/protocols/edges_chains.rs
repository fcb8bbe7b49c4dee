//! Number 5: a chain of agents in a tree, Explore → Skill-Writer → Validator, in which each writes to the next by hand
//! and is answered. What is routed back is information, not a task, and what waits for a step says so.

use crate::support::project::Project;
use crate::support::room::Run;
use crate::support::staffed::{AT_ONCE, dispatch, program, settle, shell};

const AGENTS: [&str; 3] = ["explore", "skill-writer", "validator"];

/// What an agent runs: notes that it was started, writes to the next agent as the seed has it, and says what it did.
fn script(project: &Project, agent: &str, step: usize, next: Option<&str>) -> String {
    let log = project.dir.join("started");
    let file = |next: &str| {
        let id = format!("2026-01-02-00{}", step + 1);
        format!(
            "[ -e '{0}' ] || cat > '{0}' <<'EOF'\n---\nid: {id}\nfrom: {agent}\nto: {next}\npriority: normal # low | normal | high | urgent\n\
             status: pending\ncreated: 2026-01-02T12:00:0{step}Z\ncontext: \"From {agent}\"\nworkflow: create-skill\nstep: {1}\n---\n\n\
             ## Request\n\nGo on.\nEOF\n",
            project.path(&format!("inboxes/{next}/{id}.md")).display(),
            step + 1
        )
    };
    format!(
        "cat > /dev/null\necho {agent} >> '{}'\n{}echo '{agent} is done'",
        log.display(),
        next.map(file).unwrap_or_default()
    )
}

/// The three agents, each a program, and a first request by the user. `more` is added to the settings of explore.
fn chain(more: &str) -> Project {
    let project = Project::with(&[], &AGENTS);
    std::fs::create_dir_all(project.room.around().join("home")).unwrap();
    let mut settings = String::new();
    for (n, agent) in AGENTS.iter().enumerate() {
        let text = script(&project, agent, n + 1, AGENTS.get(n + 1).copied());
        let path = program(&project.room, agent, &text);
        let more = if n == 0 { more } else { "" };
        settings += &shell(agent, &path.display().to_string(), more).replace(AT_ONCE, "");
    }
    settle(&project.room, &format!("{settings}\n{AT_ONCE}"));
    project.put("explore", "2026-01-02-001", "workflow: create-skill\nstep: 1\n");
    project
}

/// Polls until nothing waits.
fn poll(project: &Project) {
    for _ in 0..8 {
        if dispatch(&project.room, []).ends().code == 1 {
            return;
        }
    }
    panic!("the chain does not end: {}", started(project).join(" "));
}

fn started(project: &Project) -> Vec<String> {
    let log = std::fs::read_to_string(project.dir.join("started")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

/// The text of the only answer in an inbox: what carries a `request_id`.
#[track_caller]
fn routed(project: &Project, agent: &str) -> String {
    let texts = project.names(&format!("inboxes/{agent}")).into_iter();
    let mut texts = texts.map(|name| project.text(&format!("inboxes/{agent}/{name}")));
    texts.find(|text| text.contains("\nrequest_id: ")).unwrap_or_else(|| panic!("no answer for {agent}"))
}

#[test]
fn a_chain_runs_to_its_end() {
    let project = chain("");
    poll(&project);
    assert_eq!(started(&project), AGENTS, "each once, in order");
    for (n, agent) in AGENTS.iter().enumerate() {
        let id = format!("2026-01-02-00{}", n + 1);
        assert_eq!(project.status(agent, &id), "completed", "{agent}");
        let response = project.text(&format!("outboxes/{agent}/{id}-response.md"));
        assert!(response.contains(&format!("{agent} is done")), "{response}");
    }
}

#[test]
fn a_routed_answer_is_no_task() {
    let project = chain("");
    poll(&project);
    for (asker, worker, request) in
        [("explore", "skill-writer", "2026-01-02-002"), ("skill-writer", "validator", "2026-01-02-003")]
    {
        let text = routed(&project, asker);
        let has = |line: &str| text.lines().any(|l| l == line);
        assert!(has("status: completed") && has(&format!("request_id: {request}")), "{text}");
        assert!(has(&format!("from: {worker}")) && has(&format!("to: {asker}")), "{text}");
        for key in ["workflow:", "step:"] {
            assert!(!text.lines().any(|line| line.starts_with(key)), "{key} {text}");
        }
        assert!(text.contains(&format!("{worker} is done")), "{text}");
        // It is unread mail until it is read.
        let header = project.room.header(asker);
        assert_eq!(header["from"]["name"], worker, "{header}");
        project.by(asker, ["read"]).succeeds();
        project.by(asker, ["check"]).exits(1);
    }
}

#[test]
fn an_answer_starts_an_agent_whose_settings_say_so() {
    let project = chain("answers = \"start\"");
    poll(&project);
    let mut all = started(&project);
    assert_eq!(all.len(), 4, "explore once more, for the answer: {all:?}");
    all.sort();
    assert_eq!(all, ["explore", "explore", "skill-writer", "validator"]);
}

#[test]
fn an_answer_by_command_lets_the_next_step_run() {
    // The same chain by the verbs of an orchestrator that is an agent's own session (protocols: tree §3.4).
    let project = Project::with(&[], &AGENTS);
    project.put("explore", "2026-01-02-001", "workflow: w\nstep: 1\n");
    project.put("skill-writer", "2026-01-02-002", "from: explore\nworkflow: w\nstep: 2\n");
    project.put("validator", "2026-01-02-003", "from: skill-writer\nworkflow: w\nstep: 3\n");
    for agent in AGENTS {
        let token = project.claim(agent, &[]);
        project.by(agent, ["done", &token, "-m", "done"]).succeeds();
    }
    assert_eq!(project.status("validator", "2026-01-02-003"), "completed");
}

#[test]
fn what_waits_for_a_step_says_so() {
    let project = Project::with(&[], &["explore", "skill-writer"]);
    std::fs::create_dir_all(project.room.around().join("home")).unwrap();
    let started = project.dir.join("started");
    settle(&project.room, &shell("skill-writer", &format!("touch '{}'; echo x", started.display()), ""));
    project.put("explore", "2026-01-02-001", "workflow: run-7\nstep: 2\n");
    project.put("skill-writer", "2026-01-02-002", "workflow: run-7\nstep: 3\n");
    let says = |run: Run, what: &str| {
        let ran = run.ends();
        let all = format!("{}{}", ran.out, ran.err);
        assert!(all.contains("waits for step 2 of run-7"), "{what}: {ran:?}");
    };
    says(project.by("skill-writer", ["check"]), "check");
    says(project.run(["tree", "status"]), "tree status");
    says(dispatch(&project.room, []), "dispatch");
    says(dispatch(&project.room, ["--dry-run"]), "dispatch --dry-run");
    assert!(!started.exists());
    project.set_by_hand("explore", "2026-01-02-001", "completed");
    for run in [project.by("skill-writer", ["check"]), project.run(["tree", "status"])] {
        let ran = run.ends();
        assert!(!format!("{}{}", ran.out, ran.err).contains("waits for step"), "{ran:?}");
    }
    dispatch(&project.room, []).succeeds();
    assert!(started.exists());
}
