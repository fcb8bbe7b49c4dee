//! The codec of the workspace protocol: a request or a reply between two `.mailbox` directories.
//!
//! `REQUEST_ID`, `MESSAGE_TYPE`, `CHANNEL_ID`, `RECEIVER_INBOX_PATH`, `REPLY_INBOX_PATH`, a blank line, the body. A
//! value is the raw rest of its line. [`render`] refuses values that [`parse`] would not return. Reading is wider: any
//! id without white space, keys in any case, quotes and comments around ids, types and paths. A missing
//! `REPLY_INBOX_PATH` means that no reply is wanted. An id is echoed exactly and is never a path: [`file_name_of`] is.

use super::Protocol;
use super::frontmatter::{self, ParseError};
use super::liberal::unwrapped;
use super::unwritable::{RawHeader, Unwritable, Why};
use crate::name::{MailboxId, MessageId};

/// The role of a message in its exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    New,
    Reply,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "NEW",
            Self::Reply => "REPLY",
        }
    }
}

/// A message of the workspace protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Stays the same through the whole exchange.
    pub id: String,
    pub kind: Kind,
    pub channel: Option<String>,
    /// The file for this message.
    pub receiver: String,
    /// The file for the next reply; `None` if none is wanted.
    pub reply: Option<String>,
    /// Fields of other programs, in the order they were found.
    pub extra: Vec<(String, String)>,
    pub body: String,
    /// The reader's guesses.
    pub doubts: Vec<String>,
}

/// The fields of the protocol.
pub(super) const OWN: [&str; 5] =
    ["REQUEST_ID", "MESSAGE_TYPE", "CHANNEL_ID", "RECEIVER_INBOX_PATH", "REPLY_INBOX_PATH"];

/// Our own fields that other protocols have; also read in any case.
pub(super) const OURS: [&str; 4] = ["msg_id", "subject", "reply_to", "priority"];

/// The longest path on Linux.
const PATH_LIMIT: usize = 4096;

/// The body of a reply to a request that a newer one replaced.
pub const SUPERSEDED: &str = "\"\"\n";

impl Request {
    /// Whether a reply only says that its request was superseded.
    pub fn is_superseded(&self) -> bool {
        matches!(self.body.trim(), "" | "\"\"")
    }

    /// The answer to this message: the paths are swapped, the rest is kept.
    pub fn answer(&self, body: &str) -> Option<Self> {
        Some(Self {
            id: self.id.clone(),
            kind: Kind::Reply,
            channel: self.channel.clone(),
            receiver: self.reply.clone()?,
            reply: Some(self.receiver.clone()),
            extra: vec![],
            body: body.to_owned(),
            doubts: vec![],
        })
    }
}

/// The file name of a request: its id if that is safe as a path component, else 32 hex digits derived from it.
pub fn file_name_of(request: &str) -> String {
    match MailboxId::parse(request) {
        Ok(id) => id.to_string(),
        Err(_) => MessageId::derived(request.as_bytes()).as_str().replace('-', ""),
    }
}

/// The exact bytes of a message.
pub fn render(request: &Request) -> Result<String, Unwritable> {
    let mut header = RawHeader::new(Protocol::Workspace, &OWN, &OURS);
    bare("REQUEST_ID", &request.id)?;
    header.id("REQUEST_ID", &request.id)?;
    header.field("MESSAGE_TYPE", request.kind.as_str())?;
    if let Some(channel) = &request.channel {
        header.field("CHANNEL_ID", channel)?;
    }
    bare("RECEIVER_INBOX_PATH", &request.receiver)?;
    header.long_field("RECEIVER_INBOX_PATH", &request.receiver, PATH_LIMIT)?;
    if let Some(reply) = &request.reply {
        bare("REPLY_INBOX_PATH", reply)?;
        header.long_field("REPLY_INBOX_PATH", reply, PATH_LIMIT)?;
    }
    header.extras(&request.extra)?;
    header.finish(&request.body)
}

/// Refuses a value from which a reader would remove quotes or a comment.
fn bare(field: &str, value: &str) -> Result<(), Unwritable> {
    match unwrapped(value) == value.trim() {
        true => Ok(()),
        false => Err(Unwritable::new(Protocol::Workspace, field, Why::ReadOtherwise)),
    }
}

/// Reads a message.
pub fn parse(bytes: &[u8]) -> Result<Request, ParseError> {
    let (split, above) = frontmatter::split_message(frontmatter::text(bytes)?)?;
    request(split.header, split.body).map_err(|e| e.moved_down(above))
}

