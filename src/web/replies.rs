//! Answers of the page: HTML, JSON, its own files, redirections and refusals.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{Response, StatusCode};

use super::guard::Refused;
use super::page;
use super::routes::Wrong;
use crate::http::{Reply, plain};

pub(super) fn html(status: StatusCode, text: Result<String, Wrong>) -> Reply {
    let text = text.or_else(|wrong| page::alone(wrong.to_string())).unwrap_or_default();
    typed(status, "text/html; charset=utf-8", text)
}

pub(super) fn json(status: StatusCode, document: &impl serde::Serialize) -> Reply {
    typed(status, "application/json", serde_json::to_string(document).unwrap_or_default())
}

pub(super) fn typed(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()).boxed());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

pub(super) fn asset(name: &str) -> Reply {
    let Some((kind, text)) = page::file(name) else { return plain(StatusCode::NOT_FOUND, "no such file\n") };
    let mut reply = typed(StatusCode::OK, kind, text);
    let keep = HeaderValue::from_static("public, max-age=31536000, immutable");
    reply.headers_mut().insert(CACHE_CONTROL, keep);
    reply
}

pub(super) fn redirect(to: &str) -> Reply {
    let mut reply = plain(StatusCode::SEE_OTHER, "");
    if let Ok(to) = HeaderValue::from_str(to) {
        reply.headers_mut().insert(LOCATION, to);
    }
    reply
}

pub(super) fn refusal(refused: Refused) -> Reply {
    let text = match refused {
        Refused::Forbidden(why) => why,
        Refused::Stranger => {
            "the code is not valid; each is good once, and `postroom web` shows another where it runs"
        }
    };
    plain(refused.status(), format!("{text}\n"))
}

/// An answer to a stranger, which ends its connection.
pub(super) fn closing(mut reply: Reply) -> Reply {
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}
