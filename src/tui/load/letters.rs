//! Messages: a page of a mailbox, one at a glance, and one with its thread and history.

use std::time::Duration;

use super::MailSeen;
use crate::clock::Timestamp;
use crate::dispatch::runs::{Run, Runs};
use crate::mailbox::Folder;
use crate::mailbox::attachments::FileState;
use crate::name::MailboxId;
use crate::post::line::{marks, of_state, who};
use crate::post::{Error, Me, Opened, Post, Result, USER, VIA};
use crate::tui::seen::{FileSeen, GateSeen, LetterRow, LetterSeen, Tab, ThreadRow};
use crate::workflow::decision;

/// How far the clock of a sender may be ahead.
const SKEW: Duration = Duration::from_secs(24 * 3600);

fn mailbox(post: &Post, id: &str) -> Result<Me> {
    let unknown = || Error::NoMailbox { id: id.to_owned(), name: id.to_owned() };
    post.other(&MailboxId::parse(id).map_err(|_| unknown())?)
}

pub(super) fn page(post: &Post, id: &str, tab: Tab, limit: usize) -> Result<MailSeen> {
    let me = mailbox(post, id)?;
    let found = post.browse(&me, |folder| Tab::of(folder) == tab, None, limit)?;
    let rows = found.messages.into_iter().map(|row| match row.header {
        Ok(header) => LetterRow {
            file: row.name,
            id: Some(header.envelope.id.to_string()),
            from: post.sender_shown(&header.envelope),
            marks: marks(&header).filter(|mark| !is_plain(mark)).collect(),
            subject: header.envelope.subject,
            time: Some(header.time),
            is_quarantined: row.folder == Folder::Quarantine,
        },
        Err(broken) => LetterRow {
            file: row.name,
            id: None,
            from: broken.name,
            subject: broken.why,
            time: broken.time,
            marks: vec![],
            is_quarantined: row.folder == Folder::Quarantine,
        },
    });
    Ok(MailSeen { rows: rows.collect(), total: found.total, has_more: found.next.is_some() })
}

/// Whether a mark says nothing that the list does not show.
fn is_plain(mark: &str) -> bool {
    mark.starts_with("re=") || mark.starts_with("channel=")
}

/// One message as it is, without what the rest of the room knows of it.
pub(super) fn glance(post: &Post, id: &str, file: &str) -> Result<LetterSeen> {
    let me = mailbox(post, id)?;
    let opened = post.browse_message(&me, file)?;
    let mut letter = seen(post, &me, &opened);
    look_for_gate(post, &mut letter);
    Ok(letter)
}

/// One message with everything about it.
pub(super) fn whole(post: &Post, id: &str) -> Result<LetterSeen> {
    let trace = post.trace(None, id)?;
    let is_hidden = |id: &MailboxId| post.is_persons(id) && post.person(USER).is_err();
    let copies = || trace.copies.iter().filter(|located| !is_hidden(&located.copy.mailbox));
    // The person's own copy can be answered.
    let located = copies().find(|located| post.is_persons(&located.copy.mailbox)).or_else(|| copies().next());
    let Some(copy) = located.map(|located| &located.copy) else {
        return Err(Error::NoMessage { reference: id.to_owned() });
    };
    let me = post.other(&copy.mailbox)?;
    let opened = post.open_in(&me, trace.id.as_str(), copy.folder)?;
    let mut letter = seen(post, &me, &opened);
    let to = trace.copies.iter().map(|located| {
        (post.name_of(located.copy.mailbox.as_str()).to_owned(), of_state(post, &located.state))
    });
    letter.to = to.collect();
    let thread = post.thread(None, trace.id.as_str()).unwrap_or_else(|e| {
        letter.doubts.push(format!("its thread cannot be read: {e}"));
        vec![]
    });
    letter.thread = thread
        .iter()
        .map(|branch| ThreadRow {
            depth: branch.depth,
            id: branch.node.id.clone(),
            who: who(post, branch),
            subject: branch.node.subject.clone(),
            time: Timestamp::parse(&branch.node.time),
        })
        .collect();
    match runs_of(post, &letter) {
        Ok(runs) => {
            let changed = runs.iter().find(|run| run.worktree.as_ref().is_some_and(|tree| !tree.gone));
            letter.changed_by = changed.map(|run| run.id.clone());
            letter.runs = runs.into_iter().map(|run| run.id).collect();
        }
        Err(e) => letter.doubts.push(format!("its runs cannot be read: {e}")),
    }
    look_for_gate(post, &mut letter);
    Ok(letter)
}

/// Finds what a message asks the person, if it shows exactly that.
fn look_for_gate(post: &Post, letter: &mut LetterSeen) {
    // Only a run asks for approval.
    if letter.flow.is_none() {
        return;
    }
    match decision::find(post, &letter.id) {
        Ok(gate) if gate.is_shown_by(&letter.body) => letter.gate = Some(GateSeen::of(&gate)),
        Ok(gate) => letter.doubts.push(format!("this is not what the run {} asks", gate.run)),
        Err(decision::Error::Post(e)) => {
            letter.doubts.push(format!("whether it asks you cannot be read: {e}"))
        }
        // Most messages ask for no approval.
        Err(
            decision::Error::NoGate { .. }
            | decision::Error::Several { .. }
            | decision::Error::NotAsked { .. },
        ) => {}
    }
}

/// The runs that worked on a message, the newest first.
fn runs_of(post: &Post, letter: &LetterSeen) -> Result<Vec<Run>> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(vec![]) };
    let is_past = letter.time <= post.room().clock().now();
    Ok(runs.of_message(&letter.id, &letter.file, is_past.then(|| letter.time.minus(SKEW)))?)
}

fn seen(post: &Post, me: &Me, opened: &Opened) -> LetterSeen {
    let envelope = &opened.message.envelope;
    let files = opened.files.iter().map(|file| {
        let wrong = match &file.state {
            FileState::Here(_) => None,
            FileState::Missing => Some("missing".to_owned()),
            FileState::Changed => Some("changed".to_owned()),
            FileState::Unreadable(why) => Some(why.clone()),
        };
        FileSeen { name: file.attachment.name.clone(), size: file.attachment.size, wrong }
    });
    LetterSeen {
        id: envelope.id.to_string(),
        mailbox: me.id.to_string(),
        file: opened.name.clone(),
        subject: envelope.subject.clone(),
        from: post.sender_shown(envelope),
        to: vec![(me.shown().to_owned(), String::new())],
        time: opened.time,
        via: envelope.extra(VIA).map(str::to_owned),
        priority: envelope.priority.as_str(),
        body: opened.message.body.clone(),
        files: files.collect(),
        doubts: envelope.doubts.iter().map(ToString::to_string).collect(),
        thread: vec![],
        flow: envelope.extra("workflow").map(str::to_owned),
        runs: vec![],
        changed_by: None,
        tab: Tab::of(opened.folder),
        is_mine: post.is_persons(&me.id),
        gate: None,
    }
}
