//! The shared state of a run, for people and agents: a check-list of its steps and what came of them, in the form of the
//! workflow protocol (§3.5).
//!
//! ```text
//! <desk>/shared/workflow-state.md        the run that moved last
//!              /workflows/<run>.md       one such file per run
//!                        /<run>/         results that were too large for a prompt
//! ```
//!
//! The mail is the truth, and these files follow from it: lost ones are written again, and what somebody changed in the
//! parts that follow from the mail is put aside and told of. Other sections and fields of the files are kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::engine::{Engine, Phase};
use super::runs::Record;
use crate::mailbox::fault;
use crate::mailbox::tree::{Result, Tree};
use crate::message::{frontmatter, visible, yaml};

/// The file of the run that moved last.
pub const STATE: &str = "workflow-state";

/// The fields and sections that follow from the mail.
const FIELDS: [&str; 6] = ["workflow_id", "status", "current_step", "total_steps", "workflow", "digest"];
const SECTIONS: [&str; 2] = ["Steps", "Accumulated Results"];

/// The longest state that is read.
const LIMIT: u64 = 16 * 1024 * 1024;

/// How much of a result stands in the state; the rest is where the result lies.
const SHOWN: usize = 300;

/// A run of more steps than this writes its state no more often than that, because the state is as long as the run.
const MANY: usize = 200;
const REST: Duration = Duration::from_millis(250);

/// Where the shared state of a run lies.
#[derive(Debug)]
pub struct Desk {
    path: PathBuf,
    tree: Option<Tree>,
    written: Option<Duration>,
    /// Something changed that is not written yet.
    behind: bool,
    /// What the session was told, so that nothing is told twice.
    pub(super) told: Vec<String>,
}

impl Desk {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), tree: None, written: None, behind: true, told: vec![] }
    }

    pub(super) fn tree(&mut self) -> Result<&Tree> {
        if self.tree.is_none() {
            self.tree = Some(Tree::open(&self.path)?);
        }
        match &self.tree {
            Some(tree) => Ok(tree),
            None => Err(crate::mailbox::tree::Error::Busy { path: self.path.clone(), tries: 0 }),
        }
    }

    /// Keeps a result that is too large for a prompt. Durable on return.
    pub fn keep_result(&mut self, run: &str, file: &str, text: &str) -> fault::Result<()> {
        let dir = self.tree()?.shared_runs()?.made_sub(run)?;
        match dir.stat(file) {
            Ok(_) => Ok(()),
            Err(_) => dir.replace(file, text.as_bytes()),
        }
    }

    /// Brings the state up to date, if something changed or it is gone; what a person should know.
    pub fn write(
        &mut self,
        engine: &Engine,
        record: &Record,
        changed: bool,
        over: bool,
        now: Duration,
    ) -> Result<Option<String>> {
        self.behind |= changed;
        let file = format!("{}.md", record.id);
        let dir = self.tree()?.shared_runs()?;
        let lost = dir.stat(&file).is_err();
        let rests =
            engine.steps().len() > MANY && self.written.is_some_and(|at| now.saturating_sub(at) < REST);
        if !lost && !over && (!self.behind || rests) {
            return Ok(None);
        }
        let ours = Parts::of(engine, record);
        let existing = dir.read(&file, LIMIT)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let mut remark = None;
        if let Some(existing) = &existing
            && is_edited(existing)
        {
            let kept = format!("{}.edited-{}.md", record.id, &digest(existing)[..8]);
            dir.exchange(&kept, existing.as_bytes())?;
            remark = Some(format!(
                "{} was changed by hand; the mail is the truth, so it was written anew, and the changed text lies beside it as {kept}",
                dir.path().join(&file).display()
            ));
        }
        let text = merged(existing.as_deref().unwrap_or_default(), &ours);
        if existing.as_deref() != Some(&text) {
            dir.exchange(&file, text.as_bytes())?;
        }
        let changed_by_hand = std::cell::Cell::new(false);
        self.tree()?.rewrite(STATE, |existing| {
            // Another run's, or nobody's yet, is no edit of ours.
            let same = frontmatter_value(existing, "workflow_id").as_deref() == Some(record.id.as_str());
            changed_by_hand.set(same && is_edited(existing));
            Ok(merged(existing, &ours))
        })?;
        if changed_by_hand.get() && remark.is_none() {
            remark = Some(format!(
                "{STATE}.md was changed by hand; the mail is the truth, so its steps and results were written anew"
            ));
        }
        (self.written, self.behind) = (Some(now), false);
        Ok(remark)
    }
}

