//! The server: takes a request, asks the guard, and gives a page, a stream of events, or what came of a deed.
//!
//! Views and deeds are synchronous code on threads of their own (`workers`); only connections are asynchronous.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    ORIGIN, REFERRER_POLICY, SET_COOKIE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc::Receiver;

use super::guard::{Guard, Role, Visitor};
use super::live::{self, Live};
use super::markup::{decoded, encoded};
use super::metrics;
use super::names::Name;
use super::page::{self, Page, WrongPage};
use super::replies::{asset, closing, html, json, redirect, refusal, typed};
use super::routes::{self, Asker, Wrong};
use super::transcripts::Transcripts;
use super::workers::{AT_ONCE, Load, Workers};
use crate::desk::Desk;
use crate::http::{self, Connection, Reply, plain};
use crate::journal;

/// The number of simultaneous connections with a cookie.
const CONNECTIONS: usize = 256;

/// The largest request: the longest JSON form of a text of the usual limit.
const REQUEST: usize = 4 * 1024 * 1024;

/// Nothing runs and nothing loads that is not this server's.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// A page that is about to be served.
#[derive(Debug)]
pub struct Web {
    listener: TcpListener,
    guard: Arc<Guard>,
    desk: Arc<Desk>,
}

/// Makes codes for the one who may enter.
#[derive(Debug, Clone)]
pub struct Codes(Arc<Guard>);

impl Codes {
    /// A new code, good once. The one before it is no longer valid.
    pub fn next(&self) -> String {
        self.0.new_code()
    }

    /// Sleeps until the last code was used.
    pub fn wait_until_used(&self) {
        self.0.wait_until_used();
    }
}

impl Web {
    /// `names`: by what browsers may call this server, besides the names of loopback.
    pub fn new(desk: Desk, listener: TcpListener, names: &[Name]) -> io::Result<Self> {
        let port = listener.local_addr()?.port();
        let origins = Name::loopback().iter().chain(names).map(|name| name.origin(port)).collect();
        let guard = Arc::new(Guard::new(origins, port, Role::of(&desk)));
        Ok(Self { listener, guard, desk: Arc::new(desk) })
    }

    /// Lets programs that have this token see the figures, and nothing else. To be called before there are codes.
    pub fn admit_scrapers(&mut self, token: &str) {
        if let Some(guard) = Arc::get_mut(&mut self.guard) {
            guard.admit_scrapers(token);
        }
    }

    pub fn codes(&self) -> Codes {
        Codes(Arc::clone(&self.guard))
    }

    /// Serves until the process ends.
    pub fn serve(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(AT_ONCE)
            .thread_keep_alive(std::time::Duration::from_secs(1))
            .build()?;
        let host = Arc::new(Host {
            guard: self.guard,
            desk: self.desk,
            live: Arc::default(),
            transcripts: Arc::default(),
            workers: Workers::default(),
            guesses: tokio::sync::Mutex::default(),
        });
        runtime.block_on(http::serve(self.listener, CONNECTIONS, move |connection, request| {
            let host = Arc::clone(&host);
            async move { host.answer(&connection, request).await }
        }))
    }
}

/// The state that all connections share.
struct Host {
    guard: Arc<Guard>,
    desk: Arc<Desk>,
    live: Arc<Live>,
    transcripts: Arc<Transcripts>,
    workers: Workers,
    /// The turn of those whose code was wrong.
    guesses: tokio::sync::Mutex<()>,
}

