//! The operations under test, and what must hold whatever interrupts them.
//!
//! Every operation starts from the same room: alice, bob and carol, one old message from alice that bob has
//! not read, and bystanders that nothing may change. [`Op::judge`] looks at the room after the operation was
//! struck, and again after the same command was run a second time.

use std::path::Path;

use crate::lab::Lab;
use crate::ledger::{self, Seen, body};
use crate::ops_claims::end_leases;
use crate::place::{Place, ago, names_in, set_time};
use crate::process::{Ended, Run};

/// The message that bob has not read.
pub(crate) const ASKED: &str = "a5ced000-0000-4000-8000-000000000001";
/// An id that a sender chose.
const CHOSEN: &str = "c405e000-0000-4000-8000-000000000002";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Send,
    SendWithId,
    SendToTwo,
    /// With a file, which is there before its message.
    SendWithFile,
    /// By the shell interface of the seed, to a mailbox that is made with it.
    SendToNew,
    Read,
    ReadById,
    Reply,
    Archive,
    Setup,
    FirstSetup,
    Check,
    // What follows is judged in `ops_claims.rs`.
    Claim,
    Done,
    DoneWithAnswer,
    Fail,
    Release,
}

impl Op {
    /// What changes files, claims apart.
    pub(crate) const CHANGING: [Self; 11] = [
        Self::Send,
        Self::SendWithId,
        Self::SendToTwo,
        Self::SendWithFile,
        Self::SendToNew,
        Self::Read,
        Self::ReadById,
        Self::Reply,
        Self::Archive,
        Self::Setup,
        Self::FirstSetup,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::SendWithId => "send --id",
            Self::SendToTwo => "send to two",
            Self::SendWithFile => "send --attach",
            Self::SendToNew => "mb send",
            Self::Read => "read",
            Self::ReadById => "read ID",
            Self::Reply => "reply",
            Self::Archive => "archive",
            Self::Setup => "setup",
            Self::FirstSetup => "first setup",
            Self::Check => "check",
            Self::Claim => "claim",
            Self::Done => "done",
            Self::DoneWithAnswer => "done -m",
            Self::Fail => "fail",
            Self::Release => "release",
        }
    }

    /// Makes the room as it is before the operation, and keeps it.
    pub(crate) fn prepare(self, lab: &Lab, base: &Path) -> Place {
        if self == Self::FirstSetup {
            let mut place = Place::new(lab, base);
            // Two directories above the root are missing as well, as they are on a new machine.
            place.root = base.join("state/postroom/room");
            place.save();
            return place;
        }
        let place = Place::with(lab, base, &["alice", "bob", "carol"]);
        place.ok(&["--as", "alice", "send", "bob", "-s", "question", "--id", ASKED, "-m", &body("asked")]);
        for (to, key) in [("bob", "bystander-1"), ("carol", "bystander-2")] {
            let sent = place.ok(&["--as", "alice", "send", to, "-s", key, "-m", &body(key)]).stdout();
            if to == "bob" {
                let id = sent.split(' ').nth(1).expect("a receipt").to_owned();
                place.ok(&["--as", "bob", "archive", &id]);
            }
        }
        // What is younger than five seconds may be growing still, and is treated with more patience.
        for (name, _) in place.messages("bob", "inbox") {
            set_time(&place.folder("bob", "inbox").join(name), ago(3600));
        }
        std::fs::write(place.base.join("letter.txt"), body("new")).expect("a letter");
        self.prepare_claim(&place);
        place.save();
        place
    }

    pub(crate) fn restore(self, place: &Place) {
        if self == Self::FirstSetup {
            let _ = std::fs::remove_dir_all(place.base.join("state"));
            place.forget_sessions();
        } else {
            place.restore();
        }
    }

    pub(crate) fn command(self, place: &Place) -> Run {
        if self.is_claim() {
            return self.command_of_claim(place);
        }
        let (new, answer) = (body("new"), body("answer"));
        let letter = place.base.join("letter.txt").display().to_string();
        let words: &[&str] = match self {
            Self::Send => &["--as", "alice", "send", "bob", "-s", "news", "-m", &new],
            Self::SendWithId => &["--as", "alice", "send", "bob", "-s", "news", "--id", CHOSEN, "-m", &new],
            Self::SendToTwo => {
                &["--as", "alice", "send", "bob", "carol", "-s", "news", "--id", CHOSEN, "-m", &new]
            }
            Self::SendWithFile => &[
                "--as", "alice", "send", "bob", "-s", "news", "--id", CHOSEN, "-m", &new, "--attach", &letter,
            ],
            Self::SendToNew => &["mb", "send", "alice-0", "new-0", &letter, "news"],
            Self::Read => &["--as", "bob", "read"],
            Self::ReadById => &["--as", "bob", "read", "a5ced000"],
            Self::Reply => &["--as", "bob", "reply", "a5ced000", "-m", &answer],
            Self::Archive => &["--as", "bob", "archive", "a5ced000"],
            Self::Setup | Self::FirstSetup => &["setup", "dave"],
            _ => &["--as", "bob", "check"],
        };
        let run = place.command(words);
        match self {
            Self::Setup | Self::FirstSetup => run.env("CLAUDE_CODE_SESSION_ID", "session-of-dave"),
            _ => run,
        }
    }

    /// The same command once more, as a user runs it after an interruption.
    pub(crate) fn again(self, place: &Place) -> Run {
        if self == Self::Claim {
            end_leases(place);
        }
        self.command(place)
    }

    /// Whether a run told its caller that the deed is done.
    pub(crate) fn acknowledged(self, ended: &Ended) -> bool {
        let out = ended.stdout();
        match self {
            Self::Send | Self::SendWithId | Self::SendToTwo | Self::SendWithFile | Self::Reply => {
                out.lines().any(|line| line.starts_with("queued ") || line.starts_with("sent before "))
            }
            Self::SendToNew => out.ends_with(".md\n") || out.ends_with(".md"),
            Self::Setup | Self::FirstSetup => out.starts_with("name: dave\n"),
            Self::Archive => out.starts_with("archived "),
            // What is shown is consumed only afterwards, so only the end of the command says so.
            Self::Read | Self::ReadById => ended.ok(),
            Self::Check => false,
            _ => self.acknowledged_claim(ended),
        }
    }

    /// What is wrong with the room after one run that was struck and, if there was one, a second run that was
    /// not.
    pub(crate) fn judge(self, place: &Place, first: &Ended, again: Option<&Ended>) -> Vec<String> {
        if self.is_claim() {
            return self.judge_claim(place, first, again);
        }
        let mut problems = vec![];
        let mut look = |name: &str, folder: &str| -> Vec<Seen> { seen(place, name, folder, &mut problems) };
        if matches!(self, Self::Setup | Self::FirstSetup) {
            if self == Self::Setup {
                for name in ["alice", "bob", "carol"] {
                    look(name, "inbox");
                }
            }
            problems.extend(self.judge_setup(place, first, again));
            return problems;
        }
        let (inbox, archive) = (look("bob", "inbox"), look("bob", "archive"));
        let (alice, carol) = (look("alice", "inbox"), look("carol", "inbox"));
        let made = if place.root.join("new-0").exists() { look("new", "inbox") } else { vec![] };
        let count = |list: &[Seen], key: &str| list.iter().filter(|seen| seen.key == key).count();
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                problems.push(what.to_owned());
            }
        };
        expect(
            count(&archive, "bystander-1") == 1 && count(&carol, "bystander-2") == 1,
            "a bystander is gone",
        );
        let (unread, filed) = (count(&inbox, "asked"), count(&archive, "asked"));
        expect(
            unread + filed == 1,
            &format!("the unread message is there {unread} times, archived {filed} times"),
        );
        let acked = self.acknowledged(first);
        let shown = |ended: &Ended| ended.stdout().contains(&body("asked"));
        match self {
            Self::Send | Self::SendWithId | Self::SendWithFile => {
                let copies = count(&inbox, "new");
                expect(!acked || copies > 0, "acknowledged and lost");
                // A message that was not acknowledged may have arrived; a second run of `send` is a second
                // message.
                let most = if self == Self::Send && again.is_some() { 2 } else { 1 };
                expect(copies <= most, &format!("{copies} copies"));
                expect(again.is_none() || copies > 0, "not there after the second run");
                if self == Self::SendWithFile {
                    let file = place.folder("bob", "attachments").join(CHOSEN).join("letter.txt");
                    let whole = std::fs::read(&file).is_ok_and(|bytes| bytes == body("new").as_bytes());
                    expect(copies == 0 || whole, "a message without its file");
                    expect(whole || !file.exists(), "part of a file");
                }
            }
            Self::SendToTwo => {
                let (one, two) = (count(&inbox, "new"), count(&carol, "new"));
                let least = usize::from(acked || again.is_some());
                expect(
                    (least..=1).contains(&one) && (least..=1).contains(&two),
                    &format!("{one} and {two} copies"),
                );
            }
            Self::SendToNew => {
                let copies = count(&made, "new");
                expect(!acked || copies > 0, "acknowledged and lost");
                expect(copies <= 1 + usize::from(again.is_some()), &format!("{copies} copies"));
                expect(again.is_none() || copies > 0, "not there after the second run");
            }
            Self::Read | Self::ReadById => {
                expect(filed == 0 || shown(first) || again.is_some_and(shown), "archived and never shown");
                expect(!acked || filed == 1, "the read ended well and the message is unread again");
                expect(again.is_none() || filed == 1, "not archived after the second run");
            }
            Self::Reply => {
                let copies = count(&alice, "answer");
                expect(!acked || copies > 0 && filed == 1, "acknowledged, but not delivered or not archived");
                // An agent that saw the acknowledgement and replies again means a second answer.
                let most = if acked && again.is_some() { 2 } else { 1 };
                expect(copies <= most, &format!("{copies} answers"));
                expect(
                    again.is_none() || copies > 0 && filed == 1,
                    "not answered and archived after the second run",
                );
                let thread = alice.iter().filter(|seen| seen.key == "answer");
                let in_thread =
                    thread.map(|seen| seen.fields.get("reply_to")).all(|to| to.is_some_and(|to| to == ASKED));
                expect(in_thread, "the answer is not in its thread");
            }
            Self::Archive => {
                expect((!acked && again.is_none()) || filed == 1, "acknowledged and not archived")
            }
            _ => {}
        }
        if let Some(again) = again {
            let nothing_left = self == Self::Read && again.code == Some(1) && shown(first);
            expect(again.ok() || nothing_left, &format!("the second run: {}", again.shown()));
        }
        problems
    }
}

/// The messages of a folder. What is not whole is a problem, and so is anything in quarantine.
pub(crate) fn seen(place: &Place, name: &str, folder: &str, problems: &mut Vec<String>) -> Vec<Seen> {
    for lost in names_in(&place.folder(name, "quarantine")) {
        problems.push(format!("a whole message of {name} is in quarantine: {lost}"));
    }
    let taken: Vec<_> =
        place.messages(name, folder).iter().map(|(file, bytes)| ledger::whole(file, bytes)).collect();
    let mut whole = vec![];
    for message in taken {
        match message {
            Ok(seen) => whole.push(seen),
            Err(why) => problems.push(format!("partial in {folder} of {name}: {why}")),
        }
    }
    whole
}
