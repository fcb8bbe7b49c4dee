//! Sending: what waits for other rooms goes to the server, in its order, and is moved on once the server has it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;

use super::super::outgoing::{LetterFile, Outgoing};
use super::super::parcel::{Content, RECEIPTS, SIGNATURE};
use super::super::{Error, Result, subjects};
use super::desk::{Desk, Sealed};
use super::objects;
use super::packing::{Packed, pack};
use super::streams::{self, refused};
use crate::clock::Timestamp;
use crate::mailbox::Folder;
use crate::name::RoomName;
use crate::network::network_room;

/// How many letters are read and sent at once.
const WINDOW: usize = 128;
/// How many letters of a mailbox are listed at once.
const LISTED: usize = 5000;
/// After this time without a receipt mail is sent again; twice as long after each time.
const AGAIN: Duration = Duration::from_secs(600);

/// How many letters went to the server.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) letters: usize,
    /// A room could not be reached, so something still waits.
    pub(super) is_incomplete: bool,
}

/// Runs disk work on a blocking thread.
pub(super) async fn on_disk<T: Send + 'static>(
    desk: &Arc<Desk>,
    work: impl FnOnce(&Desk) -> Result<T> + Send + 'static,
) -> Result<T> {
    let desk = Arc::clone(desk);
    match tokio::task::spawn_blocking(move || work(&desk)).await {
        Ok(done) => done,
        Err(e) => Err(Error::Server { what: "work on the disk".to_owned(), why: e.to_string() }),
    }
}

/// Sends everything that waits for accepted rooms.
pub(super) async fn carry(context: &Context, desk: &Arc<Desk>) -> Result<Sent> {
    let mut sent = Sent::default();
    let rooms = on_disk(desk, Desk::open_rooms).await?;
    for room in rooms {
        let listed = on_disk(desk, {
            let room = room.clone();
            move |desk| waiting(desk, &room)
        })
        .await?;
        let mut rest = listed.as_slice();
        while !rest.is_empty() {
            let window = rest[..rest.len().min(WINDOW)].to_vec();
            let (part, taken) = send_window(context, desk, &room, window).await?;
            rest = &rest[taken..];
            sent.letters += part.letters;
            if part.is_incomplete {
                sent.is_incomplete = true;
                if listed.iter().any(|letter| letter.folder == Folder::Carried) {
                    desk.state().again.entry(room.clone()).or_default().insert(super::ALL.to_owned());
                }
                break;
            }
        }
        sent.is_incomplete |= !skip(context, desk, &room).await;
    }
    Ok(sent)
}

