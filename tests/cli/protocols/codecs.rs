//! Properties of the three codecs: whatever can be written comes back byte for byte and without a doubt, the rest is
//! refused; what is read means the same when it is written; a status goes there and back without a trace.

use postroom::message::tree::{Status, Task};
use postroom::message::{ParseError, Protocol, any, maildir, protocol, tree, workspace};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::drawn::{any_texts, clean, envelope, request, task};

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// What is read of bytes that were written.
fn read_back<T>(text: &str, parse: fn(&[u8]) -> Result<T, ParseError>) -> Result<T, TestCaseError> {
    parse(text.as_bytes()).map_err(|e| TestCaseError::fail(format!("{e}: {text:?}")))
}

#[test]
fn what_is_written_comes_back_byte_for_byte() {
    let strategy = (task(clean()), request(clean()), envelope(clean()));
    let run = runner(1000).run(&strategy, |(task, request, (envelope, body))| {
        let text = tree::render(&task).unwrap();
        prop_assert_eq!(&read_back(&text, tree::parse)?, &task, "{:?}", text);
        let text = workspace::render(&request).unwrap();
        prop_assert_eq!(&read_back(&text, workspace::parse)?, &request, "{:?}", text);
        let text = maildir::render(&envelope, &body).unwrap();
        let read = read_back(&text, maildir::parse)?;
        prop_assert_eq!((&read.envelope, &read.body), (&envelope, &body), "{:?}", text);
        Ok(())
    });
    run.unwrap();
}

#[test]
fn any_value_is_refused_or_comes_back_without_a_doubt() {
    let strategy = (task(any_texts()), request(any_texts()), envelope(any_texts()));
    let written = std::cell::RefCell::new([0; 3]);
    let run = runner(4000).run(&strategy, |(task, request, (envelope, body))| {
        if let Ok(text) = tree::render(&task) {
            written.borrow_mut()[0] += 1;
            prop_assert_eq!(&read_back(&text, tree::parse)?, &task, "{:?}", text);
            prop_assert_eq!(protocol::verify(text.as_bytes()).0, Some(Protocol::Tree), "{:?}", text);
        }
        if let Ok(text) = workspace::render(&request) {
            written.borrow_mut()[1] += 1;
            prop_assert_eq!(&read_back(&text, workspace::parse)?, &request, "{:?}", text);
        }
        if let Ok(text) = maildir::render(&envelope, &body) {
            written.borrow_mut()[2] += 1;
            let read = read_back(&text, maildir::parse)?;
            prop_assert_eq!((&read.envelope, &read.body), (&envelope, &body), "{:?}", text);
            prop_assert_eq!(protocol::verify(text.as_bytes()).0, Some(Protocol::Maildir), "{:?}", text);
        }
        Ok(())
    });
    run.unwrap();
    let written = written.into_inner();
    assert!(written.iter().all(|n| (400..3900).contains(n)), "{written:?} of 4000 were written");
}

/// Lines that stand in hand-written frontmatter, shuffled around what a protocol needs.
fn soup(needed: &'static [&'static str], others: &'static [&'static str]) -> impl Strategy<Value = String> {
    let other = prop::collection::vec(prop::sample::select(others.to_vec()), 0..6);
    let needed = Just(needed.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>()).prop_shuffle();
    let ends = prop::sample::select(vec!["\n", "\r\n"]);
    let end = prop::sample::select(vec![
        "",
        "\n",
        "\n\nbody: pending\n",
        "\nno blank line",
        "\n\n---\nstatus: pending\n---\n",
    ]);
    (needed, other, prop::num::u64::ANY, ends, prop::bool::ANY, end).prop_map(
        |(needed, other, seed, eol, bom, end)| {
            let mut lines: Vec<String> = needed;
            for (n, line) in other.iter().enumerate() {
                let at = (seed >> (n * 8)) as usize % (lines.len() + 1);
                lines.insert(at, (*line).to_owned());
            }
            let text = format!("---\n{}\n---{end}", lines.join("\n")).replace('\n', eol);
            if bom { format!("\u{feff}{text}") } else { text }
        },
    )
}

