//! The morning after V2: how every message ended, and what its runs say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::lab::Findings;
use crate::place::{Place, names_in};
use crate::v_night::{CURSED, Letter, OTHERS, PROGRAMS, Seen, Size};

/// How the record of a run says that it met an outage.
const SENTENCES: [&str; 5] = [
    "is not logged in",
    "has no credit left",
    "limits its rate",
    "is overloaded or fails",
    "cannot be reached",
];

/// How it says that the outage was its message's own.
const OWN: &str = "but other messages were answered meanwhile";

/// Whether a run met an outage of its provider, by its record.
pub(crate) fn is_outage(run: &Value) -> bool {
    let why = run["why"].as_str().unwrap_or_default();
    run["state"] == "again" && SENTENCES.iter().any(|sentence| why.contains(sentence)) && !why.contains(OWN)
}

/// How every message ended, counted. Whatever ended otherwise is a finding.
pub(crate) fn judge(
    place: &Place,
    letters: &[Letter],
    size: &Size,
    seen: &Seen,
    findings: &Findings,
) -> String {
    let mut where_found: BTreeMap<String, Vec<(String, &str, bool)>> = BTreeMap::new();
    let (mut parked_files, mut reasons) = (BTreeMap::new(), BTreeMap::new());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for name in PROGRAMS.iter().chain(&OTHERS) {
        for folder in ["inbox", "archive", "failed"] {
            for (file, bytes) in place.messages(name, folder) {
                let header = String::from_utf8_lossy(&bytes).into_owned();
                let id = field(&header, "msg_id").unwrap_or_else(|| file.clone());
                let is_request = field(&header, "reply_to").is_none();
                where_found.entry(id).or_default().push((file, folder, is_request));
            }
        }
        let claims = names_in(&place.folder(name, "claimed"));
        for token in claims {
            let held = place.messages(name, &format!("claimed/{token}")).len();
            findings.check(held == 0, || format!("{held} messages of {name} are claimed for ever"));
        }
        let list = place.run(&["--as", name, "failed", "list", "--json"]);
        let list: Value = serde_json::from_slice(&list.out).unwrap_or_default();
        for failed in list["failed"].as_array().into_iter().flatten() {
            reasons.insert(text(&failed["file"]), text(&failed["reason"]));
        }
        for parked in list["parked"].as_array().into_iter().flatten() {
            parked_files.insert(text(&parked["file"]), text(&parked["reason"]));
        }
    }
    let waiting = waiting_until(place);
    let (answers, notices) = answers(place, findings);
    let (mut answered, mut parked, mut failed, mut waits) = (0, 0, 0, 0);
    for Letter { id, to, thread } in letters {
        let found = where_found.remove(id).unwrap_or_default();
        let [(file, folder, _)] = found.as_slice() else {
            findings.add(format!("{id} to {to} is in {} places: {found:?}", found.len()));
            continue;
        };
        let (count, told) = (answers.get(id).copied().unwrap_or(0), notices.get(id).copied().unwrap_or(0));
        let is_poison = id.starts_with("poison-") || id.starts_with("cursed-");
        match *folder {
            "archive" => {
                answered += 1;
                findings.check((count, told) == (1, 0) && !is_poison, || {
                    format!("{id} to {to} is done, with {count} answers and {told} notices of failure")
                });
            }
            "failed" => {
                failed += 1;
                let why = reasons.get(file).map(String::as_str).unwrap_or_default();
                findings.check(is_poison && !why.is_empty(), || format!("{id} to {to} failed: {why:?}"));
                findings.check((count, told) == (0, 1), || {
                    format!("{id} failed, with {count} answers and {told} notices of failure")
                });
            }
            _ => {
                findings.check((count, told) == (0, 0), || format!("{id} waits, with {count} answers"));
                match parked_files.get(file) {
                    Some(why) => {
                        parked += 1;
                        findings.check(thread.is_some() && why.contains("`thread_runs`"), || {
                            format!("{id} to {to} is parked: {why}")
                        });
                    }
                    None => {
                        waits += 1;
                        let is_kept = to == CURSED && !id.starts_with("cursed-");
                        findings
                            .check(!is_kept, || format!("{id} waits behind a message that meets outages"));
                        findings.check(waiting.contains(to), || {
                            format!("{id} waits for {to}, and not until a time")
                        });
                    }
                }
            }
        }
    }
    let mut looped = 0;
    // What the two of the loop wrote to each other. Answers and notices of failure stay unread.
    for (id, found) in where_found {
        for (file, folder, is_request) in found {
            let why = match folder {
                "failed" => reasons.get(&file),
                "inbox" if is_request => parked_files.get(&file),
                _ => continue,
            };
            looped += 1;
            let is_limit = |why: &String| why.contains("the limit `hops`") || why.contains("`thread_runs`");
            findings.check(why.is_some_and(is_limit), || format!("{id} of a loop is in {folder}: {why:?}"));
        }
    }
    findings.check(looped > 0, || "the loop had no end".to_owned());
    findings.check(parked > 0, || "no thread had too many runs".to_owned());
    findings.check(waits > 0, || "no limit of an hour was met".to_owned());
    // What meets outages of its own waits if too few others came after it to tell.
    let most = size.poison + size.cursed;
    findings.check((size.poison..=most).contains(&failed), || {
        format!("{failed} messages failed, not {} to {most}", size.poison)
    });
    attempts(&seen.runs, findings);
    format!(
        "{answered} answered, {parked} parked, {waits} waiting until a time, {failed} failed, {looped} ends of a loop"
    )
}

