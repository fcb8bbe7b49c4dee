//! `postroom hook`: called by agent programs. It never breaks the agent: on any error it prints nothing and exits 0.
//! The one exception is exit code 2, which wakes an idle session of a program that asks for it.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings;
use super::surroundings::ThisProcess;
use super::verbs::{Entry, Group};
use crate::agents::answer::{self, Input};
use crate::agents::notice;
use crate::agents::programs::{self, Event, Program, Wake};
use crate::post::{Attached, Failure, Me, News, Post};
use crate::session::Session;
use crate::session::told::Mark;
use crate::surroundings::{agent_process, is_attended};

/// How much of the input is parsed. The rest is read and dropped, so that no program finds its pipe closed.
const LIMIT: u64 = 32 * 1024 * 1024;

/// The exit code that wakes a session.
const WAKES: u8 = 2;

/// Called by agent programs at moments of a session; `postroom install` registers it
///
/// Reads the program's JSON on standard input and prints an answer that the program understands, or nothing.
#[derive(Debug, Args)]
pub(super) struct Hook {
    /// claude, codex, gemini, opencode or copilot
    program: String,
    /// session-start, prompt, tool-end, stop, mail or session-end
    event: String,
    /// The mailbox to use if the session has none
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
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
        let input = Input::parse(&read());
        let usage = |what: &str| Fail::Told(Failure::Usage, format!("there is no {what}"), vec![]);
        let program = programs::find(&self.program).ok_or_else(|| usage("such program"))?;
        let event = Event::parse(&self.event).ok_or_else(|| usage("such event"))?;
        // Checked first: otherwise the session would be held endlessly.
        if event == Event::Stop && input.stop_hook_active {
            return Ok(false);
        }
        let session = input.session_id.clone().map(|id| Session { program: program.word.to_owned(), id });
        context.here = input.cwd.as_deref().map(Path::new).and_then(|path| path.canonicalize().ok());
        let post = context.post_of(session)?;
        if event == Event::End {
            post.detach()?;
            return Ok(false);
        }
        let is_start = event == Event::Start;
        let process = (is_start && program.own_process)
            .then(|| agent_process(&ThisProcess, surroundings::parent()))
            .flatten();
        let text = match post.attach(self.name.as_deref(), process)? {
            Attached::Mailbox(me) => return self.tell(context, post, program, event, &input, &me),
            Attached::Held { name } if is_start => notice::held(&name),
            Attached::Nobody if is_start => notice::nobody(),
            _ => return Ok(false),
        };
        context.output.text(&answer::shaped(program, event, &input, &text, &[]));
        Ok(false)
    }

    fn tell(
        &self,
        context: &mut Context,
        post: &Post,
        program: &Program,
        event: Event,
        input: &Input,
        me: &Me,
    ) -> Result<bool, Fail> {
        let mut watch = vec![];
        let text = match event {
            Event::Start => {
                let watches = match program.wake {
                    Wake::Rewake => is_attended(&ThisProcess),
                    Wake::Plugin => true,
                    Wake::Queue | Wake::NextPrompt => false,
                };
                if watches {
                    watch = post.watched(me)?.iter().map(|dir| dir.display().to_string()).collect();
                }
                Some(notice::beginning(me.shown(), post.unread_count(me)?, program.session.is_none()))
            }
            // A push waits in a queue while the session works; it must not cost a turn for mail that was read since.
            Event::Prompt if is_push(program, input) && post.unread_count(me)? == 0 => {
                context.output.text(&answer::dropped(notice::LATE));
                return Ok(false);
            }
            Event::Mail if program.wake == Wake::Rewake => {
                let wakes = is_attended(&ThisProcess) && post.news(me, Mark::Woken)?.is_some();
                if wakes {
                    note(notice::WAKE);
                }
                return Ok(wakes);
            }
            Event::Mail => post.news(me, Mark::Woken)?.map(|_| notice::WAKE.to_owned()),
            Event::Stop => post.news(me, Mark::Held)?.map(|news| headers(post, me, &news)),
            _ => post.news(me, Mark::Told)?.map(|news| headers(post, me, &news)),
        };
        if let Some(text) = text {
            context.output.text(&answer::shaped(program, event, input, &text, &watch));
        }
        Ok(false)
    }
}

/// Whether a prompt is the line that `attend` queued.
fn is_push(program: &Program, input: &Input) -> bool {
    program.wake == Wake::Queue && input.prompt.as_deref().is_some_and(|text| text.trim() == notice::WAKE)
}

/// Reads all input, so that the program can finish writing.
fn read() -> Vec<u8> {
    let mut bytes = vec![];
    let mut stdin = io::stdin().lock();
    if io::IsTerminal::is_terminal(&stdin) {
        return bytes;
    }
    let _ = stdin.by_ref().take(LIMIT).read_to_end(&mut bytes);
    let _ = io::copy(&mut stdin, &mut io::sink());
    bytes
}

fn headers(post: &Post, me: &Me, news: &News) -> String {
    notice::headers(me.shown(), news.count, &news.headers, |envelope| post.sender_shown(envelope))
}
