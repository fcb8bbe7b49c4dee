//! Names and ids: the only strings from users that Postroom acts on, checked before use.
//!
//! A [`Name`] is for people: letters of any script, compared without case, never a path. A [`MailboxId`] is a path
//! component, so it obeys the narrow rule of format.md §2.1. A [`MessageId`] is the value of `msg_id`; only eight hex
//! digits of it ever reach a file name. All three exist only in checked form; the caller decides what to do with a
//! refused string.

use std::fmt;

use sha2::{Digest, Sha256};
use thiserror::Error;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::invisible::is_invisible;

/// Why a string is not a name or an id. The text completes "…: ".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadName {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {limit} characters")]
    TooLong { limit: usize },
    #[error("{} is not allowed", in_words(*.found))]
    Character { found: char },
    #[error("it may not begin with {found:?}")]
    Beginning { found: char },
    #[error("it has an empty part between dots")]
    EmptyPart,
    #[error("it has fewer than eight hex digits")]
    FewHexDigits,
}

/// A character in a form that a person can see.
fn in_words(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        c if c.is_ascii_graphic() => format!("the character `{c}`"),
        c => format!("the character {}", c.escape_unicode()),
    }
}

/// The directory name of a mailbox: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MailboxId(String);

impl MailboxId {
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_component(text, 128)?;
        Ok(Self(text.to_owned()))
    }

    /// An id that reads like its name and is unique: `bob-3f2a9c1d`. `random` is eight hex digits from the caller.
    pub fn mint(name: &Name, random: &str) -> Result<Self, BadName> {
        let slug: String = name.as_str().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        let stem = if slug.is_empty() { "mailbox".to_owned() } else { slug.to_ascii_lowercase() };
        Self::parse(&format!("{stem}-{random}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a room on the command line. It follows the rule for mailbox ids, because it becomes a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomName(String);

impl RoomName {
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_component(text, 64)?;
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check_component(text: &str, limit: usize) -> Result<(), BadName> {
    let first = text.chars().next().ok_or(BadName::Empty)?;
    if text.len() > limit {
        return Err(BadName::TooLong { limit });
    }
    if let Some(found) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-')) {
        return Err(BadName::Character { found });
    }
    if !first.is_ascii_alphanumeric() {
        return Err(BadName::Beginning { found: first });
    }
    Ok(())
}

/// The value of `msg_id`. Fresh ids are random UUIDs; an id from a user needs eight hex digits for its file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(String);

impl MessageId {
    /// A new random id (UUID version 4).
    pub fn fresh() -> Self {
        Self::from_bytes(crate::random::bytes())
    }

    /// The id made of these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
    }

    /// An id that a user gave for a message about to be written (`--id`, `--reply-to`).
    pub fn parse_strict(text: &str) -> Result<Self, BadName> {
        check_component(text, 128)?;
        let id = Self(text.to_owned());
        if id.short().is_none() { Err(BadName::FewHexDigits) } else { Ok(id) }
    }

    /// An id found in a message. The rule is wider, because other programs write any text into this field.
    pub fn parse_lenient(text: &str) -> Result<Self, BadName> {
        if text.is_empty() {
            return Err(BadName::Empty);
        }
        if text.len() > 256 {
            return Err(BadName::TooLong { limit: 256 });
        }
        match text.chars().find(|c| c.is_control() || c.is_whitespace()) {
            Some(found) => Err(BadName::Character { found }),
            None => Ok(Self(text.to_owned())),
        }
    }

    /// An id derived from `what`: repeating an action gives the same id.
    pub fn derived(what: &[u8]) -> Self {
        let digest: [u8; 32] = Sha256::digest(what).into();
        let mut bytes = [0u8; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self::from_bytes(bytes)
    }

    /// The id made of the 32 digits of a workspace request, with dashes.
    pub fn of_request(request: &str) -> Option<Self> {
        let digits = request.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let parts = [request.get(..8)?, request.get(8..12)?, request.get(12..16)?, request.get(16..20)?];
        (digits && request.len() == 32).then(|| Self(format!("{}-{}", parts.join("-"), &request[20..])))
    }

    /// The request id with the digits of this id; for an id that Postroom did not draw, one derived from it.
    pub fn request(&self) -> String {
        let digits: String = self.0.chars().filter(|c| *c != '-').collect();
        match Self::of_request(&digits) {
            Some(same) if same == *self => digits,
            _ => Self::derived(self.0.as_bytes()).0.replace('-', ""),
        }
    }

    /// Whether `reference` means this id: the whole id or, for an id that Postroom drew, a prefix of at least four hex digits.
    pub fn is_called(&self, reference: &str) -> bool {
        let wanted = reference.to_ascii_lowercase();
        let digits = wanted.bytes().filter(u8::is_ascii_hexdigit).count();
        // A task filed by hand may be named by its own id, without its inbox.
        let task = self.0.split_once('@').is_some_and(|(id, _)| id == reference);
        self.0.eq_ignore_ascii_case(reference)
            || task
            || digits >= 4 && self.is_generated() && self.0.to_ascii_lowercase().starts_with(&wanted)
    }

    /// Whether it has the form of ids drawn by Postroom.
    fn is_generated(&self) -> bool {
        uuid::Uuid::try_parse(&self.0).is_ok_and(|id| id.hyphenated().to_string() == self.0)
    }

    /// The first eight hex digits in lower case, as in the file name (format.md §3.2).
    pub fn short(&self) -> Option<String> {
        let hex: String = self.0.chars().filter(char::is_ascii_hexdigit).take(8).collect();
        (hex.len() == 8).then(|| hex.to_ascii_lowercase())
    }

    /// The short form for display. A task filed by hand is shown by its own id and its inbox, because its digits are a
    /// date, which it shares with other tasks.
    pub fn brief(&self) -> Option<String> {
        self.short().filter(|_| !self.0.contains('@'))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A friendly name in NFC, at most 64 characters, hierarchical by `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name(String);

impl Name {
    pub const LIMIT: usize = 64;

    pub fn parse(text: &str) -> Result<Self, BadName> {
        // The byte limit keeps megabytes of text out of the normalisation.
        if text.len() > Self::LIMIT * 16 {
            return Err(BadName::TooLong { limit: Self::LIMIT });
        }
        let name: String = text.nfc().collect();
        let first = name.chars().next().ok_or(BadName::Empty)?;
        if name.chars().count() > Self::LIMIT {
            return Err(BadName::TooLong { limit: Self::LIMIT });
        }
        if let Some(found) = name.chars().find(|c| !is_plain(*c)) {
            return Err(BadName::Character { found });
        }
        if !first.is_alphanumeric() {
            return Err(BadName::Beginning { found: first });
        }
        if name.split('.').any(str::is_empty) {
            return Err(BadName::EmptyPart);
        }
        Ok(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character may be in a name: visible, and without a meaning in a path or a shell.
pub fn is_plain(c: char) -> bool {
    if matches!(c, '.' | '-' | '_') {
        return true;
    }
    // Letters and marks that draw nothing would let two names look alike.
    !is_invisible(c) && (c.is_alphanumeric() || is_combining_mark(c))
}

/// The form in which names are compared: compatibility-normalised, without case.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // By way of capitals: there the two small sigmas are one letter, and a sharp s is two.
    let small = text.nfkc().flat_map(char::to_lowercase);
    small.flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfkc().collect()
}

macro_rules! shown_as_text {
    ($($type:ty),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}
shown_as_text!(MailboxId, RoomName, MessageId, Name);

/// A name, then the alternatives if it is taken: `web`, `web-2`, `web-3` …
pub fn with_numbers(name: &str) -> impl Iterator<Item = String> {
    std::iter::once(name.to_owned()).chain((2..10_000).map(move |number| format!("{name}-{number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_letters_of_any_script() {
        for good in ["bob", "Ångström", "陳", "org.research.explore", "agent-7", "हिन्दी", "x_y"]
        {
            assert!(Name::parse(good).is_ok(), "{good}");
        }
        assert_eq!(Name::parse("e\u{301}").unwrap(), Name::parse("é").unwrap());
    }

    #[test]
    fn names_refuse_paths_controls_and_the_invisible() {
        let bad = [
            "",
            ".",
            "..",
            "../x",
            "/etc",
            "a/b",
            "a b",
            "-rf",
            "a\0b",
            "a\nb",
            "~",
            "$(id)",
            "a..b",
            "a.",
            "%2e",
            "a\u{200b}b",
            "a\u{202e}b",
            "a\u{3164}b",
            "a\u{fe0f}",
            "\u{301}",
            "a\"b",
            "a\\b",
            "@all",
        ];
        for text in bad {
            assert!(Name::parse(text).is_err(), "{text:?}");
        }
        assert!(Name::parse(&"a".repeat(65)).is_err());
        assert!(Name::parse(&"a".repeat(64)).is_ok());
    }

    #[test]
    fn folding_joins_case_and_unicode_form() {
        assert_eq!(fold("BOB"), fold("bob"));
        assert_eq!(fold("É"), fold("e\u{301}"));
        assert_ne!(fold("bob"), fold("bobby"));
    }

    #[test]
    fn a_final_sigma_and_a_sharp_s_made_two_names_of_one() {
        assert_eq!(fold("ΣΊΣΥΦΟΣ"), fold("σίσυφος"));
        for form in ["STRASSE", "Straße", "STRAẞE"] {
            assert_eq!(fold(form), fold("straße"), "{form}");
        }
        assert_ne!(fold("strase"), fold("straße"));
    }

    #[test]
    fn ids_are_single_safe_path_components() {
        assert!(MailboxId::parse("bob-3f2a9c1d").is_ok());
        for bad in ["", ".", "..", ".x", "-x", "a/b", "é", "a b", "a\0"] {
            assert!(MailboxId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(MailboxId::parse(&"a".repeat(128)).is_ok());
        assert!(MailboxId::parse(&"a".repeat(129)).is_err());
    }

    #[test]
    fn minted_ids_read_like_their_name() {
        let mint = |name: &str| MailboxId::mint(&Name::parse(name).unwrap(), "0123abcd").unwrap();
        assert_eq!(mint("Bob").as_str(), "bob-0123abcd");
        assert_eq!(mint("陳").as_str(), "mailbox-0123abcd");
    }

    #[test]
    fn a_given_message_id_needs_eight_hex_digits() {
        assert_eq!(MessageId::parse_strict("12-34-AB-cd-zz").unwrap().short().unwrap(), "1234abcd");
        assert_eq!(MessageId::parse_strict("xyz"), Err(BadName::FewHexDigits));
        assert!(MessageId::parse_strict("../deadbeef").is_err());
        assert!(MessageId::parse_lenient("hand written").is_err());
        assert!(MessageId::parse_lenient("hand-written").unwrap().short().is_none());
    }
}
