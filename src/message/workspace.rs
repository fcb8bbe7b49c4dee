//! The codec of the workspace protocol: a request or a reply between two `.mailbox` directories.
//!
//! `REQUEST_ID`, `MESSAGE_TYPE`, `CHANNEL_ID`, `RECEIVER_INBOX_PATH`, `REPLY_INBOX_PATH`, a blank line, the body. A
//! value is the raw rest of its line. Reading is wider than writing: any id that is safe as a file name, and no
//! `REPLY_INBOX_PATH`, which means that no reply is wanted.

use super::frontmatter::{self, Field, ParseError};
use crate::name::MailboxId;

/// What a message is in its exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    New,
    Reply,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Reply => "REPLY",
        }
    }
}

/// A message of the workspace protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Kept through the whole exchange.
    pub id: String,
    pub kind: Kind,
    pub channel: Option<String>,
    /// The file this message is delivered as.
    pub receiver: String,
    /// The file the next reply is delivered as; absent: none is wanted.
    pub reply: Option<String>,
    /// Fields of others, in the order they were found.
    pub extra: Vec<(String, String)>,
    pub body: String,
}

/// The fields of the protocol.
pub(super) const OWN: [&str; 5] =
    ["REQUEST_ID", "MESSAGE_TYPE", "CHANNEL_ID", "RECEIVER_INBOX_PATH", "REPLY_INBOX_PATH"];

/// The body of a reply to a message that a newer one made superfluous.
pub const SUPERSEDED: &str = "\"\"\n";

impl Request {
    /// Whether a reply says no more than that it was superseded.
    pub fn is_superseded(&self) -> bool {
        matches!(self.body.trim(), "" | "\"\"")
    }

    /// The answer to this message: the paths change places, the rest is kept.
    pub fn answer(&self, body: &str) -> Option<Self> {
        Some(Self {
            id: self.id.clone(),
            kind: Kind::Reply,
            channel: self.channel.clone(),
            receiver: self.reply.clone()?,
            reply: Some(self.receiver.clone()),
            extra: vec![],
            body: body.to_owned(),
        })
    }
}

/// The exact bytes of a message. The caller has checked the values.
pub fn render(request: &Request) -> String {
    let mut out = String::with_capacity(request.body.len() + 256);
    let mut line = |key: &str, value: &str| {
        out.push_str(key);
        out.push_str(": ");
        out.push_str(value);
        out.push('\n');
    };
    line("---\nREQUEST_ID", &request.id);
    line("MESSAGE_TYPE", request.kind.word());
    if let Some(channel) = &request.channel {
        line("CHANNEL_ID", channel);
    }
    line("RECEIVER_INBOX_PATH", &request.receiver);
    if let Some(reply) = &request.reply {
        line("REPLY_INBOX_PATH", reply);
    }
    for (key, value) in &request.extra {
        line(key, value);
    }
    out.push_str("---\n\n");
    out.push_str(&request.body);
    out
}

/// The file name of a request: its id if that can be one, else digits that are derived from it.
pub fn file_name_of(request: &str) -> String {
    match MailboxId::parse(request) {
        Ok(id) => id.to_string(),
        Err(_) => crate::name::MessageId::derived(request.as_bytes()).request(),
    }
}

/// Reads a message.
pub fn parse(bytes: &[u8]) -> Result<Request, ParseError> {
    let split = frontmatter::split(frontmatter::text(bytes)?)?;
    let fields = frontmatter::fields(split.header)?;
    let find = |key: &str| fields.iter().find(|f| f.key == key).filter(|f| !f.value.trim().is_empty());
    let need = |key: &'static str| find(key).ok_or(ParseError::Missing { field: key });
    let text = |key: &str| find(key).map(|f| f.value.trim().to_owned());
    let id = need("REQUEST_ID")?;
    MailboxId::parse(id.value.trim()).map_err(|why| bad(id, &why.to_string()))?;
    let kind = need("MESSAGE_TYPE")?;
    let kind = match kind.value.trim() {
        "NEW" => Kind::New,
        "REPLY" => Kind::Reply,
        _ => return Err(bad(kind, "not NEW or REPLY, in upper case")),
    };
    Ok(Request {
        id: id.value.trim().to_owned(),
        kind,
        channel: text("CHANNEL_ID"),
        receiver: need("RECEIVER_INBOX_PATH")?.value.trim().to_owned(),
        reply: text("REPLY_INBOX_PATH"),
        extra: fields
            .iter()
            .filter(|f| !OWN.contains(&f.key))
            .map(|f| (f.key.to_owned(), f.value.to_owned()))
            .collect(),
        body: split.body.to_owned(),
    })
}

fn bad(field: &Field<'_>, why: &str) -> ParseError {
    ParseError::BadValue { line: field.line, field: field.key.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Request {
        Request {
            id: "0123456789abcdef0123456789abcdef".into(),
            kind: Kind::New,
            channel: Some("build".into()),
            receiver: "/b/.mailbox/inbox/0123456789abcdef0123456789abcdef".into(),
            reply: Some("/a/.mailbox/inbox/0123456789abcdef0123456789abcdef".into()),
            extra: vec![],
            body: "Please build.\n".into(),
        }
    }

    #[test]
    fn the_bytes_of_a_request() {
        let text = render(&sample());
        assert_eq!(
            text,
            "---\nREQUEST_ID: 0123456789abcdef0123456789abcdef\nMESSAGE_TYPE: NEW\nCHANNEL_ID: build\n\
             RECEIVER_INBOX_PATH: /b/.mailbox/inbox/0123456789abcdef0123456789abcdef\n\
             REPLY_INBOX_PATH: /a/.mailbox/inbox/0123456789abcdef0123456789abcdef\n---\n\nPlease build.\n"
        );
        assert_eq!(parse(text.as_bytes()).unwrap(), sample());
    }

    #[test]
    fn an_answer_swaps_the_paths_and_keeps_the_rest() {
        let answer = sample().answer("done").unwrap();
        assert_eq!((answer.kind, answer.receiver.as_str()), (Kind::Reply, sample().reply.unwrap().as_str()));
        assert_eq!(
            (answer.reply, answer.channel, answer.id),
            (Some(sample().receiver), sample().channel, sample().id)
        );
        assert!(Request { reply: None, ..sample() }.answer("x").is_none());
    }

    #[test]
    fn errors_name_line_and_field() {
        let error = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error("---\nREQUEST_ID: a\nMESSAGE_TYPE: reply\nRECEIVER_INBOX_PATH: /x\n---\n"),
            "line 3: `MESSAGE_TYPE`: not NEW or REPLY, in upper case"
        );
        assert_eq!(error("---\nMESSAGE_TYPE: NEW\n---\n"), "the field `REQUEST_ID` is missing");
        assert!(error("---\nREQUEST_ID: ../x\nMESSAGE_TYPE: NEW\n---\n").starts_with("line 2: `REQUEST_ID`"));
    }

    #[test]
    fn superseded_bodies() {
        for body in ["", "\"\"", "\"\"\n", " \n"] {
            assert!(Request { body: body.into(), ..sample() }.is_superseded(), "{body:?}");
        }
        assert!(!sample().is_superseded());
    }
}
