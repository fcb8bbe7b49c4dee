//! The day of one session that sets up its mailbox itself: mail at each moment, compacted, cleared, ended, resumed.

use serde_json::{Value, json};

use super::session::{Marked, Session, now};
use super::{Clear, Profile, acts, equipped, ready, seen};
use crate::agents::idle::Terminal;
use crate::agents::real::heard;
use crate::support::until::until_at_last;

/// What the model answers when it is asked for a summary, in the form that Claude Code wants.
const SUMMARY: &str = "<analysis>short</analysis><summary>a summary.</summary>";

pub(crate) fn lives(test: &str, profile: &Profile) {
    let Some((real, room)) = ready(test, profile) else { return };
    let program = real.name;
    let stage = equipped(&room, real, profile, &[&["--user"]]);
    let at = |name: &str| room.around().join(name).display().to_string();
    let line = format!(
        "{}; touch {}; while ! test -e {}; do sleep 0.1; done; {}; exec cat",
        profile.start.replace("{prompt}", "you are bob"),
        at("exited"),
        at("again"),
        profile.resume
    );
    let terminal = Terminal::play(&room, &stage, &script(profile, &room.around().join("asked"), &at), &line);
    let session = Session::new((&room, &terminal), profile, ("t:0", "bob", Marked::Not));
    (profile.greet)(&session);

    session.rests(2, "inside");
    let first = heard(&session.turns()[0]);
    assert_eq!(first.matches("no mailbox yet").count(), 1, "{first}");
    until_at_last("its mailbox", || session.is_there());
    let (cost, woken) = session.is_woken("setup", true, 2);
    seen::told(program, "set up inside", &cost, &woken, "bob");
    let (cost, woken) = session.is_woken("idle", true, 0);
    seen::told(program, "mail when idle", &cost, &woken, "bob");
    works(program, &session);
    asks(program, &session);

    session.looks(0);
    let (compact, done) = profile.compact;
    session.types(compact);
    session.press("Enter", "a summary", |screen| screen.contains(done));
    let (cost, woken) = session.is_woken("compact", true, usize::from(profile.summary_is_turn));
    seen::told(program, "compact", &cost, &woken, "bob");
    clears(program, &session);

    session.types(profile.exit);
    session.press("Enter", "the end", |_| room.around().join("exited").exists());
    until_at_last("the end", || !session.is_there());
    session.looks(0);
    let mail = session.mail();
    seen::waits(program, "exit", "nothing runs", "free at once");

    // The seconds are those of its start, too: nobody sees when it could be woken.
    let start = now();
    std::fs::write(room.around().join("again"), "").unwrap();
    session.rests(2, "resume");
    let woken = session.woken_since(start);
    let cost = session.cost("resume", &[&mail], 1);
    seen::told(program, "resume", &cost, &woken, "bob");

    // The terminal needs a window that stays.
    terminal.opens(&stage, "t:1", "cat");
    terminal.kills("t:0");
    until_at_last("the end", || !session.is_there());
    session.looks(0);
    let mail = session.mail();
    let unread = room.by("bob", ["check"]).succeeds().out;
    assert!(unread.contains(&mail.subject), "still unread: {unread}");
    terminal.opens(&stage, "t:2", profile.resume);
    session.moves("t:2");
    session.rests(2, "killed");
    let cost = session.cost("killed", &[&mail], 1);
    assert!(cost.requests <= 1 && cost.wakes == 1, "{} {}", cost.requests, cost.wakes);
    until_at_last("its mailbox", || session.is_there());
}

