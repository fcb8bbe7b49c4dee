//! What the model says. A script is a JSON list of turns, or a list of conversations
//! `{"has": TEXT, "turns": [...]}`: a request plays the first one whose text stands in it. Each request that offers
//! tools takes the next turn:
//!
//! | turn | |
//! |---|---|
//! | `{"text": T}` | says it, and ends |
//! | `{"shell": C}` | runs a command by whichever shell tool the program offers |
//! | `{"mcp": "SERVER/TOOL", "input": {...}}` | calls a tool of an MCP server, by the name it has in that program |
//! | `{"tool": NAME, "input": {...}}` | calls a tool of the program itself |
//! | `{"status": CODE}` | fails with this HTTP status, in the words of the API |
//! | `{"drop": true}` | closes the connection without a word |
//!
//! A turn with `"repeat": true` is given to every further request too, because programs try again.
//! Any turn may have `"after": PATH` (it is given once that file is there) or `"pause": MILLISECONDS`. In a command,
//! `{{TEXT}}` becomes the word that follows the last TEXT in the request: so the model knows the id of a message.
//! When the turns are over, the model says `heard` and, in order, each `marker-N` that stands in the request, so that
//! the answer tells what has reached it.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wire::{Api, Offered};

/// How long a turn waits for its file.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Default)]
pub(crate) struct Script {
    conversations: Mutex<Vec<Conversation>>,
}

#[derive(Debug)]
struct Conversation {
    has: String,
    turns: VecDeque<Value>,
}

/// What is said in one turn.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) text: Option<String>,
    pub(crate) call: Option<Call>,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The namespace of the tool, where the API has such.
    pub(crate) space: Option<String>,
    /// An object, or the text of a free-form tool.
    pub(crate) input: Value,
}

impl Said {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), call: None }
    }

    fn call(name: &str, space: Option<String>, input: Value) -> Self {
        Self { text: None, call: Some(Call { name: name.to_owned(), space, input }) }
    }
}

impl Script {
    pub(crate) fn read(text: &str) -> Self {
        let Value::Array(list) = serde_json::from_str(text).unwrap() else { panic!("a script is a list") };
        let turns = |value: &Value| value["turns"].as_array().cloned().map(VecDeque::from);
        let conversations = if list.iter().all(|entry| entry.get("turns").is_some()) && !list.is_empty() {
            let one = |value: &Value| Conversation {
                has: value["has"].as_str().unwrap_or_default().to_owned(),
                turns: turns(value).unwrap(),
            };
            list.iter().map(one).collect()
        } else {
            vec![Conversation { has: String::new(), turns: list.into() }]
        };
        Self { conversations: Mutex::new(conversations) }
    }

    /// The next turn for a request with this body.
    pub(crate) fn next(&self, body: &str) -> Option<Value> {
        let mut conversations = self.conversations.lock().unwrap();
        let turns = &mut conversations.iter_mut().find(|c| body.contains(&c.has))?.turns;
        match turns.front() {
            Some(turn) if turn["repeat"] == true => Some(turn.clone()),
            _ => turns.pop_front(),
        }
    }
}

/// Returns once the file of a turn is there, or its pause is over.
pub(crate) fn await_time(turn: &Value) {
    std::thread::sleep(Duration::from_millis(turn["pause"].as_u64().unwrap_or(0)));
    let Some(file) = turn["after"].as_str() else { return };
    let start = Instant::now();
    while !Path::new(file).exists() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A turn in the words of an API and of the tools that were offered.
pub(crate) fn played(turn: &Value, api: Api, offered: &[Offered], body: &str) -> Said {
    let input = turn.get("input").cloned().unwrap_or_else(|| json!({}));
    if let Some(command) = turn["shell"].as_str() {
        return shell(&known(command, body), offered);
    }
    if let Some((server, tool)) = turn["mcp"].as_str().and_then(|name| name.split_once('/')) {
        let spellings = [
            format!("mcp__{server}__{tool}"),
            format!("mcp_{server}_{tool}"),
            format!("{server}_{tool}"),
            format!("{server}-{tool}"),
        ];
        // A tool that is not offered may still be known: Claude Code and Codex tell of some only when asked.
        return match (api, spellings.iter().find(|name| offered.iter().any(|o| &o.name == *name))) {
            (Api::Responses, _) if has(offered, "exec") && !has(offered, "exec_command") => {
                let script = format!("text(JSON.stringify(await tools.{}({input})));", spellings[0]);
                Said::call("exec", None, script.into())
            }
            (Api::Responses, _) => Said::call(tool, Some(format!("mcp__{server}")), input),
            (_, Some(name)) => Said::call(name, None, input),
            (Api::Gemini, None) => Said::call(&spellings[1], None, input),
            (_, None) => Said::call(&spellings[0], None, input),
        };
    }
    if let Some(name) = turn["tool"].as_str() {
        return Said::call(name, None, input);
    }
    match turn["text"].as_str() {
        Some(text) => Said::text(text),
        None => Said::text(heard(body)),
    }
}

/// What an answer of the model tells when it has no script.
pub(crate) fn heard(body: &str) -> String {
    let number = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let markers: BTreeSet<String> =
        body.split("marker-").skip(1).map(number).filter(|n| !n.is_empty()).collect();
    markers.iter().fold("heard".to_owned(), |text, number| format!("{text} marker-{number}"))
}

/// A command with each `{{TEXT}}` replaced.
fn known(command: &str, body: &str) -> String {
    let mut parts = command.split("{{");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| {
        let Some((text, rest)) = part.split_once("}}") else { return format!("{done}{{{{{part}") };
        let word = body.rsplit(text).next().unwrap_or_default();
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(word.len());
        format!("{done}{}{rest}", &word[..end])
    })
}

fn has(offered: &[Offered], name: &str) -> bool {
    offered.iter().any(|tool| tool.name == name)
}

/// A command, for the shell tool of whichever program it is.
fn shell(command: &str, offered: &[Offered]) -> Said {
    let plain = json!({"command": command, "description": "part of a test"});
    let forms = [
        ("Bash", plain.clone()),
        ("run_shell_command", plain.clone()),
        ("bash", plain),
        ("exec_command", json!({"cmd": command})),
        ("shell_command", json!({"command": command})),
        ("shell", json!({"command": ["bash", "-c", command]})),
        // A model in Codex's code mode writes a program that calls the tools.
        ("exec", format!("text((await tools.exec_command({})).output);", json!({"cmd": command})).into()),
    ];
    match forms.into_iter().find(|(name, _)| has(offered, name)) {
        Some((name, input)) => Said::call(name, None, input),
        None => Said::text(format!("no shell tool is offered among {offered:?}")),
    }
}
