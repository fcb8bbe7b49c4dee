//! `postroom hook`: called by agent programs. It never breaks the agent: on any error it prints nothing and exits 0.
//! The one exception is exit code 2, which wakes an idle session of a program that asks for it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::hook_call::{Call, begin, is_push, read};
use super::keeper;
use super::output::note;
use super::shown::Shown;
use super::surroundings;
use super::surroundings::ThisProcess;
use super::verbs::{Entry, Group};
use super::waker;
use crate::agents::answer::{self, Input};
use crate::agents::launch::TYPES;
use crate::agents::notice;
use crate::agents::programs::{self, Context as Shape, Event, Wake};
use crate::agents::shown;
use crate::agents::verify::PROBE;
use crate::mailbox::Folder;
use crate::mailbox::reading::Header;
use crate::message::visible;
use crate::post::{Attached, Error, Failure, Me, News, Opened, Post};
use crate::room;
use crate::session::Session;
use crate::session::running::{self, Work};
use crate::session::told::Mark;
use crate::span;
use crate::surroundings::{Environment, agent_process, is_attended, sessions};

/// How long a program may take until it sees arriving files, at the start or after a setup. Mail of that time is looked
/// for afterwards.
const SETTLED: Duration = Duration::from_secs(5);

/// The most text of messages in one notice, in bytes. Programs cut longer answers of hooks.
const BODIES: usize = 6000;

/// The exit code that wakes a session.
const WAKES: u8 = 2;

/// Called by agent programs at moments of a session; `postroom install` registers it
///
/// Reads the program's JSON on standard input and prints an answer that the program understands, or nothing.
#[derive(Debug, Args)]
pub(super) struct Hook {
    /// claude, codex, gemini, opencode or copilot
    program: String,
    /// session-start, prompt, tool-end, stop, mail, watch or session-end
    event: String,
    /// The mailbox to use if the session has none
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Show bodies of up to so many bytes
    #[arg(long, value_name = "BYTES")]
    bodies: Option<usize>,
    /// How long mail is left to the other hooks of a session that works
    #[arg(long, value_name = "SPAN", default_value = "30", value_parser = span::parse, hide = true)]
    patience: Duration,
    /// Allows typing into tmux to wake it
    #[arg(long, hide = true)]
    type_into_tmux: bool,
    /// The path by which the shell of the session calls postroom
    #[arg(long, value_name = "PATH", hide = true)]
    called: Option<String>,
}

/// The table row of this verb, which ends in its own way.
pub(super) const ENTRY: Entry =
    Entry { name: "hook", group: Group::Hidden, is_common: false, command: super::command::<Hook>, run };

fn run(entry: &Entry, arguments: Vec<OsString>) -> ExitCode {
    let (hook, globals) = match super::parsed::<Hook>((entry.command)(), entry.name, &arguments) {
        Ok(parsed) => parsed,
        Err(e) if e.use_stderr() => return quietly(&e.to_string()),
        Err(e) => return super::show(&e.render().to_string()),
    };
    let mut context = Context::new(&globals);
    match hook.answer(&mut context) {
        Ok(true) => ExitCode::from(WAKES),
        Ok(false) => match context.output.flush() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => quietly(&e.to_string()),
        },
        Err(Fail::Post(e)) => quietly(&e.to_string()),
        Err(Fail::Told(_, why, _)) => quietly(&why),
        Err(Fail::Output(e)) => quietly(&e.to_string()),
        Err(Fail::Code(_)) => ExitCode::SUCCESS,
    }
}

/// The agent goes on after any error; the reason is there for a person who looks.
fn quietly(why: &str) -> ExitCode {
    note(&format!("postroom hook: {}", crate::message::visible::text(why)));
    ExitCode::SUCCESS
}

