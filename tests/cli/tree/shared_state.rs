//! `shared get|set|append`: the shared files of a tree, part by part; no update is lost.

use std::os::unix::fs::symlink;

use crate::support::project::Project;

const CONTEXT: &str = "---\nsession_id: 2025-01-01-session-001 # ours\nuser_goal: \"Set up: tests\"\nagents_invoked:\n  - explore (completed)\n  # more to come\nempty:\nflow: [a, 'b, c']\n---\n\n## Current State\n\nGoing.\n\n## Decisions Made\n\n- Using pytest\n\n## Open Questions\n";

fn project() -> Project {
    let project = Project::with(&[], &["explore"]);
    project.write("shared/session-context.md", CONTEXT);
    project
}

#[test]
fn files_fields_lists_and_sections_are_read() {
    let project = project();
    let get = |words: &[&str]| {
        project.run(["tree", "shared", "get"].into_iter().chain(words.iter().copied())).succeeds().out
    };
    assert_eq!(get(&[]), "session-context.md\nworkflow-state.md\n");
    assert_eq!(get(&["session-context"]), CONTEXT);
    assert_eq!(get(&["session-context.md", "user_goal"]), "Set up: tests\n");
    assert_eq!(get(&["session-context", "agents_invoked"]), "explore (completed)\n");
    assert_eq!(get(&["session-context", "flow"]), "a\nb, c\n");
    assert_eq!(get(&["session-context", "empty"]), "\n");
    assert_eq!(get(&["session-context", "Decisions Made"]), "- Using pytest\n");
    assert_eq!(get(&["session-context", "## current state"]), "Going.\n");
    let told = project.run(["tree", "shared", "get", "session-context", "user_goal", "--json"]).json();
    assert_eq!((&told["text"], &told["part"]), (&"Set up: tests".into(), &"user_goal".into()));
    for words in [vec!["nothing"], vec!["session-context", "nothing"]] {
        let ran = project.run(["tree", "shared", "get"].into_iter().chain(words)).exits(3);
        assert!(ran.err.contains("there is no"), "{}", ran.err);
    }
}

#[test]
fn what_is_changed_is_one_part() {
    for text in [CONTEXT.to_owned(), CONTEXT.replace('\n', "\r\n"), format!("\u{feff}{CONTEXT}")] {
        let eol = if text.contains('\r') { "\r\n" } else { "\n" };
        let project = project();
        project.write("shared/session-context.md", &text);
        let run = |words: &[&str]| {
            let ran = project.run(["tree", "shared"].into_iter().chain(words.iter().copied())).succeeds();
            assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
            project.text("shared/session-context.md")
        };
        let mut wanted = text.replacen("2025-01-01-session-001 #", "s 2 #", 1);
        assert_eq!(run(&["set", "session-context", "session_id", "s 2"]), wanted);
        wanted = wanted.replacen(&format!("'b, c']{eol}"), &format!("'b, c']{eol}new: \"a: b\"{eol}"), 1);
        assert_eq!(run(&["set", "session-context", "new", "a: b"]), wanted);
        wanted = wanted.replacen("(completed)", &format!("(completed){eol}  - writer (pending)"), 1);
        assert_eq!(run(&["append", "session-context", "agents_invoked", "writer (pending)"]), wanted);
        wanted = wanted.replacen("'b, c']", "'b, c', \"d\"]", 1);
        assert_eq!(run(&["append", "session-context", "flow", "d"]), wanted);
        wanted = wanted.replacen("- Using pytest", &format!("- Using pytest{eol}- not unittest"), 1);
        assert_eq!(run(&["append", "session-context", "Decisions Made", "- not unittest"]), wanted);
        wanted = format!("{wanted}{eol}## Notes{eol}{eol}one{eol}");
        assert_eq!(run(&["append", "session-context", "Notes", "one"]), wanted);
    }
}

#[test]
fn a_file_is_made_when_it_is_missing() {
    let project = project();
    project.run(["tree", "shared", "set", "numbers", "a", "1"]).succeeds();
    assert_eq!(project.text("shared/numbers.md"), "---\na: 1\n---\n");
    project.run(["tree", "shared", "append", "results", "Found", "- one"]).succeeds();
    assert_eq!(project.text("shared/results.md"), "## Found\n\n- one\n");
    std::fs::remove_dir_all(project.path("shared")).unwrap();
    project.run(["tree", "shared", "get"]).exits(1);
    project.run(["tree", "shared", "set", "numbers", "a", "1", "--json"]).succeeds();
    assert_eq!(project.names("shared"), ["numbers.md"]);
}

