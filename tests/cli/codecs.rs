//! Properties of the three codecs: what is written comes back byte for byte, what is read means the same when it is
//! written, and a status goes there and back without a trace.

use postroom::message::tree::{Status, Task};
use postroom::message::workspace::{Kind, Request};
use postroom::message::{Envelope, Native, Priority, maildir, tree, workspace};
use postroom::name::MessageId;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// A value as it may be written: one clean line without spaces at its ends.
fn value() -> impl Strategy<Value = String> + Clone {
    let tricky = prop::sample::select(vec![
        "~",
        "null",
        "yes",
        "a: b",
        "# c",
        "- x",
        "'",
        "\"",
        "\\n",
        "{a",
        "[",
        "&x",
        "*x",
        "!t",
        "%",
        "@",
        "`",
        "---",
        "...",
        "1",
        "0x1f",
        "a #b",
        "a:",
        ":",
        "re: x",
        "\u{85}",
        "é",
        "\u{feff}x",
        "?",
        "|",
        ">",
    ]);
    let any = "[^\\p{Cc}\\u{2028}\\u{2029}]{0,40}".prop_map(|text: String| text.trim().to_owned());
    prop_oneof![1 => tricky.prop_map(|t| t.trim().to_owned()), 3 => any]
        .prop_filter("a value of one clean line", |text| {
            postroom::message::envelope::check_value(text).is_ok()
        })
}

fn some_value() -> impl Strategy<Value = String> + Clone {
    value().prop_filter("it says something", |text| !text.is_empty())
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof!["(?s).{0,120}", "[-\n\r\t: #\u{feff}a]{0,60}"]
}

fn extra() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map("x-[a-z0-9_-]{1,9}", value(), 0..4).prop_map(|map| map.into_iter().collect())
}

fn task() -> impl Strategy<Value = Task> {
    let name = "[A-Za-z0-9][A-Za-z0-9._-]{0,12}";
    let maybe = || prop::option::of(some_value());
    let number = || prop::option::of(any::<u64>());
    let id = "[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{3,5}(-response)?";
    let head = (id, name, name, prop::sample::select(Status::ALL.to_vec()), prop::option::of(id));
    let tail = (maybe(), maybe(), number(), number(), maybe(), extra(), body());
    (head, prop::sample::select(Priority::ALL.to_vec()), tail).prop_map(|(head, priority, tail)| {
        let (id, from, to, status, request_id) = head;
        let (context, workflow, step, duration_seconds, error, extra, body) = tail;
        let created = "2025-03-04T10:00:00Z".to_owned();
        Task {
            id,
            from,
            to,
            status,
            created,
            priority,
            context,
            workflow,
            step,
            request_id,
            duration_seconds,
            error,
            extra,
            body,
            doubts: vec![],
        }
    })
}

fn request() -> impl Strategy<Value = Request> {
    let kind = prop::sample::select(vec![Kind::New, Kind::Reply]);
    let path = "/[a-z]{1,9}/\\.mailbox/inbox/[0-9a-f]{32}";
    ("[0-9a-f]{32}", kind, prop::option::of(some_value()), path, prop::option::of(path), extra(), body())
        .prop_map(|(id, kind, channel, receiver, reply, extra, body)| Request {
            id,
            kind,
            channel,
            receiver,
            reply,
            extra,
            body,
        })
}

fn envelope() -> impl Strategy<Value = (Envelope, String)> {
    let name = "[A-Za-z0-9][A-Za-z0-9._-]{0,12}";
    let id = || "[0-9a-f]{8}-[a-z0-9]{0,9}".prop_map(|id| MessageId::given(&id).unwrap());
    let priority = prop::sample::select(Priority::ALL.to_vec());
    (
        id(),
        name,
        name,
        value(),
        prop::option::of(id()),
        priority,
        prop::option::of(some_value()),
        extra(),
        body(),
    )
        .prop_map(|(id, from, to, subject, reply_to, priority, channel, extra, body)| {
            (
                Envelope {
                    id,
                    from,
                    to,
                    subject,
                    reply_to,
                    priority,
                    channel,
                    extra,
                    native: Native::Maildir,
                    doubts: vec![],
                },
                body,
            )
        })
}

#[test]
fn what_is_written_comes_back_byte_for_byte() {
    let run = runner(1500).run(&(task(), request(), envelope()), |(task, request, (envelope, body))| {
        let text = tree::render(&task);
        let read = tree::parse(text.as_bytes()).map_err(|e| TestCaseError::fail(format!("{e}: {text:?}")))?;
        prop_assert_eq!(&read, &task, "{:?}", text);
        prop_assert_eq!(tree::render(&read), text);
        let text = workspace::render(&request);
        let read =
            workspace::parse(text.as_bytes()).map_err(|e| TestCaseError::fail(format!("{e}: {text:?}")))?;
        prop_assert_eq!(&read, &request, "{:?}", text);
        prop_assert_eq!(workspace::render(&read), text);
        let text = maildir::render(&envelope, &body);
        let read =
            maildir::parse(text.as_bytes()).map_err(|e| TestCaseError::fail(format!("{e}: {text:?}")))?;
        prop_assert_eq!((&read.envelope, &read.body), (&envelope, &body), "{:?}", text);
        prop_assert_eq!(maildir::render(&read.envelope, &read.body), text);
        Ok(())
    });
    run.unwrap();
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
    (needed, other, any::<u64>(), ends, any::<bool>(), end).prop_map(
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
        let Ok(task) = tree::parse(text.as_bytes()) else { return Ok(()) };
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
            prop_assert_eq!(tree::parse(tree::render(&read).as_bytes()), Ok(read), "{:?}", task);
        }
        if let Ok(read) = maildir::parse(letter.as_bytes()) {
            accepted.borrow_mut()[1] += 1;
            let written = maildir::render(&read.envelope, &read.body);
            prop_assert_eq!(maildir::parse(written.as_bytes()), Ok(read), "{:?}", letter);
        }
        if let Ok(read) = workspace::parse(request.as_bytes()) {
            accepted.borrow_mut()[2] += 1;
            prop_assert_eq!(workspace::parse(workspace::render(&read).as_bytes()), Ok(read), "{:?}", request);
        }
        Ok(())
    });
    run.unwrap();
    let accepted = accepted.into_inner();
    assert!(accepted.iter().all(|n| *n > 300), "{accepted:?}");
}
