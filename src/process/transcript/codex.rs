//! Codex: `exec --json`. Items begin, change and are completed; a turn ends with its tokens.

use serde_json::{Value, json};

use super::{CallOutcome, Event, Found, Tokens, flat, number, remarked, said, text, thought};

pub(super) fn parse(line: &Value) -> Option<Vec<Found>> {
    let item = line.get("item");
    Some(match line.get("type")?.as_str()? {
        "thread.started" => {
            vec![Found::Event(Event::Began { session: text(line, "/thread_id"), model: None })]
        }
        "turn.started" | "item.updated" => vec![],
        "item.started" => call(item?).into_iter().collect(),
        "item.completed" => completed(item?),
        "turn.completed" => {
            let tokens = Tokens {
                input: number(line, "/usage/input_tokens"),
                cached: number(line, "/usage/cached_input_tokens"),
                output: number(line, "/usage/output_tokens"),
            };
            vec![Found::Used(tokens, None), Found::Event(Event::Ended { is_ok: true, text: None })]
        }
        "turn.failed" => {
            vec![Found::Event(Event::Ended { is_ok: false, text: text(line, "/error/message") })]
        }
        "error" => remarked(text(line, "/message")),
        _ => return None,
    })
}

/// An item that is a call of a tool.
fn call(item: &Value) -> Option<Found> {
    let (tool, input) = match item.get("type")?.as_str()? {
        "command_execution" => ("shell".to_owned(), json!({"command": item.get("command")})),
        "file_change" => {
            let changes = item.get("changes").and_then(Value::as_array).into_iter().flatten();
            let paths: Vec<_> = changes.filter_map(|change| text(change, "/path")).collect();
            ("edit".to_owned(), json!({"path": paths}))
        }
        "mcp_tool_call" => {
            let name = |key| text(item, key).unwrap_or_default();
            let input = item.get("arguments").cloned().unwrap_or_default();
            (format!("{}/{}", name("/server"), name("/tool")), input)
        }
        "web_search" => ("web_search".to_owned(), json!({"query": item.get("query")})),
        _ => return None,
    };
    Some(Found::Call { call: text(item, "/id")?, tool, input })
}

fn completed(item: &Value) -> Vec<Found> {
    match item.get("type").and_then(Value::as_str) {
        Some("agent_message") => return said(text(item, "/text")),
        Some("reasoning") => return thought(text(item, "/text")),
        Some("error") => return remarked(text(item, "/message")),
        _ => {}
    }
    let Some(call) = call(item) else { return vec![] };
    let exit = item.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
    let outcome = match (item.get("status").and_then(Value::as_str), exit) {
        (Some("declined"), _) => CallOutcome::Denied,
        (Some("failed"), _) => CallOutcome::Failed,
        (_, 0) => CallOutcome::Done,
        _ => CallOutcome::Failed,
    };
    let output = ["/aggregated_output", "/result/content", "/error/message"];
    let output = output.iter().find_map(|path| item.pointer(path).filter(|found| !found.is_null()));
    let id = text(item, "/id").unwrap_or_default();
    vec![call, Found::Return { call: id, outcome, output: output.map(flat).unwrap_or_default() }]
}
