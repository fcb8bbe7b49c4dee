//! Tasks as the seed and as people write them: reading, changes in place, and refusals.

use super::*;

/// The request of the seed, with its comments.
const SEED: &str = "---\nid: 2025-01-01-001\nfrom: explore\nto: skill-writer\npriority: normal # low | normal | high | urgent\n\
    status: pending # pending | in_progress | completed | failed\ncreated: 2025-01-01T12:00:00Z\n\
    context: \"Creating skill from exploration findings\"\nworkflow: create-skill-from-research\nstep: 2\n---\n\n## Request\n\nCreate a skill.\n";

#[test]
fn the_seed_s_own_message_is_read() {
    let task = parse(SEED.as_bytes()).unwrap();
    assert_eq!(
        (task.id.as_str(), task.status, task.step),
        ("2025-01-01-001", Status::Pending, Some(Step::from(2)))
    );
    assert_eq!(task.context.as_deref(), Some("Creating skill from exploration findings"));
}

#[test]
fn a_status_changes_and_nothing_else() {
    for text in [SEED.to_owned(), SEED.replace('\n', "\r\n"), format!("\u{feff}{SEED}")] {
        let changed = set_status(&text, Status::InProgress).unwrap();
        assert_eq!(changed, text.replacen("status: pending", "status: in_progress", 1));
    }
}

#[test]
fn an_error_is_added_or_set_and_never_in_the_way() {
    let changed = change(SEED, Status::Failed, Some("exit 1: \"no\"\nat all")).unwrap();
    let failed = SEED.replacen("status: pending", "status: failed", 1);
    let error = "error: \"exit 1: \\\"no\\\"\\nat all\"\n";
    assert_eq!(changed, failed.replacen("step: 2\n", &format!("step: 2\n{error}"), 1));
    let again = change(&changed, Status::Failed, Some("other")).unwrap();
    assert_eq!(again, changed.replacen(error, "error: \"other\"\n", 1));
    let block = SEED.replacen("step: 2\n", "error: |\n  long\nstep: 2\n", 1);
    let kept = change(&block, Status::Failed, Some("x")).unwrap();
    assert_eq!(kept, block.replacen("status: pending", "status: failed", 1));
}

#[test]
fn what_is_written_is_read_back() {
    let mut task = parse(SEED.as_bytes()).unwrap();
    task.priority = Priority::Urgent;
    task.error = Some("it said: \"no\" #1".into());
    task.extra = vec![("channel".into(), "a: b".into())];
    assert_eq!(parse(render(&task).unwrap().as_bytes()).unwrap(), task);
}

#[test]
fn errors_name_line_and_field() {
    let error = |from: &str, to: &str| parse(SEED.replace(from, to).as_bytes()).unwrap_err().to_string();
    assert_eq!(
        error("status: pending", "status: waiting"),
        "line 6: `status`: not one of pending, in_progress, completed, failed"
    );
    assert_eq!(
        error("status: pending", "status: [pending]"),
        "line 6: `status`: a list or a map, not one value"
    );
    assert_eq!(error("id: 2025-01-01-001\n", ""), "the field `id` is missing");
    assert_eq!(error("from: explore", "id: x"), "line 3: the field `id` is there twice");
    assert_eq!(error("from: explore", "From: a\nfrom: b"), "line 4: the field `from` is there twice");
    assert_eq!(error("---\nid", "\n---\nid: x\nid"), "line 4: the field `id` is there twice");
    assert_eq!(error("from: explore", "just text"), "line 3: not of the form `key: value`");
}

/// The seed with one text replaced by another, read; and its doubts.
fn read(from: &str, to: &str) -> (Task, Vec<String>) {
    let task = parse(SEED.replacen(from, to, 1).as_bytes()).unwrap();
    let doubts = task.doubts.clone();
    (task, doubts)
}

#[test]
fn forms_of_clear_meaning_are_read_without_a_doubt() {
    for (from, to) in [
        ("status: pending", "status: PENDING"),
        ("status: pending", "Status: Pending"),
        ("priority: normal", "PRIORITY: Normal"),
        ("from: explore", "From: explore"),
        ("---\nid", "\n\n---\nid"),
    ] {
        let (task, doubts) = read(from, to);
        assert_eq!((task, doubts), (parse(SEED.as_bytes()).unwrap(), vec![]), "{to}");
    }
    let (task, doubts) = read("step: 2", "step: 1.5");
    assert_eq!((task.step, doubts), (Some("1.5".parse().unwrap()), vec![]));
}

