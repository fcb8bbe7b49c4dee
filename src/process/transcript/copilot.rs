//! Copilot CLI: `--output-format json`. Many kinds of events, most of them about the program itself.

use serde_json::Value;

use super::{CallOutcome, Event, Found, flat, remarked, said, text, thought};

/// Beginnings of kinds that say nothing about the work.
const ASIDE: [&str; 8] =
    ["session.", "assistant.", "model.", "tool.", "user.", "permission.", "hook.", "subagent."];

pub(super) fn parse(line: &Value) -> Option<Vec<Found>> {
    let kind = line.get("type")?.as_str()?;
    Some(match kind {
        "assistant.message" => said(text(line, "/data/content")),
        "assistant.reasoning" => thought(text(line, "/data/content")),
        "tool.execution_start" => vec![Found::Call {
            call: text(line, "/data/toolCallId")?,
            tool: text(line, "/data/toolName")?,
            input: line.pointer("/data/arguments").cloned().unwrap_or_default(),
        }],
        "tool.execution_complete" => {
            let is_done = line.pointer("/data/success") == Some(&Value::Bool(true));
            let outcome = match text(line, "/data/error/code").as_deref() {
                _ if is_done => CallOutcome::Done,
                Some("denied" | "rejected") => CallOutcome::Denied,
                _ => CallOutcome::Failed,
            };
            let output = line.pointer("/data/result/content").or_else(|| line.pointer("/data/error/message"));
            let output = output.map(flat).unwrap_or_default();
            vec![Found::Return { call: text(line, "/data/toolCallId")?, outcome, output }]
        }
        "session.error" => remarked(text(line, "/data/message")),
        "result" => {
            let is_ok = line.get("exitCode").and_then(Value::as_i64) == Some(0);
            vec![Found::Event(Event::Ended { is_ok, text: None })]
        }
        _ if ASIDE.iter().any(|begin| kind.starts_with(begin)) => vec![],
        _ => return None,
    })
}
