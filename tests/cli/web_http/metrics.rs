//! `/metrics`: a scraper sees figures with its token, and nothing else with it or without.

use std::os::unix::fs::PermissionsExt;

use super::client::{ask, but};
use super::server::Server;
use crate::support::room::TestRoom;

fn value(text: &str, line: &str) -> f64 {
    let found = text.lines().find_map(|known| known.strip_prefix(line));
    found.unwrap_or_else(|| panic!("no {line} in {text}")).trim().parse().unwrap()
}

#[test]
fn a_scraper_sees_the_figures_of_the_room_and_nothing_else() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    room.send("alice", "bob", "one");
    room.send("alice", "bob", "two");
    room.by("bob", ["read", "--limit", "1"]).ends();
    let server = Server::reader(&room);
    let port = server.port;
    let mode = std::fs::metadata(&server.token_file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = std::fs::read_to_string(&server.token_file).unwrap().trim().to_owned();
    assert!(token.len() == 64 && !server.said.join("\n").contains(&token), "{:?}", server.said);
    let host = [format!("host: 127.0.0.1:{port}")];
    let with = but(&host, &format!("authorization: Bearer {token}"));
    let reply = ask(port, "GET", "/metrics", &with, "");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.head.contains("text/plain; version=0.0.4"), "{reply:?}");
    let unread = value(&reply.body, "postroom_unread_messages{room=\"-\",mailbox=\"bob\"}");
    let status = room.by("bob", ["check", "--json"]).json();
    assert_eq!(Some(unread), status["unread"].as_f64().or_else(|| status["count"].as_f64()), "{status}");
    let received = value(&reply.body, "postroom_day_received_messages{room=\"-\",mailbox=\"bob\"}");
    assert!((received - 2.0).abs() < 0.1, "{received}");
    assert!(value(&reply.body, "postroom_dispatchers{room=\"-\"}") < 0.5);
    // Every line is a comment or a sample.
    for line in reply.body.lines() {
        let sample = line.starts_with("postroom_") && line.rsplit(' ').next().unwrap().parse::<f64>().is_ok();
        assert!(
            sample || line.starts_with("# HELP postroom_") || line.starts_with("# TYPE postroom_"),
            "{line}"
        );
    }
    for path in ["/", "/r/-/now", "/r/-/mail/bob", "/r/-/events"] {
        let reply = ask(port, "GET", path, &with, "");
        assert!([303, 401].contains(&reply.status) && !reply.body.contains("alice"), "{path}: {reply:?}");
    }
    let deed = ask(port, "POST", "/r/-/send", &with, r#"{"to":"bob","text":"x"}"#);
    assert_eq!(deed.status, 401);
    let browser = server.enter();
    let wrong = [
        String::new(),
        format!("authorization: Bearer {}", &token[..63]),
        format!("authorization: Bearer {}", token.to_uppercase()),
        format!("authorization: Basic {token}"),
        format!("authorization: {token}"),
        // A person's cookie is no token of a scraper.
        format!("cookie: {}", browser.cookie),
    ];
    for wrong in wrong.iter().filter(|wrong| !wrong.is_empty()) {
        assert_eq!(ask(port, "GET", "/metrics", &but(&host, wrong), "").status, 401, "{wrong}");
    }
    assert_eq!(ask(port, "GET", &format!("/metrics?token={token}"), &host, "").status, 401);
    for other in ["nowhere", "..", "%2e%2e%2fx"] {
        assert_eq!(ask(port, "GET", &format!("/metrics?room={other}"), &with, "").status, 404, "{other}");
    }
    let evil = but(&with, "host: evil.example");
    assert_eq!(ask(port, "GET", "/metrics", &evil, "").status, 403);
    drop(server);
    let again = Server::reader(&room);
    assert_eq!(
        std::fs::read_to_string(&again.token_file).unwrap().trim(),
        token,
        "it is kept between starts"
    );
}
