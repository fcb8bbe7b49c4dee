//! The guard: who may see the page, and who may act on it.
//!
//! A request must use a name by which this server is known (`Host`). A code that is shown once, on the person's terminal,
//! becomes a cookie; only digests of cookies are kept, and only in memory, so no file gives an agent the person's word. A
//! request that changes something must also come from a page of this server (`Origin`), as JSON, with a token that was given
//! once, beside the cookie, and that browsers keep for this server alone: cookies do not tell ports apart, so another server
//! on this machine that the person visits sees the cookie. Without a person at the terminal every session is a reader's.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderMap, ORIGIN};
use hyper::{Request, StatusCode};
use sha2::{Digest, Sha256};

use super::codes;
use super::names::Origin;
use crate::desk::Desk;
use crate::hex;
use crate::http::{bearer, has_one_host, is_same};
use crate::random;

/// The header with the token of the page.
pub(super) const TOKEN_HEADER: &str = "x-postroom";

/// The number of sessions that are kept. The oldest goes first.
const SESSIONS: usize = 64;

type Hash = [u8; 32];

/// What a session may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Reader,
    Person,
}

impl Role {
    /// What the browser of the one who started the server may do.
    pub(super) fn of(desk: &Desk) -> Self {
        if desk.person.is_some() { Self::Person } else { Self::Reader }
    }
}

/// A browser that has shown the code.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    pub(super) role: Role,
    /// What a request that changes something has to carry.
    pub(super) token: String,
}

/// Why a request goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Another host name, another origin, or not as a page of this server would ask.
    Forbidden(&'static str),
    /// The code was not shown.
    Stranger,
}

impl Refused {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Stranger => StatusCode::UNAUTHORIZED,
        }
    }
}

#[derive(Debug)]
pub(super) struct Guard {
    /// What browsers may call this server, exactly.
    origins: Vec<Origin>,
    cookie: String,
    role: Role,
    /// The digest of the code that nobody has used yet.
    code: Mutex<Option<Hash>>,
    /// Tells that it was used.
    used: Condvar,
    sessions: Mutex<Sessions>,
    /// The digest of the token of scrapers, which may see the figures and nothing else.
    scrapers: Option<Hash>,
}

#[derive(Debug, Default)]
struct Sessions {
    known: HashMap<Hash, (u64, String)>,
    count: u64,
}

impl Guard {
    pub(super) fn new(origins: Vec<Origin>, port: u16, role: Role) -> Self {
        // Browsers do not tell ports apart when they keep cookies.
        let cookie = format!("postroom-{port}");
        let (code, used) = (Mutex::default(), Condvar::new());
        Self { origins, cookie, role, code, used, sessions: Mutex::default(), scrapers: None }
    }

    /// What everybody who enters may do.
    pub(super) fn role(&self) -> Role {
        self.role
    }

    pub(super) fn admit_scrapers(&mut self, token: &str) {
        self.scrapers = Some(hash(token));
    }

    /// Whether a request shows the token of scrapers.
    pub(super) fn is_scraper(&self, headers: &HeaderMap) -> bool {
        let given = bearer(headers).map(hash);
        given.zip(self.scrapers).is_some_and(|(given, known)| is_same(&given, &known))
    }

    /// A new code. The one before it is no longer valid.
    pub(super) fn new_code(&self) -> String {
        let code = codes::new();
        *lock(&self.code) = Some(hash(&codes::meant(&code)));
        code
    }

    /// Sleeps until the code was used.
    pub(super) fn wait_until_used(&self) {
        let code = lock(&self.code);
        drop(self.used.wait_while(code, |code| code.is_some()).unwrap_or_else(PoisonError::into_inner));
    }

    /// Checks the host name and the origin of a request, before anything else is read.
    pub(super) fn check_host<B>(&self, request: &Request<B>) -> Result<(), Refused> {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !has_one_host(request) || !self.origins.iter().any(|known| known.has_host(host)) {
            return Err(Refused::Forbidden("this server is not known by that name (--host)"));
        }
        let is_own = |origin: &str| self.origins.iter().any(|known| known.is(origin));
        match request.headers().get(ORIGIN) {
            Some(origin) if !is_own(origin.to_str().unwrap_or_default()) => {
                Err(Refused::Forbidden("the request comes from another page"))
            }
            _ => Ok(()),
        }
    }