fn request(header: &str, body: &str) -> Result<Request, ParseError> {
    let known: Vec<&'static str> = OWN.into_iter().chain(OURS).collect();
    let fields = frontmatter::fields(header, &known)?;
    let find = |key: &str| fields.iter().find(|f| f.key == key);
    let text = |key: &str| find(key).map(|f| f.value.trim().to_owned()).filter(|v| !v.is_empty());
    let bare = |key: &str| find(key).map(|f| (f, unwrapped(f.value))).filter(|(_, v)| !v.is_empty());
    let need = |key: &'static str| bare(key).ok_or(ParseError::Missing { field: key });
    let (field, id) = need("REQUEST_ID")?;
    MessageId::parse_lenient(id).map_err(|why| field.bad(why))?;
    let kind = match need("MESSAGE_TYPE")? {
        (_, "NEW") => Kind::New,
        (_, "REPLY") => Kind::Reply,
        (field, _) => return Err(field.bad("not NEW or REPLY, in upper case")),
    };
    Ok(Request {
        id: id.to_owned(),
        kind,
        channel: text("CHANNEL_ID"),
        receiver: need("RECEIVER_INBOX_PATH")?.1.to_owned(),
        reply: bare("REPLY_INBOX_PATH").map(|(_, path)| path.to_owned()),
        extra: frontmatter::extra(&fields, &OWN),
        body: body.to_owned(),
        doubts: vec![],
    })
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
            doubts: vec![],
        }
    }

    #[test]
    fn the_bytes_of_a_request() {
        let text = render(&sample()).unwrap();
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
        assert!(error("---\nREQUEST_ID: a b\nMESSAGE_TYPE: NEW\n---\n").starts_with("line 2: `REQUEST_ID`"));
        assert!(error("---\nREQUEST_ID: a\nrequest_id: b\n---\n").contains("`REQUEST_ID` is there twice"));
    }

    #[test]
    fn quotes_comments_and_case_do_not_hide_a_request() {
        let text = "\n---\nRequest_ID: \"user:chat/14\"\nmessage_type: NEW # or REPLY\nRECEIVER_INBOX_PATH: '/b/x'\n\
                    REPLY_INBOX_PATH: /a #1/x # mine\nChannel_ID: c #2\nSubject: x #12\n---\nhi";
        let request = parse(text.as_bytes()).unwrap();
        assert_eq!(
            (request.id.as_str(), request.kind, request.receiver.as_str()),
            ("user:chat/14", Kind::New, "/b/x")
        );
        assert_eq!((request.reply.as_deref(), request.channel.as_deref()), (Some("/a #1/x"), Some("c #2")));
        assert_eq!(request.extra, [("subject".to_owned(), "x #12".to_owned())]);
        assert!(render(&request).unwrap().contains("REQUEST_ID: user:chat/14\n"));
    }

    #[test]
    fn an_id_is_never_a_path() {
        assert_eq!(file_name_of("note-1"), "note-1");
        for id in ["user:chat/14", "../../x", ".x", ""] {
            let name = file_name_of(id);
            assert!(name.len() == 32 && MailboxId::parse(&name).is_ok(), "{id}: {name}");
        }
    }

    #[test]
    fn what_the_protocol_cannot_hold_is_refused_by_name() {
        let refused = |change: fn(&mut Request)| {
            let mut request = sample();
            change(&mut request);
            render(&request).unwrap_err().to_string()
        };
        assert!(refused(|r| r.id = "a b".into()).contains("`REQUEST_ID`: a space is not allowed"));
        assert!(refused(|r| r.id = "\"a\"".into()).contains("`REQUEST_ID`: a reader would take it"));
        assert!(refused(|r| r.receiver = "/a # b".into()).contains("`RECEIVER_INBOX_PATH`: a reader"));
        assert!(refused(|r| r.reply = Some(String::new())).contains("`REPLY_INBOX_PATH`: it is empty"));
        assert!(refused(|r| r.extra = vec![("request_id".into(), "x".into())]).contains("the protocol has"));
        assert!(refused(|r| r.extra = vec![("Subject".into(), "x".into())]).contains("a reader would"));
    }

    #[test]
    fn superseded_bodies() {
        for body in ["", "\"\"", "\"\"\n", " \n"] {
            assert!(Request { body: body.into(), ..sample() }.is_superseded(), "{body:?}");
        }
        assert!(!sample().is_superseded());
    }
}
