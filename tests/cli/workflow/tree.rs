//! Workflows in a `.claude` tree: requests are tasks, results are responses, and the state is in the tree's own shared
//! files.

use crate::support::crew::*;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, settle, staffed};

const TEXT: &str = "
about: Research, then write
steps:
  explore: {agent: explore, prompt: 'look', about: Research Python testing}
  write: {agent: writer, needs: explore, prompt: 'write {{ steps.explore.result }}', retry: 1}
  last: {agent: explore, needs: write, prompt: 'check {{ steps.write.result }}'}
";

fn tree(explore: &str, writer: &str) -> TestRoom {
    let agents = [("explore", explore), ("writer", writer)];
    let room = staffed(&[], &settings(&agents));
    let claude = project(&room).join(".claude/workflows");
    std::fs::create_dir_all(&claude).unwrap();
    std::fs::write(claude.join("write-up.yaml"), TEXT).unwrap();
    for agent in ["explore", "writer"] {
        room.run(["setup", agent, "--tree"]).arg(project(&room)).succeeds();
    }
    trust(&room);
    settle(&room, &settings(&agents));
    room
}

#[test]
fn a_run_in_a_tree_ends_as_in_a_room() {
    let room = tree("if grep -q look; then echo findings; else echo checked; fi", ECHO);
    let run = begin(&room, "write-up", &[]);
    dispatch(&room, []).succeeds();
    assert_eq!(status(&room, &run), "completed", "{:?}", steps(&room, &run));
    assert_eq!(results(&room, &run, "write"), ["write findings"]);
    let claude = project(&room).join(".claude");
    let request = std::fs::read_dir(claude.join("inboxes/writer")).unwrap().next().unwrap().unwrap().path();
    let request = std::fs::read_to_string(request).unwrap();
    for part in ["status: completed\n", &format!("workflow: {run}\nstep: 2\n")] {
        assert!(request.contains(part), "{part}: {request}");
    }
    let state = std::fs::read_to_string(claude.join("shared/workflow-state.md")).unwrap();
    assert!(
        state.starts_with(&format!(
            "---\nworkflow_id: {run}\nstatus: completed\ncurrent_step: 3\ntotal_steps: 3\n"
        )),
        "{state}"
    );
    assert!(state.contains("## Steps\n\n1. [x] explore: Research Python testing (explore)\n"), "{state}");
    assert_eq!(std::fs::read_to_string(claude.join(format!("shared/workflows/{run}.md"))).unwrap(), state);
    let session = std::fs::read_to_string(claude.join("shared/session-context.md")).unwrap();
    assert!(
        session.contains("agents_invoked:\n  - explore (completed)\n  - writer (completed)\n"),
        "{session}"
    );
    assert_eq!(
        room.run(["tree", "shared", "get", "workflow-state", "status"])
            .within(&project(&room))
            .succeeds()
            .out,
        "completed\n"
    );
}

#[test]
fn a_failed_attempt_does_not_hold_the_later_steps_back() {
    let writer = "if [ -e tried ]; then sed -n '/ bytes]$/{n;p;}'; else touch tried; exit 1; fi";
    let room = tree("if grep -q look; then echo findings; else echo checked; fi", writer);
    let run = begin(&room, "write-up", &[]);
    dispatch(&room, []).exits(5);
    assert_eq!(status(&room, &run), "completed", "{:?}", steps(&room, &run));
    assert_eq!(steps(&room, &run)[1].1, "done (attempt 2)");
}

#[test]
fn an_answer_by_hand_and_a_next_step_by_hand_are_taken() {
    let room = tree("echo unused", "echo unused");
    settle(&room, "");
    let run = begin(&room, "write-up", &[]);
    let claude = project(&room).join(".claude");
    let inbox = claude.join("inboxes/explore");
    let request =
        std::fs::read_dir(&inbox).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap();
    let id = request.trim_end_matches(".md").to_owned();
    // As the seed has it: the agent writes to the next agent's inbox, and then its own response.
    let day = &id[..10];
    let next = format!(
        "---\nid: {day}-900\nfrom: explore\nto: writer\nstatus: pending\ncreated: {day}T12:00:00Z\nworkflow: {run}\nstep: 2\n---\n\n## Request\n\nWrite it.\n"
    );
    std::fs::write(claude.join(format!("inboxes/writer/{day}-900.md")), next).unwrap();
    let respond = |agent: &str, id: &str, to: &str, text: &str| {
        let file = claude.join(format!("outboxes/{agent}/{id}-response.md"));
        let text = format!(
            "---\nid: {id}-response\nrequest_id: {id}\nfrom: {agent}\nto: {to}\nstatus: completed\ncreated: {day}T12:01:00Z\n---\n\n{text}\n"
        );
        std::fs::write(file, text).unwrap();
        let request = claude.join(format!("inboxes/{agent}/{id}.md"));
        let asked = std::fs::read_to_string(&request).unwrap();
        std::fs::write(&request, asked.replace("status: pending", "status: completed")).unwrap();
    };
    respond("explore", &id, &run, "by hand");
    workflow(&room, ["resume", &run]).succeeds();
    assert_eq!(results(&room, &run, "explore"), ["by hand"]);
    assert_eq!(
        std::fs::read_dir(claude.join("inboxes/writer")).unwrap().count(),
        1,
        "the next step is not asked twice"
    );
    respond("writer", &format!("{day}-900"), "explore", "written by hand");
    workflow(&room, ["resume", &run]).succeeds();
    assert_eq!(results(&room, &run, "write"), ["written by hand"]);
    let asked =
        std::fs::read_dir(&inbox).unwrap().map(|e| std::fs::read_to_string(e.unwrap().path()).unwrap());
    let next = |text: String| text.contains("check [") && text.contains("\nwritten by hand\n[");
    assert!(asked.into_iter().any(next), "the run goes on with it");
}
