//! The answer of a hook: a text in exactly the shape that the program accepts. A shape that is wrong by one key is dropped
//! by some of them without a word, so each gets its own and nothing more.

use serde::Deserialize;
use serde_json::{Value, json};

use super::programs::{Context, Event, Hold, Program};

/// What of a hook's input matters here. The rest, a tool's whole output included, is passed over.
#[derive(Debug, Default, Deserialize)]
pub struct Input {
    #[serde(alias = "sessionId", default)]
    pub session_id: Option<String>,
    #[serde(default)]
    pub hook_event_name: Option<String>,
    #[serde(alias = "stopHookActive", default)]
    pub stop_hook_active: bool,
    /// What the person, or our own push, has typed.
    #[serde(default)]
    pub prompt: Option<String>,
}

impl Input {
    /// Whatever cannot be read is an input that says nothing.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut input: Self = serde_json::from_slice(bytes).unwrap_or_default();
        input.session_id = input.session_id.filter(|id| !id.is_empty() && id.len() <= 1024);
        input
    }
}

/// The answer that drops a prompt before a model sees it.
pub fn dropped(reason: &str) -> String {
    format!("{}\n", json!({"decision": "block", "reason": reason}))
}

/// The text of an answer, as it is printed.
pub fn shaped(program: &Program, event: Event, input: &Input, text: &str, watch: &[String]) -> String {
    let value = match (event, program.context, program.hold) {
        (_, Context::Plugin, _) => json!({"text": text, "watch": watch}),
        (Event::Stop, _, Hold::Block) => json!({"decision": "block", "reason": text}),
        (_, Context::Top, _) => json!({"additionalContext": text}),
        (_, Context::Nested, _) => {
            let mut inner = json!({"hookEventName": name(program, event, input), "additionalContext": text});
            if !watch.is_empty() {
                inner["watchPaths"] = watch.into();
            }
            json!({"hookSpecificOutput": inner})
        }
    };
    format!("{value}\n")
}

/// The program's own name of an event: the one it said, if it is one of them.
fn name(program: &Program, event: Event, input: &Input) -> Value {
    let mut names = program.hooks.iter().filter(|hook| hook.event == event).map(|hook| hook.name);
    let first = names.clone().next();
    let said = input.hook_event_name.as_deref();
    names.find(|name| Some(*name) == said).or(first).map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::super::programs::{PROGRAMS, find};
    use super::*;

    fn answer(word: &str, event: Event) -> String {
        let input = Input::parse(br#"{"hook_event_name":"PostToolUseFailure","tool_response":{"x":[1]}}"#);
        shaped(find(word).unwrap(), event, &input, "T", &[])
    }

    #[test]
    fn each_program_gets_its_own_shape() {
        let nested = |name: &str| {
            format!(
                "{{\"hookSpecificOutput\":{{\"hookEventName\":\"{name}\",\"additionalContext\":\"T\"}}}}\n"
            )
        };
        assert_eq!(answer("claude", Event::ToolEnd), nested("PostToolUseFailure"));
        assert_eq!(answer("claude", Event::Stop), nested("Stop"));
        assert_eq!(answer("codex", Event::ToolEnd), nested("PostToolUse"));
        assert_eq!(answer("gemini", Event::Prompt), nested("BeforeAgent"));
        assert_eq!(answer("copilot", Event::Start), "{\"additionalContext\":\"T\"}\n");
        assert_eq!(answer("opencode", Event::Stop), "{\"text\":\"T\",\"watch\":[]}\n");
        for word in ["codex", "gemini", "copilot"] {
            assert_eq!(answer(word, Event::Stop), "{\"decision\":\"block\",\"reason\":\"T\"}\n");
        }
    }

    #[test]
    fn only_what_can_be_used_is_taken_from_an_input() {
        let huge = format!("{{\"tool_response\":\"{}\",\"sessionId\":\"s\"}}", "x".repeat(10 * 1024 * 1024));
        assert_eq!(Input::parse(huge.as_bytes()).session_id.as_deref(), Some("s"));
        for bad in
            [&b"not json"[..], b"", b"[1]", b"{\"session_id\":7}", b"{\"session_id\":\"\"}", b"\xff\xfe"]
        {
            assert_eq!(Input::parse(bad).session_id, None);
        }
    }

    #[test]
    fn every_entry_of_the_table_is_json() {
        for hook in PROGRAMS.iter().flat_map(|program| program.hooks) {
            let entry = hook.entry.replace("{command}", "\"c\"");
            assert!(serde_json::from_str::<Value>(&entry).is_ok(), "{entry}");
        }
    }
}
