//! M1, M2, M3, M6: who comes in over HTTP, and what those can do who do not.
//!
//! M1: by another name. M2: from a page of a browser. M3: without the token. M6: from another machine. What is refused
//! leaves the room as it was.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::lab::{Findings, Lab, Outcome};
use crate::m_server::{Server, call};
use crate::place::{Place, snapshot};

/// How many guess a token at a time.
const GUESSERS: u32 = 100;

/// A room with a message that a stranger would like to read.
pub(crate) fn opened(lab: &Lab, base: &std::path::Path) -> (Place, Server) {
    let place = Place::with(lab, base, &["alice", "bob"]);
    place.ok(&["--as", "bob", "send", "alice", "-m", "for alice alone"]);
    let server = Server::start(&place);
    (place, server)
}

/// What a stranger would do: read, send, and set up a mailbox.
fn wishes() -> [String; 3] {
    [
        call("read", &json!({})),
        call("send", &json!({"to": ["bob"], "text": "from a stranger"})),
        call("setup", &json!({"name": "stranger"})),
    ]
}

/// Nothing has changed, and alice herself is still let in.
fn unharmed(place: &Place, server: Server, before: &[String], findings: &Findings) {
    let after: Vec<String> = snapshot(&place.root);
    findings.check(after == before, || "the room has changed".to_owned());
    let (status, text) = server.calls("read", &json!({}));
    findings.check(status == 200 && text.contains("for alice alone"), || format!("alice: {status} {text:?}"));
    let told = fs::read_to_string(&server.told).unwrap_or_default();
    let ended = server.ends();
    findings.check(ended.was_asked_to_end(), || format!("it ended by itself: {}, {told:?}", ended.shown()));
}

/// M1.
pub(crate) fn other_names(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, server) = opened(lab, dir.path());
    let before = snapshot(&place.root);
    let port = server.port;
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1.evil.example".to_owned(),
        format!("127.0.0.1.evil:{port}"),
        format!("localhost.evil:{port}"),
        format!("127.0.0.2:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::]:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
        format!("2130706433:{port}"),
        "127.0.0.1@evil.example".to_owned(),
        "127.0.0.1, evil.example".to_owned(),
        // The right name, and a port that is not the one it listens on.
        format!("127.0.0.1:{}", port ^ 1),
        "localhost:80".to_owned(),
        "127.0.0.1".to_owned(),
        String::new(),
    ];
    let mut refused = 0;
    for wish in wishes() {
        let mut judge = |what: &str, told: (u16, String)| {
            refused += 1;
            // Not for lack of a session: a client hears of that only once it is let in.
            let why = matches!(told.0, 400 | 403) && !told.1.contains("Session ID");
            findings.check(why, || format!("{what}: {} {:?}", told.0, told.1));
        };
        for host in &hosts {
            let headers = server.headers_but(&format!("host: {host}"));
            judge(host, server.asks("POST", "/mcp", &headers, &wish));
            // Streams of events are asked for by another method.
            judge(host, server.asks("GET", "/mcp", &headers, ""));
            judge(host, server.asks("DELETE", "/mcp", &headers, ""));
        }
        judge("no host", server.asks("POST", "/mcp", &server.without("host"), &wish));
        for second in [format!("host: 127.0.0.1:{port}"), "host: evil.example".to_owned()] {
            let mut both = server.headers();
            both.push(second.clone());
            judge("two hosts", server.asks("POST", "/mcp", &both, &wish));
            let mut turned = server.headers_but("host: evil.example");
            turned.push(second);
            judge("two hosts", server.asks("POST", "/mcp", &turned, &wish));
        }
        // A name in the request line counts for more than the header.
        let absolute = "http://evil.example/mcp";
        judge("an absolute target", server.asks("POST", absolute, &server.headers(), &wish));
    }
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")] {
        let headers = server.headers_but(&format!("host: {host}"));
        let told = server.asks("POST", "/mcp", &headers, "{}");
        findings.check(told.0 != 403, || format!("{host} is refused: {}", told.1));
    }
    unharmed(&place, server, &before, &findings);
    findings.verdict(format!("{refused} requests by {} other names refused", hosts.len() + 3))
}

