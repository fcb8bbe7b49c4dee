//! `postroom waker`: stays with the window of a program, and wakes the session in it when mail comes. Started by a hook,
//! once for each window, or with a program that goes on with a session; it ends with the window. It has no terminal, prints nothing, and sleeps until something happens.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::Verb;
use super::companion::{self, Beside};
use super::context::Context;
use super::fail::Fail;
use super::surroundings::{self, ThisProcess};
use crate::agents::answer::Input;
use crate::agents::probe::{self, Pushed};
use crate::agents::programs::{self, Program, Wake};
use crate::agents::shown;
use crate::agents::tmux::Pane;
use crate::mailbox::pause;
use crate::os::Handle;
use crate::post::{self, Attached, Me, Post};
use crate::process::Process;
use crate::session::told::Mark;
use crate::session::window::{self, Window};
use crate::session::{Session, running};
use crate::surroundings::{Environment, sessions};
use crate::wait::Watch;

/// Wake the session in a window; started by hooks
#[derive(Debug, Args)]
pub(super) struct Waker {
    #[command(flatten)]
    beside: Beside,
}

const VERB: &str = "waker";

/// How long a program may take until it has opened the session that it goes on with; a person may choose one first.
const OPENING: Duration = Duration::from_secs(300);

/// The pause between two looks for that session.
const LOOK: Duration = Duration::from_millis(500);

/// How long mail is left to the hooks of a session, which may be working.
const PATIENCE: Duration = Duration::from_secs(3);

/// The pause after a session could not be woken.
const REST: Duration = Duration::from_secs(60);

/// The pause before another look at a window that is in use.
const IN_USE: Duration = Duration::from_secs(5);

/// A hook was called: the window of its session is recorded, and has its waker. `types`: the person allowed typing.
pub(super) fn stay(context: &Context, program: &Program, input: &Input, types: bool) -> Result<(), Fail> {
    let may = match program.wake {
        Wake::Queue => true,
        Wake::Typed => types && pane().is_some(),
        Wake::Rewake | Wake::Plugin => false,
    };
    let Some((sessions, session)) = session_of(program, input).filter(|_| may) else { return Ok(()) };
    let now = context.clock().now().seconds();
    let Some(process) = shown::process(program, input, now) else { return Ok(()) };
    open(&sessions, Window { process, session })?;
    if !window::has_waker(&sessions, process).map_err(post::Error::from)? {
        companion::start(VERB, process);
    }
    Ok(())
}

/// Records a window; the waker hears in the directory of the session that it has another mailbox.
fn open(sessions: &Path, window: Window) -> Result<(), Fail> {
    window.session.watched_in(sessions).map_err(post::Error::from)?;
    Ok(window.record(sessions).map_err(post::Error::from)?)
}

/// A program may go on with a session. It calls no hook before the first prompt, so its waker finds out by itself.
pub(super) fn stay_if_resumed(program: &Program, process: Process) {
    if program.wake == Wake::Queue {
        companion::start(VERB, process);
    }
}

/// The session of a hook has ended.
pub(super) fn leave(program: &Program, input: &Input) -> Result<(), Fail> {
    let Some((sessions, session)) = session_of(program, input) else { return Ok(()) };
    Ok(window::close(&sessions, &session).map_err(post::Error::from)?)
}

/// Whether a window shows the session of a hook.
pub(super) fn is_shown(program: &Program, input: &Input) -> Result<bool, Fail> {
    let Some((sessions, session)) = session_of(program, input) else { return Ok(false) };
    Ok(Window::showing(&sessions, &session).map_err(post::Error::from)?.is_some())
}

fn session_of(program: &Program, input: &Input) -> Option<(PathBuf, Session)> {
    let id = input.session_id.clone()?;
    Some((sessions(&ThisProcess)?, Session { program: program.word.to_owned(), id }))
}

/// The pane of tmux around this process.
fn pane() -> Option<Pane> {
    Pane::of(&ThisProcess.text("TMUX")?, &ThisProcess.text("TMUX_PANE")?)
}

impl Verb for Waker {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let Some(process) = self.beside.begin(VERB) else { return Ok(()) };
        let Some(sessions) = sessions(&ThisProcess) else { return Ok(()) };
        let _ = window::sweep(&sessions);
        if Window::of(&sessions, process).map_err(post::Error::from)?.is_none() {
            resume(context, &sessions, process)?;
        }
        while let Some(only) = window::waker(&sessions, process).map_err(post::Error::from)? {
            while let Some(window) = Window::of(&sessions, process).ok().flatten().filter(Window::is_open) {
                // Errors pass: a disk may be full, a room may be moved.
                let rest = attend(context, &sessions, &window).unwrap_or(REST);
                if !rest.is_zero() {
                    sleep(&sessions, &window, &[], rest);
                }
            }
            // A hook may have recorded the next session meanwhile, and left it to this process.
            let is_over = window::remove(&sessions, process).unwrap_or(true);
            drop(only);
            if is_over {
                break;
            }
        }
        Ok(())
    }
}

