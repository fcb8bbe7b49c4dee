//! Receiving: parcels from the server are judged, delivered durably, receipted, and only then acknowledged.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{AckKind, Context, Message};

use super::super::Result;
use super::super::arrival::{self, Admitted, Delivered, Incoming, judge};
use super::super::parcel::{Content, LetterContent, ObjectRef, Parcel, ReceiptItem, ReceiptState, SIGNATURE};
use super::super::refused::RefusedParcel;
use super::desk::{Desk, Pair};
use super::send::{on_disk, publish};
use super::{objects, streams};
use crate::name::RoomName;
use crate::network::network_room;
use crate::post::Post;

/// How long a letter is kept back for the one before it.
const HELD: u64 = 400;

/// How many settled letters are remembered; the mailboxes know the others.
const SETTLED: usize = 50_000;

/// What is done with a parcel at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is settled.
    Ack,
    /// It comes again after a while.
    Again(Duration),
}

/// A letter with its objects.
struct Fetched {
    at: usize,
    room: RoomName,
    letter: LetterContent,
    key: String,
    objects: Option<Vec<Vec<u8>>>,
    tries: u64,
}

/// What a batch led to.
#[derive(Debug, Default)]
struct Outcome {
    fates: Vec<Option<Fate>>,
    receipts: HashMap<String, Vec<ReceiptItem>>,
    delivered: usize,
    refused: usize,
    objects: Vec<String>,
}

/// Takes a batch of parcels. Returns how many letters are newly in a mailbox.
pub(super) async fn take(context: &Context, desk: &Arc<Desk>, messages: Vec<Message>) -> Result<usize> {
    let tries: Vec<u64> = messages
        .iter()
        .map(|m| m.info().map_or(1, |info| u64::try_from(info.delivered).unwrap_or(1)))
        .collect();
    let incoming: Vec<Incoming> = messages.iter().map(of_message).collect();
    let (outcome, admitted) = on_disk(desk, move |desk| judge_all(desk, incoming)).await?;
    let mut fetched = vec![];
    for (at, Admitted { room, parcel }) in admitted {
        let Content::Letter(letter) = parcel.content else { continue };
        let objects = fetch(context, desk, &letter).await?;
        fetched.push(Fetched { at, room, letter: *letter, key: parcel.key, objects, tries: tries[at] });
    }
    let outcome = on_disk(desk, move |desk| deliver_all(desk, fetched, outcome)).await?;
    // Receipts first: if one is lost after the acknowledgement, nobody would ask for it before a long time.
    for (room, items) in &outcome.receipts {
        send_receipts(context, desk, room, items).await;
    }
    for (message, fate) in messages.iter().zip(&outcome.fates) {
        let kind = match fate {
            Some(Fate::Again(delay)) => AckKind::Nak(Some(*delay)),
            _ => AckKind::Ack,
        };
        message.ack_with(kind).await.map_err(|e| streams::refused("an acknowledgement")(&e))?;
    }
    for sha256 in &outcome.objects {
        objects::remove(context, (&desk.member.network, desk.room().as_str()), sha256).await;
    }
    Ok(outcome.delivered)
}

/// Sends receipts. A room that cannot be reached gets them when it asks again.
pub(super) async fn send_receipts(context: &Context, desk: &Arc<Desk>, room: &str, items: &[ReceiptItem]) {
    for sealed in desk.seal_receipts(room, items) {
        let sent = async {
            publish(context, &sealed, &sealed.key).await?.await.map_err(|e| streams::refused("a receipt")(&e))
        };
        if let Err(e) = sent.await {
            desk.note(|contact| contact.remark(format!("a receipt for {room} was not sent: {e}")));
        }
    }
}

fn of_message(message: &Message) -> Incoming {
    let signature = message.headers.as_ref().and_then(|headers| headers.get(SIGNATURE));
    Incoming {
        subject: message.subject.to_string(),
        signature: signature.map(|value| value.as_str().to_owned()).unwrap_or_default(),
        payload: message.payload.to_vec(),
    }
}