/// What the model says on that day.
fn script(profile: &Profile, asked: &std::path::Path, at: &dyn Fn(&str) -> String) -> Value {
    let tool = |name: &str, end: &str| {
        let (begun, go) = (at(&format!("{name}-begun")), at(name));
        json!({"shell": format!("touch {begun}; while ! test -e {go}; do sleep 0.05; done; {end}")})
    };
    let mut turns = vec![json!({"shell": "postroom setup bob"}), json!({"text": "answer-inside."})];
    turns.extend(acts("setup"));
    turns.extend(acts("idle"));
    turns.push(json!({"text": "a thought", "after": at("thought")}));
    turns.extend(acts("thinking"));
    turns.push(tool("tool", "true"));
    turns.extend(acts("tool"));
    turns.push(tool("failing", "false"));
    turns.extend(acts("failing"));
    turns.push((profile.question)(asked));
    turns.extend(acts("dialog"));
    if profile.summary_is_turn {
        turns.push(json!({"text": SUMMARY}));
    }
    turns.extend(acts("compact"));
    if let Clear::AtPrompt(_) = profile.clear {
        turns.push(json!({"text": "answer-anew."}));
    }
    turns.extend(acts("clear"));
    turns.extend(acts("resume"));
    turns.extend(acts("killed"));
    turns.into()
}

/// Mail comes while it thinks, and in tools.
fn works(program: &str, session: &Session<'_>) {
    let opens = |gate: &str| std::fs::write(session.room.around().join(gate), "").unwrap();
    session.looks(0);
    session.says("think");
    let mail = session.mail();
    opens("thought");
    session.rests(3, "thinking");
    let cost = session.cost("thinking", &[&mail], 2);
    seen::told(program, "mail when thinking", &cost, &json!("works: told before it stops"), "bob");
    for (name, event) in [("tool", "mail in a tool"), ("failing", "mail in a failing tool")] {
        session.looks(0);
        session.says(&format!("a {name}"));
        let begun = session.room.around().join(format!("{name}-begun"));
        until_at_last("the tool", || begun.exists());
        let mail = session.mail();
        opens(name);
        session.rests(3, name);
        let cost = session.cost(name, &[&mail], 3);
        assert_eq!(cost.requests, 0, "{event}");
        seen::told(program, event, &cost, &json!("works: told after the tool"), "bob");
    }
}

/// Three messages come while it asks the person.
fn asks(program: &str, session: &Session<'_>) {
    session.looks(0);
    session.says("a question");
    let asks = session.profile.asks;
    until_at_last("the question", || session.screen().contains(asks));
    let mails = [session.mail(), session.mail(), session.mail()];
    session.press("Enter", "the answer", |screen| !screen.contains(asks));
    session.rests(3, "dialog");
    let cost = session.cost("dialog", &[&mails[0], &mails[1], &mails[2]], 3);
    assert_eq!(cost.requests, 0, "one notice for all, after the answer");
    seen::told(program, "three mails in a dialog", &cost, &json!("works: told after the answer"), "bob");
}

/// The person begins anew.
fn clears(program: &str, session: &Session<'_>) {
    let (Clear::AtOnce(command)
    | Clear::Silently(command)
    | Clear::AtPrompt(command)
    | Clear::Beside(command)) = session.profile.clear;
    session.types(command);
    session.press("Enter", "an empty session", |screen| !screen.contains("answer-compact."));
    let (is_shown, others) = match session.profile.clear {
        Clear::AtOnce(_) => (true, 0),
        Clear::Silently(_) => {
            // Until then, mail would reach the session that is being cleared.
            until_at_last("the end of the first session", || !session.is_there());
            (true, 0)
        }
        Clear::AtPrompt(_) => {
            session.says("begin anew");
            session.rests(1, "anew");
            (true, 1)
        }
        Clear::Beside(_) => (false, 0),
    };
    let (cost, woken) = session.is_woken("clear", is_shown, others);
    until_at_last("its mailbox", || session.is_there());
    let last = heard(session.turns().last().unwrap());
    assert_eq!(last.contains("answer-compact."), !is_shown, "another session: {last}");
    let identity = if is_shown { "bob" } else { "bob stays with the first conversation" };
    seen::told(program, "`/clear`", &cost, &woken, identity);
}
