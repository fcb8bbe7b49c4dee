//! The four APIs: which tools a request offers, and what was said in the form of each, whole and as events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::script::{Call, Said};

/// An event of a stream; without data it is the mark of the end.
pub(crate) type Event = (Option<&'static str>, Value);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// A tool that a request offers.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) name: String,
}

impl Api {
    /// Which one is spoken at a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let verb = path.rsplit(['/', ':']).next()?;
        match verb {
            "messages" => Some(Self::Anthropic),
            "responses" => Some(Self::Responses),
            "completions" => Some(Self::Chat),
            "generateContent" | "streamGenerateContent" => Some(Self::Gemini),
            _ => None,
        }
    }
}

/// All tools, those inside of others too.
pub(crate) fn offered(api: Api, body: &Value) -> Vec<Offered> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut left = list(&body["tools"]);
    if api == Api::Responses {
        left.extend(list(&body["input"]).iter().flat_map(|item| list(&item["tools"])));
    }
    let mut names = vec![];
    while let Some(tool) = left.pop() {
        let inner: Vec<Value> =
            ["tools", "functionDeclarations"].iter().flat_map(|key| list(&tool[key])).collect();
        let name =
            [&tool["name"], &tool["function"]["name"], &tool["type"]].into_iter().find_map(Value::as_str);
        match (inner.is_empty(), name) {
            (true, Some(name)) => names.push(name.to_owned()),
            // A namespace: its tools are called by both names.
            (false, Some(space)) => {
                let inside = |tool: &Value| Some(format!("{space}__{}", tool["name"].as_str()?));
                names.extend(inner.iter().filter_map(inside));
            }
            (false, None) => left.extend(inner),
            (true, None) => {}
        }
    }
    names.sort();
    names.into_iter().map(|name| Offered { name }).collect()
}

/// Whether a request is a turn of the agent. Titles and probes offer no tools, or say what they are.
pub(crate) fn is_turn(body: &Value, offered: &[Offered]) -> bool {
    let about = body["client_metadata"]["x-codex-turn-metadata"].as_str().unwrap_or_default();
    let about: Value = serde_json::from_str(about).unwrap_or_default();
    let is_other = |key: &str, own: &str| about[key].as_str().is_some_and(|kind| kind != own);
    let is_title = about["thread_source"].to_string().contains("title");
    !offered.is_empty() && !is_other("request_kind", "turn") && !is_title
}

/// The answer to a request that is not a turn: the least that fits the schema that was asked for.
pub(crate) fn aside(api: Api, body: &Value) -> String {
    let schema = match api {
        Api::Anthropic => &body["output_config"]["format"]["schema"],
        Api::Responses => &body["text"]["format"]["schema"],
        Api::Chat => &body["response_format"]["json_schema"]["schema"],
        Api::Gemini => match &body["generationConfig"]["responseJsonSchema"] {
            Value::Null => &body["generationConfig"]["responseSchema"],
            schema => schema,
        },
    };
    if schema.is_null() { "ok".to_owned() } else { least(schema).to_string() }
}

fn least(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = schema["type"].as_str().unwrap_or("string").to_ascii_lowercase();
    match (kind.as_str(), schema["properties"].as_object()) {
        (_, Some(fields)) => fields.iter().map(|(k, v)| (k.clone(), least(v))).collect::<Map<_, _>>().into(),
        ("array", _) => json!([]),
        ("boolean", _) => json!(false),
        ("integer" | "number", _) => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        ("object", _) => json!({}),
        _ => json!("ok"),
    }
}

pub(crate) fn answer(api: Api, request: &Value, said: &Said) -> (Value, Vec<Event>) {
    let model = request["model"].as_str().unwrap_or("none");
    match api {
        Api::Anthropic => anthropic(model, said),
        Api::Responses => responses(model, said),
        Api::Chat => chat(model, said),
        Api::Gemini => gemini(request, said),
    }
}

