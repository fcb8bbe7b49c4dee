//! Gemini CLI: `--output-format stream-json`. Text comes in parts; the last line has the tokens.

use serde_json::Value;

use super::{CallOutcome, Event, Found, Tokens, flat, number, remarked, said, text};

pub(super) fn parse(line: &Value) -> Option<Vec<Found>> {
    Some(match line.get("type")?.as_str()? {
        "init" => {
            let (session, model) = (text(line, "/session_id"), text(line, "/model"));
            vec![Found::Event(Event::Began { session, model })]
        }
        "message" => match (text(line, "/role").as_deref(), text(line, "/content")) {
            (Some("assistant"), Some(part)) if line.get("delta") == Some(&Value::Bool(true)) => {
                vec![Found::Part(part)]
            }
            (Some("assistant"), whole) => said(whole),
            _ => vec![],
        },
        "tool_use" => vec![Found::Call {
            call: text(line, "/tool_id")?,
            tool: text(line, "/tool_name")?,
            input: line.get("parameters").cloned().unwrap_or_default(),
        }],
        "tool_result" => {
            let outcome = match (text(line, "/status").as_deref(), text(line, "/error/type").as_deref()) {
                (_, Some("policy_violation")) => CallOutcome::Denied,
                (Some("success"), _) => CallOutcome::Done,
                _ => CallOutcome::Failed,
            };
            let output = line.get("output").or_else(|| line.pointer("/error/message"));
            let output = output.map(flat).unwrap_or_default();
            vec![Found::Return { call: text(line, "/tool_id")?, outcome, output }]
        }
        "error" => remarked(text(line, "/message").or_else(|| text(line, "/error/message"))),
        "result" => {
            let tokens = Tokens {
                input: number(line, "/stats/input_tokens"),
                cached: number(line, "/stats/cached"),
                output: number(line, "/stats/output_tokens"),
            };
            let is_ok = text(line, "/status").as_deref() == Some("success");
            let ended = Event::Ended { is_ok, text: text(line, "/error/message") };
            vec![Found::Used(tokens, None), Found::Event(ended)]
        }
        _ => return None,
    })
}
