//! The codec of the native protocol (format.md §3): `from`, `msg_id`, `subject`, `reply_to`, `to`, then
//! Postroom's own fields, a blank line and the body exactly as given.
//!
//! [`render`] writes exactly those bytes, and refuses values that [`parse`] would not return. Reading is wider: any
//! order of fields, keys in any case, CRLF, a byte order mark, no blank line before the body. A message without `from`
//! is from `unknown`, one without `msg_id` gets an id derived from all of its bytes; both are doubts.

use super::envelope::{Envelope, Head, Message, Priority, ProtocolFields, VALUE_LIMIT};
use super::frontmatter::{self, Field, ParseError};
use super::liberal;
use super::unwritable::{RawHeader, Unwritable};
use super::{Origin, Protocol};
use crate::name::MessageId;

/// The fields of the protocol, and our own fields in it.
pub(super) const OWN: [&str; 7] = ["from", "msg_id", "subject", "reply_to", "to", "priority", "channel"];

/// The bytes of a message.
pub fn render(envelope: &Envelope, body: &str) -> Result<String, Unwritable> {
    let mut header = RawHeader::new(Protocol::Maildir, &OWN, &[]);
    header.field("from", envelope.from.as_str())?;
    header.id("msg_id", envelope.id.as_str())?;
    header.line("subject", &envelope.subject, VALUE_LIMIT)?;
    if let Some(id) = &envelope.reply_to {
        header.id("reply_to", id.as_str())?;
    }
    header.field("to", &envelope.to)?;
    if envelope.priority != Priority::Normal {
        header.field("priority", envelope.priority.as_str())?;
    }
    if let Some(channel) = &envelope.channel {
        header.field("channel", channel)?;
    }
    header.extras(&envelope.extra)?;
    header.finish(body)
}

/// Reads a whole message.
pub fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
    let (split, above) = frontmatter::split_message(frontmatter::text(bytes)?)?;
    let envelope = envelope(split.header, || Some(MessageId::derived(bytes)));
    match envelope.map_err(|e| e.moved_down(above))? {
        Some(envelope) => Ok(Message { envelope, body: split.body.to_owned() }),
        None => Err(ParseError::Missing { field: "msg_id" }),
    }
}

/// Reads only the envelope, from the beginning of a file; `whole`: these are all of its bytes.
pub fn parse_head(bytes: &[u8], whole: bool) -> Result<Head, ParseError> {
    // A cut in the middle of a character is not a fault of the file.
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) if !whole && e.error_len().is_none() => {
            str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default()
        }
        Err(e) => match closed_before(bytes, e.valid_up_to()) {
            // The body may be broken further down; the envelope is not.
            Some(head) if !whole => head,
            _ => return Err(ParseError::NotUtf8 { at: e.valid_up_to() }),
        },
    };
    // A text shorter than an opening fence with its line end may still become one.
    if !whole && frontmatter::without_blank_lines(text).len() < "---\r\n".len() {
        return Ok(Head::ReadOn);
    }
    let (split, above) = match frontmatter::split_message(text) {
        Err(ParseError::Unclosed) if !whole => return Ok(Head::ReadOn),
        other => other?,
    };
    let envelope = envelope(split.header, || whole.then(|| MessageId::derived(bytes)));
    let envelope = envelope.map_err(|e| e.moved_down(above))?;
    Ok(envelope.map_or(Head::ReadAll, |envelope| Head::Envelope(Box::new(envelope))))
}

fn closed_before(bytes: &[u8], end: usize) -> Option<&str> {
    str::from_utf8(&bytes[..end]).ok().filter(|text| frontmatter::split_message(text).is_ok())
}

/// `None` if the message has no id, and `derived` has none for it either.
fn envelope(
    header: &str,
    derived: impl FnOnce() -> Option<MessageId>,
) -> Result<Option<Envelope>, ParseError> {
    let fields = frontmatter::fields(header, &OWN)?;
    // Two fences with nothing between them are not an envelope.
    if fields.is_empty() {
        return Err(ParseError::Missing { field: "from" });
    }
    let find = |key: &str| fields.iter().find(|f| f.key == key).filter(|f| !f.value.trim().is_empty());
    let text = |key: &str| find(key).map(|f| f.value.trim().to_owned());
    let mut doubts = vec![];
    let id = match find("msg_id") {
        Some(field) => message_id(field)?,
        None => {
            let Some(id) = derived() else { return Ok(None) };
            doubts.push("`msg_id` is missing; the id is derived from the text".to_owned());
            id
        }
    };
    let from = text("from").map_or_else(
        || {
            doubts.push("`from` is missing; the sender is unknown".to_owned());
            Origin::Unknown
        },
        Origin::mailbox,
    );
    Ok(Some(Envelope {
        id,
        from,
        to: text("to").unwrap_or_default(),
        subject: text("subject").unwrap_or_default(),
        reply_to: find("reply_to").map(message_id).transpose()?,
        priority: find("priority").map_or(Priority::Normal, |f| liberal::priority(f.value, &mut doubts)),
        channel: text("channel"),
        extra: frontmatter::extra(&fields, &OWN),
        native: ProtocolFields::Maildir,
        doubts,
    }))
}

