//! Pieces of HTML that are made in code: times, and addresses of this page. Everything else is in templates, which escape.

use std::fmt;

use askama::filters::HtmlSafe;

use crate::clock::Timestamp;
use crate::span;

/// A moment: its age for people, which the script keeps current, and the exact time for a pointer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    at: Timestamp,
    now: Timestamp,
}

impl Time {
    pub(super) fn new(at: Timestamp, now: Timestamp) -> Self {
        Self { at, now }
    }

    /// The same with a word behind it: `3m ago`.
    pub(super) fn ago(self) -> Ago {
        Ago(self)
    }

    /// The date and the time of day, where nobody can point at it.
    pub(super) fn date(self) -> String {
        date(self.at)
    }

    /// A time as a record has it. `None` if it is no time.
    pub(super) fn read(text: &str, now: Timestamp) -> Option<Self> {
        Timestamp::parse(text).map(|at| Self { at, now })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, is_ahead) = (self.at, self.at > self.now);
        let age = if is_ahead { self.at.since(self.now) } else { self.now.since(self.at) };
        let (before, age) = (if is_ahead { "in " } else { "" }, span::short(age));
        write!(f, "<time datetime=\"{at}\" title=\"{}\">{before}{age}</time>", date(at))
    }
}

impl HtmlSafe for Time {}

/// A moment in the past, said so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ago(Time);

impl fmt::Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Time { at, now } = self.0;
        let age = span::short(now.since(at));
        write!(f, "<time datetime=\"{at}\" title=\"{}\" data-after=\" ago\">{age} ago</time>", date(at))
    }
}

impl HtmlSafe for Ago {}

/// `2026-11-18 10:03 UTC`.
fn date(at: Timestamp) -> String {
    let text = at.to_string();
    match text.get(..16).and_then(|minute| minute.split_once('T')) {
        Some((day, time)) => format!("{day} {time} UTC"),
        None => text,
    }
}

/// A text of records in which every exact time is a date that people read.
pub(super) fn dated(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches(['.', ',', ';', ')']);
        let looks_so = bare.len() >= 20 && bare.as_bytes()[0].is_ascii_digit();
        match Timestamp::parse(bare).filter(|_| looks_so) {
            Some(at) => date(at) + &word[bare.len()..],
            None => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A part of a path, or a value in a query: every byte that could mean something there is written as a number.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'@' => {
                out.push(byte as char)
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The text of a part of a path. `None` if it is no UTF-8.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?);
                rest = after;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_addresses_come_back() {
        for text in ["plain", "a b/c?d=e&f#g", "näme%41", "../..", "\"<script>"] {
            assert_eq!(decoded(&encoded(text)).as_deref(), Some(text));
            assert!(!encoded(text).contains(['/', '?', '&', '#', '"', '<', ' ']));
        }
        assert_eq!((decoded("%zz"), decoded("%ff"), decoded("a%2")), (None, None, Some("a%2".into())));
    }

    #[test]
    fn a_time_is_an_age_with_the_exact_time_behind_it() {
        let at = Timestamp::parse("2026-11-18T10:00:00Z").unwrap();
        let later = Timestamp::parse("2026-11-18T10:03:00Z").unwrap();
        let html = Time::new(at, later).to_string();
        assert!(html.contains("datetime=\"2026-11-18T10:00:00Z\"") && html.contains(">3m<"), "{html}");
        assert!(html.contains("title=\"2026-11-18 10:00 UTC\""), "{html}");
        assert!(Time::new(later, at).to_string().contains(">in 3m<"));
        assert_eq!(
            dated("attempt 1, until 2026-11-18T10:20:26.5Z, é x"),
            "attempt 1, until 2026-11-18 10:20 UTC, é x"
        );
        let ago = Time::new(at, later).ago().to_string();
        assert!(ago.contains("data-after=\" ago\">3m ago<"), "{ago}");
    }
}
