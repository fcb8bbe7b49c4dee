//! Why unread mail waits although an agent works for its mailbox: for `check`, which shows it with each header.

use super::runs::{Runs, key};
use crate::mailbox::reading::Header;
use crate::post::{Me, Post, Result};

/// Adds to the header of each waiting message until when it waits, and why.
pub fn remark(post: &Post, me: &Me, headers: &mut [Header]) -> Result<()> {
    if headers.is_empty() {
        return Ok(());
    }
    let Some(runs) = Runs::existing(post.room())? else { return Ok(()) };
    let (now, mailbox) = (post.room().clock().now(), me.id.as_str());
    let pauses = runs.pauses(mailbox, now)?;
    let (later, parked) = (runs.postponed()?, runs.parked()?);
    for header in headers {
        let name = key(mailbox, &header.name);
        let is_it = |parked: &&super::parked::Parked| parked.mailbox == mailbox && parked.file == header.name;
        let parked = parked.iter().find(is_it);
        let later = later.iter().find(|(other, later)| *other == name && later.until > now);
        header.remarks.extend(parked.map(|parked| format!("parked for a person: {}", parked.why)));
        header.remarks.extend(later.map(|(_, later)| format!("waits until {}: {}", later.until, later.why)));
        header.remarks.extend(pauses.iter().map(|pause| pause.line()));
    }
    Ok(())
}
