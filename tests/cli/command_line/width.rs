//! Terminals of 40, 80 and 120 columns, light and dark: no word is broken, columns are aligned, a long subject is cut, and
//! every colour can be read on both grounds. A pipe gets everything.

use std::collections::BTreeSet;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::room::TestRoom;
use crate::support::taken::claim;

const SUBJECT: &str =
    "a subject that is a good deal longer than a narrow terminal is wide, and it goes on for a while";
const LONG_NAME: &str = "org.engineering.backend.reviewer";

/// A room with something to show for every command, and the id of a conversation.
fn busy_room() -> (TestRoom, String) {
    let room = TestRoom::with(&["alice", "陳", LONG_NAME]);
    room.run(["setup", "bob", "--about", "knows everything there is to know about parsers and grammars"])
        .succeeds();
    let body = "A paragraph of a message, which its author wrote on one line because that is what people do \
                when they write to each other.\n\n    indented code is left as it was written, however long it may be\n";
    for from in ["alice", "陳", LONG_NAME] {
        room.by(from, ["send", "bob", "-s", SUBJECT, "-m", body]).succeeds();
    }
    let id = room.send("alice", "bob", "which branch");
    room.by("bob", ["reply", &id, "-m", SUBJECT]).succeeds();
    let token = claim(&room, "bob", &[]);
    room.by(
        "bob",
        ["fail", &token, "--reason", "it exited with 3, and its last words were about the parser"],
    )
    .succeeds();
    room.by("alice", ["send", "bob", "-m", "short", "--priority", "high", "--channel", "build"]).succeeds();
    (room, id)
}

fn looks(id: &str) -> Vec<String> {
    let own =
        ["check", "read --keep", "failed list", "sent", "whoami"].map(|verb| format!("--as bob {verb}"));
    let all = [
        "help",
        "help send",
        "help read",
        "help workflow",
        "help tree",
        "names",
        "stats",
        "status",
        "log",
        "doctor",
    ];
    let of_id = ["thread", "trace"].map(|verb| format!("{verb} {id}"));
    let agents = [
        "workflow graph fan-out-review",
        "workflow check implement-review",
        "workflow run research-create --input topic=parsers",
        "stop bob",
        "pause bob",
        "resume bob",
        "agents",
        "runs",
        "trust",
    ];
    let all = all.into_iter().chain(agents);
    let wrong = ["workflow list", "search parser", "rooms", "frobnicate", "check", "--as nobody check"];
    let all = all.chain(wrong).map(str::to_owned);
    own.into_iter().chain(of_id).chain(all).collect()
}

/// The rows that a terminal makes of a line.
fn rows(line: &str, width: usize) -> Vec<String> {
    let (mut rows, mut used) = (vec![String::new()], 0);
    for c in line.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns > width {
            rows.push(String::new());
            used = 0;
        }
        used += columns;
        rows.last_mut().unwrap().push(c);
    }
    rows
}

#[test]
fn no_word_is_broken() {
    if !lent("no_word_is_broken") {
        return;
    }
    let (room, id) = busy_room();
    for width in [40, 80, 120] {
        for arguments in looks(&id) {
            let shown = on_terminal(&room, width, &arguments, &PLAIN);
            let width = width as usize;
            // A body is shown as it was written.
            let is_body = |line: &str| line.starts_with("    ") || line.starts_with("A paragraph of");
            for line in shown.lines().filter(|line| !is_body(line)) {
                for pair in rows(line, width).windows(2) {
                    let end = pair[0].rsplit(' ').next().unwrap_or_default();
                    let start = pair[1].split(' ').next().unwrap_or_default();
                    // Paths and ids, which have no place to break.
                    let is_long = end.width() + start.width() > width / 2;
                    assert!(
                        end.is_empty() || start.is_empty() || is_long || !end.is_ascii(),
                        "{arguments} at {width}: `{end}{start}` is broken in {line:?}"
                    );
                }
            }
        }
    }
}

/// The column at which a text begins in the first line that contains it.
#[track_caller]
fn column(shown: &str, line: &str, text: &str) -> usize {
    let found = shown.lines().find(|l| l.contains(line)).unwrap_or_else(|| panic!("no {line} in {shown}"));
    let at = found.find(text).unwrap_or_else(|| panic!("no {text} in {found}"));
    found[..at].width()
}

