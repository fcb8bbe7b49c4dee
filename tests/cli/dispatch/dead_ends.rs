//! Dead ends that were open once: a full disk, a supervisor that was held up, mail that nobody asked for, settings that
//! were read only once.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::command_line::terminal::{PLAIN, lent, on_terminal};
use crate::support::at_work::{SAYS_PID, parent_of, pid_of_agent};
use crate::support::crew;
use crate::support::staffed::{AT_ONCE, dispatch, inbox, runs, settle, shell, staffed, write_settings};
use crate::support::taken::end_lease;
use crate::support::until::{skip, until, until_watching};

/// A supervisor that was stopped for longer than its lease discarded its answer.
#[test]
fn a_supervisor_that_was_held_up_past_its_lease_still_delivers_its_answer() {
    let script = format!("{SAYS_PID}; while ! [ -e go ]; do sleep 0.05; done; echo late but fine");
    let room = staffed(&["worker"], &shell("worker", &script, "cwd = \"..\""));
    room.send("alice", "worker", "x");
    let mut dispatcher = dispatch(&room, []).start();
    let agent = pid_of_agent(&room);
    let parent = parent_of(&agent);
    let supervisor = Pid::from_raw(parent).unwrap();
    kill_process(supervisor, Signal::STOP).unwrap();
    let token = room.files("worker", "claimed").pop().unwrap();
    end_lease(&room, "worker", &token);
    // Any look returns the message, and no second run may begin beside the first.
    room.by("worker", ["check"]).succeeds();
    assert_eq!(room.files("worker", "inbox").len(), 1);
    dispatch(&room, []).exits(1);
    std::fs::write(room.around().join("go"), "").unwrap();
    until("the agent has ended", || {
        std::fs::read_to_string(format!("/proc/{agent}/status")).is_ok_and(|text| text.contains("State:\tZ"))
    });
    kill_process(supervisor, Signal::CONT).unwrap();
    assert_eq!(dispatcher.wait().unwrap().code(), Some(0));
    assert_eq!(inbox(&room, "alice"), ["late but fine\n"]);
    assert_eq!((runs(&room).len(), room.files("worker", "inbox").len()), (1, 0));
}

/// After a full disk the reason was "its supervisor was killed".
#[test]
fn the_reason_of_a_full_disk_is_told() {
    let script =
        "if [ -e fill ]; then rm fill; head -c 9000000 /dev/zero > \"$POSTROOM_ROOT/full\"; fi; echo fine";
    let room = staffed(&["worker"], &shell("worker", script, "cwd = \"..\""));
    room.send("alice", "worker", "x");
    let root = room.root().display().to_string();
    let script = format!(
        "touch fill; cp -a {root} kept && unshare --user --map-root-user --mount bash -c '
        mount -t tmpfs -o size=2m none {root} && cp -a kept/. {root}/ && chmod 700 {root} || exit 99
        postroom dispatch; echo first=$?
        rm {root}/full; postroom dispatch; echo second=$?; postroom runs'"
    );
    let ran = room.bash(&script).ends();
    if ran.code == 99 || ran.err.contains("unshare") {
        return skip("the_reason_of_a_full_disk_is_told", "no disk of our own can be mounted here");
    }
    assert!(ran.out.contains("No space left") && !ran.out.contains("was killed"), "{ran:?}");
    assert!(ran.out.contains("second=0") || ran.out.contains("second=5"), "{ran:?}");
}

/// A message that failed sent its notice to an agent, which was started for it and failed too: 40 dead letters.
#[test]
fn a_notice_of_failure_starts_no_agent() {
    let both = format!(
        "{}{}",
        shell("asker", "cat > /dev/null; postroom send broken -m help -q; echo asked", "session = true")
            .replace(AT_ONCE, ""),
        shell("broken", "exit 1", "retries = 0")
    );
    let room = staffed(&["asker", "broken"], &both);
    room.send("alice", "asker", "x");
    for _ in 0..10 {
        dispatch(&room, []).ends();
    }
    assert_eq!(runs(&room).len(), 2, "{:?}", runs(&room));
    assert_eq!(inbox(&room, "alice"), ["asked\n"]);
    let notice = inbox(&room, "asker");
    assert!(notice.len() == 1 && notice[0].contains("was given up"), "{notice:?}");
    assert_eq!(room.files("asker", "failed").len(), 0);
}

