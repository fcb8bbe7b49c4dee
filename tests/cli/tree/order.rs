//! The order of a poll (protocols: tree §3.4): priority, step within a run, time, id; and steps that wait.

use crate::support::project::Project;

/// The numbers of the requests that an agent reads, in order.
fn read_all(project: &Project, agent: &str) -> Vec<String> {
    let mut order = vec![];
    loop {
        let ran = project.by(agent, ["read", "--json"]).ends();
        if ran.code != 0 {
            return order;
        }
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        order.push(told["messages"][0]["subject"].as_str().unwrap()[14..].trim_end_matches('.').to_owned());
    }
}

fn arrange(project: &Project) {
    let put = |number: &str, second: u32, fields: &str| {
        let id = format!("2025-03-04-{number}");
        project.put("a", &id, &format!("created: 2025-03-04T10:00:{second:02}Z\n{fields}"));
    };
    put("001", 0, "workflow: w\nstep: 2\n");
    put("002", 1, "");
    put("003", 2, "workflow: w\nstep: 1\n");
    put("004", 3, "priority: urgent\n");
    put("1000", 4, "");
    put("999", 4, "priority: normal\n");
    put("005", 0, "priority: low\n");
    put("006", 9, "priority: high\n");
}

#[test]
fn check_and_read_follow_the_order() {
    let project = Project::with(&[], &["a"]);
    arrange(&project);
    let checked = project.by("a", ["check"]).succeeds();
    let order: Vec<_> =
        checked.out.lines().map(|line| line.split(' ').next().unwrap()[11..].to_owned()).collect();
    assert_eq!(order, ["004", "006", "003", "002", "001", "999", "1000", "005"]);
    let first = project.by("a", ["check", "--limit", "2"]).succeeds();
    assert_eq!(first.out.lines().count(), 3, "{}", first.out);
    assert!(first.out.contains("-004 ") && first.out.contains("-006 "), "{}", first.out);
    // Step 2 waits until step 1 is completed, and nobody completes it here.
    assert_eq!(read_all(&project, "a"), ["004", "006", "003", "002", "999", "1000", "005"]);
}

#[test]
fn claim_follows_the_order_and_lets_a_step_wait() {
    let project = Project::with(&[], &["a"]);
    arrange(&project);
    let mut order = vec![];
    while let Ok(told) =
        serde_json::from_str::<serde_json::Value>(&project.by("a", ["claim", "--json"]).ends().out)
    {
        let Some(token) = told["claim"]["token"].as_str() else { break };
        order.push(told["messages"][0]["subject"].as_str().unwrap()[14..].trim_end_matches('.').to_owned());
        project.by("a", ["done", token]).succeeds();
    }
    // Each is done at once, so step 2 comes as soon as step 1 is, in its own place.
    assert_eq!(order, ["004", "006", "003", "001", "002", "999", "1000", "005"]);
}

#[test]
fn a_step_waits_for_those_before_it_in_whatever_inbox() {
    let project = Project::with(&[], &["a", "b"]);
    project.put("a", "2025-03-04-001", "workflow: w\nstep: 1\n");
    project.put("b", "2025-03-04-002", "workflow: w\nstep: 2\n");
    project.put("b", "2025-03-04-003", "workflow: other\nstep: 2\n");
    project.put("b", "2025-03-04-004", "step: 9\n");
    assert_eq!(read_all(&project, "b"), ["003", "004"]);
    project.by("b", ["claim"]).exits(1);
    // In progress, failed and retried are not completed.
    for status in ["in_progress", "failed", "pending"] {
        project.set_by_hand("a", "2025-03-04-001", status);
        project.by("b", ["read"]).exits(1);
    }
    project.set_by_hand("a", "2025-03-04-001", "completed");
    assert_eq!(read_all(&project, "b"), ["002"]);
}

#[test]
fn steps_of_one_number_go_side_by_side() {
    let project = Project::with(&[], &["a"]);
    for (number, step) in [(1, 1), (2, 2), (3, 2), (4, 3)] {
        project.put("a", &format!("2025-03-04-00{number}"), &format!("workflow: w\nstep: {step}\n"));
    }
    let first = project.claim("a", &[]);
    project.by("a", ["claim"]).exits(1);
    project.by("a", ["done", &first]).succeeds();
    let two = [project.claim("a", &[]), project.claim("a", &[])];
    project.by("a", ["claim"]).exits(1);
    project.by("a", ["done", &two[0]]).succeeds();
    project.by("a", ["claim"]).exits(1);
    project.by("a", ["done", &two[1]]).succeeds();
    project.claim("a", &[]);
}

#[test]
fn a_step_that_waits_wakes_nobody() {
    // `wait` once ended at once with a message that `read` then did not give, for ever.
    let project = Project::with(&[], &["a", "b"]);
    project.put("a", "2025-03-04-001", "workflow: w\nstep: 1\n");
    project.put("b", "2025-03-04-002", "workflow: w\nstep: 2\n");
    project.by("b", ["wait", "--timeout", "0"]).exits(1);
    let waiting = project.by("b", ["wait", "--timeout", "25"]).start();
    crate::support::until::until_watching(&waiting);
    project.set_by_hand("a", "2025-03-04-001", "completed");
    let woken = waiting.wait_with_output().unwrap();
    assert_eq!(woken.status.code(), Some(0), "{woken:?}");
    project.by("b", ["read"]).succeeds();
}

#[test]
fn a_broken_request_keeps_nobody_from_the_others() {
    let project = Project::with(&[], &["a"]).leaves_faults();
    for number in 1..30 {
        project.put("a", &format!("2025-03-04-0{number:02}"), "status: waiting\n");
    }
    project.put("a", "2025-03-04-100", "priority: low\n");
    assert_eq!(read_all(&project, "a"), ["100"]);
}
