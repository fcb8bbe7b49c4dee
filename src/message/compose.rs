//! Composing: a valid message of any protocol from a client's data, for clients that place files themselves.

use thiserror::Error;

use super::envelope::{self, BadValue, Envelope, Priority, ProtocolFields, check_value};
use super::step::Step;
use super::tree::{self, Status, Task};
use super::unwritable::Unwritable;
use super::workspace::{self, Kind, Request};
use super::{Origin, Protocol, maildir};
use crate::clock::Timestamp;
use crate::name::{BadName, MailboxId, MessageId};

/// The parts of a message. The protocol decides which are required.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    pub from: Option<String>,
    pub to: Option<String>,
    pub id: Option<String>,
    pub subject: Option<String>,
    pub reply_to: Option<String>,
    pub channel: Option<String>,
    pub priority: Priority,
    /// Absolute path of the file for a workspace message.
    pub receiver: Option<String>,
    /// Absolute path of the file for its reply.
    pub reply_path: Option<String>,
    pub workflow: Option<String>,
    pub step: Option<u64>,
    pub body: String,
}

/// Why a message cannot be made of these parts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    #[error("{protocol} messages need {option}")]
    Missing { protocol: &'static str, option: &'static str },
    #[error("{option}: {why}")]
    Name { option: &'static str, why: BadName },
    #[error("{option}: {why}")]
    Value { option: &'static str, why: BadValue },
    #[error("{option}: not an absolute path without `..`")]
    Path { option: &'static str },
    #[error("{option}: not 32 lower-case hex digits")]
    Request { option: &'static str },
    #[error("{protocol} messages have no {option}")]
    Needless { protocol: &'static str, option: &'static str },
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
}

/// The exact bytes of a message. `now` and `random` are the sources of a fresh time and id.
pub fn compose(protocol: Protocol, parts: &Parts, now: Timestamp, random: [u8; 16]) -> Result<String, Error> {
    for (option, value) in
        [("--subject", &parts.subject), ("--channel", &parts.channel), ("--workflow", &parts.workflow)]
    {
        if let Some(value) = value {
            check_value(value).map_err(|why| Error::Value { option, why })?;
        }
    }
    match protocol {
        Protocol::Maildir => native(parts, random),
        Protocol::Workspace => request(parts, random),
        Protocol::Tree => task(parts, now),
    }
}

fn native(parts: &Parts, random: [u8; 16]) -> Result<String, Error> {
    refuse(
        "maildir",
        &[("--receiver", parts.receiver.is_some()), ("--reply-path", parts.reply_path.is_some())],
    )?;
    let given = |option, id: &str| MessageId::parse_strict(id).map_err(|why| Error::Name { option, why });
    let mut extra = vec![];
    extra.extend(parts.workflow.clone().map(|w| ("workflow".to_owned(), w)));
    extra.extend(parts.step.map(|s| ("step".to_owned(), s.to_string())));
    let envelope = Envelope {
        id: parts.id.as_deref().map_or_else(|| Ok(MessageId::from_bytes(random)), |id| given("--id", id))?,
        from: Origin::mailbox(mailbox("maildir", "--from", parts.from.as_deref())?),
        to: mailbox("maildir", "--to", parts.to.as_deref())?,
        subject: parts.subject.clone().unwrap_or_else(|| envelope::subject_of(&parts.body)),
        reply_to: parts.reply_to.as_deref().map(|id| given("--reply-to", id)).transpose()?,
        priority: parts.priority,
        channel: parts.channel.clone(),
        extra,
        native: ProtocolFields::Maildir,
        doubts: vec![],
    };
    Ok(maildir::render(&envelope, &parts.body)?)
}

fn request(parts: &Parts, random: [u8; 16]) -> Result<String, Error> {
    refuse(
        "workspace",
        &[
            ("--from", parts.from.is_some()),
            ("--to", parts.to.is_some()),
            ("--subject", parts.subject.is_some()),
        ],
    )?;
    let (kind, id) = match (&parts.reply_to, &parts.id) {
        (Some(_), Some(_)) => return Err(Error::Needless { protocol: "workspace reply", option: "--id" }),
        // A reply keeps the id of the request it answers, in any form.
        (Some(id), None) => {
            let id = MessageId::parse_lenient(id).map_err(|why| Error::Name { option: "--reply-to", why })?;
            (Kind::Reply, id.to_string())
        }
        (None, Some(id)) if MessageId::of_request(id).is_none() => {
            return Err(Error::Request { option: "--id" });
        }
        (None, Some(id)) => (Kind::New, id.clone()),
        (None, None) => (Kind::New, crate::hex::of(&random)),
    };
    let mut extra = vec![];
    extra.extend(
        (parts.priority != Priority::Normal).then(|| ("priority".to_owned(), parts.priority.to_string())),
    );
    extra.extend(parts.workflow.clone().map(|w| ("workflow".to_owned(), w)));
    extra.extend(parts.step.map(|s| ("step".to_owned(), s.to_string())));
    Ok(workspace::render(&Request {
        receiver: path("--receiver", parts.receiver.as_deref())?,
        reply: Some(path("--reply-path", parts.reply_path.as_deref())?),
        channel: parts.channel.clone(),
        body: parts.body.clone(),
        id,
        kind,
        extra,
        doubts: vec![],
    })?)
}

fn task(parts: &Parts, now: Timestamp) -> Result<String, Error> {
    refuse(
        "tree",
        &[("--receiver", parts.receiver.is_some()), ("--reply-path", parts.reply_path.is_some())],
    )?;
    let checked = |option, text: &str| {
        MailboxId::parse(text).map(|id| id.to_string()).map_err(|why| Error::Name { option, why })
    };
    let answered = parts.reply_to.as_deref().map(|id| checked("--reply-to", id)).transpose()?;
    let id = match (&parts.id, &answered) {
        (Some(id), _) => checked("--id", id)?,
        (None, Some(request)) => format!("{request}-response"),
        (None, None) => format!("{}-001", now.day()),
    };
    Ok(tree::render(&Task {
        id,
        from: mailbox("tree", "--from", parts.from.as_deref())?,
        to: mailbox("tree", "--to", parts.to.as_deref())?,
        status: if answered.is_some() { Status::Completed } else { Status::Pending },
        created: now.to_string(),
        priority: parts.priority,
        context: parts.subject.clone(),
        workflow: parts.workflow.clone(),
        step: parts.step.map(Step::from),
        request_id: answered,
        duration_seconds: None,
        error: None,
        extra: parts.channel.clone().map(|c| ("channel".to_owned(), c)).into_iter().collect(),
        body: parts.body.clone(),
        doubts: vec![],
    })?)
}

fn mailbox(protocol: &'static str, option: &'static str, id: Option<&str>) -> Result<String, Error> {
    let id = id.ok_or(Error::Missing { protocol, option })?;
    MailboxId::parse(id).map(|id| id.to_string()).map_err(|why| Error::Name { option, why })
}

fn path(option: &'static str, path: Option<&str>) -> Result<String, Error> {
    let path = path.ok_or(Error::Missing { protocol: "workspace", option })?;
    check_value(path).map_err(|why| Error::Value { option, why })?;
    let plain = path.starts_with('/') && !path.split('/').any(|part| part == "..");
    if plain { Ok(path.to_owned()) } else { Err(Error::Path { option }) }
}

fn refuse(protocol: &'static str, options: &[(&'static str, bool)]) -> Result<(), Error> {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Error::Needless { protocol, option }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::protocol::verify;

    fn parts() -> Parts {
        Parts {
            from: Some("alice".into()),
            to: Some("bob".into()),
            body: "# Hello\n".into(),
            ..Parts::default()
        }
    }

    fn made(protocol: Protocol, parts: &Parts) -> Result<String, Error> {
        compose(protocol, parts, Timestamp::from_parts(1_781_212_203, 0), [0xab; 16])
    }

    #[test]
    fn what_is_composed_verifies_as_its_protocol() {
        let paths = Parts {
            receiver: Some("/b/.mailbox/inbox/x".into()),
            reply_path: Some("/a/.mailbox/inbox/x".into()),
            body: "hi".into(),
            ..Parts::default()
        };
        for (protocol, parts) in
            [(Protocol::Maildir, parts()), (Protocol::Tree, parts()), (Protocol::Workspace, paths)]
        {
            let text = made(protocol, &parts).unwrap();
            assert_eq!(verify(text.as_bytes()), (Some(protocol), Ok(vec![])), "{text}");
        }
    }

    #[test]
    fn the_golden_bytes() {
        assert_eq!(
            made(
                Protocol::Tree,
                &Parts {
                    subject: Some("Say: hello".into()),
                    priority: Priority::High,
                    step: Some(2),
                    ..parts()
                }
            )
            .unwrap(),
            "---\nid: 2026-06-11-001\nfrom: alice\nto: bob\npriority: high\nstatus: pending\ncreated: 2026-06-11T21:10:03Z\n\
             context: \"Say: hello\"\nstep: 2\n---\n\n# Hello\n"
        );
        assert_eq!(
            made(Protocol::Maildir, &parts()).unwrap(),
            "---\nfrom: alice\nmsg_id: abababab-abab-4bab-abab-abababababab\nsubject: Hello\nto: bob\n---\n\n# Hello\n"
        );
    }

    #[test]
    fn what_is_missing_or_hostile_is_named() {
        let error = |protocol, parts: &Parts| made(protocol, parts).unwrap_err().to_string();
        assert_eq!(error(Protocol::Maildir, &Parts::default()), "maildir messages need --from");
        assert_eq!(error(Protocol::Workspace, &Parts::default()), "workspace messages need --receiver");
        assert_eq!(error(Protocol::Workspace, &parts()), "workspace messages have no --from");
        let bad = Parts { receiver: Some("/b/../x".into()), ..Parts::default() };
        assert_eq!(error(Protocol::Workspace, &bad), "--receiver: not an absolute path without `..`");
        let bad = Parts { subject: Some("a\nb".into()), ..parts() };
        assert!(error(Protocol::Tree, &bad).starts_with("--subject: it holds a line break"));
        let bad = Parts { to: Some("../bob".into()), ..parts() };
        assert!(error(Protocol::Tree, &bad).starts_with("--to: "));
    }
}
