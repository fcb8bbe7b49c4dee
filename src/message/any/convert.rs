//! Conversion between protocols: an envelope becomes a message of any of them, and gains no fields.
//!
//! A value that the target protocol cannot hold raw is folded to one line ([`folded`]): its line breaks and control
//! characters become spaces, and it is cut at 1000 bytes. So no line of a value is ever read as a field. A key that has
//! another meaning in the target, or cannot be written there, is marked ([`foreign`]). Doubts about a message are not
//! written into its conversion; the caller reads [`Envelope::doubts`] before it converts.

use std::collections::HashSet;

use super::id_of_request;
use crate::message::envelope::{
    self, Envelope, Message, Priority, ProtocolFields, check_value, folded, one_line,
};
use crate::message::frontmatter::{is_raw_key, known_key};
use crate::message::liberal::{self, UNKNOWN};
use crate::message::tree::{self, Status, Task};
use crate::message::workspace::{self, Kind, Request};
use crate::message::{Origin, Protocol, Step, maildir};
use crate::name::MessageId;

type Extra = Vec<(String, String)>;

/// A message of the workspace protocol as an envelope. The sender is the path that a reply would go to; the caller
/// looks up its mailbox.
pub fn of_request(request: Request, bytes: &[u8]) -> Message {
    let superseded = request.is_superseded();
    let Request { id, kind, channel, receiver, reply, mut extra, body, mut doubts } = request;
    let question = id_of_request(&id);
    let own = match kind {
        Kind::New => question.clone(),
        // A reply keeps the request's id, so its own is derived from its whole content.
        Kind::Reply => None,
    };
    let given = take_id(&mut extra, "msg_id");
    let id_of_message = given.or(own).unwrap_or_else(|| MessageId::derived(bytes));
    let answered = if kind == Kind::Reply { question } else { None };
    let subject = take(&mut extra, "subject", |_| true).filter(|subject| !subject.is_empty());
    let titled = subject.is_some();
    let priority = take(&mut extra, "priority", |_| true).filter(|word| !word.is_empty());
    let envelope = Envelope {
        id: id_of_message,
        from: Origin::workspace(reply.clone().unwrap_or_default()),
        to: String::new(),
        subject: subject.unwrap_or_else(|| envelope::subject_of(&body)),
        reply_to: take_id(&mut extra, "reply_to").or(answered),
        priority: priority.map_or(Priority::Normal, |word| liberal::priority(&word, &mut doubts)),
        channel,
        extra,
        native: ProtocolFields::Workspace { request: id, kind, receiver, reply, superseded, titled },
        doubts,
    };
    Message { envelope, body }
}

/// An envelope as one of the native protocol, with every value in a writable form.
pub fn to_maildir(envelope: &Envelope) -> Envelope {
    Envelope {
        from: Origin::mailbox(folded(envelope.from.as_str())),
        to: says(&folded(&envelope.to)).unwrap_or_else(|| UNKNOWN.to_owned()),
        subject: folded(&envelope.subject),
        channel: envelope.channel.as_deref().and_then(|channel| says(&folded(channel))),
        extra: foreign(&envelope.extra, Protocol::Maildir),
        native: ProtocolFields::Maildir,
        doubts: vec![],
        ..envelope.clone()
    }
}

/// An envelope as a message of the workspace protocol.
pub fn to_request(
    envelope: &Envelope,
    body: &str,
    request: &str,
    receiver: &str,
    reply: Option<&str>,
) -> Request {
    let question = id_of_request(request);
    let kind = if envelope.reply_to.is_some() { Kind::Reply } else { Kind::New };
    let (own, answered) = if kind == Kind::New { (question, None) } else { (None, question) };
    let mut extra = vec![];
    let mut put = |key: &str, value: &str| extra.push((key.to_owned(), value.to_owned()));
    if own.as_ref() != Some(&envelope.id) {
        put("msg_id", envelope.id.as_str());
    }
    let subject = folded(&envelope.subject);
    if !subject.is_empty() && subject != envelope::subject_of(body) {
        put("subject", &subject);
    }
    if let Some(id) = envelope.reply_to.as_ref().filter(|id| answered.as_ref() != Some(id)) {
        put("reply_to", id.as_str());
    }
    if envelope.priority != Priority::Normal {
        put("priority", envelope.priority.as_str());
    }
    extra.extend(foreign(&envelope.extra, Protocol::Workspace));
    Request {
        id: request.to_owned(),
        kind,
        channel: envelope.channel.as_deref().and_then(|channel| says(&folded(channel))),
        receiver: receiver.to_owned(),
        reply: reply.map(str::to_owned),
        extra,
        body: body.to_owned(),
        doubts: vec![],
    }
}

/// A message of the tree protocol as an envelope. One written by hand is identified by its id and its inbox, because
/// equal ids in different inboxes are different requests.
pub fn of_task(task: Task) -> Message {
    // By hand an agent may have any name; its message still gets an id.
    let named = |text: String| {
        MessageId::parse_lenient(&text).unwrap_or_else(|_| MessageId::derived(text.as_bytes()))
    };
    let subject = subject_of_task(&task);
    let mut extra = task.extra;
    let id = take_id(&mut extra, "msg_id").unwrap_or_else(|| named(format!("{}@{}", task.id, task.to)));
    let reply_to = match (take_id(&mut extra, "reply_to"), &task.request_id) {
        (None, Some(request)) => Some(match MessageId::of_request(&request.replace('-', "")) {
            Some(id) => id,
            None => named(format!("{request}@{}", task.from)),
        }),
        (given, _) => given,
    };
    let channel = take(&mut extra, "channel", |_| true).filter(|channel| !channel.is_empty());
    for (key, value) in [
        ("workflow", task.workflow),
        ("step", task.step.map(|step| step.to_string())),
        ("duration_seconds", task.duration_seconds.map(|seconds| seconds.to_string())),
        ("error", task.error),
    ] {
        extra.extend(value.map(|value| (key.to_owned(), value)));
    }
    let native = ProtocolFields::Tree { id: task.id, status: task.status, created: task.created };
    let envelope = Envelope {
        id,
        from: Origin::agent(task.from),
        to: task.to,
        subject,
        reply_to,
        priority: task.priority,
        channel,
        extra,
        native,
        doubts: task.doubts,
    };
    Message { envelope, body: task.body }
}

