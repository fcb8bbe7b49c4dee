//! F1 and F2: what stands in a message. A corpus of hostile frontmatter, and the round trip of any message
//! that can be written.

use std::fs;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use postroom::message::{Envelope, Head, Message, Priority, ProtocolFields, any, maildir};
use postroom::name::MessageId;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::time::{ClockId, clock_gettime};

use crate::lab::{Findings, Lab, Outcome, promptly};
use crate::ledger::body;
use crate::ops::Op;
use crate::place::{ago, names_in, set_time};

/// What a case has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Must {
    BeRefused,
    /// Be read, with exactly this body.
    GiveBody(&'static str),
    /// Be either, in time and without a panic.
    End,
}

/// The corpus: what it is, its bytes, and what has to come of it.
fn corpus() -> Vec<(&'static str, Vec<u8>, Must)> {
    let head = "from: a\nmsg_id: 12345678\n";
    let text = |text: &str| text.as_bytes().to_vec();
    let framed = |fields: &str| text(&format!("---\n{head}{fields}---\n\nthe body\n"));
    let laughs: String =
        (0..9).map(|n| format!("l{n}: &l{n} [*l, *l, *l, *l, *l, *l, *l, *l, *l]\n")).collect();
    let keys: String = (0..100_000).map(|n| format!("k{n}: v\n")).collect();
    let few_keys: String = (0..4_000).map(|n| format!("k{n}: v\n")).collect();
    let nested = format!("deep: {}{}\n", "[".repeat(20_000), "]".repeat(20_000));
    vec![
        ("billion laughs", framed(&laughs), Must::GiveBody("the body\n")),
        ("deep nesting", framed(&nested), Must::GiveBody("the body\n")),
        ("deep indentation", framed(&format!("{}x: 1\n", " ".repeat(30_000))), Must::End),
        (
            "anchors and tags",
            framed("a: &x !!binary 1\nb: *x\nc: !!python/object:os.system ls\n"),
            Must::GiveBody("the body\n"),
        ),
        ("a field twice", framed("from: b\n"), Must::BeRefused),
        ("an unknown field twice", framed("x: 1\nx: 2\n"), Must::BeRefused),
        (
            "fences in the body",
            text(&format!("---\n{head}---\n\na\n---\nfrom: b\n---\nb\n")),
            Must::GiveBody("a\n---\nfrom: b\n---\nb\n"),
        ),
        ("no closing fence", text(&format!("---\n{head}body")), Must::BeRefused),
        ("an indented fence", text(&format!("---\n{head} ---\nbody")), Must::BeRefused),
        ("a longer fence", text(&format!("---\n{head}----\nbody")), Must::BeRefused),
        ("a key of a megabyte", framed(&format!("{}: 1\n", "k".repeat(1 << 20))), Must::BeRefused),
        ("a value of a megabyte", framed(&format!("x: {}\n", "v".repeat(1 << 20))), Must::BeRefused),
        ("100,000 keys", framed(&keys), Must::BeRefused),
        ("4,000 keys", framed(&few_keys), Must::GiveBody("the body\n")),
        (
            "CRLF",
            text("---\r\nfrom: a\r\nmsg_id: 12345678\r\n---\r\n\r\na\r\nb\r\n"),
            Must::GiveBody("a\r\nb\r\n"),
        ),
        ("a byte order mark", text(&format!("\u{feff}---\n{head}---\n\nb")), Must::GiveBody("b")),
        ("NUL in the head", framed("x: a\0b\n"), Must::End),
        ("NUL in the body", text(&format!("---\n{head}---\n\na\0b")), Must::GiveBody("a\0b")),
        ("NUL in the id", text("---\nfrom: a\nmsg_id: 1234\x005678\n---\n\nb"), Must::BeRefused),
        (
            "not UTF-8 in the head",
            [b"---\nfrom: \xff\n".as_slice(), b"msg_id: 12345678\n---\n\nb"].concat(),
            Must::BeRefused,
        ),
        (
            "not UTF-8 in the body",
            [format!("---\n{head}---\n\n").as_bytes(), b"a\xc3\x28"].concat(),
            Must::BeRefused,
        ),
        ("lone carriage returns", text("---\rfrom: a\rmsg_id: 12345678\r---\r\rb"), Must::BeRefused),
        ("a carriage return in a value", framed("x: a\rfrom: b\n"), Must::End),
        ("tabs", framed("\tx: 1\ny:\t2\n"), Must::End),
        ("tab before the fence", text(&format!("\t---\n{head}---\n\nb")), Must::BeRefused),
        ("empty", vec![], Must::BeRefused),
        ("one byte", text("-"), Must::BeRefused),
        ("only a fence", text("---"), Must::BeRefused),
        ("only a fence and a line", text("---\n"), Must::BeRefused),
        ("two fences", text("---\n---\n"), Must::BeRefused),
        ("only white space", text(" \n\t\n"), Must::BeRefused),
        ("no sender", text("---\nmsg_id: 12345678\n---\n\nb"), Must::GiveBody("b")),
        ("an empty sender", text("---\nfrom: \nmsg_id: 12345678\n---\n\nb"), Must::GiveBody("b")),
        ("no id", text("---\nfrom: a\n---\n\nb"), Must::GiveBody("b")),
        ("an id with a space", text("---\nfrom: a\nmsg_id: 12 34\n---\n\nb"), Must::BeRefused),
        (
            "an id of 10,000",
            text(&format!("---\nfrom: a\nmsg_id: {}\n---\n\nb", "1".repeat(10_000))),
            Must::BeRefused,
        ),
        ("an unknown priority", framed("priority: asap\n"), Must::GiveBody("the body\n")),
        ("no colon", framed("just text\n"), Must::BeRefused),
        ("a colon alone", framed(": x\n"), Must::BeRefused),
        ("a key that is no word", framed("../x: 1\n"), Must::BeRefused),
        ("a line separator in a value", framed("x: a\u{2028}from: b\n"), Must::GiveBody("the body\n")),
        ("no blank line", text(&format!("---\n{head}---\nb")), Must::GiveBody("b")),
        ("no body", text(&format!("---\n{head}---\n\n")), Must::GiveBody("")),
        ("nothing after the fence", text(&format!("---\n{head}---")), Must::GiveBody("")),
        ("three blank lines", text(&format!("---\n{head}---\n\n\n\nb")), Must::GiveBody("\n\nb")),
        (
            "escape sequences",
            framed("subject: \u{1b}]52;c;AAAA\u{7}\u{202e}x\n"),
            Must::GiveBody("the body\n"),
        ),
        ("a megabyte of fences", text(&"---\n".repeat(1 << 18)), Must::BeRefused),
        ("a megabyte of line ends", text(&format!("---\n{}", "\n".repeat(1 << 20))), Must::BeRefused),
        ("a megabyte without one", text(&format!("---{}", "-".repeat(1 << 20))), Must::BeRefused),
    ]
}

