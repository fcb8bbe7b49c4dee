//! Receiving: parcels from the server are judged, delivered durably, receipted, and only then acknowledged.

use std::sync::Arc;

use async_nats::jetstream::{AckKind, Context, Message};

use super::super::Result;
use super::super::arrival::{self, Admitted, Incoming, judge};
use super::super::parcel::{Content, LetterContent, Parcel, ReceiptItem, ReceiptState, SIGNATURE};
use super::super::refused::RefusedParcel;
use super::delivery::{Fate, Fetched, HELD, Outcome, delay, deliver_all};
use super::desk::Desk;
use super::send::{on_disk, publish};
use super::{objects, streams};
use crate::name::{MailboxId, MessageId, RoomName};
use crate::network::network_room;

/// How many bytes of objects are held in memory at once, but for those of one letter.
const LOAD: u64 = 8 * 1024 * 1024;

/// How many letters of one room are asked for at once; it asks for the others later.
const MOST_ASKED: usize = 5000;

/// Takes a batch of parcels. Returns how many letters are newly in a mailbox.
pub(super) async fn take(context: &Context, desk: &Arc<Desk>, messages: Vec<Message>) -> Result<usize> {
    // How often each was given out, and its number in the stream.
    let given: Vec<(u64, u64)> = messages
        .iter()
        .map(|m| m.info().map_or((1, 0), |i| (u64::try_from(i.delivered).unwrap_or(1), i.stream_sequence)))
        .collect();
    let incoming: Vec<Incoming> = messages.iter().map(of_message).collect();
    let (mut outcome, admitted) = on_disk(desk, move |desk| judge_all(desk, incoming)).await?;
    let (mut fetched, mut bytes) = (vec![], 0);
    for (at, Admitted { room, parcel }) in admitted {
        let Content::Letter(letter) = parcel.content else { continue };
        let objects = fetch(context, desk, &letter).await?;
        bytes += objects.iter().flatten().map(|object| object.len() as u64).sum::<u64>();
        let (key, (tries, number)) = (parcel.key, given[at]);
        fetched.push(Fetched {
            at,
            room,
            letter: *letter,
            key,
            objects,
            tries,
            number,
            from_quarantine: false,
        });
        if bytes >= LOAD {
            let some = std::mem::take(&mut fetched);
            outcome = on_disk(desk, move |desk| deliver_all(desk, some, outcome)).await?;
            bytes = 0;
        }
    }
    let outcome = on_disk(desk, move |desk| deliver_all(desk, fetched, outcome)).await?;
    // Receipts first: if one is lost after the acknowledgement, nobody would ask for it before a long time.
    for (room, items) in outcome.receipts.iter().filter(|(_, items)| !items.is_empty()) {
        send_receipts(context, desk, room, items).await;
    }
    for (message, fate) in messages.iter().zip(&outcome.fates) {
        let kind = match fate {
            Fate::Again(delay) => AckKind::Nak(Some(*delay)),
            Fate::Ack => AckKind::Ack,
        };
        message.ack_with(kind).await.map_err(|e| streams::refused("an acknowledgement")(&e))?;
    }
    for sha256 in &outcome.objects {
        objects::remove(context, (&desk.member.network, desk.room().as_str()), sha256).await;
    }
    Ok(outcome.delivered)
}

/// Sends receipts; `false` if the server did not take all. A room that cannot be reached gets them when it asks again.
pub(super) async fn send_receipts(
    context: &Context,
    desk: &Arc<Desk>,
    room: &str,
    items: &[ReceiptItem],
) -> bool {
    let mut is_sent = true;
    for sealed in desk.seal_receipts(room, items) {
        let sent = async {
            publish(context, &sealed, &sealed.key).await?.await.map_err(|e| streams::refused("a receipt")(&e))
        };
        if let Err(e) = sent.await {
            desk.note(|contact| contact.remark(format!("a receipt for {room} was not sent: {e}")));
            is_sent = false;
        }
    }
    is_sent
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
    // What nobody settles comes again.
    let mut outcome = Outcome { fates: vec![Fate::Again(delay(1)); incoming.len()], ..Outcome::default() };
    let mut letters = vec![];
    for (at, incoming) in incoming.into_iter().enumerate() {
        let judged = judge(&desk.member.network, desk.room().as_str(), &peers, &incoming, now);
        match judged {
            Ok(Admitted { room, parcel: Parcel { content: Content::Receipts(items), .. } }) => {
                let outgoing = super::super::outgoing::Outgoing::of(&post, &desk.member.network, &room)?;
                for item in &items {
                    take_receipt(desk, &room, outgoing.as_ref(), item)?;
                }
                outcome.fates[at] = Fate::Ack;
            }
            Ok(Admitted { room, parcel: Parcel { content: Content::Skip(keys), .. } }) => {
                let keys = keys.iter().take(1000).map(|key| (room.as_str(), key.as_str()));
                desk.state().received.note_settled(keys)?;
                outcome.fates[at] = Fate::Ack;
            }
            Ok(admitted @ Admitted { parcel: Parcel { content: Content::Letter(_), .. }, .. }) => {
                letters.push((at, admitted));
            }
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
                outcome.fates[at] = Fate::Ack;
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
        // Only what can be the key of a letter is remembered, and a bounded number.
        let can_be_ours = MessageId::parse_lenient(&item.id).is_ok() && MailboxId::parse(&item.to).is_ok();
        let mut state = desk.state();
        let again = state.again.entry(room.to_string()).or_default();
        if can_be_ours && again.len() < MOST_ASKED {
            again.insert(key);
        }
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
            let (key, tries) = (parcel.key, HELD);
            fetched.push(Fetched {
                at,
                room,
                letter: *letter,
                key,
                objects,
                tries,
                number: 0,
                from_quarantine: true,
            });
        }
        let outcome = on_disk(desk, move |desk| deliver_all(desk, fetched, outcome)).await?;
        for (room, items) in &outcome.receipts {
            send_receipts(context, desk, room, items).await;
        }
        if outcome.refused == 0 && outcome.fates.first() == Some(&Fate::Ack) {
            delivered += outcome.delivered;
            on_disk(desk, move |desk| Ok(desk.state().refused.remove(&parcel)?)).await?;
        }
    }
    Ok(delivered)
}
