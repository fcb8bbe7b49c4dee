//! `postroom attend`: wakes programs that need a push from outside.

use std::collections::HashMap;
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::{Verb, surroundings};
use crate::agents::probe::{self, Pushed};
use crate::agents::programs::{PROGRAMS, Wake};
use crate::message::visible;
use crate::post::{Failure, Me, Post};
use crate::session::Session;
use crate::session::told::Mark;
use crate::span;
use crate::view;
use crate::wait::Watch;

/// Wake idle sessions that only a push can wake (Codex)
///
/// Watches the mailboxes of such sessions. When mail has come that a session does not know of, it queues one fixed line
/// for it: once for each message, at most 20 times an hour. A working session learns of mail through its hooks, so they
/// get a moment first. Runs until it is stopped; uses no CPU while nothing comes.
#[derive(Debug, Args)]
pub(super) struct Attend {
    /// Look once and end; exits 1 if no session had to be woken
    #[arg(long)]
    once: bool,
    /// How long to leave mail to a session's own hooks
    #[arg(long, value_name = "SPAN", default_value = "3", value_parser = span::parse)]
    patience: Duration,
}

/// The pause for a session that could not be woken.
const REST: Duration = Duration::from_secs(60);

impl Verb for Attend {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        context.must_stay_in_place()?;
        let clock = context.clock();
        let mut failed: HashMap<String, Duration> = HashMap::new();
        loop {
            let post = &context.post_for_now()?;
            failed.retain(|_, then| clock.boot().saturating_sub(*then) < REST);
            let sessions = sessions(post)?;
            let dirs =
                sessions.iter().map(|(_, me)| post.watched(me)).collect::<Result<Vec<_>, _>>()?.concat();
            // Before the look, so that no event is missed between.
            let mut watch =
                if dirs.is_empty() { Watch::polling(Duration::from_secs(5)) } else { Watch::on(&dirs) };
            let is_due = |(session, me): &&(Session, Me)| {
                !failed.contains_key(&session.id) && post.is_news(me, session).unwrap_or(false)
            };
            let due: Vec<&(Session, Me)> = sessions.iter().filter(is_due).collect();
            if !due.is_empty() {
                crate::mailbox::pause(self.patience);
            }
            let mut woken = 0;
            for (session, me) in due {
                match wake(context, post, session, me)? {
                    Some(true) => woken += 1,
                    Some(false) => drop(failed.insert(session.id.clone(), clock.boot())),
                    None => {}
                }
            }
            context.output.flush().map_err(Fail::Output)?;
            if self.once {
                return if woken > 0 { Ok(()) } else { Err(Fail::Code(Failure::Nothing)) };
            }
            watch.sleep(Duration::from_secs(60));
        }
    }
}

fn sessions(post: &Post) -> Result<Vec<(Session, Me)>, Fail> {
    let mut all = vec![];
    for program in PROGRAMS.iter().filter(|program| program.wake == Wake::Queue) {
        all.extend(post.sessions(program.word)?);
    }
    Ok(all)
}

/// Looks again, notes the message, and pushes; a push that surely failed is not noted. Returns whether it worked, or
/// `None` if there was nothing to push.
fn wake(context: &mut Context, post: &Post, session: &Session, me: &Me) -> Result<Option<bool>, Fail> {
    let Some(news) = post.news_for(me, session, Mark::Woken)? else { return Ok(None) };
    let pushed = match surroundings::on_path(&session.program) {
        None => Pushed::No(format!("{} is not on the search path", session.program)),
        Some(program) => probe::push(&program, &session.id),
    };
    let why = match pushed {
        Pushed::Yes => None,
        Pushed::No(why) => {
            post.not_woken(me, session, &news)?;
            Some(why)
        }
        // It may have arrived, so it is not repeated.
        Pushed::Perhaps(why) => Some(why),
    };
    if let Some(why) = why {
        note(&format!("postroom: {} was not woken: {}", visible::line(me.shown()), visible::clip(&why, 300)));
        return Ok(Some(false));
    }
    let (woken, program, messages) = (me.shown(), session.program.as_str(), news.count);
    let line = format!("woke {} ({program}) for {messages}", visible::line(woken));
    context.output.receipt(&view::agents::Attend { woken, program, messages }, [line]);
    Ok(Some(true))
}
