//! Just enough of HTTP/1.1: a request is read whole, one answer is written, as JSON or as a stream of events. The log
//! has one line of JSON for each request: `kind` (`turn`: offers tools and takes a turn; `aside`: titles, probes;
//! `other`), `at` (seconds since 1970), `api`, `path`, `session` (a header that names it), `tools` (the names of those offered), `turn` (what was
//! played), `body`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::script::{Said, Script, await_time, heard, played};
use super::wire::{self, Api, Event};

#[derive(Debug)]
pub(crate) struct Server {
    script: Script,
    log: Mutex<Option<File>>,
}

#[derive(Debug, Default)]
struct Request {
    method: String,
    path: String,
    session: Option<String>,
    body: Vec<u8>,
}

impl Server {
    pub(crate) fn new(script: Script, log: Option<File>) -> Self {
        Self { script, log: Mutex::new(log) }
    }

    /// Answers requests until the other side goes away.
    pub(crate) fn converse(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read(&mut reader) {
            match self.answer(stream, &request) {
                Ok(true) => {}
                _ => return,
            }
        }
    }

    /// Whether the connection can go on after it.
    fn answer(&self, stream: &TcpStream, request: &Request) -> std::io::Result<bool> {
        let path = request.path.split('?').next().unwrap_or_default();
        let text = String::from_utf8_lossy(&request.body);
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let mut entry = json!({"kind": "other", "at": at, "path": request.path, "session": request.session});
        let api = if request.method == "POST" { Api::of(path) } else { None };
        let Some(api) = api else {
            entry["body"] = body;
            self.log(&entry);
            let counts = path.ends_with("count_tokens") || path.ends_with("countTokens");
            return match (request.method.as_str(), counts) {
                ("POST", true) => reply(stream, "200 OK", &json!({"input_tokens": 10, "totalTokens": 10})),
                ("POST", false) => reply(stream, "404 Not Found", &json!({})),
                _ => reply(stream, "200 OK", &json!({"object": "list", "data": [], "models": []})),
            };
        };
        let offered = wire::offered(api, &body);
        let is_turn = wire::is_turn(&body, &offered);
        entry["kind"] = if is_turn { "turn" } else { "aside" }.into();
        entry["api"] = format!("{api:?}").to_lowercase().into();
        entry["tools"] = offered.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().into();
        let streams = body["stream"] == true || path.ends_with(":streamGenerateContent");
        entry["body"] = body.clone();
        let turn = is_turn.then(|| self.script.next(&text)).flatten();
        entry["turn"] = turn.clone().unwrap_or_default();
        // Written before the answer, and before the wait for its time: a test sees that the agent is in this turn.
        self.log(&entry);
        turn.iter().for_each(await_time);
        if let Some(turn) = &turn {
            if turn["drop"] == true {
                return Ok(false);
            }
            if let Some(status) = turn["status"].as_u64() {
                return reply(stream, &format!("{status} Failed"), &wire::failure(api, status));
            }
        }
        let said = match (&turn, is_turn) {
            (Some(turn), _) => played(turn, api, &offered, &text),
            (None, true) => Said::text(heard(&text)),
            (None, false) => Said::text(wire::aside(api, &body)),
        };
        let (whole, events) = wire::answer(api, &body, &said);
        if streams { stream_out(stream, &events) } else { reply(stream, "200 OK", &whole) }
    }

    fn log(&self, entry: &Value) {
        if let Some(file) = self.log.lock().unwrap().as_mut() {
            file.write_all(format!("{entry}\n").as_bytes()).unwrap();
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut request = Request::default();
    let mut line = next_line(reader)?;
    let mut words = line.split(' ');
    request.method = words.next()?.to_owned();
    request.path = words.next()?.to_owned();
    let (mut length, mut chunked) = (0, false);
    loop {
        line = next_line(reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        match (name.to_ascii_lowercase().as_str(), value.trim()) {
            ("content-length", value) => length = value.parse().ok()?,
            ("transfer-encoding", value) => chunked = value.contains("chunked"),
            ("x-claude-code-session-id" | "session-id" | "session_id", value) => {
                request.session = Some(value.to_owned());
            }
            _ => {}
        }
    }
    while chunked {
        let size = usize::from_str_radix(next_line(reader)?.split(';').next()?.trim(), 16).ok()?;
        take(reader, size, &mut request.body)?;
        next_line(reader)?;
        chunked = size > 0;
    }
    take(reader, length, &mut request.body)?;
    Some(request)
}

fn take(reader: &mut impl BufRead, size: usize, into: &mut Vec<u8>) -> Option<()> {
    let read = reader.by_ref().take(size as u64).read_to_end(into).ok()?;
    (read == size).then_some(())
}

fn next_line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = reader.read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

fn reply(mut stream: &TcpStream, status: &str, value: &Value) -> std::io::Result<bool> {
    let body = value.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    Ok(true)
}

/// The end of the connection is the end of the stream.
fn stream_out(mut stream: &TcpStream, events: &[Event]) -> std::io::Result<bool> {
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    for (name, data) in events {
        if let Some(name) = name {
            text.push_str(&format!("event: {name}\n"));
        }
        match data {
            Value::Null => text.push_str("data: [DONE]\n\n"),
            data => text.push_str(&format!("data: {data}\n\n")),
        }
    }
    stream.write_all(text.as_bytes())?;
    Ok(false)
}