#[test]
fn hostile_names_and_parts_are_refused() {
    let project = project();
    let mail = |(path, _): &(String, String)| !path.contains(".postroom");
    let picture = || crate::support::picture::tree(&project.dir).into_iter().filter(mail).collect::<Vec<_>>();
    let before = picture();
    for name in ["../x", "a/b", "", ".md", ".x", "/etc/passwd", "a\nb", "a b"] {
        for words in [vec!["get", name], vec!["set", name, "a", "1"], vec!["append", name, "a", "1"]] {
            let ran = project.run(["tree", "shared"].into_iter().chain(words.clone())).exits(4);
            assert!(ran.err.contains("cannot be part of a file name"), "{words:?}: {}", ran.err);
        }
    }
    for key in ["a b", "", "a:b", "a\nb: 1", "#x", "ü"] {
        let ran = project.run(["tree", "shared", "set", "session-context", key, "1"]).exits(4);
        assert!(
            ran.err.contains("shared/session-context.md") && !ran.err.contains("line 0"),
            "{key:?}: {}",
            ran.err
        );
    }
    for part in ["", "  ", "##", "a\nb", "a\r## b"] {
        let ran = project.run(["tree", "shared", "append", "session-context", part, "x"]).exits(4);
        assert!(ran.err.contains("shared/session-context.md"), "{part:?}: {}", ran.err);
    }
    assert_eq!(picture(), before);
    assert_eq!(project.text("shared/session-context.md"), CONTEXT);
}

#[test]
fn what_cannot_be_changed_is_told_with_its_line() {
    let project = project();
    let path = "shared/session-context.md";
    for (words, said) in [
        (
            vec!["set", "session-context", "agents_invoked", "x"],
            "line 4: `agents_invoked`: a list or a map, not one value",
        ),
        (vec!["append", "session-context", "user_goal", "x"], "line 3: `user_goal`: not a list"),
    ] {
        let ran = project.run(["tree", "shared"].into_iter().chain(words)).exits(4);
        assert!(ran.err.contains(path) && ran.err.contains(said), "{}", ran.err);
    }
    for (text, said) in [
        ("---\na: 1\na: 2\n---\n", "line 3: the field `a` is there twice"),
        ("---\na: [\n---\n", "line 2: `yaml`: "),
        ("---\na: 1\n", "not closed"),
        ("---\na: &x 1\nb: *x\n---\n", "line 2: `yaml`: anchors"),
    ] {
        project.write(path, text);
        for words in [
            vec!["get", "session-context", "a"],
            vec!["set", "session-context", "a", "3"],
            vec!["append", "session-context", "a", "3"],
        ] {
            let ran = project.run(["tree", "shared"].into_iter().chain(words.clone())).exits(4);
            assert!(ran.err.contains(path) && ran.err.contains(said), "{words:?}: {}", ran.err);
        }
        assert_eq!(project.text(path), text);
    }
    project.write(path, b"---\na: \xff\n---\n");
    assert!(
        project
            .run(["tree", "shared", "set", "session-context", "a", "1"])
            .exits(4)
            .err
            .contains("not UTF-8")
    );
    project.write(path, CONTEXT);
}

#[test]
fn links_are_not_followed() {
    let project = project();
    let outside = project.dir.join("outside.md");
    std::fs::write(&outside, CONTEXT).unwrap();
    symlink(&outside, project.path("shared/link.md")).unwrap();
    for words in
        [vec!["get", "link"], vec!["set", "link", "user_goal", "x"], vec!["append", "link", "flow", "x"]]
    {
        let ran = project.run(["tree", "shared"].into_iter().chain(words)).exits(4);
        assert!(ran.err.contains("link.md is a symbolic link"), "{}", ran.err);
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), CONTEXT);
    std::fs::rename(project.path("shared"), project.dir.join("moved")).unwrap();
    symlink(project.dir.join("moved"), project.path("shared")).unwrap();
    project.run(["tree", "shared", "set", "session-context", "user_goal", "x"]).exits(4);
    assert_eq!(std::fs::read_to_string(project.dir.join("moved/session-context.md")).unwrap(), CONTEXT);
}

#[test]
fn nobody_sees_half_a_file() {
    let project = project();
    let long = "x".repeat(200_000);
    let writing = project
        .run(["tree", "shared", "append", "session-context", "Decisions Made", &long[..100_000]])
        .start();
    loop {
        let text = project.text("shared/session-context.md");
        assert!(text.ends_with("## Open Questions\n"), "{}", text.len());
        if text.len() > CONTEXT.len() {
            break;
        }
    }
    assert!(writing.wait_with_output().unwrap().status.success());
}
