//! What a second reader broke in the trees of projects (the rest is in broken.rs).

use std::time::UNIX_EPOCH;

use crate::protocols::conformance::{claim, reads_once, reference};
use crate::support::hand::age;
use crate::support::kinds_room::{Folder, task};
use crate::support::project::Project;
use crate::support::until::until_at_last;

const ID: &str = "2026-01-02-001";

fn project() -> Project {
    Project::with(&["alice"], &["explore", "writer"])
}

#[test]
fn a_failure_of_an_answer_is_information() {
    for asker in ["alice", "explore"] {
        let project = project();
        let id = project.ask(asker, "writer", "question");
        project.by("writer", ["reply", &id, "-m", "answer"]).succeeds();
        let token = claim(&project.room, asker, &[]);
        project.by(asker, ["fail", &token, "--reason", "no use"]).succeeds();
        let ids = project.ids("writer");
        assert_eq!(ids.len(), 2, "{asker}: the task and the failure of its answer");
        for id in &ids {
            let text = project.text(&format!("inboxes/writer/{id}.md"));
            assert_eq!(project.status("writer", id), "completed", "{asker}: {text}");
        }
        let told = reads_once(&project.room, "writer");
        assert!(told["body"].as_str().unwrap().contains("no use"), "{asker}: {told}");
        project.by("writer", ["claim"]).exits(1);
    }
}

#[test]
fn an_agent_takes_no_mail_of_its_namesake_in_another_tree() {
    let project = project().leaves_faults();
    let other = project.room.around().join("other/.claude");
    for below in ["inboxes/writer", "inboxes/stranger", "outboxes"] {
        std::fs::create_dir_all(other.join(below)).unwrap();
    }
    project.room.run(["adopt", other.parent().unwrap().to_str().unwrap()]).ends();
    let inbox = Folder(other.join("inboxes/writer"));
    let text = task(ID, "stranger", "writer", "secret of the other project\n");
    inbox.put(&format!("{ID}.md"), &text);
    let checked = project.by("writer", ["check"]).exits(1);
    assert!(!checked.out.contains("secret"), "{checked:?}");
    project.by("writer", ["claim"]).exits(1);
    assert_eq!(project.ids("writer"), Vec::<String>::new());
    assert_eq!(inbox.text(&inbox.only()), text);
}

#[test]
fn two_agents_that_answer_one_message_by_hand_are_both_heard() {
    let project = project();
    project.by("alice", ["send", "explore", "writer", "-m", "hello both"]).succeeds();
    for agent in ["explore", "writer"] {
        let [id] = project.ids(agent).try_into().unwrap();
        let alice = project.room.of_agent("inboxes", agent).field("from");
        project.respond(agent, &id, &alice, "completed", &format!("said by {agent}\n"));
    }
    let headers = project.room.headers("alice");
    assert_eq!(headers.len(), 2, "{headers:?}");
    for header in &headers {
        let read = project.by("alice", ["read", &reference(header), "--json"]).json();
        let from = header["from"]["name"].as_str().unwrap();
        assert!(read["messages"][0]["body"].as_str().unwrap().contains(&format!("said by {from}")), "{read}");
    }
    assert_ne!(headers[0]["from"]["name"], headers[1]["from"]["name"]);
    project.by("alice", ["check"]).exits(1);
    for agent in ["explore", "writer"] {
        assert_eq!(project.status(agent, &project.ids(agent)[0]), "completed");
    }
}

/// Uses one id for two tasks, with a clean-up between them.
#[track_caller]
fn uses_an_id_again(between: impl Fn()) {
    let project = project();
    for answer in ["answer one", "answer two"] {
        let text = task(ID, "explore", "writer", &format!("Give {answer}.\n"));
        project.room.of_agent("inboxes", "writer").put(&format!("{ID}.md"), text);
        let replied = project.by("writer", ["reply", ID, "-m", answer]).succeeds();
        let headers = project.room.headers("explore");
        assert_eq!(headers.len(), 1, "{answer}: {replied:?}");
        assert!(reads_once(&project.room, "explore")["body"].as_str().unwrap().contains(answer), "{answer}");
        assert_eq!(project.status("writer", ID), "completed", "{answer}");
        project.run(["tree", "cleanup"]).succeeds();
        assert_eq!(project.ids("writer"), Vec::<String>::new(), "{answer}");
        between();
    }
}

#[test]
fn an_id_that_is_used_again_after_a_clean_up_gets_its_own_answer() {
    let second = || UNIX_EPOCH.elapsed().unwrap().as_secs();
    uses_an_id_again(|| {
        let start = second();
        until_at_last("another second", || second() > start);
    });
}