impl Host {
    async fn answer(self: &Arc<Self>, connection: &Connection, request: Request<Incoming>) -> Reply {
        let mut reply = self.reply(connection, request).await;
        let headers = reply.headers_mut();
        let fixed: [(HeaderName, &str); 4] = [
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        reply
    }

    async fn reply(self: &Arc<Self>, connection: &Connection, request: Request<Incoming>) -> Reply {
        if let Err(refused) = self.guard.check_host(&request) {
            return closing(refusal(refused));
        }
        let path: Option<Vec<String>> = request.uri().path().split('/').skip(1).map(decoded).collect();
        let Some(path) = path else { return closing(plain(StatusCode::BAD_REQUEST, "no such address\n")) };
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        match (request.method(), words.as_slice()) {
            (&Method::GET, ["static", _, name]) => return asset(name),
            (&Method::GET, ["enter"]) => return html(StatusCode::OK, page::enter(self.guard.role())),
            (&Method::POST, ["enter"]) => return self.enter(connection, request).await,
            (&Method::GET, ["metrics"]) => return self.metrics(connection, &request).await,
            _ => {}
        }
        let visitor = match self.guard.visitor(request.headers()) {
            Ok(visitor) => visitor,
            Err(_) if request.method() == Method::GET && words == [""] => return redirect("/enter"),
            Err(refused) => {
                return closing(match request.method() == Method::GET {
                    true => html(refused.status(), page::enter(self.guard.role())),
                    false => refusal(refused),
                });
            }
        };
        if !connection.is_let_in() {
            return closing(plain(StatusCode::SERVICE_UNAVAILABLE, "too many connections; close one\n"));
        }
        match (request.method(), words.as_slice()) {
            (&Method::GET, [""]) => redirect(&format!("/r/{}/now", encoded(self.desk.own()))),
            (&Method::GET, ["r", room, "events"]) => self.events(room, &request, &visitor).await,
            (&Method::GET, ["r", room, "file", ..]) => {
                self.file((*room).to_owned(), path[2..].to_vec(), visitor).await
            }
            (&Method::GET, ["r", room, ..]) => {
                let query = request.uri().query().unwrap_or_default().to_owned();
                self.view((*room).to_owned(), path[2..].to_vec(), query, visitor).await
            }
            (&Method::POST, ["leave"]) => self.leave(&request, &visitor),
            (&Method::POST, ["r", room, ..]) => {
                let (room, path) = ((*room).to_owned(), path[2..].to_vec());
                self.deed(room, path, request, visitor).await
            }
            (&Method::GET | &Method::POST, _) => html(StatusCode::NOT_FOUND, Err(Wrong::NoPage)),
            _ => plain(StatusCode::METHOD_NOT_ALLOWED, "GET and POST are answered\n"),
        }
    }

    async fn enter(&self, connection: &Connection, request: Request<Incoming>) -> Reply {
        if let Err(refused) = self.guard.check_deed(request.headers(), None) {
            return closing(refusal(refused));
        }
        connection.knocks();
        let origin = request.headers().get(ORIGIN).and_then(|origin| origin.to_str().ok());
        let is_secure = origin.is_some_and(|origin| origin.starts_with("https://"));
        let body = match http::whole(request.into_body(), 4096).await {
            Ok(body) => body,
            Err(refusal) => return closing(refusal),
        };
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        match self.guard.enter(body.get("code").and_then(Value::as_str).unwrap_or_default(), is_secure) {
            Ok((cookie, token)) => {
                let mut reply = json(StatusCode::OK, &routes::Entered { token });
                if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                    reply.headers_mut().insert(SET_COOKIE, cookie);
                }
                reply
            }
            Err(refused) => {
                // All guesses together get ten answers a second; a right code waits for none of them.
                let _turn = self.guesses.lock().await;
                tokio::time::sleep(http::WRONG_SECRET).await;
                closing(refusal(refused))
            }
        }
    }

    async fn metrics(&self, connection: &Connection, request: &Request<Incoming>) -> Reply {
        if !self.guard.is_scraper(request.headers()) {
            tokio::time::sleep(http::WRONG_SECRET).await;
            let text =
                "a header `Authorization: Bearer TOKEN` is needed; postroom web says where the token is\n";
            let mut reply = closing(plain(StatusCode::UNAUTHORIZED, text));
            reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return reply;
        }
        if !connection.is_let_in() {
            return closing(plain(StatusCode::SERVICE_UNAVAILABLE, "too many connections; close one\n"));
        }
        let query = request.uri().query().unwrap_or_default();
        let room = query.split('&').find_map(|pair| pair.strip_prefix("room=")).and_then(decoded);
        let (desk, room) = (Arc::clone(&self.desk), room.unwrap_or_else(|| self.desk.own().to_owned()));
        let made = self.workers.run(Load::Heavy, move || metrics::text(&desk, &room));
        match made.await.and_then(|made| made) {
            Ok(text) => typed(StatusCode::OK, metrics::KIND, text),
            Err(wrong) => plain(wrong.status(), format!("{wrong}\n")),
        }
    }

    fn leave(&self, request: &Request<Incoming>, visitor: &Visitor) -> Reply {
        match self.guard.check_deed(request.headers(), Some(&visitor.token)) {
            Ok(()) => {
                self.guard.leave(visitor);
                json(StatusCode::OK, &routes::Done { said: "signed out".into(), next: Some("/enter".into()) })
            }
            Err(refused) => refusal(refused),
        }
    }

    fn asker(&self) -> Asker {
        Asker { desk: Arc::clone(&self.desk), transcripts: Arc::clone(&self.transcripts) }
    }