/// F1: each case in memory, and all of them in one inbox.
pub(crate) fn hostile_frontmatter(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Op::Read.prepare(lab, dir.path());
    let inbox = place.folder("bob", "inbox");
    let (corpus, mut slowest) = (corpus(), Duration::ZERO);
    let mut refused = 0;
    for (number, (what, bytes, must)) in corpus.iter().enumerate() {
        let start = spent();
        let heads = catch_unwind(|| {
            [1, 20, 4096, bytes.len()].map(|n| maildir::parse_head(&bytes[..n.min(bytes.len())], false))
        });
        let parsed = catch_unwind(|| maildir::parse(bytes));
        let time = spent() - start;
        slowest = slowest.max(time);
        findings.check(time < promptly() / 20, || format!("{what}: took {time:?}"));
        findings.check(heads.is_ok(), || format!("{what}: its head alone panics"));
        let Ok(parsed) = parsed else {
            findings.add(format!("{what}: it panics"));
            continue;
        };
        let right = match must {
            Must::BeRefused => parsed.is_err(),
            Must::GiveBody(body) => parsed.as_ref().is_ok_and(|message| message.body == *body),
            Must::End => true,
        };
        findings.check(right, || {
            format!("{what}: {:?}", parsed.as_ref().map(|m| m.body.chars().take(60).collect::<String>()))
        });
        // A file without frontmatter is a note from somebody unknown.
        refused += usize::from(parsed.is_err() && any::bare(bytes).is_err());
        let file = inbox.join(format!("20200101T000000Z-{number:08x}-case.md"));
        fs::write(&file, bytes).expect("a case in the inbox");
        set_time(&file, ago(3600));
    }
    let listed = place.run(&["--as", "bob", "check", "--limit", "1000"]).stdout();
    findings.check(listed.contains("a5ced000"), || "check does not list the good one beside them".to_owned());
    // Everything that can be read is shown, and in the end only what cannot be is left aside.
    let (mut shown, mut last) = (0, String::new());
    for _ in 0..=corpus.len() {
        let ended = place.run(&["--as", "bob", "read"]);
        findings.extend("read", ended.crash());
        if !ended.ok() {
            break;
        }
        shown += 1;
        last = ended.stdout();
    }
    let aside = names_in(&place.folder("bob", "quarantine")).len();
    findings.check(last.contains(&body("asked")), || "the good one was not shown".to_owned());
    findings.check(shown == corpus.len() - refused + 1 && aside == refused, || {
        format!("{refused} of {} are refused in memory, {shown} were shown, {aside} put aside", corpus.len())
    });
    let micros = slowest.as_micros();
    findings.verdict(format!("{} cases, {refused} refused, 0 panics, the slowest {micros} µs", corpus.len()))
}

