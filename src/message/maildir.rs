//! The codec of the native protocol (format.md §3): `from`, `msg_id`, `subject`, `reply_to`, `to`, then
//! Postroom's own fields, a blank line and the body exactly as given.
//!
//! [`render`] writes exactly those bytes. Reading is wider: any order of fields, CRLF, a byte order mark,
//! no blank line, and only `from` and `msg_id` are needed, because without them nothing can be answered.

use super::envelope::{Envelope, Message, Native, Priority};
use super::frontmatter::{self, Field, ParseError};
use crate::name::MessageId;

/// The fields of the protocol, and those of ours that it has a place for.
pub(super) const OWN: [&str; 7] = ["from", "msg_id", "subject", "reply_to", "to", "priority", "channel"];

/// The bytes of a message. The caller has checked the values ([`super::envelope::check_value`]).
pub fn render(envelope: &Envelope, body: &str) -> String {
    let mut out = String::with_capacity(body.len() + 256);
    let mut line = |key: &str, value: &str| {
        out.push_str(key);
        out.push_str(": ");
        out.push_str(value);
        out.push('\n');
    };
    line("---\nfrom", &envelope.from);
    line("msg_id", envelope.id.as_str());
    line("subject", &envelope.subject);
    if let Some(id) = &envelope.reply_to {
        line("reply_to", id.as_str());
    }
    line("to", &envelope.to);
    if envelope.priority != Priority::Normal {
        line("priority", envelope.priority.word());
    }
    if let Some(channel) = &envelope.channel {
        line("channel", channel);
    }
    for (key, value) in &envelope.extra {
        line(key, value);
    }
    out.push_str("---\n\n");
    out.push_str(body);
    out
}

/// Reads a whole message.
pub fn parse(bytes: &[u8]) -> Result<Message, ParseError> {
    let split = frontmatter::split(frontmatter::text(bytes)?)?;
    Ok(Message { envelope: envelope(split.header)?, body: split.body.to_owned() })
}

/// Reads the envelope alone out of the beginning of a file. `None`: the block is not closed yet within
/// these bytes, and the caller may read on.
pub fn parse_head(bytes: &[u8], whole: bool) -> Result<Option<Envelope>, ParseError> {
    // A cut in the middle of a character is no fault of the file.
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
    match frontmatter::split(text) {
        Ok(split) => envelope(split.header).map(Some),
        Err(ParseError::Unclosed) if !whole => Ok(None),
        Err(e) => Err(e),
    }
}

fn closed_before(bytes: &[u8], end: usize) -> Option<&str> {
    str::from_utf8(&bytes[..end]).ok().filter(|text| frontmatter::split(text).is_ok())
}

pub(super) fn envelope(header: &str) -> Result<Envelope, ParseError> {
    let fields = frontmatter::fields(header)?;
    let find = |key: &str| fields.iter().find(|f| f.key == key);
    let need = |key: &'static str| {
        find(key).filter(|f| !f.value.trim().is_empty()).ok_or(ParseError::Missing { field: key })
    };
    let text = |key: &str| find(key).map(|f| f.value.trim().to_owned()).filter(|v| !v.is_empty());
    let reply_to = find("reply_to").filter(|f| !f.value.trim().is_empty());
    let priority = match find("priority") {
        None => Priority::Normal,
        Some(field) => Priority::parse(field.value.trim())
            .ok_or_else(|| bad(field, "not one of low, normal, high, urgent"))?,
    };
    Ok(Envelope {
        id: message_id(need("msg_id")?)?,
        from: need("from")?.value.trim().to_owned(),
        to: text("to").unwrap_or_default(),
        subject: text("subject").unwrap_or_default(),
        reply_to: reply_to.map(message_id).transpose()?,
        priority,
        channel: text("channel"),
        extra: fields
            .iter()
            .filter(|f| !OWN.contains(&f.key))
            .map(|f| (f.key.to_owned(), f.value.to_owned()))
            .collect(),
        native: Native::Maildir,
        doubts: vec![],
    })
}

fn message_id(field: &Field<'_>) -> Result<MessageId, ParseError> {
    MessageId::found(field.value.trim()).map_err(|e| bad(field, &e.to_string()))
}

fn bad(field: &Field<'_>, why: &str) -> ParseError {
    ParseError::BadValue { line: field.line, field: field.key.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn sample() -> Envelope {
        Envelope {
            id: MessageId::given("3f2a9c1d-0000-4000-8000-000000000000").unwrap(),
            from: "bob-1".into(),
            to: "alice-2".into(),
            subject: "re: x #12".into(),
            reply_to: None,
            priority: Priority::Normal,
            channel: None,
            extra: vec![],
            native: Native::Maildir,
            doubts: vec![],
        }
    }

    #[test]
    fn the_bytes_of_a_message() {
        assert_eq!(
            render(&sample(), "hi\n"),
            "---\nfrom: bob-1\nmsg_id: 3f2a9c1d-0000-4000-8000-000000000000\nsubject: re: x #12\nto: alice-2\n---\n\nhi\n"
        );
    }

    #[test]
    fn own_fields_come_after_the_protocols() {
        let mut envelope = sample();
        envelope.reply_to = Some(MessageId::given("deadbeef").unwrap());
        envelope.priority = Priority::Urgent;
        envelope.channel = Some("build".into());
        envelope.extra = vec![("step".into(), "2".into())];
        let text = render(&envelope, "");
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
        assert_eq!(error("---\nfrom: a\n---\n"), "the field `msg_id` is missing");
        assert_eq!(error("---\nfrom: a\nmsg_id: b c\n---\n"), "line 3: `msg_id`: a space is not allowed");
        assert_eq!(
            error("---\nfrom: a\nmsg_id: b\npriority: HIGH\n---\n"),
            "line 4: `priority`: not one of low, normal, high, urgent"
        );
    }

    #[test]
    fn the_head_of_a_file_is_enough_for_its_envelope() {
        let text = render(&sample(), "é".repeat(3000).as_str());
        let bytes = text.as_bytes();
        assert_eq!(parse_head(&bytes[..20], false).unwrap(), None);
        assert_eq!(parse_head(&bytes[..400], false).unwrap().unwrap(), sample());
        assert_eq!(parse_head(&bytes[..401], false).unwrap().unwrap(), sample());
        let mut broken = bytes[..300].to_vec();
        broken.extend(b"\xff tail");
        assert_eq!(parse_head(&broken, false).unwrap().unwrap(), sample());
        assert!(parse_head(&broken, true).is_err());
    }
}
