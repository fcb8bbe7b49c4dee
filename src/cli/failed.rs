//! `postroom failed`: dead letters and parked messages.

use clap::{Args, Subcommand};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, CYAN, Output, PLAIN, RED};
use super::retry::Retry;
use super::shown::Shown;
use crate::dispatch::retriable::{self, FoundRetriable, Retriable, RetriableMailboxes};
use crate::hint::Hint;
use crate::mailbox::Folder;
use crate::message::envelope::Envelope;
use crate::message::role::BOUNCE;
use crate::message::{file_name, visible};
use crate::name::MailboxId;
use crate::post::line::counted;
use crate::post::{DeadLetter, Me, Post};
use crate::view::claim as view;
use crate::workflow::unawaited::{LeftAlone, leave_out};

/// Show dead letters and parked messages, and retry them
///
/// A dead letter was given up. A parked message waits for a person: it was stopped, or its thread reached a limit.
#[derive(Debug, Args)]
pub(super) struct Failed {
    /// Without one: list
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// One line each: ID, attempts or `parked`, reason, subject; of the whole room with the mailbox first
    ///
    /// A command without an identity shows the whole room.
    List {
        /// Those of this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Those of every mailbox of the room
        #[arg(long, conflicts_with = "agent")]
        all: bool,
    },
    /// One with all its attempts, from any mailbox of the room
    Show {
        #[arg(value_name = "ID")]
        id: String,
        /// That of this agent
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Make them unread again, with a new count of attempts; only a person releases parked messages
    Retry(Retry),
}

pub(super) fn called(name: &str) -> String {
    visible::line(file_name::short(name).unwrap_or(name))
}

impl Verb for Failed {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.what.unwrap_or(What::List { agent: None, all: false }) {
            What::List { agent: Some(name), .. } => {
                let post = context.post()?;
                let me = post.other(&post.addressee(&name)?)?;
                list(context, post, me)
            }
            What::List { agent: None, all } => {
                let (post, me) = context.post_and_maybe_me()?;
                match me.filter(|_| !all) {
                    Some(me) => list(context, post, me),
                    None => list_all(context, post),
                }
            }
            What::Show { id, agent } => show_one(context, &id, agent.as_deref()),
            What::Retry(retry) => retry.run(context),
        }
    }
}

/// That of an agent alone, else that of the caller, and all others if needed.
pub(super) fn mailboxes(
    context: &mut Context,
    agent: Option<&str>,
) -> Result<(&'static Post, RetriableMailboxes), Fail> {
    let (post, me) = match agent {
        Some(name) => {
            let post = context.post()?;
            (post, Some(post.other(&post.addressee(name)?)?))
        }
        None => context.post_and_maybe_me()?,
    };
    Ok((post, RetriableMailboxes::of(post, me, agent.is_none())?))
}

/// The failure for an id. `verb`: of `failed`, for a hint.
pub(super) fn not_found(e: retriable::Error, verb: &str) -> Fail {
    let (code, what) = (e.code(), e.to_string());
    let hints = match e {
        retriable::Error::Several { id, names } => {
            let hint = |name: &String| Hint::run(&["failed", verb, &id, "--agent", name]).into();
            names.iter().map(hint).collect()
        }
        retriable::Error::Unknown { .. } => vec![Hint::run(&["failed", "list", "--all"]).into()],
        retriable::Error::Post(e) => return Fail::Post(e),
    };
    Fail::Told(code, what, hints)
}

/// The command that makes the message unread again of which a bounce reports that it was given up. `None` for any other
/// message, and if that was done already.
pub(super) fn retry_of(post: &Post, id: &MailboxId, bounce: &Envelope) -> Option<Hint> {
    let given_up = bounce.reply_to.as_ref().filter(|_| bounce.extra(BOUNCE).is_some())?;
    let mut mailboxes = RetriableMailboxes::of(post, Some(post.other(id).ok()?), true).ok()?;
    let (_, found) = mailboxes.find(post, given_up.as_str()).ok()?;
    Some(retry_hint(&found.name))
}

fn retry_hint(file: &str) -> Hint {
    Hint::run(&["failed", "retry", &called(file)]).to("makes it unread again").into()
}

/// The most hints of one kind that a list ends with.
const HINTS: usize = 3;