#[test]
fn subjects_are_in_one_column_and_cut_at_the_edge() {
    if !lent("subjects_are_in_one_column_and_cut_at_the_edge") {
        return;
    }
    let (room, _) = busy_room();
    for width in [80, 120] {
        let shown = on_terminal(&room, width, "--as bob check", &PLAIN);
        let subjects: BTreeSet<usize> = ["org.eng", "陳"].map(|who| column(&shown, who, "a subject")).into();
        assert_eq!(subjects.len(), 1, "{shown}");
        assert!(subjects.contains(&column(&shown, "high ch", "short")), "{shown}");
        assert!(shown.lines().filter(|line| line.ends_with('…')).count() >= 2, "{shown}");
        assert!(shown.lines().all(|line| line.width() <= width as usize), "{shown}");
    }
    for arguments in ["--as alice sent", "--as bob check"] {
        let piped = room.bash(&format!("postroom {arguments}")).succeeds().out;
        assert!(piped.contains(SUBJECT) && !piped.contains('…'), "a pipe gets all of it: {piped}");
    }
}

#[test]
fn a_sparkline_shrinks_with_the_terminal() {
    if !lent("a_sparkline_shrinks_with_the_terminal") {
        return;
    }
    let (room, _) = busy_room();
    for width in [80, 100, 120] {
        let shown = on_terminal(&room, width, "stats", &PLAIN);
        let bob = shown.lines().find(|line| line.starts_with("bob ")).unwrap_or_else(|| panic!("{shown}"));
        assert!(bob.contains('█') && !bob.contains('…'), "{width}: {shown}");
        assert!(shown.lines().all(|line| line.width() <= width as usize), "{width}: {shown}");
        assert!(shown.lines().next().unwrap().ends_with("arrivals"), "{width}: {shown}");
    }
    assert!(on_terminal(&room, 40, "stats", &PLAIN).lines().all(|line| line.width() <= 40));
}

/// Nothing but default, bold, underlined, red, green, magenta and cyan: the others vanish on a light or on a dark ground.
#[test]
fn colours_can_be_read_on_light_and_dark() {
    if !lent("colours_can_be_read_on_light_and_dark") {
        return;
    }
    let (room, id) = busy_room();
    let mut used = BTreeSet::new();
    for arguments in looks(&id) {
        let shown = on_terminal(&room, 80, &arguments, &[]);
        for code in shown.split("\u{1b}[").skip(1).filter_map(|rest| rest.split_once('m')) {
            used.extend(code.0.split(';').map(str::to_owned));
        }
        for quiet in [&PLAIN[..], &[("TERM", "dumb")]] {
            assert!(
                !on_terminal(&room, 80, &arguments, quiet).contains('\u{1b}'),
                "{arguments} with {quiet:?}"
            );
        }
    }
    let readable = ["", "0", "1", "4", "31", "32", "35", "36"].map(str::to_owned).into();
    assert!(used.is_subset(&readable) && used.contains("35"), "{used:?}");
}

/// The state of a claimed message, and descriptions of workflows, were cut in the middle.
#[test]
fn what_matters_is_not_cut_at_eighty_columns() {
    if !lent("what_matters_is_not_cut_at_eighty_columns") {
        return;
    }
    let (room, _) = busy_room();
    room.by("alice", ["send", "bob", "-s", SUBJECT, "-m", "x", "--priority", "urgent"]).succeeds();
    claim(&room, "bob", &[]);
    let shown = on_terminal(&room, 80, "--as alice sent", &PLAIN);
    let line =
        shown.lines().find(|line| line.contains("claimed by bob")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains("claimed by bob  ") && !line.contains("until"), "{shown}");
    assert!(shown.lines().any(|line| line.contains("answered ") && !line.contains('…')), "{shown}");
    let shown = on_terminal(&room, 80, "workflow list", &PLAIN);
    assert!(shown.contains("implement-review (shipped)\n") && !shown.contains('…'), "{shown}");
    let shown = on_terminal(&room, 80, "workflow graph fan-out-review", &PLAIN);
    assert!(
        shown.lines().all(|line| line.width() <= 80) && shown.contains("continues on failure"),
        "{shown}"
    );
}

/// It said that it waited, although mail was there.
#[test]
fn a_wait_that_ends_at_once_is_not_announced() {
    if !lent("a_wait_that_ends_at_once_is_not_announced") {
        return;
    }
    let room = TestRoom::with(&["alice", "bob"]);
    let shown = on_terminal(&room, 80, "--as bob wait --timeout 0.1s", &PLAIN);
    assert!(shown.starts_with("waiting up to "), "{shown}");
    room.send("alice", "bob", "news");
    let shown = on_terminal(&room, 80, "--as bob wait", &PLAIN);
    assert!(shown.contains("news") && !shown.contains("waiting"), "{shown}");
}
