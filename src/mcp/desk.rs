//! The desk: the served room, and the identity of the client.
//!
//! The client's identity comes from the flag, the environment or the session of the program around the server, which
//! may become another while the server runs. Codex sends its session with each call instead. A client without any of these is known by the mailbox that it set up
//! through its own server, for as long as the server runs; never through a server that several clients share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{JsonObject, RequestMetaObject};

use crate::agents::programs::{PROGRAMS, Program};
use crate::clock::Clock;
use crate::name::MailboxId;
use crate::post::{Caller, Me, Post, Result};
use crate::rooms::Located;
use crate::session::Session;

/// The argument in which a session is added. It is in no schema, and is removed before the arguments are read.
const SESSION_ARGUMENT: &str = "postroom_session";

/// The variable with the key of our plugin.
pub const KEY: &str = "POSTROOM_OPENCODE_KEY";

/// The surroundings of a server. The view that starts it fills them in.
#[derive(Debug, Clone)]
pub struct Desk {
    room: Arc<Mutex<Located>>,
    pub caller: Caller,
    pub clock: Arc<dyn Clock>,
    /// What our plugin for OpenCode puts before a session, so that nobody else can name one.
    pub key: Option<String>,
    /// The mailbox that the only client of this server has set up. `None` if several clients share the server.
    own: Option<Arc<Mutex<Option<MailboxId>>>>,
    /// Looks up the session that the program around this server runs now, if its hooks recorded one.
    pub session_now: Option<fn() -> Option<Session>>,
}

impl Desk {
    /// A desk for one client.
    pub fn for_one(room: Located, caller: Caller, clock: Arc<dyn Clock>) -> Self {
        let own = Some(Arc::default());
        Self { room: Arc::new(Mutex::new(room)), caller, clock, key: None, own, session_now: None }
    }

    /// A desk for every client with the token.
    pub fn for_all(room: Located, caller: Caller, clock: Arc<dyn Clock>) -> Self {
        Self { room: Arc::new(Mutex::new(room)), caller, clock, key: None, own: None, session_now: None }
    }

    /// The desk for one call. The session that Codex sends counts, unless the caller already has one.
    pub(super) fn at(&self, meta: &RequestMetaObject, program: Option<&str>) -> Self {
        let mut desk = self.clone();
        if let Some(session) = self.session_now.and_then(|look| look()) {
            desk.caller.harness.clone_from(&session.program);
            desk.caller.session = Some(session);
        }
        let thread = meta.get("threadId").and_then(|id| id.as_str());
        let thread = thread.filter(|id| !id.is_empty() && id.len() <= 1024);
        if desk.caller.session.is_none()
            && let Some(id) = thread
        {
            desk.caller.session = Some(Session { program: "codex".to_owned(), id: id.to_owned() });
            desk.caller.harness = "codex".to_owned();
        }
        if desk.caller.harness == "shell" {
            let is_it = |known: &&Program| program.is_some_and(|name| name.contains(known.word));
            desk.caller.harness = PROGRAMS.iter().find(is_it).map_or("mcp", |known| known.word).to_owned();
        }
        if desk.caller.flag.is_none()
            && desk.caller.environment.is_none()
            && let Some(own) = &self.own
        {
            let own = own.lock().unwrap_or_else(PoisonError::into_inner);
            desk.caller.environment = own.as_ref().map(ToString::to_string);
        }
        desk
    }

    /// Takes the session that our plugin for OpenCode adds to the arguments of each call, as `KEY SESSION`.
    pub(super) fn take_session(&mut self, arguments: &mut JsonObject) {
        let Some(added) = arguments.remove(SESSION_ARGUMENT) else { return };
        let session = added.as_str().and_then(|text| text.split_once(' '));
        if let (Some((key, id)), Some(known)) = (session, &self.key)
            && key == known
            && self.caller.session.is_none()
        {
            self.caller.session = Some(Session { program: "opencode".to_owned(), id: id.to_owned() });
            self.caller.harness = "opencode".to_owned();
        }
    }

    /// Remembers the mailbox that the client has set up. `false` if this client cannot be told from others.
    pub(super) fn remember(&self, id: &MailboxId) -> bool {
        let Some(own) = &self.own else { return false };
        *own.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
        true
    }

    /// The directory of the room, which may not exist yet.
    pub(super) fn root(&self) -> PathBuf {
        self.room().root.clone()
    }

    fn room(&self) -> MutexGuard<'_, Located> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn post(&self) -> Result<Post> {
        self.room().look_again()?;
        Post::open(&self.root(), self.caller.clone(), Arc::clone(&self.clock))
    }

    /// The room, created if there is none. A repository without a room gets one.
    pub(super) fn post_or_new(&self) -> Result<Post> {
        self.room().assign()?;
        Post::open_or_make(&self.root(), self.caller.clone(), Arc::clone(&self.clock))
    }

    pub(super) fn post_and_me(&self) -> Result<(Post, Me)> {
        let post = self.post()?;
        let me = post.me()?;
        Ok((post, me))
    }
}
