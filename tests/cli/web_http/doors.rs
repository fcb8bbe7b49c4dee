//! Who comes in: by which name, from which page, and with which secret. What is refused leaves the room as it was.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{ask, but, entrance, exchange, try_code, without};
use super::server::Server;
use crate::support::room::TestRoom;

/// Every address at which something is shown or streamed.
const SHOWN: [&str; 6] = ["/", "/enter", "/r/-/now", "/r/-/mail/bob", "/r/-/events", "/metrics"];

fn room() -> TestRoom {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    room.send("alice", "bob", "for bob alone");
    room
}

#[test]
fn only_the_exact_names_of_this_server_are_answered() {
    let room = room();
    let server = Server::person(&room);
    let (browser, port) = (server.enter(), server.port);
    let before = room.tree();
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil:{port}"),
        format!("localhost.evil:{port}"),
        format!("127.0.0.2:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::]:{port}"),
        format!("[::ffff:7f00:1]:{port}"),
        format!("2130706433:{port}"),
        format!("127.1:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.1:0{port}"),
        "127.0.0.1@evil.example".to_owned(),
        "127.0.0.1, evil.example".to_owned(),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        String::new(),
    ];
    for host in &hosts {
        for path in SHOWN {
            let reply = ask(port, "GET", path, &but(&browser.headers(), &format!("host: {host}")), "");
            assert_eq!(reply.status, 403, "{host} {path}: {reply:?}");
        }
        let deed = but(&browser.acting(), &format!("host: {host}"));
        let reply = ask(port, "POST", "/r/-/send", &deed, r#"{"to":"bob","text":"x"}"#);
        assert_eq!(reply.status, 403, "{host}: {reply:?}");
    }
    for path in SHOWN {
        let none = without(&browser.headers(), "host");
        assert!([400, 403].contains(&ask(port, "GET", path, &none, "").status), "{path}");
        let mut two = browser.headers();
        two.push("host: evil.example".to_owned());
        assert!([400, 403].contains(&ask(port, "GET", path, &two, "").status), "{path}");
        let absolute = format!("http://evil.example{path}");
        assert_eq!(ask(port, "GET", &absolute, &browser.headers(), "").status, 403, "{path}");
    }
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let headers = but(&browser.headers(), &format!("host: {host}:{port}"));
        assert_eq!(ask(port, "GET", "/r/-/now", &headers, "").status, 200, "{host}");
    }
    room.is_still(&before, "other names");
}

#[test]
fn another_site_can_do_nothing_with_the_cookie_of_a_person() {
    let room = room();
    let server = Server::person(&room);
    let (browser, port) = (server.enter(), server.port);
    let before = room.tree();
    let deeds = [
        "send",
        "reply",
        "archive",
        "approve",
        "reject",
        "stop",
        "pause",
        "resume",
        "retry",
        "workflow/start",
        "workflow/cancel",
        "workflow/retry",
    ];
    let body =
        json!({"to": "bob", "text": "x", "agent": "bob", "what": "bob", "all": 1, "id": "x", "gate": "x"});
    for deed in deeds {
        let path = format!("/r/-/{deed}");
        let origins = [
            "http://evil.example".to_owned(),
            "null".to_owned(),
            format!("https://127.0.0.1:{port}"),
            format!("http://127.0.0.1:{}", port ^ 1),
            format!("http://127.0.0.1.evil:{port}"),
            format!("http://127.0.0.1:{port}/"),
            "file://".to_owned(),
        ];
        for origin in &origins {
            let headers = but(&browser.acting(), &format!("origin: {origin}"));
            assert_eq!(ask(port, "POST", &path, &headers, &body.to_string()).status, 403, "{deed} {origin}");
        }
        for left_out in ["origin", "content-type", "x-postroom"] {
            let headers = without(&browser.acting(), left_out);
            assert_eq!(
                ask(port, "POST", &path, &headers, &body.to_string()).status,
                403,
                "{deed} {left_out}"
            );
        }
        let kinds = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
        for kind in kinds {
            let headers = but(&browser.acting(), &format!("content-type: {kind}"));
            assert_eq!(ask(port, "POST", &path, &headers, &body.to_string()).status, 403, "{deed} {kind}");
        }
        let wrong = but(&browser.acting(), &format!("x-postroom: {}", "0".repeat(64)));
        assert_eq!(ask(port, "POST", &path, &wrong, &body.to_string()).status, 403, "{deed}");
        // As links and images ask, and with other methods.
        for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            let reply = ask(port, method, &format!("{path}?to=bob&text=x&all=1"), &browser.acting(), "");
            assert!([404, 405].contains(&reply.status), "{method} {deed}: {reply:?}");
            let head = reply.head.to_ascii_lowercase();
            assert!(!head.contains("access-control-"), "{reply:?}");
        }
    }
    room.is_still(&before, "other sites");
    assert_eq!(browser.post("/r/-/send", &json!({"to": "bob", "text": "from me"})).status, 200);
}

