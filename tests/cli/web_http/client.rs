//! A browser that is nothing but bytes: what a test writes is what goes over the wire.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// How long it waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A browser that has entered.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    pub(crate) port: u16,
    pub(crate) cookie: String,
    pub(crate) token: String,
}

pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    stream.set_write_timeout(Some(PATIENCE)).expect("a time limit");
    stream
}

/// Writes bytes, and reads until the server closes. Status 0: nothing came back.
pub(crate) fn exchange(port: u16, bytes: &[u8]) -> Reply {
    let mut stream = connect(port);
    // A request that is refused early is cut off before all is written.
    let _ = stream.write_all(bytes);
    let mut text = vec![];
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

/// A whole request with these headers, after which the connection ends.
pub(crate) fn ask(port: u16, method: &str, path: &str, headers: &[String], body: &str) -> Reply {
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
    exchange(port, format!("{head}\r\n{body}").as_bytes())
}

/// What a browser sends with a code.
pub(crate) fn entrance(port: u16) -> Vec<String> {
    vec![
        format!("host: 127.0.0.1:{port}"),
        format!("origin: http://127.0.0.1:{port}"),
        "content-type: application/json".to_owned(),
        "x-postroom: enter".to_owned(),
    ]
}

pub(crate) fn try_code(port: u16, code: &str) -> Reply {
    ask(port, "POST", "/enter", &entrance(port), &json!({ "code": code }).to_string())
}

impl Browser {
    /// Enters with a code.
    pub(crate) fn enter(port: u16, code: &str) -> Self {
        let reply = try_code(port, code);
        assert_eq!(reply.status, 200, "{reply:?}");
        let line = reply.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(line.contains(part), "{line}");
        }
        let cookie = line.split(';').next().unwrap_or_default().to_owned();
        let entered: Value = serde_json::from_str(&reply.body).expect("what a browser keeps");
        let browser = Self { port, cookie, token: entered["token"].as_str().expect("a token").to_owned() };
        let front = browser.get("/");
        let place = front.head.lines().find_map(|line| line.strip_prefix("location: "));
        let board = browser.get(place.expect("the board"));
        // A stolen cookie opens every page, so no page may contain the token.
        assert!(!board.body.contains(&browser.token), "the token is in the page");
        browser
    }

    /// The headers of a request that shows something.
    pub(crate) fn headers(&self) -> Vec<String> {
        vec![format!("host: 127.0.0.1:{}", self.port), format!("cookie: {}", self.cookie)]
    }

    /// The headers of a request that changes something.
    pub(crate) fn acting(&self) -> Vec<String> {
        let mut headers = self.headers();
        headers.push(format!("origin: http://127.0.0.1:{}", self.port));
        headers.push("content-type: application/json".to_owned());
        headers.push(format!("x-postroom: {}", self.token));
        headers
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        ask(self.port, "GET", path, &self.headers(), "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        ask(self.port, "POST", path, &self.acting(), &body.to_string())
    }

    /// Opens a stream of events. `after`: the id of the last event.
    pub(crate) fn stream(&self, room: &str, after: Option<&str>) -> Events {
        let mut stream = connect(self.port);
        let last = after.map_or(String::new(), |id| format!("last-event-id: {id}\r\n"));
        let head = format!("GET /r/{room}/events HTTP/1.1\r\n{}\r\n{last}\r\n", self.headers().join("\r\n"));
        stream.write_all(head.as_bytes()).expect("a stream is asked for");
        Events { stream, text: String::new(), read: 0 }
    }
}

/// `headers` with one for another of its name, or besides.
pub(crate) fn but(headers: &[String], header: &str) -> Vec<String> {
    let mut changed = without(headers, header.split(':').next().unwrap_or_default());
    changed.push(header.to_owned());
    changed
}

pub(crate) fn without(headers: &[String], name: &str) -> Vec<String> {
    headers.iter().filter(|header| header.split(':').next() != Some(name)).cloned().collect()
}

/// A stream of events.
pub(crate) struct Events {
    stream: TcpStream,
    text: String,
    read: usize,
}

/// One event.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: String,
}

impl Events {
    /// The next event. `None`: nothing came for this long, or the stream has ended.
    pub(crate) fn next(&mut self, patience: Duration) -> Option<Event> {
        self.stream.set_read_timeout(Some(patience)).expect("a time limit");
        loop {
            // The lengths of chunks are lines of their own, between events.
            if let Some(at) = self.text[self.read..].find("\n\n") {
                let block = self.text[self.read..self.read + at].to_owned();
                self.read += at + 2;
                let mut event = Event::default();
                for line in block.lines() {
                    match line.split_once(": ") {
                        Some(("id", text)) => event.id = text.to_owned(),
                        Some(("event", text)) => event.name = text.to_owned(),
                        Some(("data", text)) => event.data = text.to_owned(),
                        _ => {}
                    }
                }
                if !event.name.is_empty() {
                    return Some(event);
                }
                continue;
            }
            let mut bytes = [0; 65_536];
            match self.stream.read(&mut bytes) {
                Ok(count @ 1..) => self.text.push_str(&String::from_utf8_lossy(&bytes[..count])),
                Ok(0) | Err(_) => return None,
            }
        }
    }

    /// The first line of the answer.
    pub(crate) fn status(&mut self) -> u16 {
        let _ = self.next(Duration::from_millis(300));
        self.text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }
}
