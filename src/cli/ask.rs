//! `postroom ask`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::send::{Writing, remark_own, tell};
use super::shown::Shown;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::{Failure, Letter, Outcome, Question, line};
use crate::span;
use crate::view::check as view;
use crate::view::message::Message;
use crate::wait::Stop;

/// Send a question, wait for its answer, and show it
///
/// Says at once which question it waits for. Exits 1 when the time is over, and says where the question is; it stays
/// sent, and the answer will come as mail. The same question within the time is not sent twice: it waits for the first.
#[derive(Debug, Args)]
pub(super) struct Ask {
    /// The recipient
    #[arg(value_name = "TO")]
    to: String,
    #[command(flatten)]
    writing: Writing,
    /// Give up after this time (seconds, or 30m, 2h)
    #[arg(long, value_name = "SPAN", default_value = "540", value_parser = span::parse)]
    timeout: Duration,
    /// Show all of a long answer
    #[arg(long)]
    full: bool,
}

impl Verb for Ask {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        context.output.must_be_seen("`send` asks without waiting")?;
        if !self.to.starts_with('@') {
            post.check_address(&self.to)?;
        }
        let letter = Letter { to: vec![self.to], ..self.writing.letter(post)? };
        // Before the question is sent, so that no signal ends this command without a word about it.
        let interrupt = Interrupt::heard()?;
        let question = post.ask(&me, &letter, self.timeout)?;
        let receipt = &question.receipt;
        if matches!(receipt.outcome, Outcome::Failed(_)) {
            return tell(context, [receipt]);
        }
        begun(context, &question, self.timeout);
        remark_own(context, &me, std::slice::from_ref(receipt));
        let asked = post.await_asked(&me, receipt, self.timeout, &interrupt.stop)?;
        let id = &receipt.id;
        let (short, to) = (id.short().unwrap_or_default(), visible::line(&receipt.name));
        let again = Hint::run(&["wait", "--reply-to", id.as_str()]);
        let Some(answer) = asked.answer else {
            if let Some(signal) = interrupt.signal() {
                context.warn(
                    &format!("the question {short} to {to} stays; to wait for its answer again"),
                    again.clone(),
                );
                end(signal);
            }
            let state = asked
                .state
                .as_ref()
                .map_or_else(|| "in no mailbox: no evidence".to_owned(), |s| line::of_state(post, s));
            if context.output.json {
                let (id, state) = (id.as_str(), Some(state.as_str()));
                context.output.json(&view::Ask {
                    id,
                    timed_out: true,
                    bounced: false,
                    state,
                    messages: vec![],
                });
            } else {
                let (span, again) = (span::measured(self.timeout), context.hint(again));
                let question = format!("no answer within {span}; the question {short} to {to} is {state}");
                context.output.line(&question);
                context.output.line(&format!("  {again}"));
            }
            return Err(Fail::Code(Failure::Nothing));
        };
        interrupt.ends_as_usual();
        if context.output.json {
            let (id, bounced, messages) = (id.as_str(), asked.bounced, vec![Message::of(post, &answer)]);
            context.output.json(&view::Ask { id, timed_out: false, bounced, state: None, messages });
        } else {
            let shown = Shown { full: self.full, path: answer.path.clone(), ..Shown::default() };
            let text = shown.text(context, post, &me.id, &answer);
            context.output.text(&text);
        }
        context.output.flush().map_err(Fail::Output)?;
        post.shown(&me, &answer)?;
        if asked.bounced { Err(Fail::Code(Failure::Refused)) } else { Ok(()) }
    }
}

/// Says which question is waited for: an agent's tool may end this command without a word.
fn begun(context: &Context, question: &Question, timeout: Duration) {
    if context.output.json || context.output.quiet {
        return;
    }
    let Question { receipt, is_old } = question;
    let (id, to) = (receipt.id.short().unwrap_or_default(), visible::line(&receipt.name));
    let asked = if *is_old { "was asked this before" } else { "is asked" };
    note(&format!("postroom: {to} {asked} ({id}); waiting up to {}", span::spoken(timeout)));
}

/// A signal that ends the wait but not the question. When the wait is over, it ends this process as usual.
struct Interrupt {
    stop: Stop,
    signal: Arc<AtomicI32>,
    is_over: Arc<AtomicBool>,
}

impl Interrupt {
    fn heard() -> Result<Self, Fail> {
        let failed = |e: std::io::Error| Fail::not_done(e.to_string(), "try again");
        let stop = Stop::new().map_err(failed)?;
        let interrupt = Self { stop, signal: Arc::default(), is_over: Arc::default() };
        let (stop, signal) = (interrupt.stop.clone(), Arc::clone(&interrupt.signal));
        let is_over = Arc::clone(&interrupt.is_over);
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
        std::thread::spawn(move || {
            for number in signals.forever() {
                signal.store(number, Ordering::SeqCst);
                if is_over.load(Ordering::SeqCst) {
                    end(number);
                }
                stop.now();
            }
        });
        Ok(interrupt)
    }

    fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|number| *number != 0)
    }

    /// The answer is here; nobody may ever read it.
    fn ends_as_usual(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        // One that came before; the answer stays unread.
        if let Some(signal) = self.signal() {
            end(signal);
        }
    }
}

/// Ends this process as the signal would have.
fn end(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}
