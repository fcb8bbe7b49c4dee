//! `--all` of `check`, `wait` and `names`: every room of this machine.

use std::time::Duration;

use super::check::Which;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings::ThisProcess;
use super::{header, names};
use crate::message::visible;
use crate::post::{Caller, Checked, Error, Everywhere, Failure, Listed, Me, Names, Post};
use crate::post::{Looked, There, Unread};
use crate::span;
use crate::surroundings::rooms;
use crate::view::check::{CheckAll, WaitAll};
use crate::view::names::NamesAll;

pub(super) fn everywhere(context: &Context) -> Result<Everywhere, Fail> {
    // The mailbox of an agent's session, or of a variable, is in one room only.
    let caller = Caller { session: None, environment: None, ..context.caller() };
    Ok(Everywhere { rooms: rooms(&ThisProcess)?, caller, clock: context.clock() })
}

pub(super) fn check(context: &mut Context, which: &Which, limit: usize, count: bool) -> Result<(), Fail> {
    let looked = everywhere(context)?.check(|post| which.filter(post), limit)?;
    let total: usize = mailboxes(&looked).map(|(.., checked)| checked.total).sum();
    if context.output.json {
        context.output.json(&CheckAll::of(&looked, total));
    } else if count {
        context.output.line(&total.to_string());
    } else {
        show(context, &looked);
    }
    let told = has_headers(&looked) || mailboxes(&looked).any(|(.., checked)| !checked.unreadable.is_empty());
    end(context, &looked.failed, told || limit == 0 && total > 0, "no unread mail in any room")
}

pub(super) fn wait(
    context: &mut Context,
    which: &Which,
    limit: usize,
    new: bool,
    timeout: Duration,
) -> Result<(), Fail> {
    let (what, span) = (which.spoken(new), span::spoken(timeout));
    context.output.remark(&format!("waiting up to {span} for {what} in any room (Ctrl-C ends it)"));
    context.output.flush().map_err(Fail::Output)?;
    let looked = everywhere(context)?.wait(|post| which.filter(post), limit, new, timeout)?;
    let came = has_headers(&looked);
    if context.output.json {
        context.output.json(&WaitAll::of(&looked, !came));
    } else {
        show(context, &looked);
    }
    end(context, &looked.failed, came, &format!("no mail in any room in {}", span::measured(timeout)))
}

pub(super) fn names(context: &mut Context, which: &Names) -> Result<(), Fail> {
    let looked = everywhere(context)?.look(|post| post.names(which))?;
    let any = looked.found.iter().any(|there| !there.what.is_empty());
    if context.output.json {
        context.output.json(&NamesAll::of(&looked));
    } else {
        let mut all = vec![];
        for There { room, what } in looked.found {
            let address = |listed: Listed| Listed { name: format!("{}@{room}", listed.name), ..listed };
            all.extend(what.into_iter().map(address));
        }
        names::show(context, &all);
    }
    end(context, &looked.failed, any, "nobody fits in any room")
}

fn mailboxes(looked: &Looked<Unread>) -> impl Iterator<Item = (String, &Post, &Checked)> {
    looked.found.iter().flat_map(|There { room, what }| {
        let address = move |me: &Me| format!("{}@{room}", me.shown());
        what.mailboxes.iter().map(move |(me, checked)| (address(me), &what.post, checked))
    })
}

fn has_headers(looked: &Looked<Unread>) -> bool {
    mailboxes(looked).any(|(.., checked)| !checked.headers.is_empty())
}

fn show(context: &mut Context, looked: &Looked<Unread>) {
    for (address, post, checked) in mailboxes(looked) {
        header::show(context, post, checked, Some(&address));
    }
}

/// Reports rooms that cannot be read.
pub(super) fn tell_failed(failed: &[There<Error>]) {
    for There { room, what } in failed {
        note(&format!("postroom: the room {room} could not be read: {}", visible::line(&what.to_string())));
    }
}

/// Ends a look. An unreadable room is reported, and then "nothing found" elsewhere is not an answer.
fn end(context: &mut Context, failed: &[There<Error>], any: bool, nothing: &str) -> Result<(), Fail> {
    tell_failed(failed);
    if any {
        return Ok(());
    }
    if !failed.is_empty() {
        return Err(Fail::Code(Failure::NotDone));
    }
    context.output.remark(nothing);
    Err(Fail::Code(Failure::Nothing))
}
