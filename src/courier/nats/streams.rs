//! What the courier needs at the server: the stream and the object bucket of its room, and the bucket of names.
//!
//! Each room makes its own. Old servers ignore settings that they do not know, so nothing newer than 2.9 is asked for. The
//! bucket of names is made as a stream, because 2.9 does not answer what the client asks before it makes one.

use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, Consumer};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{Context, kv};

use super::super::contact::Promise;
use super::super::member::Member;
use super::super::{Error, Result, subjects};
use super::monitor;

/// The name of the consumer on a room's stream.
const CONSUMER: &str = "courier";
/// How long the server waits for the acknowledgement of a parcel before it sends it again.
const ACK_WAIT: Duration = Duration::from_secs(60);
/// How many parcels may be on their way into the room.
pub(super) const IN_FLIGHT: i64 = 512;
/// How long the server remembers ids, to drop what it gets twice.
const WINDOW: Duration = Duration::from_secs(120);

/// The room's side of the server.
pub(super) struct Office {
    pub(super) stream: Stream,
    pub(super) names: kv::Store,
    pub(super) consumer: Consumer<pull::Config>,
    pub(super) promise: Promise,
}

pub(super) fn refused(what: impl Into<String>) -> impl FnOnce(&dyn std::fmt::Display) -> Error {
    let what = what.into();
    move |e| Error::Server { what, why: e.to_string() }
}

/// Opens the office of a room, and makes what is missing.
pub(super) async fn open(context: &Context, member: &Member, version: &str) -> Result<Office> {
    let (network, room) = (&member.network, member.room.as_str());
    let stream = own(context, mail_stream(member)).await?;
    own(context, object_stream(member)).await?;
    own(context, names_stream(member)).await?;
    let bucket = subjects::names(network);
    let names = context.get_key_value(&bucket).await;
    let names = names.map_err(|e| refused(format!("the names of {network}"))(&e))?;
    // Made anew: what an earlier session had taken and not settled comes again at once, in its order.
    let _ = stream.delete_consumer(CONSUMER).await;
    let consumer = stream
        .get_or_create_consumer(
            CONSUMER,
            pull::Config {
                durable_name: Some(CONSUMER.to_owned()),
                ack_policy: AckPolicy::Explicit,
                ack_wait: ACK_WAIT,
                max_ack_pending: IN_FLIGHT,
                ..pull::Config::default()
            },
        )
        .await
        .map_err(|e| refused(format!("the mail of {room}"))(&e))?;
    let config = &stream.cached_info().config;
    let promise = Promise {
        version: version.to_owned(),
        replicas: config.num_replicas,
        on_disk: config.storage == StorageType::File,
        syncs_always: match &member.monitor {
            Some(url) => monitor::syncs_always(url.clone()).await,
            None => None,
        },
    };
    Ok(Office { stream, names, consumer, promise })
}

/// The stream, made if it is missing.
async fn own(context: &Context, config: Config) -> Result<Stream> {
    let name = config.name.clone();
    // Looking first: a room may be allowed to look at a stream and not to make it.
    if let Ok(stream) = context.get_stream(&name).await {
        return Ok(stream);
    }
    context.create_stream(config).await.map_err(|e| refused(format!("the stream {name}"))(&e))
}

fn mail_stream(member: &Member) -> Config {
    let (network, room) = (&member.network, member.room.as_str());
    Config {
        name: subjects::stream(network, room),
        subjects: vec![subjects::all_mail(network, room)],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: 1,
        duplicate_window: WINDOW,
        description: Some(format!("mail for the room {room}")),
        ..Config::default()
    }
}

/// Without a size of its own: a server reserves that, and refuses what it cannot reserve. Limits are those of the account.
fn object_stream(member: &Member) -> Config {
    let bucket = subjects::objects(&member.network, member.room.as_str());
    Config {
        name: format!("OBJ_{bucket}"),
        subjects: vec![format!("$O.{bucket}.C.>"), format!("$O.{bucket}.M.>")],
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: 1,
        max_age: Duration::from_secs(15 * 24 * 3600),
        allow_rollup: true,
        allow_direct: true,
        ..Config::default()
    }
}

fn names_stream(member: &Member) -> Config {
    let bucket = subjects::names(&member.network);
    Config {
        name: format!("KV_{bucket}"),
        subjects: vec![format!("$KV.{bucket}.>")],
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: 1,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    }
}
