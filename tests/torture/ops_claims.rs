//! Operations on claims: taking a message with a lease, finishing it, giving it up, giving it back.
//!
//! Bob has one unread message, or holds it already where its end is what is struck. Whatever interrupts the
//! operation, the message is in one place; what was acknowledged is so; the sender is told once.

use serde_json::Value;

use crate::ledger::{Seen, body};
use crate::ops::{ASKED, Op, seen};
use crate::place::{Place, names_in};
use crate::process::{Ended, Run};

/// What the sender reads of a message that was given up.
const REASON: &str = "struck";

impl Op {
    pub(crate) const CLAIMS: [Self; 5] =
        [Self::Claim, Self::Done, Self::DoneWithAnswer, Self::Fail, Self::Release];

    pub(crate) fn is_claim(self) -> bool {
        Self::CLAIMS.contains(&self)
    }

    /// Bob takes the message, if its end is what will be struck.
    pub(crate) fn prepare_claim(self, place: &Place) {
        if self.is_claim() && self != Self::Claim {
            place.ok(&["--as", "bob", "claim", "--lease", "1h"]);
        }
    }

    pub(crate) fn command_of_claim(self, place: &Place) -> Run {
        let answer = body("answer");
        let token = if self == Self::Claim { String::new() } else { kept_token(place) };
        let words: &[&str] = match self {
            Self::Claim => &["claim", "--lease", "1h", "--json"],
            Self::Done => &["done", &token],
            Self::DoneWithAnswer => &["done", &token, "-m", &answer],
            Self::Fail => &["fail", &token, "--reason", REASON],
            _ => &["release", &token],
        };
        place.command(&[&["--as", "bob"], words].concat())
    }

    pub(crate) fn acknowledged_claim(self, ended: &Ended) -> bool {
        let out = ended.stdout();
        match self {
            Self::Claim => token_of(ended).is_some(),
            Self::Done => out.starts_with("done "),
            Self::DoneWithAnswer => out.lines().any(|line| line.starts_with("queued ")),
            Self::Fail => out.starts_with("failed "),
            _ => out.starts_with("released "),
        }
    }

