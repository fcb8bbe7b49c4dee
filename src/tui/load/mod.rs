//! Reading a room for the screen, through the library. It changes nothing. A view reads what it shows: one page of a mailbox,
//! one transcript, and never all messages.

mod flows;
mod letters;
mod rooms;
mod runs;

use super::seen::{FailedKind, FailedRow, FailedSeen, FeedLine, Found, Lost, MailSeen, RoomSeen, Want};
use crate::clock::Timestamp;
use crate::desk::Desk;
use crate::dispatch::retriable::Retriable;
use crate::journal;
use crate::mailbox::Folder;
use crate::name::MessageId;
use crate::overview::Overview;
use crate::post::{Error, Post, Result};
use crate::staff::all_workflows;

/// The number of lines of the feed, and of failed messages of one mailbox.
const LINES: usize = 60;
const ROWS: usize = 100;

/// Reads what is wanted.
pub(super) fn look(desk: &Desk, post: &Post, want: &Want) -> std::result::Result<Found, Lost> {
    let lost = |e: Error| Lost::Thing(e.to_string());
    match want {
        // Without it there is nothing to show.
        Want::Room => {
            room(desk, post).map(|room| Found::Room(Box::new(room))).map_err(|e| Lost::Room(e.to_string()))
        }
        Want::Rooms => rooms::others(desk, post).map(Found::Rooms).map_err(lost),
        Want::Mail { mailbox, tab, limit } => {
            letters::page(post, mailbox, *tab, *limit).map(Found::Mail).map_err(lost)
        }
        Want::Glance { mailbox, file } => letters::glance(post, mailbox, file).map(boxed).map_err(lost),
        Want::Letter { id } => letters::whole(post, id).map(boxed).map_err(lost),
        Want::Runs { agent, limit } => {
            runs::list(post, agent.as_deref(), *limit).map(Found::Runs).map_err(lost)
        }
        Want::Run { id } => runs::one(post, id).map(|run| Found::Run(Box::new(run))).map_err(lost),
        Want::Diff { run } => runs::diff(post, run).map(Found::Diff).map_err(lost),
        Want::Flows => flows::list(desk, post).map(Found::Flows).map_err(lost),
        Want::Flow { run } => flows::one(post, run).map(|flow| Found::Flow(Box::new(flow))).map_err(lost),
        Want::Failed => failed(post).map(Found::Failed).map_err(lost),
        Want::Trash => post.trashed().map(Found::Trash).map_err(lost),
    }
}

fn boxed(letter: super::seen::LetterSeen) -> Found {
    Found::Letter(Box::new(letter))
}

fn room(desk: &Desk, post: &Post) -> Result<RoomSeen> {
    let mut overview = Overview::with_board(post, desk.staff(post))?;
    let feed = journal::latest(post.room(), LINES).unwrap_or_else(|e| {
        overview.faults.push(format!("what happened: {e}"));
        vec![]
    });
    let rooms = desk.all().unwrap_or_else(|e| {
        overview.faults.push(format!("the other rooms: {e}"));
        vec![desk.own().to_owned()]
    });
    // Their fault is that of the agents, which is told already.
    let around = desk.around(post).ok();
    let workflows = around.into_iter().flat_map(|around| all_workflows(&*around)).map(|found| found.name);
    Ok(RoomSeen {
        overview,
        rooms,
        feed: feed.iter().rev().map(|event| line(post, event)).collect(),
        workflows: workflows.collect(),
    })
}

fn line(post: &Post, event: &journal::Event) -> FeedLine {
    let to = if event.to.is_empty() { &event.mailbox } else { &event.to };
    let named = |id: &str| post.name_of(id).to_owned();
    let what = if event.subject.is_empty() { &event.note } else { &event.subject };
    // Only a subject leads to its message.
    let id = Some(&event.id).filter(|_| !event.subject.is_empty());
    FeedLine {
        time: Timestamp::parse(&event.time),
        event: event.event.clone(),
        by: named(&event.by),
        to: if *to == event.by { String::new() } else { named(to) },
        what: what.clone(),
        id: id.and_then(|id| MessageId::parse_lenient(id).ok()).map(|id| id.to_string()),
    }
}

/// What can be tried again, and what could not be read.
fn failed(post: &Post) -> Result<FailedSeen> {
    let (mut rows, mut older, mut faults) = (vec![], 0, vec![]);
    for entry in &post.registry()?.entries {
        let looked = post.other(&entry.id).and_then(|me| {
            let put_away = post.browse(&me, |folder| folder == Folder::Quarantine, None, ROWS)?;
            Ok((Retriable::of(post, me)?, put_away))
        });
        let (all, put_away) = match looked {
            Ok(looked) => looked,
            // The person's mail is for a person.
            Err(Error::NoPerson(_)) => continue,
            Err(e) => {
                faults.push(format!("{}: {e}", entry.name));
                continue;
            }
        };
        let row = |file: &str, kind| FailedRow {
            name: entry.name.clone(),
            mailbox: entry.id.to_string(),
            file: file.to_owned(),
            id: None,
            subject: String::new(),
            why: String::new(),
            kind,
            time: None,
        };
        let left_out = |count: usize| count.saturating_sub(ROWS);
        older += left_out(all.parked.len()) + left_out(all.letters.len()) + left_out(put_away.total);
        for parked in all.parked.iter().take(ROWS) {
            let opened = post.open_in(&all.me, &parked.file, Folder::Inbox).ok();
            let envelope = opened.map(|opened| opened.message.envelope);
            rows.push(FailedRow {
                id: envelope.as_ref().map(|envelope| envelope.id.to_string()),
                subject: envelope.map_or_else(|| parked.file.clone(), |envelope| envelope.subject),
                why: parked.why.clone(),
                time: Timestamp::parse(&parked.since),
                ..row(&parked.file, FailedKind::Parked)
            });
        }
        rows.extend(all.letters.iter().rev().take(ROWS).map(|letter| FailedRow {
            id: letter.envelope.as_ref().ok().map(|envelope| envelope.id.to_string()),
            subject: match &letter.envelope {
                Ok(envelope) => envelope.subject.clone(),
                Err(why) => format!("unreadable: {why}"),
            },
            why: letter.reason().to_owned(),
            time: letter.attempts.last().and_then(|attempt| Timestamp::parse(&attempt.time)),
            ..row(&letter.name, FailedKind::Dead(letter.tries))
        }));
        rows.extend(put_away.messages.into_iter().map(|one| FailedRow {
            subject: one.name.clone(),
            why: one.header.err().map_or_else(|| "it was put aside".to_owned(), |broken| broken.why),
            ..row(&one.name, FailedKind::Quarantined)
        }));
    }
    Ok(FailedSeen { rows, older, faults })
}
