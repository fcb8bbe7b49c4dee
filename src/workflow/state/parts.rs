//! The text of a state file: the parts derived from the mail, and the parts that others wrote. Pure.

use crate::message::{frontmatter, visible, yaml};
use crate::workflow::carrier::shown;
use crate::workflow::engine::{Engine, Phase};
use crate::workflow::runs::Record;

/// The fields and sections that are derived from the mail.
const FIELDS: [&str; 5] = ["workflow_id", "status", "current_step", "total_steps", "workflow"];
const DIGEST: &str = "digest";
const SECTIONS: [&str; 2] = ["Steps", "Accumulated Results"];

/// How much of a result the state shows; the rest is in the file of the result.
const SHOWN: usize = 300;

/// The parts of a state that are derived from the mail.
pub(super) struct Parts {
    fields: [(&'static str, String); 5],
    steps: String,
    results: String,
}

impl Parts {
    pub(super) fn of(engine: &Engine, record: &Record) -> Self {
        let (mut steps, mut results) = (String::new(), String::new());
        let mut current = None;
        for (index, (step, state)) in engine.definition().steps.iter().zip(engine.steps()).enumerate() {
            let mark = if state.phase == Phase::Done { 'x' } else { ' ' };
            let about =
                if step.about.is_empty() { first_line(&step.prompt.source) } else { step.about.clone() };
            let mut agents = state.items.iter().map(|item| item.agent.as_str());
            let agent = agents.find(|agent| !agent.is_empty()).unwrap_or(step.agent.source.trim());
            let how = match state.phase {
                Phase::Done | Phase::Waiting => String::new(),
                _ => format!(" [{}]", shown(engine, index)),
            };
            let line = format!("{}. [{mark}] {agent}: {} ({}){how}", index + 1, about, step.name);
            steps.push_str(&visible::line(&line));
            steps.push('\n');
            if current.is_none() && !state.phase.is_settled() {
                current = Some(index + 1);
            }
            let done = state.items.iter().enumerate().filter(|(_, item)| item.outcome == Some(Ok(())));
            for (number, item) in done {
                let which = if step.foreach.is_some() { format!(" {}", number + 1) } else { String::new() };
                let text = item.text.as_deref().unwrap_or_default().trim();
                let summary = summary(text, &record.id, &item.file);
                results.push_str(&format!("### {}{which}\n\n{summary}\n\n", step.name));
            }
        }
        let total = engine.steps().len();
        Self {
            fields: [
                ("workflow_id", record.id.clone()),
                ("status", engine.status().as_str().to_owned()),
                ("current_step", current.unwrap_or(total).to_string()),
                ("total_steps", total.to_string()),
                ("workflow", record.workflow.clone()),
            ],
            steps: steps.trim_end().to_owned(),
            results: results.trim_end().to_owned(),
        }
    }

    fn digest(&self) -> String {
        let fields = self.fields.each_ref().map(|(_, value)| value.as_str()).join("\n");
        digest(&format!("{fields}\n{}\n{}", self.steps, self.results))
    }
}

/// The beginning of a result, and the path of the whole.
fn summary(text: &str, run: &str, file: &str) -> String {
    // A heading in the result must not look like one of the state.
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

pub(super) fn digest(text: &str) -> String {
    crate::hex::digest(text, 8)
}

pub(super) fn frontmatter_value(text: &str, key: &str) -> Option<String> {
    let split = frontmatter::split(text).ok()?;
    let fields = yaml::fields(split.header).ok()?;
    fields.into_iter().find(|field| field.key == key)?.value
}

/// Whether somebody edited a derived part.
pub(super) fn is_edited(text: &str) -> bool {
    let Ok(split) = frontmatter::split(text) else { return !text.trim().is_empty() };
    let Ok(fields) = yaml::fields(split.header) else { return true };
    let value =
        |key: &str| fields.iter().find(|field| field.key == key).and_then(|field| field.value.clone());
    let Some(said) = value(DIGEST) else { return value("workflow_id").is_some_and(|id| !id.is_empty()) };
    let sections = sections(split.body);
    let section = |name: &str| {
        let found = sections.iter().find(|(title, _)| *title == Some(name));
        found.map(|(_, text)| body_of(text)).unwrap_or_default()
    };
    let parts = Parts {
        fields: FIELDS.map(|key| (key, value(key).unwrap_or_default())),
        steps: section(SECTIONS[0]),
        results: section(SECTIONS[1]),
    };
    parts.digest() != said
}

/// A section without its heading.
fn body_of(section: &str) -> String {
    section.split_once('\n').map_or("", |(_, rest)| rest).trim().to_owned()
}

/// The sections of a body with their titles. Text before the first heading has no title.
fn sections(body: &str) -> Vec<(Option<&str>, &str)> {
    let mut starts: Vec<usize> = vec![0];
    let (mut at, mut fence) = (0, false);
    for line in body.split_inclusive('\n') {
        // Fenced code has no headings.
        fence ^= line.starts_with("```") || line.starts_with("~~~");
        if !fence && (line.starts_with("## ") || line.starts_with("# ")) && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(body.len());
    let title = |text| str::strip_prefix(text, "## ").map(|rest| rest.lines().next().unwrap_or("").trim());
    starts.windows(2).map(|pair| &body[pair[0]..pair[1]]).map(|text| (title(text), text)).collect()
}

/// The existing text with our parts replaced. Everything else is kept.
pub(super) fn merged(existing: &str, ours: &Parts) -> String {
    let (header, body) = match frontmatter::split(existing) {
        Ok(split) => (split.header, split.body),
        // A text without frontmatter.
        Err(_) => ("", existing),
    };
    let mut text = String::from("---\n");
    for (key, value) in ours.fields.iter().chain([&(DIGEST, ours.digest())]) {
        text.push_str(&format!("{key}: {}\n", yaml::scalar(value)));
    }
    let mut foreign = false;
    for line in header.split_inclusive('\n') {
        // A line that is not indented begins a field; indented lines belong to the field before. A comment is never
        // ours.
        if line.starts_with('#') {
            foreign = true;
        } else if !line.starts_with([' ', '\t', '-', '\n', '\r']) {
            let is_key = |key: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
            foreign = !FIELDS.into_iter().any(is_key) && !is_key(DIGEST);
        }
        if foreign {
            text.push_str(line.trim_end_matches(['\n', '\r']));
            text.push('\n');
        }
    }
    text.push_str("---\n");
    let mut theirs = sections(body);
    theirs.retain(|(title, text)| {
        !title.is_some_and(|title| SECTIONS.contains(&title)) && !text.trim().is_empty()
    });
    // Text without a heading stays before the first heading; after our sections it would become part of one.
    let (before, after): (Vec<_>, Vec<_>) = theirs.into_iter().partition(|(_, text)| !text.starts_with('#'));
    before.iter().for_each(|(_, theirs)| text.push_str(&format!("\n{}\n", theirs.trim())));
    text.push_str(&format!("\n## {}\n\n{}\n\n## {}\n", SECTIONS[0], ours.steps, SECTIONS[1]));
    if !ours.results.is_empty() {
        text.push_str(&format!("\n{}\n", ours.results));
    }
    after.iter().for_each(|(_, theirs)| text.push_str(&format!("\n{}\n", theirs.trim())));
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
        Parts {
            fields: fields.map(|(key, value)| (key, value.to_owned())),
            steps: "1. [ ] a: look (one)".into(),
            results: "### one\n\n> x".into(),
        }
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
    fn what_has_no_fields_and_what_stands_in_fences_or_comments_is_kept() {
        for by_hand in
            ["# My notes\n\nkeep me\n\n## Steps to Paris\n\nrue\n", "keep me\n\n# My notes\n\nrue\n"]
        {
            let text = merged(by_hand, &parts());
            assert!(
                text.contains("keep me\n") && text.contains("# My notes\n") && text.contains("\nrue\n"),
                "{text}"
            );
            assert!(!is_edited(&text), "{text}");
            assert_eq!(merged(&text, &parts()), text, "writing it again changes nothing");
        }
        let fenced = "## Notes\n\n```md\n## Steps\n## Mine\n```\n";
        let text =
            merged(&format!("---\n# a comment\nworkflow_id: w-1\n# another\n---\n\n{fenced}"), &parts());
        assert!(text.contains(fenced), "{text}");
        assert!(text.contains("# a comment\n") && text.contains("# another\n"), "{text}");
        assert!(!is_edited(&text), "{text}");
        assert_eq!(merged(&text, &parts()), text);
    }

    #[test]
    fn a_fresh_file_of_a_tree_takes_our_parts() {
        let fresh = "---\nworkflow_id:\nstatus:\ncurrent_step:\ntotal_steps:\n---\n\n## Steps\n\n## Accumulated Results\n";
        assert_eq!(merged(fresh, &parts()), merged("", &parts()));
    }
}
