//! What Codex says of itself: the hooks that it sees, whether it trusts ours, and its settings. Its own server tells them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::probe::{Trust, question};
use super::talk::Talk;
use crate::message::visible;

/// Begins a conversation with Codex's own server.
pub(super) fn begin(command: &mut Command) -> Option<Talk> {
    let mut talk = Talk::begin(command)?;
    let client = json!({"name": "postroom", "version": env!("CARGO_PKG_VERSION")});
    talk.say(&json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}));
    talk.say(&json!({"method": "initialized"}));
    Some(talk)
}

/// What Codex sees in a directory.
#[derive(Debug, Default)]
pub struct Seen {
    pub hooks: Vec<Value>,
    /// The settings of the person, of all layers together. `None` if this version does not tell them.
    pub settings: Option<Value>,
}

/// What Codex sees with these settings on its command line.
pub fn seen(program: &Path, settings: &[&str], place: &Path) -> Result<Seen, String> {
    let words: Vec<&str> = ["app-server"].iter().chain(settings).copied().collect();
    let silent = || "codex app-server did not answer".to_owned();
    let mut talk = begin(&mut question(program, &words, place)).ok_or_else(silent)?;
    talk.say(&json!({"id": 2, "method": "config/read", "params": {"cwd": place}}));
    talk.say(&json!({"id": 3, "method": "hooks/list", "params": {"cwds": [place]}}));
    let (mut hooks, mut config) = (None, None);
    while hooks.is_none() || config.is_none() {
        let message = talk.hear().ok_or_else(silent)?;
        match message["id"].as_u64() {
            Some(2) => config = Some(message["result"].get("config").cloned()),
            Some(3) => hooks = Some(message),
            _ => {}
        }
    }
    let answer = hooks.unwrap_or_default();
    if let Some(error) = answer.get("error") {
        return Err(visible::clip(&error.to_string(), 200));
    }
    let mut hooks = vec![];
    gather(&answer["result"], &mut hooks);
    Ok(Seen { hooks: hooks.into_iter().cloned().collect(), settings: config.flatten() })
}

/// Whether Codex trusts our hooks.
pub fn trust(program: &Path, place: &Path) -> Trust {
    match seen(program, &[], place) {
        Err(why) => Trust::Unknown(why),
        Ok(seen) => {
            let (open, all) = counts(&Value::Array(seen.hooks));
            trust_of(open, all)
        }
    }
}

pub(super) fn trust_of(open: usize, all: usize) -> Trust {
    match (open, all) {
        (_, 0) => Trust::Unknown("codex sees no hook of postroom".to_owned()),
        (0, _) => Trust::Trusted,
        _ => Trust::Asked { open, all },
    }
}

/// How many of our hooks are not trusted, and how many there are.
pub(super) fn counts(result: &Value) -> (usize, usize) {
    let mut hooks = vec![];
    gather(result, &mut hooks);
    let own: Vec<&Value> =
        hooks.into_iter().filter(|hook| hook.to_string().contains(" hook codex ")).collect();
    let is_trusted = |hook: &&&Value| {
        hook["trustStatus"].as_str().is_some_and(|status| status == "trusted" || status == "managed")
    };
    (own.iter().filter(|hook| !is_trusted(hook)).count(), own.len())
}

/// Collects every object with a trust state, anywhere in the answer.
fn gather<'v>(value: &'v Value, hooks: &mut Vec<&'v Value>) {
    match value {
        Value::Object(members) if members.contains_key("trustStatus") => hooks.push(value),
        Value::Object(members) => members.values().for_each(|member| gather(member, hooks)),
        Value::Array(items) => items.iter().for_each(|item| gather(item, hooks)),
        _ => {}
    }
}
