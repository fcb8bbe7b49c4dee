//! A page for looking only: it never becomes a person's, and one browser after the other can enter.

use std::io::Write;

use super::client::{Browser, ask, try_code};
use super::server::Server;
use crate::support::room::TestRoom;
use crate::support::until::until;

/// Whether a process has its terminal: the group in the foreground is its own.
fn has_terminal(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[2] == fields[5]
}

#[test]
fn a_page_started_in_the_background_shows_no_mail_of_the_person_in_the_foreground() {
    let room = TestRoom::with(&["alice", "user"]);
    room.by("alice", ["send", "user", "-s", "for the person alone", "-m", "x"]).succeeds();
    let (server, mut terminal) = Server::background(&room);
    let browser = server.enter();
    let is_hidden = |when: &str| {
        for path in ["/r/-/mail/user", "/r/-/mail/user?in=all", "/r/-/search?q=person", "/r/-/now"] {
            let body = browser.get(path).body;
            assert!(!body.contains("for the person alone"), "{when}: {path}: {body}");
        }
    };
    assert!(!has_terminal(server.id));
    is_hidden("in the background");
    terminal.write_all(b"front\n").unwrap();
    until("it has the terminal", || has_terminal(server.id));
    is_hidden("in the foreground");
}

#[test]
fn a_page_without_a_person_lets_one_browser_in_after_the_other() {
    let room = TestRoom::with(&["alice", "bob"]);
    let server = Server::reader(&room);
    let host = [format!("host: 127.0.0.1:{}", server.port)];
    let door = ask(server.port, "GET", "/enter", &host, "").body;
    assert!(!door.contains("press Enter") && door.contains("the next one is printed"), "{door}");
    let mut code = server.code.clone();
    for number in 0..3 {
        let browser = Browser::enter(server.port, &code);
        assert_eq!(browser.get("/r/-/now").status, 200, "{number}");
        let next = server.next_code();
        let again = try_code(server.port, &code);
        assert!(again.status == 401 && !again.body.contains("terminal"), "a code is good once: {again:?}");
        assert_ne!(next, code);
        code = next;
    }
}
