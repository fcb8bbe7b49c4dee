//! Objects: bodies that are too long for the server, and attachments. They lie in the object store of the recipient's room,
//! under their SHA-256, and are compared with it when they are read.
//!
//! The sender writes an object by its protocol and needs not be able to read the bucket: only its owner can.

use std::error::Error as _;

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::object_store::{InfoError, InfoErrorKind, ObjectInfo};
use async_nats::jetstream::stream::{DirectGetError, LastRawMessageError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use futures_util::StreamExt;
use sha2::{Digest, Sha256};

use super::super::parcel::ObjectRef;
use super::super::{Result, subjects};
use super::streams::refused;
use crate::hex;
use crate::network::NetworkName;

/// The size of a part.
const PART: usize = 128 * 1024;

/// Puts an object into the bucket of a room.
pub(super) async fn put(
    context: &Context,
    (network, room): (&NetworkName, &str),
    sha256: &str,
    bytes: &[u8],
) -> Result<()> {
    let bucket = subjects::objects(network, room);
    let wrong = |e: &dyn std::fmt::Display| refused(format!("an object for {room}"))(e);
    // Fresh for each writing: parts of an earlier one that was interrupted are not mixed with these.
    let nuid = format!("{}{}", &sha256[..16.min(sha256.len())], crate::random::unique_hex());
    let chunk = format!("$O.{bucket}.C.{nuid}");
    for part in bytes.chunks(PART) {
        let acknowledged = context.publish(chunk.clone(), part.to_vec().into()).await;
        acknowledged.map_err(|e| wrong(&e))?.await.map_err(|e| wrong(&e))?;
    }
    let info = ObjectInfo {
        name: sha256.to_owned(),
        description: None,
        metadata: Default::default(),
        headers: None,
        options: None,
        bucket: bucket.clone(),
        nuid,
        size: bytes.len(),
        chunks: bytes.chunks(PART).len(),
        modified: None,
        digest: Some(format!("SHA-256={}", URL_SAFE.encode(Sha256::digest(bytes)))),
        deleted: false,
    };
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Rollup", "sub");
    let meta = format!("$O.{bucket}.M.{}", URL_SAFE.encode(sha256));
    let data = serde_json::to_vec(&info).unwrap_or_default();
    let acknowledged = context.publish_with_headers(meta, headers, data.into()).await;
    acknowledged.map_err(|e| wrong(&e))?.await.map_err(|e| wrong(&e))?;
    Ok(())
}

/// Whether the server or the link failed. Everything else says that there is no such object, or that its sender described it
/// wrongly.
fn is_failing(e: &InfoError) -> bool {
    let is_of_server = || {
        e.source().is_some_and(|source| source.is::<DirectGetError>() || source.is::<LastRawMessageError>())
    };
    match e.kind() {
        InfoErrorKind::TimedOut => true,
        InfoErrorKind::Other => is_of_server(),
        InfoErrorKind::NotFound | InfoErrorKind::InvalidName => false,
    }
}

/// Reads an object of this room. `None` if it is not there, or is not what its name says.
pub(super) async fn get(
    context: &Context,
    (network, room): (&NetworkName, &str),
    wanted: &ObjectRef,
) -> Result<Option<Vec<u8>>> {
    let wrong = |e: &dyn std::fmt::Display| refused("an object of this room")(e);
    let store = context.get_object_store(&subjects::objects(network, room)).await.map_err(|e| wrong(&e))?;
    // Its size is known before it is read: nobody fills the memory with more.
    let info = match store.info(&wanted.sha256).await {
        Ok(info) => info,
        Err(e) if is_failing(&e) => return Err(wrong(&e)),
        Err(_) => return Ok(None),
    };
    if info.size as u64 != wanted.size || info.deleted {
        return Ok(None);
    }
    let chunk = format!("$O.{}.C.{}", subjects::objects(network, room), info.nuid);
    let stream = context.get_stream_no_info(format!("OBJ_{}", subjects::objects(network, room))).await;
    let config =
        async_nats::jetstream::consumer::pull::OrderedConfig { filter_subject: chunk, ..Default::default() };
    let consumer = stream.map_err(|e| wrong(&e))?.create_consumer(config).await.map_err(|e| wrong(&e))?;
    let mut parts = consumer.messages().await.map_err(|e| wrong(&e))?;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < wanted.size {
        let next = tokio::time::timeout(std::time::Duration::from_secs(10), parts.next()).await;
        let Ok(Some(part)) = next else { return Ok(None) };
        let part = part.map_err(|e| wrong(&e))?;
        bytes.extend_from_slice(&part.payload);
        if bytes.len() as u64 > wanted.size {
            return Ok(None);
        }
    }
    Ok((hex::digest(&bytes, 32) == wanted.sha256).then_some(bytes))
}

/// Removes an object that was delivered. Another letter may need it again: then its sender puts it there again.
pub(super) async fn remove(context: &Context, (network, room): (&NetworkName, &str), sha256: &str) {
    if let Ok(store) = context.get_object_store(&subjects::objects(network, room)).await {
        let _ = store.delete(sha256).await;
    }
}

#[cfg(test)]
mod tests {
    use async_nats::jetstream::stream::{DirectGetErrorKind, LastRawMessageErrorKind};

    use super::*;

    #[test]
    fn only_what_is_not_there_or_not_readable_is_missing() {
        for failing in [
            InfoError::new(InfoErrorKind::TimedOut),
            InfoError::with_source(InfoErrorKind::Other, DirectGetError::new(DirectGetErrorKind::Request)),
            InfoError::with_source(
                InfoErrorKind::Other,
                LastRawMessageError::new(LastRawMessageErrorKind::Other),
            ),
        ] {
            assert!(is_failing(&failing), "{failing:?}");
        }
        for missing in [
            InfoError::new(InfoErrorKind::NotFound),
            InfoError::new(InfoErrorKind::InvalidName),
            InfoError::with_source(InfoErrorKind::Other, "failed to decode".to_owned()),
        ] {
            assert!(!is_failing(&missing), "{missing:?}");
        }
    }
}