/// Ids differ also between two servers: programs keep them over a restart.
fn fresh(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!("{prefix}{now:016x}{:08x}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn typed(name: &'static str, mut data: Value) -> Event {
    data["type"] = name.into();
    (Some(name), data)
}

fn anthropic(model: &str, said: &Said) -> (Value, Vec<Event>) {
    let usage = json!({"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let reason = if said.call.is_some() { "tool_use" } else { "end_turn" };
    let mut whole = json!({"id": fresh("msg_"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut events = vec![typed("message_start", json!({"message": whole}))];
    let mut blocks = vec![];
    if let Some(text) = &said.text {
        let delta = json!({"type": "text_delta", "text": text});
        blocks.push((json!({"type": "text", "text": ""}), delta, json!({"type": "text", "text": text})));
    }
    if let Some(Call { name, input, .. }) = &said.call {
        let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
        let mut block = json!({"type": "tool_use", "id": fresh("toolu_"), "name": name, "input": {}});
        let empty = block.clone();
        block["input"] = input.clone();
        blocks.push((empty, delta, block));
    }
    for (index, (empty, delta, _)) in blocks.iter().enumerate() {
        events.push(typed("content_block_start", json!({"index": index, "content_block": empty})));
        events.push(typed("content_block_delta", json!({"index": index, "delta": delta})));
        events.push(typed("content_block_stop", json!({"index": index})));
    }
    let end = json!({"delta": {"stop_reason": reason, "stop_sequence": null}, "usage": usage});
    events.extend([typed("message_delta", end), typed("message_stop", json!({}))]);
    whole["content"] = blocks.into_iter().map(|(_, _, block)| block).collect();
    whole["stop_reason"] = reason.into();
    (whole, events)
}

fn responses(model: &str, said: &Said) -> (Value, Vec<Event>) {
    let mut items = vec![];
    if let Some(text) = &said.text {
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        items.push(json!({"type": "message", "id": fresh("msg_"), "role": "assistant", "status": "completed", "content": [part]}));
    }
    if let Some(Call { name, space, input }) = &said.call {
        let mut item =
            json!({"id": fresh("fc_"), "call_id": fresh("call_"), "name": name, "status": "completed"});
        if let Some(space) = space {
            item["namespace"] = space.as_str().into();
        }
        match input {
            Value::String(_) => (item["type"], item["input"]) = ("custom_tool_call".into(), input.clone()),
            _ => (item["type"], item["arguments"]) = ("function_call".into(), input.to_string().into()),
        }
        items.push(item);
    }
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20});
    let mut whole = json!({"id": fresh("resp_"), "object": "response", "created_at": 1_700_000_000, "status": "in_progress",
        "model": model, "output": [], "usage": null});
    let mut events = vec![typed("response.created", json!({"response": whole}))];
    for (index, item) in items.iter().enumerate() {
        events.push(typed("response.output_item.added", json!({"output_index": index, "item": item})));
        if let Some(text) = item["content"][0]["text"].as_str() {
            let delta =
                json!({"output_index": index, "content_index": 0, "item_id": item["id"], "delta": text});
            events.push(typed("response.output_text.delta", delta));
        }
        events.push(typed("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    (whole["status"], whole["output"], whole["usage"]) = ("completed".into(), items.into(), usage);
    events.push(typed("response.completed", json!({"response": whole})));
    (whole, events)
}

fn chat(model: &str, said: &Said) -> (Value, Vec<Event>) {
    let mut message = json!({"role": "assistant", "content": said.text});
    if let Some(Call { name, input, .. }) = &said.call {
        let function = json!({"name": name, "arguments": input.to_string()});
        message["tool_calls"] =
            json!([{"index": 0, "id": fresh("call_"), "type": "function", "function": function}]);
    }
    let reason = if said.call.is_some() { "tool_calls" } else { "stop" };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20});
    let base = json!({"id": fresh("chatcmpl-"), "created": 1_700_000_000, "model": model, "object": "chat.completion.chunk"});
    let chunk = |delta: &Value, reason: Value, usage: &Value| {
        let mut chunk = base.clone();
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        chunk["usage"] = usage.clone();
        (None, chunk)
    };
    let mut whole = base.clone();
    whole["object"] = "chat.completion".into();
    whole["choices"] = json!([{"index": 0, "message": message, "finish_reason": reason}]);
    whole["usage"] = usage.clone();
    let ends = chunk(&json!({}), reason.into(), &usage);
    (whole, vec![chunk(&message, Value::Null, &Value::Null), ends, (None, Value::Null)])
}

fn gemini(request: &Value, said: &Said) -> (Value, Vec<Event>) {
    // Gemini CLI compacts only what has a size.
    let size = request.to_string().len() / 4;
    let mut parts = vec![];
    parts.extend(said.text.iter().map(|text| json!({"text": text})));
    parts.extend(
        said.call.iter().map(|call| json!({"functionCall": {"name": call.name, "args": call.input}})),
    );
    let whole = json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": size, "candidatesTokenCount": 10, "totalTokenCount": 20},
        "modelVersion": "none", "responseId": fresh("g")
    });
    (whole.clone(), vec![(None, whole)])
}

/// How an API says that it failed with this status.
pub(crate) fn failure(api: Api, status: u64) -> Value {
    let (anthropic, openai, gemini) = match status {
        401 => ("authentication_error", "invalid_api_key", "UNAUTHENTICATED"),
        402 => ("billing_error", "billing", "FAILED_PRECONDITION"),
        429 => ("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"),
        529 => ("overloaded_error", "overloaded", "UNAVAILABLE"),
        _ => ("api_error", "server_error", "INTERNAL"),
    };
    let message = format!("status {status} by the stand-in");
    match api {
        Api::Anthropic => json!({"type": "error", "error": {"type": anthropic, "message": message}}),
        Api::Gemini => {
            json!({"error": {"code": status, "message": message, "status": gemini, "details": []}})
        }
        Api::Responses | Api::Chat => {
            json!({"error": {"message": message, "type": openai, "param": null, "code": openai}})
        }
    }
}