#[test]
fn without_the_code_nothing_is_shown_and_guesses_shut_nobody_out() {
    let room = room();
    let server = Server::person(&room);
    let port = server.port;
    let host = vec![format!("host: 127.0.0.1:{port}")];
    let views = ["/r/-/now", "/r/-/mail/bob", "/r/-/events", "/r/x/now", "/nothing", "/metrics"];
    for cookie in ["", "x=1", &format!("postroom-{port}="), &format!("postroom-{port}={}", "0".repeat(64))] {
        for path in views {
            let reply = ask(port, "GET", path, &but(&host, &format!("cookie: {cookie}")), "");
            assert_eq!(reply.status, 401, "{path}: {reply:?}");
            assert!(!reply.body.contains("bob"), "{reply:?}");
        }
        let deed = but(&entrance(port), &format!("cookie: {cookie}"));
        assert_eq!(ask(port, "POST", "/r/-/send", &deed, r#"{"to":"bob","text":"x"}"#).status, 401);
    }
    // The code is no secret of addresses: there it does nothing.
    for path in [format!("/enter?code={}", server.code), format!("/?code={}", server.code)] {
        let reply = ask(port, "GET", &path, &host, "");
        assert!(!reply.head.contains("set-cookie"), "{reply:?}");
    }
    let start = Instant::now();
    const GUESSERS: u32 = 40;
    let guesses: u32 = std::thread::scope(|scope| {
        let guess = |number: u32| {
            (0..2).filter(|n| try_code(port, &format!("{:064x}", number * 2 + n)).status == 401).count()
        };
        let all: Vec<_> = (0..GUESSERS).map(|number| scope.spawn(move || guess(number) as u32)).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    // All together, however many guess at the same time.
    assert!(guesses >= GUESSERS, "{guesses} guesses were answered");
    assert!(
        start.elapsed() >= Duration::from_millis(95) * guesses,
        "{guesses} guesses in {:?}",
        start.elapsed()
    );
    let browser = server.enter();
    assert_eq!(try_code(port, &server.code).status, 401, "a code is good once");
    assert_eq!(browser.get("/r/-/mail/bob").status, 200);
    assert_eq!(browser.post("/leave", &json!({})).status, 200);
    assert_eq!(browser.get("/r/-/mail/bob").status, 401);
    // Neither standard output nor the process itself gives the code to an agent that looks.
    let line = std::fs::read_to_string(format!("/proc/{}/cmdline", server.id)).unwrap();
    let said = server.said.join("\n") + &line;
    assert!(!said.contains(&server.code) && !said.contains('#'), "{said}");
}

#[test]
fn a_page_without_a_person_never_acts() {
    let room = room();
    let file = room.around().join("note.txt");
    std::fs::write(&file, "for the person alone").unwrap();
    let file = file.display().to_string();
    let sent =
        room.by("alice", ["send", "user", "-m", "for the person alone", "--attach", &file, "--json"]).json();
    let id =
        sent["receipts"][0]["id"].as_str().or_else(|| sent["id"].as_str()).unwrap_or_default().to_owned();
    assert!(!id.is_empty(), "{sent}");
    let server = Server::reader(&room);
    let browser = server.enter();
    let before = room.tree();
    let bodies = [
        ("send", json!({"to": "bob", "text": "x"})),
        ("reply", json!({"id": "x", "text": "x"})),
        ("archive", json!({"id": "x"})),
        ("approve", json!({"gate": "x"})),
        ("reject", json!({"gate": "x", "why": "x"})),
        ("stop", json!({"what": "bob"})),
        ("pause", json!({"agent": "bob"})),
        ("resume", json!({"agent": "bob"})),
        ("retry", json!({"all": 1})),
        ("workflow/start", json!({"workflow": "x"})),
        ("workflow/cancel", json!({"run": "x"})),
        ("workflow/retry", json!({"run": "x"})),
    ];
    let table = include_str!("../../../src/web/routes.rs").split("const DEEDS").nth(1).unwrap();
    let known = table.split("];").next().unwrap().matches("deeds::").count();
    assert_eq!(known, bodies.len(), "a deed is not tried here");
    for (deed, body) in &bodies {
        assert_eq!(browser.post(&format!("/r/-/{deed}"), body).status, 403, "{deed}");
    }
    room.is_still(&before, "a page without a person");
    let (message, attached) = (format!("/r/-/message/{id}"), format!("/r/-/file/{id}/note.txt"));
    let mail =
        ["/r/-/now", "/r/-/mail/user", "/r/-/mail/user?in=all", "/r/-/search?q=person", &message, &attached];
    for path in mail {
        let reply = browser.get(path);
        assert!(!reply.body.contains("for the person alone"), "{path}: {reply:?}");
    }
    let mut stream = browser.stream("-", Some("2026-01-01:0"));
    room.by("alice", ["send", "user", "-m", "for the person alone, again"]).succeeds();
    let told = std::iter::from_fn(|| stream.next(Duration::from_secs(20))).find(|event| event.name == "feed");
    let told = told.expect("a line of the feed").data;
    assert!(told.contains("alice") && !told.contains("for the person alone"), "{told}");
    let picture = room.around().join("picture.html");
    room.run(["status", "--html"]).arg(&picture).succeeds();
    assert!(!std::fs::read_to_string(&picture).unwrap().contains("for the person alone"));
}

#[test]
fn a_proxy_with_tls_is_known_by_its_origin() {
    let room = room();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let port = free.to_string();
    let server = Server::reader_with(&room, &["--listen", &port, "--host", "https://postroom.example"]);
    assert!(server.said[0].contains("https://postroom.example/"), "{:?}", server.said);
    let at = |origin: &str, host: &str| {
        let headers = but(&entrance(free), &format!("origin: {origin}"));
        let headers = but(&headers, &format!("host: {host}"));
        ask(free, "POST", "/enter", &headers, &json!({"code": server.code}).to_string())
    };
    for (origin, host) in [
        ("http://postroom.example", "postroom.example"),
        ("https://postroom.example.evil", "postroom.example"),
        ("https://postroom.example", &format!("postroom.example:{free}")),
        (&format!("http://postroom.example:{free}"), &format!("postroom.example:{free}")),
    ] {
        assert_eq!(at(origin, host).status, 403, "{origin} {host}");
    }
    let entered = at("https://postroom.example", "postroom.example");
    assert!(entered.status == 200 && entered.head.contains("; Secure"), "{entered:?}");
}

#[test]
fn every_address_needs_a_name_and_the_usual_port_is_taken_if_it_is_free() {
    let room = room();
    let ran = room.run(["web", "--listen", "0.0.0.0:0", "--expose"]).exits(2);
    assert!(ran.err.contains("--host"), "{ran:?}");
    room.run(["web", "--host", "a b"]).exits(2);
    // Whether another process has it or not: now it is taken.
    let usual = std::net::TcpListener::bind("127.0.0.1:8026");
    let server = Server::reader_with(&room, &[]);
    assert!(usual.is_err() || server.port != 8026, "{}", server.port);
    assert_eq!(server.enter().get("/r/-/now").status, 200);
}

#[test]
fn it_listens_on_loopback_alone_unless_it_is_exposed() {
    let room = room();
    let server = Server::reader(&room);
    let port = format!(":{:04X}", server.port);
    let tables =
        ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let lines =
        tables.iter().flat_map(|table| table.lines()).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let own = lines.filter(|fields| fields.len() > 3 && fields[1].ends_with(&port) && fields[3] == "0A");
    assert_eq!(own.map(|fields| fields[1].to_owned()).collect::<Vec<_>>(), [format!("0100007F{port}")]);
    for address in ["0.0.0.0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let ran = room.run(["web", "--listen", address]).exits(4);
        assert!(ran.err.contains("--expose"), "{ran:?}");
    }
}

#[test]
fn broken_requests_are_refused_one_by_one() {
    let room = room();
    let server = Server::person(&room);
    let browser = server.enter();
    let before = room.tree();
    for body in ["", "{", "[]", "null", "\u{feff}{}", "{\"to\":1}", &"[".repeat(100_000)] {
        let reply = ask(server.port, "POST", "/r/-/send", &browser.acting(), body);
        assert!((400..500).contains(&reply.status), "{body:.20}: {reply:?}");
    }
    for bytes in
        ["GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0\0\r\n\r\n", "GET / HTTP/1.1\r\nhost : x\r\n\r\n"]
    {
        let reply = exchange(server.port, bytes.as_bytes());
        assert!([0, 400, 403, 505].contains(&reply.status), "{bytes:?}: {reply:?}");
    }
    let twice = "content-length: 1\r\ntransfer-encoding: chunked";
    let head =
        format!("POST /r/-/send HTTP/1.1\r\n{}\r\n{twice}\r\n\r\n0\r\n\r\n", browser.acting().join("\r\n"));
    assert!((400..500).contains(&exchange(server.port, head.as_bytes()).status));
    room.is_still(&before, "broken requests");
    assert_eq!(browser.get("/r/-/now").status, 200);
}
