//! What may lie in a tree and is no message: each is told with file, line and field, and stays where it was.

use std::os::unix::fs::symlink;

use crate::support::hand::age;
use crate::support::picture::tree;
use crate::support::project::Project;

const ID: &str = "2025-03-04-001";

/// What is put in the inbox, and what has to be said of it.
const CASES: [(&str, &str, &str); 6] = [
    ("an unknown status", "status: pending", "status: waiting\n"),
    ("a status of two", "status: pending", "status: [pending]\n"),
    ("a key twice", "id: x", "id: x\n"),
    ("an unknown key twice", "x: 1", "x: 1\nx: 2\n"),
    ("an id of two words", "request_id: a b", "request_id: a b\n"),
    ("text", "just text", "just text\n"),
];

/// The line in the file that is wrong.
fn line_of(text: &str, case: &str) -> usize {
    let last = |prefix: &str| {
        text.lines().enumerate().filter(|(_, l)| l.starts_with(prefix)).last().map(|(n, _)| n + 1)
    };
    match case {
        "an unknown key twice" => last("x: ").unwrap(),
        "a key twice" => last("id: ").unwrap(),
        _ => 0,
    }
}

fn arranged() -> Vec<(&'static str, Project, String)> {
    CASES
        .iter()
        .map(|(case, _, fields)| {
            let project = Project::with(&["alice"], &["a"]).leaves_faults();
            let text = project.put("a", ID, fields);
            age(&project.path(&format!("inboxes/a/{ID}.md")), 60);
            (*case, project, text)
        })
        .collect()
}

#[test]
fn every_command_tells_what_is_wrong_and_leaves_it() {
    for (case, project, text) in arranged() {
        let path = format!("inboxes/a/{ID}.md");
        let full = project.path(&path).display().to_string();
        let says = |err: &str, whole: bool, command: &str| {
            let named = if whole { err.contains(&full) } else { err.contains(&format!("{ID}.md")) };
            let line = line_of(&text, case);
            let placed = if line > 0 {
                err.contains(&format!("line {line}: "))
            } else {
                err.contains(": line ") || err.contains("is missing")
            };
            assert!(named && placed, "{case}, {command}: {err}");
        };
        for (words, code) in
            [(vec!["check"], 0), (vec!["read"], 1), (vec!["claim"], 1), (vec!["read", "--keep"], 5)]
        {
            let ran = project.by("a", words.clone()).ends();
            assert_eq!(ran.code, code, "{case}, {words:?}: {ran:?}");
            says(&ran.err, false, words[0]);
            assert!(!ran.err.contains("quarantine"), "{}", ran.err);
        }
        for words in [vec!["read", ID], vec!["reply", ID, "-m", "x"]] {
            let ran = project.by("a", words.clone()).exits(4);
            says(&ran.err, true, words[0]);
        }
        for words in [vec!["archive", ID], vec!["claim", ID]] {
            let ran = project.by("a", words.clone()).ends();
            assert!([3, 4].contains(&ran.code), "{case}, {words:?}: {ran:?}");
        }
        says(&project.run(["tree", "status"]).exits(4).err, true, "status");
        says(&project.room.run(["doctor", "--strict"]).exits(4).out, true, "doctor");
        project.room.run(["doctor", "--fix"]).ends();
        project.run(["tree", "cleanup"]).exits(1);
        assert_eq!(project.text(&path), text, "{case}");
        assert_eq!(project.names("inboxes/a"), [format!("{ID}.md")], "{case}");
        assert!(project.names("outboxes/a").is_empty() && project.tokens("a").is_empty(), "{case}");
        // Senders go on.
        assert_eq!(project.ask("alice", "a", "next").len(), ID.len());
        assert!(project.by("a", ["read"]).succeeds().out.contains("next"), "{case}");
    }
}

#[test]
fn a_missing_field_is_named() {
    // Without an id, and without saying from whom to whom, only a status makes a task of it.
    for (how, header) in [("empty", "priority: high\nstatus:\n"), ("blank", "to: a\nstatus: \"\"\n")] {
        let project = Project::with(&[], &["a"]).leaves_faults();
        let text = format!("---\n{header}---\n\n## Request\n\nDo it.\n");
        project.write(&format!("inboxes/a/{ID}.md"), &text);
        age(&project.path(&format!("inboxes/a/{ID}.md")), 60);
        let why = format!("{ID}.md: the field `status` is missing");
        let ran = project.by("a", ["check"]).succeeds();
        assert!(ran.err.contains(&why) && ran.out.is_empty(), "{how}: {ran:?}");
        let ran = project.run(["tree", "status"]).exits(4);
        assert!(ran.err.contains(&why), "{how}: {}", ran.err);
        assert_eq!(project.text(&format!("inboxes/a/{ID}.md")), text);
    }
}