/// Waits until a program has opened a session that it goes on with, and records its window, if the session has a mailbox
/// that is still its own. A hook may be faster.
fn resume(context: &mut Context, sessions: &Path, process: Process) -> Result<(), Fail> {
    let Some(program) = programs::PROGRAMS.iter().find(|program| program.wake == Wake::Queue) else {
        return Ok(());
    };
    let clock = context.clock();
    let began = clock.boot();
    let id = loop {
        let Some(handle) = Handle::of(process.pid).filter(|_| process.is_running()) else { return Ok(()) };
        let is_known = Window::of(sessions, process).map_err(post::Error::from)?.is_some();
        if is_known || clock.boot().saturating_sub(began) > OPENING {
            return Ok(());
        }
        if let Some(id) = shown::open_session(program, process.pid) {
            break id;
        }
        Watch::on_changes(std::iter::empty::<&Path>()).while_running(handle).sleep(LOOK);
    };
    let session = Session { program: program.word.to_owned(), id };
    if session.binding(sessions).map_err(post::Error::from)?.is_none() {
        // It begins, and its hook says which mailbox it has.
        return Ok(());
    }
    let post = context.post_of_for_now(&session)?;
    context.must_stay_in_place()?;
    if let Attached::Mailbox(_) = post.attach(None, Some(process))? {
        running::note(sessions, &session, process).map_err(post::Error::from)?;
        open(sessions, Window { process, session })?;
    }
    Ok(())
}

/// Waits for mail of a window's session once, and wakes it. Returns how long to leave it alone after that.
fn attend(context: &mut Context, sessions: &Path, window: &Window) -> Result<Duration, Fail> {
    let Some((post, me)) = mailbox(context, sessions, window)? else {
        // A hook says when there is something to wake for.
        sleep(sessions, window, &[], Duration::MAX);
        return Ok(Duration::ZERO);
    };
    // Before the look, so that no event is missed between.
    let Some(mut watch) = watch(sessions, window, &post.watched(&me)?) else { return Ok(Duration::ZERO) };
    if !post.is_news(&me, &window.session)? {
        watch.sleep(Duration::MAX);
        return Ok(Duration::ZERO);
    }
    pause(PATIENCE);
    Ok(wake(&post, &me, window)?)
}

fn sleep(sessions: &Path, window: &Window, dirs: &[PathBuf], limit: Duration) {
    if let Some(mut watch) = watch(sessions, window, dirs) {
        watch.sleep(limit);
    }
}

/// Watches directories and a window; `None` if that shows something else already.
fn watch(sessions: &Path, window: &Window, dirs: &[PathBuf]) -> Option<Watch> {
    let handle = Handle::of(window.process.pid)?;
    let own = [Some(window.dir(sessions)), window.session.watched_if_any(sessions)];
    let watch = Watch::on_changes(dirs.iter().chain(own.iter().flatten())).while_running(handle);
    let shown = Window::of(sessions, window.process).ok().flatten();
    shown.filter(|shown| shown == window && window.is_open()).map(|_| watch)
}

/// The mailbox of the session in a window, if it has one and holds it.
fn mailbox(context: &mut Context, sessions: &Path, window: &Window) -> Result<Option<(Post, Me)>, Fail> {
    let session = &window.session;
    let bound = session.binding(sessions).map_err(post::Error::from)?;
    if bound.is_none_or(|bound| bound.ended) {
        return Ok(None);
    }
    let post = context.post_of_for_now(session)?;
    context.must_stay_in_place()?;
    let mine = post.sessions(&session.program)?.into_iter().find(|(held, _)| held == session);
    Ok(mine.map(|(_, me)| (post, me)))
}

/// Looks again, notes the message, and pushes; a push that surely failed is not noted.
fn wake(post: &Post, me: &Me, window: &Window) -> Result<Duration, post::Error> {
    let Some(program) = programs::find(&window.session.program).filter(|_| window.is_open()) else {
        return Ok(Duration::ZERO);
    };
    let typed = (program.wake == Wake::Typed).then(pane);
    // A turn that runs, a draft or a question is left alone, and the mail is not noted.
    if typed.as_ref().is_some_and(|pane| pane.as_ref().is_none_or(|pane| !pane.is_ready(window.process.pid)))
    {
        return Ok(IN_USE);
    }
    let Some(news) = post.news_for(me, &window.session, Mark::Woken)? else { return Ok(Duration::ZERO) };
    let pushed = match typed.flatten() {
        Some(pane) => pane.push(window.process.pid),
        None => queued(program, window),
    };
    match pushed {
        Pushed::Yes => Ok(Duration::ZERO),
        Pushed::No(_) => {
            post.not_woken(me, &window.session, &news)?;
            Ok(REST)
        }
        // It may have arrived, so it is not repeated.
        Pushed::Perhaps(_) => Ok(REST),
    }
}

fn queued(program: &Program, window: &Window) -> Pushed {
    match surroundings::on_path(program.word) {
        None => Pushed::No(format!("{} is not on the search path", program.word)),
        Some(file) => probe::push(&file, &window.session.id),
    }
}
