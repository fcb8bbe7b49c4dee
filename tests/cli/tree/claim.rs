//! Claims in a tree: a request is taken with a lease, and finished, given back or given up by the holder of the token.

use crate::support::project::Project;

#[test]
fn a_request_is_taken_and_finished_with_an_answer() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let token = project.claim("explore", &[]);
    assert_eq!(
        (project.status("explore", &id).as_str(), project.tokens("explore")),
        ("in_progress", vec![token.clone()])
    );
    project.by("explore", ["claim"]).exits(1);
    let ran = project.by("explore", ["done", &token, "-m", "did it"]).succeeds();
    assert!(ran.out.contains("for alice"), "{}", ran.out);
    assert_eq!((project.status("explore", &id).as_str(), project.tokens("explore").len()), ("completed", 0));
    assert!(project.text(&format!("outboxes/explore/{id}-response.md")).ends_with("\n\ndid it"));
    assert_eq!(project.room.files("alice", "inbox").len(), 1);
    let late = project.by("explore", ["done", &token]).exits(3);
    assert!(late.err.contains("there is no claim"), "{}", late.err);
}

#[test]
fn done_without_a_text_takes_the_response_in_the_outbox() {
    let project = Project::with(&["alice"], &["explore"]);
    let bare = project.ask("alice", "explore", "first");
    let token = project.claim("explore", &[]);
    assert_eq!(project.by("explore", ["done", &token]).succeeds().out, format!("done {token}\n"));
    assert_eq!(project.status("explore", &bare), "completed");
    assert!(project.names("outboxes/explore").is_empty() && project.room.files("alice", "inbox").is_empty());

    let id = project.ask("alice", "explore", "second");
    let token = project.claim("explore", &[]);
    project.respond("explore", &id, "alice", "completed", "by the agent itself\n");
    project.by("explore", ["done", &token]).succeeds();
    assert_eq!(project.status("explore", &id), "completed");
    let answer = project.by("alice", ["read"]).succeeds();
    assert!(
        answer.out.contains("by the agent itself") && answer.out.contains("re: second"),
        "{}",
        answer.out
    );
}

#[test]
fn a_response_that_says_failed_fails_its_request() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let token = project.claim("explore", &[]);
    let text = format!(
        "---\nid: {id}-response\nrequest_id: {id}\nfrom: explore\nto: alice\nstatus: failed\nerror: no tests found\ncreated: 2025-03-04T10:05:00Z\n---\n\nSorry.\n"
    );
    project.write(&format!("outboxes/explore/{id}-response.md"), text);
    project.by("explore", ["done", &token]).succeeds();
    assert_eq!(project.status("explore", &id), "failed");
    assert!(project.text(&format!("inboxes/explore/{id}.md")).contains("\nerror: no tests found\n"));
    assert!(project.by("alice", ["read"]).succeeds().out.contains("Sorry."));
}

#[test]
fn a_claim_is_given_back_or_given_up() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let before = project.text(&format!("inboxes/explore/{id}.md"));
    let token = project.claim("explore", &[]);
    project.by("explore", ["release", &token]).succeeds();
    assert_eq!(project.text(&format!("inboxes/explore/{id}.md")), before);
    assert!(project.names("outboxes/explore").is_empty());

    let token = project.claim("explore", &[]);
    project.by("explore", ["fail", &token, "--reason", "no: \"way\""]).succeeds();
    let failed = project.text(&format!("inboxes/explore/{id}.md"));
    let wanted = before.replacen("status: pending", "status: failed", 1);
    let wanted = wanted.replacen("---\n\njob", "error: \"no: \\\"way\\\"\"\n---\n\njob", 1);
    assert_eq!(failed, wanted);
    let response = project.text(&format!("outboxes/explore/{id}-response.md"));
    assert!(
        response.contains("\nstatus: failed\n") && response.contains("\nerror: \"no: \\\"way\\\"\"\n"),
        "{response}"
    );
    let told = project.by("alice", ["read"]).succeeds();
    assert!(
        told.out.contains("field error: no: \"way\"") && told.out.contains("field bounce: 1"),
        "{}",
        told.out
    );
}

#[test]
fn a_failure_can_be_tried_again_and_then_answered() {
    // The response of the first try stood in the way of every later one.
    let project = Project::with(&["alice"], &["explore", "writer"]);
    for (asker, inbox) in [("alice", None), ("writer", Some("writer"))] {
        let id = project.ask(asker, "explore", "job");
        for reason in ["first", "second"] {
            let token = project.claim("explore", &[]);
            project.by("explore", ["fail", &token, "--reason", reason]).succeeds();
            let list = project.by("explore", ["failed", "list"]).succeeds().out;
            assert!(list.contains(&id) && list.contains(reason), "{list}");
            project.by("explore", ["failed", "retry", &id]).succeeds();
            assert_eq!(project.status("explore", &id), "pending");
        }
        let token = project.claim("explore", &[]);
        project.by("explore", ["done", &token, "-m", "at last"]).succeeds();
        assert_eq!(project.status("explore", &id), "completed");
        assert!(
            project.text(&format!("outboxes/explore/{id}-response.md")).contains("\nstatus: completed\n")
        );
        let told = match inbox {
            Some(agent) => project.ids(agent).len(),
            None => project.room.files(asker, "inbox").len(),
        };
        assert_eq!(told, 3, "{asker} hears of both failures and of the answer");
    }
    let archived = project.names("archive/outboxes/explore");
    assert_eq!(archived.len(), 4, "{archived:?}");
    while project.by("writer", ["read"]).ends().code == 0 {}
    project.run(["tree", "status"]).succeeds();
    // Nothing of the first tries keeps the chains from being finished.
    assert_eq!(project.run(["tree", "cleanup"]).succeeds().out.lines().count(), 2);
}

