//! The tools that show, send and archive messages.

use serde::Deserialize;

use super::calls::{Answer, bad, next_steps};
use super::desk::Desk;
use super::evidence::AfterSend;
use crate::mailbox::Folder;
use crate::mailbox::attachments::FoundFile;
use crate::message::fence::{self, Extent, ShownMessage};
use crate::message::{Priority, visible};
use crate::name::MessageId;
use crate::post::{self, Error, Letter, Me, Opened, Outcome, Post, Receipt, line};
use crate::random;
use crate::view::mcp as view;

/// How much of a body is shown; agents' programs cut longer text.
const LONG: usize = 16 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    id: Option<String>,
    #[serde(default)]
    keep: bool,
    #[serde(default)]
    full: bool,
}

pub(super) fn read(desk: &Desk, wanted: &Read, deeds: &AfterSend) -> post::Result<Answer> {
    let (post, me) = desk.post_and_me()?;
    let (opened, mut remarks) = match &wanted.id {
        Some(id) => (Some(post.open_message(&me, id, wanted.keep)?), vec![]),
        None => {
            let next = post.open_next(&me, wanted.keep)?;
            let remarks = next.put_away.iter().chain(&next.skipped).map(line::of_unreadable).collect();
            (next.opened, remarks)
        }
    };
    let Some(opened) = opened else {
        remarks.push(format!("no unread mail for {}", visible::line(me.shown())));
        let text = remarks.join("\n");
        return Ok(Answer::new(text.as_str(), &view::Read { id: None, text: &text }));
    };
    remarks.push(framed(&post, &me, wanted, &opened));
    let (text, id) = (remarks.join("\n"), opened.message.envelope.called(&opened.name));
    if !wanted.keep {
        let desk = desk.clone();
        // A failure cannot be reported any more: the message then stays unread, and will be shown again.
        deeds.add(move || drop(desk.post_and_me().and_then(|(post, me)| post.shown(&me, &opened))));
    }
    Ok(Answer::new(text.as_str(), &view::Read { id: Some(id), text: &text }))
}

/// A message as `postroom read` shows it to an agent.
fn framed(post: &Post, me: &Me, wanted: &Read, opened: &Opened) -> String {
    let (envelope, body) = (&opened.message.envelope, &opened.message.body);
    let stays = me.mailbox.awaits_answer(envelope);
    let mut remarks = vec![];
    if opened.folder == Folder::Archive {
        remarks.push("it lay in the archive".to_owned());
    }
    if opened.folder == Folder::Inbox && stays {
        remarks.push("it stays in the inbox until it is answered".to_owned());
    }
    if !envelope.to.is_empty() && envelope.to != me.id.as_str() {
        remarks.push(format!("it is addressed to {}, not to this mailbox", envelope.to));
    }
    let sender = &post.sender_shown(envelope);
    let attachments: Vec<String> = opened.files.iter().map(FoundFile::line).collect();
    let facts = ShownMessage {
        envelope,
        called: &envelope.called(&opened.name),
        sender,
        age: &post.age(opened.time),
        remarks: &remarks,
        attachments: &attachments,
        next: None,
    };
    let left = wanted.keep || stays || opened.folder != Folder::Inbox;
    let path = me.mailbox.path(if left { opened.folder } else { Folder::Archive }, &opened.name);
    let path = path.display().to_string();
    let extent = match body.len() > LONG && !wanted.full {
        true => Extent::Head { bytes: LONG, path: &path },
        false => Extent::Whole,
    };
    fence::render(&facts, body, &fence::nonce(body, random::number), extent)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    #[serde(deserialize_with = "one_or_more")]
    to: Vec<String>,
    text: String,
    subject: Option<String>,
    #[serde(default, deserialize_with = "priority")]
    priority: Priority,
    channel: Option<String>,
    id: Option<String>,
}

pub(super) fn send(desk: &Desk, wanted: Send) -> post::Result<Answer> {
    let (post, me) = desk.post_and_me()?;
    let id = |text: String| MessageId::parse_strict(&text).map_err(|why| bad("--id", &text, why));
    let letter = Letter {
        to: wanted.to,
        id: wanted.id.map(id).transpose()?,
        channel: wanted.channel,
        ..letter(&post, wanted.text, wanted.subject, wanted.priority)?
    };
    Ok(receipts(&post.send(&me, &letter)?))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    id: String,
    text: String,
    subject: Option<String>,
    #[serde(default, deserialize_with = "priority")]
    priority: Priority,
}

pub(super) fn reply(desk: &Desk, wanted: Reply, deeds: &AfterSend) -> post::Result<Answer> {
    let (post, me) = desk.post_and_me()?;
    post.find(&me, &wanted.id)?;
    let letter = letter(&post, wanted.text, wanted.subject, wanted.priority)?;
    let answer = post.reply(&me, &wanted.id, letter)?;
    let told = receipts(std::slice::from_ref(&answer.receipt));
    let desk = desk.clone();
    // If the receipt was lost, the client may call again, so the note stays until the receipt is written.
    deeds.add(move || drop(desk.post_and_me().map(|(post, me)| post.answered(&me, &answer))));
    Ok(told)
}

fn letter(post: &Post, text: String, subject: Option<String>, priority: Priority) -> post::Result<Letter> {
    let limit = post.room().limits().body_bytes;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > limit) {
        return Err(Error::BodyTooLarge { limit });
    }
    let subject = subject.map(|s| s.trim().to_owned()).filter(|s| !s.is_empty());
    Ok(Letter { body: text, subject, priority, ..Letter::default() })
}

/// A list, or a single text: models write `to: "bob"` for one name.
fn one_or_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a text or a list of texts")]
    enum Given {
        One(String),
        More(Vec<String>),
    }
    Ok(match Given::deserialize(from)? {
        Given::One(text) => vec![text],
        Given::More(list) => list,
    })
}

fn priority<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Priority, D::Error> {
    let text = String::deserialize(from)?;
    Priority::parse(&text)
        .ok_or_else(|| serde::de::Error::custom("priority is one of low, normal, high, urgent"))
}

fn receipts(receipts: &[Receipt]) -> Answer {
    let mut lines = vec![];
    let mut failed = false;
    for receipt in receipts {
        lines.push(line::of_receipt(receipt));
        if let Outcome::Failed(e) = &receipt.outcome {
            failed = true;
            lines.extend(next_steps(e).iter().map(|hint| format!("  {}", visible::text(hint))));
        }
    }
    let mut answer = Answer::new(lines.join("\n"), &view::Receipts::of(receipts));
    answer.failed = failed;
    answer
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Archive {
    #[serde(deserialize_with = "one_or_more")]
    ids: Vec<String>,
}

pub(super) fn archive(desk: &Desk, wanted: &Archive) -> post::Result<Answer> {
    let (post, me) = desk.post_and_me()?;
    // Find all before moving the first: a mistyped id moves nothing.
    wanted.ids.iter().try_for_each(|id| post.find_to_file(&me, id, Folder::Archive).map(drop))?;
    let mut lines = vec![];
    for id in &wanted.ids {
        let (_, moved) = post.move_to(&me, id, Folder::Archive)?;
        lines.push(format!(
            "{} {}",
            if moved { "archived" } else { "was archived before:" },
            visible::line(id)
        ));
    }
    Ok(Answer::new(lines.join("\n"), &view::Archive { archived: &wanted.ids }))
}
