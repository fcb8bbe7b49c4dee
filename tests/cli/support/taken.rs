//! Claims as tests take them, and their terms as tests change them: a lease is ended by hand where its length
//! is not what a test is about.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::hand::tighten;
use crate::support::room::TestRoom;
use crate::support::until::until;

/// Claims and gives the document.
#[track_caller]
pub(crate) fn claim_json(room: &TestRoom, by: &str, arguments: &[&str]) -> Value {
    let all = ["claim", "--json"].into_iter().chain(arguments.iter().copied());
    let document: Value = serde_json::from_str(&room.by(by, all).succeeds().out).unwrap();
    document
}

/// Claims and gives the token.
#[track_caller]
pub(crate) fn claim(room: &TestRoom, by: &str, arguments: &[&str]) -> String {
    let document = claim_json(room, by, arguments);
    document["claim"]["token"].as_str().unwrap_or_else(|| panic!("no token in {document}")).to_owned()
}

/// Sends a message, lets its recipient claim it, and gives the digits of its id and the token.
#[track_caller]
pub(crate) fn taken(room: &TestRoom, from: &str, to: &str, text: &str) -> (String, String) {
    let id = room.send(from, to, text);
    let token = claim(room, to, &[&id]);
    (id, token)
}

/// Where the terms of a claim lie.
pub(crate) fn terms_path(room: &TestRoom, queue: &str, token: &str) -> PathBuf {
    room.folder(queue, "claimed").join(token).join("claim.json")
}

pub(crate) fn terms(room: &TestRoom, queue: &str, token: &str) -> Value {
    serde_json::from_slice(&std::fs::read(terms_path(room, queue, token)).unwrap()).unwrap()
}

/// Changes one of the terms of a claim.
pub(crate) fn set_term(room: &TestRoom, queue: &str, token: &str, key: &str, value: impl Into<Value>) {
    let mut all = terms(room, queue, token);
    all[key] = value.into();
    let path = terms_path(room, queue, token);
    std::fs::write(&path, all.to_string()).unwrap();
    tighten(&path);
}

/// Lets the lease of a claim be over now.
pub(crate) fn end_lease(room: &TestRoom, queue: &str, token: &str) {
    set_term(room, queue, token, "until_ms", 0);
}

/// Returns once the lease of a claim is over by the clock that nobody can set, without a look at the mailbox.
pub(crate) fn until_over(room: &TestRoom, queue: &str, token: &str) {
    let end = u128::from(terms(room, queue, token)["until_ms"].as_u64().unwrap());
    until("the end of a lease", || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        u128::try_from(now.tv_sec).unwrap() * 1000 + u128::try_from(now.tv_nsec).unwrap() / 1_000_000 > end
    });
}

/// The lines of a message's file of attempts.
pub(crate) fn attempts(room: &TestRoom, mailbox: &str) -> Vec<Value> {
    let mut lines = vec![];
    for file in room.files(mailbox, "attempts") {
        let text = std::fs::read_to_string(room.folder(mailbox, "attempts").join(file)).unwrap();
        lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
    lines
}

/// How each attempt ended, in order.
pub(crate) fn ends(room: &TestRoom, mailbox: &str) -> Vec<String> {
    attempts(room, mailbox).iter().map(|a| a["how"].as_str().unwrap().to_owned()).collect()
}