impl Hook {
    /// Prints the answer. Returns whether to wake the session.
    fn answer(&self, context: &mut Context) -> Result<bool, Fail> {
        let bytes = read();
        let input = Input::parse(&bytes);
        let usage = |what: &str| Fail::Told(Failure::Usage, format!("there is no {what}"), vec![]);
        let program = programs::find(&self.program).ok_or_else(|| usage("such program"))?;
        let event = Event::parse(&self.event).ok_or_else(|| usage("such event"))?;
        let is_for_nobody = match event {
            Event::Watch => !input.file_path.as_deref().is_some_and(running::is_own),
            // A part of the session would hear it, and not the session.
            _ => input.agent_id.is_some(),
        };
        if is_for_nobody {
            return Ok(false);
        }
        if event == Event::Mail && program.wake == Wake::Rewake {
            if !is_attended(&ThisProcess) {
                return Ok(false);
            }
            let is_set_up = input.file_path.as_deref().is_some_and(running::is_own);
            if is_set_up || input.hook_event_name.as_deref() == Some("SessionStart") {
                crate::mailbox::pause(SETTLED);
            }
        }
        if let Some(nonce) = ThisProcess.text(PROBE) {
            // `install` asks whether its hooks are called. This session is nobody's.
            if event == Event::Start {
                context.output.text(&answer::shaped(program, event, &input, &visible::line(&nonce), &[]));
            }
            return Ok(false);
        }
        let call = Call { program, event, input: &input, bytes: &bytes };
        let session = input.session_id.clone().map(|id| Session { program: program.word.to_owned(), id });
        context.here = input.cwd.as_deref().map(Path::new).and_then(|path| path.canonicalize().ok());
        let parent = surroundings::parent();
        let is_daemon = if program.own_process { Some(false) } else { shown::is_daemon(parent) };
        if is_daemon == Some(true) {
            // It is that of the terminal which started the daemon.
            context.surroundings.mailbox_id = None;
        }
        let process = match event {
            Event::Start | Event::End if is_daemon == Some(false) => agent_process(&ThisProcess, parent),
            // A command in the session made the binding, and does not know the process.
            Event::Stop if program.context == Shape::Plugin => agent_process(&ThisProcess, parent),
            // Its sessions may share a process, but a terminal shows one of them at a time.
            Event::Start | Event::Prompt | Event::Stop if program.wake == Wake::Queue => {
                shown::process(program, &input, context.clock().now().seconds())
            }
            // An extension asks for a session that has not started: its process is known from the one before.
            Event::Mail if program.begins_silently() => {
                sessions(&ThisProcess).and_then(|sessions| running::process_above(&sessions))
            }
            _ => None,
        };
        if let Some(process) = process.filter(|_| event != Event::End) {
            keeper::stay(process);
        }
        if matches!(event, Event::Start | Event::Mail)
            && let (Some(session), Some(process)) = (&session, process)
        {
            begin(context, &call, session, process)?;
        }
        let post = match context.post_of(session.clone()) {
            Err(Fail::Post(Error::Room(room::Error::NoRoom { .. }))) if event == Event::Start => {
                self.begin_without_room(context, &call, session.as_ref())?;
                return Ok(false);
            }
            other => other?,
        };
        match event {
            Event::End => {
                waker::leave(program, &input)?;
                // Copilot CLI says the same whether the person leaves or begins anew.
                post.detach(process, input.is_cleared() || program.wake == Wake::Plugin)?;
                return Ok(false);
            }
            Event::Start if post.is_twin(event.as_str(), &bytes)? => return Ok(false),
            // Its extension outlives it for a moment, and must not take the mail of the next session.
            Event::Mail if post.is_left_behind()? => return Ok(false),
            _ => {}
        }
        let text = match post.attach(self.name.as_deref(), process)? {
            Attached::Mailbox(me) => return self.tell(context, post, &call, &me),
            Attached::Held { name } if event == Event::Start => notice::held(&name),
            Attached::Nobody if event == Event::Start => notice::NOBODY.to_owned(),
            // It was queued for a mailbox that another session has taken over since.
            _ if event == Event::Prompt && program.wake == Wake::Queue && is_push(program, &input) => {
                context.output.text(&answer::dropped(notice::LOST));
                return Ok(false);
            }
            _ => return Ok(false),
        };
        let watch = call.watched(post, None)?;
        let text = self.with_path(text);
        context.output.text(&answer::shaped(program, event, &input, &text, &watch));
        Ok(false)
    }

    /// A session begins where no room is: a setup inside makes one, and its program is to hear of that.
    fn begin_without_room(
        &self,
        context: &mut Context,
        call: &Call<'_>,
        session: Option<&Session>,
    ) -> Result<(), Fail> {
        let watches = call.program.wake == Wake::Rewake && is_attended(&ThisProcess);
        let own = match (session, sessions(&ThisProcess).filter(|_| watches)) {
            (Some(session), Some(sessions)) => Some(session.watched_in(&sessions).map_err(Error::from)?),
            _ => None,
        };
        let watch: Vec<String> = own.iter().map(|dir| dir.display().to_string()).collect();
        let text = self.with_path(notice::NOBODY.to_owned());
        context.output.text(&answer::shaped(call.program, call.event, call.input, &text, &watch));
        Ok(())
    }

