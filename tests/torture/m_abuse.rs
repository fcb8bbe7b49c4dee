//! M5: too much of everything over HTTP, while an honest client goes on: bodies without end, bad requests, streams that
//! are never closed, connections that say next to nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::lab::{Findings, Lab, Outcome};
use crate::m_http::opened;

pub(crate) fn too_much(lab: &Lab) -> Outcome {
    const MOST: u64 = 64 * 1024;
    /// How long a connection may take to say what it wants.
    const PATIENCE: Duration = Duration::from_secs(10);
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (_place, server) = opened(lab, dir.path());
    let honest = |when: &str, most: Duration| {
        let start = Instant::now();
        let served = server.serves();
        let took = start.elapsed();
        findings.check(served && took <= most, || format!("{when}: served {served} after {took:?}"));
        took
    };
    honest("before", PATIENCE);
    // A gigabyte, told beforehand and not told, with the token and without.
    for headers in [server.headers(), server.without("authorization")] {
        for length in ["content-length: 1073741824", "transfer-encoding: chunked"] {
            let mut stream = server.connect();
            let head = format!("POST /mcp HTTP/1.1\r\n{}\r\n{length}\r\n\r\n", headers.join("\r\n"));
            let _ = stream.write_all(head.as_bytes());
            let piece = match length.starts_with("transfer") {
                true => format!("10000\r\n{}\r\n", "x".repeat(0x10000)),
                false => "x".repeat(0x10000),
            };
            // As much as it takes: a server that has refused closes.
            let taken =
                (0..(1 << 30) / 0x10000).take_while(|_| stream.write_all(piece.as_bytes()).is_ok()).count();
            findings.check(taken < 1024, || format!("{length}: {} MiB were taken", taken / 16));
        }
    }
    honest("after a gigabyte", PATIENCE);
    // Bad requests, each over again.
    let bad = [
        "",
        "{",
        "[]",
        "null",
        "[[[[[[[[",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
        "\u{feff}{}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
    ];
    for body in bad.iter().chain([&"[".repeat(100_000).as_str()]) {
        for _ in 0..20 {
            let (status, text) = server.asks("POST", "/mcp", &server.headers(), body);
            findings.check((400..500).contains(&status), || format!("{body:.40}: {status} {text:?}"));
        }
    }
    // Streams of events that are never closed.
    let sessions: Vec<String> = (0..100).filter_map(|_| server.greets()).collect();
    let mut streams = vec![];
    for session in &sessions {
        let mut stream = server.connect();
        let mut headers = server.headers_but(&format!("mcp-session-id: {session}"));
        headers.push("accept: text/event-stream".to_owned());
        let head = format!("GET /mcp HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n"));
        stream.write_all(head.as_bytes()).expect("a stream is asked for");
        let mut start = [0; 12];
        let told = stream.read_exact(&mut start).is_ok() && start.ends_with(b"200");
        findings.check(told, || format!("no stream: {:?}", String::from_utf8_lossy(&start)));
        streams.push(stream);
    }
    findings.check(streams.len() == 100, || format!("only {} sessions", streams.len()));
    honest("beside a hundred streams", PATIENCE);
    drop(streams);
    // Connections without the token that say little, and that slowly, or that were refused: none is in anybody's way.
    let slow: Vec<TcpStream> = (0..if lab.tier < 2 { 500 } else { 10_000 })
        .map_while(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).ok()?;
            let start: &[u8] =
                [b"".as_slice(), b"P", b"POST /mcp HTTP/1.1\r\nx: ", b"GET /mcp HTTP/1.1\r\nhost: x\r\n\r\n"]
                    [number % 4];
            stream.write_all(start).ok()?;
            Some(stream)
        })
        .collect();
    let took = honest("beside slow connections", PATIENCE);
    let count = slow.len();
    drop(slow);
    let peak = server.peak();
    findings.check(peak <= MOST, || format!("it took {peak} kB"));
    let ended = server.ends();
    findings.check(ended.was_asked_to_end(), || format!("it ended by itself: {}", ended.shown()));
    findings.verdict(format!(
        "a gigabyte refused four times, {} bad requests, 100 streams, {count} slow connections (an honest one waited {:.1} s), at most {peak} kB",
        20 * (bad.len() + 1),
        took.as_secs_f64()
    ))
}
