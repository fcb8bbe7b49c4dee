//! Lines: one item per line, stable for scripts and cheap for models. The MCP server and the command line without a
//! terminal print the same lines.

use std::time::Duration;

use super::{Branch, Listed, MessageState, Outcome, Post, Receipt, Sent};
use crate::clock::Timestamp;
use crate::mailbox::presence::Presence;
use crate::mailbox::reading::{Header, Unreadable};
use crate::message::{Attachment, Priority, visible};
use crate::name::MessageId;
use crate::span;

/// The longest line of a header, in bytes. It bounds the cost of a check, however long a sender's fields are.
const LONGEST: usize = 200;

/// The longest name, channel or id in such a line.
const LONGEST_PART: usize = 40;

/// `1 message`, `2 messages`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `ID AGE FROM [MARKS]: SUBJECT`
pub fn of_header(post: &Post, header: &Header) -> String {
    let marks = marks(header).map(|mark| format!(" {}", visible::cut(&mark, LONGEST_PART)));
    let marks = marks.collect::<String>();
    let from = visible::word(&visible::cut(&post.sender_shown(&header.envelope), LONGEST_PART));
    let line = format!(
        "{} {} {from}{marks}: {}",
        header.envelope.called(&header.name),
        post.age(header.time),
        visible::line(&header.envelope.subject)
    );
    visible::cut(&line, LONGEST)
}

/// The marks of a message, shown before it is read.
pub fn marks(header: &Header) -> impl Iterator<Item = String> {
    let envelope = &header.envelope;
    let priority = (envelope.priority != Priority::Normal).then(|| envelope.priority.to_string());
    let answers = envelope
        .reply_to
        .as_ref()
        .map(|id| format!("re={}", id.brief().unwrap_or_else(|| visible::line(id.as_str()))));
    let channel = envelope.channel.as_ref().map(|channel| format!("channel={}", visible::line(channel)));
    let names: Vec<String> = Attachment::all(envelope).into_iter().map(|one| one.name).collect();
    let attached = (!names.is_empty()).then(|| format!("attached={}", names.join(",")));
    let remarks = header.remarks.iter().map(|remark| visible::line(remark));
    [priority, answers, channel, attached].into_iter().flatten().chain(remarks)
}

/// `unreadable: FILE: WHY[ (NEXT)]`
pub fn of_unreadable(broken: &Unreadable) -> String {
    let (name, why) = (visible::line(&broken.name), visible::line(&broken.why));
    let next = match (broken.transient, broken.not_quarantined) {
        (true, _) => " (try again)",
        (_, true) => " (left alone)",
        _ => "",
    };
    format!("unreadable: {name}: {why}{next}")
}

/// `NAME PROTOCOL HARNESS unread=N [oldest=TIME] PRESENCE [aliases=…]: ABOUT`
pub fn of_name(listed: &Listed, now: Timestamp) -> String {
    let mut line = format!(
        "{} {} {}",
        visible::line(&listed.name),
        visible::line(&listed.protocol),
        visible::line(&listed.harness)
    );
    match listed.unread {
        Some((count, oldest)) => {
            line.push_str(&format!(" unread={count}"));
            oldest.iter().for_each(|time| line.push_str(&format!(" oldest={time}")));
        }
        None => line.push_str(" unread=?"),
    }
    line.push_str(&format!(" {}", of_presence(listed, now)));
    if !listed.aliases.is_empty() {
        line.push_str(&format!(" aliases={}", visible::line(&listed.aliases.join(","))));
    }
    if let Some(about) = &listed.about {
        line.push_str(&format!(": {}", visible::line(about)));
    }
    line
}

/// `in session`, or when it was seen last.
pub fn of_presence(listed: &Listed, now: Timestamp) -> String {
    match listed.presence {
        _ if listed.in_session => "in session".to_owned(),
        Some(Presence::Recent(time) | Presence::SilentSince(time)) => match now.since(time) {
            short if short < Duration::from_secs(60) => "seen just now".to_owned(),
            span => format!("seen {} ago", span::spoken(span)),
        },
        Some(Presence::NeverSeen) => "never seen".to_owned(),
        Some(Presence::Waiting) | None => "presence=?".to_owned(),
    }
}

