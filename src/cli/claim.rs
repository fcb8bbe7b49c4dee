//! `postroom claim`, `done`, `release` and `fail`: a mailbox as a work queue.

use std::time::Duration;

use clap::Args;

use super::Verb;
use super::check::Which;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::send::{Writing, tell};
use super::shown::{self, Shown};
use super::text::no_other_text;
use crate::mailbox::claim::Terms;
use crate::message::visible;
use crate::post::{Held, Me, Outcome, Post, Told};
use crate::span;
use crate::view::claim as view;

/// [`post::LEASE`](crate::post::LEASE), as people write it.
const DEFAULT_LEASE: &str = "30m";

/// Take a message to work on; others leave it to you meanwhile
///
/// Until the lease ends, only you can finish it. Many agents may claim from one mailbox: that is a work queue. Shows the
/// message and its token; then `postroom done TOKEN`, `release TOKEN` or `fail TOKEN -m TEXT`. When the lease ends
/// first, the message is unread again and its attempt is counted. Nothing to take: exits 1.
#[derive(Debug, Args)]
pub(super) struct Claim {
    /// The first digits of a message's id; default: the next message
    #[arg(value_name = "ID", conflicts_with = "renew")]
    id: Option<String>,
    /// Take from this mailbox instead of your own
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// How long the lease lasts (45s, 30m, 2h)
    #[arg(long, value_name = "SPAN", default_value = DEFAULT_LEASE, value_parser = span::parse)]
    lease: Duration,
    /// Extend the lease of a claim you hold
    #[arg(long, value_name = "TOKEN|ID")]
    renew: Option<String>,
    /// Show all of a long body
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    which: Which,
}

impl Verb for Claim {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        if let Some(token) = &self.renew {
            let held = post.held(&me, token)?;
            let terms = post.renew(&held, self.lease)?;
            context.done = true;
            return told(context, "renewed", token, &held, Some(&terms));
        }
        context.output.must_be_seen("a claim whose token nobody sees would only block its message")?;
        let filter = self.which.filter(post)?;
        let (claimed, put_away) =
            post.claim(&me, self.queue.as_deref(), self.id.as_deref(), &filter, self.lease)?;
        put_away.iter().for_each(shown::tell_put_away);
        let Some(claimed) = claimed else {
            if context.output.json {
                context.output.json(&view::Claim::NOTHING);
            }
            return Err(context.nothing("nothing to claim"));
        };
        if context.output.json {
            context.output.json(&view::Claim::of(post, &claimed));
        } else {
            let terms = &claimed.terms;
            let remark =
                format!("claimed as {} until {}, attempt {}", claimed.token, terms.ends, terms.attempt);
            let shown = Shown {
                full: self.full,
                claim: Some(claimed.token),
                remark: Some(remark),
                path: claimed.opened.path.clone(),
                stays: false,
            };
            let text = shown.text(context, post, &claimed.queue, &claimed.opened);
            context.output.text(&text);
        }
        // If nobody saw the claim, it would only block the message until its lease ends.
        if let Err(e) = context.output.flush() {
            let held = post.held(&me, &claimed.token.to_string())?;
            post.release(&me, &held, "its claimer's output was closed")?;
            return Err(Fail::Output(e));
        }
        Ok(())
    }
}

/// Finish a claimed message; with a text, answer it first
#[derive(Debug, Args)]
pub(super) struct Done {
    /// The token that `claim` showed, or the id of a message that you hold now
    #[arg(value_name = "TOKEN|ID")]
    token: String,
    #[command(flatten)]
    answer: Writing,
}

impl Verb for Done {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        let held = post.held(&me, &self.token)?;
        // Only -m and --file: standard input is always there, and most claims end without an answer.
        if self.answer.has_files() && !self.answer.has_text() {
            return Err(Fail::usage("a file is sent along with an answer", "-m TEXT or --file FILE"));
        }
        let letter = match self.answer.has_text() {
            true => Some(self.answer.letter(post)?),
            false => {
                no_other_text("no answer is given")?;
                None
            }
        };
        let receipt = post.done(&me, &held, letter)?;
        context.done = true;
        let Some(receipt) = receipt else { return told(context, "done", &self.token, &held, None) };
        let is_open = matches!(receipt.outcome, Outcome::Failed(_) | Outcome::Unproven(_));
        let ended = tell(context, &[receipt]);
        if is_open {
            note(&format!("postroom: {} is still claimed; the same command again finishes it", self.token));
        }
        ended
    }
}

/// Give a claimed message back; it is unread again at once
#[derive(Debug, Args)]
pub(super) struct Release {
    /// The token that `claim` showed, or the id of a message that you hold now
    #[arg(value_name = "TOKEN|ID")]
    token: String,
    /// The reason, recorded with this attempt
    #[arg(
        short = 'm',
        long,
        alias = "message",
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    reason: String,
}

impl Verb for Release {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        end(context, &self.token, "released", |post, me, held| post.release(me, held, &self.reason))
    }
}

/// Give up a claimed message and tell its sender
///
/// It becomes a dead letter: `postroom failed` shows it, and retries it.
#[derive(Debug, Args)]
pub(super) struct GiveUp {
    /// The token that `claim` showed, or the id of a message that you hold now
    #[arg(value_name = "TOKEN|ID")]
    token: String,
    /// The reason; the sender reads it
    #[arg(short = 'm', long, alias = "message", value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
}

impl Verb for GiveUp {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let reason = visible::line(self.reason.trim());
        if reason.is_empty() {
            return Err(Fail::usage("the reason is empty", "-m TEXT; the sender reads it"));
        }
        end(context, &self.token, "failed", |post, me, held| {
            let told = post.fail(me, held, &reason)?;
            // It is given up, but a failed notification must not be silent.
            if let Told::CannotBe(e) = told {
                note(&format!("postroom: the sender could not be told: {e}"));
            }
            Ok(())
        })
    }
}

fn end(
    context: &mut Context,
    reference: &str,
    word: &str,
    deed: impl FnOnce(&Post, &Me, &Held) -> crate::post::Result<()>,
) -> Result<(), Fail> {
    let (post, me) = context.post_and_me()?;
    let held = post.held(&me, reference)?;
    deed(post, &me, &held)?;
    context.done = true;
    told(context, word, reference, &held, None)
}

/// The end of a command about a claim. People see the word that they typed for it, programs its token.
fn told(
    context: &mut Context,
    word: &str,
    reference: &str,
    held: &Held,
    terms: Option<&Terms>,
) -> Result<(), Fail> {
    let until = terms.map(|t| t.ends.as_str());
    let shown = until.map(|until| format!(" until {until}")).unwrap_or_default();
    let line = format!("{word} {}{shown}", visible::line(reference));
    context.output.receipt(&view::ClaimState { token: &held.token.to_string(), state: word, until }, [line]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_the_lease_that_a_claim_gets() {
        assert_eq!(span::parse(DEFAULT_LEASE), Ok(crate::post::LEASE));
    }
}
