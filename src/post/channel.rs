//! Answers a whole channel of a workspace: the newest request gets the text, each older one a reply that says it was
//! superseded. None is skipped, each is one delivery, and older ones go first. So a second run after an interruption
//! finds the newest still unanswered, and answers nothing twice.

use super::{Answer, Error, Filter, Letter, Me, Outcome, Post, Result};
use crate::message::workspace::SUPERSEDED;
use crate::name::MailboxId;

impl Post {
    /// Answers every pending request of a channel; with `from`, only those of one sender.
    pub fn reply_channel(
        &self,
        me: &Me,
        channel: &str,
        from: Option<MailboxId>,
        letter: &Letter,
    ) -> Result<(Vec<Answer>, Option<Error>)> {
        self.check_letter(letter)?;
        let filter = Filter { channel: Some(channel.to_owned()), from, ..Filter::default() };
        let mut pending = self.check(me, &filter, usize::MAX)?.headers;
        pending.retain(|header| me.mailbox.awaits_answer(&header.envelope));
        let mut senders: Vec<&str> = pending.iter().map(|h| h.envelope.from.as_str()).collect();
        senders.sort_unstable();
        senders.dedup();
        match senders.as_slice() {
            [] => return Err(Error::EmptyChannel { channel: channel.to_owned() }),
            [_] => {}
            // One text for several conversations would leak the content of one into another.
            many => {
                let names = many.iter().map(|id| self.name_of(id).to_owned()).collect();
                return Err(Error::ManySenders { channel: channel.to_owned(), names });
            }
        }
        pending.sort_by(|a, b| (a.time, &a.name).cmp(&(b.time, &b.name)));
        let newest = pending.last().map(|header| header.name.clone());
        let mut answers = vec![];
        for header in pending {
            let letter = match newest.as_ref() != Some(&header.name) {
                true => Letter {
                    subject: Some("\"\"".to_owned()),
                    body: SUPERSEDED.to_owned(),
                    ..Letter::default()
                },
                false => letter.clone(),
            };
            match self.reply(me, &header.name, letter) {
                Ok(answer) if matches!(answer.receipt.outcome, Outcome::Failed(_)) => {
                    answers.push(answer);
                    break;
                }
                Ok(answer) => answers.push(answer),
                // The newest comes last; it must not be answered while an older one is unanswered.
                Err(e) => return Ok((answers, Some(e))),
            }
        }
        Ok((answers, None))
    }
}