/// The time that this thread has worked, which other load on the machine does not lengthen.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// F2: what is written is read back; what is read keeps its body.
pub(crate) fn round_trip(lab: &Lab) -> Outcome {
    let cases = if lab.tier == 0 { 10_000 } else { 100_000 };
    let findings = Findings::default();
    let config = || Config { cases, failure_persistence: None, ..Config::default() };
    let accepted = AtomicU32::new(0);
    let write = || {
        let written = TestRunner::new(config()).run(&message(), |message| {
            let bytes = maildir::render(&message.envelope, &message.body)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            let parsed = maildir::parse(bytes.as_bytes());
            prop_assert_eq!(parsed.as_ref(), Ok(&message));
            let head = maildir::parse_head(bytes.as_bytes(), true)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(head, Head::Envelope(Box::new(message.envelope)));
            Ok(())
        });
        findings.extend("what is written", written.err().map(|e| e.to_string()));
    };
    let read = || {
        let taken = TestRunner::new(config()).run(&soup(), |bytes| {
            if let Ok(message) = maildir::parse(&bytes) {
                accepted.fetch_add(1, Ordering::Relaxed);
                prop_assert_eq!(Some(message.body.as_bytes()), body_by_hand(&bytes));
            }
            Ok(())
        });
        findings.extend("what is read", taken.err().map(|e| e.to_string()));
    };
    std::thread::scope(|scope| {
        scope.spawn(write);
        read();
    });
    let accepted = accepted.into_inner();
    // A soup that is never accepted would prove nothing.
    findings.check(accepted * 20 > cases, || format!("only {accepted} of {cases} were accepted"));
    findings.verdict(format!(
        "{cases} messages written and read, {cases} texts read, {accepted} of them accepted"
    ))
}

/// A message that Postroom may write: values of one clean line, any body.
fn message() -> impl Strategy<Value = Message> {
    let id = "[0-9a-f]{8}-[A-Za-z0-9._-]{0,40}";
    let value = "[^\\p{Cc}\\u{2028}\\u{2029}]{0,60}".prop_map(|text: String| text.trim().to_owned());
    let mailbox = "[A-Za-z0-9][A-Za-z0-9._-]{0,30}";
    let priority = prop::sample::select(Priority::ALL.to_vec());
    let extra = prop::collection::btree_map("x-[a-z0-9_-]{1,12}", value.clone(), 0..4);
    let channel =
        prop::option::of(value.clone().prop_filter("a channel says something", |text| !text.is_empty()));
    let text = prop_oneof!["(?s).{0,300}", "[-\n\r\t: #\u{feff}a]{0,80}"];
    (id, mailbox, mailbox, value, prop::option::of(id), priority, channel, extra, text).prop_map(
        |(id, from, to, subject, reply_to, priority, channel, extra, body)| Message {
            envelope: Envelope {
                id: MessageId::parse_strict(&id).expect("an id"),
                from: postroom::message::Origin::mailbox(from),
                to,
                subject,
                reply_to: reply_to.map(|id| MessageId::parse_strict(&id).expect("an id")),
                priority,
                channel,
                extra: extra.into_iter().collect(),
                native: ProtocolFields::Maildir,
                doubts: vec![],
            },
            body,
        },
    )
}

/// Text that is nearly a message.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let tokens = [
        "---\n",
        "---\r\n",
        "---",
        "\n",
        "\r\n",
        "\r",
        " ",
        "from: a\n",
        "msg_id: 12345678\n",
        "subject: x\n",
        "x: y\r\n",
        "# c\n",
        "  - z\n",
        "\u{feff}",
        "é",
        "\0",
        "from",
        ": ",
        "to: b\n",
        "-",
        "body",
        "----\n",
    ];
    let part = prop_oneof![
        8 => prop::sample::select(tokens.to_vec()).prop_map(|token| token.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    let tail = prop::collection::vec(part.clone(), 0..12).prop_map(|parts| parts.concat());
    let start = prop::sample::select(vec![
        "---\nfrom: a\nmsg_id: 1\n",
        "---\r\nmsg_id: 1\r\nfrom: a\r\n",
        "\u{feff}---\nfrom: a\nmsg_id: 1\n",
        "",
    ]);
    (start, tail).prop_map(|(start, tail)| [start.as_bytes(), &tail].concat())
}

/// The body as a person with a text editor would cut it out: after the second fence, less one blank line.
fn body_by_hand(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    let mut fences = 0;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let start = if at == 0 { b"\xef\xbb\xbf".len().min(line.len()) } else { 0 };
        let bare = if at == 0 && line.starts_with(b"\xef\xbb\xbf") { &line[start..] } else { line };
        at += line.len();
        let end = bare.strip_suffix(b"\n").unwrap_or(bare);
        if end.strip_suffix(b"\r").unwrap_or(end) == b"---" {
            fences += 1;
        }
        if fences == 2 {
            let body = &bytes[at..];
            return Some(body.strip_prefix(b"\n").or_else(|| body.strip_prefix(b"\r\n")).unwrap_or(body));
        }
    }
    None
}