#[test]
fn a_task_without_an_id_is_called_like_its_file() {
    for (how, header) in [("left out", ""), ("empty", "id:\n")] {
        let project = Project::with(&[], &["a"]).leaves_faults();
        let text = project.put("a", ID, "").replacen(&format!("id: {ID}\n"), header, 1);
        project.write(&format!("inboxes/a/{ID}.md"), &text);
        let header = project.room.header("a");
        assert_eq!(header["id"], format!("{ID}@a"), "{how}");
        let remark = format!("doubtful: `id` is missing; {ID} is used");
        assert_eq!(header["remarks"], serde_json::json!([remark]), "{how}");
        let told = project.run(["tree", "status"]).ends();
        assert!(
            told.out.contains(&format!("{ID} 2025-03-04T10:00:00Z user → a pending: ")),
            "{how}: {told:?}"
        );
        assert_eq!(project.text(&format!("inboxes/a/{ID}.md")), text, "a look changes nothing");
        assert!(project.by("a", ["read", ID]).succeeds().out.contains("Do 2025-03-04-001."), "{how}");
    }
}

#[test]
fn a_file_that_is_not_text_is_reported() {
    let project = Project::with(&[], &["a"]).leaves_faults();
    let long = format!("---\n{}", "k: v\n".repeat(20_000));
    let files: [(&str, &[u8]); 5] = [
        ("empty", b""),
        ("binary", b"---\nid: \xff\n---\n"),
        ("open", b"---\nid: 1\n"),
        ("blank", b"\n \n"),
        ("long", long.as_bytes()),
    ];
    for (name, bytes) in files {
        project.write(&format!("inboxes/a/{name}.md"), bytes);
        age(&project.path(&format!("inboxes/a/{name}.md")), 60);
    }
    let ran = project.by("a", ["check"]).succeeds();
    assert_eq!((ran.err.lines().count(), ran.out.as_str()), (5, ""), "{}", ran.err);
    assert_eq!(project.run(["tree", "status"]).exits(4).err.lines().count(), 5);
    assert_eq!(project.names("inboxes/a").len(), 5);
    // What has just been written may still be growing, and is not complained of yet.
    project.write("inboxes/a/young.md", "---\nid: 2");
    assert_eq!(project.by("a", ["check"]).succeeds().err.lines().count(), 5);
}

/// YAML ends a line there, and nobody else does.
#[test]
fn a_carriage_return_in_a_header_stops_no_command() {
    for verb in [vec!["archive", ID], vec!["reply", ID, "-m", "done"]] {
        let project = Project::with(&[], &["a"]).leaves_faults();
        let text = project.put("a", ID, "error: old\n").replacen("\nto: ", "\n\rto: ", 1);
        project.write(&format!("inboxes/a/{ID}.md"), &text);
        let ran = project.by("a", verb.clone()).ends();
        assert!([0, 4].contains(&ran.code), "{verb:?}: {ran:?}");
    }
}

#[test]
fn two_requests_with_one_id_are_told_and_answered_once() {
    let project = Project::with(&[], &["a"]).leaves_faults();
    let text = project.put("a", ID, "");
    project.write("inboxes/a/copy.md", &text);
    let ran = project.run(["tree", "status"]).exits(4);
    assert!(ran.err.contains("copy.md: line 2: `id`: 2025-03-04-001 is in this inbox twice"), "{}", ran.err);
    assert!(project.room.run(["doctor", "--strict"]).exits(4).out.contains("is in this inbox twice"));
    project.by("a", ["reply", ID, "-m", "to the first"]).succeeds();
    let ran = project.by("a", ["reply", "copy.md", "-m", "to the second"]).exits(4);
    assert!(ran.err.contains("has another response already"), "{}", ran.err);
    assert_eq!((project.status("a", ID).as_str(), project.text("inboxes/a/copy.md")), ("completed", text));
}

#[test]
fn a_response_without_its_request_is_told_and_carried_nowhere() {
    let project = Project::with(&["alice"], &["a", "b"]).leaves_faults();
    project.respond("a", "2025-03-04-009", "b", "completed", "an answer to nothing\n");
    project.respond("a", "2025-03-04-010", "alice", "completed", "an answer to nothing\n");
    let before = tree(&project.path("outboxes"));
    for name in ["a", "b", "alice"] {
        project.by(name, ["check"]).exits(1);
    }
    let ran = project.run(["tree", "status"]).exits(4);
    assert!(ran.err.contains("2025-03-04-009-response.md: line 3: `request_id`: the request 2025-03-04-009 is not in the inbox of a"), "{}", ran.err);
    assert_eq!(tree(&project.path("outboxes")), before);
    assert!(project.ids("b").is_empty() && project.room.files("alice", "inbox").is_empty());
}

