//! Presets: how an agent program is started, and how its output is read. Data only (`presets.toml`); what is here
//! turns it into a command line.
//!
//! No byte of a message is ever part of a command line: the prompt goes to standard input, and what is put in here
//! are values of the configuration, the room's path and session ids that the program itself gave.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::outage::{Outage, OutageRule};
use super::output::walk;
use crate::settings::agents::Access;

const FILE: &str = include_str!("presets.toml");

/// One agent program.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Preset {
    /// The program's name; empty: the configuration gives the command.
    pub program: String,
    start: Vec<String>,
    resume: Vec<String>,
    model: Vec<String>,
    agent: Vec<String>,
    root: Vec<String>,
    access: BTreeMap<String, Vec<String>>,
    /// Variables that the program needs, beside those that every run gets.
    pub env: Vec<String>,
    /// What is printed is the answer.
    pub plain: bool,
    pub text: Vec<Rule>,
    pub session: Vec<Rule>,
    pub failure: Vec<Rule>,
    /// What the program says of a conversation that it cannot go on with.
    pub lost_session: Vec<String>,
    /// What it says when somebody else is in that conversation.
    pub busy: Vec<String>,
    /// How it tells of an outage, and what ends the matter.
    pub outage: Vec<OutageRule>,
    pub progress: Vec<Rule>,
    /// The outage that an exit code means.
    pub exit: BTreeMap<String, Outage>,
    /// What it says on standard error, before its first event, when nobody is logged in.
    pub login: Vec<String>,
    /// The outage that it says nothing about: it tries until its time is over, without a line.
    pub silent: Option<Outage>,
    /// Which tool a call is for, by the call's id, and which calls the program refused.
    pub calls: Vec<Rule>,
    pub denied: Vec<Rule>,
}

/// Where something stands in a line of output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Only in lines in which these fields have these values, or begin like this if the value ends with `*`.
    #[serde(default)]
    pub when: BTreeMap<String, String>,
    /// The way to it, by keys and numbers; `*` is every entry of a list.
    pub at: String,
    /// The way to the id of a call, where a later line refers to it.
    #[serde(default)]
    pub id: Option<String>,
    /// Every find is a part of the whole; else the last one counts.
    #[serde(default)]
    pub join: bool,
}

/// Whether the fields of a line have these values.
pub(super) fn fits(when: &BTreeMap<String, String>, line: &Value) -> bool {
    when.iter().all(|(way, wanted)| {
        walk(line, way).is_some_and(|found| match (found, wanted.strip_suffix('*')) {
            (Value::String(text), Some(begins)) => text.starts_with(begins),
            (Value::String(text), None) => text == wanted,
            (Value::Bool(truth), _) => wanted == if *truth { "true" } else { "false" },
            _ => false,
        })
    })
}

/// What a command line is made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    pub access: Access,
    pub model: Option<&'a str>,
    pub session: Option<&'a str>,
    /// The agent as the program itself knows it.
    pub described: Option<&'a str>,
    /// Where the agent writes mail.
    pub root: &'a Path,
    /// A file for the final text.
    pub last: &'a Path,
}

/// The names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILE.lines().filter_map(header).filter(|name| !name.contains('.'))
}

/// A preset by its name. Only its part of the file is read: every start of an agent begins with this.
pub fn named(name: &str) -> Option<Preset> {
    let is_of = |header: &str| header.split('.').next() == Some(name);
    let mut inside = false;
    let part: Vec<&str> = FILE
        .lines()
        .filter(|line| {
            inside = header(line).map_or(inside, is_of);
            inside
        })
        .collect();
    // The file is part of the program, and a test reads it.
    toml::from_str::<BTreeMap<String, Preset>>(&part.join("\n")).ok()?.remove(name)
}

/// The name in `[name]`, if a line is that.
fn header(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

impl Preset {
    /// One of which nothing is known but that it prints its answer.
    pub fn of_text() -> Self {
        Self { plain: true, ..Self::default() }
    }

    /// The arguments of the program.
    pub fn arguments(&self, parts: &Parts<'_>) -> Vec<String> {
        let template = if parts.session.is_some() { &self.resume } else { &self.start };
        let root = parts.root.display().to_string();
        let last = parts.last.display().to_string();
        let fill = |text: &String, model: &str| {
            text.replace("{model}", model)
                .replace("{root}", &root)
                .replace("{last}", &last)
                .replace("{session}", parts.session.unwrap_or_default())
        };
        let mut arguments = vec![];
        for part in template {
            match part.as_str() {
                "{access}" => {
                    let given = self.access.get(parts.access.as_str()).into_iter().flatten();
                    arguments.extend(given.map(|a| fill(a, "")));
                }
                "{model}" => {
                    if let Some(model) = parts.model {
                        arguments.extend(self.model.iter().map(|a| fill(a, model)));
                    }
                }
                "{agent}" => {
                    if let Some(agent) = parts.described {
                        arguments.extend(self.agent.iter().map(|a| a.replace("{agent}", agent)));
                    }
                }
                "{root}" => arguments.extend(self.root.iter().map(|a| fill(a, ""))),
                _ => arguments.push(fill(part, "")),
            }
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(session: Option<&'a str>) -> Parts<'a> {
        Parts {
            access: Access::Edit,
            model: Some("m1"),
            session,
            described: Some("reviewer"),
            root: Path::new("/srv/room"),
            last: Path::new("/srv/last"),
        }
    }

    #[test]
    fn every_preset_is_read_and_complete() {
        let all: BTreeMap<String, Preset> = toml::from_str(FILE).unwrap();
        assert_eq!(
            names().collect::<Vec<_>>(),
            ["claude", "codex", "gemini", "opencode", "copilot", "command"]
        );
        assert_eq!(all.len(), names().count());
        assert_eq!(named("clau"), None);
        for (name, preset) in &all {
            assert_eq!(named(name).as_ref(), Some(preset));
            assert!(preset.plain || !preset.program.is_empty() && !preset.text.is_empty(), "{name}");
            for session in [None, Some("s-1")] {
                let line = preset.arguments(&parts(session)).join(" ");
                assert!(!line.contains('{') || line.contains("[\""), "{name}: {line}");
                assert_eq!(line.contains("s-1"), session.is_some() && !preset.plain, "{name}: {line}");
            }
        }
    }

    #[test]
    fn a_command_line_has_access_model_and_root() {
        let line = named("claude").unwrap().arguments(&parts(None)).join(" ");
        assert!(
            line.contains("--permission-mode acceptEdits --model m1 --agent reviewer --add-dir /srv/room"),
            "{line}"
        );
        let line = named("codex").unwrap().arguments(&parts(Some("t1"))).join(" ");
        assert!(line.starts_with("exec resume t1 --json -o /srv/last"), "{line}");
    }
}