/// Judges a batch: takes receipts, puts into quarantine what is not let in, and returns the letters that are.
fn judge_all(desk: &Desk, incoming: Vec<Incoming>) -> Result<(Outcome, Vec<(usize, Admitted)>)> {
    let (peers, post, now) = (desk.peers()?, desk.post()?, desk.clock.now());
    let mut outcome = Outcome { fates: vec![None; incoming.len()], ..Outcome::default() };
    let mut letters = vec![];
    for (at, incoming) in incoming.into_iter().enumerate() {
        let judged = judge(&desk.member.network, desk.room().as_str(), &peers, &incoming, now);
        match judged {
            Ok(Admitted { room, parcel: Parcel { content: Content::Receipts(items), .. } }) => {
                let outgoing = super::super::outgoing::Outgoing::of(&post, &desk.member.network, &room)?;
                for item in &items {
                    take_receipt(desk, &room, outgoing.as_ref(), item)?;
                }
                outcome.fates[at] = Some(Fate::Ack);
            }
            Ok(Admitted { room, parcel: Parcel { content: Content::Skip(keys), .. } }) => {
                let keys: Vec<&str> = keys.iter().take(1000).map(String::as_str).collect();
                let keys: Vec<String> = keys.iter().map(|key| settled_key(key)).collect();
                desk.state().received.note(keys.iter().map(|key| (room.as_str(), key.as_str())))?;
                outcome.fates[at] = Some(Fate::Ack);
            }
            Ok(admitted) => letters.push((at, admitted)),
            Err(refusal) => {
                let mut parcel = RefusedParcel::new(
                    &refusal.room,
                    &refusal.why,
                    now,
                    &incoming.subject,
                    &incoming.payload,
                );
                parcel.may_be_accepted = refusal.may_be_accepted && str::from_utf8(&incoming.payload).is_ok();
                parcel.signature.clone_from(&incoming.signature);
                let kept = desk.state().refused.keep(parcel)?;
                if !kept {
                    desk.note(|contact| contact.dropped += 1);
                }
                outcome.refused += 1;
                outcome.fates[at] = Some(Fate::Ack);
            }
        }
    }
    Ok((outcome, letters))
}

fn take_receipt(
    desk: &Desk,
    room: &RoomName,
    outgoing: Option<&super::super::outgoing::Outgoing<'_>>,
    item: &ReceiptItem,
) -> Result<()> {
    let key = super::super::parcel::letter_key(&item.id, &item.to);
    if item.state == ReceiptState::Missing {
        desk.state().again.entry(room.to_string()).or_default().insert(key);
        return Ok(());
    }
    if let Some(outgoing) = outgoing {
        outgoing.receipt(item)?;
    }
    let mut state = desk.state();
    state.tails.retain(|_, tail| *tail != key);
    let peer = state.contact.peer(room.as_str());
    peer.times = 0;
    Ok(())
}

