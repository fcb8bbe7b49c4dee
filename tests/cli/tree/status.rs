//! `status` and `cleanup`: a tree as a whole.

use crate::support::picture::tree;
use crate::support::project::Project;

/// A tree in which everything happened.
fn busy() -> Project {
    let project = Project::with(&[], &["explore", "writer"]);
    project.put("explore", "2025-03-04-001", "status: completed\ncontext: First\n");
    project.respond("explore", "2025-03-04-001", "user", "completed", "done\n");
    project.put("explore", "2025-03-04-002", "status: failed\ncreated: 2025-03-04T10:00:02Z\n");
    project.put("writer", "2025-03-04-003", "created: 2025-03-04T10:00:03Z\nfrom: explore\n");
    project.put("writer", "2025-03-04-004", "status: in_progress\ncreated: 2025-03-04T10:00:04Z\n");
    project
}

#[test]
fn status_counts_lists_and_changes_nothing() {
    let project = busy();
    project.run(["tree", "shared", "set", "workflow-state", "current_step", "2"]).succeeds();
    let mail = |name: &String| !name.contains(".postroom");
    let picture = || tree(&project.dir).into_iter().filter(|(name, _)| mail(name)).collect::<Vec<_>>();
    let before = picture();
    let ran = project.run(["tree", "status"]).succeeds();
    insta::assert_snapshot!(ran.out, @r"
    explore pending=0 in_progress=0 completed=1 failed=1 responses=1
    writer pending=1 in_progress=1 completed=0 failed=0 responses=0 oldest=2025-03-04T10:00:03Z
    2025-03-04-004 2025-03-04T10:00:04Z user → writer in_progress: Do 2025-03-04-004.
    2025-03-04-003 2025-03-04T10:00:03Z explore → writer pending: Do 2025-03-04-003.
    2025-03-04-002 2025-03-04T10:00:02Z user → explore failed: Do 2025-03-04-002.
    2025-03-04-001 2025-03-04T10:00:00Z user → explore completed: First
    shared/workflow-state.md: current_step=2
    ");
    assert_eq!(ran.err, "");
    assert_eq!(project.run(["tree", "status", "--limit", "1"]).succeeds().out.matches(" → ").count(), 1);
    assert_eq!(project.run(["tree", "status", "--limit", "0"]).succeeds().out.matches(" → ").count(), 0);
    assert_eq!(picture(), before);
}

#[test]
fn the_document_says_the_same() {
    let project = busy();
    let text = project.text("outboxes/explore/2025-03-04-001-response.md");
    project.write(
        "outboxes/explore/2025-03-04-001-response.md",
        text.replacen("---\n", "---\nduration_seconds: 45\n", 1),
    );
    let told = project.run(["tree", "status", "--json", "--limit", "9"]).json();
    assert_eq!(
        (&told["v"], &told["tree"]),
        (&1.into(), &project.path("").to_str().unwrap().trim_end_matches('/').into())
    );
    assert_eq!(told["agents"][1]["messages"]["in_progress"], 1);
    assert_eq!(told["agents"][0]["responses"], 1);
    let latest = told["latest"].as_array().unwrap();
    assert_eq!(latest.len(), 4);
    assert_eq!(latest[3]["duration_seconds"], 45);
    assert_eq!(
        (&latest[1]["from"], &latest[1]["agent"], &latest[1]["status"]),
        (&"explore".into(), &"writer".into(), &"pending".into())
    );
    assert_eq!(told["faults"].as_array().unwrap().len(), 0);
    assert!(told["shared"]["session-context.md"].is_object(), "{told}");
}

#[test]
fn faults_are_told_with_file_line_and_field() {
    let project = busy().leaves_faults();
    let text = project.put("writer", "2025-03-04-005", "status: waiting\n");
    project.write("inboxes/writer/copy.md", project.text("inboxes/writer/2025-03-04-003.md"));
    project.respond("writer", "2025-03-04-999", "user", "completed", "x\n");
    project.write("shared/notes.md", "---\na: 1\na: 2\n---\n");
    let ran = project.run(["tree", "status"]).exits(4);
    insta::assert_snapshot!(project.mask(&ran.err), @r"
    postroom: <project>/.claude/inboxes/writer/<day>-005.md: line 6: `status`: not one of pending, in_progress, completed, failed
    postroom: <project>/.claude/inboxes/writer/copy.md: line 2: `id`: <day>-003 is in this inbox twice, also in <day>-003.md
    postroom: <project>/.claude/outboxes/writer/<day>-999-response.md: line 3: `request_id`: the request <day>-999 is not in the inbox of writer
    postroom: <project>/.claude/shared/notes.md: line 3: the field `a` is there twice
    ");
    assert!(ran.out.contains("writer pending=2"), "the rest is shown: {}", ran.out);
    let told = project.run(["tree", "status", "--json"]).json();
    assert_eq!(told["faults"].as_array().unwrap().len(), 4);
    assert_eq!(told["faults"][0]["file"], project.path("inboxes/writer/2025-03-04-005.md").to_str().unwrap());
    assert_eq!(project.text("inboxes/writer/2025-03-04-005.md"), text);
}

#[test]
fn an_inbox_that_can_be_nobody_s_is_told() {
    let project = busy();
    std::fs::create_dir(project.path("inboxes/my agent")).unwrap();
    std::os::unix::fs::symlink(project.path("inboxes/writer"), project.path("inboxes/linked")).unwrap();
    std::fs::create_dir(project.path("inboxes/.hidden")).unwrap();
    std::fs::write(project.path("inboxes/README"), "").unwrap();
    let ran = project.run(["tree", "status"]).exits(4);
    insta::assert_snapshot!(project.mask(&ran.err), @r"
    postroom: <project>/.claude/inboxes/linked: it is a symbolic link
    postroom: <project>/.claude/inboxes/my agent: not a valid agent name: a space is not allowed
    ");
}

#[test]
fn a_tree_is_named_or_found_from_below() {
    let project = busy();
    let wanted = project.run(["tree", "status"]).succeeds().out;
    let deep = project.dir.join("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    let here = project.dir.to_str().unwrap();
    let claude = project.path("").to_str().unwrap().to_owned();
    for (within, words) in [
        (&deep, vec!["tree", "status"]),
        (&project.path("inboxes/writer"), vec!["tree", "status"]),
        (&project.room.around().to_owned(), vec!["tree", "status", "--tree", "project"]),
        (&project.room.around().to_owned(), vec!["tree", "status", "--tree", here]),
        (&project.room.around().to_owned(), vec!["tree", "status", "--tree", &claude]),
    ] {
        assert_eq!(project.room.run(words.clone()).within(within).succeeds().out, wanted, "{words:?}");
    }
    for words in [
        vec!["tree", "status"],
        vec!["tree", "status", "--tree", "project/src"],
        vec!["tree", "cleanup"],
        vec!["tree", "shared", "get"],
    ] {
        let ran = project.room.run(words.clone()).ends();
        assert_eq!(ran.code, 3, "{words:?}: {ran:?}");
        assert!(
            ran.err.contains("there is no .claude tree") && ran.err.contains("--tree DIR"),
            "{}",
            ran.err
        );
    }
    // A .claude directory without inboxes belongs to somebody else, and the one above is meant.
    std::fs::create_dir(deep.join(".claude")).unwrap();
    assert_eq!(project.room.run(["tree", "status"]).within(&deep).succeeds().out, wanted);
}

#[test]
fn a_tree_needs_no_room() {
    let project = busy();
    let elsewhere = project.room.around().join("no-room");
    let run = |words: &[&str]| {
        project
            .room
            .bare(["--root", elsewhere.to_str().unwrap()].into_iter().chain(words.iter().copied()))
            .within(&project.dir)
    };
    run(&["tree", "status"]).succeeds();
    run(&["tree", "shared", "get"]).succeeds();
    run(&["tree", "cleanup"]).succeeds();
    assert!(!elsewhere.exists());
}

#[test]
fn finished_chains_go_to_the_archive() {
    let project = busy();
    let dry = project.run(["tree", "cleanup", "--dry-run"]).succeeds();
    assert_eq!(dry.out, "would archive 2025-03-04-001 of explore\n");
    assert!(!project.path("archive").exists());
    assert_eq!(project.run(["tree", "cleanup"]).succeeds().out, "archived 2025-03-04-001 of explore\n");
    assert_eq!(project.names("archive/inboxes/explore"), ["2025-03-04-001.md"]);
    assert_eq!(project.names("archive/outboxes/explore"), ["2025-03-04-001-response.md"]);
    assert_eq!(project.ids("explore"), ["2025-03-04-002"]);
    let again = project.run(["tree", "cleanup"]).exits(1);
    assert_eq!((again.out.as_str(), again.err.as_str()), ("", ""));
    // What is archived is read, and found, as before.
    assert!(
        project.by("explore", ["read", "2025-03-04-001"]).succeeds().out.contains("(unverified): First\n")
    );
    assert!(project.by("explore", ["search", "First"]).succeeds().out.contains("2025-03-04-001"));
    project.run(["tree", "status"]).succeeds();
}

#[test]
fn a_chain_that_an_open_message_refers_to_stays() {
    let project = Project::with(&[], &["explore", "writer"]);
    for (number, fields) in [("001", ""), ("002", "workflow: w\nstep: 1\n"), ("003", ""), ("004", "")] {
        let id = format!("2025-03-04-{number}");
        project.put("explore", &id, &format!("status: completed\n{fields}"));
        project.respond("explore", &id, "user", "completed", "done\n");
    }
    project.put("writer", "2025-03-04-005", "request_id: 2025-03-04-001\n");
    project.put("writer", "2025-03-04-006", "status: in_progress\nworkflow: w\nstep: 2\n");
    project.put("writer", "2025-03-04-007", "request_id: 2025-03-04-003-response\n");
    assert_eq!(project.run(["tree", "cleanup"]).succeeds().out, "archived 2025-03-04-004 of explore\n");
    for id in ["2025-03-04-005", "2025-03-04-006", "2025-03-04-007"] {
        project.set_by_hand("writer", id, "completed");
    }
    let told = project.run(["tree", "cleanup", "--json"]).json();
    let ids: Vec<_> =
        told["archived"].as_array().unwrap().iter().map(|chain| chain["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["2025-03-04-001", "2025-03-04-002", "2025-03-04-003"]);
    assert_eq!(told["archived"][0]["responses"][0], "2025-03-04-001-response.md");
}

#[test]
fn what_is_not_finished_stays() {
    let project = Project::with(&[], &["explore"]);
    for (number, request, response) in [
        ("001", "completed", None),
        ("002", "completed", Some("failed")),
        ("003", "failed", Some("completed")),
        ("004", "in_progress", Some("completed")),
        ("005", "pending", Some("completed")),
    ] {
        let id = format!("2025-03-04-{number}");
        project.put("explore", &id, &format!("status: {request}\n"));
        if let Some(status) = response {
            project.respond("explore", &id, "user", status, "x\n");
        }
    }
    project.run(["tree", "cleanup"]).exits(1);
    assert_eq!(project.ids("explore").len(), 5);
}