fn message_id(field: &Field<'_>) -> Result<MessageId, ParseError> {
    MessageId::parse_lenient(field.value.trim()).map_err(|why| field.bad(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn sample() -> Envelope {
        Envelope {
            id: MessageId::parse_strict("3f2a9c1d-0000-4000-8000-000000000000").unwrap(),
            from: Origin::mailbox("bob-1"),
            to: "alice-2".into(),
            subject: "re: x #12".into(),
            reply_to: None,
            priority: Priority::Normal,
            channel: None,
            extra: vec![],
            native: ProtocolFields::Maildir,
            doubts: vec![],
        }
    }

    #[test]
    fn the_bytes_of_a_message() {
        assert_eq!(
            render(&sample(), "hi\n").unwrap(),
            "---\nfrom: bob-1\nmsg_id: 3f2a9c1d-0000-4000-8000-000000000000\nsubject: re: x #12\nto: alice-2\n---\n\nhi\n"
        );
    }

    #[test]
    fn own_fields_come_after_the_protocols() {
        let mut envelope = sample();
        envelope.reply_to = Some(MessageId::parse_strict("deadbeef").unwrap());
        envelope.priority = Priority::Urgent;
        envelope.channel = Some("build".into());
        envelope.extra = vec![("step".into(), "2".into())];
        let text = render(&envelope, "").unwrap();
        assert!(
            text.contains(
                "reply_to: deadbeef\nto: alice-2\npriority: urgent\nchannel: build\nstep: 2\n---\n\n"
            )
        );
        assert_eq!(parse(text.as_bytes()).unwrap(), Message { envelope, body: String::new() });
    }

    #[test]
    fn reading_is_wider_than_writing() {
        let message = parse(b"\xef\xbb\xbf---\r\nmsg_id: a\r\nx: y\r\nfrom: bob\r\n---\r\nhi").unwrap();
        assert_eq!((message.envelope.from.as_str(), message.body.as_str()), ("bob", "hi"));
        assert_eq!(message.envelope.extra, [("x".to_owned(), "y".to_owned())]);
    }

    #[test]
    fn errors_name_line_and_field() {
        let error = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error("---\nfrom: a\nmsg_id: b c\n---\n"), "line 3: `msg_id`: a space is not allowed");
        assert_eq!(error("\n\n---\nmsg_id: b c\n---\n"), "line 4: `msg_id`: a space is not allowed");
        assert_eq!(error("---\nfrom: a\nFrom: b\n---\n"), "line 3: the field `from` is there twice");
    }

    #[test]
    fn what_is_missing_is_guessed_and_said() {
        let text = "\n---\nSubject: hello\nPriority: P1\n---\nbody";
        let message = parse(text.as_bytes()).unwrap();
        let envelope = message.envelope;
        assert_eq!((envelope.from.as_str(), envelope.subject.as_str()), ("unknown", "hello"));
        assert_eq!(
            (envelope.id.clone(), envelope.priority),
            (MessageId::derived(text.as_bytes()), Priority::High)
        );
        assert_eq!(
            envelope.doubts,
            [
                "`msg_id` is missing; the id is derived from the text",
                "`from` is missing; the sender is unknown",
                "`priority: P1` is read as high",
            ]
        );
        assert_eq!(parse_head(text.as_bytes(), true), Ok(Head::Envelope(Box::new(envelope))));
        assert_eq!(parse_head(text.as_bytes(), false), Ok(Head::ReadAll));
    }

    #[test]
    fn what_the_protocol_cannot_hold_is_refused_by_name() {
        let refused = |change: fn(&mut Envelope)| {
            let mut envelope = sample();
            change(&mut envelope);
            render(&envelope, "").unwrap_err().to_string()
        };
        assert_eq!(
            refused(|e| e.from = Origin::Mailbox(String::new())),
            "a maildir message cannot hold `from`: it is empty"
        );
        let injected = refused(|e| e.extra = vec![("error".into(), "no\nchannel: injected".into())]);
        assert!(
            injected.starts_with("a maildir message cannot hold `error`: it holds a line break"),
            "{injected}"
        );
        for (extra, why) in [
            (vec![("a b", "")], "`a b`: a key has letters"),
            (vec![("Priority", "high")], "`Priority`: the protocol has this field"),
            (vec![("x", "1"), ("x", "2")], "`x`: it is there twice"),
            (vec![("x", " 1")], "`x`: it begins or ends with white space"),
            (vec![("REQUEST_ID", "1")], "`REQUEST_ID`: with it the message is one of another protocol"),
        ] {
            let extra = extra.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            let refused = render(&Envelope { extra, ..sample() }, "").unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn the_head_of_a_file_is_enough_for_its_envelope() {
        let text = render(&sample(), "é".repeat(3000).as_str()).unwrap();
        let bytes = text.as_bytes();
        let whole = Ok(Head::Envelope(Box::new(sample())));
        assert_eq!(parse_head(&bytes[..2], false), Ok(Head::ReadOn));
        assert_eq!(parse_head(&bytes[..20], false), Ok(Head::ReadOn));
        assert_eq!(parse_head(&bytes[..400], false), whole);
        assert_eq!(parse_head(&bytes[..401], false), whole);
        let mut broken = bytes[..300].to_vec();
        broken.extend(b"\xff tail");
        assert_eq!(parse_head(&broken, false), whole);
        assert!(parse_head(&broken, true).is_err());
    }
}
