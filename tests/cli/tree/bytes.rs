//! Through every command that changes a state, all other bytes of a message stay what they were.

use std::os::unix::fs::PermissionsExt;

use crate::support::project::Project;

const ID: &str = "2025-03-04-001";

/// As somebody wrote it: comments, quoting, lists, unknown fields, odd spaces, and the words of a status elsewhere too.
const TEXT: &str = "---\n# a note: status: pending\nid: 2025-03-04-001   # ours\nfrom: 'user'\nto: \"a\"\nx-status: pending\npriority: high # low | normal | high | urgent\nstatus:   pending   # pending | in_progress | completed | failed\ncreated: 2025-03-04T10:00:00Z\ncontext: \"It's: \\u00e9 # not a comment\"\ntags:\n  - status: pending\n  - [pending, \"x\"]\nnested: {status: pending}\nlong: |\n  status: pending\n---\n\n## Request\n\nstatus: pending\n\n---\nstatus: pending\n---\n";

fn forms() -> Vec<(&'static str, String)> {
    vec![
        ("as it is", TEXT.to_owned()),
        ("CRLF", TEXT.replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{TEXT}")),
        ("both", format!("\u{feff}{}", TEXT.replace('\n', "\r\n"))),
        ("single quotes", TEXT.replacen("status:   pending ", "status:   'pending' ", 1)),
        ("double quotes", TEXT.replacen("status:   pending ", "status:   \"pending\" ", 1)),
        ("a quoted key", TEXT.replacen("status:   pending ", "\"status\":   pending ", 1)),
        ("no blank line and no end", TEXT.replacen("---\n\n##", "---\n##", 1).trim_end().to_owned()),
        ("no body", format!("{}---\n", TEXT.split("---\n\n##").next().unwrap())),
        ("last in the block", {
            let line = "status:   pending   # pending | in_progress | completed | failed\n";
            TEXT.replacen(line, "", 1).replacen("long:", &format!("{line}long:"), 1)
        }),
    ]
}

/// The text with another status.
fn with(text: &str, status: &str) -> String {
    let at = text.find("status:   ").or_else(|| text.find("status\":   ")).unwrap();
    let word = at + text[at..].find("pending").unwrap();
    format!("{}{status}{}", &text[..word], &text[word + "pending".len()..])
}

fn is(project: &Project, wanted: &str, what: &str) {
    assert_eq!(project.text(&format!("inboxes/a/{ID}.md")), wanted, "{what}");
}

#[test]
fn claim_release_and_done_change_one_word() {
    let project = Project::with(&[], &["a"]);
    for (what, text) in forms() {
        project.write(&format!("inboxes/a/{ID}.md"), &text);
        let token = project.claim("a", &[]);
        is(&project, &with(&text, "in_progress"), what);
        project.by("a", ["release", &token]).succeeds();
        is(&project, &text, what);
        let token = project.claim("a", &[]);
        project.by("a", ["done", &token]).succeeds();
        is(&project, &with(&text, "completed"), what);
    }
}

#[test]
fn read_reply_and_archive_change_one_word() {
    let project = Project::with(&[], &["a"]);
    for (what, text) in forms() {
        project.write(&format!("inboxes/a/{ID}.md"), &text);
        project.by("a", ["archive", ID]).succeeds();
        is(&project, &with(&text, "completed"), what);
        project.by("a", ["unarchive", ID]).succeeds();
        is(&project, &text, what);
        project.by("a", ["read"]).succeeds();
        is(&project, &with(&text, "in_progress"), what);
        let [token] = project.tokens("a").try_into().unwrap();
        project.end_lease("a", &token);
        project.by("a", ["check"]).succeeds();
        is(&project, &text, what);
        project.by("a", ["reply", ID, "-m", "done"]).succeeds();
        is(&project, &with(&text, "completed"), what);
        std::fs::remove_file(project.path(&format!("outboxes/a/{ID}-response.md"))).unwrap();
    }
}

#[test]
fn fail_adds_one_line_and_retry_leaves_it() {
    let project = Project::with(&[], &["a"]);
    for (what, text) in forms() {
        project.write(&format!("inboxes/a/{ID}.md"), &text);
        let token = project.claim("a", &[]);
        project.by("a", ["fail", &token, "--reason", "no"]).succeeds();
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let end = format!("  status: pending{eol}---");
        let with_error =
            |text: &str| text.replacen(&end, &format!("  status: pending{eol}error: \"no\"{eol}---"), 1);
        let failed = project.text(&format!("inboxes/a/{ID}.md"));
        assert_eq!(failed, with_error(&with(&text, "failed")), "{what}");
        project.by("a", ["failed", "retry", ID]).succeeds();
        is(&project, &with_error(&text), what);
    }
}

#[test]
fn the_mode_of_a_file_stays_and_nothing_is_left_beside_it() {
    let project = Project::with(&[], &["a"]);
    let path = project.path(&format!("inboxes/a/{ID}.md"));
    for mode in [0o644, 0o600, 0o664] {
        project.put("a", ID, "");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        project.by("a", ["archive", ID]).succeeds();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
        assert_eq!(project.names("inboxes/a"), [format!("{ID}.md")]);
    }
}

#[test]
fn a_status_that_cannot_be_changed_in_place_is_told_and_left() {
    let project = Project::with(&[], &["a"]).leaves_faults();
    let text = project.put("a", ID, "status: >-\n  pending\n");
    let path = format!("inboxes/a/{ID}.md");
    for words in [vec!["claim"], vec!["archive", ID], vec!["reply", ID, "-m", "x"]] {
        let ran = project.by("a", words.clone()).exits(4);
        assert!(ran.err.contains(&path) && ran.err.contains("line 6: `status`"), "{words:?}: {}", ran.err);
        assert_eq!(project.text(&path), text, "{words:?}");
    }
    assert!(project.tokens("a").is_empty());
}
