//! Number 6: the orchestrator of a tree meets what agents write by hand.

use std::time::Duration;

use crate::protocols::conformance::reads_once;
use crate::support::project::Project;
use crate::support::staffed::{dispatch, settle, shell};

/// A project whose agents note in `started` that they ran.
fn project(names: &[&str], agents: &[&str], staff: &[&str]) -> Project {
    let project = Project::with(names, agents);
    std::fs::create_dir_all(project.room.around().join("home")).unwrap();
    let one = |agent: &&str| {
        let script = format!("cat > /dev/null; echo {agent} >> '{}'; echo said", started(&project).display());
        shell(agent, &script, "").replace(crate::support::staffed::AT_ONCE, "")
    };
    let all: String = staff.iter().map(one).collect();
    settle(&project.room, &format!("{all}\n{}", crate::support::staffed::AT_ONCE));
    project
}

fn started(project: &Project) -> std::path::PathBuf {
    project.dir.join("started")
}

#[test]
fn a_response_by_hand_completes_its_request_and_starts_nobody() {
    for status in ["pending", "in_progress"] {
        let project = project(&["alice"], &["writer"], &["writer"]);
        let id = project.ask("alice", "writer", "question");
        project.set_by_hand("writer", &id, status);
        project.respond("writer", &id, "alice", "completed", "## Summary\n\nby hand\n");
        let ran = dispatch(&project.room, []).ends();
        assert!(!started(&project).exists(), "{status}: {ran:?}");
        assert_eq!(project.status("writer", &id), "completed", "{status}: {ran:?}");
        let response = project.text(&format!("outboxes/writer/{id}-response.md"));
        assert!(response.ends_with("## Summary\n\nby hand\n"), "{response}");
        assert!(reads_once(&project.room, "alice")["body"].as_str().unwrap().contains("by hand"));
        dispatch(&project.room, []).exits(1);
    }
}

#[test]
fn a_response_by_hand_that_says_failed_fails_its_request() {
    let project = project(&["alice"], &["writer"], &["writer"]);
    let id = project.ask("alice", "writer", "question");
    project.respond("writer", &id, "alice", "failed", "## Summary\n\nno compiler\n");
    dispatch(&project.room, []).ends();
    assert!(!started(&project).exists());
    assert_eq!(project.status("writer", &id), "failed");
    assert!(reads_once(&project.room, "alice")["body"].as_str().unwrap().contains("no compiler"));
}

#[test]
fn what_was_answered_by_hand_is_given_to_nobody() {
    let project = Project::with(&["alice"], &["writer"]);
    let id = project.ask("alice", "writer", "question");
    project.respond("writer", &id, "alice", "completed", "by hand\n");
    project.by("writer", ["claim"]).exits(1);
    project.by("writer", ["check"]).exits(1);
    assert_eq!(project.status("writer", &id), "completed");
    reads_once(&project.room, "alice");
}

#[test]
fn an_inbox_made_by_hand_is_an_agent() {
    let project = project(&["alice"], &["writer"], &["writer", "newbie"]);
    std::fs::create_dir(project.path("inboxes/newbie")).unwrap();
    project.by("alice", ["send", "newbie", "-m", "welcome"]).succeeds();
    let [id] = project.ids("newbie").try_into().unwrap();
    assert_eq!(project.status("newbie", &id), "pending");
    assert_eq!(project.room.header("newbie")["subject"], "welcome");
    project.put("newbie", "2026-01-02-001", "");
    dispatch(&project.room, []).succeeds();
    assert_eq!(std::fs::read_to_string(started(&project)).unwrap(), "newbie\nnewbie\n");
    assert!(reads_once(&project.room, "alice")["body"].as_str().unwrap().contains("said"));
    let named = project.room.run(["names", "newbie"]).succeeds().out;
    assert!(named.starts_with("newbie tree "), "{named}");
}