#[test]
fn a_clean_up_leaves_a_chain_whose_answer_is_unread() {
    let project = project();
    project.put("writer", ID, "from: explore\n");
    project.by("writer", ["reply", ID, "-m", "the answer"]).succeeds();
    project.run(["tree", "cleanup"]).ends();
    assert_eq!(project.ids("writer"), [ID]);
    assert!(reads_once(&project.room, "explore")["body"].as_str().unwrap().contains("the answer"));
    project.run(["tree", "cleanup"]).succeeds();
    assert_eq!(project.ids("writer"), Vec::<String>::new());
}

#[test]
fn a_clean_up_leaves_a_chain_whose_answer_was_not_carried_yet() {
    let project = project();
    project.put("writer", ID, "from: explore\n");
    project.set_by_hand("writer", ID, "completed");
    project.respond("writer", ID, "explore", "completed", "the answer\n");
    project.run(["tree", "cleanup"]).ends();
    assert!(reads_once(&project.room, "explore")["body"].as_str().unwrap().contains("the answer"));
    project.run(["tree", "cleanup"]).succeeds();
    assert_eq!(project.ids("writer"), Vec::<String>::new());
}

#[test]
fn an_asker_whose_inbox_was_made_by_hand_gets_its_answer() {
    let project = project();
    std::fs::create_dir(project.path("inboxes/newbie")).unwrap();
    project.put("writer", ID, "from: newbie\n");
    project.by("writer", ["reply", ID, "-m", "yes"]).succeeds();
    assert_eq!(project.ids("newbie").len(), 1);
    assert!(reads_once(&project.room, "newbie")["body"].as_str().unwrap().contains("yes"));
}

#[test]
fn a_huge_file_in_the_inbox_of_an_agent_does_not_stop_it() {
    let project = project().leaves_faults();
    project.by("alice", ["send", "writer", "-m", "good"]).succeeds();
    let filling = |size: usize| vec![b'x'; size];
    let foreign = b"---\nfrom: alice\nmsg_id: abcdef01-0000-4000-8000-000000000001\nsubject: s\n---\n\n";
    for huge in [
        filling(30_000_000),
        [b"---\nfoo: bar\n---\n".to_vec(), filling(3_000_000)].concat(),
        [foreign.to_vec(), filling(3_000_000)].concat(),
    ] {
        project.write("inboxes/writer/huge.md", huge);
        age(&project.path("inboxes/writer/huge.md"), 60);
        let ran = project.by("writer", ["check"]).succeeds();
        assert!(ran.out.ends_with(" alice: good\n"), "{ran:?}");
    }
}

#[test]
fn a_reply_to_a_routed_answer_archives_it() {
    let project = project();
    let id = project.ask("explore", "writer", "question");
    project.by("writer", ["reply", &id, "-m", "answer"]).succeeds();
    let answer = reference(&project.room.header("explore"));
    project.by("explore", ["reply", &answer, "-m", "and then?"]).succeeds();
    project.by("explore", ["check"]).exits(1);
    assert_eq!(project.ids("explore"), Vec::<String>::new());
    assert_eq!(project.names("archive/inboxes/explore").len(), 1);
    assert!(reads_once(&project.room, "writer")["body"].as_str().unwrap().contains("and then?"));
}

/// Copies the response to a task of `asker` into its inbox, as an orchestrator of another make does.
#[track_caller]
fn comes_once(project: &Project, asker: &str, id: &str) {
    let from = project.room.of_agent("inboxes", "writer").field("from");
    project.respond("writer", id, &from, "completed", "the answer\n");
    project.set_by_hand("writer", id, "completed");
    let copy = Folder(project.path(&format!("inboxes/{from}")));
    let response = project.text(&format!("outboxes/writer/{id}-response.md"));
    copy.put(&format!("{id}-response.md"), response);
    let answer = reads_once(&project.room, asker);
    assert!(answer["body"].as_str().unwrap().contains("the answer"), "{asker}: {answer}");
    project.by("writer", ["check"]).exits(1);
    project.by(asker, ["check"]).exits(1);
}

#[test]
fn an_answer_to_a_task_by_hand_that_an_orchestrator_copied_comes_once() {
    let project = project();
    project.put("writer", ID, "from: explore\n");
    comes_once(&project, "explore", ID);
}

#[test]
fn an_answer_to_an_agent_that_an_orchestrator_copied_comes_once() {
    let project = project();
    let id = project.ask("explore", "writer", "question");
    comes_once(&project, "explore", &id);
}

#[test]
fn an_answer_to_a_name_outside_the_tree_that_an_orchestrator_copied_comes_once() {
    let project = project();
    let id = project.ask("alice", "writer", "question");
    comes_once(&project, "alice", &id);
}
