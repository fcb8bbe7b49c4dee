//! Agents that work by hand in a tree: what they write into their outboxes is carried to the asker, once.

use crate::support::project::Project;

#[test]
fn an_answer_by_hand_reaches_an_asker_outside_the_tree() {
    let project = Project::with(&["alice"], &["writer"]);
    let words =
        ["send", "writer", "-s", "Second", "-m", "write", "--priority", "urgent", "--channel", "build"];
    project.by("alice", words.into_iter().chain(["--field", "step=3", "--field", "note=kept"])).succeeds();
    let [id] = project.ids("writer").try_into().unwrap();
    project.by("alice", ["check"]).exits(1);
    project.set_by_hand("writer", &id, "completed");
    project.respond("writer", &id, "alice", "completed", "## Summary\n\nby hand\n");
    let shown = project.by("alice", ["read"]).succeeds();
    insta::assert_snapshot!(project.mask(&shown.out), @r"
    <id> <age> writer (unverified): re: Second
    answers: <id>
    priority: urgent
    channel: build
    field note: kept
    field step: 3
    [<id>: 20 bytes]
    ## Summary

    by hand
    [<id> end]
    ");
    for _ in 0..2 {
        project.by("alice", ["check"]).exits(1);
    }
    assert_eq!(project.room.files("alice", "archive").len(), 1, "carried once");
    assert!(project.by("alice", ["sent"]).succeeds().out.contains("writer answered"));
}

#[test]
fn an_answer_by_hand_reaches_an_asker_in_the_tree_once() {
    let project = Project::with(&[], &["explore", "writer"]);
    let asked = project.ask("explore", "writer", "question");
    project.set_by_hand("writer", &asked, "completed");
    project.respond("writer", &asked, "explore", "completed", "by hand\n");
    assert!(project.by("explore", ["check"]).succeeds().out.contains("writer"));
    let [routed] = project.ids("explore").try_into().unwrap();
    let text = project.text(&format!("inboxes/explore/{routed}.md"));
    assert!(text.contains(&format!("\nrequest_id: {asked}\nfrom: writer\nto: explore\n")), "{text}");
    project.by("explore", ["read"]).succeeds();
    // Neither a later look nor a clean-up brings it a second time.
    project.by("explore", ["check"]).exits(1);
    project.run(["tree", "cleanup"]).succeeds();
    project.by("explore", ["check"]).exits(1);
    assert_eq!(project.ids("explore").len() + project.names("archive/inboxes/explore").len(), 1);
}

#[test]
fn a_request_filed_by_hand_is_answered_to_an_agent_and_to_a_name() {
    let project = Project::with(&["alice"], &["explore", "writer"]);
    project.put("writer", "2025-03-04-001", "from: explore\n");
    project.put("writer", "2025-03-04-002", "from: alice\n");
    for number in ["001", "002"] {
        project.by("writer", ["reply", &format!("2025-03-04-{number}"), "-m", "here"]).succeeds();
    }
    assert_eq!(project.ids("explore").len(), 1);
    let text = project.text(&format!("inboxes/explore/{}.md", project.ids("explore")[0]));
    assert!(text.contains("\nrequest_id: 2025-03-04-001\n"), "{text}");
    assert_eq!(project.room.files("alice", "inbox").len(), 1);
}

#[test]
fn another_response_stays_and_the_request_with_it() {
    let project = Project::with(&["alice"], &["writer"]);
    let id = project.ask("alice", "writer", "question");
    let token = project.claim("writer", &[]);
    project.respond("writer", &id, "alice", "completed", "what the hand wrote\n");
    let path = format!("outboxes/writer/{id}-response.md");
    let before = project.text(&path);
    let ran = project.by("writer", ["reply", &id, "-m", "what the command says"]).exits(4);
    assert!(ran.err.contains("has another response already") && ran.err.contains(&path), "{}", ran.err);
    project.by("writer", ["done", &token, "-m", "what the command says"]).exits(4);
    assert_eq!(
        (project.text(&path), project.status("writer", &id)),
        (before.clone(), "in_progress".to_owned())
    );
    // A response that cannot be read stays too.
    project.write(&path, "half a resp");
    project.by("writer", ["done", &token, "-m", "x"]).exits(4);
    assert_eq!(project.text(&path), "half a resp");
    project.write(&path, before);
    project.by("writer", ["done", &token]).succeeds();
    assert!(project.by("alice", ["read"]).succeeds().out.contains("what the hand wrote"));
}

#[test]
fn an_answer_that_was_interrupted_is_finished_by_the_next_run() {
    let project = Project::with(&["alice"], &["explore", "writer"]);
    for asker in ["alice", "explore"] {
        let id = project.ask(asker, "writer", "question");
        project.by("writer", ["reply", &id, "-m", "the answer"]).succeeds();
        let path = format!("outboxes/writer/{id}-response.md");
        let response = project.text(&path);
        // As a kill between the response and the status leaves it, and the same before the answer was carried.
        for status in ["pending", "in_progress"] {
            project.set_by_hand("writer", &id, status);
            let ran = project.by("writer", ["reply", &id, "-m", "the answer"]).succeeds();
            assert!(ran.out.contains("before"), "it did arrive the first time: {}", ran.out);
            assert_eq!(
                (project.text(&path), project.status("writer", &id)),
                (response.clone(), "completed".to_owned())
            );
        }
    }
    assert_eq!((project.room.files("alice", "inbox").len(), project.ids("explore").len()), (1, 1));
}

#[test]
fn an_answer_whose_carrying_was_cut_off_is_carried_later() {
    let project = Project::with(&["alice"], &["writer"]);
    let id = project.ask("alice", "writer", "question");
    // What is there after a kill right behind the response.
    project.respond("writer", &id, "alice", "completed", "the answer\n");
    let ran = project.by("writer", ["reply", &id, "-m", "the answer\n"]).ends();
    // The one by hand says `to: alice`, ours would say her id: it is another one, and stays.
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(project.by("alice", ["read"]).succeeds().out.contains("the answer"));
}

#[test]
fn two_trees_have_agents_and_numbers_of_their_own() {
    let project = Project::with(&["alice"], &["writer"]);
    let other = project.room.around().join("other");
    std::fs::create_dir(&other).unwrap();
    project.room.run(["setup", "--tree", "other", "tester"]).succeeds();
    let first = project.ask("alice", "writer", "here");
    project.by("alice", ["send", "tester", "-m", "there"]).succeeds();
    assert!(other.join(format!(".claude/inboxes/tester/{first}.md")).exists(), "each tree counts for itself");
    project.by("tester", ["reply", &first, "-m", "from there"]).succeeds();
    project.by("writer", ["reply", &first, "-m", "from here"]).succeeds();
    assert_eq!(project.room.files("alice", "inbox").len(), 2, "equal ids of two trees are two requests");
    // Agents of two trees are strangers that know each other's names.
    project.by("tester", ["send", "writer", "-m", "across"]).succeeds();
    let asked = project.ids("writer").pop().unwrap();
    project.by("writer", ["reply", &asked, "-m", "back"]).succeeds();
    assert!(project.by("tester", ["read"]).succeeds().out.contains("back"));
}

#[test]
fn a_tree_that_moved_is_told() {
    let project = Project::with(&["alice"], &["writer"]).leaves_faults();
    project.ask("alice", "writer", "question");
    std::fs::rename(&project.dir, project.dir.with_extension("moved")).unwrap();
    for words in [vec!["--as", "alice", "send", "writer", "-m", "x"], vec!["--as", "writer", "check"]] {
        let ran = project.room.run(words).exits(3);
        assert!(ran.err.contains("are missing"), "{}", ran.err);
    }
    project.by("alice", ["check"]).exits(1);
    std::fs::rename(project.dir.with_extension("moved"), &project.dir).unwrap();
    project.by("writer", ["check"]).succeeds();
}

#[test]
fn a_deleted_postroom_directory_is_done_without() {
    let project = Project::with(&["alice"], &["explore", "writer"]);
    let asked = project.ask("explore", "writer", "question");
    project.by("writer", ["read"]).succeeds();
    std::fs::remove_dir_all(project.path(".postroom")).unwrap();
    // Nobody knows of a lease now: it is in progress until somebody says more.
    project.by("writer", ["check"]).exits(1);
    project.by("writer", ["reply", &asked, "-m", "nevertheless"]).succeeds();
    std::fs::remove_dir_all(project.path(".postroom")).unwrap();
    assert!(project.by("explore", ["read"]).succeeds().out.contains("nevertheless"));
    std::fs::remove_dir_all(project.path(".postroom")).unwrap();
    project.run(["tree", "cleanup"]).succeeds();
    assert_eq!(project.ask("alice", "writer", "next")[11..], *"003");
}

#[test]
fn an_answer_that_cannot_be_carried_keeps_nobody_from_their_mail() {
    // A response of an odd form once made every command of its asker fail.
    let project = Project::with(&["alice"], &["writer"]);
    project.room.limit("mailbox_messages = 3\nbody_bytes = 2000");
    let heads = [
        "from: \"John Smith\"\n",
        "from: w\ncontext: |\n  two\n  lines\n",
        "from: w\ncontext: \"\\e[31m\"\n",
    ];
    for head in heads {
        let id = project.ask("alice", "writer", "question");
        project.set_by_hand("writer", &id, "completed");
        let text = format!(
            "---\nid: {id}-response\nrequest_id: {id}\n{head}to: alice\nstatus: completed\ncreated: 2025-03-04T10:05:00Z\n---\n\nthe answer\n"
        );
        project.write(&format!("outboxes/writer/{id}-response.md"), text);
        assert!(project.by("alice", ["read"]).succeeds().out.contains("the answer"), "{head}");
    }
    // Too long for the room: it waits where it is.
    let id = project.ask("alice", "writer", "question");
    project.set_by_hand("writer", &id, "completed");
    project.respond("writer", &id, "alice", "completed", &"long ".repeat(1000));
    project.by("alice", ["check"]).exits(1);
    // A full mailbox can still be looked at and read, and then the rest comes.
    project.respond("writer", &id, "alice", "completed", "short\n");
    for n in 0..3 {
        project.by("writer", ["send", "alice", "-m", &format!("fill {n}")]).succeeds();
    }
    assert_eq!(project.by("alice", ["check"]).succeeds().out.lines().count(), 3);
    for _ in 0..4 {
        project.by("alice", ["read"]).succeeds();
    }
    assert!(project.by("alice", ["search", "short"]).succeeds().out.contains("re: question"));
}
