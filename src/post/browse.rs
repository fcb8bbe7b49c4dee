//! Browsing: the mail of a mailbox, newest first, in every state. It changes nothing: no message is archived, claimed, noted as
//! told or put into quarantine.
//!
//! A page of a mailbox of the room opens only the messages that it shows, because the names of its files begin with the time.
//! Names of other protocols do not tell the time, so there all headers are read.

use std::collections::HashSet;

use super::{Error, Me, Opened, Post, Result};
use crate::mailbox::Folder;
use crate::mailbox::reading::{Header, Unreadable};
use crate::message::Protocol;

/// A message, where it is.
#[derive(Debug)]
pub struct BrowsedMessage {
    pub folder: Folder,
    /// The name of its file.
    pub name: String,
    /// What it says about itself, or why that cannot be read.
    pub header: std::result::Result<Header, Unreadable>,
}

/// One page of a mailbox.
#[derive(Debug, Default)]
pub struct Browsed {
    /// Newest first.
    pub messages: Vec<BrowsedMessage>,
    /// How many messages are in the wanted folders.
    pub total: usize,
    /// The name to go on before; `None` if this is the last page.
    pub next: Option<String>,
}

impl Post {
    /// The newest messages in these folders, at most `limit`. `before`: only those that come after this file in the order,
    /// for the next page. The person's mail is for a person.
    pub fn browse(
        &self,
        me: &Me,
        wanted: impl Fn(Folder) -> bool,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Browsed> {
        self.may_open(&me.id)?;
        let mut files = vec![];
        let mut known = HashSet::new();
        for folder in me.mailbox.folders()?.into_iter().filter(|folder| wanted(*folder)) {
            let listing = me.mailbox.list(folder, usize::MAX)?;
            // A message that moves meanwhile may be in two of the listings.
            let new =
                listing.names.into_iter().chain(listing.broken).filter(|name| known.insert(name.clone()));
            files.extend(new.map(|name| (folder, name)));
        }
        let total = files.len();
        let (mut messages, more) = match me.mailbox.protocol() {
            Protocol::Maildir => self.newest_by_name(me, files, before, limit),
            _ => self.newest_by_time(me, files, before, limit),
        };
        let more = more || messages.len() > limit;
        messages.truncate(limit);
        let next = messages.last().filter(|_| more).map(|message| message.name.clone());
        Ok(Browsed { messages, total, next })
    }

    /// Opens the first files after `before` alone. Also tells whether there are more.
    fn newest_by_name(
        &self,
        me: &Me,
        mut files: Vec<(Folder, String)>,
        before: Option<&str>,
        limit: usize,
    ) -> (Vec<BrowsedMessage>, bool) {
        files.retain(|(_, name)| before.is_none_or(|before| name.as_str() < before));
        files.sort_unstable_by(|(_, one), (_, other)| other.cmp(one));
        let mut files = files.into_iter();
        let mut messages = vec![];
        while messages.len() < limit {
            let Some((folder, name)) = files.next() else { break };
            messages.extend(self.browsed(me, folder, name));
        }
        (messages, files.next().is_some())
    }

    fn newest_by_time(
        &self,
        me: &Me,
        files: Vec<(Folder, String)>,
        before: Option<&str>,
        limit: usize,
    ) -> (Vec<BrowsedMessage>, bool) {
        let mut all: Vec<BrowsedMessage> =
            files.into_iter().filter_map(|(folder, name)| self.browsed(me, folder, name)).collect();
        let time = |message: &BrowsedMessage| match &message.header {
            Ok(header) => Some(header.time),
            Err(broken) => broken.time,
        };
        all.sort_by(|one, other| (time(other), &other.name).cmp(&(time(one), &one.name)));
        // If that file is gone, the page begins anew.
        let from = before.and_then(|before| all.iter().position(|message| message.name == before));
        let mut rest = all.split_off(from.map_or(0, |at| at + 1));
        let more = rest.len() > limit;
        rest.truncate(limit);
        (rest, more)
    }

    /// `None` if it has gone meanwhile.
    fn browsed(&self, me: &Me, folder: Folder, name: String) -> Option<BrowsedMessage> {
        let header = self.header(&me.mailbox, folder, &name).transpose()?;
        Some(BrowsedMessage { folder, name, header })
    }

    /// One message by the name of its file, in whichever folder it is now. Its attachments are compared with their digests; the
    /// path of one that is whole can be read.
    pub fn browse_message(&self, me: &Me, name: &str) -> Result<Opened> {
        self.may_open(&me.id)?;
        let unknown = || Error::NoMessage { reference: name.to_owned() };
        // The name may come from anybody, and becomes part of a path.
        if name.contains(['/', '\0']) || !me.mailbox.is_message(name.as_bytes()) {
            return Err(unknown());
        }
        for folder in me.mailbox.folders()? {
            match self.message(&me.mailbox, folder, name) {
                Ok(Some((message, time))) => return Ok(self.opened(me, folder, name, message, time)),
                Ok(None) => {}
                Err(broken) if broken.transient => return Err(Error::Failing { why: broken.why }),
                Err(broken) => {
                    let path = me.mailbox.path(folder, name).display().to_string();
                    return Err(Error::Unreadable { path, why: broken.why });
                }
            }
        }
        Err(unknown())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::mailbox::attachments::FileState;
    use crate::post::{Caller, Filter, LEASE, Letter, NewMailbox, USER};

    #[test]
    fn pages_show_every_state_newest_first_and_change_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let open = |caller| Post::open_or_make(&path, caller, Arc::new(SystemClock)).unwrap();
        for name in ["ann", "bob"] {
            let wanted = NewMailbox { name: Some(name.into()), ..NewMailbox::default() };
            open(Caller::default()).setup(&wanted).unwrap();
        }
        let post = open(Caller { flag: Some("ann".into()), ..Caller::default() });
        let me = post.me().unwrap();
        let send = |subject: &str| {
            let mut letter =
                Letter { to: vec!["bob".into()], subject: Some(subject.into()), ..Letter::default() };
            letter.body = "x".into();
            letter.attach("notes.txt", b"hello".to_vec());
            post.send(&me, &letter).unwrap().remove(0)
        };
        let sent = ["one", "two", "three", "four"].map(send);
        let bob = post.other(&post.addressee("bob").unwrap()).unwrap();
        let claim = |at: usize| {
            let id = Some(sent[at].id.as_str());
            post.claim(&bob, None, id, &Filter::default(), LEASE).unwrap().0.unwrap()
        };
        let held = post.held(&bob, &claim(0).token.to_string()).unwrap();
        post.fail(&bob, &held, "no").unwrap();
        claim(1);
        post.move_to(&bob, sent[2].id.as_str(), Folder::Archive).unwrap();

        let mut rows = vec![];
        let mut before = None;
        loop {
            let page = post.browse(&bob, |_| true, before.as_deref(), 3).unwrap();
            assert_eq!(page.total, 4);
            rows.extend(page.messages);
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        let subject = |row: &BrowsedMessage| row.header.as_ref().unwrap().envelope.subject.clone();
        let mut found: Vec<(String, &str)> =
            rows.iter().map(|row| (subject(row), row.folder.as_str())).collect();
        let names: Vec<&String> = rows.iter().map(|row| &row.name).collect();
        assert!(names.is_sorted_by(|one, other| one > other), "{names:?}");
        found.sort();
        let wanted = [("four", "inbox"), ("one", "failed"), ("three", "archive"), ("two", "claimed")];
        assert_eq!(found, wanted.map(|(subject, folder)| (subject.to_owned(), folder)));
        let failed = post.browse(&bob, |folder| folder == Folder::Failed, None, 9).unwrap();
        assert_eq!((failed.messages.len(), failed.total, failed.next), (1, 1, None));
        assert_eq!(post.count(&bob).unwrap(), 1, "what was unread still is");

        let opened = post.browse_message(&bob, &sent[3].file).unwrap();
        let [file] = opened.files.as_slice() else { panic!("{:?}", opened.files) };
        assert_eq!((file.attachment.name.as_str(), file.attachment.size), ("notes.txt", 5));
        let FileState::Here(path) = &file.state else { panic!("{file:?}") };
        assert_eq!(std::fs::read(path).unwrap(), b"hello");
        std::fs::write(path, b"other").unwrap();
        let changed = post.browse_message(&bob, &sent[3].file).unwrap();
        assert_eq!(changed.files[0].state, FileState::Changed);
        for name in ["../bob/x.md", "absent.md", "claim.json"] {
            assert!(matches!(post.browse_message(&bob, name), Err(Error::NoMessage { .. })), "{name}");
        }
    }

    #[test]
    fn the_mail_of_the_person_is_for_a_person() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let caller = Caller { by_agent: true, ..Caller::default() };
        let post = Post::open_or_make(&path, caller, Arc::new(SystemClock)).unwrap();
        let attended = post.again().unwrap().attended_by(crate::person::Person::of_test());
        attended.setup(&NewMailbox { name: Some(USER.into()), ..NewMailbox::default() }).unwrap();
        let look = |post: &Post| {
            let post = post.again().unwrap();
            post.browse(&post.other(&post.addressee(USER).unwrap()).unwrap(), |_| true, None, 9)
        };
        assert!(matches!(look(&post), Err(Error::NoPerson(_))));
        assert_eq!(look(&attended).unwrap().total, 0);
    }
}
