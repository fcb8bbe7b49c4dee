//! Links: which message of the room answers which. Only as much is kept of each message as is needed to find a conversation; the
//! messages of that are looked at afterwards.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use super::symbols::Symbols;
use super::{Post, Result};
use crate::name::MailboxId;

/// The answers of a room, and the mail that the journal does not know.
#[derive(Default)]
pub(super) struct Links {
    words: Symbols,
    /// What each answer answers.
    parents: HashMap<u32, u32>,
    /// The files of messages that only these tell of. Others than ours do not name a file by the id in it.
    unknown: HashMap<u32, Vec<(MailboxId, String)>>,
}

impl Links {
    fn link(&mut self, id: &str, reply_to: &str) {
        let key = (self.words.number(id), self.words.number(reply_to));
        // The first one counts, as everywhere.
        self.parents.entry(key.0).or_insert(key.1);
    }

    /// The ids of the conversation of a message. A cycle, which only hand-written mail can make, is walked once.
    pub(super) fn around(&mut self, id: &str) -> HashSet<String> {
        let mut top = self.words.number(id);
        let mut seen = HashSet::from([top]);
        while let Some(parent) = self.parents.get(&top).copied().filter(|parent| seen.insert(*parent)) {
            top = parent;
        }
        let mut answers: HashMap<u32, Vec<u32>> = HashMap::new();
        for (answer, parent) in &self.parents {
            answers.entry(*parent).or_default().push(*answer);
        }
        let mut open: Vec<u32> = seen.iter().copied().collect();
        while let Some(message) = open.pop() {
            open.extend(answers.get(&message).into_iter().flatten().copied().filter(|one| seen.insert(*one)));
        }
        seen.into_iter().map(|number| self.words.word(number).to_owned()).collect()
    }

    /// The messages that the journal does not know, and their files.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (&str, &[(MailboxId, String)])> {
        self.unknown.iter().map(|(id, files)| (self.words.word(*id), files.as_slice()))
    }
}

impl Post {
    /// The links of all mail. Files that the journal knows are not opened; those older than it, or placed by hand, are.
    pub(super) fn links(&self) -> Result<Links> {
        let mut links = Links::default();
        let mut known: HashSet<u64> = HashSet::new();
        self.read_journal(|event| {
            known.insert(digest(&event.to, &event.file));
            if !event.reply_to.is_empty() {
                links.link(&event.id, &event.reply_to);
            }
        })?;
        let is_known = |mailbox: &str, name: &str| known.contains(&digest(mailbox, name));
        self.every_header(is_known, |mailbox, header| {
            let envelope = header.envelope;
            if let Some(reply_to) = &envelope.reply_to {
                links.link(envelope.id.as_str(), reply_to.as_str());
            }
            let id = links.words.number(envelope.id.as_str());
            links.unknown.entry(id).or_default().push((mailbox.id().clone(), header.name));
        })?;
        Ok(links)
    }
}

/// Two words in eight bytes. Among a million pairs two are equal once in forty million times; then a file is missing in a conversation, or
/// a message in the figures.
pub(super) fn digest(one: &str, other: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (one, other).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_found_from_any_of_its_messages_and_a_cycle_ends() {
        let mut links = Links::default();
        for (id, reply_to) in [("b", "a"), ("c", "a"), ("d", "b"), ("y", "x"), ("p", "q"), ("q", "p")] {
            links.link(id, reply_to);
        }
        let mut around = |id: &str| {
            let mut found: Vec<String> = links.around(id).into_iter().collect();
            found.sort();
            found.concat()
        };
        assert_eq!(["a", "b", "d"].map(&mut around), ["abcd"; 3]);
        assert_eq!(["x", "p", "q", "z"].map(around), ["xy", "pq", "pq", "z"]);
    }
}