/// M2.
pub(crate) fn other_sites(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, server) = opened(lab, dir.path());
    let before = snapshot(&place.root);
    let origins = [
        "http://evil.example".to_owned(),
        "https://evil.example".to_owned(),
        "null".to_owned(),
        format!("https://127.0.0.1:{}", server.port),
        "http://localhost:1".to_owned(),
        format!("http://127.0.0.1.evil:{}", server.port),
        "file://".to_owned(),
        "x".to_owned(),
    ];
    let mut refused = 0;
    let mut judge = |what: &str, told: (u16, String), right: &[u16]| {
        refused += 1;
        findings.check(right.contains(&told.0), || format!("{what}: {} {:?}", told.0, told.1));
        let open = told.1.to_ascii_lowercase().contains("access-control-allow-origin");
        findings.check(!open, || format!("{what}: a page may read the answer: {:?}", told.1));
    };
    for wish in wishes() {
        for origin in &origins {
            let headers = server.headers_but(&format!("origin: {origin}"));
            judge(origin, server.asks("POST", "/mcp", &headers, &wish), &[403]);
        }
        // What a form of a page can send without asking first.
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
            let headers = server.headers_but(&format!("content-type: {kind}"));
            judge(kind, server.asks("POST", "/mcp", &headers, &wish), &[415]);
            let mut page = vec![format!("host: 127.0.0.1:{}", server.port), format!("content-type: {kind}")];
            page.push("origin: http://evil.example".to_owned());
            page.push(format!("cookie: token={}", server.token));
            judge(kind, server.asks("POST", "/mcp", &page, &wish), &[401, 403]);
        }
        judge("no content type", server.asks("POST", "/mcp", &server.without("content-type"), &wish), &[415]);
        let bare = [
            format!("host: 127.0.0.1:{}", server.port),
            "origin: http://evil.example".to_owned(),
            "access-control-request-method: POST".to_owned(),
            "access-control-request-headers: authorization".to_owned(),
        ];
        judge("a question before", server.asks("OPTIONS", "/mcp", &bare, ""), &[401, 403, 405]);
        // Whatever is asked for by GET, nothing happens; with the token and without.
        for path in ["/mcp", "/", "/mcp?method=tools/call&name=read", "/mcp/tools/call?name=setup"] {
            for headers in [server.headers(), bare.to_vec()] {
                judge(path, server.asks("GET", path, &headers, &wish), &[400, 401, 403, 404, 405, 406]);
                judge(path, server.asks("HEAD", path, &headers, ""), &[400, 401, 403, 404, 405, 406]);
            }
        }
    }
    unharmed(&place, server, &before, &findings);
    findings.verdict(format!("{refused} requests of other sites refused, none changed anything"))
}

