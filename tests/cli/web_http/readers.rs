//! A page for looking only: it never becomes a person's, and one browser after the other can enter.

use std::io::Write;

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
