//! Hooks: what a session hears of its mail, when, and in which shape.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::support::room::{Ran, Run, TestRoom};
use crate::support::until::until_watching;

/// A hook of a session, with the input that the program gives it.
pub(crate) fn hook(room: &TestRoom, program: &str, event: &str, session: &str) -> Run {
    // Each event is another one.
    static EVENTS: AtomicU32 = AtomicU32::new(0);
    let input = json!({
        "session_id": session, "cwd": "/", "hook_event_name": "", "tool_response": {"stdout": "x"},
        "tool_use_id": EVENTS.fetch_add(1, Ordering::Relaxed),
    });
    room.run(["hook", program, event]).input(input.to_string())
}

/// The text that reaches the model, whatever the shape.
#[track_caller]
pub(crate) fn text(ran: &Ran) -> String {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    if ran.out.is_empty() {
        return String::new();
    }
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    let texts = [
        &value["hookSpecificOutput"]["additionalContext"],
        &value["additionalContext"],
        &value["reason"],
        &value["text"],
    ];
    let found: Vec<&str> = texts.iter().filter_map(|text| text.as_str()).collect();
    assert_eq!(found.len(), 1, "{value}");
    found[0].to_owned()
}

/// A room in which bob is a session of Claude Code.
pub(crate) fn bound() -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "bob"]).env("CLAUDE_CODE_SESSION_ID", "s1").succeeds();
    room
}

#[track_caller]
pub(crate) fn says(room: &TestRoom, event: &str) -> String {
    text(&hook(room, "claude", event, "s1").ends())
}

#[test]
fn a_session_hears_its_name_and_each_message_once() {
    let room = bound();
    assert_eq!(says(&room, "prompt"), "");
    room.by("alice", ["send", "bob", "-s", "parser \"review\"", "-m", "SECRET-BODY"]).succeeds();
    assert_eq!(says(&room, "session-start"), "postroom: this session has the mailbox bob.");
    let told = says(&room, "tool-end");
    assert!(
        told.contains("1 unread message for bob") && told.contains("from alice: \"parser 'review'\""),
        "{told}"
    );
    assert!(!told.contains("SECRET-BODY") && told.contains("senders unverified"), "{told}");
    assert_eq!(says(&room, "tool-end") + &says(&room, "prompt"), "");
    room.by("alice", ["send", "bob", "-m", "another", "--priority", "urgent"]).succeeds();
    let told = says(&room, "prompt");
    assert!(told.contains("another") && told.contains("(urgent)") && !told.contains("parser"), "{told}");
    // A session that goes on may have forgotten what it was told, so it hears how much there is.
    room.send("alice", "bob", "third");
    let resumed = json!({"session_id": "s1", "source": "resume"}).to_string();
    assert_eq!(
        text(&room.run(["hook", "claude", "session-start"]).input(resumed).ends()),
        "postroom: this session has the mailbox bob; 2 messages are still unread (`postroom check` lists them)."
    );
    assert!(says(&room, "prompt").contains("1 unread message for bob"), "the third is still news");
}

#[test]
fn a_notice_is_short_however_much_there_is() {
    let room = bound();
    for at in 0..30 {
        let subject = format!("{at} {}", "é\u{202e}🦀".repeat(20));
        room.by("alice", ["send", "bob", "-s", &subject, "-m", "x", "--priority", "high"]).succeeds();
    }
    let told = says(&room, "tool-end");
    assert!(told.len() <= 600 && told.len() > 300, "{}: {told}", told.len());
    assert!(told.contains("30 unread messages") && told.contains("more: postroom check"), "{told}");
    assert!(!told.contains('\u{202e}'));
    assert_eq!(says(&room, "prompt"), "", "all thirty were announced");
}

#[test]
fn a_stop_is_held_up_once_for_each_message() {
    let room = bound();
    assert_eq!(says(&room, "stop"), "");
    room.send("alice", "bob", "one");
    assert!(says(&room, "stop").contains("one"));
    assert_eq!(says(&room, "stop"), "");
    room.send("alice", "bob", "two");
    let active = json!({"session_id": "s1", "stop_hook_active": true}).to_string();
    let ran = room.run(["hook", "claude", "stop"]).input(active).succeeds();
    assert_eq!(ran.out, "", "it is already being held up");
    let held = says(&room, "stop");
    assert!(held.contains("two") && !held.contains("\"one\""), "{held}");
    assert_eq!(says(&room, "tool-end"), "", "the session that was held up for it knows of it");
}

/// Calls the hook for arriving mail, where a person attends the session. Returns whether it wakes the session.
fn wakes(room: &TestRoom, patience: &str) -> bool {
    let run = hook(room, "claude", "mail", "s1").arg("--patience").arg(patience);
    let ran = run.env("CLAUDE_CODE_SESSION_ATTENDED", "1").ends();
    assert_eq!((ran.out.as_str(), ran.err.contains("mail has arrived")), ("", ran.code == 2), "{ran:?}");
    ran.code == 2
}

