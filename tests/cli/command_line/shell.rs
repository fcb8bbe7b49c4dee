//! `shell-init bash`: the functions of the maildir seed, run in a real bash (protocols.md §1.6, format.md §8).

use crate::support::hand::by_hand;
use crate::support::mask::mask;
use crate::support::room::{Run, TestRoom};
use crate::support::until::until;

/// A script with the functions loaded, in a room that is chosen as the seed chooses it.
pub(crate) fn shell(room: &TestRoom, script: &str) -> Run {
    room.bash(&format!("set -u; eval \"$(postroom tools shell-init bash)\"; {script}"))
        .env("MB_TEST_ROOT", room.root())
        .env("POSTROOM_ROOT", "/nowhere")
}

/// What a script printed, its last line being the exit code of the last command.
#[track_caller]
pub(crate) fn says(room: &TestRoom, script: &str) -> String {
    let ran = shell(room, &format!("{script}; echo \"[$?]\"")).succeeds();
    mask(&ran.out, &room.root())
}

#[test]
fn every_function_of_the_seed_is_there() {
    let room = TestRoom::empty();
    let script = "for f in mb_root mb_dir mb_resolve_self mb_ensure_inbox mb_send mb_list mb_archive mb_wait mb_register mb_lookup mb_names mb_whois
        do declare -F $f; done";
    assert_eq!(shell(&room, script).succeeds().out.lines().count(), 12);
    assert!(!room.root().exists(), "loading them makes nothing");
}

#[test]
fn the_root_is_the_seed_s_own_unless_a_test_moves_it() {
    let room = TestRoom::empty();
    assert_eq!(says(&room, "mb_root; echo; mb_dir bob; echo"), "<room>\n<room>/bob\n[0]\n");
    let script = "eval \"$(postroom tools shell-init bash)\"; mb_root; echo; mb_dir x";
    assert_eq!(room.bash(script).succeeds().out, "/tmp/agent-mailbox\n/tmp/agent-mailbox/x");
}

#[test]
fn who_i_am_is_the_environment_or_a_fresh_id() {
    let room = TestRoom::empty();
    assert_eq!(says(&room, "AGENT_MAILBOX_ID=agent-7 mb_resolve_self; echo"), "agent-7\n[0]\n");
    let out =
        shell(&room, "unset AGENT_MAILBOX_ID; mb_resolve_self; echo; mb_resolve_self; echo").succeeds().out;
    let ids: Vec<&str> = out.lines().collect();
    assert_ne!(ids[0], ids[1], "a fresh one each time");
    assert_eq!(mask(ids[0], &room.root()), "<uuid>");
    assert!(!room.root().exists(), "an id alone makes no mailbox");
}

#[test]
fn an_inbox_is_made_and_making_it_again_is_no_error() {
    let room = TestRoom::empty();
    assert_eq!(says(&room, "mb_ensure_inbox bob && mb_ensure_inbox bob"), "[0]\n");
    for folder in ["tmp", "inbox", "archive"] {
        assert!(room.root().join("bob").join(folder).is_dir(), "{folder}");
    }
    assert_eq!(says(&room, "AGENT_MAILBOX_ID=carol mb_ensure_inbox"), "[0]\n");
    assert!(room.root().join("carol/inbox").is_dir());
}

