//! `postroom wait`.

use std::time::Duration;

use clap::Args;

use super::check::Which;
use super::context::Context;
use super::fail::Fail;
use super::{Verb, everywhere, header};
use crate::post::{Awaited, Failure};
use crate::span;
use crate::view::check as view;

/// Block until mail is there, then show its headers
///
/// Ends at once if there is mail already (exit 0), unless --new is given; exits 1 when the time is over. Uses no CPU while it waits.
#[derive(Debug, Args)]
pub(super) struct Wait {
    /// Give up after this time (seconds, or 30m, 2h)
    #[arg(long, value_name = "SPAN", default_value = "540", value_parser = span::parse)]
    timeout: Duration,
    /// Only for mail that comes from now on
    #[arg(long)]
    new: bool,
    /// At most this many headers
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Wait for your mail in all rooms: that of --as, else of this session or terminal, and of `user`
    #[arg(long, conflicts_with_all = ["root", "room"])]
    all: bool,
    #[command(flatten)]
    which: Which,
}

impl Verb for Wait {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if self.all {
            return everywhere::wait(context, &self.which, self.limit.max(1), self.new, self.timeout);
        }
        if !self.timeout.is_zero() {
            context.must_stay_in_place()?;
        }
        let (post, me) = context.post_and_me()?;
        let mut filter = self.which.filter(post)?;
        if self.new {
            filter.besides = post.unread_files(&me)?;
        }
        let wait = |timeout| post.wait(&me, &filter, self.limit.max(1), timeout, None);
        // What is there already is shown at once: no wait is announced.
        let first = match context.output.terminal {
            true => Some(wait(Duration::ZERO)?).filter(|first| matches!(first, Awaited::Mail(_))),
            false => None,
        };
        if context.output.terminal && first.is_none() {
            context.output.remark(&format!(
                "waiting up to {} for {} to {}, room {} (Ctrl-C ends it)",
                span::spoken(self.timeout),
                self.which.spoken(self.new),
                me.shown(),
                context.room_shown()
            ));
            context.output.flush().map_err(Fail::Output)?;
        }
        let checked = match first.map_or_else(|| wait(self.timeout), Ok)? {
            Awaited::Mail(checked) => checked,
            Awaited::TimedOut(left) => {
                match context.output.json {
                    true => context.output.json(&view::Wait::timed_out(context.place(), &me, &left)),
                    false => header::unreadable(context, &left.unreadable),
                }
                // The disk failed, so there may be mail.
                if left.unreadable.iter().any(|broken| broken.transient) {
                    return Err(Fail::Code(Failure::NotDone));
                }
                let span = span::measured(self.timeout);
                return Err(context.nothing(&format!("no mail for {} in {span}", me.shown())));
            }
        };
        if context.output.json {
            context.output.json(&view::Wait::mail(context.place(), post, &me, &checked));
        } else {
            header::show(context, post, &checked, None);
        }
        Ok(())
    }
}