#[test]
fn a_message_costs_one_notice_whichever_hook_comes_first() {
    let events = ["prompt", "tool-end", "stop", "mail"];
    for first in events {
        let room = bound();
        let tells = |event: &str| match event {
            "mail" => wakes(&room, "0"),
            event => !says(&room, event).is_empty(),
        };
        room.send("alice", "bob", "one");
        assert!(tells(first), "{first}");
        for second in events {
            assert!(!tells(second), "{second} after {first}");
        }
    }
}

#[test]
fn a_burst_is_one_notice_in_the_order_of_check() {
    let room = bound();
    let sent: Vec<String> = (1..=6).map(|n| format!("subject-{n}")).collect();
    for subject in &sent {
        room.by("alice", ["send", "bob", "-s", subject, "-m", "x"]).succeeds();
    }
    let order = |text: &str| -> Vec<String> {
        text.split_whitespace()
            .map(|w| w.trim_matches('"'))
            .filter(|w| w.starts_with("subject-"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(order(&says(&room, "tool-end")), sent);
    assert_eq!(order(&room.by("bob", ["check"]).succeeds().out), sent);
}

#[test]
fn hooks_of_the_user_and_of_a_project_say_it_once() {
    let room = bound();
    room.send("alice", "bob", "one");
    let twice = |event: &str| {
        let input = json!({"session_id": "s1", "hook_event_name": ""}).to_string();
        let says = || text(&room.run(["hook", "claude", event]).input(input.as_str()).ends());
        let said: Vec<String> = std::thread::scope(|scope| {
            let runs = [0, 1].map(|_| scope.spawn(says));
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        said.iter().filter(|text| !text.is_empty()).count()
    };
    assert_eq!((twice("session-start"), twice("prompt"), twice("stop")), (1, 1, 0));
}

#[test]
fn mail_for_a_session_that_works_is_left_to_its_other_hooks() {
    let room = bound();
    assert_eq!(says(&room, "prompt"), "");
    room.send("alice", "bob", "one");
    let waits = || {
        let run = room.run(["hook", "claude", "mail"]).env("CLAUDE_CODE_SESSION_ID", "s1");
        let waiting = run.env("CLAUDE_CODE_SESSION_ATTENDED", "1").start();
        until_watching(&waiting);
        waiting
    };
    let waiting = waits();
    assert!(!wakes(&room, "60"), "one waits for all mail");
    assert!(says(&room, "stop").contains("one"));
    let ended = waiting.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]), "it was told");
    // It goes on for that, and then it is idle: now mail wakes it at once.
    assert_eq!(says(&room, "stop"), "");
    room.send("alice", "bob", "two");
    assert!(wakes(&room, "60"));
    // Until it has done something, a second line would only repeat the first.
    room.send("alice", "bob", "three");
    let waiting = waits();
    room.run(["check"]).env("CLAUDE_CODE_SESSION_ID", "s1").succeeds();
    assert_eq!(waiting.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(says(&room, "tool-end") + &says(&room, "stop"), "");
    // A session that was interrupted says nothing of it; it is woken after a while.
    assert_eq!(says(&room, "prompt"), "");
    room.send("alice", "bob", "four");
    assert!(wakes(&room, "0.2"));
}

#[test]
fn a_part_of_a_session_does_not_hear_its_mail() {
    let room = bound();
    room.send("alice", "bob", "one");
    let input = json!({"session_id": "s1", "agent_id": "a1", "agent_type": "Explore"}).to_string();
    assert_eq!(room.run(["hook", "claude", "tool-end"]).input(input).succeeds().out, "");
    assert!(says(&room, "tool-end").contains("one"));
}

#[test]
fn every_program_gets_its_own_shape() {
    for (program, variable, nested, block) in [
        ("claude", "CLAUDE_CODE_SESSION_ID", true, false),
        ("codex", "CODEX_THREAD_ID", true, true),
        ("copilot", "COPILOT_AGENT_SESSION_ID", false, true),
        ("opencode", "POSTROOM_OPENCODE_SESSION", false, false),
    ] {
        let room = TestRoom::with(&["alice"]);
        room.run(["setup", "bob"]).env(variable, "s").succeeds();
        room.send("alice", "bob", "hello");
        let answer = |event: &str| -> Value {
            serde_json::from_str(&hook(&room, program, event, "s").succeeds().out).unwrap()
        };
        let told = answer("tool-end");
        assert_eq!(told["hookSpecificOutput"]["hookEventName"] == "PostToolUse", nested, "{told}");
        assert_eq!(told.as_object().unwrap().len(), if program == "opencode" { 2 } else { 1 });
        room.send("alice", "bob", "more");
        let stop = answer("stop");
        assert_eq!(stop["decision"] == "block", block, "{program} {stop}");
        assert!(!room.bash("true").succeeds().out.contains('x'));
    }
}

#[test]
fn a_session_that_waits_is_not_told_a_second_time() {
    let room = bound();
    let waiting = room.run(["wait", "--timeout", "60"]).env("CLAUDE_CODE_SESSION_ID", "s1").start();
    until_watching(&waiting);
    room.send("alice", "bob", "hello");
    let output = waiting.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("hello"));
    assert_eq!(says(&room, "tool-end") + &says(&room, "prompt"), "");
    let woken = hook(&room, "claude", "mail", "s1").env("CLAUDE_CODE_SESSION_ATTENDED", "1").ends();
    assert_eq!((woken.code, woken.err.as_str()), (0, ""));
}

#[test]
fn while_it_waits_its_hooks_are_silent() {
    let room = bound();
    room.send("alice", "bob", "hello");
    let mut waiting =
        room.run(["wait", "--from", "bob", "--timeout", "60"]).env("CLAUDE_CODE_SESSION_ID", "s1").start();
    until_watching(&waiting);
    assert_eq!(says(&room, "tool-end"), "");
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(says(&room, "tool-end").contains("hello"));
}

#[test]
fn what_a_check_showed_is_told() {
    let room = bound();
    room.send("alice", "bob", "hello");
    room.run(["check"]).env("CLAUDE_CODE_SESSION_ID", "s1").succeeds();
    assert_eq!(says(&room, "tool-end"), "");
    room.send("alice", "bob", "more");
    room.by("bob", ["check"]).succeeds();
    assert!(says(&room, "tool-end").contains("more"), "somebody else looked, not the session");
}

#[test]
fn an_idle_session_is_woken_once_and_only_where_a_person_sits() {
    let room = bound();
    room.send("alice", "bob", "SECRET-SUBJECT");
    let mail = |attended: &str| {
        hook(&room, "claude", "mail", "s1").env("CLAUDE_CODE_SESSION_ATTENDED", attended).ends()
    };
    assert_eq!(mail("0").code, 0);
    let woken = mail("1");
    assert_eq!((woken.code, woken.out.as_str()), (2, ""));
    assert!(woken.err.contains("mail has arrived") && !woken.err.contains("SECRET"), "{}", woken.err);
    assert_eq!(mail("1").code, 0);
    assert_eq!(says(&room, "prompt") + &says(&room, "tool-end"), "", "the line is its notice");
    let line = format!("<system-reminder>\nby a hook: {}\n</system-reminder>", woken.err);
    let prompt = |turn: u32| {
        let input = json!({"session_id": "s1", "prompt": line, "prompt_id": turn}).to_string();
        text(&room.run(["hook", "claude", "prompt"]).input(input).ends())
    };
    assert!(prompt(1).contains("SECRET-SUBJECT"), "the headers come with the line");
    assert_eq!(prompt(2), "");
    assert_eq!(says(&room, "stop"), "");
    room.send("alice", "bob", "next");
    assert_eq!(mail("1").code, 2);
}

#[test]
fn two_idle_agents_do_not_keep_each_other_awake_for_ever() {
    let room = bound();
    let mut woken = 0;
    for _ in 0..25 {
        room.send("alice", "bob", "x");
        woken += i32::from(
            hook(&room, "claude", "mail", "s1").env("CLAUDE_CODE_SESSION_ATTENDED", "1").ends().code == 2,
        );
        // Once it is not woken any more, it is held up for the mail, and stops after that.
        says(&room, "stop");
        says(&room, "stop");
    }
    assert_eq!(woken, 20);
}

#[test]
fn a_push_that_comes_too_late_costs_no_turn() {
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "bob"]).env("CODEX_THREAD_ID", "t").succeeds();
    let push = "postroom: mail has arrived for this session's mailbox. `postroom check` lists it.";
    let prompt = |text: &str| {
        static TURNS: AtomicU32 = AtomicU32::new(0);
        let turn = TURNS.fetch_add(1, Ordering::Relaxed);
        let input = json!({"session_id": "t", "prompt": text, "turn_id": turn}).to_string();
        room.run(["hook", "codex", "prompt"]).input(input).succeeds().out
    };
    assert!(prompt(push).contains("\"decision\":\"block\""));
    assert_eq!(prompt("go on"), "");
    room.send("alice", "bob", "hello");
    let told = prompt(push);
    assert!(told.contains("no terminal shows this session") && told.contains("block"), "{told}");
    assert!(prompt("go on").contains("hello"));
}

#[test]
fn hooks_side_by_side_tell_it_once() {
    let room = bound();
    room.send("alice", "bob", "hello");
    let told: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8).map(|_| scope.spawn(|| says(&room, "tool-end"))).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(told.iter().filter(|text| !text.is_empty()).count(), 1, "{told:?}");
}
