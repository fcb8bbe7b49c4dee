//! The context of one command: its environment, its room, its identity, and its output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::fail::Fail;
use super::output::{Output, note};
use super::surroundings::{self, ThisProcess};
use super::{FirstWord, Globals, find_verb, notify, terminal};
use crate::clock::{Clock, SystemClock};
use crate::hint::{Hint, Present};
use crate::message::visible;
use crate::person;
use crate::post::{Caller, Error, Failure, Me, Post};
use crate::room::Room;
use crate::rooms::Located;
use crate::session::{Session, running};
use crate::surroundings::{
    Surroundings, Wanted, bound_root, config, nearest_tree, room, rooms, sessions, worktrees,
};
use crate::view::check::RoomPlace;

/// The context that every verb gets.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) output: Output,
    /// What the environment says about the caller.
    pub(super) surroundings: Surroundings,
    /// The room's directory; empty until it was located.
    pub(super) root: PathBuf,
    /// The room's name, if it has one.
    pub(super) room: Option<String>,
    /// The directory from which rooms are located, if it is not the working directory.
    pub(super) here: Option<PathBuf>,
    /// Set when the work is done and only its receipt is left to write.
    pub(super) done: bool,
    /// Set where the command line is a person's, also in the session of an agent.
    pub(super) by_settings: bool,
    pub(super) globals: Globals,
    present: Present,
}

impl Context {
    pub(super) fn new(globals: &Globals) -> Self {
        let mut surroundings = Surroundings::of(&ThisProcess);
        // The shell of some programs does not tell the session; the process above it does.
        if let Some(program) = surroundings.program_without_session() {
            let above = sessions(&ThisProcess).and_then(|sessions| running::above(&sessions));
            surroundings.session = above.filter(|session| session.program == program);
        }
        Self {
            output: Output::new(globals.json, globals.quiet),
            surroundings,
            root: PathBuf::new(),
            room: None,
            here: None,
            done: false,
            by_settings: false,
            globals: globals.clone(),
            present: present(globals),
        }
    }

    /// A hint as one line, which can be pasted if it is a command.
    pub(super) fn hint(&self, hint: impl Into<Hint>) -> String {
        visible::text(&hint.into().line(&self.present))
    }

    /// What this process was called with, for hints that are given later.
    pub(super) fn present(&self) -> Present {
        self.present.clone()
    }

    /// A remark on standard error, with what to do about it.
    pub(super) fn warn(&self, what: &str, hint: impl Into<Hint>) {
        note(&format!("postroom: {what}\n  {}", self.hint(hint)));
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    /// Opens the room of this command.
    pub(super) fn post(&mut self) -> Result<&'static Post, Fail> {
        self.post_for_now().map(for_good)
    }

    /// Opens the room for callers that open it repeatedly.
    pub(super) fn post_for_now(&mut self) -> Result<Post, Fail> {
        self.locate()?;
        Ok(Post::open(&self.root, self.caller(), self.clock())?)
    }

