//! The name of a message file (format.md §3.2): `<UTC time>-<8 hex>-<slug>[--<priority>].md`.
//!
//! The name gives the order and the priority of messages, so that a mailbox is sorted without opening a file. A file
//! placed by hand may have any name that ends in `.md`; it sorts by that name.

use super::envelope::Priority;
use crate::clock::Timestamp;

/// The longest slug; with time, digits and priority a name stays far under what file systems allow.
const SLUG_LIMIT: usize = 60;

/// How far the clocks of two senders may differ, in seconds.
const CLOCKS: i64 = 2;

/// Beyond this many seconds, trying each possible name of a message saves nothing.
const MOST_SECONDS: i64 = 8;

/// A name, built or parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileName(String);

impl FileName {
    pub fn new(time: Timestamp, short: &str, subject: &str, priority: Priority) -> Self {
        let slug = slug(subject);
        let end = match priority {
            Priority::Normal => String::new(),
            other => format!("--{other}"),
        };
        Self(format!("{}-{short}-{slug}{end}.md", time.compact()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names that this message may have been given in the seconds since `earlier` was sent, and in a few more
    /// because clocks differ. `None` if that was long ago or is in the future, or `earlier` has no time.
    pub fn since(&self, earlier: &str) -> Option<Vec<Self>> {
        let (from, to) = (Timestamp::parse(second(earlier))?, Timestamp::parse(second(&self.0))?);
        let (from, seconds) = (from.seconds(), to.seconds() - from.seconds());
        let at = |second| Self(Timestamp::from_parts(second, 0).compact() + &self.0[16..]);
        // All of them, whatever the time is now: the clock may have been ahead when a name was given.
        let all = from - CLOCKS..=from + MOST_SECONDS + CLOCKS;
        (0..=MOST_SECONDS).contains(&seconds).then(|| all.map(at).collect())
    }

    /// This name, then the alternatives if it is taken.
    pub fn candidates(&self) -> impl Iterator<Item = Self> {
        candidates(&self.0).map(Self)
    }
}

/// The subject in ASCII lower case, each run of other characters as one `-`, none at the ends.
pub fn slug(subject: &str) -> String {
    let mut slug = String::new();
    for c in subject.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == SLUG_LIMIT {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "message".to_owned() } else { slug.to_owned() }
}

/// The name, then the alternatives if it is taken.
pub fn candidates(name: &str) -> impl Iterator<Item = String> {
    std::iter::once(name.to_owned()).chain((2..1000).map(|number| numbered(name, number)))
}

/// Another name for a message whose own is taken: a number after the slug, before the priority.
fn numbered(name: &str, number: usize) -> String {
    let stem = name.strip_suffix(".md").unwrap_or(name);
    match (priority(name.as_bytes()), stem.rsplit_once("--")) {
        (Priority::Normal, _) | (_, None) => format!("{stem}-{number}.md"),
        (_, Some((slug, priority))) => format!("{slug}-{number}--{priority}.md"),
    }
}

/// Whether a name in `inbox/` is a message at all.
pub fn is_message(name: &[u8]) -> bool {
    name.len() > 3 && name.ends_with(b".md") && name[0] != b'.'
}

/// The priority at the end of a name. A slug never contains `--`, so nothing else can be mistaken for it.
pub fn priority(name: &[u8]) -> Priority {
    let stem = name.strip_suffix(b".md").unwrap_or(name);
    Priority::ALL
        .into_iter()
        .find(|p| stem.strip_suffix(p.as_str().as_bytes()).is_some_and(|rest| rest.ends_with(b"--")))
        .unwrap_or_default()
}

/// The time in a name that follows the rule; else the whole name, which then gives the order.
pub fn second(name: &str) -> &str {
    if short(name).is_some() { &name[..16] } else { name }
}

/// The eight hex digits of a name that follows the rule.
pub fn short(name: &str) -> Option<&str> {
    let bytes = name.as_bytes();
    let dated =
        bytes.len() > 26 && bytes[8] == b'T' && bytes[15] == b'Z' && bytes[16] == b'-' && bytes[25] == b'-';
    let hex = name.get(17..25)?;
    (dated && hex.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())).then_some(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(subject: &str, priority: Priority) -> String {
        FileName::new(Timestamp::from_parts(1_781_212_203, 0), "3f2a9c1d", subject, priority)
            .as_str()
            .to_owned()
    }

    #[test]
    fn names_follow_the_rule() {
        assert_eq!(
            name("Review: the *parser*!", Priority::Normal),
            "20260611T211003Z-3f2a9c1d-review-the-parser.md"
        );
        assert_eq!(name("x", Priority::Urgent), "20260611T211003Z-3f2a9c1d-x--urgent.md");
        assert_eq!(name("日本", Priority::Normal), "20260611T211003Z-3f2a9c1d-message.md");
    }

    #[test]
    fn slugs_are_cut_and_trimmed_again() {
        assert_eq!(slug(&format!("{} tail", "a".repeat(59))), "a".repeat(59));
        assert_eq!(slug(&"ab ".repeat(100)).len(), 59);
        assert_eq!(slug("--a--b--"), "a-b");
    }

    #[test]
    fn a_numbered_name_keeps_time_digits_and_priority() {
        let name = numbered("20260611T211003Z-3f2a9c1d-x--urgent.md", 2);
        assert_eq!(name, "20260611T211003Z-3f2a9c1d-x-2--urgent.md");
        assert_eq!(numbered("by-hand.md", 3), "by-hand-3.md");
    }

    #[test]
    fn a_name_tells_priority_and_digits() {
        assert_eq!(priority(b"20260611T211003Z-3f2a9c1d-x--urgent.md"), Priority::Urgent);
        assert_eq!(priority(b"20260611T211003Z-3f2a9c1d-not-urgent.md"), Priority::Normal);
        assert_eq!(short("20260611T211003Z-3f2a9c1d-x.md"), Some("3f2a9c1d"));
        assert_eq!(short("20260611T211003Z-3F2A9C1D-x.md"), None);
        assert_eq!(short("by-hand.md"), None);
        assert!(
            is_message(b"by-hand.md")
                && !is_message(b".md")
                && !is_message(b".x.md")
                && !is_message(b"x.txt")
        );
    }

    #[test]
    fn the_names_since_another_was_sent_differ_in_their_second_alone() {
        let at =
            |second: i64| FileName::new(Timestamp::from_parts(second, 0), "3f2a9c1d", "Hi", Priority::High);
        for now in [1_781_212_200, 1_781_212_203, 1_781_212_208] {
            let names = at(now).since(at(1_781_212_200).as_str()).unwrap();
            assert_eq!(names, (1_781_212_198..=1_781_212_210).map(at).collect::<Vec<_>>());
        }
        assert_eq!(at(1_781_212_209).since(at(1_781_212_200).as_str()), None, "long ago");
        assert_eq!(at(1_781_212_199).since(at(1_781_212_200).as_str()), None, "still to come");
        assert_eq!(at(1_781_212_203).since("by-hand.md"), None);
    }
}