/// The lines of a hand-written task. Some of them belong together with the line before, or break what they stand in.
const TASK: [&str; 5] = ["id: 2025-03-04-001", "from: a", "to: b", "created: 2025-03-04T10:00:00Z", "x: y"];
const AROUND_TASK: [&str; 26] = [
    "status: pending",
    "status: 'pending'",
    "status: \"failed\"   # status: failed",
    "status:    completed",
    "\"status\": in_progress",
    "'status' : pending #",
    "status: pending # \u{1F600}",
    "? status\n: pending",
    "status:\n  pending",
    "status: >-\n  pending",
    "status: [pending]",
    "status:",
    "# status: failed",
    "priority: high # x",
    "tags: [status, {status: pending}]",
    "list:\n  - status: pending\n  - b",
    "map:\n  status: pending",
    "long: |\n  status: pending\n\n  x",
    "text: \"a\\\n  status: pending\"",
    "empty:",
    "quote: 'it''s'",
    "context: \"~\"",
    "- x",
    "x: 1",
    "{a: b}",
    "",
];

#[test]
fn a_status_goes_there_and_back_without_a_trace() {
    let counts = std::cell::RefCell::new((0, 0));
    let run = runner(6000).run(&soup(&TASK, &AROUND_TASK), |text| {
        // Without a status there is no way back: what was added stays.
        let Ok(task) = tree::parse(text.as_bytes()) else { return Ok(()) };
        if task.doubts.iter().any(|doubt| doubt.starts_with("`status` is missing")) {
            return Ok(());
        }
        counts.borrow_mut().0 += 1;
        for status in Status::ALL {
            let changed = match tree::set_status(&text, status) {
                Ok(changed) => changed,
                // Some ways to write it cannot be changed in place, and are told with their line.
                Err(e) => {
                    prop_assert!(e.to_string().contains(": `status`: "), "{}: {:?}", e, text);
                    return Ok(());
                }
            };
            let read = tree::parse(changed.as_bytes())
                .map_err(|e| TestCaseError::fail(format!("{e}: {changed:?}")))?;
            prop_assert_eq!(&read, &Task { status, ..task.clone() }, "{:?}", changed);
            prop_assert_eq!(&tree::set_status(&changed, task.status).unwrap(), &text);
        }
        counts.borrow_mut().1 += 1;
        Ok(())
    });
    run.unwrap();
    let (accepted, changed) = counts.into_inner();
    assert!(accepted > 600 && changed * 3 > accepted * 2, "{accepted} accepted, {changed} changed");
}

#[test]
fn what_is_read_means_the_same_when_it_is_written() {
    const MAILDIR: [&str; 2] = ["from: a", "msg_id: 12345678"];
    const AROUND_MAILDIR: [&str; 10] = [
        "subject:  x  ",
        "to: b",
        "x: \"y\" # z",
        "reply_to: ab",
        "priority: low",
        "channel: c",
        "tags:",
        "  - t",
        "# c",
        "",
    ];
    const REQUEST: [&str; 3] = ["REQUEST_ID: abc", "MESSAGE_TYPE: NEW", "RECEIVER_INBOX_PATH: /b"];
    const AROUND_REQUEST: [&str; 6] =
        ["CHANNEL_ID:  c", "REPLY_INBOX_PATH: /a", "x:y", "note: # no", "  more", ""];
    let strategy =
        (soup(&TASK, &AROUND_TASK), soup(&MAILDIR, &AROUND_MAILDIR), soup(&REQUEST, &AROUND_REQUEST));
    let accepted = std::cell::RefCell::new([0; 3]);
    let run = runner(4000).run(&strategy, |(task, letter, request)| {
        if let Ok(read) = tree::parse(task.as_bytes()) {
            accepted.borrow_mut()[0] += 1;
            let read = Task { doubts: vec![], ..read };
            prop_assert_eq!(read_back(&tree::render(&read).unwrap(), tree::parse)?, read, "{:?}", task);
        }
        if let Ok(read) = maildir::parse(letter.as_bytes()) {
            accepted.borrow_mut()[1] += 1;
            let envelope = any::to_maildir(&read.envelope);
            let written = maildir::render(&envelope, &read.body).unwrap();
            let again = read_back(&written, maildir::parse)?;
            prop_assert_eq!((again.envelope, again.body), (envelope, read.body), "{:?}", letter);
        }
        if let Ok(read) = workspace::parse(request.as_bytes()) {
            accepted.borrow_mut()[2] += 1;
            prop_assert_eq!(
                read_back(&workspace::render(&read).unwrap(), workspace::parse)?,
                read,
                "{:?}",
                request
            );
        }
        Ok(())
    });
    run.unwrap();
    let accepted = accepted.into_inner();
    assert!(accepted.iter().all(|n| *n > 300), "{accepted:?}");
}
