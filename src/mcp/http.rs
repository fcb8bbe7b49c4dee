//! Streamable HTTP at `/mcp`: for clients that cannot start a process, on loopback unless the person exposes it.
//!
//! A client must have the token, compared in constant time, must use a name that this server is known by (`Host`), and
//! must not be a page in a browser (`Origin`). Bodies, headers, connections and sessions are bounded in size, number
//! and time. A connection without the token is closed after its first answer, and takes no place from one with it
//! (`http/connections.rs`).

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::desk::Desk;
use super::evidence::{AfterSend, BodyThenActions, WriteLock};
use super::server::Server;
use crate::http::{self, Connection, Reply, is_same, plain};

/// The path of the protocol, and the header that names a session.
const PATH: &str = "/mcp";
const SESSION: &str = "mcp-session-id";

/// The number of simultaneous connections with the token.
const CONNECTIONS: usize = 128;

/// The number of simultaneous sessions; an idle one ends by itself after minutes.
const SESSIONS: usize = 128;

/// The largest request: the longest JSON form of a text of the usual limit.
const REQUEST: usize = 4 * 1024 * 1024;

/// The listener, the token and the host names of a server.
#[derive(Debug)]
pub struct HttpBinding {
    pub listener: TcpListener,
    pub token: String,
    /// Host names by which clients may call this server, besides those of loopback.
    pub hosts: Vec<String>,
}

type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Serves until the process ends.
pub fn serve(desk: Desk, door: HttpBinding) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(REQUEST)
            .enforce_origin_validation();
        let port = door.listener.local_addr()?.port();
        let own = config.allowed_hosts.iter().map(|host| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        });
        let own: Vec<String> = own.collect();
        // A page of this server itself would be allowed; there is none.
        config.allowed_origins = own.iter().map(|host| format!("http://{host}")).collect();
        config.allowed_hosts = own.into_iter().chain(door.hosts).collect();
        // Nothing ever holds this lock: over HTTP the deeds are done before the last byte is sent.
        let server = move || Ok(Server::new(desk.clone(), WriteLock::default()));
        let sessions: Arc<LocalSessionManager> = Arc::default();
        let service = Service::new(server, Arc::clone(&sessions), config);
        let token = Sha256::digest(door.token).to_vec();
        let host = Arc::new(Host { service, sessions, token, handshake: Mutex::default() });
        http::serve(door.listener, CONNECTIONS, move |connection, request| {
            let host = Arc::clone(&host);
            async move { host.answer(&connection, request).await }
        })
        .await
    })
}

/// The state that all connections share.
struct Host {
    service: Service,
    sessions: Arc<LocalSessionManager>,
    token: Vec<u8>,
    /// Held from checking the number of sessions until the new one is counted.
    handshake: Mutex<()>,
}

impl Host {
    async fn answer(&self, connection: &Connection, request: Request<Incoming>) -> Reply {
        if let Some(refusal) = self.refused(connection, &request).await {
            return refusal;
        }
        let (head, body) = request.into_parts();
        let body = match http::whole(body, REQUEST).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        };
        let handshake = match begins_session(&body) {
            true => Some(self.handshake.lock().await),
            false => None,
        };
        if handshake.is_some() && self.sessions.sessions.read().await.len() >= SESSIONS {
            let text =
                "too many sessions; end one (DELETE), or wait until one that is not used ends by itself\n";
            return plain(StatusCode::SERVICE_UNAVAILABLE, text);
        }
        let ends = head.method == Method::DELETE;
        if ends && !self.is_open(&head.headers).await {
            return plain(StatusCode::NOT_FOUND, "there is no such session\n");
        }
        let mut request = Request::from_parts(head, Full::new(body));
        let deeds = AfterSend::default();
        request.extensions_mut().insert(deeds.clone());
        let mut reply = self.service.handle(request).await;
        // The session has ended by now. Clients take `accepted` for a failure.
        if ends && reply.status() == StatusCode::ACCEPTED {
            *reply.status_mut() = StatusCode::OK;
        }
        reply.map(|inner| BodyThenActions::new(inner, deeds).boxed())
    }

    /// Whether a request names a session that is there. One that names none is left to the service.
    async fn is_open(&self, headers: &HeaderMap) -> bool {
        let Some(named) = headers.get(SESSION).and_then(|value| value.to_str().ok()) else { return true };
        self.sessions.sessions.read().await.keys().any(|known| **known == *named)
    }

    /// Why a request is refused. `None` if it is not. A refusal ends the connection.
    async fn refused(&self, connection: &Connection, request: &Request<Incoming>) -> Option<Reply> {
        let mut reply = self.refusal(request).await;
        if reply.is_none() && !connection.is_let_in() {
            reply = Some(plain(StatusCode::SERVICE_UNAVAILABLE, "too many connections; close one\n"));
        }
        reply.as_mut()?.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        reply
    }

    async fn refusal(&self, request: &Request<Incoming>) -> Option<Reply> {
        if request.uri().path() != PATH {
            return Some(plain(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp\n"));
        }
        if !http::has_one_host(request) {
            let text = "one header `Host` is needed, and a path in the request line\n";
            return Some(plain(StatusCode::FORBIDDEN, text));
        }
        let given = http::bearer(request.headers());
        if given.is_some_and(|given| is_same(Sha256::digest(given).as_slice(), &self.token)) {
            return None;
        }
        if given.is_some() {
            tokio::time::sleep(http::WRONG_SECRET).await;
        }
        let text =
            "a header `Authorization: Bearer TOKEN` is needed; postroom mcp --http says where the token is\n";
        let mut reply = plain(StatusCode::UNAUTHORIZED, text);
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        Some(reply)
    }
}

/// Whether a request is the handshake, which creates a session. Parsed as the service itself will parse it: otherwise a
/// duplicate key could mean one thing here and another there.
fn begins_session(body: &[u8]) -> bool {
    matches!(
        serde_json::from_slice(body),
        Ok(ClientJsonRpcMessage::Request(request)) if matches!(request.request, ClientRequest::InitializeRequest(_))
    )
}
