//! A message of any protocol: read as an envelope in any form, and converted between protocols.
//!
//! [`parse`] reads a whole message and [`parse_head`] its beginning; [`bare`] makes a message of a file without
//! frontmatter. A field that a protocol lacks travels as an extra field of the same name, and is restored on reading.
//! Data of only one protocol is kept in [`ProtocolFields`]. `convert` turns a message of one protocol into one of another, and
//! ensures that no value can become a field on the way.

mod convert;

pub use convert::{foreign, of_request, of_task, subject_of_task, to_maildir, to_request, to_task};

pub use super::envelope::Head;
use super::envelope::{self, Envelope, Message, Priority, ProtocolFields};
use super::frontmatter::{self, ParseError};
use super::{Origin, Protocol, maildir, tree, workspace};
use crate::name::{MailboxId, MessageId};

/// Reads a whole message; its keys tell the protocol.
pub fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
    let (split, _) = frontmatter::split_message(frontmatter::text(bytes)?)?;
    match Protocol::of_header(split.header) {
        Protocol::Maildir => maildir::parse(bytes),
        Protocol::Workspace => Ok(of_request(workspace::parse(bytes)?, bytes)),
        Protocol::Tree => Ok(of_task(tree::parse(bytes)?)),
    }
}

/// Reads a message from a file whose name may supply a missing id: a task or a request is named by its id.
pub fn parse_named(bytes: &[u8], name: &str) -> Result<Message, ParseError> {
    match parse(bytes) {
        Err(ParseError::Missing { field: "id" }) => {
            tree::parse_named(bytes, name.strip_suffix(".md").unwrap_or(name)).map(of_task)
        }
        Err(ParseError::Missing { field: "REQUEST_ID" }) if MailboxId::parse(name).is_ok() => {
            let text = frontmatter::text(bytes)?;
            let (split, _) = frontmatter::split_message(text)?;
            let at = split.header.as_ptr() as usize - text.as_ptr() as usize;
            let named = format!("{}REQUEST_ID: {name}\n{}", &text[..at], &text[at..]);
            let mut message = parse(named.as_bytes())?;
            message.envelope.doubts.push("`REQUEST_ID` is missing; the file name is used".to_owned());
            Ok(message)
        }
        other => other,
    }
}

/// A file without frontmatter as a separate message: `about` distinguishes it from another one with the same text.
pub fn note(bytes: &[u8], about: &str) -> Result<Message, ParseError> {
    let mut message = bare(bytes)?;
    message.envelope.id = MessageId::derived(&[about.as_bytes(), b"\n", bytes].concat());
    Ok(message)
}

/// Reads the envelope from the beginning of a file, if that is enough.
pub fn parse_head(bytes: &[u8], whole: bool) -> Result<Head, ParseError> {
    let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    if let Ok((split, _)) = frontmatter::split_message(valid)
        && Protocol::of_header(split.header) != Protocol::Maildir
    {
        return match whole {
            true => parse(bytes).map(|message| Head::Envelope(Box::new(message.envelope))),
            false => Ok(Head::ReadAll),
        };
    }
    maildir::parse_head(bytes, whole)
}

/// A file without frontmatter as a message from `unknown`, with its first line as the subject. A file with frontmatter
/// is parsed. The caller has checked that nobody still writes to the file.
pub fn bare(bytes: &[u8]) -> Result<Message, ParseError> {
    let text = frontmatter::text(bytes)?;
    match frontmatter::split_message(text) {
        Err(ParseError::NoFrontmatter) => {}
        other => return other.and_then(|_| parse(bytes)),
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    if body.trim().is_empty() {
        return Err(ParseError::Empty);
    }
    let envelope = Envelope {
        id: MessageId::derived(bytes),
        from: Origin::Unknown,
        to: String::new(),
        subject: envelope::subject_of(body),
        reply_to: None,
        priority: Priority::Normal,
        channel: None,
        extra: vec![],
        native: ProtocolFields::Maildir,
        doubts: vec!["it has no frontmatter; the sender is unknown".to_owned()],
    };
    Ok(Message { envelope, body: body.to_owned() })
}

/// The message id of a request or its reply, from the request id alone.
pub fn id_of_request(request: &str) -> Option<MessageId> {
    MessageId::of_request(request).or_else(|| MessageId::parse_lenient(request).ok())
}

#[cfg(test)]
#[path = "any_tests.rs"]
mod tests;
