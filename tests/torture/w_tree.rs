//! W1 and W2: many at once in one `.claude` tree. No number is given twice or left out, and no update of shared state is
//! lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::{body, key_of};
use crate::place::{Place, names_in};

pub(crate) const AGENTS: [&str; 3] = ["explore", "writer", "tester"];
const WRITERS: usize = 8;

/// A place whose room knows the agents of a tree in `project/`.
pub(crate) fn with_tree(lab: &Lab, base: &Path, names: &[&str]) -> Place {
    let place = Place::with(lab, base, names);
    fs::create_dir_all(project(&place)).expect("a project");
    let mut words = vec!["setup", "--tree", "project"];
    words.extend(AGENTS);
    place.ok(&words);
    place
}

pub(crate) fn project(place: &Place) -> PathBuf {
    place.base.join("project")
}

/// A path in the tree.
pub(crate) fn claude(place: &Place, below: &str) -> PathBuf {
    project(place).join(".claude").join(below)
}

/// A message of a tree, taken apart by hand and not by the library that is under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filed {
    pub(crate) name: String,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) key: String,
}

/// The messages of a tray. What is not whole is a problem.
pub(crate) fn filed(place: &Place, tray: &str, problems: &mut Vec<String>) -> Vec<Filed> {
    let dir = claude(place, tray);
    let mut found = vec![];
    for name in names_in(&dir).into_iter().filter(|name| name.ends_with(".md") && !name.starts_with('.')) {
        let text = fs::read_to_string(dir.join(&name)).unwrap_or_default();
        match taken_apart(&name, &text) {
            Ok(filed) => found.push(filed),
            Err(why) => problems.push(format!("{tray}/{name}: {why}")),
        }
    }
    found
}

fn taken_apart(name: &str, text: &str) -> Result<Filed, String> {
    let rest = text.strip_prefix("---\n").ok_or_else(|| format!("no frontmatter ({} bytes)", text.len()))?;
    let (head, body) = rest.split_once("\n---\n\n").ok_or("the frontmatter is not closed")?;
    let fields: BTreeMap<String, String> = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let stem = name.strip_suffix(".md").unwrap_or(name);
    if fields.get("id").is_none_or(|id| id != stem) {
        return Err(format!("its id is {:?}", fields.get("id")));
    }
    let status = fields.get("status").map_or("", String::as_str);
    if !["pending", "in_progress", "completed", "failed"].contains(&status) {
        return Err(format!("its status is `{status}`"));
    }
    // A failure says in its body why, which is no body of ours.
    let key = if status == "failed" && stem.ends_with("-response") { String::new() } else { key_of(body)? };
    Ok(Filed { name: name.to_owned(), fields, key })
}

/// W1: 8 senders; the ids are one sequence.
pub(crate) fn numbers(lab: &Lab) -> Outcome {
    let each = if lab.tier == 0 { 40 } else { 500 };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = with_tree(lab, dir.path(), &["alice"]);
    std::thread::scope(|scope| {
        for sender in 0..WRITERS {
            let (place, findings) = (&place, &findings);
            scope.spawn(move || {
                for n in 0..each {
                    let to = AGENTS[(sender + n) % AGENTS.len()];
                    let text = body(&format!("{sender}-{n}"));
                    let sent = place.run(&["--as", "alice", "send", to, "-s", "job", "-m", &text]);
                    findings.check(sent.ok(), || format!("sender {sender}: {}", sent.shown()));
                }
            });
        }
    });
    let mut problems = vec![];
    let all: Vec<Filed> =
        AGENTS.iter().flat_map(|agent| filed(&place, &format!("inboxes/{agent}"), &mut problems)).collect();
    findings.extend("at the end", problems);
    let total = WRITERS * each;
    let keys: BTreeSet<&str> = all.iter().map(|filed| filed.key.as_str()).collect();
    findings.check(all.len() == total && keys.len() == total, || {
        format!("{} messages with {} bodies, not {total}", all.len(), keys.len())
    });
    // A run across midnight has two sequences; each begins with 1 and has no gap.
    let mut days: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for filed in &all {
        let (day, number) = filed.name.trim_end_matches(".md").split_at(10);
        days.entry(day).or_default().insert(number[1..].parse().unwrap_or(0));
    }
    let distinct: usize = days.values().map(BTreeSet::len).sum();
    findings.check(distinct == total, || format!("{distinct} distinct ids of {total}"));
    for (day, numbers) in &days {
        let whole = numbers.iter().copied().eq(1..=numbers.len());
        findings.check(whole, || format!("{day}: the sequence has gaps below {:?}", numbers.last()));
    }
    findings.extend("at the end", place.doctor());
    findings.verdict(format!("{total} messages of {WRITERS} senders, {distinct} distinct ids in sequence"))
}

/// W2: 8 writers of shared state; every update is there.
pub(crate) fn shared_state(lab: &Lab) -> Outcome {
    let each = if lab.tier == 0 { 20 } else { 100 };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = with_tree(lab, dir.path(), &[]);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (place, findings) = (&place, &findings);
            scope.spawn(move || {
                for n in 0..each {
                    let (item, number) = (format!("w{writer}-{n}"), n.to_string());
                    let field = format!("w{writer}");
                    let words = match n % 3 {
                        0 => ["append", "session-context", "agents_invoked", &item],
                        1 => ["append", "session-context", "Decisions Made", &item],
                        _ => ["set", "session-context", &field, &number],
                    };
                    let words: Vec<&str> =
                        ["tree", "shared", "--tree", "project"].into_iter().chain(words).collect();
                    let done = place.run(&words);
                    findings.check(done.ok(), || format!("writer {writer}: {}", done.shown()));
                }
            });
        }
    });
    let get = |part: &str| {
        let words = ["tree", "shared", "--tree", "project", "get", "session-context", part];
        place.run(&words).stdout().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (list, section) = (get("agents_invoked"), get("Decisions Made"));
    let lines: BTreeSet<&String> = list.iter().chain(&section).collect();
    let mut lost = 0;
    for writer in 0..WRITERS {
        let last = (0..each).rfind(|n| n % 3 == 2).unwrap_or(0);
        lost += usize::from(get(&format!("w{writer}")) != [last.to_string()]);
        lost += (0..each).filter(|n| n % 3 != 2 && !lines.contains(&format!("w{writer}-{n}"))).count();
    }
    findings.check(lost == 0, || format!("{lost} updates are lost"));
    findings.check(lines.len() == list.len() + section.len(), || "an update is there twice".to_owned());
    let litter = names_in(&claude(&place, "shared")).len();
    findings.check(litter == 2, || format!("{litter} files in shared/"));
    findings.verdict(format!("{} updates of {WRITERS} writers, {lost} lost", WRITERS * each))
}
