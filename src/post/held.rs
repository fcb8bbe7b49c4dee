//! A claim that is held: found by its token, or by the id of its message.
//!
//! A token belongs to one claim, so a worker that lost its claim cannot end the next one. An id does not say which
//! claim is meant. It is accepted only for a claim that the caller's mailbox made by hand and holds now: not for a claim
//! of another mailbox or of a run, nor for one whose lease has ended. What looks like a token is never taken for an id.

use super::find::clip;
use super::{Error, Me, Post, Result};
use crate::mailbox::claim::Terms;
use crate::mailbox::{Folder, Mailbox, Token};
use crate::name::MailboxId;

/// A claim that is still held.
#[derive(Debug)]
pub struct Held {
    pub token: Token,
    pub terms: Terms,
    pub mailbox: Mailbox,
}

impl Post {
    /// The claim with this token or of this message, anywhere in the room: the caller's own mailbox first.
    pub fn held(&self, me: &Me, reference: &str) -> Result<Held> {
        match Token::parse(reference) {
            Some(token) => self.held_by_token(me, token),
            None => self.held_by_id(me, reference),
        }
    }

    fn held_by_token(&self, me: &Me, token: Token) -> Result<Held> {
        let lost = |why: Option<String>| Error::NoClaim { token: token.to_string(), why };
        // Nearly always it is the caller's own; then no other mailbox is searched.
        if let Some(terms) = me.mailbox.terms(token)? {
            return self.own_claim(me, self.mailbox(&me.id)?, token, terms);
        }
        for mailbox in self.all_mailboxes(Some(me))? {
            let mailbox = mailbox?;
            if let Some(terms) = mailbox.terms(token)? {
                return self.own_claim(me, mailbox, token, terms);
            }
        }
        // Only a caller that lost its claim pays for this search.
        for mailbox in self.all_mailboxes(Some(me))? {
            if let Some(end) = mailbox?.end_of(token)? {
                return Err(lost(Some(format!("it ended at {}: {}", end.time, end.how))));
            }
        }
        Err(lost(None))
    }

    /// The subject of a message of this mailbox that somebody has claimed, by its file; `None` if that cannot be read.
    pub fn claimed_subject(&self, id: &MailboxId, file: &str) -> Option<String> {
        let mailbox = self.mailbox(id).ok()?;
        let is_its = |token: &Token| matches!(mailbox.terms(*token), Ok(Some(terms)) if terms.file == file);
        let token = mailbox.tokens().ok()?.into_iter().find(is_its)?;
        Some(self.header(&mailbox, Folder::Claimed(token), file).ok()??.envelope.subject)
    }

    /// The subject of a message of this mailbox, wherever its work left it, by its file; `None` if that cannot be read.
    pub fn subject_by_file(&self, id: &MailboxId, file: &str) -> Option<String> {
        let mailbox = self.mailbox(id).ok()?;
        let in_folder = |folder| Some(self.header(&mailbox, folder, file).ok()??.envelope.subject);
        let kept = [Folder::Archive, Folder::Failed, Folder::Inbox].into_iter().find_map(in_folder);
        kept.or_else(|| self.claimed_subject(id, file))
    }

    fn own_claim(&self, me: &Me, mailbox: Mailbox, token: Token, terms: Terms) -> Result<Held> {
        if terms.owner != me.id.as_str() {
            let owner = self.name_of(&terms.owner).to_owned();
            return Err(Error::ForeignClaim { token: token.to_string(), owner });
        }
        // A run of the dispatcher works for the person, by settings that the person trusts.
        if terms.run.is_empty() {
            self.may_open(mailbox.id())?;
        }
        Ok(Held { token, terms, mailbox })
    }

    fn held_by_id(&self, me: &Me, reference: &str) -> Result<Held> {
        let (mut own, mut not_own) = (vec![], None);
        for mailbox in self.all_mailboxes(Some(me))? {
            let mailbox = mailbox?;
            for token in mailbox.tokens()? {
                if self.matches(&mailbox, Folder::Claimed(token), reference)?.is_empty() {
                    continue;
                }
                let Some(terms) = mailbox.terms(token)? else { continue };
                match self.why_not_by_id(me, reference, &terms)? {
                    Some(why) => not_own = not_own.or(Some(why)),
                    None => own.push((mailbox.id().clone(), token, terms)),
                }
            }
        }
        if own.len() > 1 {
            let tokens = own.iter().map(|(_, token, _)| token.to_string()).collect();
            return Err(Error::AmbiguousClaim { reference: clip(reference), tokens });
        }
        match own.pop() {
            Some((queue, token, terms)) => self.own_claim(me, self.mailbox(&queue)?, token, terms),
            None => Err(not_own.map_or_else(|| self.not_claimed(me, reference), Ok)?),
        }
    }

    /// Why the id of its message does not stand for a claim.
    fn why_not_by_id(&self, me: &Me, reference: &str, terms: &Terms) -> Result<Option<Error>> {
        let (reference, until) = (clip(reference), terms.ends.clone());
        if terms.is_over(self.room.clock())? {
            return Ok(Some(Error::LeaseEnded { reference, until }));
        }
        let owner = self.name_of(&terms.owner).to_owned();
        let run = Some(terms.run.clone()).filter(|run| !run.is_empty());
        if terms.owner == me.id.as_str() && run.is_none() {
            return Ok(None);
        }
        Ok(Some(Error::ClaimedBy { reference, owner, run, until }))
    }

    /// The error for a text that names no claim.
    fn not_claimed(&self, me: &Me, reference: &str) -> Result<Error> {
        let reference = crate::message::visible::clip(reference, 40);
        match self.find(me, &reference) {
            Ok(found) => Ok(Error::NotClaimed { reference, folder: found.folder }),
            Err(Error::NoMessage { .. } | Error::ShortReference { .. }) => {
                Ok(Error::NoClaim { token: reference, why: None })
            }
            Err(e) => Err(e),
        }
    }
}
