//! HTTP/1.1 for the faces that listen: the Model Context Protocol (`mcp`) and the web page (`web`).
//!
//! A listener accepts connections and hands each request to the face, which decides who may do what. Connections, headers,
//! bodies and waiting times are bounded here, once for both. Nothing here knows mail.

mod connections;
mod listening;

use std::convert::Infallible;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap};
use hyper::{Request, Response, StatusCode};

pub(crate) use connections::Connection;
pub(crate) use listening::serve;

/// An answer of a face.
pub(crate) type Reply = Response<BoxBody<Bytes, Infallible>>;

/// How long a request may take to arrive: its headers, then its body.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The delay before a wrong secret is refused, so that nobody guesses many.
pub(crate) const WRONG_SECRET: Duration = Duration::from_millis(100);

/// An answer in plain text.
pub(crate) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()).boxed());
    *reply.status_mut() = status;
    reply
}

/// Whether a request has exactly one `Host`, and no other host in its first line: the sender must not choose which of two
/// counts.
pub(crate) fn has_one_host<B>(request: &Request<B>) -> bool {
    request.headers().get_all(HOST).iter().count() == 1 && request.uri().authority().is_none()
}

/// The token of a header `Authorization: Bearer TOKEN`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The whole body of a request, of at most `limit` bytes, or why it is refused.
pub(crate) async fn whole(body: Incoming, limit: usize) -> Result<Bytes, Reply> {
    match tokio::time::timeout(PATIENCE, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(e)) if e.is::<LengthLimitError>() => {
            let text = format!("a request has at most {limit} bytes\n");
            Err(plain(StatusCode::PAYLOAD_TOO_LARGE, text))
        }
        Ok(Err(_)) => Err(plain(StatusCode::BAD_REQUEST, "the request did not come whole\n")),
        Err(_) => Err(plain(StatusCode::REQUEST_TIMEOUT, "the request did not come in time\n")),
    }
}

/// Takes equally long for all differences; both are digests, so lengths do not differ.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
