//! One session of a program in a window of the terminal, as a person and the sender of its mail see it.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::seen::{Cost, added, wakes};
use super::{Profile, acts};
use crate::agents::idle::{Terminal, is_at_work};
use crate::agents::real::heard;
use crate::support::room::TestRoom;
use crate::support::until::until_at_last;

pub(crate) struct Session<'a> {
    pub(crate) room: &'a TestRoom,
    pub(crate) terminal: &'a Terminal<'a>,
    pub(crate) profile: &'a Profile,
    /// Its window.
    window: Cell<&'static str>,
    /// Its mailbox.
    pub(crate) name: &'static str,
    /// Words that stand in the requests of this session alone, or in those of the other one.
    pub(crate) marked: Marked,
    seen: Cell<usize>,
    mails: Cell<usize>,
}

#[derive(Clone, Copy)]
pub(crate) enum Marked {
    Not,
    With(&'static str),
    Without(&'static str),
}

/// A message on its way, and when it was sent.
pub(crate) struct Mail {
    pub(crate) subject: String,
    sent: f64,
}

pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        (room, terminal): (&'a TestRoom, &'a Terminal<'a>),
        profile: &'a Profile,
        (window, name, marked): (&'static str, &'static str, Marked),
    ) -> Self {
        let (window, seen, mails) = (Cell::new(window), Cell::new(0), Cell::new(0));
        Self { room, terminal, profile, window, name, marked, seen, mails }
    }

    /// The lines of the log with turns of this session. They are long, so they are not parsed.
    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.room.around().join("requests.jsonl")).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let is_own = |line: &&str| match self.marked {
            Marked::Not => true,
            Marked::With(words) => line.contains(words),
            Marked::Without(words) => !line.contains(words),
        };
        whole.filter(|line| line.contains("\"kind\":\"turn\"")).filter(is_own).map(str::to_owned).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.lines().len()
    }

    pub(crate) fn turns(&self) -> Vec<Value> {
        self.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn screen(&self) -> String {
        self.terminal.screen_of(self.window.get())
    }

    pub(crate) fn press(&self, key: &str, what: &str, is_so: impl Fn(&str) -> bool) {
        self.terminal.press_in(self.window.get(), key, what, is_so);
    }

    /// The person types a line, which begins a turn.
    pub(crate) fn says(&self, line: &str) {
        self.types(line);
        let before = self.count();
        self.press("Enter", "the turn for the line", |_| self.count() > before);
    }

    /// The person types a line, and has not sent it.
    pub(crate) fn types(&self, line: &str) {
        self.press(line, "the line", |screen| screen.contains(line));
    }

    /// Waits until so many turns were taken since the last look, this text is shown, and the session is idle.
    pub(crate) fn rests(&self, turns: usize, event: &str) {
        self.takes(turns);
        until_at_last(event, || {
            let screen = self.screen();
            screen.contains(&format!("answer-{event}.")) && !screen.contains(self.profile.busy)
        });
    }

    /// Waits until so many turns were taken since the last look.
    pub(crate) fn takes(&self, turns: usize) {
        until_at_last("the turns", || self.count() >= self.seen.get() + turns);
    }

    /// Mail from alice.
    pub(crate) fn mail(&self) -> Mail {
        self.mails.set(self.mails.get() + 1);
        let subject = format!("marker-{}, for {}", self.mails.get(), self.name);
        let sent = now();
        self.room.by("alice", ["send", self.name, "-s", &subject, "-m", "BODY-OF-MAIL"]).succeeds();
        Mail { subject, sent }
    }

    /// What an event has cost, of whose requests so many belong to no mail. The session heard of the mail once, and
    /// acts as the owner of its mailbox.
    #[track_caller]
    pub(crate) fn cost(&self, event: &str, mails: &[&Mail], usual: usize) -> Cost {
        let all = self.turns();
        let seen = self.seen.replace(all.len());
        let last = heard(all.last().unwrap());
        for mail in mails {
            assert_eq!(last.matches(&mail.subject).count(), 1, "told once in {event}: {last}");
        }
        let places: Vec<_> = mails.iter().map(|mail| last.find(&mail.subject)).collect();
        assert!(places.is_sorted(), "in the order of check: {places:?}");
        assert!(!last.contains("BODY-OF-MAIL"), "{last}");
        let inbox = self.room.by("alice", ["check"]).succeeds().out;
        let acted = format!(" {}: who-{event}", self.name);
        assert!(inbox.lines().any(|line| line.ends_with(&acted)), "as whom it acts: {inbox} {last}");
        let pairs = || (seen.max(1)..all.len()).map(|at| (&all[at - 1], &all[at]));
        let bytes = pairs().map(|(before, after)| added(before, after)).sum();
        let wakes = pairs().map(|(before, after)| wakes(before, after)).sum();
        Cost { requests: all.len() - seen - usual, bytes, wakes }
    }

    /// An event comes. Since the last one was counted, so many requests came for which no mail is the reason, and no others.
    #[track_caller]
    pub(crate) fn looks(&self, others: usize) {
        let count = self.count();
        assert_eq!(count, self.seen.get() + others, "requests after the last event");
        self.seen.set(count);
    }

    /// It goes on in another window.
    pub(crate) fn moves(&self, window: &'static str) {
        self.window.set(window);
    }

    /// The seconds from a message to the first request after it.
    pub(crate) fn woken(&self, mail: &Mail) -> Value {
        self.woken_since(mail.sent)
    }

    /// The seconds from a time to the first request after it.
    pub(crate) fn woken_since(&self, time: f64) -> Value {
        let at = |turn: &Value| turn["at"].as_f64().unwrap();
        let first = self.turns().iter().map(at).find(|at| *at > time).unwrap();
        json!(((first - time) * 10.0).round() / 10.0)
    }

    /// Mail comes while it is idle, and wakes it. `others`: how many requests came since the last event.
    #[track_caller]
    pub(crate) fn is_woken(&self, event: &str, is_shown: bool, others: usize) -> (Cost, Value) {
        // A program may show its answer before its hooks have run, which would tell it about the mail.
        until_at_last("the end of its work", || !is_at_work(self.room));
        self.looks(others);
        let mail = self.mail();
        if is_shown {
            self.rests(acts(event).len(), event)
        } else {
            self.takes(acts(event).len())
        }
        let woken = self.woken(&mail);
        (self.cost(event, &[&mail], 1), woken)
    }

    /// How its mailbox is listed.
    pub(crate) fn listed(&self) -> String {
        let names = self.room.run(["names"]).succeeds().out;
        let own = |line: &&str| line.split(' ').next() == Some(self.name);
        names.lines().find(own).unwrap_or_default().to_owned()
    }

    pub(crate) fn is_there(&self) -> bool {
        self.listed().ends_with(" in session")
    }
}
