//! The answer of a hook: a text in exactly the shape that the program accepts. Some programs silently drop an answer
//! with one wrong key, so each gets its own shape and nothing more.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::programs::{Context, Event, Hold, Program};

/// The parts of a hook's input that matter here. The rest, such as a tool's whole output, is ignored. A member of the
/// wrong kind is ignored too, and does not affect the others.
#[derive(Debug, Default)]
pub struct Input {
    pub session_id: Option<String>,
    pub hook_event_name: Option<String>,
    pub stop_hook_active: bool,
    /// The text that the person, or our own push, has typed.
    pub prompt: Option<String>,
    /// The file of the conversation.
    pub transcript_path: Option<String>,
    /// The working directory of the session, which may differ from that of its hooks.
    pub cwd: Option<String>,
    /// Why a session starts, or ends: `clear` if the person cleared it.
    pub source: Option<String>,
    /// The file that changed.
    pub file_path: Option<String>,
    /// The part of the session that calls, if it is not the session itself: it has a context of its own.
    pub agent_id: Option<String>,
}

impl Input {
    /// Whether the person cleared the session, and goes on in the same process.
    pub fn is_cleared(&self) -> bool {
        self.source.as_deref() == Some("clear")
    }

    /// Whether the session has no past.
    pub fn is_new(&self) -> bool {
        matches!(self.source.as_deref(), Some("startup" | "new"))
    }

    /// Whether the session goes on with less of its past, in the middle of its work.
    pub fn is_compacted(&self) -> bool {
        self.source.as_deref() == Some("compact")
    }

    /// Input that cannot be parsed counts as empty.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut input: Self = serde_json::from_slice(bytes).unwrap_or_default();
        input.session_id = input.session_id.filter(|id| !id.is_empty() && id.len() <= 1024);
        input
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Input;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Input, A::Error> {
                let mut input = Input::default();
                while let Some(key) = members.next_key::<String>()? {
                    match key.as_str() {
                        "session_id" | "sessionId" => input.session_id = text(members.next_value()?),
                        "hook_event_name" => input.hook_event_name = text(members.next_value()?),
                        // Everything but a "no" counts as yes: holding a session up endlessly is the worse mistake.
                        "stop_hook_active" | "stopHookActive" => {
                            input.stop_hook_active = !says_no(members.next_value()?)
                        }
                        "transcript_path" => input.transcript_path = text(members.next_value()?),
                        "cwd" => input.cwd = text(members.next_value()?),
                        "source" | "reason" => input.source = text(members.next_value()?),
                        "file_path" => input.file_path = text(members.next_value()?),
                        "agent_id" | "agentId" => input.agent_id = text(members.next_value()?),
                        "prompt" => input.prompt = text(members.next_value()?),
                        _ => drop(members.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(input)
            }
        }
        from.deserialize_map(Members)
    }
}

/// The text of a member. `None`: it is of another kind, or says no.
fn text(member: &RawValue) -> Option<String> {
    if says_no(member) { None } else { serde_json::from_str(member.get()).ok() }
}

/// Whether a member is false, null, zero, or a text that says so.
fn says_no(member: &RawValue) -> bool {
    matches!(member.get(), "false" | "null" | "0" | "\"false\"" | "\"\"")
}

/// The answer that drops a prompt before a model sees it.
pub fn dropped(reason: &str) -> String {
    format!("{}\n", json!({"decision": "block", "reason": reason}))
}

/// The answer that only says what to watch from now on.
pub fn watching(program: &Program, event: Event, input: &Input, watch: &[String]) -> String {
    let inner = json!({"hookEventName": name(program, event, input), "watchPaths": watch});
    format!("{}\n", json!({"hookSpecificOutput": inner}))
}

/// The text of an answer, as printed.
pub fn shaped(program: &Program, event: Event, input: &Input, text: &str, watch: &[String]) -> String {
    let value = match (event, program.context, program.hold) {
        (_, Context::Plugin, _) | (Event::Mail, ..) => json!({"text": text, "watch": watch}),
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

/// The program's own name of an event: the one in its input, if it is one of them.
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
    fn one_odd_member_costs_no_other() {
        let deep =
            format!("{{\"session_id\":\"s\",\"prompt\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for text in [
            r#"{"stop_hook_active":"true","session_id":"s","prompt":[{"a":1}],"hook_event_name":{"x":[]}}"#,
            r#"{"sessionId":"s","session_id":"s","stop_hook_active":1.5}"#,
            r#"{"session_id":"s","stop_hook_active":true,"stopHookActive":[0]}"#,
            deep.as_str(),
        ] {
            let input = Input::parse(text.as_bytes());
            assert_eq!(input.session_id.as_deref(), Some("s"), "{text}");
            assert_eq!(input.stop_hook_active, !text.starts_with("{\"session_id\":\"s\",\"prompt"), "{text}");
        }
        for no in ["false", "null", "0", "\"false\"", "\"\""] {
            assert!(
                !Input::parse(format!("{{\"stop_hook_active\":{no}}}").as_bytes()).stop_hook_active,
                "{no}"
            );
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
