//! Delivery: the letters of accepted rooms go into their mailboxes, in the order of their senders.
//!
//! One that comes too early waits at the server, and the one before it is asked for. One that is here already gets its receipt
//! again. What is done with each parcel is its [`Fate`].

use std::collections::HashMap;
use std::time::Duration;

use super::super::Result;
use super::super::arrival::{self, Delivered};
use super::super::parcel::{LetterContent, ObjectRef, ReceiptItem, ReceiptState};
use super::desk::{Desk, Pair};
use crate::name::RoomName;
use crate::post::Post;

/// How often a letter is given out again that waits for the one before it.
pub(super) const HELD: u64 = 400;

/// How often a letter is given out again whose attachments are missing. Then it has failed.
const WITHOUT_OBJECTS: u64 = 60;

/// How many settled letters are remembered; the mailboxes know the others.
const SETTLED: usize = 50_000;

/// What is done with a parcel at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is settled.
    Ack,
    /// It comes again after a while.
    Again(Duration),
}

/// A letter with its objects.
pub(super) struct Fetched {
    pub(super) at: usize,
    pub(super) room: RoomName,
    pub(super) letter: LetterContent,
    pub(super) key: String,
    pub(super) objects: Option<Vec<Vec<u8>>>,
    pub(super) tries: u64,
    /// The number of this copy in the stream.
    pub(super) number: u64,
    /// It waited here until its room was accepted.
    pub(super) from_quarantine: bool,
}

/// What a batch led to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) fates: Vec<Fate>,
    pub(super) receipts: HashMap<String, Vec<ReceiptItem>>,
    pub(super) delivered: usize,
    pub(super) refused: usize,
    pub(super) objects: Vec<String>,
}

/// Delivers letters in their order. One that has to wait holds up those of the same pair.
pub(super) fn deliver_all(desk: &Desk, letters: Vec<Fetched>, mut outcome: Outcome) -> Result<Outcome> {
    let post = desk.post()?;
    // Those that may go in now are noted together, with one sync.
    let mut going: Vec<(Pair, Fetched)> = vec![];
    for fetched in letters {
        let pair: Pair = (fetched.room.to_string(), fetched.letter.from.clone(), fetched.letter.to.clone());
        match way(desk, &post, &pair, &fetched, &going)? {
            Way::In => going.push((pair, fetched)),
            Way::Over(receipt) => outcome.over(desk, &fetched, receipt),
            Way::Wait { missing } => outcome.wait(desk, &fetched, missing),
        }
    }
    let known = desk.state().received.note(going.iter().map(|(_, fetched)| fetched.key.as_str()))?;
    for ((pair, mut fetched), before) in going.into_iter().zip(known) {
        let is_behind = desk.state().blocked.get(&pair).is_some_and(|first| *first != fetched.key);
        if is_behind {
            outcome.wait(desk, &fetched, None);
            continue;
        }
        let objects = fetched.objects.take().unwrap_or_default();
        let delivered =
            arrival::deliver(&post, &desk.member.network, &fetched.room, &fetched.letter, objects, before);
        match delivered {
            Delivered::Receipt(item) => {
                if item.state == ReceiptState::Failed {
                    note_failed(desk, &fetched.room, &fetched.key)?;
                }
                let mut state = desk.state();
                state.blocked.remove(&pair);
                if state.settled.len() > SETTLED {
                    state.settled.clear();
                }
                state.settled.insert((fetched.room.to_string(), fetched.key.clone()));
                if item.state == ReceiptState::Delivered {
                    outcome.delivered += usize::from(!before);
                    state.later.follow(&fetched.room, &[&fetched.letter]);
                }
                drop(state);
                outcome.objects.extend(objects_of(&fetched.letter));
                outcome.over(desk, &fetched, Some(item));
            }
            Delivered::Later(why) => {
                desk.note(|contact| contact.remark(format!("a letter waits: {why}")));
                desk.state().blocked.insert(pair, fetched.key.clone());
                outcome.wait(desk, &fetched, None);
            }
        }
    }
    Ok(outcome)
}

/// What is done with a letter.
enum Way {
    In,
    /// It is here already, or will never be.
    Over(Option<ReceiptItem>),
    /// `missing`: the key of what is asked for.
    Wait {
        missing: Option<String>,
    },
}

