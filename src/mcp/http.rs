//! Streamable HTTP at `/mcp`: for clients that cannot start a process, on loopback unless the person says otherwise.
//!
//! Whoever comes must have the token, in constant time compared, and must have come by a name that this server is
//! known by (`Host`), not from a page in a browser (`Origin`). Bodies, headers, connections and
//! sessions are bounded, in size, number and time.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use super::desk::Desk;
use super::evidence::{Counted, Deeds};
use super::server::{Server, open_gate};

/// Where on the server the protocol is spoken.
const PATH: &str = "/mcp";

/// How many connections there are at a time, and how long one may take to say what it wants: its headers, then its body.
const CONNECTIONS: usize = 128;
const PATIENCE: Duration = Duration::from_secs(10);

/// How long somebody waits for the word that a token is wrong, so that nobody guesses many.
const WRONG_TOKEN: Duration = Duration::from_millis(100);

/// How many sessions there are at a time; one that is not used for minutes ends by itself.
const SESSIONS: usize = 128;

/// The largest request: a text of the largest size that JSON could make of one of the usual limit.
const REQUEST: usize = 4 * 1024 * 1024;

/// How clients get in.
#[derive(Debug)]
pub struct Door {
    pub listener: TcpListener,
    pub token: String,
    /// Names by which clients may call this server, beside those of loopback.
    pub hosts: Vec<String>,
}

type Reply = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Serves until the process ends.
pub fn serve(desk: Desk, door: Door) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        door.listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(door.listener)?;
        let mut config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(REQUEST)
            .enforce_origin_validation();
        let port = listener.local_addr()?.port();
        let own = config.allowed_hosts.iter().map(|host| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        });
        let own: Vec<String> = own.collect();
        // A page of this server's own would be let in; there is none.
        config.allowed_origins = own.iter().map(|host| format!("http://{host}")).collect();
        config.allowed_hosts = own.into_iter().chain(door.hosts).collect();
        let server = move || Ok(Server::new(desk.clone(), open_gate()));
        let sessions: Arc<LocalSessionManager> = Arc::default();
        let service = Arc::new(Service::new(server, Arc::clone(&sessions), config));
        let token: Arc<[u8]> = Sha256::digest(door.token).as_slice().into();
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
            // A connection that is gone before it was taken, or no descriptor left, is no reason to end.
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (service, token) = (Arc::clone(&service), Arc::clone(&token));
            let sessions = Arc::clone(&sessions);
            tokio::spawn(async move {
                let answer = service_fn(|request| answer(&service, &sessions, &token, request));
                let mut builder = http1::Builder::new();
                builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_headers(64);
                let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
                drop(place);
            });
        }
    })
}

async fn answer(
    service: &Service,
    sessions: &LocalSessionManager,
    token: &[u8],
    request: Request<Incoming>,
) -> Result<Reply, Infallible> {
    if request.uri().path() != PATH {
        return Ok(refusal(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp\n"));
    }
    // Which of two names counts is not for the sender to choose.
    if request.headers().get_all(HOST).iter().count() != 1 || request.uri().authority().is_some() {
        return Ok(refusal(
            StatusCode::FORBIDDEN,
            "one header `Host` is needed, and a path in the request line\n",
        ));
    }
    let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.split_once(' '));
    let given =
        given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    if !given.is_some_and(|given| is_same(Sha256::digest(given).as_slice(), token)) {
        if given.is_some() {
            tokio::time::sleep(WRONG_TOKEN).await;
        }
        let text =
            "a header `Authorization: Bearer TOKEN` is needed; postroom mcp --http says where the token is\n";
        let mut reply = refusal(StatusCode::UNAUTHORIZED, text);
        reply.headers_mut().insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Bearer"));
        return Ok(reply);
    }
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(PATIENCE, Limited::new(body, REQUEST).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(e)) if e.is::<LengthLimitError>() => {
            return Ok(refusal(StatusCode::PAYLOAD_TOO_LARGE, "a request has at most 4 MiB\n"));
        }
        Ok(Err(_)) => return Ok(refusal(StatusCode::BAD_REQUEST, "the request did not come whole\n")),
        Err(_) => return Ok(refusal(StatusCode::REQUEST_TIMEOUT, "the request did not come in time\n")),
    };
    if begins_session(&body) && sessions.sessions.read().await.len() >= SESSIONS {
        let text = "too many sessions; end one (DELETE), or wait until one that is not used ends by itself\n";
        return Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, text));
    }
    let mut request = Request::from_parts(head, Full::new(body));
    let deeds = Deeds::default();
    request.extensions_mut().insert(deeds.clone());
    let reply = service.handle(request).await;
    Ok(reply.map(|inner| Counted { inner, deeds }.boxed()))
}

/// Whether a request is the handshake, which makes a session.
fn begins_session(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Said<'b> {
        #[serde(borrow)]
        method: std::borrow::Cow<'b, str>,
    }
    serde_json::from_slice::<Said<'_>>(body).is_ok_and(|said| said.method == "initialize")
}

fn refusal(status: StatusCode, text: &'static str) -> Reply {
    let mut reply = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *reply.status_mut() = status;
    reply
}

/// Takes as long whatever differs; both are digests, so that lengths do not differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
