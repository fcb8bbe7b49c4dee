//! The feed: lines of the journal, as a page shows them.

use askama::Template;
use serde::Serialize;

use super::markup::{Time, dated};
use crate::clock::Timestamp;
use crate::journal::Event;
use crate::message::visible;
use crate::name::{MailboxId, MessageId};
use crate::post::Post;

/// One line of the feed.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) time: Time,
    pub(super) event: String,
    pub(super) by: String,
    pub(super) to: String,
    pub(super) what: String,
    /// The message, if the line is about one.
    pub(super) id: String,
}

impl Line {
    /// A line about the person's mail says no more than that, unless the person looks.
    pub(super) fn of(post: &Post, event: &Event) -> Self {
        let to = if event.to.is_empty() { &event.mailbox } else { &event.to };
        let named = |id: &str| visible::line(post.name_of(id));
        let text = if event.subject.is_empty() { &event.note } else { &event.subject };
        // Only a subject leads to its message.
        let id = if event.subject.is_empty() { "" } else { &event.id };
        let now = post.room().clock().now();
        // A message is in its recipient's mailbox; everything but sending is done there.
        let owner = if event.event == "sent" {
            to
        } else if event.mailbox.is_empty() {
            &event.by
        } else {
            &event.mailbox
        };
        let is_persons = MailboxId::parse(owner).is_ok_and(|owner| post.is_persons(&owner));
        let (text, id) = match is_persons && !post.is_attended() {
            true => ("", ""),
            false => (text.as_str(), id),
        };
        Self {
            time: Time::new(Timestamp::parse(&event.time).unwrap_or(now), now),
            event: visible::line(&event.event),
            by: named(&event.by),
            to: if *to == event.by { String::new() } else { named(to) },
            what: visible::clip(&dated(text), 160),
            id: MessageId::parse_lenient(id).map(|id| id.to_string()).unwrap_or_default(),
        }
    }

    /// The line as HTML, with links for a room.
    pub(super) fn html(&self, room: &str) -> askama::Result<String> {
        LineOf { room, line: self }.render().map(|html| html.trim().to_owned())
    }

    /// How it is coloured.
    pub(super) fn kind(&self) -> &'static str {
        match self.event.as_str() {
            "sent" | "answered" => "send",
            "shown" | "archived" | "done" => "ok",
            "failed" | "quarantined" | "bounced" => "bad",
            "claimed" | "released" => "work",
            _ => "other",
        }
    }
}

#[derive(Template)]
#[template(path = "line.html")]
struct LineOf<'a> {
    room: &'a str,
    line: &'a Line,
}

/// What a script needs of an event: the line as HTML, and between whom a message went.
#[derive(Serialize)]
struct Sent {
    html: String,
    event: String,
    by: String,
    to: String,
}

/// The events as JSON on one line.
pub(super) fn json(post: &Post, room: &str, events: &[Event]) -> String {
    let lines = events.iter().map(|event| {
        let line = Line::of(post, event);
        let html = line.html(room).unwrap_or_default();
        Sent { html, event: line.event, by: line.by, to: line.to }
    });
    serde_json::to_string(&lines.collect::<Vec<_>>()).unwrap_or_default()
}
