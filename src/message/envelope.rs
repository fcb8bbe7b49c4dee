//! The envelope: the fields that all protocols have in common, whatever the bytes of a message look like.
//!
//! A value that is written contains no line break and no control character ([`check_value`]); [`folded`] turns any text
//! into such a value. A value that was read may contain anything, and is shown only through [`super::visible`]. If the
//! reader had to guess, [`Envelope::doubts`] says how it understood the message.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Origin, Protocol, tree, workspace};
use crate::name::MessageId;

/// How soon a message should be seen. A message without a priority is `Normal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    Urgent,
    High,
    #[default]
    Normal,
    Low,
}

impl Priority {
    pub const ALL: [Self; 4] = [Self::Urgent, Self::High, Self::Normal, Self::Low];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == text)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    pub id: MessageId,
    pub from: Origin,
    /// The mailbox id it was written for; the real address is its directory.
    pub to: String,
    pub subject: String,
    pub reply_to: Option<MessageId>,
    pub priority: Priority,
    pub channel: Option<String>,
    /// Fields of no protocol, in the order they were found.
    pub extra: Vec<(String, String)>,
    /// The data of only its own protocol.
    pub native: ProtocolFields,
    /// The reader's guesses, one short sentence each. Empty for all messages that Postroom writes.
    pub doubts: Vec<String>,
}

/// The result of reading the beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Envelope(Box<Envelope>),
    /// The frontmatter continues.
    ReadOn,
    /// The envelope depends on the whole file.
    ReadAll,
}

impl Envelope {
    /// Whether a reply only says that a newer request replaced its question.
    pub fn is_superseded(&self) -> bool {
        matches!(
            &self.native,
            ProtocolFields::Workspace { kind: workspace::Kind::Reply, superseded: true, .. }
        )
    }

    /// Whether it is written in the native protocol.
    pub fn is_native(&self) -> bool {
        self.native == ProtocolFields::Maildir
    }

    /// Whether its sender named no reply route although its protocol has one.
    pub fn wants_no_reply(&self) -> bool {
        matches!(&self.native, ProtocolFields::Workspace { reply: None, .. })
    }

    /// Whether it is an answer without fields beyond its protocol, as one written by hand.
    pub fn is_plain_answer(&self) -> bool {
        let bare = self.extra.is_empty() && self.channel.is_none() && self.priority == Priority::Normal;
        self.reply_to.is_some() && bare && self.is_native()
    }

    /// The short name of a message: the digits in its file name, else its name in its own protocol.
    pub fn called(&self, file: &str) -> String {
        let digits = |text: &str| text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match &self.native {
            ProtocolFields::Maildir => match super::file_name::short(file) {
                Some(short) => short.to_owned(),
                None => super::visible::line(self.id.as_str()),
            },
            ProtocolFields::Workspace { request, .. } if digits(request) && file == request => {
                request[..8].to_owned()
            }
            ProtocolFields::Workspace { .. } => super::visible::line(file),
            ProtocolFields::Tree { id, .. } => super::visible::line(id),
        }
    }

    /// The value of a field of no protocol.
    pub fn extra(&self, key: &str) -> Option<&str> {
        self.extra.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }
}

/// The data of only one protocol that an answer in that protocol needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProtocolFields {
    #[default]
    Maildir,
    Workspace {
        request: String,
        kind: workspace::Kind,
        receiver: String,
        reply: Option<String>,
        superseded: bool,
        /// Whether it has a subject, and not only a first line.
        titled: bool,
    },
    Tree {
        id: String,
        status: tree::Status,
        created: String,
    },
}

impl ProtocolFields {
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Maildir => Protocol::Maildir,
            Self::Workspace { .. } => Protocol::Workspace,
            Self::Tree { .. } => Protocol::Tree,
        }
    }
}

/// An envelope with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub envelope: Envelope,
    pub body: String,
}

/// Why a value cannot be written into an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadValue {
    #[error("it holds a line break or the control character {}", .found.escape_unicode())]
    Control { found: char },
    #[error("it is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("it begins or ends with white space, which readers with `sed` would keep and others drop")]
    Edges,
}