/// The parts of a state that follow from the mail.
struct Parts {
    fields: Vec<(&'static str, String)>,
    steps: String,
    results: String,
}

impl Parts {
    fn of(engine: &Engine, record: &Record) -> Self {
        let (mut steps, mut results) = (String::new(), String::new());
        let mut current = None;
        for (index, (step, state)) in engine.definition().steps.iter().zip(engine.steps()).enumerate() {
            let mark = if state.phase == Phase::Done { 'x' } else { ' ' };
            let about =
                if step.about.is_empty() { first_line(&step.prompt.source) } else { step.about.clone() };
            let agents: Vec<&str> =
                state.items.iter().map(|item| item.agent.as_str()).filter(|a| !a.is_empty()).collect();
            let agent = match agents.as_slice() {
                [] => step.agent.source.trim(),
                [agent, ..] => agent,
            };
            let how = match state.phase {
                Phase::Done | Phase::Waiting => String::new(),
                _ => format!(" [{}]", super::carrier::shown(engine, index)),
            };
            let line = format!("{}. [{mark}] {agent}: {} ({}){how}", index + 1, about, step.name);
            steps.push_str(&visible::line(&line));
            steps.push('\n');
            if current.is_none() && !state.phase.is_settled() {
                current = Some(index + 1);
            }
            for (number, item) in
                state.items.iter().enumerate().filter(|(_, item)| item.outcome == Some(Ok(())))
            {
                let which = if step.foreach.is_some() { format!(" {}", number + 1) } else { String::new() };
                let text = item.text.as_deref().unwrap_or_default().trim();
                results.push_str(&format!(
                    "### {}{which}\n\n{}\n\n",
                    step.name,
                    summary(text, &record.id, &item.file)
                ));
            }
        }
        let total = engine.steps().len();
        let mut parts = Self {
            fields: vec![
                ("workflow_id", record.id.clone()),
                ("status", engine.status().word().to_owned()),
                ("current_step", current.unwrap_or(total).to_string()),
                ("total_steps", total.to_string()),
                ("workflow", record.workflow.clone()),
            ],
            steps: steps.trim_end().to_owned(),
            results: results.trim_end().to_owned(),
        };
        let digest = parts.digest();
        parts.fields.push(("digest", digest));
        parts
    }

