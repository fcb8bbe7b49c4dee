//! The configuration of the server, where its monitoring port shows it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::super::resolve;

const TIMEOUT: Duration = Duration::from_secs(2);
const LIMIT: u64 = 1024 * 1024;

/// Whether the server syncs each write before it acknowledges it; `None` if that cannot be read.
pub(super) async fn syncs_always(url: String) -> Option<bool> {
    let text = tokio::task::spawn_blocking(move || fetch(&url)).await.ok()??;
    read(&text)
}

/// The document `/varz` of a server at `http://HOST:PORT`.
fn fetch(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://")?.trim_end_matches('/');
    let (host, port) = rest.rsplit_once(':')?;
    let address = SocketAddr::new(*resolve::addresses(host).ok()?.first()?, port.parse().ok()?);
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(TIMEOUT)).ok()?;
    write!(stream, "GET /varz HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
    let mut bytes = vec![];
    stream.take(LIMIT).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(text.split_once("\r\n\r\n")?.1.to_owned())
}

/// Reads it out of the document. A server that is too old to tell gives nothing.
fn read(text: &str) -> Option<bool> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let config = value.get("jetstream")?.get("config")?;
    match config.get("sync_always").and_then(serde_json::Value::as_bool) {
        Some(always) => Some(always),
        None => config.get("sync_interval").map(|_| false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_unknown() {
        assert_eq!(read(r#"{"jetstream":{"config":{"sync_interval":1,"sync_always":true}}}"#), Some(true));
        assert_eq!(read(r#"{"jetstream":{"config":{"sync_interval":120000000000}}}"#), Some(false));
        assert_eq!(read(r#"{"jetstream":{"config":{"max_memory":1}}}"#), None);
        assert_eq!(read(r#"{"jetstream":{}}"#), None);
        assert_eq!(read("no"), None);
    }
}