/// `ID TIME FROM → TO: SUBJECT`, indented below what it answers.
pub fn of_branch(post: &Post, branch: &Branch) -> String {
    let node = &branch.node;
    format!(
        "{}{} {} {}: {}",
        "  ".repeat(branch.depth),
        brief(&node.id),
        visible::line(&second(&node.time)),
        visible::line(&who(post, branch)),
        visible::line(&node.subject)
    )
}

/// Sender and recipients.
pub fn who(post: &Post, branch: &Branch) -> String {
    let to: Vec<&str> = branch.node.to.iter().map(|id| post.name_of(id)).collect();
    format!("{} → {}", post.name_of(&branch.node.from), to.join(", "))
}

/// A time without its fractions.
pub fn second(time: &str) -> String {
    time.get(..19).map_or(time.to_owned(), |t| format!("{t}Z"))
}

/// Where a copy of a message is and what became of it, in words.
pub fn of_state(post: &Post, state: &MessageState) -> String {
    match state {
        MessageState::Queued => "queued, unread".to_owned(),
        MessageState::Claimed(terms) => {
            let owner = visible::line(post.name_of(&terms.owner));
            format!("claimed by {owner} until {}, attempt {}", visible::line(&terms.ends), terms.attempt)
        }
        MessageState::Working => "in progress".to_owned(),
        MessageState::Shown(time) => format!("shown {}", visible::line(time)),
        MessageState::Done(time) => format!("done {}", visible::line(time)),
        MessageState::Answered(time) => format!("answered {}", visible::line(time)),
        MessageState::Filed(time) => format!("filed away unread {}", visible::line(time)),
        MessageState::Failed(why) => format!("failed: {}", visible::line(why)),
        MessageState::NoEvidence => "archived; no evidence how".to_owned(),
        MessageState::WaitsForNetwork => "waits for the network".to_owned(),
        MessageState::Carried(time) => {
            format!("carried {}; no receipt yet", visible::line(time)).replace("  ", " ").replace(" ;", ";")
        }
        MessageState::Delivered(time) => format!("delivered {}", visible::line(time)),
    }
}

/// The fate of a sent message, in words.
pub fn of_sent(post: &Post, sent: &Sent) -> String {
    let gone = || "gone from that mailbox; no evidence".to_owned();
    let state = sent.state.as_ref().map_or_else(gone, |state| of_state(post, state));
    let remarks = sent.remarks.iter().map(|remark| format!(", {}", visible::line(remark)));
    format!("{state}{}", remarks.collect::<String>())
}

/// An id for display: its eight digits, else all of it.
pub fn brief(id: &str) -> String {
    MessageId::parse_lenient(id).ok().and_then(|id| id.brief()).unwrap_or_else(|| visible::line(id))
}

/// `queued ID for NAME: SUBJECT`, or another outcome.
pub fn of_receipt(receipt: &Receipt) -> String {
    let (verdict, rest) = of_receipt_in_two(receipt);
    format!("{verdict} {rest}")
}

/// The line of [`of_receipt`], with the verdict apart so that it can be coloured.
pub fn of_receipt_in_two(receipt: &Receipt) -> (&'static str, String) {
    let (short, to) = (receipt.id.short().unwrap_or_default(), visible::line(&receipt.name));
    match &receipt.outcome {
        Outcome::Queued => {
            let beside = match receipt.is_beside {
                true => format!(" as {}", visible::line(&receipt.file)),
                false => String::new(),
            };
            ("queued", format!("{short} for {to}{beside}: {}", visible::line(&receipt.subject)))
        }
        Outcome::Already(folder) => {
            ("sent before", format!("{short} for {to}: it is in the {}", folder.as_str()))
        }
        Outcome::Unproven(why) => ("delivered, durability not proven:", format!("{short} for {to}: {why}")),
        Outcome::Failed(e) => ("not delivered", format!("to {to}: {}", visible::text(&e.to_string()))),
    }
}
