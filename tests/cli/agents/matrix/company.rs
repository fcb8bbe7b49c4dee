//! Two sessions of a program at the same time, with hooks for the user and for the project: one has its mailbox by the
//! name of the installation, one from its environment. Each hears only about its own mail. One is killed.

use serde_json::json;

use super::session::{Marked, Session};
use super::{Profile, acts, equipped, ready, seen};
use crate::agents::idle::Terminal;
use crate::agents::real::heard;
use crate::support::until::until_at_last;

const SECOND: &str = "you are the second";

pub(crate) fn keeps(test: &str, profile: &Profile) {
    let Some((real, room)) = ready(test, profile) else { return };
    let program = real.name;
    for name in ["bob", "carol"] {
        room.run(["setup", name]).succeeds();
    }
    let named = ["--name", "bob"];
    let stage = equipped(
        &room,
        real,
        profile,
        &[&[named[0], named[1], "--user"], &[named[0], named[1], "--project"]],
    );
    let (begun, go) = (room.around().join("begun"), room.around().join("go"));
    let tool = format!("touch {}; while ! test -e {}; do sleep 0.05; done", begun.display(), go.display());
    let mut second = vec![json!({"text": "answer-start."})];
    second.extend(acts("before"));
    let mut first = vec![json!({"text": "answer-start."})];
    first.extend(acts("name"));
    first.push(json!({"shell": tool}));
    first.extend(acts("scopes"));
    first.extend(acts("two"));
    let script = json!([{"has": SECOND, "turns": second}, {"has": "", "turns": first}]);
    let line = format!("{}; exec cat", profile.start.replace("{prompt}", "you are the first"));
    let terminal = Terminal::play(&room, &stage, &script, &line);
    let bob = Session::new((&room, &terminal), profile, ("t:0", "bob", Marked::Without(SECOND)));
    (profile.greet)(&bob);

    bob.rests(1, "start");
    let start = heard(&bob.turns()[0]);
    assert_eq!(start.matches("this session has the mailbox bob").count(), 1, "by both scopes: {start}");
    let (cost, woken) = bob.is_woken("name", true, 1);
    seen::told(program, "set up by name", &cost, &woken, "bob");

    bob.looks(0);
    bob.says("a tool");
    until_at_last("the tool", || begun.exists());
    let mail = bob.mail();
    std::fs::write(&go, "").unwrap();
    bob.rests(3, "scopes");
    let cost = bob.cost("scopes", &[&mail], 3);
    assert_eq!(cost.requests, 0);
    seen::told(program, "hooks of user and project", &cost, &json!("works: told after the tool"), "bob");

    let carol = Session::new((&room, &terminal), profile, ("t:1", "carol", Marked::With(SECOND)));
    terminal.opens(
        &stage,
        "t:1",
        &format!("AGENT_MAILBOX_ID={} {}", room.id("carol"), profile.start.replace("{prompt}", SECOND)),
    );
    carol.rests(1, "start");
    let (cost, woken) = carol.is_woken("before", true, 1);
    seen::told(program, "set up before", &cost, &woken, "carol");

    let others = carol.count();
    let (cost, woken) = bob.is_woken("two", true, 0);
    assert_eq!(carol.count(), others, "the other session is not told");
    seen::told(program, "two sessions", &cost, &woken, "bob and carol, each its own");

    assert!(carol.is_there() && bob.is_there(), "{} {}", carol.listed(), bob.listed());
    room.run(["takeover", "carol"]).env("CODEX_THREAD_ID", "t").exits(4);
    terminal.kills("t:1");
    until_at_last("the end", || !carol.is_there());
    let mail = carol.mail();
    room.run(["takeover", "carol"]).env("CODEX_THREAD_ID", "t").succeeds();
    let unread = room.run(["check"]).env("CODEX_THREAD_ID", "t").succeeds().out;
    assert!(unread.contains(&mail.subject), "for who comes next: {unread}");
    bob.looks(0);
    carol.looks(0);
    seen::waits(program, "kill", "nothing runs", "free at once");
}
