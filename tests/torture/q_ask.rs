//! Q1: two agents ask each other, sixteen askers at once. Every question gets its own answer and none is crossed,
//! although all askers of one agent sleep on the same inbox.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome, spread};
use crate::ledger::body;
use crate::place::Place;

const ASKERS: usize = 16;
const AGENTS: [&str; 2] = ["ada", "bea"];

/// Asks in both directions; an agent answers what is asked of it while its askers wait.
pub(crate) fn questions(lab: &Lab) -> Outcome {
    let count = if lab.tier == 0 { 160 } else { 1000 };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &AGENTS);
    let (done, right, replies) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for agent in AGENTS {
            let (place, done, replies, findings) = (&place, &done, &replies, &findings);
            scope.spawn(move || answer(place, agent, done, replies, findings));
        }
        let numbers: Vec<usize> = (0..count).collect();
        spread(ASKERS, &numbers, |_, number| {
            let (from, to) = (AGENTS[number % 2], AGENTS[(number + 1) % 2]);
            right.fetch_add(usize::from(ask(&place, from, to, *number, &findings)), Ordering::Relaxed);
        });
        done.store(true, Ordering::Release);
    });
    let (right, replies) = (right.into_inner(), replies.into_inner());
    findings.check(right == count, || format!("{right} right answers to {count} questions"));
    findings.check(replies == count, || format!("{replies} replies to {count} questions"));
    for agent in AGENTS {
        let (unread, archived) =
            (place.messages(agent, "inbox").len(), place.messages(agent, "archive").len());
        // Half of the questions came here, and the answers to the other half.
        findings.check(unread == 0, || format!("{unread} messages are left unread at {agent}"));
        findings
            .check(archived == count, || format!("{archived} messages are archived at {agent}, not {count}"));
    }
    findings.extend("afterwards", place.doctor());
    findings.verdict(format!("{ASKERS} askers, {count} questions, {right} right answers"))
}

/// Asks one question; whether the answer is the one to it.
fn ask(place: &Place, from: &str, to: &str, number: usize, findings: &Findings) -> bool {
    let key = format!("question-{number}");
    let text = body(&key);
    let ended = place.run(&["--as", from, "ask", to, "-s", &key, "-m", &text, "--timeout", "30", "--json"]);
    let told: Value = serde_json::from_slice(&ended.out).unwrap_or_default();
    let answer = &told["messages"][0];
    let fits = ended.ok()
        && answer["body"].as_str() == Some(&body(&format!("answer to {key}")))
        && answer["reply_to"].is_string()
        && answer["reply_to"] == told["id"];
    findings.check(fits, || format!("{key}: {}", ended.shown()));
    fits
}

/// Answers every question that comes, until no more can come; leaves answers to those who asked.
fn answer(place: &Place, agent: &str, done: &AtomicBool, replies: &AtomicUsize, findings: &Findings) {
    loop {
        // Asked before the look, so that nothing can arrive between the last look and the end.
        let last = done.load(Ordering::Acquire);
        let ended = place.run(&["--as", agent, "check", "--limit", "500", "--json"]);
        let told: Value = serde_json::from_slice(&ended.out).unwrap_or_default();
        findings.check(matches!(ended.code, Some(0 | 1)), || format!("{agent}: check: {}", ended.shown()));
        let headers = told["messages"].as_array().cloned().unwrap_or_default();
        let asked: Vec<&Value> = headers.iter().filter(|header| header["reply_to"].is_null()).collect();
        for header in &asked {
            let (id, key) = (header["id"].as_str().unwrap_or_default(), header["subject"].as_str());
            let text = body(&format!("answer to {}", key.unwrap_or_default()));
            let ended = place.run(&["--as", agent, "reply", id, "-m", &text]);
            findings.check(ended.ok(), || format!("{agent}: reply: {}", ended.shown()));
            replies.fetch_add(1, Ordering::Relaxed);
        }
        match (last, asked.is_empty()) {
            (true, true) => return,
            (false, true) => {
                let waited = place.run(&["--as", agent, "wait", "--timeout", "0.2"]);
                let fine = matches!(waited.code, Some(0 | 1));
                findings.check(fine, || format!("{agent}: wait: {}", waited.shown()));
            }
            _ => {}
        }
    }
}