/// Tells a person what to do about these: how one is tried again, and what is to be done about requests of runs.
fn tell_next(context: &mut Context, post: &Post, all: &mut [Retriable]) -> Result<(), Fail> {
    if !context.output.terminal || context.output.quiet {
        return Ok(());
    }
    let left = leave_out(post, all)?;
    let first = |one: &Retriable| {
        let letters = one.letters.iter().map(|letter| &letter.name);
        letters.chain(one.parked.iter().map(|parked| &parked.file)).next().cloned()
    };
    let retry = all.iter().find_map(first).map(|file| retry_hint(&file));
    let of_runs = |can_retry: bool| {
        let mut hints: Vec<Hint> = vec![];
        for hint in left.iter().filter(|left| left.can_retry == can_retry).flat_map(next_of_run) {
            if hints.len() < HINTS && !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        hints
    };
    for hint in retry.into_iter().chain(of_runs(true)).chain(of_runs(false)) {
        let hint = context.hint(hint);
        context.output.remark(&hint);
    }
    Ok(())
}

/// What to do about requests of a run, which are not retried one by one.
pub(super) fn next_of_run(left: &LeftAlone) -> Vec<Hint> {
    if left.can_retry {
        return vec![Hint::run(&["workflow", "retry", &left.run]).to("asks again for what failed").into()];
    }
    let prune = |name: &String| {
        let prune = Hint::run(&["prune", "--failed", "0d", "--only", name]);
        prune.to(format!("removes the dead letters of {}", visible::line(name))).into()
    };
    match left.mailboxes.as_slice() {
        [] => vec![Hint::run(&["workflow", "show", &left.run]).to("how it stands").into()],
        names => names.iter().map(prune).collect(),
    }
}

fn show_one(context: &mut Context, id: &str, agent: Option<&str>) -> Result<(), Fail> {
    let (post, mut mailboxes) = mailboxes(context, agent)?;
    let found = mailboxes.find(post, id).map_err(|e| not_found(e, "show"))?;
    let (at, FoundRetriable { name, parked }) = found;
    let Retriable { me, letters, .. } = &mailboxes.looked_at[at];
    let folder = if parked.is_some() { Folder::Inbox } else { Folder::Failed };
    let opened = post.open_in(me, &name, folder)?;
    let letter = letters.iter().find(|letter| letter.name == opened.name);
    let attempts = letter.map(|letter| letter.attempts.as_slice()).unwrap_or_default();
    if context.output.json {
        context.output.json(&view::FailedShow::of(post, &opened, attempts));
        return Ok(());
    }
    let remark = parked.map_or("it is a dead letter".to_owned(), |why| format!("it is parked: {why}"));
    let shown =
        Shown { remark: Some(remark), path: me.mailbox.path(folder, &opened.name), ..Shown::default() };
    let text = shown.text(context, post, &me.id, &opened);
    context.output.text(&text);
    for a in attempts {
        let (time, owner) = (visible::line(&a.time), visible::line(post.name_of(&a.owner)));
        let line = format!("{time} {owner} {} {}", visible::line(&a.how), visible::line(&a.why));
        context.output.line(line.trim_end());
    }
    Ok(())
}

fn list(context: &mut Context, post: &Post, me: Me) -> Result<(), Fail> {
    let mut all = Retriable::of(post, me)?;
    if context.output.json {
        context.output.json(&view::FailedList::of(&all.me, &all.letters, &all.parked));
    } else {
        show_all(context, post, &all, None)?;
    }
    if !all.is_empty() {
        return tell_next(context, post, std::slice::from_mut(&mut all));
    }
    let fail = context.nothing(&format!("no dead letters of {}", all.me.shown()));
    let others = context.hint(Hint::run(&["failed", "list", "--all"]).to("those of every mailbox"));
    context.output.remark(&format!("  {others}"));
    Err(fail)
}

/// Those of every mailbox. One that cannot be read does not hide the others.
fn list_all(context: &mut Context, post: &Post) -> Result<(), Fail> {
    let (mut found, mut failed) = (vec![], None);
    for entry in &post.registry()?.entries {
        match post.other(&entry.id).and_then(|me| Retriable::of(post, me)) {
            Ok(all) => found.push(all),
            Err(e) => {
                let what = format!("what {} gave up cannot be read", visible::line(&entry.name));
                context.warn(&what, Hint::run(&["doctor"]));
                failed.get_or_insert(e);
            }
        }
    }
    found.retain(|all| !all.is_empty());
    if context.output.json {
        let documents = found.iter().map(|all| {
            let list = view::FailedList::of(&all.me, &all.letters, &all.parked);
            view::FailedIn { name: all.me.shown(), list }
        });
        context.output.json(&view::FailedListAll { mailboxes: documents.collect() });
    } else {
        for all in &found {
            show_all(context, post, all, Some(all.me.shown()))?;
        }
    }
    let is_empty = found.is_empty();
    tell_next(context, post, &mut found)?;
    match (failed, is_empty) {
        (Some(e), _) => Err(e.into()),
        (None, true) => Err(context.nothing("no dead letters")),
        (None, false) => Ok(()),
    }
}

/// One line each, with the name of the mailbox if several are shown.
fn show_all(context: &mut Context, post: &Post, all: &Retriable, mailbox: Option<&str>) -> Result<(), Fail> {
    all.letters.iter().for_each(|letter| show(&mut context.output, mailbox, letter));
    for parked in &all.parked {
        let subject = post.open_in(&all.me, &parked.file, Folder::Inbox)?.message.envelope.subject;
        let words = ["parked".to_owned(), "parked".to_owned()];
        entry(&mut context.output, mailbox, called(&parked.file), words, (&parked.why, &subject));
    }
    Ok(())
}

/// A dead letter, with the name of its mailbox if several are shown.
fn show(output: &mut Output, mailbox: Option<&str>, letter: &DeadLetter) {
    let unreadable = |why: &String| format!("(unreadable: {why})");
    let subject = letter.envelope.as_ref().map_or_else(unreadable, |e| e.subject.clone());
    let (tries, why) = (letter.tries, letter.reason());
    let words = [format!("attempts={tries}"), counted(tries as usize, "attempt")];
    entry(output, mailbox, called(&letter.name), words, (why, &subject));
}

/// One line: the mailbox if several are shown, id, state for programs and for people, reason and subject.
fn entry(
    output: &mut Output,
    mailbox: Option<&str>,
    id: String,
    [word, words]: [String; 2],
    (why, subject): (&str, &str),
) {
    let name = mailbox.map(|name| format!("{} ", visible::word(name))).unwrap_or_default();
    let line = format!("{name}{id} {word} {}: {}", visible::line(why), visible::line(subject));
    let own = [(CYAN, id), (PLAIN, words), (RED, why.to_owned()), (PLAIN, subject.to_owned())];
    let cells: Vec<_> = mailbox.map(|name| (BOLD, name.to_owned())).into_iter().chain(own).collect();
    output.entry(&cells, &line);
}