pub(super) fn with_room<T>(
    desk: &Desk,
    room: &str,
    work: impl FnOnce(&Outgoing<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let Ok(room) = network_room(room) else { return Ok(None) };
    let post = desk.post()?;
    let outgoing = Outgoing::of(&post, &desk.member.network, &room)?;
    outgoing.as_ref().map(work).transpose()
}

/// The letters to send to a room: those that are to be sent again, then those that wait.
fn waiting(desk: &Desk, room: &str) -> Result<Vec<LetterFile>> {
    let found = with_room(desk, room, |outgoing| {
        let again = desk.state().again.remove(room).unwrap_or_default();
        let mut letters = vec![];
        let mut gone = vec![];
        if !again.is_empty() {
            // Each comes after the one before it that has no receipt either: both may be missing there.
            let (mut last, mut after) = (HashMap::new(), HashMap::new());
            for letter in outgoing.letters(Folder::Carried, usize::MAX)? {
                let Some((key, pair)) = outgoing.identify(&letter)? else { continue };
                after.insert(key.clone(), last.insert(pair, key.clone()));
                if again.contains(super::ALL) || again.contains(&key) {
                    letters.push(letter);
                }
            }
            for key in again.iter().filter(|key| *key != super::ALL && !after.contains_key(*key)) {
                if outgoing.find(key)?.is_none() {
                    gone.push(key.clone());
                }
            }
            desk.state().after = after;
        }
        if !gone.is_empty() {
            desk.state().skip.entry(room.to_owned()).or_default().extend(gone);
        }
        letters.extend(outgoing.letters(Folder::Inbox, LISTED)?);
        Ok(letters)
    })?;
    Ok(found.unwrap_or_default())
}

/// Tells a room that some letters will not come; `false` if the server did not take all of it. What is not told is asked again.
async fn skip(context: &Context, desk: &Arc<Desk>, room: &str) -> bool {
    let keys = desk.state().skip.remove(room).unwrap_or_default();
    for part in keys.chunks(RECEIPTS) {
        let key = format!("skip/{}", crate::random::unique_hex());
        let sealed = desk.seal(room, &key, Content::Skip(part.to_vec()));
        let sent = async {
            publish(context, &sealed, &key).await?.await.map_err(|e| refused(format!("mail for {room}"))(&e))
        };
        if let Err(e) = sent.await {
            noted(desk, room, 0, Some(&e));
            return false;
        }
    }
    true
}

/// Sends some letters; all of them are on their way before the first is acknowledged. Returns how many of the window these are.
async fn send_window(
    context: &Context,
    desk: &Arc<Desk>,
    room: &str,
    window: Vec<LetterFile>,
) -> Result<(Sent, usize)> {
    let (packed, taken) = on_disk(desk, {
        let room = room.to_owned();
        move |desk| pack(desk, &room, &window)
    })
    .await?;
    let mut flying = vec![];
    let mut failure = None;
    for letter in packed {
        let flown = async {
            for (object, bytes) in &letter.objects {
                objects::put(context, (&desk.member.network, room), &object.sha256, bytes).await?;
            }
            // Mail that is sent again has another id for the server: what it remembers may be all it has.
            let id = match letter.ready.file.folder {
                Folder::Inbox => letter.key.clone(),
                _ => format!("{} {}", letter.key, crate::random::unique_hex()),
            };
            publish(context, &letter.sealed, &id).await
        };
        match flown.await {
            Ok(acknowledged) => flying.push((letter, acknowledged)),
            Err(e) => {
                failure = Some(e);
                break;
            }
        }
    }
    let (mut done, mut last) = (vec![], 0);
    for (letter, acknowledged) in flying {
        match acknowledged.await {
            Ok(ack) => {
                last = last.max(ack.sequence);
                done.push(letter);
            }
            // The others are not waited for: each would take as long, and what is unknown is sent again.
            Err(e) => {
                failure.get_or_insert(refused(format!("mail for {room}"))(&e));
                break;
            }
        }
    }
    let letters = done.len();
    on_disk(desk, {
        let room = room.to_owned();
        move |desk| settle(desk, &room, done)
    })
    .await?;
    // The stream is another one: what follows would come before what has to be sent again.
    let is_younger = noted(desk, room, last, failure.as_ref());
    Ok((Sent { letters, is_incomplete: failure.is_some() || is_younger }, taken))
}

/// Notes how far the stream of a room is. `true` if its number is lower than before, which means another stream: then all is sent
/// again.
fn noted(desk: &Desk, room: &str, last: u64, failure: Option<&Error>) -> bool {
    let now = desk.clock.now().to_string();
    let mut is_younger = false;
    desk.note(|contact| {
        let peer = contact.peer(room);
        if last > 0 {
            is_younger = last < peer.last_number;
            peer.last_number = last;
        }
        peer.trouble = failure.map(|e| match &peer.trouble {
            Some(known) => known.clone(),
            None => format!("since {now}: {e}"),
        });
    });
    if is_younger {
        send_all_again(desk, room);
    }
    is_younger
}

/// Lets the next round send everything without a receipt again.
pub(super) fn send_all_again(desk: &Desk, room: &str) {
    desk.state().again.entry(room.to_owned()).or_default().insert(super::ALL.to_owned());
    let now = desk.clock.now().to_string();
    desk.note(|contact| {
        let peer = contact.peer(room);
        peer.sent_again.clone_from(&now);
        peer.times = peer.times.saturating_add(1);
    });
}

/// The server has these letters.
fn settle(desk: &Desk, room: &str, done: Vec<Packed>) -> Result<()> {
    {
        let mut state = desk.state();
        for letter in &done {
            state.tails.insert(letter.pair.clone(), letter.key.clone());
        }
    }
    let moved: Vec<(LetterFile, String)> =
        done.into_iter().map(|letter| (letter.ready.file, letter.ready.content.id)).collect();
    with_room(desk, room, |outgoing| outgoing.carried(&moved)).map(drop)
}

/// Publishes a parcel; the result is the acknowledgement to come.
pub(super) async fn publish(
    context: &Context,
    sealed: &Sealed,
    id: &str,
) -> Result<async_nats::jetstream::context::PublishAckFuture> {
    let message = PublishMessage::build()
        .message_id(id)
        .header(SIGNATURE, sealed.signature.as_str())
        .payload(sealed.payload.clone().into());
    let published = context.send_publish(sealed.subject.clone(), message).await;
    published.map_err(|e| refused("a parcel")(&e))
}

/// Gives up what expired and forgets old copies, where that is due. It needs no server: most of it expired because there was none.
pub(super) async fn age(desk: &Arc<Desk>) -> Result<()> {
    on_disk(desk, |desk| {
        let (post, now) = (desk.post()?, desk.clock.now());
        for outgoing in desk.outgoing_to_all(&post)? {
            let due = desk.state().due.get(outgoing.room.as_str()).copied();
            if due.is_some_and(|due| now < due) {
                continue;
            }
            let next = outgoing.age().unwrap_or_else(|e| {
                desk.note(|contact| contact.remark(format!("old mail for {}: {e}", outgoing.room)));
                now.plus(AGAIN)
            });
            desk.state().due.insert(outgoing.room.to_string(), next);
        }
        Ok(())
    })
    .await
}

/// Prepares a session: which letters are with the server, and what has to be sent again because the stream of its room is not the
/// one that took it.
pub(super) async fn prepare(
    context: &Context,
    desk: &Arc<Desk>,
    reconcile: bool,
    server: &str,
) -> Result<()> {
    let mut is_other_server = false;
    desk.note(|contact| {
        is_other_server = !contact.server_id.is_empty() && contact.server_id != server;
        server.clone_into(&mut contact.server_id);
    });
    let rooms = on_disk(desk, move |desk| {
        let post = desk.post()?;
        desk.state().tails.clear();
        let mut rooms: Vec<(RoomName, usize)> = vec![];
        for outgoing in desk.outgoing(&post)? {
            let (mut carried, mut last) = (0, HashMap::new());
            outgoing.each(Folder::Carried, |letter| {
                carried += 1;
                let Some((key, pair)) = outgoing.identify(&letter)? else { return Ok(()) };
                let place = (letter.time, letter.name);
                if last.get(&pair).is_none_or(|(before, _)| *before < place) {
                    last.insert(pair, (place, key));
                }
                Ok(())
            })?;
            for ((from, to), (_, key)) in last {
                desk.state().tails.insert((outgoing.room.to_string(), from, to), key);
            }
            rooms.push((outgoing.room.clone(), carried));
        }
        Ok(rooms)
    })
    .await?;
    for (room, carried) in rooms.iter().filter(|(_, carried)| *carried > 0) {
        let is_other = is_other_stream(context, desk, room).await;
        if reconcile || is_other || is_other_server {
            desk.note(|contact| {
                contact.remark(format!("{carried} without a receipt sent again to {room}"));
            });
            send_all_again(desk, room.as_str());
        }
    }
    Ok(())
}

/// Whether the stream of a room is gone, or younger or shorter than the one that took its mail. A room that never could look keeps to
/// the numbers of acknowledgements; one that cannot look now sends again, because the mailboxes know what they have.
async fn is_other_stream(context: &Context, desk: &Desk, room: &RoomName) -> bool {
    let name = subjects::stream(&desk.member.network, room.as_str());
    let stream = match context.get_stream(&name).await {
        Ok(stream) => stream,
        Err(e) if streams::is_missing(&e) => return true,
        Err(_) => return !desk.state().contact.peer(room.as_str()).stream_made.is_empty(),
    };
    let info = stream.cached_info();
    let made = info.created.to_string();
    let last = info.state.last_sequence;
    let mut is_other = false;
    desk.note(|contact| {
        let peer = contact.peer(room.as_str());
        is_other = !peer.stream_made.is_empty() && peer.stream_made != made || last < peer.last_number;
        peer.stream_made = made;
        peer.last_number = last;
    });
    is_other
}

/// Sends again what had no receipt for long. Looks at the disk alone.
pub(super) async fn look_after(desk: &Arc<Desk>) -> Result<()> {
    on_disk(desk, |desk| {
        let (post, now) = (desk.post()?, desk.clock.now());
        for outgoing in desk.outgoing(&post)? {
            let room = outgoing.room.as_str();
            let Some(oldest) = outgoing.letters(Folder::Carried, 1)?.first().map(|letter| letter.time) else {
                continue;
            };
            let (last, times) = {
                let mut state = desk.state();
                let peer = state.contact.peer(room);
                (Timestamp::parse(&peer.sent_again), peer.times)
            };
            let patience = AGAIN * 2_u32.saturating_pow(times.min(7));
            let since = last.map_or(oldest, |last| last.max(oldest));
            if now.since(since) > patience {
                send_all_again(desk, room);
            }
        }
        Ok(())
    })
    .await
}
