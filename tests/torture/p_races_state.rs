//! What a scene holds, in words that do not depend on the run: two runs that did the same things have equal states.
//!
//! Times, process numbers and random ids are masked; ids that a test chose stay. Files that can be rebuilt (format.md) are
//! left out: the journal, caches, locks, staging and when a mailbox was last seen.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::ledger::sha256;
use crate::place::names_in;

/// Directories and files that say nothing about where a message is.
const LEFT_OUT: [&str; 8] = [".journal", "sequence", ".staging", "tmp", "index", "seen", "lock", ".alive"];

/// Ids that a test chose begin so, and are not masked.
pub(crate) const CHOSEN: [&str; 3] = ["a5ced000", "c405e000", "b0051e00"];

/// Every file below these directories, one line each, sorted.
pub(crate) fn state(base: &Path, below: &[&str]) -> Vec<String> {
    let mut lines = vec![];
    for name in below {
        look(base, &base.join(name), &mut lines);
    }
    // What a message that is finished was tried before is history.
    if lines.iter().any(|line| line.contains("/archive/") || line.contains("status: completed")) {
        lines.retain(|line| !line.contains("/attempts/"));
    }
    lines.sort();
    lines
}

/// How often a message was tried in vain (format.md §5.5): a claim counts once, however often its end was noted.
fn tries(text: &str) -> String {
    let mut vain = BTreeSet::new();
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        match line["how"].as_str() {
            Some("retried") => vain.clear(),
            Some("expired" | "failed") => drop(vain.insert(line["token"].to_string())),
            _ => {}
        }
    }
    format!("tried {} times in vain", vain.len())
}

fn look(base: &Path, path: &Path, lines: &mut Vec<String>) {
    for name in names_in(path) {
        let path = path.join(&name);
        if LEFT_OUT.contains(&name.as_str()) || name.ends_with(".lock") {
            continue;
        }
        let shown = masked(base, &path.strip_prefix(base).expect("a path below").display().to_string());
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o7777;
        if meta.is_dir() {
            if mode != 0o700 {
                lines.push(format!("{shown}/ {mode:o}"));
            }
            look(base, &path, lines);
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        if path.parent().is_some_and(|dir| dir.ends_with("attempts")) {
            lines.push(format!("{shown} {}", tries(&text)));
            continue;
        }
        let mut text = masked(base, &text);
        if path.parent().is_some_and(|dir| dir.ends_with("asked")) {
            // The number that a request got is a short cut, and may be missing (`tree/asked.rs`).
            text = text.split(',').filter(|part| !part.starts_with("\"id\":")).collect::<Vec<_>>().join(",");
        }
        let rows: Vec<&str> = text.lines().map(|row| row.trim_end_matches(',')).collect();
        if name.ends_with(".json") {
            // The order in which names were registered is nobody's promise.
            lines.extend(rows.iter().map(|row| format!("{shown} {}", row.trim())));
            continue;
        }
        let sum = &sha256(rows.join("\n").as_bytes())[..8];
        let head: Vec<&str> = rows.iter().copied().filter(|row| *row != "---").take(9).collect();
        let head: String = head.join("; ").chars().take(260).collect();
        let mode = if mode == 0o600 { String::new() } else { format!(" {mode:o}") };
        lines.push(format!("{shown}{mode} {sum} {head}"));
    }
}

/// A text without what differs from run to run.
pub(crate) fn masked(base: &Path, text: &str) -> String {
    static VARYING: LazyLock<Regex> = LazyLock::new(|| {
        let parts = [
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z",
            r"\d{8}T\d{6}Z",
            // The time in the name of a mark.
            r"\.\d{10}\.\d{1,9}\b",
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            r"\b(?:[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8})\b",
            r"\b\d{4}-\d\d-\d\d\b",
            r#"\\?"(?:pid|until_ms|ms|time_ms)\\?":\d+"#,
            r"duration_seconds: \d+",
            // An age.
            r"\b\d+[smh]\b",
        ];
        Regex::new(&parts.join("|")).expect("a pattern")
    });
    let text = text.replace(&base.display().to_string(), "");
    VARYING
        .replace_all(&text, |found: &Captures<'_>| {
            let found = &found[0];
            match found.split_once(':') {
                _ if found.starts_with('.') || found.ends_with(['s', 'm', 'h']) => "*".to_owned(),
                _ if CHOSEN.iter().any(|id| found.starts_with(id)) => found.to_owned(),
                Some((key, _)) if !found.ends_with('Z') => format!("{key}: *"),
                _ => format!("*{}", found.len()),
            }
        })
        .into_owned()
}

/// A state without what an interrupted command may leave: the mark of an answer under way, a claim that holds nothing, the
/// draft or note of what was not sent.
pub(crate) fn without_litter(state: &[String]) -> Vec<String> {
    let holds_one = |line: &String| {
        let dir = line.split("/claim.json ").next().unwrap_or_default();
        state.iter().any(|other| other.starts_with(dir) && !other.contains("/claim.json "))
            || state.iter().any(|other| other.contains("status: in_progress"))
    };
    let mut kept: Vec<String> = vec![];
    for line in state {
        let is_claim = line.contains("/claim.json ");
        let is_note = ["/.mailbox/scratch/", "/.mailbox/asked/"].iter().any(|dir| line.contains(dir));
        // One message has one claim and one draft; another one is empty.
        let litter = line.contains("/answering/")
            || is_claim && !holds_one(line)
            || (is_claim || is_note) && kept.contains(line);
        if !litter {
            kept.push(line.clone());
        }
    }
    kept
}

/// How a state differs from the one that was expected.
pub(crate) fn difference(wanted: &[String], found: &[String]) -> String {
    let less = |from: &[String], other: &[String], sign: &str| -> Vec<String> {
        let mut other = other.to_vec();
        let mut left = vec![];
        for line in from {
            match other.iter().position(|there| there == line) {
                Some(at) => drop(other.swap_remove(at)),
                None => left.push(format!("{sign}{}", line.chars().take(150).collect::<String>())),
            }
        }
        left
    };
    [less(wanted, found, "missing "), less(found, wanted, "extra ")].concat().join(" | ")
}
