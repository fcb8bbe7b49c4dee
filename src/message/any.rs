//! A message of any protocol: read as an envelope whatever its bytes look like, and written as a request or a task.
//!
//! What a protocol has no place for travels as an extra field of the same name, and is taken out of it again here:
//! `msg_id`, `subject`, `reply_to`, `priority`, `channel`. A field that a protocol means otherwise is written with
//! `x-` before it. What only a protocol knows is kept in [`Native`].

use super::envelope::{self, Envelope, Message, Native, Priority, check_value};
use super::frontmatter::{self, ParseError};
use super::tree::{self, Status, Task};
use super::workspace::{self, Kind, Request};
use super::{Protocol, maildir};
use crate::name::MessageId;

/// What the beginning of a file says.
#[derive(Debug)]
pub enum Head {
    Envelope(Box<Envelope>),
    /// The frontmatter goes on.
    ReadOn,
    /// This protocol needs the whole file.
    ReadAll,
}

/// Reads a whole message of whichever protocol its keys tell.
pub fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
    let split = frontmatter::split(frontmatter::text(bytes)?)?;
    match Protocol::of_header(split.header) {
        Protocol::Maildir => maildir::parse(bytes),
        Protocol::Workspace => Ok(of_request(workspace::parse(bytes)?, bytes)),
        Protocol::Tree => Ok(of_task(tree::parse(bytes)?)),
    }
}

/// Reads the envelope out of the beginning of a file, where that is enough.
pub fn parse_head(bytes: &[u8], whole: bool) -> Result<Head, ParseError> {
    let valid = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default(),
    };
    if let Ok(split) = frontmatter::split(valid)
        && Protocol::of_header(split.header) != Protocol::Maildir
    {
        return match whole {
            true => parse(bytes).map(|message| Head::Envelope(Box::new(message.envelope))),
            false => Ok(Head::ReadAll),
        };
    }
    let head = maildir::parse_head(bytes, whole)?;
    Ok(head.map_or(Head::ReadOn, |envelope| Head::Envelope(Box::new(envelope))))
}

/// Which message a request or its reply is, by its request id alone.
pub fn id_of_request(request: &str) -> Option<MessageId> {
    MessageId::of_request(request).or_else(|| MessageId::found(request).ok())
}

/// A message of the workspace protocol as an envelope. The sender is the path that a reply would go to; whoever
/// knows the mailboxes finds out whose that is.
pub fn of_request(request: Request, bytes: &[u8]) -> Message {
    let superseded = request.is_superseded();
    let Request { id, kind, channel, receiver, reply, mut extra, body } = request;
    let question = id_of_request(&id);
    let own = match kind {
        Kind::New => question.clone(),
        // A reply keeps the request's id, so its own is made of all it says.
        Kind::Reply => None,
    };
    let given = take_id(&mut extra, "msg_id");
    let id_of_message = given.or(own).unwrap_or_else(|| MessageId::derived(bytes));
    let answered = if kind == Kind::Reply { question } else { None };
    let subject = take(&mut extra, "subject", |_| true);
    let titled = subject.is_some();
    let envelope = Envelope {
        id: id_of_message,
        from: reply.clone().unwrap_or_default(),
        to: String::new(),
        subject: subject.unwrap_or_else(|| envelope::subject_of(&body)),
        reply_to: take_id(&mut extra, "reply_to").or(answered),
        priority: take_priority(&mut extra),
        channel,
        extra,
        native: Native::Workspace { request: id, kind, receiver, reply, superseded, titled },
        doubts: vec![],
    };
    Message { envelope, body }
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
    if envelope.subject != envelope::subject_of(body) {
        put("subject", &envelope.subject);
    }
    if let Some(id) = envelope.reply_to.as_ref().filter(|id| answered.as_ref() != Some(id)) {
        put("reply_to", id.as_str());
    }
    if envelope.priority != Priority::Normal {
        put("priority", envelope.priority.word());
    }
    extra.extend(foreign(&envelope.extra, Protocol::Workspace));
    Request {
        id: request.to_owned(),
        kind,
        channel: envelope.channel.clone(),
        receiver: receiver.to_owned(),
        reply: reply.map(str::to_owned),
        extra,
        body: body.to_owned(),
    }
}

