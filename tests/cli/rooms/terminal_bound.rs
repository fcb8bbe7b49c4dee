//! A terminal that was bound to a mailbox: what is typed there needs no `--as`.

use crate::support::room::TestRoom;

/// What a line of bash prints that a person types at a terminal, whatever its commands exit with.
fn typed(room: &TestRoom, script: &str) -> String {
    let ran = room.bash(&format!("{{ {script}; }} 2>&1; true")).by_person();
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.out
}

#[test]
fn what_is_typed_after_a_setup_acts_as_that_mailbox() {
    let room = TestRoom::with(&["bob"]);
    let said = typed(&room, "postroom setup alice && postroom whoami && postroom send bob -m hello");
    assert!(said.contains("this terminal acts as alice in this room"), "{said}");
    assert!(said.contains("name: alice\n") && said.contains("by: the binding of this terminal\n"), "{said}");
    assert!(!said.contains("to act as it"), "{said}");
    assert!(room.by("bob", ["check"]).succeeds().out.contains(" alice: hello"), "{said}");
}

#[test]
fn another_terminal_is_nobody() {
    let room = TestRoom::with(&["bob"]);
    typed(&room, "postroom setup alice");
    let said = typed(&room, "postroom whoami; echo $?");
    assert!(said.ends_with("\n3\n") && said.contains("postroom --as alice whoami"), "{said}");
    // Without a terminal as well: the binding is that of one.
    room.run(["whoami"]).exits(3);
}

/// `undo` said that there is no such mailbox, in the terminal in which it was pruned.
#[test]
fn a_pruned_mailbox_is_brought_back_in_its_own_terminal() {
    let room = TestRoom::with(&["bob"]);
    let said = typed(
        &room,
        "postroom setup alice -q; postroom --as bob prune alice --yes -q; postroom undo; \
         postroom undo $(postroom undo | cut -d' ' -f1); postroom whoami",
    );
    assert!(said.contains("brought back the mailbox alice") && said.contains("name: alice\n"), "{said}");
}

#[test]
fn it_is_bound_in_one_room_alone() {
    let room = TestRoom::with(&["bob"]);
    let said = typed(
        &room,
        "postroom setup alice -q && postroom --root \"$HOME/other\" setup carol -q; \
         postroom whoami; postroom --root \"$HOME/other\" whoami",
    );
    let names: Vec<_> = said.lines().filter(|line| line.starts_with("name: ")).collect();
    assert_eq!(names, ["name: alice", "name: carol"], "{said}");
}

#[test]
fn the_last_setup_counts_and_the_same_again_changes_nothing() {
    let room = TestRoom::empty();
    let said = typed(
        &room,
        "postroom setup alice -q; postroom setup alice -q; echo $?; postroom setup bob -q; postroom setup; postroom whoami; \
         postroom takeover alice --force; postroom whoami",
    );
    let names: Vec<_> = said.lines().filter(|line| line.starts_with("name: ")).collect();
    assert_eq!(names, ["name: bob", "name: bob", "name: alice", "name: alice"], "{said}");
    assert!(said.starts_with("0\n"), "{said}");
    // The mailbox of somebody else is not for the taking.
    let said = typed(&room, "postroom setup alice; echo $?");
    assert!(said.ends_with("\n4\n"), "{said}");
}

/// In a new terminal `setup user` said that the name is taken, and nothing but `takeover --force` led back.
#[test]
fn a_further_terminal_of_the_person_acts_as_the_person() {
    let room = TestRoom::with(&["alice"]);
    typed(&room, "postroom setup user");
    let lost = typed(&room, "postroom check");
    assert!(lost.contains("postroom setup user") && lost.contains("this terminal acts as user"), "{lost}");
    let said = typed(&room, "postroom setup user && postroom whoami && postroom send alice -m hello");
    assert!(
        said.contains("this terminal acts as user in this room") && said.contains("name: user\n"),
        "{said}"
    );
    assert!(room.by("alice", ["check"]).succeeds().out.contains(" user: hello"), "{said}");
    // Nobody else becomes the person by that.
    room.run(["setup", "user"]).exits(4);
    room.run(["setup", "user"]).env("CLAUDE_CODE_SESSION_ID", "s1").exits(4);
}

/// A person set up a mailbox for an agent by `setup NAME`, and did not see that the terminal was no longer theirs.
#[test]
fn a_terminal_that_changes_hands_says_whom_it_acted_as() {
    let room = TestRoom::empty();
    let said = typed(&room, "postroom setup user -q; postroom setup counter");
    assert!(said.contains("it acted as user until now; postroom setup user goes back"), "{said}");
    let said = typed(&room, "postroom setup alice -q; postroom setup bob; postroom setup bob");
    assert_eq!(said.matches("it acted as alice until now\n").count(), 1, "{said}");
}

#[test]
fn flags_environment_and_agents_come_first() {
    let room = TestRoom::with(&["bob"]);
    let id = room.id("bob");
    let script = format!(
        "printf '#!/bin/sh\\npostroom whoami\\n' > claude; chmod +x claude; cp claude tool; \
         postroom setup alice -q; postroom --as bob whoami; AGENT_MAILBOX_ID={id} postroom whoami; \
         ./tool; sh ./claude; CLAUDE_CODE_SESSION_ID=s1 postroom whoami; echo $?"
    );
    let said = typed(&room, &script);
    let by: Vec<_> = said.lines().filter(|line| line.starts_with("by: ")).collect();
    let expected = ["by: --as", "by: AGENT_MAILBOX_ID", "by: the binding of this terminal"];
    assert_eq!(by, expected, "an agent is never the person at its terminal: {said}");
    assert!(said.ends_with("\n3\n"), "{said}");
}
