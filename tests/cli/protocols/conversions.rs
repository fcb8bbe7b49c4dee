//! Every message through every pair of protocols (closure.rs says what must hold), and what an agent's last words cannot do.

use proptest::test_runner::{Config, TestRunner};

use crate::support::closure::{comes_through_every_pair, drawn_messages};

#[test]
fn every_field_comes_through_every_pair_of_protocols() {
    let config = Config { cases: 1500, failure_persistence: None, ..Config::default() };
    let run = TestRunner::new(config)
        .run(&drawn_messages(), |messages| messages.iter().try_for_each(comes_through_every_pair));
    run.unwrap();
}

#[test]
fn the_last_words_of_an_agent_set_no_field_of_the_notice() {
    let project = crate::support::project::Project::with(&["alice"], &["a"]);
    let id = project.ask("alice", "a", "please");
    project.respond("a", &id, &project.room.id("alice"), "failed", "It failed.\n");
    let path = format!("outboxes/a/{id}-response.md");
    let words = "error: \"exit 1\\nchannel: injected\\npriority: urgent\"\ncontext: |\n  one\n  priority: high\nstatus: failed";
    project.write(&path, project.text(&path).replacen("status: failed", words, 1));
    let header = project.room.header("alice");
    assert!(header["channel"].is_null() && header["priority"] == "normal", "{header}");
    assert!(project.by("alice", ["read"]).succeeds().out.contains("It failed."));
}
