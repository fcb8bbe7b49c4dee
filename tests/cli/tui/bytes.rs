//! The bytes between the client and a terminal: colours, the mouse, and silence while nothing changes.

use crate::support::room::TestRoom;
use crate::support::until::until_at_last;
use crate::tui::terminal::Client;

#[test]
fn without_colours_no_colour_is_set() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "The first message");
    for (word, has_colours) in [("", true), ("1", false)] {
        let client = Client::start_with(room.run(["tui"]).env("NO_COLOR", word), 100, 30);
        client.sees("1 Now");
        client.screen.types("2");
        client.sees("Mailboxes");
        client.screen.types("?");
        client.sees("Everywhere");
        assert_eq!(client.screen.colours() > 0, has_colours, "NO_COLOR={word}");
        client.screen.types("?q");
        client.ends();
    }
}

#[test]
fn the_mouse_opens_a_place_and_a_mailbox() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "The first message");
    let client = Client::start(&room, 100, 30);
    client.sees("What happens");
    let press = |text: &str| {
        let shown = client.screen.text();
        let found = shown.lines().enumerate().find_map(|(y, line)| Some((y, line.split_once(text)?.0)));
        let (y, before) = found.unwrap_or_else(|| panic!("no {text} in\n{shown}"));
        let (x, y) = (before.chars().count() + 1, y + 1);
        client.screen.types(format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"));
    };
    press("2 Mail");
    client.sees("Mailboxes");
    press("  bob");
    client.sees("The first message");
    press("The first message");
    press("The first message");
    client.sees("from     alice");
    client.screen.types("q");
    client.ends();
}

/// How often the loop of the client was woken.
fn wakes(client: &Client) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn a_look_that_finds_nothing_new_writes_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    let client = Client::start(&room, 100, 30);
    client.sees("What happens");
    // No age is shown there.
    client.screen.types("5");
    client.sees("Nothing failed");
    let begun = wakes(&client);
    until_at_last("a look", || wakes(&client) > begun);
    let (written, first) = (client.screen.written(), wakes(&client));
    until_at_last("two looks more", || wakes(&client) >= first + 2);
    assert_eq!(client.screen.written(), written);
    client.screen.types("2");
    client.sees("Mailboxes");
    assert!(client.screen.written() > written, "a change is written");
    client.screen.types("q");
    client.ends();
}