fn way(desk: &Desk, post: &Post, pair: &Pair, fetched: &Fetched, going: &[(Pair, Fetched)]) -> Result<Way> {
    let key = fetched.key.as_str();
    let failed = |why: &str| -> Result<Way> {
        note_failed(desk, &fetched.room, key)?;
        Ok(Way::Over(Some(arrival::receipt(&fetched.letter, ReceiptState::Failed, why))))
    };
    if let Err(why) = arrival::objects(post, &fetched.letter) {
        return failed(&why);
    }
    if fetched.objects.is_none() {
        // Its objects went with an earlier copy of it, or with another letter that has the same.
        if post.has_carried(key, &pair.1, &fetched.room, &desk.member.network)? {
            return Ok(Way::Over(Some(arrival::receipt(&fetched.letter, ReceiptState::Delivered, ""))));
        }
        if is_settled(desk, post, pair, &fetched.room, key)? {
            return Ok(Way::Over(None));
        }
        if fetched.tries >= WITHOUT_OBJECTS && !fetched.from_quarantine {
            return failed("what belongs to it did not come");
        }
    }
    // Behind one that this disk does not take, nothing is missing.
    if desk.state().blocked.get(pair).is_some_and(|first| first != key) {
        return Ok(Way::Wait { missing: None });
    }
    if fetched.objects.is_none() {
        return Ok(Way::Wait { missing: Some(key.to_owned()) });
    }
    if let Some(after) = fetched.letter.after.as_ref().filter(|_| fetched.tries < HELD) {
        let is_going = going.iter().any(|(_, other)| other.key == *after && other.room == fetched.room);
        if !is_going && !is_settled(desk, post, pair, &fetched.room, after)? {
            return Ok(Way::Wait { missing: Some(after.clone()) });
        }
    }
    Ok(Way::In)
}

impl Outcome {
    /// A letter is settled. Those that were let go meanwhile are asked for, once none waits.
    fn over(&mut self, desk: &Desk, fetched: &Fetched, receipt: Option<ReceiptItem>) {
        let freed = desk.state().held.release(fetched.room.as_str(), &fetched.key);
        let items = self.receipts.entry(fetched.room.to_string()).or_default();
        items.extend(receipt);
        items.extend(freed.iter().filter_map(|key| missing(key)));
        self.fates[fetched.at] = Fate::Ack;
    }

    /// A letter comes again later, from the server, or from its sender if too many wait there.
    fn wait(&mut self, desk: &Desk, fetched: &Fetched, wanted: Option<String>) {
        let (room, now) = (fetched.room.to_string(), desk.clock.boot());
        let mut state = desk.state();
        let held = &mut state.held;
        let may_wait = fetched.from_quarantine || held.hold(&room, &fetched.key, fetched.number);
        // A letter that waits asks for its own predecessor. One that was let go is asked for when none waits any more, so a
        // letter that waits for it has to ask.
        let is_on_its_way = |key: &String| {
            *key != fetched.key && (held.waits(&room, key) || !may_wait && held.was_let_go(&room, key))
        };
        let wanted = wanted.filter(|key| !is_on_its_way(key));
        let wanted = wanted.filter(|key| held.may_ask(&room, key, now));
        drop(state);
        self.receipts.entry(room).or_default().extend(wanted.and_then(|key| missing(&key)));
        self.fates[fetched.at] = if may_wait { Fate::Again(delay(fetched.tries)) } else { Fate::Ack };
    }
}

/// The request for a letter.
fn missing(key: &str) -> Option<ReceiptItem> {
    let (id, to) = key.split_once('/')?;
    let (id, to, file, why) = (id.to_owned(), to.to_owned(), String::new(), String::new());
    Some(ReceiptItem { id, to, file, state: ReceiptState::Missing, why })
}

fn note_failed(desk: &Desk, room: &RoomName, key: &str) -> Result<()> {
    Ok(desk.state().received.note_settled([(room.as_str(), key)])?)
}

/// Whether a letter is in its mailbox, or will never be. That it was let in is not enough: the process may have been killed
/// before it was delivered.
fn is_settled(desk: &Desk, post: &Post, pair: &Pair, room: &RoomName, key: &str) -> Result<bool> {
    {
        let state = desk.state();
        let known = (room.to_string(), key.to_owned());
        if state.settled.contains(&known) || state.received.is_settled(room.as_str(), key) {
            return Ok(true);
        }
        if !state.received.knows(key) {
            return Ok(false);
        }
    }
    Ok(post.has_carried(key, &pair.1, room, &desk.member.network)?)
}

fn objects_of(letter: &LetterContent) -> Vec<String> {
    let files = letter.extra.iter().filter_map(|(key, value)| crate::message::Attachment::parse(key, value));
    letter
        .large
        .iter()
        .map(|large: &ObjectRef| large.sha256.clone())
        .chain(files.map(|file| file.sha256))
        .collect()
}

/// Longer each time, up to a while.
pub(super) fn delay(tries: u64) -> Duration {
    Duration::from_millis((250_u64 << tries.min(7)).min(30_000))
}
