//! A client of `postroom mcp` that is nothing but lines: what a test writes is what goes over the wire.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::room::TestRoom;
use crate::support::schemas::insist_on_tool;

/// A server on pipes, and what it said.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// What came while something else was waited for.
    kept: Vec<Value>,
    last: u64,
}

/// How long anything may take.
const LONG: Duration = Duration::from_secs(30);

impl Client {
    /// A server in this room, as one of its mailboxes or as nobody; no handshake yet.
    pub(crate) fn start(room: &TestRoom, name: Option<&str>, environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_postroom"));
        command.arg("--root").arg(room.root());
        command.args(name.iter().flat_map(|name| ["--as", name]));
        command
            .arg("mcp")
            .env_clear()
            .env("HOME", room.around().join("home"))
            .envs(environment.iter().copied())
            .current_dir(room.around())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // Whatever stands on standard output is the protocol.
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|e| json!({"no JSON": line, "e": e.to_string()}));
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, kept: vec![], last: 0 }
    }

    /// The same after the handshake of a revision.
    pub(crate) fn greeted(room: &TestRoom, name: &str) -> Self {
        let mut client = Self::start(room, Some(name), &[]);
        client.greet("2025-06-18");
        client
    }

    pub(crate) fn greet(&mut self, revision: &str) -> Value {
        let result = self.asks("initialize", json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}));
        self.notifies("notifications/initialized", json!({}));
        result["result"].clone()
    }

    pub(crate) fn writes(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn notifies(&mut self, method: &str, params: Value) {
        self.writes(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request and gives its id.
    pub(crate) fn begins(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.writes(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    /// Sends a request and gives the whole answer.
    #[track_caller]
    pub(crate) fn asks(&mut self, method: &str, params: Value) -> Value {
        let id = self.begins(method, params);
        self.answer(id)
    }

    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.next(&format!("the answer to {id}"), |message| message["id"] == id)
    }

    /// The next message that fits, whether it came before or comes now.
    #[track_caller]
    pub(crate) fn next(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at);
        }
        loop {
            let message = self
                .lines
                .recv_timeout(LONG)
                .unwrap_or_else(|_| panic!("{what} did not come: {:?}", self.kept));
            assert!(message.get("no JSON").is_none(), "{message}");
            if fits(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    /// Calls a tool that must succeed, and gives what it says as text and as values.
    #[track_caller]
    pub(crate) fn calls(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let answer = self.asks("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        insist_on_tool(tool, &result["structuredContent"]);
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["structuredContent"].clone())
    }

    /// Calls a tool that must fail, and gives what it says.
    #[track_caller]
    pub(crate) fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.asks("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer["result"].get("structuredContent").is_none(), "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Whether a message that fits has come already; waits for nothing.
    pub(crate) fn has(&mut self, fits: impl Fn(&Value) -> bool) -> bool {
        self.kept.extend(self.lines.try_iter());
        self.kept.iter().any(fits)
    }

    pub(crate) fn child(&self) -> &Child {
        &self.child
    }

    /// Ends the input; the server must end with 0 and have said nothing on standard error.
    #[track_caller]
    pub(crate) fn ends(mut self) {
        drop(self.input.take());
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
