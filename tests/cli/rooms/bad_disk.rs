//! Bad input from below: a full disk, no descriptors, a closed output, a clock that was set back.

use crate::support::hand::by_hand;
use crate::support::room::TestRoom;
use crate::support::until::skip;

#[test]
fn a_file_size_limit_is_not_a_delivery() {
    let room = TestRoom::with(&["alice", "bob"]);
    let before = room.tree();
    let script = "ulimit -f 4; head -c 100000 /dev/zero | tr '\\0' x | postroom --as alice send bob -s large";
    let ran = room.bash(script).ends();
    assert!([4, 5].contains(&ran.code), "never by a signal: {ran:?}");
    assert!(ran.out.is_empty() && ran.err.contains("postroom: "), "{ran:?}");
    room.is_still(&before, "a send that could not be written");
    room.send("alice", "bob", "small");
}

#[test]
fn a_full_disk_is_not_a_delivery() {
    let room = TestRoom::empty();
    let script = "mkdir disk && unshare --user --map-root-user --mount bash -c '
        mount -t tmpfs -o size=128k none disk || exit 99
        export POSTROOM_ROOT=$PWD/disk/room
        postroom setup alice -q && postroom setup bob -q || exit 98
        sent=0
        while head -c 8000 /dev/zero | tr \"\\0\" x | postroom --as alice send bob -s large -q; do sent=$((sent+1)); done
        head -c 8000 /dev/zero | tr \"\\0\" x | postroom --as alice send bob -s large
        echo \"code=$? sent=$sent inbox=$(ls disk/room/bob-*/inbox | wc -l) staged=$(ls disk/room/bob-*/tmp | wc -l)\"
        postroom --as bob check --limit 1000 | grep -c large
        postroom --as bob read > shown; echo \"read=$?\"; grep -c xxxx shown
        rm disk/room/bob-*/archive/*; echo small | postroom --as alice send bob -q; echo \"again=$?\"
        postroom doctor; echo \"doctor=$?\"'";
    let ran = room.bash(script).ends();
    if ran.code == 99 || ran.err.contains("unshare") {
        return skip("a_full_disk_is_not_a_delivery", "no disk of our own can be mounted here");
    }
    let lines: Vec<&str> = ran.out.lines().collect();
    let sent: usize = lines[0].split("sent=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(sent >= 2, "{ran:?}");
    assert_eq!(lines[0], format!("code=5 sent={sent} inbox={sent} staged=0"), "{ran:?}");
    assert_eq!(lines[1..], [sent.to_string().as_str(), "read=0", "1", "again=0", "doctor=0"], "{ran:?}");
    assert!(ran.err.contains("No space left"), "{}", ran.err);
}

#[test]
fn no_descriptors_is_told_and_nothing_is_lost() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "waits");
    for count in 3..16 {
        for command in
            ["--as alice send bob -m more", "--as bob check", "--as bob read --keep", "--as alice setup"]
        {
            let ran = room.bash(&format!("ulimit -n {count}; exec postroom {command}")).ends();
            let told = matches!(ran.code, 0 | 4 | 5) || ran.code == 127 || ran.code == 126;
            assert!(told, "{command} with {count}: {ran:?}");
            assert!(!ran.err.contains("panicked"), "{command} with {count}: {ran:?}");
            // Where it says that it did not send, it did not.
            if command.contains("send") {
                let queued = ran.out.contains("queued");
                assert_eq!(room.files("bob", "inbox").len(), 1 + usize::from(queued), "{count}: {ran:?}");
                if queued {
                    room.by("bob", ["archive", &ran.out[7..15]]).succeeds();
                }
            }
        }
    }
    assert!(room.files("bob", "quarantine").is_empty(), "a poor process is no fault of the file");
    assert!(room.by("bob", ["read", &id]).succeeds().out.contains("waits"));
}

#[test]
fn a_closed_output_does_not_undo_a_delivery() {
    let room = TestRoom::with(&["alice", "bob"]);
    for (n, to) in
        [">&-", ">/dev/full", ">&- 2>&-", "</dev/null >/dev/full 2>/dev/full"].into_iter().enumerate()
    {
        let ran = room.bash(&format!("postroom --as alice send bob -m text {to}")).ends();
        assert_eq!(ran.code, 0, "the message is there, and the exit code says so: {to}: {ran:?}");
        assert_eq!(room.files("bob", "inbox").len(), n + 1, "{to}");
    }
    let output = room.by("alice", ["send", "bob", "-m", "text"]).closed_pipe().wait_with_output().unwrap();
    assert_eq!((output.status.code(), room.files("bob", "inbox").len()), (Some(0), 5));
}

#[test]
fn a_closed_output_panics_nowhere() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "text");
    for command in [
        "check",
        "names",
        "whoami",
        "log",
        "doctor",
        "wait --timeout 0",
        "read",
        "read --keep",
        "check --json",
        "frobnicate",
        "--help",
        "setup bob",
    ] {
        for to in [">&-", ">/dev/full", ">/dev/full 2>/dev/full", ">&- 2>&-"] {
            let ran = room.bash(&format!("postroom --as bob {command} {to}")).ends();
            assert!([0, 1, 2, 5].contains(&ran.code), "{command} {to}: {ran:?}");
            assert!(!ran.err.contains("panicked"), "{command} {to}: {ran:?}");
        }
    }
    assert_eq!(room.by("bob", ["check", "--count"]).succeeds().out, "1\n", "{id} was seen by nobody");
}

#[test]
fn a_clock_set_back_loses_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    // What was sent while the clock was a year ahead: its name and its time lie in the future.
    let file = "20990101T000000Z-abcd1111-future.md";
    let path = room.place("bob", file, by_hand(&room.id("alice"), "abcd1111", "future", "x"));
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(365 * 86_400);
    for path in [path, room.root().join(room.id("bob")).join("seen")] {
        std::fs::File::options().read(true).open(path).unwrap().set_modified(ahead).unwrap();
    }
    let id = room.send("alice", "bob", "now");
    let out = room.by("bob", ["check"]).succeeds().out;
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.starts_with(&id), "{out}");
    room.run(["names"]).succeeds();
    room.by("bob", ["wait", "--timeout", "0"]).succeeds();
    room.by("bob", ["read", "abcd1111"]).succeeds();
    room.by("bob", ["reply", "abcd1111", "-m", "answer"]).succeeds();
    assert_eq!((room.files("bob", "inbox").len(), room.files("bob", "archive").len()), (1, 1));
}

#[test]
fn a_broken_file_of_the_future_is_seen_as_broken() {
    let room = TestRoom::with(&["bob"]).leaves_faults();
    let path = room.place("bob", "broken.md", crate::support::hand::BROKEN);
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    std::fs::File::options().read(true).open(path).unwrap().set_modified(ahead).unwrap();
    assert!(room.by("bob", ["check"]).ends().err.contains("broken.md"));
}

#[test]
fn what_a_sandbox_forbids_names_the_flag_that_allows_it() {
    let room = TestRoom::empty();
    let script = "mkdir -p sealed && unshare --user --map-root-user --mount bash -c '
        mount -t tmpfs none sealed && mount -o remount,ro sealed || exit 99
        POSTROOM_ROOT=$PWD/sealed/room postroom setup bob'";
    for (variable, said) in [
        ("CODEX_THREAD_ID", "postroom … -m 'TEXT'"),
        ("COPILOT_AGENT_SESSION_ID", "start copilot with --add-dir"),
        ("CLAUDE_CODE_SESSION_ID", "claude --add-dir"),
        ("OPENCODE", "external_directory"),
        ("GEMINI_CLI", "sandbox"),
        ("UNKNOWN_PROGRAM", "see who may write"),
    ] {
        let ran = room.bash(script).env(variable, "1").ends();
        if ran.code == 99 || ran.err.contains("unshare") {
            return skip(
                "what_a_sandbox_forbids_names_the_flag_that_allows_it",
                "no disk of our own can be mounted here",
            );
        }
        assert_eq!(ran.code, 5, "{variable}: {ran:?}");
        assert!(ran.err.contains("Read-only file system"), "{variable}: {}", ran.err);
        assert!(ran.err.contains(said) && ran.err.contains("sealed/room"), "{variable}: {}", ran.err);
    }
}