#[test]
fn a_message_is_sent_listed_archived() {
    let room = TestRoom::empty();
    let out = says(
        &room,
        "export AGENT_MAILBOX_ID=alice
        name=$(echo 'the body' | mb_send bob - 'Review: the *parser*!'); echo \"$name\"
        mb_list bob
        cat \"$(mb_list bob)\"
        mb_archive \"$(mb_list bob)\" bob; echo \"[$?]\"
        mb_list bob; ls \"$(mb_dir bob)/archive\"
        mb_archive \"$name\" bob",
    );
    insta::assert_snapshot!(out, @"
    <stamp>-<id>-review-the-parser.md
    <room>/bob/inbox/<stamp>-<id>-review-the-parser.md
    ---
    from: alice
    msg_id: <uuid>
    subject: Review: the *parser*!
    to: bob
    ---

    the body
    [0]
    <stamp>-<id>-review-the-parser.md
    [0]
    ");
}

#[test]
fn sending_takes_a_file_an_empty_body_and_a_thread() {
    let room = TestRoom::empty();
    std::fs::write(room.around().join("body.txt"), "from a file").unwrap();
    let out = says(
        &room,
        "export AGENT_MAILBOX_ID=alice
        mb_send bob body.txt s1 >/dev/null && mb_send bob /dev/null >/dev/null && mb_send bob - s3 abcd-1 </dev/null >/dev/null
        echo \"[$?]\"; for f in $(mb_list bob); do tail -n +3 \"$f\"; echo; done | grep -v '^msg_id' | sort | uniq -c | sed 's/^ *//'",
    );
    for line in [
        "1 from a file",
        "1 reply_to: abcd-1",
        "1 subject: s1",
        "1 subject: message",
        "1 subject: s3",
        "3 to: bob",
    ] {
        assert!(out.lines().any(|l| l == line), "{line}: {out}");
    }
    assert!(out.starts_with("[0]\n"), "{out}");
}

#[test]
fn a_missing_body_file_is_an_error_and_sends_nothing() {
    let room = TestRoom::empty();
    let ran = shell(&room, "AGENT_MAILBOX_ID=alice mb_send bob missing.txt").ends();
    assert!(ran.code != 0 && ran.out.is_empty() && ran.err.contains("missing.txt"), "{ran:?}");
    assert!(
        !room.root().join("bob/inbox").exists()
            || std::fs::read_dir(room.root().join("bob/inbox")).unwrap().next().is_none()
    );
}

#[test]
fn listing_is_in_order_and_an_absent_mailbox_is_empty() {
    let room = TestRoom::empty();
    assert_eq!(says(&room, "mb_list bob 2>/dev/null"), "[0]\n");
    shell(&room, "mb_ensure_inbox bob").succeeds();
    for name in [
        "20260103T000000Z-aaaa0003-c--urgent.md",
        "20260101T000000Z-aaaa0001-a.md",
        "20260102T000000Z-aaaa0002-b.md",
    ] {
        let path = room.root().join("bob/inbox").join(name);
        let priority = if name.contains("urgent") { "priority: urgent\n---\n\n" } else { "---\n\n" };
        std::fs::write(&path, by_hand("a", &name[17..25], "x", "y").replacen("---\n\n", priority, 1))
            .unwrap();
        crate::support::hand::tighten(&path);
    }
    std::fs::write(room.root().join("bob/tmp/staged.md"), "").unwrap();
    crate::support::hand::tighten(&room.root().join("bob/tmp/staged.md"));
    let out = shell(&room, "mb_list bob | sed 's/.*-//'").succeeds().out;
    assert_eq!(out, "a.md\nb.md\nurgent.md\n", "by name alone, as the seed sorts");
    assert_eq!(says(&room, "mb_list carol"), "[0]\n");
}

#[test]
fn waiting_tells_mail_from_time_out() {
    let room = TestRoom::empty();
    assert_eq!(says(&room, "mb_wait 0 bob"), "[1]\n");
    assert_eq!(says(&room, "MB_NO_FSWATCH=1 MB_POLL_INTERVAL=0.01 mb_wait 0 bob"), "[1]\n");
    shell(&room, "echo x | AGENT_MAILBOX_ID=alice mb_send bob - s").succeeds();
    assert_eq!(says(&room, "mb_wait 60 bob"), "[0]\n");
    assert_eq!(says(&room, "AGENT_MAILBOX_ID=bob mb_wait 60"), "[0]\n");
    assert_eq!(says(&room, "MB_NO_FSWATCH=1 mb_wait 60 bob"), "[0]\n");
    assert_eq!(says(&room, "AGENT_MAILBOX_ID=bob mb_wait"), "[0]\n");
}

#[test]
fn a_waiting_shell_wakes_with_and_without_a_watch() {
    for settings in ["", "MB_NO_FSWATCH=1 MB_POLL_INTERVAL=0.02"] {
        let room = TestRoom::empty();
        shell(&room, "mb_ensure_inbox bob").succeeds();
        let waiting = shell(&room, &format!("{settings} mb_wait 60 bob; echo $?")).start();
        // A waiter of either kind holds its mark of being alive, which `names` of a registered mailbox shows.
        until("the waiter", || room.root().join("bob/.alive").exists());
        shell(&room, "echo x | AGENT_MAILBOX_ID=alice mb_send bob - s").succeeds();
        let output = waiting.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n", "{settings:?}");
    }
}

#[test]
fn names_are_registered_looked_up_and_collide() {
    let room = TestRoom::empty();
    let out = says(
        &room,
        "export AGENT_HARNESS=claude
        AGENT_MAILBOX_ID=id-1 mb_register bob; echo
        mb_register bob id-2; echo
        mb_register BOB id-2; echo
        mb_register alice id-2; echo
        mb_names; mb_lookup bob; mb_lookup alice | tr '\\t' '|'; mb_whois id-2
        mb_lookup nobody; echo \"[$?]\"; mb_whois id-3",
    );
    insta::assert_snapshot!(out, @"
    bob
    collision
    collision
    alice
    bob
    alice
    id-1	<room>/id-1/inbox
    id-2|<room>/id-2/inbox
    alice
    [1]
    [1]
    ");
}

#[test]
fn a_name_that_is_not_given_is_made_up() {
    let room = TestRoom::empty();
    let out = shell(&room, "AGENT_MAILBOX_ID=id-1 mb_register; echo; mb_names; mb_whois id-1").succeeds().out;
    let names: Vec<&str> = out.lines().collect();
    assert!(names.len() == 3 && !names[0].is_empty() && names.iter().all(|n| *n == names[0]), "{out}");
}

#[test]
fn without_a_lock_program_names_still_collide() {
    let room = TestRoom::empty();
    let racing: Vec<_> =
        (0..6).map(|n| shell(&room, &format!("MB_NO_FLOCK=1 mb_register bob id-{n}")).start()).collect();
    let mut winners = 0;
    for child in racing {
        let output = child.wait_with_output().unwrap();
        match String::from_utf8(output.stdout).unwrap().as_str() {
            "bob" => winners += 1,
            other => assert_eq!(other, "collision", "{}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    assert_eq!(winners, 1);
    // Losers of the race may have left nothing that looks like a claim.
    assert_eq!(says(&room, "mb_names"), "bob\n[0]\n");
}

#[test]
fn the_registry_is_read_line_by_line_with_sed() {
    let room = TestRoom::empty();
    shell(&room, "export AGENT_HARNESS=codex; mb_register bob id-1 && mb_register alice id-2").succeeds();
    room.run(["setup", "陳", "--about", "a \"quoted\" one", "--alias", "chen"]).succeeds();
    let script = "cd \"$MB_TEST_ROOT\"
        sed -n 's/^ *\"bob\": {\"id\":\"\\([^\"]*\\)\".*/\\1/p' registry.json
        sed -n 's/^ *\"\\([^\"]*\\)\": {\"id\":\"[^\"]*\",\"harness\":\"\\([^\"]*\\)\",\"inbox\":\"[^\"]*\",\"pid\":[0-9]*,\"created\":\"[^\"]*\".*/\\1 \\2/p' registry.json
        head -1 registry.json; tail -1 registry.json; wc -l < registry.json";
    assert_eq!(shell(&room, script).succeeds().out, "id-1\nbob codex\nalice codex\n陳 shell\n{\n}\n5\n");
}

/// The seed has a test suite of its own; these checks cover the same ground, on every kind of new root.
#[test]
fn the_checks_of_the_seed_s_interface_hold() {
    let room = TestRoom::empty();
    let ran = shell(&room, include_str!("shell_suite.bash")).succeeds();
    let failed: Vec<&str> = ran.out.lines().filter(|line| !line.starts_with("ok ")).collect();
    assert_eq!(failed, ["checks: 137"], "{}", ran.err);
}