    /// The visitor, by its cookie.
    pub(super) fn visitor(&self, headers: &HeaderMap) -> Result<Visitor, Refused> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut own = cookies.flat_map(|value| value.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then(|| hash(value))
        });
        let sessions = lock(&self.sessions);
        let found = own.find_map(|given| {
            sessions
                .known
                .iter()
                .find(|(known, _)| is_same(*known, &given))
                .map(|(_, (_, token))| token.clone())
        });
        found.map(|token| Visitor { role: self.role, token }).ok_or(Refused::Stranger)
    }

    /// Whether a request that changes something comes from a page of this server.
    pub(super) fn check_deed(&self, headers: &HeaderMap, token: Option<&str>) -> Result<(), Refused> {
        if headers.get(ORIGIN).is_none() {
            return Err(Refused::Forbidden("a header `Origin` is needed"));
        }
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Refused::Forbidden("only JSON is taken"));
        }
        let given = headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok());
        let is_right = match (given, token) {
            (Some(given), Some(token)) => is_same(&hash(given), &hash(token)),
            // Before there is a session, the header alone shows that a script of this server asks.
            (Some(_), None) => true,
            (None, _) => false,
        };
        if is_right { Ok(()) } else { Err(Refused::Forbidden("the token of the page is missing")) }
    }

    /// Uses up the code. Returns the cookie to set, and the token. `is_secure`: the browser speaks TLS with a proxy.
    pub(super) fn enter(&self, code: &str, is_secure: bool) -> Result<(String, String), Refused> {
        let mut known = lock(&self.code);
        if !known.is_some_and(|known| is_same(&known, &hash(&codes::meant(code)))) {
            return Err(Refused::Stranger);
        }
        *known = None;
        self.used.notify_all();
        let (secret, token) = (secret(), secret());
        let mut sessions = lock(&self.sessions);
        sessions.count += 1;
        let number = sessions.count;
        sessions.known.insert(hash(&secret), (number, token.clone()));
        sessions.known.retain(|_, (known, _)| *known + SESSIONS as u64 > number);
        let secure = if is_secure { "; Secure" } else { "" };
        Ok((format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie), token))
    }

    /// Ends the sessions of a request's cookie.
    pub(super) fn leave(&self, visitor: &Visitor) {
        lock(&self.sessions).known.retain(|_, (_, token)| *token != visitor.token);
    }
}

fn secret() -> String {
    hex::of(&[random::bytes(), random::bytes()].concat())
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::names::Name;

    const HOST_NAME: &str = "127.0.0.1:8026";

    fn guard() -> Guard {
        let origins = ["127.0.0.1", "localhost"].map(|name| name.parse::<Name>().unwrap().origin(8026));
        Guard::new(origins.to_vec(), 8026, Role::Person)
    }

    fn request(headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::new(());
        for (name, value) in headers {
            let name: hyper::header::HeaderName = name.parse().unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        request
    }

    fn entered(guard: &Guard) -> String {
        let (cookie, _) = guard.enter(&guard.new_code(), false).unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    #[test]
    fn only_the_exact_host_is_answered() {
        let guard = guard();
        assert!(guard.check_host(&request(&[("host", HOST_NAME)])).is_ok());
        assert!(guard.check_host(&request(&[("host", "localhost:8026")])).is_ok());
        for wrong in ["evil.example", "127.0.0.1", "127.0.0.1.evil:8026", "127.0.0.1:1", "[::1]:8026", ""] {
            assert!(guard.check_host(&request(&[("host", wrong)])).is_err(), "{wrong}");
        }
        assert!(guard.check_host(&request(&[])).is_err());
        assert!(guard.check_host(&request(&[("host", HOST_NAME), ("host", "evil.example")])).is_err());
        for origin in ["http://evil.example", "null", "https://127.0.0.1:8026"] {
            assert!(
                guard.check_host(&request(&[("host", HOST_NAME), ("origin", origin)])).is_err(),
                "{origin}"
            );
        }
    }

    #[test]
    fn a_code_is_good_once_and_only_the_newest() {
        let guard = guard();
        assert_eq!(guard.enter("", false).unwrap_err(), Refused::Stranger);
        let (old, new) = (guard.new_code(), guard.new_code());
        assert!(guard.enter(&old, false).is_err());
        let (cookie, _) = guard.enter(&new, true).unwrap();
        assert!(cookie.ends_with("; Secure"), "{cookie}");
        assert!(guard.enter(&new, false).is_err());
    }

    #[test]
    fn a_cookie_is_needed_and_can_be_left() {
        let guard = guard();
        let cookie = entered(&guard);
        let with = request(&[("cookie", &format!("other=1; {cookie}"))]);
        let visitor = guard.visitor(with.headers()).unwrap();
        assert_eq!(visitor.role, Role::Person);
        assert!(guard.visitor(request(&[("cookie", "postroom-8026=0")]).headers()).is_err());
        guard.leave(&visitor);
        assert!(guard.visitor(with.headers()).is_err());
    }

    #[test]
    fn a_deed_needs_origin_json_and_the_token_of_the_page() {
        let guard = guard();
        let all = [
            ("origin", "http://127.0.0.1:8026"),
            ("content-type", "application/json"),
            (TOKEN_HEADER, "token"),
        ];
        assert!(guard.check_deed(request(&all).headers(), Some("token")).is_ok());
        assert!(guard.check_deed(request(&all).headers(), Some("other")).is_err());
        for without in 0..all.len() {
            let some: Vec<_> =
                all.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, h)| *h).collect();
            assert!(guard.check_deed(request(&some).headers(), Some("token")).is_err(), "{without}");
        }
        let form = [all[0], ("content-type", "application/x-www-form-urlencoded"), all[2]];
        assert!(guard.check_deed(request(&form).headers(), Some("token")).is_err());
    }

    #[test]
    fn old_sessions_make_room() {
        let guard = guard();
        let first = entered(&guard);
        (0..SESSIONS).for_each(|_| drop(entered(&guard)));
        assert!(guard.visitor(request(&[("cookie", &first)]).headers()).is_err());
        assert_eq!(lock(&guard.sessions).known.len(), SESSIONS);
    }
}
