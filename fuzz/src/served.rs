//! A request of the Model Context Protocol: whatever comes in, the server goes on, says nothing but the protocol, and
//! leaves a room in which the doctor finds nothing.
//!
//! Each request is one line, handed to a server of its own after the handshake; another request follows it and has to be
//! answered. The room is in memory and made anew now and then.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use postroom::clock::SystemClock;
use postroom::doctor::{self, Grade};
use postroom::mcp::{self, Desk};
use postroom::post::{Caller, Letter, NewMailbox, Post};
use postroom::room::Room;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

/// A call that takes the same way as the one before it.
const LAST: &str =
    r#"{"jsonrpc":"2.0","id":"last one","method":"tools/call","params":{"name":"names","arguments":{}}}"#;

/// For how many requests a room is good.
const REQUESTS: usize = 50;

thread_local! {
    static PLACE: RefCell<(usize, Option<TempDir>)> = const { RefCell::new((0, None)) };
}

/// A request to a server that has a client already.
pub fn mcp(bytes: &[u8]) {
    let line: Vec<u8> = bytes.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
    if would_wait(&line) {
        return;
    }
    PLACE.with_borrow_mut(|(used, place)| {
        if *used % REQUESTS == 0 {
            *place = Some(furnished());
        }
        *used += 1;
        let root = place.as_ref().expect("a room").path().join("room");
        serve(&root, &line);
        let room = Room::look(&root, Arc::new(SystemClock)).expect("the room is still there");
        let found = doctor::examine(&room, false, |_| ()).expect("the doctor can look");
        let bad: Vec<_> = found.into_iter().filter(|finding| finding.grade == Grade::Fault).collect();
        assert!(bad.is_empty(), "{bad:?}");
    });
}

/// Whether it is a wait, or a watch that lasts: then nothing is said for as long as it wants.
fn would_wait(line: &[u8]) -> bool {
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return false };
    let methods = ["subscriptions/listen", "resources/subscribe", "tasks/result"];
    value["params"]["name"] == "wait" || methods.iter().any(|method| value["method"] == *method)
}

fn caller(name: &str) -> Caller {
    Caller { flag: Some(name.to_owned()), harness: "fuzz".to_owned(), ..Caller::default() }
}

/// A room with two mailboxes and a message from one to the other.
fn furnished() -> TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("postroom-fuzz-");
    let place = builder.tempdir_in(memory).or_else(|_| builder.tempdir()).expect("a place for a room");
    let root = place.path().join("room");
    for name in ["alice", "bob"] {
        let caller = Caller { flag: None, ..caller(name) };
        let post = Post::open_or_make(&root, caller, Arc::new(SystemClock)).expect("a room");
        let new = NewMailbox { name: Some(name.to_owned()), child: true, ..NewMailbox::default() };
        post.setup(&new).expect("a mailbox");
    }
    let post = Post::open(&root, caller("bob"), Arc::new(SystemClock)).expect("the room");
    let me = post.me().expect("bob");
    let letter = Letter {
        to: vec!["alice".to_owned()],
        id: postroom::name::MessageId::parse_strict("0123abcd").ok(),
        body: "Hello".to_owned(),
        ..Letter::default()
    };
    post.send(&me, &letter).expect("a message");
    place
}

/// Hands the line to a server, and judges what it says.
fn serve(root: &std::path::Path, line: &[u8]) {
    let desk =
        Desk::for_one(postroom::rooms::Located::at(root.to_owned()), caller("alice"), Arc::new(SystemClock));
    let said = Said::default();
    let input = [HELLO.as_bytes(), line, b"\n", LAST.as_bytes(), b"\n"].concat();
    let wire = Wire { input, at: 0, said: said.clone() };
    mcp::serve_over(desk, || (wire, said.clone())).expect("the server ends with its input");
    let said = said.0.lock().expect("nobody panicked").bytes.clone();
    let text = String::from_utf8(said).expect("what is said is UTF-8");
    for answer in text.lines() {
        let answer: Value = serde_json::from_str(answer).expect("what is said is JSON");
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        assert!(!answer.to_string().contains("the call was lost"), "{answer}");
    }
    assert!(
        text.contains("\"last one\""),
        "the request after {:?} got no answer",
        String::from_utf8_lossy(line)
    );
}

/// What the server has said, and who waits for more of it.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Spoken>>);

#[derive(Default)]
struct Spoken {
    bytes: Vec<u8>,
    waker: Option<Waker>,
}

/// The client: says its lines, and hangs up when the last of them is answered.
struct Wire {
    input: Vec<u8>,
    at: usize,
    said: Said,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let some = buffer.remaining().min(self.input.len() - self.at);
        buffer.put_slice(&self.input[self.at..self.at + some]);
        self.at += some;
        let said = Arc::clone(&self.said.0);
        let mut said = said.lock().expect("nobody panicked");
        let answered = said.bytes.windows(10).any(|bytes| bytes == b"\"last one\"");
        if some > 0 || answered {
            return Poll::Ready(Ok(()));
        }
        said.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for Said {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let mut said = self.0.lock().expect("nobody panicked");
        said.bytes.extend_from_slice(bytes);
        said.waker.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
