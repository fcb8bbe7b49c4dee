//! `postroom mcp --http`: who gets in, and what is served to who does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::room::TestRoom;

/// A server on a free port of loopback.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn start(room: &TestRoom, name: &str, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_postroom"));
        command.arg("--root").arg(room.root()).args(["--as", name, "mcp", "--http"]).args(more);
        command.env_clear().env("HOME", room.around().join("home")).current_dir(room.around());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.next().unwrap();
        let file = lines.next().unwrap().strip_prefix("token: in ").unwrap().to_owned();
        let port = url.strip_prefix("url: http://127.0.0.1:").unwrap().strip_suffix("/mcp").unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let token = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        assert_eq!(token.len(), 64);
        Self { child, port: port.parse().unwrap(), token }
    }

    /// What comes back for a request, all of it.
    fn says(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str(&format!("host: 127.0.0.1:{}\r\n", self.port));
        }
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all((head + "\r\n").as_bytes()).unwrap();
        // A server that refuses early closes before it has all of a large body.
        let _ = stream.write_all(body);
        let mut text = vec![];
        let _ = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let status = text.split(' ').nth(1).unwrap_or_else(|| panic!("{text:?}")).parse().unwrap();
        (status, text)
    }

    /// A request to the protocol with the token and these headers, too.
    pub(crate) fn posts(&self, message: &Value, more: &[(&str, &str)]) -> (u16, String) {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        headers.extend(more);
        self.says("POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    /// Says hello and gives the id of the session.
    fn greets(&self) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let (status, text) = self.posts(&hello, &[]);
        assert_eq!(status, 200, "{text}");
        let session = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.posts(&ready, &[("mcp-session-id", &session)]).0, 202);
        session
    }

    fn calls(&self, session: &str, tool: &str, arguments: &Value) -> String {
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let (status, text) = self.posts(&call, &[("mcp-session-id", session)]);
        assert_eq!(status, 200, "{text}");
        text
    }
}

#[test]
fn nobody_gets_in_without_the_token() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let short = &server.token[..63];
    for given in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        &format!("Bearer {short}"),
        &format!("Bearer {short}0{}", 'x'),
        &format!("Basic {}", server.token),
    ] {
        let (status, text) = server.says("POST", "/mcp", &[("authorization", given)], list.as_bytes());
        assert_eq!(status, 401, "{given}");
        assert!(text.to_lowercase().contains("www-authenticate: bearer"), "{text}");
        assert!(!text.contains(&server.token));
    }
    for method in ["GET", "DELETE", "OPTIONS", "PUT"] {
        assert_eq!(server.says(method, "/mcp", &[], b"").0, 401);
    }
    assert_eq!(server.says("GET", "/", &[], b"").0, 404);
    assert_eq!(server.says("GET", "/mcp/../etc/passwd", &[], b"").0, 404);
}

#[test]
fn a_page_in_a_browser_is_refused_whatever_it_knows() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for header in [
        ("host", "evil.example"),
        ("host", "127.0.0.1.evil.example"),
        ("origin", "http://evil.example"),
        ("origin", "http://localhost:3000"),
        ("origin", "null"),
    ] {
        assert_eq!(server.posts(&list, &[header]).0, 403, "{header:?}");
    }
}

#[test]
fn a_session_lives_from_its_handshake_to_its_deletion() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("bob", "alice", "over the wire");
    let server = Server::start(&room, "alice", &[]);
    let session = server.greets();
    assert!(server.calls(&session, "check", &json!({})).contains("over the wire"));
    let text = server.calls(&session, "read", &json!({}));
    assert!(text.contains(" bob (unverified): "), "{text}");
    assert!(server.calls(&session, "check", &json!({})).contains("no unread mail"), "shown is archived");
    assert_eq!(room.files("alice", "archive").len(), 1);

    let bearer = format!("Bearer {}", server.token);
    let own = [("authorization", bearer.as_str()), ("mcp-session-id", session.as_str())];
    let other =
        [("authorization", bearer.as_str()), ("mcp-session-id", "x"), ("accept", "text/event-stream")];
    assert_eq!(server.says("GET", "/mcp", &other, b"").0, 404);
    assert_eq!(server.says("GET", "/mcp", &own, b"").0, 406, "a stream of events must be wanted");
    // The official client for Python takes 202 for a failure, and says so.
    assert_eq!(server.says("DELETE", "/mcp", &own, b"").0, 200);
    assert_eq!(server.says("DELETE", "/mcp", &own, b"").0, 404, "it has ended");
    assert_eq!(server.says("DELETE", "/mcp", &own[..1], b"").0, 400, "none is named");
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    assert_eq!(server.posts(&list, &[("mcp-session-id", &session)]).0, 404);
}

#[test]
fn the_newest_revision_needs_no_session() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let (status, text) =
        server.posts(&list, &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")]);
    assert_eq!(status, 200, "{text}");
    assert!(text.contains("\"name\":\"archive\""), "{text}");
    assert!(!text.to_lowercase().contains("mcp-session-id"), "{text}");
}

