//! Mail of an agent in a tree: sent, looked at, read, answered, waited for.

use crate::support::project::Project;
use crate::support::until::until_watching;

#[test]
fn a_request_is_filed_shown_answered_and_comes_back() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "Find it");
    assert_eq!(project.status("explore", &id), "pending");
    let checked = project.by("explore", ["check"]).succeeds();
    assert_eq!(project.mask(&checked.out), "<day>-001 <age> alice: Find it\n");
    assert_eq!(project.status("explore", &id), "pending", "a look changes nothing");
    assert_eq!(project.by("explore", ["check", "--count"]).succeeds().out, "1\n");

    let shown = project.by("explore", ["read"]).succeeds();
    assert!(shown.out.contains("Find it\n") && shown.out.starts_with(&id), "{}", shown.out);
    assert_eq!(project.status("explore", &id), "in_progress");
    project.by("explore", ["check"]).exits(1);
    project.by("explore", ["read"]).exits(1);
    let again = project.by("explore", ["read", &id]).succeeds();
    assert!(again.out.contains("Find it"), "what was shown can be shown again: {}", again.out);

    project.by("explore", ["reply", &id, "-m", "It is here."]).succeeds();
    assert_eq!(project.status("explore", &id), "completed");
    assert!(project.tokens("explore").is_empty());
    let answer = project.by("alice", ["read"]).succeeds();
    assert!(
        answer.out.contains(" explore (unverified): ") && answer.out.contains("It is here."),
        "{}",
        answer.out
    );
    assert!(answer.out.contains("(unverified): re: Find it\n"), "{}", answer.out);
    let thread = project.by("alice", ["sent"]).succeeds();
    assert!(thread.out.contains("explore answered"), "{}", thread.out);
}

#[test]
fn ids_are_one_sequence_over_all_inboxes() {
    let project = Project::with(&["alice"], &["a", "b"]);
    let ids: Vec<String> = ["a", "b", "a", "b"]
        .iter()
        .map(|agent| project.ask("alice", agent, "job")[11..].to_owned())
        .collect();
    assert_eq!(ids, ["001", "002", "003", "004"]);
    // A number that somebody took by hand is passed over, and so is one in the archive.
    let day = project.ids("a")[0][..10].to_owned();
    project.put("b", &format!("{day}-005"), "");
    std::fs::create_dir_all(project.path("archive/inboxes/a")).unwrap();
    std::fs::rename(
        project.path(&format!("inboxes/b/{day}-005.md")),
        project.path(&format!("archive/inboxes/a/{day}-005.md")),
    )
    .unwrap();
    assert_eq!(project.ask("alice", "a", "job")[11..], *"006");
    std::fs::remove_dir_all(project.path(".postroom")).unwrap();
    assert_eq!(project.ask("alice", "a", "job")[11..], *"007");
}

#[test]
fn agents_of_one_tree_write_to_each_other() {
    let project = Project::with(&[], &["explore", "writer"]);
    let asked = project.ask("explore", "writer", "Write it up");
    let request = project.text(&format!("inboxes/writer/{asked}.md"));
    assert!(request.contains("\nfrom: explore\nto: writer\n"), "{request}");
    project.by("writer", ["read"]).succeeds();
    project.by("writer", ["reply", &asked, "-m", "Written."]).succeeds();
    let response = project.text(&format!("outboxes/writer/{asked}-response.md"));
    assert!(response.contains("\nfrom: writer\nto: explore\nstatus: completed\n"), "{response}");
    // Routed: information with the request's id, in the inbox of the agent that asked.
    let [routed] = project.ids("explore").try_into().unwrap();
    let text = project.text(&format!("inboxes/explore/{routed}.md"));
    assert!(
        text.contains(&format!("\nrequest_id: {asked}\nfrom: writer\nto: explore\nstatus: completed\n")),
        "{text}"
    );
    let shown = project.by("explore", ["read"]).succeeds();
    assert!(shown.out.contains(" writer (unverified): ") && shown.out.contains("Written."), "{}", shown.out);
    assert!(project.path(&format!("archive/inboxes/explore/{routed}.md")).exists(), "an answer needs none");
    // A second look carries nothing twice.
    project.by("explore", ["check"]).exits(1);
    assert_eq!(project.ids("explore").len(), 0);
}

#[test]
fn a_request_of_the_user_is_answered_in_the_outbox() {
    let project = Project::with(&[], &["explore"]);
    project.put("explore", "2025-03-04-001", "priority: high\n");
    let shown = project.by("explore", ["read"]).succeeds();
    assert!(shown.out.contains(" user (unverified): Do 2025-03-04-001."), "{}", shown.out);
    let ran = project.by("explore", ["reply", "2025-03-04-001", "-m", "Done."]).succeeds();
    assert!(ran.out.contains(" for user: "), "{}", ran.out);
    let response = project.text("outboxes/explore/2025-03-04-001-response.md");
    assert!(response.contains("\nto: user\npriority: high\nstatus: completed\n"), "{response}");
    assert_eq!(project.status("explore", "2025-03-04-001"), "completed");
}

