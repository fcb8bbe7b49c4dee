//! `postroom mcp --http` in a crowd: connections without the token are in nobody's way.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::http::Server;
use crate::support::room::TestRoom;

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    // Only a server that answers nobody takes as long.
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

#[test]
fn sessions_are_bounded_when_many_begin_at_once() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    (0..120).for_each(|_| assert_eq!(server.posts(&hello(), &[]).0, 200));
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..40).map(|_| scope.spawn(|| server.posts(&hello(), &[]).0)).collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 200).count(), 8, "{codes:?}");
}

/// Asks without the token, on a connection that stays as long as the server leaves it open.
fn bother(port: u16, over: &AtomicBool) {
    let request = "POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    while !over.load(Ordering::Relaxed) {
        let mut stream = connect(port);
        let mut asks = || {
            let asked = stream.write_all(request.as_bytes());
            asked.is_ok() && stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0)
        };
        while !over.load(Ordering::Relaxed) && asks() {}
    }
}

#[test]
fn connections_without_the_token_kept_everybody_out() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let over = AtomicBool::new(false);
    let served = std::thread::scope(|scope| {
        // Some say nothing or half a line, more than there are places ask and ask.
        let mut silent: Vec<TcpStream> = (0..60).map(|_| connect(server.port)).collect();
        silent
            .iter_mut()
            .step_by(2)
            .for_each(|stream| stream.write_all(b"POST /mcp HTTP/1.1\r\nx: ").unwrap());
        (0..150).for_each(|_| drop(scope.spawn(|| bother(server.port, &over))));
        let served = (0..3).take_while(|_| is_served(&server)).count();
        over.store(true, Ordering::Relaxed);
        served
    });
    assert_eq!(served, 3);
}

/// Whether a client with the token is answered.
fn is_served(server: &Server) -> bool {
    let (mut stream, body, mut text) = (connect(server.port), hello().to_string(), String::new());
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        server.port,
        server.token,
        body.len()
    );
    let asked = stream.write_all(request.as_bytes());
    asked.is_ok() && stream.read_to_string(&mut text).is_ok() && text.starts_with("HTTP/1.1 200")
}

#[test]
fn a_connection_without_the_token_ends_with_its_first_answer() {
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let own = format!("127.0.0.1:{}", server.port);
    for (path, host, code) in [("/mcp", own.as_str(), 401), ("/", &own, 404), ("/mcp", "a\r\nhost: b", 403)] {
        let mut stream = connect(server.port);
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with(&format!("HTTP/1.1 {code}")), "{text}");
        assert!(text.contains("connection: close"), "{text}");
    }
}