#[test]
fn what_is_too_big_or_no_request_is_refused_and_the_next_is_served() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let big = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "x": "x".repeat(5 * 1024 * 1024)});
    assert_eq!(server.posts(&big, &[]).0, 413);
    let bearer = format!("Bearer {}", server.token);
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    for body in ["", "{", "[]", "null", "{\"jsonrpc\":\"2.0\"}"] {
        let status = server.says("POST", "/mcp", &headers, body.as_bytes()).0;
        assert!((400..500).contains(&status), "{body}: {status}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.write_all(b"\x16\x03\x01 this is no HTTP\r\n\r\n").unwrap();
    drop(stream);
    assert!(server.calls(&server.greets(), "check", &json!({})).contains("no unread mail"));
}

#[test]
fn other_machines_are_let_in_only_on_demand() {
    let room = TestRoom::with(&["alice"]);
    for address in ["0.0.0.0:0", "0.0.0.0", "[::]:0"] {
        let ran = room.by("alice", ["mcp", "--http", address]).exits(4);
        assert!(ran.err.contains("is not loopback") && ran.err.contains("--expose"), "{ran:?}");
    }
    let ran = room.by("alice", ["mcp", "--http", "nowhere.invalid:x"]).exits(2);
    assert!(ran.err.contains("--http 127.0.0.1:8025"), "{ran:?}");
    // A name is not looked up, because that takes a library of the machine.
    let ran = room.by("alice", ["mcp", "--http", "nowhere.invalid:80"]).exits(2);
    assert!(ran.err.contains("not an IP address with a port"), "{ran:?}");
    let by_name = Server::start(&room, "alice", &["localhost:0"]);
    assert!(by_name.calls(&by_name.greets(), "check", &json!({})).contains("no unread mail"));
    room.by("alice", ["mcp", "--expose"]).exits(2);
}

#[test]
fn the_token_is_kept_until_a_new_one_is_wanted() {
    let room = TestRoom::with(&["alice"]);
    let first = Server::start(&room, "alice", &[]).token.clone();
    assert_eq!(Server::start(&room, "alice", &[]).token, first);
    let server = Server::start(&room, "alice", &["--new-token"]);
    assert_ne!(server.token, first);
    let old = format!("Bearer {first}");
    assert_eq!(server.says("POST", "/mcp", &[("authorization", &old)], b"{}").0, 401);
}

#[test]
fn setup_over_a_shared_server_makes_nobody_of_its_clients() {
    let room = TestRoom::with(&["alice"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_postroom"));
    command.arg("--root").arg(room.root()).args(["mcp", "--http", "--json"]);
    command.env_clear().env("HOME", room.around().join("home")).current_dir(room.around());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(told["v"], 1);
    let port =
        told["url"].as_str().unwrap().trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap();
    let token = std::fs::read_to_string(told["token_file"].as_str().unwrap()).unwrap().trim().to_owned();
    let server = Server { child, port, token };
    let session = server.greets();
    let text = server.calls(&session, "setup", &json!({"name": "eve"}));
    assert!(text.contains("not bound to a session: the person starts this server with --as eve"), "{text}");
    assert!(server.calls(&session, "check", &json!({})).contains("has no identity"));
}

#[test]
fn sessions_are_bounded_and_those_there_are_go_on() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let first = server.greets();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let codes: Vec<u16> = (0..130).map(|_| server.posts(&hello, &[]).0).collect();
    assert_eq!(codes.iter().filter(|code| **code == 200).count(), 127, "{codes:?}");
    assert_eq!(codes.last(), Some(&503));
    // The same handshake, written so that another reader might take it for something else.
    let text = hello.to_string();
    let bearer = format!("Bearer {}", server.token);
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let own = r#""method":"initialize""#;
    for body in [
        text.replacen(own, &format!(r#""method":"ping",{own}"#), 1),
        text.replacen(own, &format!(r#"{own},"method":"ping""#), 1),
        text.replacen(own, &format!("{own},{own}"), 1),
        text.replacen(own, r#""m\u0065thod":"init\u0069alize""#, 1),
        text.replacen("\"id\":1", "\"id\":1,\"id\":2", 1),
        format!("[{text}]"),
        format!("[{text},{text}]"),
        format!("{text}{text}"),
    ] {
        let (status, said) = server.says("POST", "/mcp", &headers, body.as_bytes());
        assert!(status >= 400 && !said.contains("mcp-session-id: "), "{body}: {said}");
    }
    assert!(server.calls(&first, "check", &json!({})).contains("no unread mail"));
    server.says("DELETE", "/mcp", &[("authorization", &bearer), ("mcp-session-id", &first)], b"");
    assert_eq!(server.posts(&hello, &[]).0, 200, "one has ended");
}

#[test]
fn a_client_that_does_not_end_its_request_is_sent_away() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let mut slow: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            let head = format!(
                "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\n\
                 content-type: application/json\r\ncontent-length: 1000\r\n\r\n{{",
                server.token
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    // All places are taken until they are.
    assert!(server.calls(&server.greets(), "check", &json!({})).contains("no unread mail"));
    let mut text = [0; 12];
    slow[0].read_exact(&mut text).unwrap();
    assert_eq!(&text, b"HTTP/1.1 408");
}

#[test]
fn a_server_is_told_its_room() {
    let room = TestRoom::with(&["alice"]);
    let ran = room.bare(["mcp", "--http"]).env("POSTROOM_ROOT", room.root()).exits(2);
    assert!(ran.err.contains("--http needs a room: --room NAME"), "{ran:?}");
}