#[test]
fn a_retry_with_an_id_is_not_filed_twice() {
    let project = Project::with(&["alice"], &["explore"]);
    let words =
        ["send", "explore", "--id", "c405e000-0000-4000-8000-000000000002", "-s", "job", "-m", "once"];
    project.by("alice", words).succeeds();
    assert!(project.by("alice", words).succeeds().out.starts_with("sent before "));
    assert_eq!(project.ids("explore").len(), 1);
    let ran = project.by("alice", [&words[..7], &["other words"]].concat()).exits(4);
    assert!(ran.err.contains("other contents was sent before"), "{}", ran.err);
    let id = project.ids("explore").pop().unwrap();
    for (status, folder) in [("in_progress", "working"), ("completed", "archive"), ("failed", "failed")] {
        project.set_by_hand("explore", &id, status);
        let ran = project.by("alice", words).succeeds();
        assert!(ran.out.starts_with("sent before "), "{status} {folder}: {}", ran.out);
    }
    assert_eq!(project.ids("explore").len(), 1);
}

#[test]
fn whole_ids_beginnings_and_digits_name_a_request() {
    let project = Project::with(&["alice"], &["explore"]);
    project.put("explore", "2025-03-04-100", "");
    project.put("explore", "2025-03-04-1000", "");
    // A whole id is no beginning of another one.
    let shown = project.by("explore", ["read", "--keep", "2025-03-04-100"]).succeeds();
    assert!(shown.out.contains("Do 2025-03-04-100."), "{}", shown.out);
    let ran = project.by("explore", ["read", "--keep", "2025-03-04-10"]).exits(4);
    assert!(ran.err.contains("fits several messages"), "{}", ran.err);
    project.by("explore", ["read", "--keep", "2025-03-04-1000.md"]).succeeds();
    let ran = project.by("alice", ["send", "explore", "-m", "by digits"]).succeeds();
    let digits = ran.out.split(' ').nth(1).unwrap().to_owned();
    let shown = project.by("explore", ["read", &digits]).succeeds();
    assert!(shown.out.contains("by digits"), "{}", shown.out);
}

#[test]
fn a_request_is_archived_unread_and_put_back() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let before = project.text(&format!("inboxes/explore/{id}.md"));
    project.by("explore", ["archive", &id]).succeeds();
    assert_eq!(project.status("explore", &id), "completed");
    project.by("explore", ["archive", &id]).succeeds();
    project.by("explore", ["unarchive", &id]).succeeds();
    assert_eq!(project.text(&format!("inboxes/explore/{id}.md")), before);
}

#[test]
fn a_waiting_agent_is_woken_by_a_request_and_by_an_answer() {
    let project = Project::with(&["alice"], &["explore", "writer"]);
    let timed_out = project.by("explore", ["wait", "--timeout", "0"]).exits(1);
    assert_eq!(timed_out.out, "");
    let waiting = project.by("explore", ["wait", "--timeout", "25"]).start();
    until_watching(&waiting);
    project.ask("alice", "explore", "wake up");
    let woken = waiting.wait_with_output().unwrap();
    assert_eq!(woken.status.code(), Some(0));
    assert!(String::from_utf8(woken.stdout).unwrap().contains("wake up"));
    project.by("explore", ["read"]).succeeds();

    // An answer that is written by hand into another agent's outbox.
    let asked = project.ask("explore", "writer", "question");
    let waiting = project.by("explore", ["wait", "--timeout", "25"]).start();
    until_watching(&waiting);
    project.respond("writer", &asked, "explore", "completed", "by hand\n");
    let woken = waiting.wait_with_output().unwrap();
    assert_eq!(woken.status.code(), Some(0));
    assert!(String::from_utf8(woken.stdout).unwrap().contains("re: question"));
}

#[test]
fn a_question_waits_for_its_answer() {
    let project = Project::with(&["alice"], &["explore"]);
    let asking = project.by("alice", ["ask", "explore", "-m", "where?", "--timeout", "25"]).start();
    crate::support::until::until("the question", || !project.ids("explore").is_empty());
    let id = project.ids("explore").pop().unwrap();
    project.by("explore", ["reply", &id, "-m", "there"]).succeeds();
    let told = asking.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(0));
    assert!(String::from_utf8(told.stdout).unwrap().contains("there"));
}

#[test]
fn who_read_nothing_consumes_nothing() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let mut reading = project.by("explore", ["read"]).closed_pipe();
    assert_ne!(reading.wait().unwrap().code(), Some(0));
    assert_eq!(project.status("explore", &id), "pending");
    project.by("explore", ["read", "--keep"]).succeeds();
    assert_eq!(project.status("explore", &id), "pending");
}