    /// Opens the room, or creates it. A repository without a room gets one.
    pub(super) fn post_or_new(&mut self) -> Result<&'static Post, Fail> {
        let mut located = self.locate()?;
        located.assign()?;
        (self.root, self.room) = (located.root, located.name);
        Ok(for_good(Post::open_or_make(&self.root, self.caller(), self.clock())?))
    }

    /// Opens the room, or creates it, but does not give a repository a new one.
    pub(super) fn post_or_new_unless_waiting(&mut self) -> Result<&'static Post, Fail> {
        match self.locate()?.is_waiting() {
            true => self.post(),
            false => self.post_or_new(),
        }
    }

    /// Refuses a room that another user could move away while this command uses it.
    pub(super) fn must_stay_in_place(&mut self) -> Result<(), Fail> {
        if self.root.as_os_str().is_empty() {
            self.locate()?;
        }
        Ok(Room::check_above(&self.root).map_err(Error::from)?)
    }

    /// The room, and the mailbox this command acts as.
    pub(super) fn post_and_me(&mut self) -> Result<(&'static Post, Me), Fail> {
        let post = self.post()?;
        let me = post.me()?;
        Ok((post, me))
    }

    /// The room, and the mailbox if this command acts as one: for views open to everybody.
    pub(super) fn post_and_maybe_me(&mut self) -> Result<(&'static Post, Option<Me>), Fail> {
        let post = self.post()?;
        Ok((post, post.maybe_me()?))
    }

    /// Locates the room of this command.
    pub(super) fn locate(&mut self) -> Result<Located, Fail> {
        self.locate_for(self.surroundings.session.clone().as_ref())
    }

    /// The room of the project, for verbs about its agents and workflows. In the session of an agent whose mail is in
    /// another room, a flag has to choose.
    pub(super) fn project_post(&mut self) -> Result<&'static Post, Fail> {
        let located = self.locate_for(None)?;
        let bound = bound_root(&ThisProcess, self.surroundings.session.as_ref())?;
        if let Some(bound) = bound.filter(|bound| !self.is_room_named() && *bound != located.root) {
            let (bound, own) = (bound.display(), self.room_shown());
            let why = format!("this session's mail is in {bound}, and this project's room is {own}");
            return Err(Fail::refused(why, "choose one: --room NAME or --root DIR"));
        }
        let post = for_good(Post::open(&self.root, self.caller(), self.clock())?);
        notify::look_for_dead(self, post);
        Ok(post)
    }

    /// The room of the project, for a command that may run long in it.
    pub(super) fn project_post_for_long(&mut self, long: bool) -> Result<&'static Post, Fail> {
        let post = self.project_post()?;
        if long {
            self.must_stay_in_place()?;
        }
        Ok(post)
    }

    /// Whether a flag names the room.
    pub(super) fn is_room_named(&self) -> bool {
        self.globals.root.is_some() || self.globals.room.is_some()
    }

    fn locate_for(&mut self, session: Option<&Session>) -> Result<Located, Fail> {
        let (root, named) = (self.globals.root.as_deref(), self.globals.room.as_deref());
        let located = room(&ThisProcess, Wanted { root, room: named, session, here: self.here.as_deref() })?;
        self.may_use_root(&located)?;
        if let (Some(old), Some(name)) = (&located.moved_from, &located.name) {
            note(&format!("postroom: this repository was {}; its room `{name}` came with it", old.display()));
        }
        (self.root, self.room) = (located.root.clone(), located.name.clone());
        Ok(located)
    }

    /// The room of this command for a given session.
    pub(super) fn post_of(&mut self, session: Option<Session>) -> Result<&'static Post, Fail> {
        let session = session.or_else(|| self.surroundings.session.clone());
        self.locate_for(session.as_ref())?;
        Ok(for_good(Post::open(&self.root, Caller { session, ..self.caller() }, self.clock())?))
    }

    /// The room that a session is bound to, for a caller that opens it repeatedly.
    pub(super) fn post_of_for_now(&mut self, session: &Session) -> Result<Post, Fail> {
        self.locate_for(Some(session))?;
        let caller = Caller { session: Some(session.clone()), ..self.caller() };
        Ok(Post::open(&self.root, caller, self.clock())?)
    }

    pub(super) fn caller(&self) -> Caller {
        Caller {
            flag: self.globals.acting.clone(),
            environment: self.surroundings.mailbox_id.clone(),
            session: self.surroundings.session.clone(),
            sessions: sessions(&ThisProcess),
            rooms: rooms(&ThisProcess).ok(),
            words: self.present.typed.iter().skip(self.present.verb + 1).cloned().collect(),
            harness: self.surroundings.harness.clone(),
            pid: surroundings::parent(),
            hops: self.surroundings.hops,
            thread: self.surroundings.thread.clone(),
            tree: Some(|| nearest_tree(&ThisProcess)),
            by_agent: self.surroundings.by_agent,
            terminal: !self.surroundings.by_agent,
            started_without_person: false,
            typed: Some(terminal::typed),
            step_sent: Some(crate::workflow::runs::Runs::note_by_agent),
            approvals: config(&ThisProcess).ok().map(|config| config.join("approvals")),
            worktrees: worktrees(&ThisProcess),
            unread_counts: None,
        }
    }

    /// The room of this command, for a document.
    pub(super) fn place(&self) -> RoomPlace {
        RoomPlace { room: self.room.clone(), root: self.root.display().to_string() }
    }

    /// A room for people: its name if it has one, always with its directory.
    pub(super) fn room_shown(&self) -> String {
        match &self.room {
            Some(room) => format!("{room} ({})", self.root.display()),
            None => self.root.display().to_string(),
        }
    }

    /// Ends a verb that found nothing: silent for agents and in JSON, a sentence with the room for people.
    pub(super) fn nothing(&mut self, sentence: &str) -> Fail {
        let room = self.room_shown();
        self.output.remark(&format!("{sentence}, room {room}"));
        Fail::Code(Failure::Nothing)
    }
}

/// What this process was called with.
fn present(globals: &Globals) -> Present {
    let arguments = surroundings::arguments();
    let verb = match find_verb(&arguments) {
        FirstWord::Verb(at) => at - 1,
        FirstWord::Version | FirstWord::Nothing => 0,
    };
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    Present {
        root: globals.root.as_ref().map(|root| root.display().to_string()),
        room: globals.room.clone(),
        acting: globals.acting.clone(),
        typed: arguments.iter().skip(1).map(text).collect(),
        verb,
        is_a_persons: Some(|| person::look(Surroundings::of(&ThisProcess).by_agent).is_ok()),
    }
}

/// Leaks a value that lives as long as the command. A command opens its room once; freeing the names and settings of a
/// large room would cost more than many a command, and the end of the process does it anyway.
pub(super) fn for_good<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
