//! A session: one connection to the server, from its beginning until it breaks or is stopped.
//!
//! It begins with what may have changed while there was none: names, streams, letters without a receipt. Then it sleeps until
//! the server, the disk or the clock has something. A connection that breaks ends it; [`super`] begins another.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{Context, kv};
use async_nats::{Client, Event};
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};

use super::super::names;
use super::super::{Error, Result};
use super::desk::Desk;
use super::send::on_disk;
use super::streams::{self, Office, refused};
use super::{connect, receive, send};
use crate::network::{Resident, network_room};

/// How many parcels are taken at once.
const BATCH: usize = 64;
/// How long the server may take to acknowledge.
const ACKNOWLEDGED: Duration = Duration::from_secs(10);
/// How often the server shows that it is there, while it has no mail.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// How long one request for mail is good.
const REQUEST: Duration = Duration::from_secs(600);
/// How often the disk is looked at without a reason.
const ROUND: Duration = Duration::from_secs(60);
/// How long a round of `once` waits for more.
const QUIET: Duration = Duration::from_millis(400);

/// What a session carried.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) out: usize,
    pub(super) into: usize,
    pub(super) is_incomplete: bool,
}

/// The connection of a session.
pub(super) struct Session {
    desk: Arc<Desk>,
    context: Context,
    office: Office,
    events: mpsc::UnboundedReceiver<Event>,
    told: Option<Vec<Resident>>,
    pub(super) carried: Carried,
    /// How many parcels were still at the server when the last one came.
    behind: u64,
    /// How many messages of the server were heard at the last round.
    heard: u64,
    server_id: String,
    client: Client,
}

impl Session {
    /// Connects, and makes up for what happened meanwhile.
    pub(super) async fn begin(desk: &Arc<Desk>, reconcile: bool) -> Result<Self> {
        send::age(desk).await?;
        let (client, events) = connect::connect(&desk.member).await?;
        let context =
            ContextBuilder::new().timeout(ACKNOWLEDGED).ack_timeout(ACKNOWLEDGED).build(client.clone());
        let server = client.server_info();
        {
            let mut state = desk.state();
            state.largest = server.max_payload;
            state.held.begin_anew();
        }
        let (version, server_id) = (server.version, server.server_id);
        let office = streams::open(&context, &desk.member, &version).await?;
        let mut session = Self {
            desk: Arc::clone(desk),
            context,
            office,
            events,
            told: None,
            carried: Carried::default(),
            behind: 0,
            heard: 0,
            server_id,
            client,
        };
        session.check_name().await?;
        session.tell_names().await?;
        session.hear_all().await?;
        let promise = session.office.promise.clone();
        let lag = session.office.stream.cached_info().state.messages;
        let now = desk.clock.now().to_string();
        desk.note(|contact| {
            contact.connected = true;
            contact.trouble = None;
            contact.since.clear();
            contact.at = now;
            contact.lacks = promise.lacks();
            contact.promise = promise;
            contact.lag = lag;
        });
        session.behind = lag;
        send::prepare(&session.context, desk, reconcile, &session.server_id).await?;
        Ok(session)
    }

    /// The name of this room must be its own on the network.
    async fn check_name(&self) -> Result<()> {
        let room = self.desk.room().as_str();
        let entry = self.office.names.entry(room).await.map_err(|e| refused("a look at the names")(&e))?;
        let Some(entry) = entry.filter(|entry| entry.operation == kv::Operation::Put) else { return Ok(()) };
        match names::read(&self.desk.member, room, &entry.value) {
            Ok((_, key)) if key != self.desk.member.key.public() => {
                Err(Error::NameTaken { room: room.to_owned(), fingerprint: key.fingerprint() })
            }
            // What cannot be read is nobody's; it is written anew.
            _ => Ok(()),
        }
    }

    /// Tells the others who is here, if that has changed.
    async fn tell_names(&mut self) -> Result<()> {
        let (names, value) = on_disk(&self.desk, |desk| names::compose(&desk.post()?, &desk.member)).await?;
        if self.told.as_ref() == Some(&names) {
            return Ok(());
        }
        let room = self.desk.room().as_str();
        self.office.names.put(room, value.into()).await.map_err(|e| refused("the names of this room")(&e))?;
        self.told = Some(names);
        Ok(())
    }

