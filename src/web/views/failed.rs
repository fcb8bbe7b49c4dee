//! Failed: dead letters, parked messages and what could not be read, with the reason of each.

use askama::Template;

use crate::dispatch::retriable::Retriable;
use crate::mailbox::Folder;
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::Browsed;
use crate::post::line::counted;
use crate::web::guard::Role;
use crate::web::markup::Time;
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};

/// The most of each mailbox that are shown.
const ROWS: usize = 100;

#[derive(Template)]
#[template(path = "failed.html")]
struct Failed<'a> {
    room: &'a str,
    boxes: Vec<Box>,
    broken: Vec<Broken>,
    /// How many files in quarantine are not among these.
    hidden: usize,
    faults: Vec<String>,
    total: usize,
    is_person: bool,
}

/// What one mailbox gave up.
struct Box {
    name: String,
    id: String,
    rows: Vec<Row>,
    /// How many there are, also if not all are shown.
    total: usize,
}

/// A file in the quarantine of a mailbox.
struct Broken {
    mailbox: String,
    file: String,
    why: String,
}

struct Row {
    file: String,
    id: String,
    subject: String,
    why: String,
    kind: &'static str,
    word: String,
    time: Option<Time>,
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let now = post.room().clock().now();
    let (mut boxes, mut broken, mut hidden, mut faults) = (vec![], vec![], 0, vec![]);
    // The person's mail is for the person.
    let is_shown = |id: &MailboxId| post.is_attended() || !post.is_persons(id);
    for entry in post.registry()?.entries.iter().filter(|entry| is_shown(&entry.id)) {
        let name = visible::line(&entry.name);
        let looked = post.other(&entry.id).and_then(|me| {
            let put_away = post.browse(&me, |folder| folder == Folder::Quarantine, None, ROWS);
            Ok((Retriable::newest_of(post, me, ROWS)?, put_away))
        });
        let ((all, letters), put_away) = match looked {
            Ok(looked) => looked,
            Err(e) => {
                faults.push(format!("{name}: {}", visible::line(&e.to_string())));
                continue;
            }
        };
        let put_away = put_away.unwrap_or_else(|e| {
            faults.push(format!("the quarantine of {name}: {}", visible::line(&e.to_string())));
            Browsed::default()
        });
        hidden += put_away.total.saturating_sub(put_away.messages.len());
        for one in put_away.messages {
            let why = one.header.err().map_or_else(|| "it was put aside".to_owned(), |broken| broken.why);
            let (mailbox, file, why) = (name.clone(), visible::line(&one.name), visible::line(&why));
            broken.push(Broken { mailbox, file, why });
        }
        let newest = all.letters.iter().rev().map(|letter| Row {
            file: letter.name.clone(),
            id: letter.envelope.as_ref().map(|envelope| envelope.id.to_string()).unwrap_or_default(),
            subject: match &letter.envelope {
                Ok(envelope) => visible::clip(&envelope.subject, 200),
                Err(why) => format!("unreadable: {}", visible::line(why)),
            },
            why: visible::clip(letter.reason(), 400),
            kind: "bad",
            word: counted(letter.tries as usize, "attempt"),
            time: letter.attempts.last().and_then(|attempt| Time::read(&attempt.time, now)),
        });
        let parked = all.parked.iter().map(|parked| {
            // One that cannot be read is named by its file.
            let opened = post.open_in(&all.me, &parked.file, Folder::Inbox);
            let envelope = opened.ok().map(|opened| opened.message.envelope);
            Row {
                file: parked.file.clone(),
                id: envelope.as_ref().map(|envelope| envelope.id.to_string()).unwrap_or_default(),
                subject: envelope.map_or_else(
                    || visible::line(&parked.file),
                    |envelope| visible::clip(&envelope.subject, 200),
                ),
                why: visible::clip(&parked.why, 400),
                kind: "warn",
                word: "parked".to_owned(),
                time: Time::read(&parked.since, now),
            }
        });
        let total = all.parked.len() + letters;
        let rows: Vec<Row> = parked.chain(newest).take(ROWS).collect();
        if !rows.is_empty() {
            boxes.push(Box { name, id: entry.id.to_string(), rows, total });
        }
    }
    let total = boxes.iter().map(|one| one.total).sum();
    let is_person = ask.visitor.role == Role::Person;
    let failed = Failed { room: &ask.room, boxes, broken, hidden, faults, total, is_person };
    Page::new("failed", "Failed", &failed)
}