/// The objects of a letter; `None` if one is missing. No objects are fetched for a letter that a limit forbids.
async fn fetch(context: &Context, desk: &Arc<Desk>, letter: &LetterContent) -> Result<Option<Vec<Vec<u8>>>> {
    if letter.large.is_none() && letter.extra.iter().all(|(key, _)| !key.starts_with("attach-")) {
        return Ok(Some(vec![]));
    }
    let wanted = {
        let letter = letter.clone();
        on_disk(desk, move |desk| Ok(arrival::objects(&desk.post()?, &letter).unwrap_or_default())).await?
    };
    let mut found = vec![];
    for object in &wanted {
        match objects::get(context, (&desk.member.network, desk.room().as_str()), object).await? {
            Some(bytes) => found.push(bytes),
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Delivers letters in their order. One that has to wait holds up those of the same pair.
fn deliver_all(desk: &Desk, letters: Vec<Fetched>, mut outcome: Outcome) -> Result<Outcome> {
    let post = desk.post()?;
    let mut ready = vec![];
    for fetched in letters {
        let pair: Pair = (fetched.room.to_string(), fetched.letter.from.clone(), fetched.letter.to.clone());
        if let Err(why) = arrival::objects(&post, &fetched.letter) {
            note_failed(desk, &fetched.room, &fetched.key)?;
            let item = arrival::receipt(&fetched.letter, ReceiptState::Failed, &why);
            outcome.receipts.entry(fetched.room.to_string()).or_default().push(item);
            outcome.fates[fetched.at] = Some(Fate::Ack);
            continue;
        }
        ready.push((pair, fetched));
    }
    // Those that may go in now are noted together, with one sync.
    let mut going = vec![];
    for (pair, fetched) in ready {
        let room = fetched.room.to_string();
        let missing = match &fetched.letter.after {
            _ if fetched.objects.is_none() => Some(fetched.key.clone()),
            Some(after) if fetched.tries < HELD => {
                let is_going = going
                    .iter()
                    .any(|(_, other): &(Pair, Fetched)| other.key == *after && other.room == fetched.room);
                (!is_going && !is_settled(desk, &post, &room, after)?).then(|| after.clone())
            }
            _ => None,
        };
        let blocked = desk.state().blocked.get(&pair).is_some_and(|first| *first != fetched.key);
        if let Some(missing) = missing {
            if let Some((id, to)) = missing.split_once('/') {
                let item = ReceiptItem {
                    id: id.to_owned(),
                    to: to.to_owned(),
                    file: String::new(),
                    state: ReceiptState::Missing,
                    why: String::new(),
                };
                let items = outcome.receipts.entry(room).or_default();
                if !items.contains(&item) {
                    items.push(item);
                }
            }
            outcome.fates[fetched.at] = Some(Fate::Again(delay(fetched.tries)));
        } else if blocked {
            outcome.fates[fetched.at] = Some(Fate::Again(delay(fetched.tries)));
        } else {
            going.push((pair, fetched));
        }
    }
    let keys: Vec<(String, String)> =
        going.iter().map(|(_, fetched)| (fetched.room.to_string(), fetched.key.clone())).collect();
    let known = desk.state().received.note(keys.iter().map(|(room, key)| (room.as_str(), key.as_str())))?;
    for ((pair, fetched), before) in going.into_iter().zip(known) {
        let is_behind = desk.state().blocked.get(&pair).is_some_and(|first| *first != fetched.key);
        if is_behind {
            outcome.fates[fetched.at] = Some(Fate::Again(delay(fetched.tries)));
            continue;
        }
        let objects = fetched.objects.unwrap_or_default();
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
                outcome.objects.extend(objects_of(&fetched.letter));
                outcome.receipts.entry(fetched.room.to_string()).or_default().push(item);
                outcome.fates[fetched.at] = Some(Fate::Ack);
            }
            Delivered::Later(why) => {
                desk.note(|contact| contact.remark(format!("a letter waits: {why}")));
                desk.state().blocked.insert(pair, fetched.key.clone());
                outcome.fates[fetched.at] = Some(Fate::Again(delay(fetched.tries)));
            }
        }
    }
    Ok(outcome)
}

/// The key under which it is noted that nothing waits for a letter.
fn settled_key(key: &str) -> String {
    format!("settled {key}")
}

fn note_failed(desk: &Desk, room: &RoomName, key: &str) -> Result<()> {
    desk.state().received.note([(room.as_str(), settled_key(key).as_str())])?;
    Ok(())
}

/// Whether a letter is in its mailbox, or will never be. That it was let in is not enough: the process may have been killed
/// before it was delivered.
fn is_settled(desk: &Desk, post: &Post, room: &str, key: &str) -> Result<bool> {
    {
        let state = desk.state();
        if state.settled.contains(&(room.to_owned(), key.to_owned()))
            || state.received.knows(room, &settled_key(key))
        {
            return Ok(true);
        }
        if !state.received.knows(room, key) {
            return Ok(false);
        }
    }
    Ok(post.has_message(key)?)
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
fn delay(tries: u64) -> Duration {
    Duration::from_millis((250_u64 << tries.min(7)).min(30_000))
}

/// Lets in what waited in quarantine for its room to be accepted.
pub(super) async fn take_accepted(context: &Context, desk: &Arc<Desk>) -> Result<usize> {
    let waiting = on_disk(desk, |desk| {
        let mut all = vec![];
        for room in desk.peers()?.keys() {
            let Ok(room) = network_room(room) else { continue };
            all.extend(desk.state().refused.take_accepted(&room)?);
        }
        Ok(all)
    })
    .await?;
    let mut delivered = 0;
    for parcel in waiting {
        let incoming = Incoming {
            subject: parcel.subject.clone(),
            signature: parcel.signature.clone(),
            payload: parcel.payload.clone().into_bytes(),
        };
        let (outcome, admitted) = on_disk(desk, move |desk| judge_all(desk, vec![incoming])).await?;
        let mut fetched = vec![];
        for (at, Admitted { room, parcel }) in admitted {
            let Content::Letter(letter) = parcel.content else { continue };
            let objects = fetch(context, desk, &letter).await?;
            fetched.push(Fetched { at, room, letter: *letter, key: parcel.key, objects, tries: HELD });
        }
        let outcome = on_disk(desk, move |desk| deliver_all(desk, fetched, outcome)).await?;
        for (room, items) in &outcome.receipts {
            send_receipts(context, desk, room, items).await;
        }
        if outcome.refused == 0 && outcome.fates.first() == Some(&Some(Fate::Ack)) {
            delivered += outcome.delivered;
            on_disk(desk, move |desk| Ok(desk.state().refused.remove(&parcel)?)).await?;
        }
    }
    Ok(delivered)
}