/// The agents whose mail waits until a time.
fn waiting_until(place: &Place) -> BTreeSet<String> {
    let told = place.run(&["dispatch", "--dry-run", "--json"]).stdout();
    let events = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let until = events.filter(|event| event["event"] == "waits" && event["until"].is_string());
    until.filter_map(|event| event["agent"].as_str().map(str::to_owned)).collect()
}

/// How many answers and how many notices of failure there are to each message of alice.
fn answers(place: &Place, findings: &Findings) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let (mut answers, mut notices) = (BTreeMap::new(), BTreeMap::new());
    for (file, bytes) in place.messages("alice", "inbox") {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some(id) = field(&text, "reply_to") else {
            findings.add(format!("{file} answers nothing"));
            continue;
        };
        if field(&text, "bounce").is_some() {
            *notices.entry(id).or_default() += 1;
            continue;
        }
        let is_its = text.ends_with(&format!("\ndone {id}\n")) || text.ends_with("\ndone\n");
        findings.check(is_its, || format!("{id} is answered by {}", text.escape_debug()));
        *answers.entry(id).or_default() += 1;
    }
    (answers, notices)
}

/// A run after an outage is the same attempt.
fn attempts(runs: &BTreeMap<String, Value>, findings: &Findings) {
    let mut last: BTreeMap<(&str, &str), &Value> = BTreeMap::new();
    for run in runs.values() {
        let text = |key: &str| run[key].as_str().unwrap_or_default();
        let before = last.insert((text("mailbox"), text("file")), run);
        // A supervisor that was killed at its very beginning left no number.
        let (Some(before), Some(attempt)) = (before, run["attempt"].as_u64().filter(|attempt| *attempt > 0))
        else {
            continue;
        };
        let counted = before["attempt"].as_u64().unwrap_or(0);
        findings.check(!is_outage(before) || attempt == counted, || {
            format!("{}: attempt {attempt} after an outage in attempt {counted}", text("message"))
        });
    }
}

/// The value of a field in the header of a message.
fn field(text: &str, key: &str) -> Option<String> {
    let prefix = format!("{key}: ");
    let header = text.lines().skip(1).take_while(|line| *line != "---");
    header.filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).next()
}
