//! Strict writing: why a protocol cannot hold a value, and the header of the two raw protocols, checked line by line.
//!
//! A codec renders only values that its own parser reads back unchanged. Everything else is an [`Unwritable`] that
//! names the field; the conversion ([`super::any`]) makes it fit, never the codec.

use std::collections::HashSet;

use thiserror::Error;

use super::Protocol;
use super::envelope::{BadValue, VALUE_LIMIT, check_line};
use super::frontmatter::{HEADER_LIMIT, is_raw_key, known_key};
use crate::name::{BadName, MessageId};

/// A message that cannot be written in its protocol.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a {} message cannot hold `{}`: {why}", .protocol.as_str(), super::visible::cut(.field, 80))]
pub struct Unwritable {
    pub protocol: Protocol,
    pub field: String,
    pub why: Why,
}

/// Why a field cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Why {
    #[error(transparent)]
    Value(#[from] BadValue),
    #[error(transparent)]
    Id(#[from] BadName),
    #[error("it is empty")]
    Empty,
    #[error("it is not a time in ISO 8601 with a zone")]
    Time,
    #[error("a key has letters, digits, `_` and `-`")]
    Key,
    #[error("it is there twice")]
    Twice,
    #[error("the protocol has this field")]
    Own,
    #[error("a reader would take it for something else")]
    ReadOtherwise,
    #[error("with it the message is one of another protocol")]
    OtherProtocol,
    #[error("with it the frontmatter is longer than {} KiB", HEADER_LIMIT / 1024)]
    HeaderTooLong,
}

impl Unwritable {
    pub(super) fn new(protocol: Protocol, field: &str, why: impl Into<Why>) -> Self {
        Self { protocol, field: field.to_owned(), why: why.into() }
    }
}

/// The header of a maildir or workspace message under construction.
pub(super) struct RawHeader {
    protocol: Protocol,
    /// Fields of the protocol; no extra field may have such a name, in any case.
    own: &'static [&'static str],
    /// Extra fields that are read in any case, and so are written only in this one.
    spelled: &'static [&'static str],
    seen: HashSet<String>,
    out: String,
}

impl RawHeader {
    pub(super) fn new(
        protocol: Protocol,
        own: &'static [&'static str],
        spelled: &'static [&'static str],
    ) -> Self {
        let out = String::from("---\n");
        Self { protocol, own, spelled, seen: HashSet::new(), out }
    }

    /// A field of the protocol with a non-empty value.
    pub(super) fn field(&mut self, key: &str, value: &str) -> Result<(), Unwritable> {
        self.long_field(key, value, VALUE_LIMIT)
    }

    pub(super) fn long_field(&mut self, key: &str, value: &str, limit: usize) -> Result<(), Unwritable> {
        if value.is_empty() {
            return Err(self.refuse(key, Why::Empty));
        }
        self.line(key, value, limit)
    }

    pub(super) fn id(&mut self, key: &str, value: &str) -> Result<(), Unwritable> {
        MessageId::parse_lenient(value).map_err(|why| self.refuse(key, why))?;
        self.line(key, value, VALUE_LIMIT)
    }

    /// One line; the value may be empty.
    pub(super) fn line(&mut self, key: &str, value: &str, limit: usize) -> Result<(), Unwritable> {
        check_line(value, limit).map_err(|why| self.refuse(key, why))?;
        for part in [key, ": ", value, "\n"] {
            self.out.push_str(part);
        }
        Ok(())
    }

    pub(super) fn extras(&mut self, extra: &[(String, String)]) -> Result<(), Unwritable> {
        for (key, value) in extra {
            let spelled = known_key(key, self.spelled);
            let why = match () {
                () if !is_raw_key(key) => Some(Why::Key),
                () if known_key(key, self.own).is_some() => Some(Why::Own),
                () if spelled.is_some_and(|spelled| spelled != key) => Some(Why::ReadOtherwise),
                () if !self.seen.insert(key.clone()) => Some(Why::Twice),
                () => None,
            };
            if let Some(why) = why {
                return Err(self.refuse(key, why));
            }
            self.line(key, value, VALUE_LIMIT)?;
        }
        Ok(())
    }

    /// The bytes of the whole message.
    pub(super) fn finish(self, body: &str) -> Result<String, Unwritable> {
        finish(self.protocol, self.out, body)
    }

    fn refuse(&self, field: &str, why: impl Into<Why>) -> Unwritable {
        Unwritable::new(self.protocol, field, why)
    }
}

/// Closes a header and adds the body. `out` holds the opening fence and the lines.
pub(super) fn finish(protocol: Protocol, mut out: String, body: &str) -> Result<String, Unwritable> {
    let header = &out["---\n".len()..];
    if header.len() > HEADER_LIMIT {
        return Err(Unwritable::new(protocol, "---", Why::HeaderTooLong));
    }
    if Protocol::of_header(header) != protocol {
        let telling = header.lines().find(|line| Protocol::of_header(line) == Protocol::Workspace);
        let key = telling.and_then(|line| line.split_once(':')).map_or("created", |(key, _)| key);
        return Err(Unwritable::new(protocol, key, Why::OtherProtocol));
    }
    out.reserve(body.len() + 8);
    out.push_str("---\n\n");
    out.push_str(body);
    Ok(out)
}
