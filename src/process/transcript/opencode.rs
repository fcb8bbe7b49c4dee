//! OpenCode: `run --format json`. A call and its result are one line; each step has its tokens and its cost.

use serde_json::Value;

use super::{CallOutcome, Event, Found, Tokens, flat, number, said, text, thought};

/// What it says to the agent of a call that it did not allow; there is no other sign.
const DENIED: [&str; 2] = ["The user rejected permission", "The user has specified a rule which prevents"];

pub(super) fn parse(line: &Value) -> Option<Vec<Found>> {
    Some(match line.get("type")?.as_str()? {
        "step_start" => vec![Found::Event(Event::Began { session: text(line, "/sessionID"), model: None })],
        "text" => said(text(line, "/part/text")),
        "reasoning" => thought(text(line, "/part/text")),
        "tool_use" => tool(line.get("part")?)?,
        "step_finish" => {
            let cached = number(line, "/part/tokens/cache/read");
            let tokens = Tokens {
                input: number(line, "/part/tokens/input") + cached + number(line, "/part/tokens/cache/write"),
                cached,
                output: number(line, "/part/tokens/output") + number(line, "/part/tokens/reasoning"),
            };
            // A model without a known price costs 0.
            let cost = line.pointer("/part/cost").and_then(Value::as_f64).filter(|cost| *cost > 0.0);
            vec![Found::Used(tokens, cost)]
        }
        "error" => {
            let why = ["/error/data/message", "/error/message", "/error/name"];
            let why = why.iter().find_map(|path| text(line, path));
            vec![Found::Event(Event::Ended { is_ok: false, text: why })]
        }
        _ => return None,
    })
}

fn tool(part: &Value) -> Option<Vec<Found>> {
    let (call, tool) = (text(part, "/callID")?, text(part, "/tool")?);
    let input = part.pointer("/state/input").cloned().unwrap_or_default();
    let error = text(part, "/state/error");
    let outcome = match &error {
        None => CallOutcome::Done,
        Some(error) if DENIED.iter().any(|words| error.starts_with(words)) => CallOutcome::Denied,
        Some(_) => CallOutcome::Failed,
    };
    let output = error.or_else(|| part.pointer("/state/output").map(flat)).unwrap_or_default();
    Some(vec![Found::Call { call: call.clone(), tool, input }, Found::Return { call, outcome, output }])
}