/// The longest value that is written into one line of an envelope.
pub const VALUE_LIMIT: usize = 1000;

/// Checks a value that becomes the raw rest of a line (format.md §3.1).
pub fn check_value(value: &str) -> Result<(), BadValue> {
    check_line(value, VALUE_LIMIT)
}

/// Checks a value of at most `limit` bytes.
pub(super) fn check_line(value: &str, limit: usize) -> Result<(), BadValue> {
    if value.len() > limit {
        return Err(BadValue::TooLong { limit });
    }
    if let Some(found) = value.chars().find(|c| is_forbidden(*c)) {
        return Err(BadValue::Control { found });
    }
    if value.trim() != value {
        return Err(BadValue::Edges);
    }
    Ok(())
}

/// A subject for a message without one: the body's first non-empty line.
pub fn subject_of(body: &str) -> String {
    let mut lines = body.lines().map(|line| one_line(line.trim_start_matches('#')));
    let line = lines.find(|line| !line.is_empty()).unwrap_or_else(|| "(no subject)".to_owned());
    if line.chars().count() <= 80 {
        return line;
    }
    let cut: String = line.chars().take(79).collect();
    format!("{}…", cut.trim_end())
}

/// The subject of an answer: `re: ` once, in a thread of any length.
pub fn subject_of_answer(subject: &str) -> String {
    let bare = subject.get(..3).filter(|p| p.eq_ignore_ascii_case("re:")).map_or(subject, |_| &subject[3..]);
    subject_with("re: ", bare)
}

/// A subject with a prefix, cut to a length that may be written.
pub fn subject_with(before: &str, subject: &str) -> String {
    folded(&format!("{before}{}", one_line(subject)))
}

/// Any text as a value that passes [`check_value`]: one line, trimmed, cut at [`VALUE_LIMIT`] bytes.
pub fn folded(text: &str) -> String {
    let mut line = one_line(text);
    line.truncate(line.floor_char_boundary(VALUE_LIMIT));
    line.truncate(line.trim_end().len());
    line
}

/// Any text as one trimmed line: each run of line breaks and control characters becomes a space.
pub(super) fn one_line(text: &str) -> String {
    let parts: Vec<&str> = text.split(is_forbidden).map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

fn is_forbidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_comes_from_the_first_line_that_says_something() {
        assert_eq!(subject_of("\n\n## Review the parser\nplease"), "Review the parser");
        assert_eq!(subject_of("a\tb\u{2028}c"), "a b c");
        assert_eq!(subject_of(" \n"), "(no subject)");
        assert_eq!(subject_of(&"x".repeat(200)).chars().count(), 80);
        assert!(check_value(&subject_of(&"é\u{7f} ".repeat(200))).is_ok());
    }

    #[test]
    fn an_answer_has_one_re() {
        assert_eq!(subject_of_answer("parser"), "re: parser");
        assert_eq!(subject_of_answer("Re:  parser"), "re: parser");
        assert_eq!(subject_of_answer("re"), "re: re");
        assert_eq!(subject_of_answer("a\tb\u{2028}"), "re: a b");
        assert!(check_value(&subject_of_answer(&"é".repeat(499))).is_ok());
    }

    #[test]
    fn values_are_one_clean_line() {
        assert!(check_value("re: x #12").is_ok());
        for bad in ["a\nb", "a\rb", "a\0b", "a\u{1b}[2J", "a\u{85}b", " a", "a\u{2028}b"] {
            assert!(check_value(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn any_text_can_be_folded_into_a_value() {
        assert_eq!(folded(" a\r\n\tb \u{1b} c  d\n"), "a b c  d");
        assert_eq!(folded("channel: x\npriority: urgent"), "channel: x priority: urgent");
        assert!(check_value(&folded(&"é \n".repeat(900))).is_ok());
    }

    #[test]
    fn priorities_order_from_urgent_to_low() {
        let mut all = Priority::ALL;
        all.sort();
        assert_eq!(all, Priority::ALL);
        assert_eq!(Priority::parse("high"), Some(Priority::High));
        assert_eq!(Priority::parse("High"), None);
    }
}
