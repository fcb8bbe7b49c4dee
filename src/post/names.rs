//! Names: the mailboxes that exist, and the unread mail of each.

use super::identity::TERMINAL;
use super::takeover::holder;
use super::{Post, Result};
use crate::clock::Timestamp;
use crate::mailbox::presence::Presence;
use crate::mailbox::{self, Mailbox};
use crate::name::{MailboxId, fold};
use crate::registry::Entry;
use crate::session;

/// One line of the list of names.
#[derive(Debug)]
pub struct Listed {
    pub name: String,
    pub aliases: Vec<String>,
    pub id: MailboxId,
    pub protocol: String,
    pub harness: String,
    pub about: Option<String>,
    /// Number of unread messages and the time of the oldest; `None` if its directory cannot be read.
    pub unread: Option<(usize, Option<Timestamp>)>,
    /// `None` if its directory cannot be read.
    pub presence: Option<Presence>,
    /// A process waits for its mail, or it is bound to a session or terminal whose process exists.
    pub in_session: bool,
}

/// Selects mailboxes. Empty means all.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Names, where `*` matches anything but a dot, `**` anything, and `?` one character.
    pub patterns: Vec<String>,
    /// Words that the agent's description must contain, in any order and case.
    pub about: Option<String>,
}

impl Names {
    /// Whether a mailbox is selected.
    pub fn fits(&self, entry: &Entry) -> bool {
        let called = |pattern: &String| {
            let pattern: Vec<char> = fold(pattern).chars().collect();
            let is = |name: &str| glob(&pattern, &fold(name).chars().collect::<Vec<char>>());
            is(&entry.name)
                || entry.aliases().any(is)
                || fold(entry.id.as_str()) == pattern.iter().collect::<String>()
        };
        let able = |wanted: &String| {
            let about = fold(&format!("{} {}", entry.text("about").unwrap_or_default(), entry.name));
            fold(wanted).split_whitespace().all(|word| about.contains(word))
        };
        (self.patterns.is_empty() || self.patterns.iter().any(called)) && self.about.as_ref().is_none_or(able)
    }
}

/// Whether a name matches a pattern. A dot separates the levels of a role, and only `**` matches it.
fn glob(pattern: &[char], name: &[char]) -> bool {
    match pattern {
        [] => name.is_empty(),
        ['*', '*', rest @ ..] => (0..=name.len()).any(|at| glob(rest, &name[at..])),
        ['*', rest @ ..] => {
            let level = name.iter().position(|c| *c == '.').unwrap_or(name.len());
            (0..=level).any(|at| glob(rest, &name[at..]))
        }
        ['?', rest @ ..] => matches!(name, [c, after @ ..] if *c != '.' && glob(rest, after)),
        [c, rest @ ..] => matches!(name, [n, after @ ..] if n == c && glob(rest, after)),
    }
}

impl Post {
    /// The selected entries of the registry, in its order. Lists each mailbox once and opens no message.
    pub fn names(&self, which: &Names) -> Result<Vec<Listed>> {
        let registry = self.registry()?;
        // Only shown: without the records of sessions the other signs remain.
        let sessions = session::live(&self.room).unwrap_or_default();
        Ok(registry
            .entries
            .iter()
            .filter(|entry| which.fits(entry))
            .map(|entry| {
                let mailbox = self.mailbox(&entry.id).ok();
                let presence = mailbox.as_ref().and_then(|m| m.home().presence(self.now()).ok());
                let holder = mailbox.as_ref().and_then(|m| holder(m.home()).ok().flatten());
                // A session that lost its mailbox to another still has its record; a terminal holds none.
                let is_its = |bound: &session::Bound| {
                    bound.session.program == TERMINAL || holder.as_ref().is_some_and(|h| h.is(&bound.session))
                };
                Listed {
                    in_session: presence == Some(Presence::Waiting)
                        || sessions.iter().any(|bound| bound.mailbox == entry.id && is_its(bound)),
                    name: entry.name.clone(),
                    aliases: entry.aliases().map(str::to_owned).collect(),
                    id: entry.id.clone(),
                    protocol: entry.text("protocol").unwrap_or("maildir").to_owned(),
                    harness: entry.harness.clone(),
                    about: entry.text("about").map(str::to_owned),
                    unread: mailbox.as_ref().and_then(|m| self.unread_count(m).ok()),
                    presence,
                }
            })
            .collect())
    }

    /// The number of unread messages, and the time of the oldest.
    fn unread_count(&self, mailbox: &Mailbox) -> mailbox::fault::Result<(usize, Option<Timestamp>)> {
        match &self.caller.unread_counts {
            Some(counts) => counts.of(&**mailbox, self.now()),
            None => mailbox.unread(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_ends_at_a_dot_and_two_do_not() {
        let fits = |pattern: &str, name: &str| {
            glob(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
        };
        assert!(fits("org.engineering.*", "org.engineering.web"));
        assert!(!fits("org.*", "org.engineering.web") && fits("org.**", "org.engineering.web"));
        assert!(fits("*", "bob") && !fits("*", "a.b") && fits("b?b", "bob") && !fits("a?b", "a.b"));
        assert!(fits("*.explore", "org.explore") && !fits("explore", "explorer"));
    }
}
