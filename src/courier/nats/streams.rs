//! What the courier needs at the server: the stream and the object bucket of its room, and the bucket of names.
//!
//! Each room makes its own. Old servers ignore settings that they do not know, so nothing newer than 2.9 is asked for. The
//! bucket of names is made as a stream, because 2.9 does not answer what the client asks before it makes one.

use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, Consumer};
use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{Context, ErrorCode, kv};

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
    let mut other_settings = vec![];
    let stream = own(context, mail_stream(member), &mut other_settings).await?;
    own(context, object_stream(member), &mut other_settings).await?;
    own(context, names_stream(member), &mut other_settings).await?;
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
        other_settings,
    };
    Ok(Office { stream, names, consumer, promise })
}

/// The stream, made if it is missing. Adds which settings differ from those asked for: somebody else made it, or an old server does not
/// know the setting.
async fn own(context: &Context, config: Config, other_settings: &mut Vec<String>) -> Result<Stream> {
    let name = config.name.clone();
    let failed = |e: &dyn std::fmt::Display| refused(format!("the stream {name}"))(e);
    // Looking first: a room may be allowed to look at a stream and not to make it.
    let stream = match context.get_stream(&name).await {
        Err(e) if is_missing(&e) => context.create_stream(config.clone()).await.map_err(|e| failed(&e))?,
        other => other.map_err(|e| failed(&e))?,
    };
    let other = differences(&config, &stream.cached_info().config);
    if !other.is_empty() {
        other_settings.push(format!("the stream {name} is set up otherwise: {}", other.join(", ")));
    }
    Ok(stream)
}

/// Whether the server said that there is no such stream. All other errors leave that open.
pub(super) fn is_missing(e: &GetStreamError) -> bool {
    matches!(e.kind(), GetStreamErrorKind::JetStream(e) if e.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

/// The settings on which mail depends and that are not as they were asked for.
fn differences(asked: &Config, got: &Config) -> Vec<&'static str> {
    // The server writes a limit that was not given as -1.
    let limit = |number: i64| number.max(0);
    let settings = [
        ("subjects", asked.subjects == got.subjects),
        ("retention", asked.retention == got.retention),
        ("discard", asked.discard == got.discard),
        ("storage", asked.storage == got.storage),
        ("max_age", asked.max_age == got.max_age),
        ("max_msgs", limit(asked.max_messages) == limit(got.max_messages)),
        ("max_bytes", limit(asked.max_bytes) == limit(got.max_bytes)),
        (
            "max_msgs_per_subject",
            limit(asked.max_messages_per_subject) == limit(got.max_messages_per_subject),
        ),
        ("allow_rollup_hdrs", asked.allow_rollup == got.allow_rollup),
        ("allow_direct", asked.allow_direct == got.allow_direct),
    ];
    settings.into_iter().filter(|(_, is_same)| !is_same).map(|(name, _)| name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_forgets_mail_is_told_from_one_that_the_server_completed() {
        let asked = Config {
            subjects: vec!["a".to_owned()],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            ..Config::default()
        };
        let completed =
            Config { max_messages: -1, max_bytes: -1, max_messages_per_subject: -1, ..asked.clone() };
        assert!(differences(&asked, &completed).is_empty());
        let forgetful = Config {
            discard: DiscardPolicy::Old,
            max_messages: 10,
            storage: StorageType::Memory,
            max_age: Duration::from_secs(60),
            ..completed
        };
        assert_eq!(differences(&asked, &forgetful), ["discard", "storage", "max_age", "max_msgs"]);
    }
}