    fn tell(&self, context: &mut Context, post: &Post, call: &Call<'_>, me: &Me) -> Result<bool, Fail> {
        let Call { program, event, input, .. } = *call;
        if matches!(event, Event::Start | Event::Prompt | Event::Stop) && !is_push(program, input) {
            // An installation allows it in the hook, and one start by a variable.
            let types = self.type_into_tmux || ThisProcess.text(TYPES).is_some();
            waker::stay(context, program, input, types)?;
        }
        let news = match event {
            Event::Start => {
                if !input.is_compacted() {
                    post.works(Work::Idle)?;
                }
                let watch = call.watched(post, Some(me))?;
                let needs_name = program.session.is_none() && !program.own_process;
                let text = notice::beginning(me.shown(), post.known_count(me)?, needs_name);
                let text = self.with_path(text);
                context.output.text(&answer::shaped(program, event, input, &text, &watch));
                return Ok(false);
            }
            Event::Watch => {
                let watch = call.watched(post, Some(me))?;
                if !watch.is_empty() {
                    context.output.text(&answer::watching(program, event, input, &watch));
                }
                return Ok(false);
            }
            Event::Mail => return self.wake(context, post, call, me),
            // The terminal may have been closed since it was queued: nobody would see what the session does.
            Event::Prompt
                if program.wake == Wake::Queue
                    && is_push(program, input)
                    && !waker::is_shown(program, input)? =>
            {
                // The mail wakes it when a terminal shows it again.
                post.forget_wakes(me)?;
                context.output.text(&answer::dropped(notice::UNSEEN));
                return Ok(false);
            }
            Event::Prompt if is_push(program, input) => {
                if post.is_twin(event.as_str(), call.bytes)? {
                    return Ok(false);
                }
                post.works(Work::Busy)?;
                // The headers come with the line, so that it need not ask for them.
                let news = post.news(me, Mark::Told)?;
                // A push waits in a queue while the session works; it must not cost a turn for mail that it knows.
                if news.is_none() && program.wake == Wake::Queue {
                    context.output.text(&answer::dropped(notice::LATE));
                }
                news
            }
            Event::Stop => {
                // A session that is held up already is not held up again: some would go on without end.
                let news = if input.stop_hook_active { None } else { call.news(post, me)? };
                post.works(if news.is_some() { Work::Busy } else { Work::Idle })?;
                news
            }
            Event::Prompt | Event::ToolEnd | Event::End => {
                post.works(Work::Busy)?;
                call.news(post, me)?
            }
        };
        let watch = call.watched_at_rest(post, me)?;
        match news {
            Some(news) => self.show(context, post, call, me, &news, &watch)?,
            None if watch.is_empty() => {}
            None => context.output.text(&answer::shaped(program, event, input, "", &watch)),
        }
        Ok(false)
    }

    /// The notice at the start, with how to call postroom where the shell does not find it.
    fn with_path(&self, text: String) -> String {
        match &self.called {
            Some(path) => format!("{text} {}", notice::called(path)),
            None => text,
        }
    }

    /// Wakes the session, if there is mail that it does not know of.
    fn wake(&self, context: &mut Context, post: &Post, call: &Call<'_>, me: &Me) -> Result<bool, Fail> {
        if call.program.wake != Wake::Rewake {
            // Our plugin asks, and watches what is named here. An empty text wakes nobody.
            let wakes = post.news(me, Mark::Woken)?.is_some();
            let (text, watch) = (if wakes { notice::WAKE } else { "" }, call.watched(post, Some(me))?);
            context.output.text(&answer::shaped(call.program, call.event, call.input, text, &watch));
            return Ok(false);
        }
        let Some(news) = post.news_when_idle(me, self.patience)? else { return Ok(false) };
        if writeln!(io::stderr(), "{}", notice::WAKE).is_err() {
            post.not_told(me, &news)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Writes a notice. Bodies in it count as shown once they were written; what could not be written may be told again.
    fn show(
        &self,
        context: &mut Context,
        post: &Post,
        call: &Call<'_>,
        me: &Me,
        news: &News,
        watch: &[String],
    ) -> Result<(), Fail> {
        let mut opened = self.bodies.map(|most| post.open_news(me, news, most)).unwrap_or_default();
        let mut bodies = String::new();
        let shown = |opened: &Opened| {
            let stays = me.mailbox.awaits_answer(&opened.message.envelope);
            let folder = if stays { Folder::Inbox } else { Folder::Archive };
            let path = me.mailbox.path(folder, &opened.name);
            Shown { path, stays, ..Shown::default() }.text(context, post, &me.id, opened)
        };
        opened.retain(|opened| {
            let text = shown(opened);
            let fits = bodies.len() + text.len() <= BODIES;
            if fits {
                bodies.push_str(&text);
            }
            fits
        });
        let is_shown = |name: &str| opened.iter().any(|opened| opened.name == name);
        let rest: Vec<Header> =
            news.headers.iter().filter(|header| !is_shown(&header.name)).cloned().collect();
        let mut text = String::new();
        if !opened.is_empty() {
            text = notice::with_bodies(me.shown(), opened.len()) + &bodies;
        }
        if news.count > opened.len() {
            let count = news.count - opened.len();
            text += &notice::headers(me.shown(), count, &rest, |envelope| post.sender_shown(envelope));
        }
        context.output.text(&answer::shaped(call.program, call.event, call.input, &text, watch));
        if let Err(e) = context.output.flush() {
            post.not_told(me, news)?;
            return Err(Fail::Output(e));
        }
        opened.iter().try_for_each(|opened| post.shown(me, opened))?;
        Ok(())
    }
}