    /// Where the message is when the deed is done.
    fn end(self) -> &'static str {
        match self {
            Self::Claim => "claimed",
            Self::Fail => "failed",
            Self::Release => "inbox",
            _ => "archive",
        }
    }

    /// How the list of attempts calls this end.
    fn how(self) -> &'static str {
        if self == Self::Fail { "\"how\":\"failed\"" } else { "\"how\":\"released\"" }
    }

    pub(crate) fn judge_claim(self, place: &Place, first: &Ended, again: Option<&Ended>) -> Vec<String> {
        let mut problems = vec![];
        let there = whereabouts(place, &mut problems);
        let told = self.told(place, &mut problems);
        let bystanders = [("bob", "archive", "bystander-1"), ("carol", "inbox", "bystander-2")];
        for (name, folder, key) in bystanders {
            if seen(place, name, folder, &mut problems).iter().filter(|seen| seen.key == key).count() != 1 {
                problems.push("a bystander is gone".to_owned());
            }
        }
        let mut expect = |holds: bool, what: String| {
            if !holds {
                problems.push(what);
            }
        };
        expect(there.len() == 1, format!("the message is in {there:?}"));
        let ended_so = there.iter().all(|folder| folder.split('/').next() == Some(self.end()));
        let acked = self.acknowledged(first);
        expect(!acked || ended_so, format!("acknowledged, but in {there:?}"));
        expect(told <= 1, format!("the sender was told {told} times"));
        let tells = matches!(self, Self::Fail | Self::DoneWithAnswer);
        // What is given up stays given up when its sender cannot be told, but not in silence.
        let warned = |ended: &Ended| ended.stderr().contains("could not be told");
        let excused = warned(first) || again.is_some_and(warned);
        let settled = acked || again.is_some_and(Ended::ok);
        expect(
            !settled || excused || told == usize::from(tells),
            format!("done, and the sender was told {told} times"),
        );
        let noted = noted(place);
        if let Self::Fail | Self::Release = self {
            expect(!settled || noted.contains(self.how()), format!("done, but noted as {noted:?}"));
        }
        let Some(again) = again else { return problems };
        // A process that comes back after the deed was done finds no claim any more, and is told so.
        let late = self != Self::Claim && again.code == Some(3);
        expect(again.ok() || late, format!("the second run: {}", again.shown()));
        expect(ended_so, format!("{UNSETTLED}, but in {there:?}"));
        if let (Self::Claim, Some(token)) = (self, token_of(again)) {
            expect(there == [format!("claimed/{token}")], format!("claimed as {token}, but in {there:?}"));
        }
        problems
    }

    /// How many messages about this one the sender has.
    fn told(self, place: &Place, problems: &mut Vec<String>) -> usize {
        if self == Self::Fail {
            let bounces = place.messages("alice", "inbox");
            for (name, bytes) in &bounces {
                if !bytes.ends_with(format!("\nReason: {REASON}\n").as_bytes()) {
                    problems.push(format!("partial in inbox of alice: {name}"));
                }
            }
            return bounces.len();
        }
        let answers: Vec<Seen> = seen(place, "alice", "inbox", problems);
        if answers.iter().any(|answer| answer.fields.get("reply_to").is_none_or(|to| to != ASKED)) {
            problems.push("the answer is not in its thread".to_owned());
        }
        answers.len()
    }

    /// What a run on a claim says against what it did.
    pub(crate) fn claim_lies(self, place: &Place, ended: &Ended) -> Vec<String> {
        let there = whereabouts(place, &mut vec![]);
        let so = there.iter().all(|folder| folder.split('/').next() == Some(self.end()));
        let unsaid = ended.ok() && !self.acknowledged(ended);
        let cases = [
            (matches!(ended.code, Some(1 | 3)), "the mail that is there was denied"),
            (ended.ok() && !so, "it ended well and did nothing"),
            // The deed is done, so the exit code says so; that its receipt is lost is said elsewhere.
            (unsaid && !ended.stderr().contains("receipt could not be written"), "it ended well in silence"),
            (!matches!(ended.code, Some(0 | 6)) && self.acknowledged(ended), "it said so and failed"),
        ];
        let lies = cases.into_iter().filter(|(lies, _)| *lies);
        lies.map(|(_, what)| format!("{what}, in {there:?}: {}", ended.shown())).collect()
    }
}

/// How a finding begins that says that the second run did not settle the message.
pub(crate) const UNSETTLED: &str = "run again";

/// The folders that hold the message, each claim with its token.
fn whereabouts(place: &Place, problems: &mut Vec<String>) -> Vec<String> {
    let claims =
        names_in(&place.folder("bob", "claimed")).into_iter().map(|token| format!("claimed/{token}"));
    let folders = ["inbox", "archive", "failed"].map(str::to_owned).into_iter().chain(claims);
    folders
        .flat_map(|folder| {
            let found = seen(place, "bob", &folder, problems);
            found.into_iter().filter(|seen| seen.id == ASKED).map(move |_| folder.clone())
        })
        .collect()
}

/// What the list of the message's attempts says.
fn noted(place: &Place) -> String {
    let lists = place.messages("bob", "attempts");
    lists.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect()
}

/// The token under which bob held the message when the room was kept.
fn kept_token(place: &Place) -> String {
    let template = place.base.join("template");
    // Before the room is kept there is no template, and the room itself is as it was.
    let room = if template.exists() { template } else { place.root.clone() };
    let bob = names_in(&room).into_iter().find(|name| name.starts_with("bob-")).expect("a mailbox of bob");
    names_in(&room.join(bob).join("claimed")).pop().expect("a claim")
}

/// The token that a claim told.
fn token_of(ended: &Ended) -> Option<String> {
    let told: Value = serde_json::from_slice(&ended.out).ok()?;
    told["claim"]["token"].as_str().map(str::to_owned)
}

/// Lets every lease of bob be over, as if its time had passed: a claimer that was struck holds its message
/// until then.
pub(crate) fn end_leases(place: &Place) {
    let claimed = place.folder("bob", "claimed");
    for token in names_in(&claimed) {
        let path = claimed.join(token).join("claim.json");
        let terms = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(Value::Object(mut terms)) = terms {
            terms.insert("until_ms".to_owned(), 0.into());
            let terms = Value::Object(terms).to_string();
            std::fs::write(&path, terms).expect("the terms of a claim");
        }
    }
}