    /// Hears what all rooms told.
    async fn hear_all(&self) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| refused("a look at the names")(e);
        let mut keys = self.office.names.keys().await.map_err(|e| failed(&e))?;
        let mut rooms = vec![];
        while let Some(key) = keys.next().await {
            rooms.push(key.map_err(|e| failed(&e))?);
        }
        for room in rooms {
            if let Some(value) = self.office.names.get(&room).await.map_err(|e| failed(&e))? {
                self.hear(room, value.to_vec()).await?;
            }
        }
        Ok(())
    }

    /// Keeps the news of one room.
    async fn hear(&self, room: String, value: Vec<u8>) -> Result<()> {
        if room == self.desk.room().as_str() {
            return Ok(());
        }
        on_disk(&self.desk, move |desk| {
            let Ok(name) = network_room(&room) else { return Ok(()) };
            let kept = match names::read(&desk.member, &room, &value) {
                Ok(news) => {
                    let peers = desk.peers()?;
                    names::keep(&desk.post()?, (&desk.member.network, &name), news, peers.get(&room))
                        .map_err(|e| e.to_string())
                }
                Err(why) => Err(format!("the news of {room} was not taken: {why}")),
            };
            if let Err(why) = kept {
                desk.note(|contact| contact.remark(crate::message::visible::clip(&why, 300)));
            }
            Ok(())
        })
        .await
    }

    /// Carries what there is, both ways, and ends when nothing more comes.
    pub(super) async fn once(mut self) -> Result<Carried> {
        let mut incoming = self.incoming(Duration::from_secs(5), Duration::from_secs(2)).await?;
        loop {
            let mut moved = self.send().await?;
            moved += self.take_accepted().await?;
            let batch = tokio::time::timeout(QUIET, incoming.next()).await;
            match batch {
                Ok(Some(batch)) => moved += 1 + self.receive(batch).await?,
                Ok(None) => return Err(lost("the server ended the delivery")),
                Err(_) => {}
            }
            moved += self.tell_later().await?;
            if moved == 0 {
                break;
            }
        }
        self.finish().await;
        Ok(self.carried)
    }

    /// Waits until the server has everything that was written.
    async fn finish(&mut self) {
        let _ = tokio::time::timeout(ACKNOWLEDGED, self.client.flush()).await;
        let (now, lag) = (self.desk.clock.now().to_string(), self.lag());
        self.desk.note(|contact| {
            contact.connected = false;
            contact.at = now;
            contact.lag = lag;
        });
    }

    /// How many parcels wait at the server, without a question to it.
    fn lag(&self) -> u64 {
        self.behind + self.desk.state().held.count() as u64
    }

    /// Notes that the server was heard since the last round: its heartbeats come more often.
    fn note_contact(&mut self) {
        let heard = self.client.statistics().in_messages.load(Ordering::Relaxed);
        if heard == self.heard {
            return;
        }
        self.heard = heard;
        let (now, lag) = (self.desk.clock.now().to_string(), self.lag());
        self.desk.note(|contact| {
            contact.at = now;
            contact.lag = lag;
        });
    }

    /// Carries until it is stopped, which is `Ok`, or the connection breaks.
    pub(super) async fn run(
        mut self,
        woken: &mut mpsc::Receiver<()>,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Carried> {
        let mut incoming = self.incoming(REQUEST, HEARTBEAT).await?;
        let heard = self.office.names.watch_all().await;
        let mut news = heard.map_err(|e| refused("a watch on the names")(&e))?;
        let mut round = tokio::time::interval(ROUND);
        round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let has_stopped = *stop.borrow();
            if has_stopped {
                self.finish().await;
                return Ok(self.carried);
            }
            tokio::select! {
                _ = stop.changed() => {}
                event = self.events.recv() => match event {
                    Some(Event::Disconnected | Event::Closed) | None => return Err(lost("the connection broke")),
                    Some(Event::LameDuckMode) => return Err(lost("the server goes away")),
                    Some(_) => {}
                },
                batch = incoming.next() => match batch {
                    Some(batch) => { self.receive(batch).await?; }
                    None => return Err(lost("the server ended the delivery")),
                },
                entry = news.next() => match entry {
                    Some(Ok(entry)) if entry.operation == kv::Operation::Put => {
                        self.hear(entry.key, entry.value.to_vec()).await?;
                    }
                    Some(Ok(_)) => {}
                    Some(Err(e)) => return Err(lost(&e.to_string())),
                    None => return Err(lost("the server ended the names")),
                },
                _ = woken.recv() => self.look().await?,
                _ = round.tick() => {
                    send::age(&self.desk).await?;
                    send::look_after(&self.desk).await?;
                    self.look().await?;
                    self.note_contact();
                }
            }
        }
    }

    /// Looks at the disk: letters, receipts, names, accepted rooms, orders.
    async fn look(&mut self) -> Result<()> {
        let ordered = on_disk(&self.desk, |desk| super::take_order(&desk.courier)).await?;
        if ordered {
            send::prepare(&self.context, &self.desk, true, &self.server_id).await?;
        }
        // What somebody waits for comes first.
        self.send().await?;
        self.take_accepted().await?;
        self.tell_later().await?;
        self.tell_names().await
    }

    /// Lets in what waited for its room to be accepted.
    async fn take_accepted(&mut self) -> Result<usize> {
        let into = receive::take_accepted(&self.context, &self.desk).await?;
        self.carried.into += into;
        Ok(into)
    }

    async fn send(&mut self) -> Result<usize> {
        let mut sent = send::carry(&self.context, &self.desk).await?;
        // The stream was another one than before.
        if sent.is_incomplete && !self.desk.state().again.is_empty() {
            let more = send::carry(&self.context, &self.desk).await?;
            sent = send::Sent { letters: sent.letters + more.letters, ..more };
        }
        self.carried.out += sent.letters;
        self.carried.is_incomplete = sent.is_incomplete;
        Ok(sent.letters)
    }

    /// The parcels for this room, in batches.
    async fn incoming(
        &self,
        expires: Duration,
        heartbeat: Duration,
    ) -> Result<
        impl futures_util::Stream<
            Item = Vec<std::result::Result<async_nats::jetstream::Message, pull::MessagesError>>,
        > + Unpin
        + use<>,
    > {
        let messages = self
            .office
            .consumer
            .stream()
            .max_messages_per_batch(BATCH * 4)
            .expires(expires)
            .heartbeat(heartbeat)
            .messages()
            .await
            .map_err(|e| refused("the mail of this room")(&e))?;
        Ok(messages.ready_chunks(BATCH))
    }

    async fn receive(
        &mut self,
        batch: Vec<std::result::Result<async_nats::jetstream::Message, pull::MessagesError>>,
    ) -> Result<usize> {
        let mut messages = vec![];
        let mut broken = None;
        for message in batch {
            match message {
                Ok(message) => messages.push(message),
                Err(e) => broken = Some(lost(&e.to_string())),
            }
        }
        if let Some(info) = messages.last().and_then(|message| message.info().ok()) {
            self.behind = info.pending;
        }
        let into = receive::take(&self.context, &self.desk, messages).await?;
        self.carried.into += into;
        // Receipts may have asked for letters.
        if !self.desk.state().again.is_empty() {
            self.send().await?;
        }
        broken.map_or(Ok(into), Err)
    }

    /// Tells senders what became of their letters since.
    async fn tell_later(&self) -> Result<usize> {
        let receipts = on_disk(&self.desk, |desk| {
            let post = desk.post()?;
            Ok(desk.state().later.news(&post)?)
        })
        .await?;
        let mut count = 0;
        for (room, items) in receipts {
            let is_sent = receive::send_receipts(&self.context, &self.desk, &room, &items).await;
            count += if is_sent { items.len() } else { 0 };
            on_disk(&self.desk, move |desk| {
                desk.state().later.told((&room, &items), is_sent, desk.clock.now());
                Ok(())
            })
            .await?;
        }
        Ok(count)
    }
}

fn lost(why: &str) -> Error {
    Error::Server { what: "to go on".to_owned(), why: why.to_owned() }
}
