//! What one message costs the model at each moment of a session: extra requests, and the bytes of its one notice. With the real
//! programs in a terminal (tmux). The figures are printed; docs/guides/programs.md has them.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::agents::idle::{Terminal, has_tmux, settle_claude};
use crate::agents::real::{at_home, heard};
use crate::support::models::{MISSING, Stage, claude};
use crate::support::room::TestRoom;
use crate::support::until::{skip, until_at_last};

/// A session in a terminal through which a test goes, moment by moment.
pub(crate) struct Day<'a> {
    room: &'a TestRoom,
    stage: &'a Stage<'a>,
    pub(crate) terminal: Terminal<'a>,
    to: &'static str,
    turns: Cell<usize>,
    mails: Cell<usize>,
}

impl<'a> Day<'a> {
    /// Begins with a line of shell; the mail is for `to`.
    pub(crate) fn begins(
        room: &'a TestRoom,
        stage: &'a Stage<'a>,
        to: &'static str,
        script: &Value,
        line: &str,
    ) -> Self {
        let terminal = Terminal::play(room, stage, script, line);
        Self { room, stage, terminal, to, turns: Cell::new(0), mails: Cell::new(0) }
    }

    /// Mail from alice, which counts up.
    pub(crate) fn mail(&self) -> String {
        self.mails.set(self.mails.get() + 1);
        let subject = format!("marker-{}.", self.mails.get());
        self.room.by("alice", ["send", self.to, "-s", &subject, "-m", "BODY-OF-MAIL"]).succeeds();
        subject
    }

    /// The person types a line.
    pub(crate) fn says(&self, line: &str) {
        self.terminal.press(line, "the line", |screen| screen.contains(line));
        let before = self.stage.turns().len();
        self.terminal.press("Enter", "the turn for the line", |_| self.stage.turns().len() > before);
    }

    pub(crate) fn opens(&self, gate: &str) {
        std::fs::write(self.room.around().join(gate), "").unwrap();
    }

    /// Waits for this text on the screen, and until the session is idle.
    pub(crate) fn rests(&self, answer: &str) {
        until_at_last(answer, || {
            let screen = self.terminal.screen();
            screen.contains(answer) && !screen.contains("esc to interrupt")
        });
    }

    /// The requests since the last call, of which `usual` would have been made anyway. Prints what the mail has cost.
    pub(crate) fn cost(&self, moment: &str, usual: usize) -> Vec<Value> {
        let all = self.stage.turns();
        let seen = self.turns.replace(all.len());
        let bytes: usize = (seen.max(1)..all.len()).map(|at| added(&all[at - 1], &all[at])).sum();
        println!("{moment}: {} extra requests, {bytes} bytes of notices", all.len() - seen - usual);
        all[seen..].to_vec()
    }
}

/// The bytes of all texts of ours in a request that were not in the one before.
pub(crate) fn added(before: &Value, after: &Value) -> usize {
    let mut new = texts(after);
    for old in texts(before) {
        new.iter().position(|text| *text == old).map(|at| new.swap_remove(at));
    }
    new.iter().map(String::len).sum()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if text.contains("postroom: ") && OURS.iter().any(|ours| text.contains(ours)) => {
            vec![text.clone()]
        }
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => vec![],
    }
}

/// What notices of mail contain.
const OURS: [&str; 2] = [WAKE, "unread message"];

/// How often the last request says this.
pub(crate) fn times(turns: &[Value], what: &str) -> usize {
    heard(turns.last().unwrap()).matches(what).count()
}

pub(crate) const WAKE: &str = "mail has arrived for this session";

#[test]
fn claude_is_told_once_at_every_moment() {
    let test = "claude_is_told_once_at_every_moment";
    let (Some(real), true) = (claude(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    settle_claude(&room);
    let stage = at_home(&room, real);
    let at = |name: &str| room.around().join(name).display().to_string();
    let tool = |name: &str, end: &str| json!({"shell": format!("touch {}; while ! test -e {}; do sleep 0.05; done; {end}", at(&format!("{name}-begun")), at(name))});
    let script = json!([
        {"text": "answer-1."},
        {"text": "answer-2."},
        {"text": "answer-3."},
        {"text": "a thought", "after": at("thought")}, {"text": "answer-4."},
        tool("tool", "true"), {"text": "answer-5."},
        tool("failing", "false"), {"text": "answer-6."},
        {"tool": "Write", "input": {"file_path": at("asked"), "content": "x"}}, {"text": "answer-7."},
    ]);
    let line = "claude --permission-mode default --allowedTools=Bash 'hello there'";
    let day = Day::begins(&room, &stage, "bob", &script, line);

    day.rests("answer-1.");
    assert_eq!(day.cost("start", 1).len(), 1);

    let mail = day.mail();
    day.rests("answer-2.");
    let turns = day.cost("idle", 0);
    assert_eq!((turns.len(), times(&turns, WAKE), times(&turns, &mail)), (1, 1, 1), "{turns:?}");

    let burst: Vec<String> = (0..6).map(|_| day.mail()).collect();
    day.rests("answer-3.");
    let turns = day.cost("a burst of six", 0);
    assert_eq!((turns.len(), times(&turns, WAKE)), (1, 2), "{turns:?}");
    let text = heard(turns.last().unwrap());
    let places: Vec<usize> = burst.iter().map(|mail| text.find(mail.as_str()).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");

    day.says("think");
    let mail = day.mail();
    day.opens("thought");
    day.rests("answer-4.");
    let turns = day.cost("thinking", 1);
    assert_eq!((turns.len(), times(&turns, WAKE), times(&turns, &mail)), (2, 2, 1), "{turns:?}");

    for (name, answer) in [("tool", "answer-5."), ("failing", "answer-6.")] {
        day.says(&format!("a {name}"));
        until_at_last("the tool", || room.around().join(format!("{name}-begun")).exists());
        let mail = day.mail();
        day.opens(name);
        day.rests(answer);
        let turns = day.cost(&format!("in a {name}"), 2);
        assert_eq!((turns.len(), times(&turns, WAKE), times(&turns, &mail)), (2, 2, 1), "{turns:?}");
    }

    day.says("a question");
    until_at_last("the dialog", || day.terminal.screen().contains("Do you want to create"));
    let mails = [0; 3].map(|_| day.mail());
    day.terminal.press("Enter", "the answer", |screen| !screen.contains("Do you want to create"));
    day.rests("answer-7.");
    let turns = day.cost("in a dialog, three", 2);
    assert_eq!((turns.len(), times(&turns, WAKE)), (2, 2), "{turns:?}");
    assert!(mails.iter().all(|mail| times(&turns, mail) == 1), "{turns:?}");
    assert_eq!(stage.turns().len(), 11, "and nothing more");
}
