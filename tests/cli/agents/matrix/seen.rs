//! What was seen of one event: a cell of the matrix. It is printed, and appended as a line of JSON to the file that
//! `POSTROOM_MATRIX` names.

use std::io::Write;

use serde_json::{Value, json};

/// What notices of mail contain.
const OURS: [&str; 2] = [WAKE, "unread message"];

/// The line that wakes.
pub(crate) const WAKE: &str = "mail has arrived for this session";

/// What a message has cost.
pub(crate) struct Cost {
    /// Requests that would not have been made without it.
    pub(crate) requests: usize,
    /// Bytes of the texts of ours, and what the program put around them.
    pub(crate) bytes: usize,
    /// Lines that wake, of which a burst needs one.
    pub(crate) wakes: usize,
}

/// The session was told once: what that cost, when it was woken (or why not), and whose mailbox it has.
#[track_caller]
pub(crate) fn told(program: &str, event: &str, cost: &Cost, woken: &Value, identity: &str) {
    assert!(cost.requests <= 1, "{} requests because of one notice: {event}", cost.requests);
    assert_eq!(cost.wakes, usize::from(woken.is_number()), "lines that wake: {event}");
    record(json!({
        "program": program, "event": event, "told": 1, "requests": cost.requests, "bytes": cost.bytes,
        "woken": woken, "identity": identity,
    }));
}

/// There was no session to be told.
pub(crate) fn waits(program: &str, event: &str, why: &str, identity: &str) {
    record(json!({
        "program": program, "event": event, "told": format!("waits: {why}"), "woken": format!("no: {why}"),
        "identity": identity,
    }));
}

fn record(cell: Value) {
    println!("{cell}");
    if let Some(path) = std::env::var_os("POSTROOM_MATRIX") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(format!("{cell}\n").as_bytes()).unwrap();
    }
}

/// The bytes of all texts of ours in a request that were not in the one before.
pub(crate) fn added(before: &Value, after: &Value) -> usize {
    let mut new = texts(after);
    for old in texts(before) {
        new.iter().position(|text| *text == old).map(|at| new.swap_remove(at));
    }
    new.iter().map(String::len).sum()
}

/// How many lines that wake a request has more than the one before, of which a cleared or compacted session may have forgotten
/// some.
pub(crate) fn wakes(before: &Value, after: &Value) -> usize {
    let (before, after) = (before["body"].to_string(), after["body"].to_string());
    let (had, has) = (before.matches(WAKE).count(), after.matches(WAKE).count());
    let last = before.rfind("answer-").map(|at| before[at..].split('.').next().unwrap_or_default());
    let goes_on = last.is_none_or(|last| after.contains(last));
    if has < had || (has == had && !goes_on) { has } else { has - had }
}

/// A text that is longer than this is one of the program, with ours in it, as after a compaction.
const LONG: usize = 2000;

fn lines_of_ours(text: &str) -> String {
    let is_ours =
        |line: &&str| OURS.iter().chain(&["marker-", "`postroom read ID`"]).any(|part| line.contains(part));
    text.split_inclusive('\n').filter(is_ours).collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.contains("postroom: ") && OURS.iter().any(|ours| text.contains(ours)) => {
            vec![if text.len() > LONG { lines_of_ours(text) } else { text.clone() }]
        }
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => vec![],
    }
}
