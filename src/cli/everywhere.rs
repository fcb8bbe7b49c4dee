//! `--all` of `check`, `wait` and `names`: every room of this machine.

use std::collections::BTreeSet;
use std::time::Duration;

use super::check::Which;
use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings::ThisProcess;
use super::{header, names};
use crate::message::visible;
use crate::post::{Checked, Error, Everywhere, Failure, Listed, Me, Names, Post};
use crate::post::{Looked, OnTheWay, There, Unread};
use crate::span;
use crate::surroundings::rooms;
use crate::view::check::{CheckAll, WaitAll};
use crate::view::names::NamesAll;

pub(super) fn everywhere(context: &Context) -> Result<Everywhere, Fail> {
    let (rooms, caller) = (rooms(&ThisProcess)?, context.caller());
    Ok(Everywhere { rooms, caller, own: None, clock: context.clock() })
}

/// For a look at mail: the caller may have a mailbox only in the room of this command.
fn with_own(context: &mut Context) -> Result<Everywhere, Fail> {
    let own = Some(context.locate()?);
    Ok(Everywhere { own, ..everywhere(context)? })
}

pub(super) fn check(context: &mut Context, which: &Which, limit: usize, count: bool) -> Result<(), Fail> {
    let looked = with_own(context)?.check(|post| which.filter(post), limit)?;
    let total: usize = mailboxes(&looked).map(|(.., checked)| checked.total).sum();
    if context.output.json {
        context.output.json(&CheckAll::of(&looked, total));
    } else if count {
        context.output.line(&total.to_string());
    } else {
        show(context, &looked);
    }
    let told = has_headers(&looked) || mailboxes(&looked).any(|(.., checked)| !checked.unreadable.is_empty());
    end(
        context,
        &looked.failed,
        told || limit == 0 && total > 0,
        &format!("no unread mail for {} in any room", whose(&looked)),
    )
}

pub(super) fn wait(
    context: &mut Context,
    which: &Which,
    limit: usize,
    new: bool,
    timeout: Duration,
) -> Result<(), Fail> {
    let everywhere = with_own(context)?;
    // What is there already is shown at once: no wait is announced.
    let first = match context.output.terminal && !new {
        true => Some(everywhere.check(|post| which.filter(post), limit)?).filter(has_headers),
        false => None,
    };
    if first.is_none() {
        let (what, span) = (which.spoken(new), span::spoken(timeout));
        context.output.remark(&format!("waiting up to {span} for {what} in any room (Ctrl-C ends it)"));
        context.output.flush().map_err(Fail::Output)?;
    }
    let wait = || everywhere.wait(|post| which.filter(post), limit, new, timeout);
    let looked = first.map_or_else(wait, Ok)?;
    let came = has_headers(&looked);
    if context.output.json {
        context.output.json(&WaitAll::of(&looked, !came));
    } else {
        show(context, &looked);
    }
    end(
        context,
        &looked.failed,
        came,
        &format!("no mail for {} in any room in {}", whose(&looked), span::measured(timeout)),
    )
}

pub(super) fn names(context: &mut Context, which: &Names) -> Result<(), Fail> {
    let looked = everywhere(context)?.look(|post| post.names(which))?;
    let network = on_network(context, which)?;
    let any = looked.found.iter().any(|there| !there.what.is_empty()) || !network.is_empty();
    if context.output.json {
        context.output.json(&NamesAll::of(&looked, &network));
    } else {
        let mut all = vec![];
        for There { room, what } in looked.found {
            let address =
                |listed: Listed| Listed { name: format!("{}@{}", listed.name, room.shown()), ..listed };
            all.extend(what.into_iter().map(address));
        }
        names::show(context, &all);
        show_network(context, &network);
    }
    end(context, &looked.failed, any, "nobody fits in any room")
}

/// The rooms of other machines that have selected names, each with the room of this machine that knows it.
fn on_network(context: &Context, which: &Names) -> Result<Vec<There<OnTheWay>>, Fail> {
    let looked = everywhere(context)?.look(|post| post.on_the_way())?;
    let mut found = vec![];
    for There { room, what } in looked.found {
        for mut way in what {
            if let Some(news) = &mut way.news {
                news.names.retain(|resident| resident.entry().is_some_and(|entry| which.fits(&entry)));
            }
            if way.news.as_ref().is_some_and(|news| !news.names.is_empty()) {
                found.push(There { room: room.clone(), what: way });
            }
        }
    }
    Ok(found)
}

/// One line each: NAME@ROOM, whether it is in a session, what it can do, and how old this news is.
fn show_network(context: &mut Context, network: &[There<OnTheWay>]) {
    let now = context.clock().now();
    for There { room: from, what } in network {
        let Some(news) = &what.news else { continue };
        let from = from.shown();
        let age = news.heard().map_or("unknown".to_owned(), |at| span::short(now.since(at)));
        for resident in &news.names {
            let there = if resident.in_session { "in session" } else { "not in session" };
            let about = resident.about.as_deref().unwrap_or_default();
            let line = format!(
                "{}@{} network {} {there}, news {age} old, from {from} {about}",
                resident.name, what.room, resident.harness
            );
            context.output.line(&visible::line(line.trim_end()));
        }
    }
}

fn mailboxes(looked: &Looked<Unread>) -> impl Iterator<Item = (String, &Post, &Checked)> {
    looked.found.iter().flat_map(|There { room, what }| {
        let address = move |me: &Me| format!("{}@{}", me.shown(), room.shown());
        what.mailboxes.iter().map(move |(me, checked)| (address(me), &what.post, checked))
    })
}

/// The names of the mailboxes that were looked at, each once.
fn whose(looked: &Looked<Unread>) -> String {
    let mailboxes = looked.found.iter().flat_map(|there| &there.what.mailboxes);
    let names: BTreeSet<String> = mailboxes.map(|(me, _)| me.shown().to_string()).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
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
        note(&format!(
            "postroom: the room {} could not be read: {}",
            room.shown(),
            visible::line(&what.to_string())
        ));
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
