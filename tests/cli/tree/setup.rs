//! `setup --tree`: a tree is laid out, its agents get names, and nothing that is there is touched.

use std::os::unix::fs::symlink;

use crate::support::picture::tree;
use crate::support::project::{Project, names_in};

#[test]
fn a_tree_is_laid_out_and_its_agents_named() {
    let project = Project::with(&["alice"], &[]);
    let ran = project.setup(["explore", "writer"]).succeeds();
    insta::assert_snapshot!(project.mask(&ran.out), @r"
    adopted: explore tree <project>/.claude/inboxes/explore
    adopted: writer tree <project>/.claude/inboxes/writer
    ");
    let found: Vec<_> = tree(&project.dir).into_iter().map(|(path, what)| format!("{path} {what}")).collect();
    insta::assert_snapshot!(found.join("\n"), @r"
    .claude directory 700
    .claude/inboxes directory 700
    .claude/inboxes/explore directory 700
    .claude/inboxes/writer directory 700
    .claude/outboxes directory 700
    .claude/outboxes/explore directory 700
    .claude/outboxes/writer directory 700
    .claude/shared directory 700
    .claude/shared/session-context.md file 600: ---\nsession_id:\nstarted:\nuser_goal:\nagents_invoked:\n---\n\n## Current State\n\n## Decisions Made\n\n## Open Questions\n
    .claude/shared/workflow-state.md file 600: ---\nworkflow_id:\nstatus:\ncurrent_step:\ntotal_steps:\n---\n\n## Steps\n\n## Accumulated Results\n
    ");
    insta::assert_snapshot!(project.room.run(["names"]).succeeds().out, @r"
    alice maildir shell unread=0 seen just now
    explore tree unknown unread=0 never seen
    writer tree unknown unread=0 never seen
    ");
}

#[test]
fn setup_again_changes_nothing_and_adds_what_is_new() {
    let project = Project::with(&[], &["explore", "writer"]);
    project.put("explore", "2025-03-04-001", "");
    project.write("shared/session-context.md", "mine");
    let (files, room) = (tree(&project.dir), project.room.tree());
    let ran = project.setup(["explore", "writer"]).succeeds();
    assert_eq!(ran.out.matches("already here: ").count(), 2, "{}", ran.out);
    assert_eq!(tree(&project.dir), files);
    project.room.is_still(&room, "setup again");
    let ran = project.setup(["explore", "tester", "tester"]).succeeds();
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    assert_eq!(project.names("inboxes"), ["explore", "tester", "writer"]);
    // Without agents it names those that are there.
    std::fs::create_dir(project.path("inboxes/by-hand")).unwrap();
    let ran = project.setup([]).succeeds();
    assert!(ran.out.contains("adopted: by-hand "), "{}", ran.out);
}

#[test]
fn the_document_tells_each_agent() {
    let project = Project::with(&[], &["explore"]);
    let told = project.setup(["explore", "writer", "--json"]).json();
    assert_eq!(told["v"], 1);
    let states: Vec<_> = told["adopted"].as_array().unwrap().iter().map(|a| &a["state"]).collect();
    assert_eq!(states, ["already here", "adopted"]);
    assert_eq!(told["adopted"][1]["id"], project.room.id("writer"));
    assert_eq!(told["adopted"][1]["inbox"], project.path("inboxes/writer").to_str().unwrap());
}

#[test]
fn a_bad_name_is_refused_before_anything_is_made() {
    let project = Project::with(&["alice"], &[]);
    let long = "x".repeat(65);
    let before = project.room.tree();
    for name in ["../x", "a/b", "/etc", "..", ".x", "", "a b", "a\nb", "a..b", "ümlaut", "x\u{202e}y", &long]
    {
        let ran = project.setup(["good", "--", name]).exits(4);
        assert!(ran.err.contains("the agent `") && ran.out.is_empty(), "{name:?}: {ran:?}");
        assert_eq!(names_in(&project.dir), [""; 0], "{name:?}");
    }
    project.room.is_still(&before, "a refused setup");
}

#[test]
fn a_taken_name_is_told_and_the_others_are_named() {
    let project = Project::with(&["alice"], &[]);
    let ran = project.setup(["Alice", "explore"]).exits(4);
    assert!(ran.err.contains("the name `Alice` is taken; free are Alice-2"), "{}", ran.err);
    assert!(ran.out.starts_with("adopted: explore "), "{}", ran.out);
    // Who has the name keeps it, and its mail.
    project.by("explore", ["send", "alice", "-m", "to the one in the room"]).succeeds();
    assert_eq!(project.room.files("alice", "inbox").len(), 1);
    assert!(project.names("inboxes/Alice").is_empty());
}

#[test]
fn the_mail_is_kept_out_of_the_history_if_wanted() {
    let project = Project::with(&[], &[]);
    project.setup(["explore"]).succeeds();
    assert!(!project.dir.join(".gitignore").exists());
    std::fs::write(project.dir.join(".gitignore"), b"b\xfcild\r\n/.claude/shared/").unwrap();
    project.setup(["explore", "--gitignore"]).succeeds();
    let wanted = b"b\xfcild\r\n/.claude/shared/\n/.claude/inboxes/\n/.claude/outboxes/\n/.claude/archive/\n/.claude/.postroom/\n";
    assert_eq!(std::fs::read(project.dir.join(".gitignore")).unwrap(), wanted);
    project.setup(["explore", "--gitignore"]).succeeds();
    assert_eq!(std::fs::read(project.dir.join(".gitignore")).unwrap(), wanted);
    project.room.run(["setup", "bob", "--gitignore"]).exits(2);
}

#[test]
fn a_link_or_a_file_in_the_place_of_a_tree_is_refused() {
    let project = Project::with(&[], &["explore"]);
    let other = project.room.around().join("other");
    std::fs::create_dir(&other).unwrap();
    let setup = |code| project.room.run(["setup", "--tree", "other", "tester"]).exits(code);
    symlink(project.path(""), other.join(".claude")).unwrap();
    assert!(setup(4).err.contains("is a symbolic link"));
    std::fs::remove_file(other.join(".claude")).unwrap();
    std::fs::write(other.join(".claude"), "a file").unwrap();
    assert!(setup(4).err.contains("is a regular file, not a directory"));
    std::fs::remove_file(other.join(".claude")).unwrap();
    std::fs::create_dir(other.join(".claude")).unwrap();
    symlink(project.path("inboxes"), other.join(".claude/inboxes")).unwrap();
    assert!(setup(4).err.contains("is a symbolic link"));
    assert_eq!(project.names("inboxes"), ["explore"]);
    let ran = project.room.run(["setup", "--tree", "missing", "tester"]).exits(4);
    assert!(ran.err.contains("missing"), "{}", ran.err);
}

#[test]
fn what_an_agent_can_do_stands_in_its_own_file() {
    let project = Project::with(&[], &[]);
    std::fs::create_dir_all(project.path("agents")).unwrap();
    let text = "---\nname: explore\ndescription: >\n  Finds things in code.\n  Quickly.\n---\nbody\n";
    project.write("agents/explore.md", text);
    project.setup(["explore"]).succeeds();
    let ran = project.room.run(["names"]).succeeds();
    assert!(ran.out.ends_with("never seen: Finds things in code. Quickly.\n"), "{}", ran.out);
}

#[test]
fn a_request_as_it_is_filed() {
    let project = Project::with(&["alice"], &["explore"]);
    let fields = ["--field", "workflow=build", "--field", "step=2", "--field", "note=a: \"b\" #c"];
    let words =
        ["send", "explore", "-s", "Find: it", "--priority", "high", "--channel", "c 1", "-m", "Look\nhere."];
    project.by("alice", words.into_iter().chain(fields)).succeeds();
    let name = project.names("inboxes/explore").pop().unwrap();
    insta::assert_snapshot!(project.mask(&format!("{name}\n{}", project.text(&format!("inboxes/explore/{name}")))), @r#"
    <day>-001.md
    ---
    id: <day>-001
    from: alice-<id>
    to: explore
    priority: high
    status: pending
    created: <time>
    context: "Find: it"
    workflow: build
    step: 2
    msg_id: <uuid>
    channel: c 1
    note: "a: \"b\" #c"
    ---

    Look
    here.
    "#);
}

#[test]
fn a_response_as_it_is_filed_and_as_it_arrives() {
    let project = Project::with(&["alice"], &["explore"]);
    let id = project.ask("alice", "explore", "Find it");
    project.by("explore", ["reply", &id, "-m", "Found:\n\n## Result\n\nhere\n"]).succeeds();
    let response = project.text(&format!("outboxes/explore/{id}-response.md"));
    insta::assert_snapshot!(project.mask(&response), @r"
    ---
    id: <day>-001-response
    request_id: <day>-001
    from: explore
    to: alice-<id>
    status: completed
    created: <time>
    duration_seconds: 0
    ---

    Found:

    ## Result

    here
    ");
    let file = project.room.files("alice", "inbox").pop().unwrap();
    let arrived = std::fs::read_to_string(project.room.folder("alice", "inbox").join(file)).unwrap();
    insta::assert_snapshot!(project.mask(&arrived), @r"
    ---
    from: explore-<id>
    msg_id: <uuid>
    subject: re: Find it
    reply_to: <uuid>
    to: alice-<id>
    duration_seconds: 0
    ---

    Found:

    ## Result

    here
    ");
}