#[test]
fn links_and_other_things_in_an_inbox_are_told_and_left() {
    let project = Project::with(&["alice"], &["a"]).leaves_faults();
    let outside = project.dir.join("outside.md");
    let text = project.put("a", ID, "");
    std::fs::rename(project.path(&format!("inboxes/a/{ID}.md")), &outside).unwrap();
    symlink(&outside, project.path(&format!("inboxes/a/{ID}.md"))).unwrap();
    symlink("/nonexistent", project.path("inboxes/a/dangling.md")).unwrap();
    std::fs::create_dir(project.path("inboxes/a/directory.md")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, project.path("inboxes/a/fifo.md"), rustix::fs::Mode::RUSR).unwrap();
    let names = project.names("inboxes/a");
    for words in [vec!["check"], vec!["read"], vec!["claim"]] {
        let ran = project.by("a", words.clone()).ends();
        assert!([0, 1].contains(&ran.code), "{words:?}: {ran:?}");
        assert!(ran.err.contains(&format!("{ID}.md: it is a symbolic link")), "{words:?}: {}", ran.err);
        assert!(ran.err.contains("fifo.md: it is a FIFO"), "{words:?}: {}", ran.err);
        assert!(ran.out.is_empty(), "{words:?}: {}", ran.out);
    }
    for words in [vec!["read", ID], vec!["archive", ID], vec!["reply", ID, "-m", "x"], vec!["claim", ID]] {
        let ran = project.by("a", words.clone()).ends();
        assert!([3, 4].contains(&ran.code), "{words:?}: {ran:?}");
    }
    let ran = project.run(["tree", "status"]).exits(4);
    assert_eq!(ran.err.lines().count(), 4, "{}", ran.err);
    assert_eq!(project.names("inboxes/a"), names);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), text);
    // A number whose name is taken by a link is taken.
    let day = project.ask("alice", "a", "job")[..10].to_owned();
    symlink(&outside, project.path(&format!("inboxes/a/{day}-002.md"))).unwrap();
    assert_eq!(project.ask("alice", "a", "job"), format!("{day}-003"));
}

#[test]
fn links_in_the_place_of_directories_are_refused() {
    for below in ["inboxes/a", "outboxes/a", "inboxes", ".postroom", "archive"] {
        let project = Project::with(&["alice"], &["a"]).leaves_faults();
        project.put("a", ID, "");
        let real = project.dir.join("real");
        match project.path(below).exists() {
            true => std::fs::rename(project.path(below), &real).unwrap(),
            false => std::fs::create_dir(&real).unwrap(),
        }
        symlink(&real, project.path(below)).unwrap();
        let before = tree(&real);
        for words in [
            vec!["--as", "a", "claim"],
            vec!["--as", "alice", "send", "a", "-m", "x"],
            vec!["--as", "a", "reply", ID, "-m", "x"],
        ] {
            let ran = project.room.run(words.clone()).ends();
            assert!(
                ran.code == 4 || below == "outboxes/a" && ran.code == 0 || below == "archive",
                "{below}, {words:?}: {ran:?}"
            );
        }
        let ran = project.run(["tree", "cleanup"]).ends();
        assert!([1, 3, 4].contains(&ran.code), "{below}: {ran:?}");
        if below != "archive" {
            assert_eq!(tree(&real), before, "{below}: what a link leads to is not touched");
        }
    }
}

#[test]
fn hostile_values_are_data() {
    let project = Project::with(&["alice"], &["a"]).leaves_faults();
    let text = "---\nid: ../../../x\nto: a\nfrom: ../../alice\nstatus: pending\ncreated: 2025-03-04T10:00:00Z\ncontext: \"\\x1b]52;c;AAAA\\x07\\u202e x\"\nrequest_id: ../x\n---\n\nbody\n";
    project.write("inboxes/a/evil.md", text);
    let shown = project.by("a", ["check"]).succeeds();
    assert!(!shown.out.contains('\u{1b}') && !shown.out.contains('\u{202e}'), "{:?}", shown.out);
    for reference in ["../evil.md", "/etc/passwd", "a/../evil.md", "....", "\u{1b}[31m"] {
        project.by("a", ["read", reference]).exits(3);
        project.by("a", ["archive", reference]).exits(3);
    }
    let shown = project.by("a", ["read"]).succeeds();
    assert!(!shown.out.contains('\u{1b}') && shown.out.contains("body"), "{:?}", shown.out);
    // The id is echoed in the answer, and is no part of any path.
    let files = || -> Vec<_> {
        let all = tree(project.room.around()).into_keys();
        all.filter(|path| !path.starts_with("room/") && !path.contains("/.postroom/")).collect()
    };
    let before = files();
    let said = project.by("a", ["reply", "evil.md", "-m", "x"]).succeeds();
    assert!(!said.out.contains('\u{1b}'), "{:?}", said.out);
    let new: Vec<_> = files().into_iter().filter(|path| !before.contains(path)).collect();
    let name =
        new[0].strip_prefix("project/.claude/outboxes/a/").and_then(|n| n.strip_suffix("-response.md"));
    let is_plain = |name: &str| name.len() == 32 && name.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(new.len() == 1 && name.is_some_and(is_plain), "{new:?}");
    let answer = project.text(new[0].strip_prefix("project/.claude/").unwrap());
    assert!(answer.contains("\nrequest_id: ../../../x\n"), "{answer}");
    assert!(project.room.files("alice", "inbox").is_empty(), "a name that looks like hers is not hers");
}