#[test]
fn a_guess_is_said() {
    for (from, to, doubt) in [
        ("status: pending", "status: todo", "`status: todo` is read as pending"),
        (
            "status: pending # pending | in_progress | completed | failed\n",
            "",
            "`status` is missing and read as pending",
        ),
        ("priority: normal", "priority: medium", "`priority: medium` is read as normal"),
        ("step: 2", "step: two", "`step: two` is not a number and is ignored"),
        ("created: 2025-01-01T12:00:00Z\n", "", "`created` is missing; the time of the file is used"),
        ("from: explore\n", "", "`from` is missing; the sender is unknown"),
        ("to: skill-writer\n", "", "`to` is missing"),
        (
            "context: \"Creating",
            "context: fix: \"Creating",
            "`context` is not valid YAML and is read line by line",
        ),
    ] {
        assert_eq!(read(from, to).1, [doubt], "{to}");
    }
    let (task, doubts) = read("2025-01-01T12:00:00Z", "2025-01-01 12:00");
    assert_eq!((task.created.as_str(), doubts.len()), ("2025-01-01T12:00:00Z", 1));
    let (task, _) = read("\"Creating skill from exploration findings\"", "fix: the parser");
    assert_eq!((task.context.as_deref(), task.status), (Some("fix: the parser"), Status::Pending));
    assert_eq!((task.priority, task.step), (Priority::Normal, Some(Step::from(2))));
}

#[test]
fn a_missing_id_is_the_name_of_the_file() {
    let text = SEED.replacen("id: 2025-01-01-001\n", "", 1);
    let task = parse_named(text.as_bytes(), "note-7").unwrap();
    assert_eq!(
        (task.id.as_str(), task.doubts),
        ("note-7", vec!["`id` is missing; note-7 is used".to_owned()])
    );
    // A message of another protocol is not a task, whatever the name of its file.
    for other in ["from: a\nmsg_id: 12345678\nto: b\n", "x: y\n", "from: a\n"] {
        assert!(parse_named(format!("---\n{other}---\n").as_bytes(), "note-7").is_err(), "{other}");
    }
}

#[test]
fn a_status_written_by_hand_changes_and_nothing_else() {
    for (from, to, after) in [
        ("status: pending", "Status:  PENDING", "Status:  in_progress"),
        ("status: pending", "\"STATUS\": 'to do'", "\"STATUS\": 'in_progress'"),
        ("context: \"Creating", "context: fix: \"Creating", "context: fix: \"Creating"),
    ] {
        let text = SEED.replacen(from, to, 1);
        let changed = set_status(&text, Status::InProgress).unwrap();
        assert_eq!(
            changed,
            text.replacen(to, after, 1).replacen("status: pending", "status: in_progress", 1)
        );
    }
    let none = SEED.replacen("status: pending # pending | in_progress | completed | failed\n", "", 1);
    let changed = set_status(&none, Status::Failed).unwrap();
    assert_eq!(changed, none.replacen("step: 2\n", "step: 2\nstatus: failed\n", 1));
}

#[test]
fn what_is_completed_loses_the_error_of_an_earlier_try() {
    let done = SEED.replacen("status: pending", "status: completed", 1);
    for error in [
        "error: \"no\"\n",
        "Error: no # really\n",
        "error: |\n  one\n\n  two\n",
        "error: >-\n  one\n  # two\n",
        "error: fix: it\n",
    ] {
        for eol in ["\n", "\r\n"] {
            let text =
                SEED.replacen("step: 2\n", &format!("{error}\n# kept\nstep: 2\n"), 1).replace('\n', eol);
            let kept = done.replacen("step: 2\n", "\n# kept\nstep: 2\n", 1).replace('\n', eol);
            assert_eq!(change(&text, Status::Completed, None).unwrap(), kept, "{error:?}");
            assert!(change(&text, Status::Pending, None).unwrap().contains("rror: "), "{error:?}");
        }
    }
}

#[test]
fn an_error_in_another_case_is_not_written_twice() {
    let text = SEED.replacen("step: 2\n", "step: 2\nError: old\n", 1);
    let changed = change(&text, Status::Failed, Some("new")).unwrap();
    assert_eq!(parse(changed.as_bytes()).unwrap().error.as_deref(), Some("new"));
    let fixed = SEED.replacen("context: \"", "context: fix: \"", 1);
    let changed = change(&fixed, Status::Failed, Some("a\nstatus: completed")).unwrap();
    let task = parse(changed.as_bytes()).unwrap();
    assert_eq!((task.status, task.error.as_deref()), (Status::Failed, Some("a\nstatus: completed")));
}

#[test]
fn what_the_protocol_cannot_hold_is_refused_by_name() {
    let refused = |change: fn(&mut Task)| {
        let mut task = parse(SEED.as_bytes()).unwrap();
        change(&mut task);
        render(&task).unwrap_err().to_string()
    };
    assert!(refused(|t| t.created = "yesterday".into()).contains("`created`: it is not a time"));
    assert!(refused(|t| t.id = "a b".into()).contains("`id`: a space is not allowed"));
    assert!(refused(|t| t.to.clear()).contains("`to`: it is empty"));
    assert!(
        refused(|t| t.error = Some("x\n".into())).contains("`error`: it begins or ends with white space")
    );
    assert!(
        refused(|t| t.extra = vec![("Status".into(), "x".into())]).contains("`Status`: the protocol has")
    );
    assert!(refused(|t| t.extra = vec![("MESSAGE_TYPE".into(), "x".into())]).contains("another protocol"));
    assert!(
        refused(|t| t.extra = vec![("x".into(), "1".into()), ("x".into(), "2".into())])
            .contains("`x`: it is there twice")
    );
    assert!(refused(|t| t.extra = vec![("k".repeat(2000), "x".into())]).contains("kkk"));
}