    async fn view(&self, room: String, path: Vec<String>, query: String, visitor: Visitor) -> Reply {
        let asker = self.asker();
        let load = if routes::counts_events(&path) { Load::Heavy } else { Load::Light };
        let made = self.workers.run(load, move || {
            let Some((view, parts)) = routes::find(routes::VIEWS, &path) else { return Err(Wrong::NoPage) };
            let ask = asker.ask(visitor, room, parts, &query)?;
            // The page asks for events behind this place, so nothing falls between the look and the stream.
            let place = journal::end(ask.post.room())?;
            let (status, page) = match view(&ask) {
                Ok(page) => (StatusCode::OK, page),
                Err(wrong) => {
                    let (status, what) = (wrong.status(), wrong.to_string());
                    let title =
                        if status == StatusCode::NOT_FOUND { "not found" } else { "that did not work" };
                    (status, Page::new("", title, &WrongPage { what })?)
                }
            };
            let place = page.place.as_ref().unwrap_or(&place);
            Ok((status, page::framed(&ask.desk, &ask.visitor, &ask.room, place, &page)?))
        });
        match made.await.and_then(|made| made) {
            Ok((status, text)) => html(status, Ok(text)),
            Err(wrong) => html(wrong.status(), Err(wrong)),
        }
    }

    async fn file(&self, room: String, path: Vec<String>, visitor: Visitor) -> Reply {
        let asker = self.asker();
        let made = self.workers.run(Load::Light, move || {
            let Some((load, parts)) = routes::find(routes::FILES, &path) else { return Err(Wrong::NoPage) };
            load(&asker.ask(visitor, room, parts, "")?)
        });
        match made.await.and_then(|made| made) {
            Ok(file) => {
                let mut reply = typed(StatusCode::OK, "application/octet-stream", file.bytes);
                // Never shown by the browser, whatever it is.
                let keep = format!("attachment; filename*=UTF-8''{}", encoded(&file.name));
                if let Ok(keep) = HeaderValue::from_str(&keep) {
                    reply.headers_mut().insert(CONTENT_DISPOSITION, keep);
                }
                reply
            }
            Err(wrong) => html(wrong.status(), Err(wrong)),
        }
    }

    async fn deed(
        &self,
        room: String,
        path: Vec<String>,
        request: Request<Incoming>,
        visitor: Visitor,
    ) -> Reply {
        if let Err(refused) = self.guard.check_deed(request.headers(), Some(&visitor.token)) {
            return refusal(refused);
        }
        let body = match http::whole(request.into_body(), REQUEST).await {
            Ok(body) => body,
            Err(refusal) => return closing(refusal),
        };
        let asker = self.asker();
        let done = self.workers.run(Load::Light, move || {
            let Some((deed, parts)) = routes::find(routes::DEEDS, &path) else { return Err(Wrong::NoPage) };
            if visitor.role != Role::Person {
                return Err(Wrong::ReadOnly);
            }
            let body: Value = serde_json::from_slice(&body)
                .map_err(|e| Wrong::Refused(format!("the request is no JSON: {e}")))?;
            deed(&asker.ask(visitor, room, parts, "")?, &body)
        });
        match done.await.and_then(|done| done) {
            Ok(done) => json(StatusCode::OK, &done),
            Err(wrong) => json(wrong.status(), &routes::Done::said(wrong.to_string())),
        }
    }

    async fn events(&self, room: &str, request: &Request<Incoming>, visitor: &Visitor) -> Reply {
        let last = request.headers().get("last-event-id").and_then(|id| id.to_str().ok());
        let query = request.uri().query().unwrap_or_default();
        let asked = query.split('&').find_map(|pair| pair.strip_prefix("after=")).and_then(decoded);
        let after = last.map(str::to_owned).or(asked).and_then(|id| live::place(&id));
        let (asker, live) = (self.asker(), Arc::clone(&self.live));
        let (visitor, room) = (visitor.clone(), room.to_owned());
        let made = self.workers.run(Load::Light, move || {
            let ask = asker.ask(visitor, room, vec![], "")?;
            Ok(live.follow(&ask.desk, &ask.room, &ask.post, after)?)
        });
        match made.await.and_then(|made| made) {
            Ok(events) => {
                let mut reply = Response::new(Stream(events).boxed());
                let kind = HeaderValue::from_static("text/event-stream");
                reply.headers_mut().insert(CONTENT_TYPE, kind);
                reply
            }
            Err(wrong) => plain(wrong.status(), format!("{wrong}\n")),
        }
    }
}

/// The events of a room, as the body of an answer.
struct Stream(Receiver<Bytes>);

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