#[test]
fn a_request_in_an_inbox_made_by_hand_is_polled_without_a_name() {
    let project = project(&[], &["writer"], &["newbie"]);
    std::fs::create_dir(project.path("inboxes/newbie")).unwrap();
    project.put("newbie", "2026-01-02-001", "");
    dispatch(&project.room, []).succeeds();
    assert_eq!(project.status("newbie", "2026-01-02-001"), "completed");
    assert!(project.path("outboxes/newbie/2026-01-02-001-response.md").exists());
}

#[test]
fn no_hint_makes_another_mailbox_of_an_inbox_made_by_hand() {
    let project = Project::with(&["alice"], &["writer"]);
    std::fs::create_dir(project.path("inboxes/newbie")).unwrap();
    for words in [vec!["send", "newbie", "-m", "x"], vec!["send", "newbi", "-m", "x"]] {
        let ran = project.by("alice", words).ends();
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains("setup newbie"), "{ran:?}");
    }
    for words in [vec!["check"], vec!["whoami"]] {
        let ran = project.by("newbie", words).ends();
        assert!(matches!(ran.code, 0 | 1), "{ran:?}");
        assert!(!ran.err.contains("setup newbie"), "{ran:?}");
    }
}

#[test]
fn requests_that_cannot_be_read_are_reported() {
    let project = project(&[], &["writer"], &["writer"]).leaves_faults();
    let path = project.path("inboxes/writer/2026-01-02-001.md");
    std::fs::write(&path, "---\nid: 2026-01-02-001\nfrom: user\nFrom: other\n---\n\n## Request\n\nx\n")
        .unwrap();
    crate::support::hand::age(&path, 60);
    let before = std::fs::read(&path).unwrap();
    let runs = [
        ("check", project.by("writer", ["check"])),
        ("tree status", project.run(["tree", "status"])),
        ("dispatch", dispatch(&project.room, [])),
    ];
    for (what, run) in runs {
        let ran = run.ends();
        assert!(ran.err.contains("2026-01-02-001.md"), "{what}: {ran:?}");
    }
    assert!(!started(&project).exists(), "nobody is started for it");
    assert_eq!(std::fs::read(&path).unwrap(), before, "and it stays as it is");
}

/// The value of `duration_seconds` in a response.
fn duration(project: &Project, id: &str) -> Option<u64> {
    let text = project.text(&format!("outboxes/writer/{id}-response.md"));
    let value = text.lines().find_map(|line| line.strip_prefix("duration_seconds: "));
    value.map(|value| value.trim().parse().unwrap())
}

#[test]
fn a_duration_counts_from_the_begin_of_the_work() {
    let project = Project::with(&[], &["writer"]);
    std::fs::create_dir_all(project.room.around().join("home")).unwrap();
    settle(&project.room, &shell("writer", "cat > /dev/null; sleep 1; echo said", ""));
    // Both were filed long before anybody began.
    project.put("writer", "2025-03-04-001", "");
    dispatch(&project.room, []).succeeds();
    assert!(matches!(duration(&project, "2025-03-04-001"), Some(1..30)));
    project.put("writer", "2025-03-04-002", "");
    let token = project.claim("writer", &[]);
    std::thread::sleep(Duration::from_millis(1100));
    project.by("writer", ["done", &token, "-m", "said"]).succeeds();
    assert!(matches!(duration(&project, "2025-03-04-002"), Some(1..30)));
}

#[test]
fn a_duration_of_a_hand_counts_from_in_progress() {
    let project = Project::with(&[], &["writer"]);
    project.put("writer", "2025-03-04-001", "status: in_progress\n");
    crate::support::hand::age(&project.path("inboxes/writer/2025-03-04-001.md"), 120);
    project.by("writer", ["reply", "2025-03-04-001", "-m", "said"]).succeeds();
    // It has been in progress since the file was changed, and nobody knows more.
    let said = duration(&project, "2025-03-04-001");
    assert!(matches!(said, None | Some(120..150)), "{said:?}");
}