    fn digest(&self) -> String {
        let fields: Vec<String> =
            self.fields.iter().filter(|(key, _)| *key != "digest").map(|(_, value)| value.clone()).collect();
        digest(&format!("{}\n{}\n{}", fields.join("\n"), self.steps, self.results))
    }
}

/// The head of a result, and where all of it lies.
fn summary(text: &str, run: &str, file: &str) -> String {
    // A heading of the result must not pass for one of the state.
    let quoted = |text: &str| {
        text.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    };
    if text.len() <= SHOWN {
        return quoted(text);
    }
    let head = &text[..text.floor_char_boundary(SHOWN)];
    format!("{}\n\n({} bytes in all: `{run}/archive/{file}`)", quoted(head), text.len())
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    visible::clip(line, 80)
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn frontmatter_value(text: &str, key: &str) -> Option<String> {
    let split = frontmatter::split(text).ok()?;
    let fields = yaml::fields(split.header).ok()?;
    fields.into_iter().find(|field| field.key == key)?.value
}

/// Whether somebody changed what follows from the mail.
fn is_edited(text: &str) -> bool {
    let Ok(split) = frontmatter::split(text) else { return !text.trim().is_empty() };
    let Ok(fields) = yaml::fields(split.header) else { return true };
    let value =
        |key: &str| fields.iter().find(|field| field.key == key).and_then(|field| field.value.clone());
    let Some(said) = value("digest") else { return value("workflow_id").is_some_and(|id| !id.is_empty()) };
    let sections = sections(split.body);
    let section = |name: &str| {
        let found = sections.iter().find(|(title, _)| *title == Some(name));
        found.map(|(_, text)| body_of(text)).unwrap_or_default()
    };
    let parts = Parts {
        fields: FIELDS
            .iter()
            .filter(|key| **key != "digest")
            .map(|key| (*key, value(key).unwrap_or_default()))
            .collect(),
        steps: section(SECTIONS[0]),
        results: section(SECTIONS[1]),
    };
    parts.digest() != said
}

/// A section without its heading.
fn body_of(section: &str) -> String {
    section.split_once('\n').map_or("", |(_, rest)| rest).trim().to_owned()
}

/// The sections of a body with their titles; what stands before the first has none.
fn sections(body: &str) -> Vec<(Option<&str>, &str)> {
    let mut starts: Vec<usize> = vec![0];
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.starts_with("## ") && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(body.len());
    let title = |text: &str| -> Option<usize> { text.starts_with("## ").then_some(3) };
    starts
        .windows(2)
        .map(|pair| &body[pair[0]..pair[1]])
        .map(|text| (title(text).map(|from| text[from..].lines().next().unwrap_or("").trim()), text))
        .collect()
}

/// What is there with our parts in it: everything that is not ours is kept.
fn merged(existing: &str, ours: &Parts) -> String {
    let (header, body) = match frontmatter::split(existing) {
        Ok(split) => (split.header, split.body),
        Err(_) => ("", ""),
    };
    let mut text = String::from("---\n");
    for (key, value) in &ours.fields {
        text.push_str(&format!("{key}: {}\n", yaml::scalar(value)));
    }
    let mut foreign = false;
    for line in header.split_inclusive('\n') {
        // A line that is not indented begins a field; the others belong to the one before.
        if !line.starts_with([' ', '\t', '-', '#', '\n', '\r']) {
            foreign =
                !FIELDS.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
        }
        if foreign {
            text.push_str(line.trim_end_matches(['\n', '\r']));
            text.push('\n');
        }
    }
    text.push_str(&format!("---\n\n## {}\n\n{}\n\n## {}\n", SECTIONS[0], ours.steps, SECTIONS[1]));
    if !ours.results.is_empty() {
        text.push_str(&format!("\n{}\n", ours.results));
    }
    for (title, section) in sections(body) {
        if !title.is_some_and(|title| SECTIONS.contains(&title)) && !section.trim().is_empty() {
            text.push_str(&format!("\n{}\n", section.trim()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Parts {
        let fields = [
            ("workflow_id", "w-1"),
            ("status", "in_progress"),
            ("current_step", "1"),
            ("total_steps", "2"),
            ("workflow", "w"),
        ];
        let mut parts = Parts {
            fields: fields.map(|(key, value)| (key, value.to_owned())).to_vec(),
            steps: "1. [ ] a: look (one)".into(),
            results: "### one\n\n> x".into(),
        };
        parts.fields.push(("digest", parts.digest()));
        parts
    }

    #[test]
    fn what_others_wrote_is_kept_and_what_was_changed_in_ours_is_seen() {
        let text = merged("", &parts());
        assert!(!is_edited(&text), "{text}");
        assert_eq!(merged(&text, &parts()), text, "writing it again changes nothing");
        let with = text.replace("total_steps: 2\n", "total_steps: 2\nmine:\n  - a\n  - b\n")
            + "\n## Notes\n\nby hand\n";
        assert!(!is_edited(&with), "{with}");
        let again = merged(&with, &parts());
        assert!(
            again.contains("mine:\n  - a\n  - b\n---") && again.ends_with("## Notes\n\nby hand\n"),
            "{again}"
        );
        for (from, to) in [("[ ]", "[x]"), ("in_progress", "completed"), ("> x", "> y")] {
            assert!(is_edited(&text.replace(from, to)), "{from}");
        }
        assert!(is_edited("rubbish") && !is_edited(""));
    }

    #[test]
    fn a_fresh_file_of_a_tree_takes_our_parts() {
        let fresh = "---\nworkflow_id:\nstatus:\ncurrent_step:\ntotal_steps:\n---\n\n## Steps\n\n## Accumulated Results\n";
        assert_eq!(merged(fresh, &parts()), merged("", &parts()));
    }
}
