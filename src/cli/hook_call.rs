//! One call of a hook by an agent program: its input, the session that begins with it, and what the program may watch.

use std::io::{self, Read};

use super::context::Context;
use super::fail::Fail;
use super::surroundings::ThisProcess;
use crate::agents::answer::Input;
use crate::agents::notice;
use crate::agents::programs::{Context as Shape, Event, Program, Wake};
use crate::post::{Error, Me, News, Post};
use crate::process::Process;
use crate::session::Session;
use crate::session::running;
use crate::session::told::Mark;
use crate::surroundings::{is_attended, sessions};

/// How much of the input is parsed. The rest is read and dropped, so that no program finds its pipe closed.
const LIMIT: u64 = 32 * 1024 * 1024;

/// One call of a hook.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) program: &'static Program,
    pub(super) event: Event,
    pub(super) input: &'a Input,
    pub(super) bytes: &'a [u8],
}

impl Call<'_> {
    /// News for a hook that did not bring the line that wakes. Only a queued line can be dropped when it comes.
    pub(super) fn news(&self, post: &Post, me: &Me) -> Result<Option<News>, Fail> {
        Ok(match self.program.wake {
            Wake::Rewake => post.news_unless_woken(me)?,
            Wake::Queue | Wake::Plugin | Wake::Typed => post.news(me, Mark::Told)?,
        })
    }

    /// What the program is to watch: the directory of the session itself, and those in which its mail arrives.
    pub(super) fn watched(&self, post: &Post, me: Option<&Me>) -> Result<Vec<String>, Fail> {
        let own = match self.program.wake {
            Wake::Rewake if is_attended(&ThisProcess) => post.own_dir()?,
            Wake::Plugin => None,
            Wake::Rewake | Wake::Queue | Wake::Typed => return Ok(vec![]),
        };
        let mail = me.map(|me| post.watched(me)).transpose()?.unwrap_or_default();
        Ok(mail.iter().chain(&own).map(|dir| dir.display().to_string()).collect())
    }

    /// What our own plugin is to watch while the session rests: it may have got another mailbox in this turn.
    pub(super) fn watched_at_rest(&self, post: &Post, me: &Me) -> Result<Vec<String>, Fail> {
        match (self.event, self.program.context) {
            (Event::Stop, Shape::Plugin) => self.watched(post, Some(me)),
            _ => Ok(vec![]),
        }
    }
}

/// A session begins in a process: the one that it takes the place of hands its mailbox on.
pub(super) fn begin(
    context: &mut Context,
    call: &Call<'_>,
    session: &Session,
    process: Process,
) -> Result<(), Fail> {
    let Call { program, event, input, .. } = *call;
    let Some(sessions) = sessions(&ThisProcess).filter(|_| program.is_known_by_process()) else {
        return Ok(());
    };
    let before = running::in_process(&sessions, process.pid);
    let is_known = || session.binding(&sessions).map_err(Error::from);
    if before.as_ref() == Some(session) || event == Event::Mail && is_known()?.is_some() {
        return Ok(());
    }
    let is_anew = event == Event::Mail || input.is_new();
    let replaces = input.is_cleared() || program.begins_silently() && is_anew;
    if let Some(before) = before.filter(|_| replaces) {
        context.post_of(Some(before))?.hand_on(session, process)?;
    }
    Ok(running::note(&sessions, session, process).map_err(Error::from)?)
}

/// Whether a prompt is the line that wakes. A program may put words of its own around the line of a hook.
pub(super) fn is_push(program: &Program, input: &Input) -> bool {
    let text = input.prompt.as_deref().unwrap_or_default();
    match program.wake {
        Wake::Queue => text.trim() == notice::WAKE,
        Wake::Rewake => text.contains(notice::WAKE),
        Wake::Plugin | Wake::Typed => false,
    }
}

/// Reads all input, so that the program can finish writing.
pub(super) fn read() -> Vec<u8> {
    let mut bytes = vec![];
    let mut stdin = io::stdin().lock();
    if io::IsTerminal::is_terminal(&stdin) {
        return bytes;
    }
    let _ = stdin.by_ref().take(LIMIT).read_to_end(&mut bytes);
    let _ = io::copy(&mut stdin, &mut io::sink());
    bytes
}