/// An envelope as a task; the tree sets its id and time. YAML can hold several lines, so values are only trimmed.
pub fn to_task(envelope: &Envelope, body: &str, request_id: Option<String>) -> Task {
    let mut rest = envelope.extra.clone();
    let workflow = take_text(&mut rest, "workflow", |_| true);
    let error = take_text(&mut rest, "error", |_| true);
    let step = take_text(&mut rest, "step", |value| value.parse::<Step>().is_ok());
    let seconds = take_text(&mut rest, "duration_seconds", |value| value.parse::<u64>().is_ok());
    let mut extra = vec![("msg_id".to_owned(), envelope.id.to_string())];
    extra.extend(envelope.reply_to.as_ref().map(|id| ("reply_to".to_owned(), id.to_string())));
    let channel = envelope.channel.as_deref().and_then(|channel| says(&folded(channel)));
    extra.extend(channel.map(|channel| ("channel".to_owned(), channel)));
    extra.extend(foreign(&rest, Protocol::Tree));
    Task {
        id: String::new(),
        from: says(envelope.from.as_str()).unwrap_or_else(|| UNKNOWN.to_owned()),
        to: says(&envelope.to).unwrap_or_else(|| UNKNOWN.to_owned()),
        status: Status::Pending,
        created: String::new(),
        priority: envelope.priority,
        context: says(&envelope.subject),
        workflow,
        step: step.and_then(|step| step.parse().ok()),
        request_id,
        duration_seconds: seconds.and_then(|seconds| seconds.parse().ok()),
        error,
        extra,
        body: body.to_owned(),
        doubts: vec![],
    }
}

/// Extra fields in a form that a message of this protocol can hold. Nothing is dropped:
///
/// - A key that has another meaning in this protocol, or that identifies another protocol, gets the prefix `x-`.
/// - A key that cannot be written becomes `x-` and its letters, digits, `_` and `-`, with `-` for anything else.
/// - A duplicate key, or one that equals a marked key, gets another `x-`.
/// - A value becomes one line ([`folded`]), except in a tree, where YAML quotes it.
pub fn foreign(extra: &[(String, String)], protocol: Protocol) -> Extra {
    let own: &[&str] = match protocol {
        Protocol::Maildir => &maildir::OWN,
        Protocol::Workspace => &workspace::OWN,
        Protocol::Tree => &tree::OWN,
    };
    let mut taken: HashSet<String> = HashSet::new();
    let names: HashSet<&str> = extra.iter().map(|(key, _)| key.as_str()).collect();
    let mut marked = |key: &str| {
        let mut marked = writable(key, protocol);
        while known_key(&marked, own).is_some()
            || known_key(&marked, &TELLING).is_some()
            || marked != key && names.contains(marked.as_str())
            || taken.contains(&marked)
        {
            marked.insert_str(0, "x-");
        }
        taken.insert(marked.clone());
        marked
    };
    let value = |value: &String| match protocol {
        Protocol::Tree => value.clone(),
        Protocol::Maildir | Protocol::Workspace => folded(value),
    };
    extra.iter().map(|(key, text)| (marked(key), value(text))).collect()
}

/// The keys that identify the protocol of a message.
const TELLING: [&str; 10] = [
    "msg_id",
    "subject",
    "reply_to",
    "priority",
    "channel",
    "REQUEST_ID",
    "MESSAGE_TYPE",
    "id",
    "status",
    "created",
];

/// The longest key that is not cut.
const KEY_LIMIT: usize = 128;

fn writable(key: &str, protocol: Protocol) -> String {
    let in_yaml = protocol == Protocol::Tree && !key.is_empty() && one_line(key) == key;
    if key.len() <= KEY_LIMIT && (is_raw_key(key) || in_yaml) {
        return key.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    format!("x-{}", key.chars().take(KEY_LIMIT - 2).map(plain).collect::<String>())
}

/// The subject of a task: its context, else the first line of its request.
pub fn subject_of_task(task: &Task) -> String {
    let context = task.context.as_deref().map(one_line).filter(|context| !context.is_empty());
    context.unwrap_or_else(|| envelope::subject_of(request_section(&task.body)))
}

/// The text under `## Request`, else everything.
fn request_section(body: &str) -> &str {
    let Some(at) = body.find("## Request") else { return body };
    let section = &body[at + "## Request".len()..];
    section.find("\n## ").map_or(section, |end| &section[..end])
}

/// Trimmed text, if there is any.
fn says(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Removes the field if its trimmed text is not empty and fits, and returns the text.
fn take_text(extra: &mut Extra, key: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let at = extra.iter().position(|(k, value)| k == key && says(value).is_some_and(|text| fits(&text)))?;
    says(&extra.remove(at).1)
}

fn take(extra: &mut Extra, key: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let at =
        extra.iter().position(|(k, value)| k == key && fits(value) && check_value(value.trim()).is_ok())?;
    Some(extra.remove(at).1.trim().to_owned())
}

fn take_id(extra: &mut Extra, key: &str) -> Option<MessageId> {
    let id = take(extra, key, |value| MessageId::parse_lenient(value.trim()).is_ok())?;
    MessageId::parse_lenient(&id).ok()
}