#[test]
fn a_lease_that_ends_gives_the_request_back_and_counts_the_attempt() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let before = project.text(&format!("inboxes/explore/{id}.md"));
    let stale = project.claim("explore", &["--lease", "0.05s"]);
    project.until_status("explore", &id, "pending");
    assert_eq!(project.text(&format!("inboxes/explore/{id}.md")), before);
    let ran = project.by("explore", ["done", &stale, "-m", "too late"]).exits(3);
    assert!(ran.err.contains("expired"), "{}", ran.err);
    assert!(project.names("outboxes/explore").is_empty(), "a stale owner answers nothing");
    let ran = project.by("explore", ["claim", "--json", "--lease", "1h"]).json();
    assert_eq!(ran["claim"]["attempt"], 2);
    let token = ran["claim"]["token"].as_str().unwrap().to_owned();
    project.by("explore", ["claim", "--renew", &token, "--lease", "2h"]).succeeds();
    project.by("explore", ["done", &token]).succeeds();
}

#[test]
fn what_was_read_and_not_answered_comes_back() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    project.by("explore", ["read"]).succeeds();
    let [token] = project.tokens("explore").try_into().unwrap();
    project.by("explore", ["check"]).exits(1);
    project.end_lease("explore", &token);
    assert!(project.by("explore", ["check"]).succeeds().out.contains("job"));
    assert_eq!((project.status("explore", &id).as_str(), project.tokens("explore").len()), ("pending", 0));
    // Read again and answered in time, it stays answered.
    project.by("explore", ["read"]).succeeds();
    project.by("explore", ["reply", &id, "-m", "done"]).succeeds();
    assert_eq!((project.status("explore", &id).as_str(), project.tokens("explore").len()), ("completed", 0));
}

#[test]
fn another_holder_of_the_request_keeps_it() {
    // An answer was once written before it was asked whose the claim was, and stood in the way of its owner's.
    let project = Project::with(&["alice", "bob"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let token = project.claim("bob", &["--queue", "explore"]);
    let ran = project.by("explore", ["reply", &id, "-m", "mine"]).exits(4);
    assert!(ran.err.contains("belongs to `bob`"), "{}", ran.err);
    assert!(project.names("outboxes/explore").is_empty());
    project.by("explore", ["done", &token]).exits(4);
    project.by("explore", ["release", &token]).exits(4);
    assert_eq!(project.status("explore", &id), "in_progress");
    project.by("bob", ["done", &token, "-m", "bob's"]).succeeds();
    assert!(project.by("alice", ["read"]).succeeds().out.contains("bob's"));
}

#[test]
fn an_answer_obeys_the_same_limits_as_a_letter() {
    // `done -m` on a tree once wrote what `send` refuses.
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let token = project.claim("explore", &[]);
    let secret = format!("key: AKIA{}", "ABCDEFGHIJKLMNOP");
    let ran = project.by("explore", ["done", &token, "-m", &secret]).exits(4);
    assert!(ran.err.contains("--allow-secrets"), "{}", ran.err);
    let ran = project.by("explore", ["reply", &id, "-m", &secret]).exits(4);
    assert!(ran.err.contains("--allow-secrets"), "{}", ran.err);
    project.by("explore", ["done", &token, "-m", "  "]).exits(4);
    assert!(project.names("outboxes/explore").is_empty());
    assert_eq!(project.status("explore", &id), "in_progress");
    project.by("explore", ["done", &token, "-m", &secret, "--allow-secrets"]).succeeds();
}

#[test]
fn a_request_that_somebody_began_by_hand_is_not_taken() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    project.set_by_hand("explore", &id, "in_progress");
    project.by("explore", ["claim"]).exits(1);
    let ran = project.by("explore", ["claim", &id]).exits(4);
    assert!(ran.err.contains("is not unread"), "{}", ran.err);
    project.by("explore", ["reply", &id, "-m", "by command"]).succeeds();
    assert_eq!(project.status("explore", &id), "completed");
}

#[test]
fn a_claim_whose_request_was_finished_by_hand_is_over() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "job");
    let token = project.claim("explore", &[]);
    project.set_by_hand("explore", &id, "completed");
    let ran = project.by("explore", ["done", &token, "-m", "x"]).exits(3);
    assert!(ran.err.contains("there is no claim"), "{}", ran.err);
    assert!(project.names("outboxes/explore").is_empty());
    project.by("explore", ["check"]).exits(1);
    assert!(project.tokens("explore").is_empty());
}
