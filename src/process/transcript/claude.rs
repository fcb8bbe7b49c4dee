//! Claude Code: `--output-format stream-json`. A message of the API per line, then one `result`.

use serde_json::Value;

use super::{CallOutcome, Event, Found, Tokens, flat, number, said, text, thought};

pub(super) fn parse(line: &Value) -> Option<Vec<Found>> {
    let blocks = || line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
    Some(match line.get("type")?.as_str()? {
        "system" => match text(line, "/subtype").as_deref() {
            Some("init") => {
                let (session, model) = (text(line, "/session_id"), text(line, "/model"));
                vec![Found::Event(Event::Began { session, model })]
            }
            Some("permission_denied") => denial(line).into_iter().collect(),
            _ => vec![],
        },
        "assistant" => blocks().flat_map(block).collect(),
        "user" => blocks().filter_map(result).collect(),
        "result" => ended(line),
        "stream_event" | "rate_limit_event" | "tool_progress" | "control_request" | "control_response" => {
            vec![]
        }
        _ => return None,
    })
}

fn block(block: &Value) -> Vec<Found> {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => said(text(block, "/text")),
        Some("thinking") => thought(text(block, "/thinking")),
        Some("tool_use" | "server_tool_use") => vec![Found::Call {
            call: text(block, "/id").unwrap_or_default(),
            tool: text(block, "/name").unwrap_or_default(),
            input: block.get("input").cloned().unwrap_or_default(),
        }],
        _ => vec![],
    }
}

fn result(block: &Value) -> Option<Found> {
    let call = text(block, "/tool_use_id")?;
    let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    let outcome = if is_error { CallOutcome::Failed } else { CallOutcome::Done };
    Some(Found::Return { call, outcome, output: block.get("content").map(flat).unwrap_or_default() })
}

fn denial(said: &Value) -> Option<Found> {
    Some(Found::Denial { call: text(said, "/tool_use_id")?, tool: text(said, "/tool_name")? })
}

fn ended(line: &Value) -> Vec<Found> {
    let denials = line.get("permission_denials").and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<Found> = denials.filter_map(denial).collect();
    let cached = number(line, "/usage/cache_read_input_tokens");
    let tokens = Tokens {
        input: number(line, "/usage/input_tokens")
            + number(line, "/usage/cache_creation_input_tokens")
            + cached,
        cached,
        output: number(line, "/usage/output_tokens"),
    };
    found.push(Found::Used(tokens, line.get("total_cost_usd").and_then(Value::as_f64)));
    let is_ok = line.get("is_error").and_then(Value::as_bool) == Some(false);
    found.push(Found::Event(Event::Ended { is_ok, text: text(line, "/result") }));
    found
}
