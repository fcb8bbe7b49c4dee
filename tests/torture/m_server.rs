//! A server of MCP over HTTP in a place, and a client that is nothing but bytes: what a test writes is what goes over
//! the wire.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::place::Place;
use crate::process::{Ended, Running};

/// How long a client waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Server {
    running: Option<Running>,
    /// What it wrote to its two outputs.
    pub(crate) told: PathBuf,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Server {
    /// A server for alice on a free port of loopback.
    pub(crate) fn start(place: &Place) -> Self {
        let told = place.base.join("told");
        let redirection = format!(">{} 2>&1", told.display());
        let running = place.command(&["--as", "alice", "mcp", "--http"]).in_shell(":", &redirection).start();
        let limit = Instant::now() + PATIENCE;
        let lines = loop {
            let text = fs::read_to_string(&told).unwrap_or_default();
            if text.lines().count() >= 2 && text.ends_with('\n') {
                break text;
            }
            assert!(Instant::now() < limit, "the server does not say where it is: {text:?}");
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut lines = lines.lines();
        let url = lines.next().and_then(|line| line.strip_prefix("url: http://127.0.0.1:"));
        let port = url.and_then(|rest| rest.strip_suffix("/mcp")).and_then(|port| port.parse().ok());
        let file = lines.next().and_then(|line| line.strip_prefix("token: in ")).expect("where the token is");
        let token = fs::read_to_string(file).expect("the token").trim().to_owned();
        Self { running: Some(running), told, port: port.expect("a port of loopback"), token }
    }

    pub(crate) fn id(&self) -> u32 {
        self.running.as_ref().expect("it runs").id()
    }

    /// The most memory it ever had, in kB.
    pub(crate) fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(u64::MAX)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time limit");
        stream
    }

    /// Writes bytes, and gives the status and all that came back; 0 if nothing did.
    pub(crate) fn says(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        // Who is refused early is cut off before all is written.
        let _ = stream.write_all(bytes);
        let mut text = vec![];
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        (text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), text)
    }

    /// A whole request with these headers, and those every request has.
    pub(crate) fn asks(&self, method: &str, path: &str, headers: &[String], body: &str) -> (u16, String) {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
        self.says(format!("{head}\r\n{body}").as_bytes())
    }

    /// The headers of a client that may come in.
    pub(crate) fn headers(&self) -> Vec<String> {
        vec![
            format!("host: 127.0.0.1:{}", self.port),
            format!("authorization: Bearer {}", self.token),
            "content-type: application/json".to_owned(),
            "accept: application/json, text/event-stream".to_owned(),
        ]
    }

    /// The same with one header for another of its name, or besides.
    pub(crate) fn headers_but(&self, header: &str) -> Vec<String> {
        let name = header.split(':').next().unwrap_or_default();
        let mut headers = self.headers();
        headers.retain(|other| other.split(':').next() != Some(name));
        headers.push(header.to_owned());
        headers
    }

    pub(crate) fn without(&self, name: &str) -> Vec<String> {
        let mut headers = self.headers();
        headers.retain(|header| header.split(':').next() != Some(name));
        headers
    }

    /// Says hello; the id of the session.
    pub(crate) fn greets(&self) -> Option<String> {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let (_, text) = self.asks("POST", "/mcp", &self.headers(), &hello.to_string());
        let session = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: "))?.to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let headers = self.headers_but(&format!("mcp-session-id: {session}"));
        (self.asks("POST", "/mcp", &headers, &ready).0 == 202).then_some(session)
    }

    /// Calls a tool in a session of its own.
    pub(crate) fn calls(&self, tool: &str, arguments: &Value) -> (u16, String) {
        let Some(session) = self.greets() else { return (0, "no session".to_owned()) };
        let headers = self.headers_but(&format!("mcp-session-id: {session}"));
        self.asks("POST", "/mcp", &headers, &call(tool, arguments))
    }

    /// Whether an honest client is served.
    pub(crate) fn serves(&self) -> bool {
        let (status, text) = self.calls("names", &json!({}));
        status == 200 && text.contains("alice")
    }

    /// Ends it as its user does, and tells how it ended.
    pub(crate) fn ends(mut self) -> Ended {
        let running = self.running.take().expect("it runs");
        stop(running.id());
        running.end()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            stop(running.id());
            running.end();
        }
    }
}

fn stop(id: u32) {
    let pid = Pid::from_raw(id as i32).expect("a process id");
    let _ = kill_process(pid, Signal::TERM);
}

pub(crate) fn call(tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string()
}
