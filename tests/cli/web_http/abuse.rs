//! Too much of everything, while a person goes on.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::client::{ask, connect, entrance, without};
use super::server::Server;
use crate::support::room::TestRoom;

#[test]
fn a_flood_of_strangers_cuts_off_nobody_who_knocks() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let server = Server::person(&room);
    let port = server.port;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut crowd = VecDeque::new();
                while !is_over.load(Ordering::Relaxed) {
                    crowd.extend(TcpStream::connect(("127.0.0.1", port)));
                    if crowd.len() > 200 {
                        crowd.pop_front();
                    }
                }
            });
        }
        let once = |code: &str| {
            let body = serde_json::json!({ "code": code }).to_string();
            let mut stream = connect(port);
            let head = format!(
                "POST /enter HTTP/1.1\r\nconnection: close\r\n{}\r\ncontent-length: {}\r\n\r\n",
                entrance(port).join("\r\n"),
                body.len()
            );
            let _ = stream.write_all(head.as_bytes());
            std::thread::sleep(Duration::from_millis(20));
            let _ = stream.write_all(body.as_bytes());
            let mut text = String::new();
            let _ = stream.read_to_string(&mut text);
            text.split(' ').nth(1).map(str::to_owned).unwrap_or_default()
        };
        // In the first rush a connection may be cut before the server has read whom it is from. A browser tries again, too; a code
        // that was heard before it was cut off would be used up by then.
        let knock = |code: &str| (0..5).map(|_| once(code)).find(|said| !said.is_empty()).unwrap_or_default();
        let mut answers: Vec<String> = (0..10).map(|_| knock("wrong")).collect();
        answers.push(knock(&server.code));
        is_over.store(true, Ordering::Relaxed);
        let mut expected = vec!["401".to_owned(); 10];
        expected.push("200".to_owned());
        assert_eq!(answers, expected);
    });
}

/// The most memory that the server may take, in kB.
const MOST: u64 = 64 * 1024;

#[test]
fn a_gigabyte_and_a_crowd_of_slow_strangers_are_in_nobodys_way() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let server = Server::person(&room);
    let (browser, port) = (server.enter(), server.port);
    let before = room.tree();
    // A gigabyte, told beforehand and not told, with the cookie and without.
    for headers in [browser.acting(), without(&browser.acting(), "cookie")] {
        for path in ["/r/-/send", "/enter"] {
            for length in ["content-length: 1073741824", "transfer-encoding: chunked"] {
                let mut stream = connect(port);
                let head = format!("POST {path} HTTP/1.1\r\n{}\r\n{length}\r\n\r\n", headers.join("\r\n"));
                let _ = stream.write_all(head.as_bytes());
                let piece = match length.starts_with("transfer") {
                    true => format!("10000\r\n{}\r\n", "x".repeat(0x10000)),
                    false => "x".repeat(0x10000),
                };
                let taken = (0..0x4000).take_while(|_| stream.write_all(piece.as_bytes()).is_ok()).count();
                assert!(taken < 1024, "{path} {length}: {} MiB were taken", taken / 16);
            }
        }
    }
    let long = format!("/r/-/search?q={}", "x".repeat(300_000));
    assert!([0, 400, 414, 431].contains(&browser.get(&long).status));
    let many: Vec<String> =
        browser.headers().into_iter().chain((0..200).map(|n| format!("x-{n}: 1"))).collect();
    assert!([0, 400, 431].contains(&ask(port, "GET", "/r/-/now", &many, "").status));
    // Connections that say little, and that slowly, or that were refused.
    let slow: Vec<TcpStream> = (0..1500)
        .map_while(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
            let starts: [&[u8]; 4] =
                [b"", b"P", b"POST /enter HTTP/1.1\r\nx: ", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"];
            stream.write_all(starts[number % 4]).ok()?;
            Some(stream)
        })
        .collect();
    assert!(slow.len() >= 900, "only {} connections", slow.len());
    let start = Instant::now();
    assert_eq!(browser.get("/r/-/now").status, 200);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    drop(slow);
    assert!(server.peak() < MOST, "{} kB", server.peak());
    room.is_still(&before, "abuse");
}