/// Without a conversation nobody remembers what was asked, so the answer waits until the agent looks.
#[test]
fn an_answer_starts_its_asker_only_if_that_keeps_a_conversation() {
    let asks = "grep -q 'fine, thanks' && echo heard || { postroom send helper -m question -q; echo asked; }";
    let cases = [
        ("", false),
        ("session = true", true),
        ("answers = \"start\"", true),
        ("session = true\nanswers = \"keep\"", false),
    ];
    for (settings, started) in cases {
        let both = format!(
            "{}{}",
            shell("asker", asks, settings).replace(AT_ONCE, ""),
            shell("helper", "echo fine, thanks", "")
        );
        let room = staffed(&["asker", "helper"], &both);
        room.send("alice", "asker", "x");
        for _ in 0..5 {
            dispatch(&room, []).ends();
        }
        let askers = runs(&room).iter().filter(|run| run["agent"] == "asker").count();
        assert_eq!(askers, if started { 2 } else { 1 }, "{settings}: {:?}", runs(&room));
        assert_eq!(room.files("asker", "inbox").len(), usize::from(!started), "{settings}");
        assert_eq!(inbox(&room, "alice"), ["asked\n"], "an answer is not answered");
    }
}

#[test]
fn a_watch_reads_settings_again_and_takes_a_new_agent() {
    let room = staffed(&["one", "two"], &shell("one", "echo first", ""));
    let mut watch = dispatch(&room, ["--watch"]).start();
    until_watching(&watch);
    room.send("alice", "one", "x");
    until("the first answer", || inbox(&room, "alice").len() == 1);
    let settings = format!(
        "{}{}",
        shell("one", "echo other words", "").replace(AT_ONCE, ""),
        shell("two", "echo second", "")
    );
    // Not trusted yet: nobody is started, and once it is trusted nobody waits for a restart.
    write_settings(&room, &settings);
    room.send("alice", "two", "y");
    room.send("alice", "one", "z");
    settle(&room, &settings);
    let trusted = Instant::now();
    until("both answers", || inbox(&room, "alice").len() == 3);
    // A message whose supervisor could not begin is otherwise left alone for 30 s.
    assert!(trusted.elapsed() < Duration::from_secs(15), "{:?}", trusted.elapsed());
    let mut answers = inbox(&room, "alice");
    answers.sort();
    assert_eq!(answers, ["first\n", "other words\n", "second\n"]);
    // So is an agent whose mailbox is made while the watch runs.
    room.run(["setup", "--child", "three"]).succeeds();
    settle(&room, &format!("{}{}", shell("three", "echo third", "").replace(AT_ONCE, ""), settings));
    room.send("alice", "three", "w");
    until("the third agent", || inbox(&room, "alice").contains(&"third\n".to_owned()));
    watch.kill().unwrap();
    watch.wait().unwrap();
}

/// A watch without mail looked as if it hung.
#[test]
fn a_watch_tells_a_person_what_it_watches_and_how_it_ends() {
    if !lent("a_watch_tells_a_person_what_it_watches_and_how_it_ends") {
        return;
    }
    let room = staffed(&["worker"], &shell("worker", "echo fine", ""));
    room.send("alice", "worker", "one");
    room.send("alice", "worker", "two");
    let shown = on_terminal(&room, 400, "dispatch --watch --limit 1", &PLAIN);
    let root = room.root().display().to_string();
    let wanted = format!("watching for worker in the room {root}: 2 messages wait. Ctrl-C stops the watch, ");
    assert!(shown.starts_with(&wanted), "{shown}");
    let piped = dispatch(&room, ["--watch", "--limit", "1"]).succeeds();
    assert!(piped.out.starts_with("started worker"), "{}", piped.out);
}

/// One dispatch ended without a word, and the message looked lost.
#[test]
fn a_dispatch_tells_a_person_what_goes_on_without_it() {
    let settings = shell("worker", "exit 3", "retries = 3").replace(AT_ONCE, "");
    let room = staffed(&["worker"], &format!("{settings}[dispatch]\nback_off = \"1h\"\n"));
    room.send("alice", "worker", "x");
    assert!(!dispatch(&room, []).exits(5).out.contains("tried again in"), "only people are told");
    if !lent("a_dispatch_tells_a_person_what_goes_on_without_it") {
        return;
    }
    for wanted in ["1 message is tried again in ", "2 messages are tried again in "] {
        let shown = on_terminal(&room, 400, "dispatch", &PLAIN);
        let last = shown.lines().last().unwrap();
        assert!(last.starts_with(wanted) && last.ends_with("dispatch --watch"), "{shown}");
        room.send("alice", "worker", "x");
    }
    let waits = "steps:\n  a: {agent: idle, prompt: x}\n";
    let room = crew::crew(&[("one", "echo x"), ("idle", "echo x")], &[("waits", waits)]);
    settle(&room, &crew::settings(&[("one", "echo x")]));
    let run = crew::begin(&room, "waits", &[]);
    let shown = on_terminal(&room, 400, "dispatch", &PLAIN);
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with(&format!("the run {run} still waits: ")), "{shown}");
    assert!(last.ends_with(&format!("workflow show {run}")), "{shown}");
}