/// M3.
pub(crate) fn no_token(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, server) = opened(lab, dir.path());
    let before = snapshot(&place.root);
    let token = server.token.clone();
    let wish = &wishes()[0];
    let mut refused = 0;
    let mut judge = |what: &str, told: (u16, String)| {
        refused += 1;
        findings.check(told.0 == 401, || format!("{what}: {} {:?}", told.0, told.1));
        findings.check(!told.1.contains(&token), || format!("{what}: the token is told"));
    };
    let given = [
        String::new(),
        "Bearer".to_owned(),
        format!("Bearer {}", &token[..63]),
        format!("Bearer {token}0"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {token} {token}"),
        format!("Basic {token}"),
        token.clone(),
        format!("Bearer {}", "0".repeat(60_000)),
    ];
    for given in &given {
        judge(
            given,
            server.asks("POST", "/mcp", &server.headers_but(&format!("authorization: {given}")), wish),
        );
    }
    let bare = server.without("authorization");
    judge("none", server.asks("POST", "/mcp", &bare, wish));
    for method in ["GET", "DELETE", "OPTIONS", "PUT", "TRACE"] {
        judge(method, server.asks(method, "/mcp", &bare, ""));
    }
    for name in ["token", "access_token", "authorization"] {
        judge(name, server.asks("POST", &format!("/mcp?{name}={token}"), &bare, wish));
    }
    // Guesses, from many at once, as somebody in a hurry does.
    let each: u32 = if lab.tier == 0 { 10 } else { 100 };
    let begun = Instant::now();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let server = &server;
        let guessers: Vec<_> =
            (0..GUESSERS).map(|number| scope.spawn(move || guess(server, number, each))).collect();
        guessers.into_iter().flat_map(|guesser| guesser.join().unwrap_or_default()).collect()
    });
    let (took, guesses) = (begun.elapsed(), statuses.len());
    findings.check(guesses > 0, || "no guess was answered".to_owned());
    for status in statuses {
        judge("a guess", (status, String::new()));
    }
    let least = Duration::from_millis(100) * (guesses as u32 / GUESSERS);
    findings.check(took >= least, || format!("{guesses} guesses took no longer than {took:?}"));
    // The token stands in one file and nowhere else: not in the room, in no output, on no command line.
    let words = fs::read(format!("/proc/{}/cmdline", server.id())).unwrap_or_default();
    let environment = fs::read(format!("/proc/{}/environ", server.id())).unwrap_or_default();
    let told = fs::read(&server.told).unwrap_or_default();
    for (what, bytes) in [("command line", words), ("environment", environment), ("output", told)] {
        let there = String::from_utf8_lossy(&bytes).contains(&token);
        findings.check(!there, || format!("the token is in its {what}"));
    }
    let holders = crate::k_secrets::holders(&place.base, &token);
    findings.check(holders.len() == 1, || format!("the token is in {holders:?}"));
    unharmed(&place, server, &before, &findings);
    findings.verdict(format!(
        "{refused} requests without the token refused, {guesses} of them guesses; it is in its file alone"
    ))
}

/// What is said to so many guesses, each on a connection of its own: one that is refused is closed, and one that waits
/// while others come may be put out before it is answered.
fn guess(server: &Server, number: u32, each: u32) -> Vec<u16> {
    let one = |guess: u32| {
        let token = u64::from(number) << 32 | u64::from(guess);
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {token:064x}\r\ncontent-length: 0\r\n\r\n",
            server.port
        );
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).ok().and_then(|()| answer(&mut stream))
    };
    (0..each).filter_map(one).collect()
}

/// The status of one answer.
fn answer(stream: &mut TcpStream) -> Option<u16> {
    let mut head = vec![];
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.trim().parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    head.split(' ').nth(1)?.parse().ok()
}

/// M6.
pub(crate) fn other_machines(lab: &Lab) -> Outcome {
    let (findings, dir) = (Findings::default(), lab.fast_dir());
    let (place, server) = opened(lab, dir.path());
    // Where it listens, as the kernel has it: address and port in hexadecimal digits.
    let mut listening = vec![];
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        let port = format!(":{:04X}", server.port);
        let fields = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let own = fields.filter(|fields| fields.len() > 3 && fields[1].ends_with(&port) && fields[3] == "0A");
        listening.extend(own.map(|fields| fields[1].to_owned()));
    }
    let loopback = format!("0100007F:{:04X}", server.port);
    findings.check(listening == [loopback], || format!("it listens at {listening:?}"));
    drop(server);
    let mut refused = 0;
    for address in ["0.0.0.0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "255.255.255.255:0"] {
        let ended = place.run(&["--as", "alice", "mcp", "--http", address]);
        refused += 1;
        findings.check(ended.code == Some(4) && ended.stderr().contains("--expose"), || {
            format!("{address}: {}", ended.shown())
        });
    }
    findings
        .verdict(format!("it listens on loopback alone; {refused} other addresses refused without --expose"))
}
