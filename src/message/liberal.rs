//! Liberal reading: the forms in which people and models write a value by hand, and their meanings.
//!
//! A form with a clear meaning (another case, `in-progress`, quotes around a path) is read without a remark. If the
//! meaning is a guess, a doubt says what was understood. Nothing here is ever written.

use super::envelope::Priority;
use super::tree::Status;
use super::visible;
use crate::clock::Timestamp;

/// The sender of a message that does not name one.
pub const UNKNOWN: &str = "unknown";

/// A priority: the four words in any case, `P0` to `P3` or the number alone, `medium`. Any other word is normal.
pub fn priority(text: &str, doubts: &mut Vec<String>) -> Priority {
    let word = text.trim().to_ascii_lowercase();
    if let Some(priority) = Priority::parse(&word) {
        return priority;
    }
    let priority = match word.strip_prefix('p').unwrap_or(&word).parse::<u32>() {
        Ok(0) => Priority::Urgent,
        Ok(1) => Priority::High,
        Ok(2) | Err(_) => Priority::Normal,
        Ok(_) => Priority::Low,
    };
    doubts.push(read_as("priority", text, priority.as_str()));
    priority
}

/// A status: the four words in any case, with spaces or hyphens, and common synonyms for two of them.
pub fn status(text: &str, doubts: &mut Vec<String>) -> Option<Status> {
    let word = text.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    if let Some(status) = Status::parse(&word) {
        return Some(status);
    }
    let status = match word.as_str() {
        "done" | "complete" | "finished" => Status::Completed,
        "todo" | "to_do" | "new" | "open" => Status::Pending,
        _ => return None,
    };
    doubts.push(read_as("status", text, status.as_str()));
    Some(status)
}

/// A time with a zone is kept; a date, or a time without a zone, is UTC. Anything else is empty, and the caller uses
/// the time of the file.
pub fn created(text: Option<&str>, doubts: &mut Vec<String>) -> String {
    let Some(text) = text else {
        doubts.push("`created` is missing; the time of the file is used".to_owned());
        return String::new();
    };
    if Timestamp::parse(text).is_some() {
        return text.to_owned();
    }
    match Timestamp::parse_as_utc(text).map(|time| time.to_string()) {
        Some(time) => {
            doubts.push(read_as("created", text, &time));
            time
        }
        None => {
            doubts.push(format!("`created: {}` is not a time; the time of the file is used", shown(text)));
            String::new()
        }
    }
}

/// The text of a doubt: the value of a field, and the meaning it was given.
pub(super) fn read_as(field: &str, text: &str, meaning: &str) -> String {
    format!("`{field}: {}` is read as {meaning}", shown(text))
}

/// A value for display in a doubt.
pub(super) fn shown(text: &str) -> String {
    visible::cut(text, 60)
}

/// A value without surrounding quotes and trailing comment. In a path a ` #` begins a comment only if no `/` follows
/// it, because a directory may have it in its name.
pub fn unwrapped(value: &str) -> &str {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some((inner, rest)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote))
            && (rest.is_empty() || rest.trim_start().starts_with('#'))
        {
            return inner.trim();
        }
    }
    let is_comment = |at: &usize| value[..*at].ends_with([' ', '\t']) && !value[*at..].contains('/');
    let comment = value.match_indices('#').map(|(at, _)| at).find(is_comment);
    comment.map_or(value, |at| value[..at].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_as_people_write_them() {
        let read = |text: &str| {
            let mut doubts = vec![];
            (priority(text, &mut doubts), doubts.pop())
        };
        assert_eq!(read(" High "), (Priority::High, None));
        for (text, meaning) in [
            ("P0", Priority::Urgent),
            ("p1", Priority::High),
            ("1", Priority::High),
            ("medium", Priority::Normal),
            ("P3", Priority::Low),
            ("7", Priority::Low),
            ("asap", Priority::Normal),
        ] {
            let doubt = format!("`priority: {text}` is read as {meaning}");
            assert_eq!(read(text), (meaning, Some(doubt)));
        }
    }

    #[test]
    fn states_as_people_write_them() {
        let read = |text: &str| {
            let mut doubts = vec![];
            (status(text, &mut doubts), doubts.pop())
        };
        for text in ["In Progress", "in-progress", "IN_PROGRESS"] {
            assert_eq!(read(text), (Some(Status::InProgress), None), "{text}");
        }
        let doubt = |text: &str| Some(text.to_owned());
        assert_eq!(read("Done"), (Some(Status::Completed), doubt("`status: Done` is read as completed")));
        assert_eq!(read("todo"), (Some(Status::Pending), doubt("`status: todo` is read as pending")));
        assert_eq!(read("waiting"), (None, None));
    }

    #[test]
    fn times_as_people_write_them() {
        let read = |text| {
            let mut doubts = vec![];
            (created(text, &mut doubts), doubts.pop())
        };
        assert_eq!(read(Some("2025-01-01T14:00:00+02:00")), ("2025-01-01T14:00:00+02:00".into(), None));
        let (time, doubt) = read(Some("2025-01-01"));
        assert_eq!(time, "2025-01-01T00:00:00Z");
        assert_eq!(doubt.unwrap(), "`created: 2025-01-01` is read as 2025-01-01T00:00:00Z");
        for none in [None, Some("yesterday\n")] {
            let (time, doubt) = read(none);
            assert!(time.is_empty() && !doubt.unwrap().contains('\n'));
        }
    }

    #[test]
    fn quotes_and_comments_around_a_value() {
        for (text, bare) in [
            ("NEW # or REPLY", "NEW"),
            ("\"NEW\"  # or REPLY", "NEW"),
            ("' a b '", "a b"),
            ("\"half", "\"half"),
            ("#14", "#14"),
            ("a#14", "a#14"),
            ("/a #1/.mailbox/inbox/x # mine", "/a #1/.mailbox/inbox/x"),
            ("\"/a # b/x\"", "/a # b/x"),
        ] {
            assert_eq!(unwrapped(text), bare, "{text}");
        }
    }
}