/// A message of the tree protocol as an envelope. One that was written by hand is known by its id and its inbox,
/// because equal ids in different inboxes are different requests.
pub fn of_task(task: Task) -> Message {
    // Whoever writes by hand may call agents what they like; a message has an id all the same.
    let named =
        |text: String| MessageId::found(&text).unwrap_or_else(|_| MessageId::derived(text.as_bytes()));
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
    let channel = take(&mut extra, "channel", |_| true);
    let number = |n: u64| n.to_string();
    for (key, value) in [
        ("workflow", task.workflow),
        ("step", task.step.map(number)),
        ("duration_seconds", task.duration_seconds.map(number)),
        ("error", task.error),
    ] {
        extra.extend(value.map(|value| (key.to_owned(), value)));
    }
    let native = Native::Tree { id: task.id, status: task.status, created: task.created };
    let envelope = Envelope {
        id,
        from: task.from,
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

/// An envelope as a task; its id and time are set by the tree it is filed in.
pub fn to_task(envelope: &Envelope, body: &str, request_id: Option<String>) -> Task {
    let number = |key: &str| envelope.extra(key).and_then(|value| value.parse().ok());
    let mut extra = vec![("msg_id".to_owned(), envelope.id.to_string())];
    extra.extend(envelope.reply_to.as_ref().map(|id| ("reply_to".to_owned(), id.to_string())));
    extra.extend(envelope.channel.clone().map(|channel| ("channel".to_owned(), channel)));
    let (step, duration_seconds) = (number("step"), number("duration_seconds"));
    let own = |key: &str| {
        matches!(key, "workflow" | "error")
            || key == "step" && step.is_some()
            || key == "duration_seconds" && duration_seconds.is_some()
    };
    let rest: Vec<_> = envelope.extra.iter().filter(|(key, _)| !own(key)).cloned().collect();
    extra.extend(foreign(&rest, Protocol::Tree));
    Task {
        id: String::new(),
        from: envelope.from.clone(),
        to: envelope.to.clone(),
        status: Status::Pending,
        created: String::new(),
        priority: envelope.priority,
        context: Some(envelope.subject.clone()),
        workflow: envelope.extra("workflow").map(str::to_owned),
        step,
        request_id,
        duration_seconds,
        error: envelope.extra("error").map(str::to_owned),
        extra,
        body: body.to_owned(),
        doubts: vec![],
    }
}

/// A file without frontmatter, as a message from somebody unknown.
pub fn bare(bytes: &[u8]) -> Result<Message, ParseError> {
    let body = frontmatter::text(bytes)?.to_owned();
    let envelope = Envelope {
        id: MessageId::derived(bytes),
        from: "unknown".to_owned(),
        to: String::new(),
        subject: envelope::subject_of(&body),
        reply_to: None,
        priority: Priority::Normal,
        channel: None,
        extra: vec![],
        native: Native::Maildir,
        doubts: vec!["it has no frontmatter".to_owned()],
    };
    Ok(Message { envelope, body })
}

/// Extra fields as they may be written into a message of a protocol. What that protocol means otherwise is marked, and
/// so is what another one is known by, or the message would be read as one of that.
pub fn foreign(extra: &[(String, String)], protocol: Protocol) -> Vec<(String, String)> {
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
    let own: &[&str] = match protocol {
        Protocol::Maildir => &maildir::OWN,
        Protocol::Workspace => &workspace::OWN,
        Protocol::Tree => &tree::OWN,
    };
    let marked = |key: &String| {
        let mut marked = key.clone();
        // A key stands once, so what is marked must not meet a field that is called so already.
        while own.contains(&marked.as_str())
            || TELLING.contains(&marked.as_str())
            || marked != *key && extra.iter().any(|(other, _)| *other == marked)
        {
            marked.insert_str(0, "x-");
        }
        marked
    };
    extra.iter().map(|(key, value)| (marked(key), value.clone())).collect()
}

/// The same message as one of no protocol but the native one.
pub fn plain(envelope: Envelope) -> Envelope {
    let extra = foreign(&envelope.extra, Protocol::Maildir);
    Envelope { native: Native::Maildir, doubts: vec![], extra, ..envelope }
}

/// What a task is about: its context, else the first line of what it asks for.
pub fn subject_of_task(task: &Task) -> String {
    task.context.clone().unwrap_or_else(|| envelope::subject_of(request_section(&task.body)))
}

/// What stands under `## Request`, else everything.
fn request_section(body: &str) -> &str {
    let Some(at) = body.find("## Request") else { return body };
    let section = &body[at + "## Request".len()..];
    section.find("\n## ").map_or(section, |end| &section[..end])
}

fn take(extra: &mut Vec<(String, String)>, key: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let at =
        extra.iter().position(|(k, value)| k == key && fits(value) && check_value(value.trim()).is_ok())?;
    Some(extra.remove(at).1.trim().to_owned())
}

fn take_id(extra: &mut Vec<(String, String)>, key: &str) -> Option<MessageId> {
    let id = take(extra, key, |value| MessageId::found(value.trim()).is_ok())?;
    MessageId::found(&id).ok()
}

fn take_priority(extra: &mut Vec<(String, String)>) -> Priority {
    let word = take(extra, "priority", |value| Priority::parse(value.trim()).is_some());
    word.and_then(|word| Priority::parse(&word)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(reply_to: Option<&str>) -> Envelope {
        Envelope {
            id: MessageId::given("3f2a9c1d-0000-4000-8000-00000000000a").unwrap(),
            from: "alice-1".into(),
            to: "carol-2".into(),
            subject: "the subject".into(),
            reply_to: reply_to.map(|id| MessageId::given(id).unwrap()),
            priority: Priority::High,
            channel: Some("build".into()),
            extra: vec![
                ("workflow".into(), "w".into()),
                ("step".into(), "2".into()),
                ("x-note".into(), "n".into()),
            ],
            native: Native::Maildir,
            doubts: vec![],
        }
    }

    fn sorted(mut extra: Vec<(String, String)>) -> Vec<(String, String)> {
        extra.sort();
        extra
    }

    #[test]
    fn an_envelope_comes_back_from_each_protocol() {
        for reply_to in [None, Some("11112222-0000-4000-8000-00000000000b")] {
            let sent = sample(reply_to);
            let request = sent.reply_to.as_ref().unwrap_or(&sent.id).request();
            let bytes =
                workspace::render(&to_request(&sent, "body\n", &request, "/c/inbox/x", Some("/a/inbox/x")));
            let came = parse(bytes.as_bytes()).unwrap();
            let mut task = to_task(&sent, "body\n", None);
            (task.id, task.created) = ("2026-11-15-001".into(), "2026-11-15T00:00:00Z".into());
            let filed = parse(tree::render(&task).as_bytes()).unwrap();
            for message in [came, filed] {
                let got = message.envelope;
                assert_eq!(
                    (got.id, got.subject, got.reply_to),
                    (sent.id.clone(), sent.subject.clone(), sent.reply_to.clone())
                );
                assert_eq!(
                    (got.priority, got.channel, message.body),
                    (sent.priority, sent.channel.clone(), "body\n".into())
                );
                assert_eq!(sorted(got.extra), sorted(sent.extra.clone()), "{bytes}");
            }
        }
    }

    #[test]
    fn hand_written_mail_needs_no_field_of_ours() {
        let request = "0123456789abcdef0123456789abcdef";
        let text = format!(
            "---\nREQUEST_ID: {request}\nMESSAGE_TYPE: NEW\nRECEIVER_INBOX_PATH: /b\n---\n\n# Build\nnow\n"
        );
        let new = parse(text.as_bytes()).unwrap().envelope;
        assert_eq!((new.id.request().as_str(), new.subject.as_str()), (request, "Build"));
        let reply = parse(text.replace("NEW", "REPLY").as_bytes()).unwrap().envelope;
        assert_eq!(reply.reply_to, Some(new.id.clone()));
        assert_ne!(reply.id, new.id);
        let task = "---\nid: 2025-01-01-001\nfrom: a\nto: b\nstatus: pending\ncreated: 2025-01-01T12:00:00Z\n---\n\n## Request\n\nCreate a skill.\n\n## Payload\n";
        let task = parse(task.as_bytes()).unwrap().envelope;
        assert_eq!((task.id.as_str(), task.subject.as_str()), ("2025-01-01-001@b", "Create a skill."));
    }

    #[test]
    fn a_field_that_a_protocol_means_otherwise_is_marked() {
        let mut sent = sample(None);
        sent.extra = vec![("status".into(), "odd".into()), ("REQUEST_ID".into(), "x".into())];
        let mut task = to_task(&sent, "b", None);
        (task.id, task.created) = ("2026-11-15-001".into(), "2026-11-15T00:00:00Z".into());
        let filed = parse(tree::render(&task).as_bytes()).unwrap().envelope;
        assert_eq!(filed.extra("x-status"), Some("odd"));
        let request = to_request(&sent, "b", &sent.id.request(), "/c", Some("/a"));
        assert_eq!(
            parse(workspace::render(&request).as_bytes()).unwrap().envelope.extra("x-REQUEST_ID"),
            Some("x")
        );
    }

    #[test]
    fn the_head_tells_what_is_needed() {
        let text = b"---\nREQUEST_ID: a\nMESSAGE_TYPE: NEW\nRECEIVER_INBOX_PATH: /b\n---\n\nbody";
        assert!(matches!(parse_head(text, false), Ok(Head::ReadAll)));
        assert!(matches!(parse_head(text, true), Ok(Head::Envelope(_))));
        assert!(matches!(parse_head(b"---\nfrom: a\n", false), Ok(Head::ReadOn)));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(?s)---\n(REQUEST_ID: [a-f0-9-]{0,40}\n)?(id: .{0,9}\n)?(status: [a-z]{0,9}\n)?(.{0,9}: .{0,9}\n){0,4}---\n.{0,20}") {
            let _ = parse(text.as_bytes());
            let _ = parse_head(text.as_bytes(), false);
        }
    }
}
