//! What becomes of letters later: after a letter from another room was delivered, its sender hears when it was shown, done,
//! answered or given up.
//!
//! ```text
//! <root>/.courier/received/open.jsonl   letters whose end is not known yet, one line each
//! ```
//!
//! The journal tells that something happened; the state is then read from the files. A line that is lost, or a journal that is,
//! costs a receipt: the sender keeps to what it knows.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::parcel::{LetterContent, ReceiptItem, ReceiptState};
use crate::journal::{self, Position};
use crate::mailbox::Dir;
use crate::name::RoomName;
use crate::post::{MessageState, Post, Result};

const FILE: &str = "open.jsonl";
const LIMIT: u64 = 64 * 1024 * 1024;
/// The most letters that are followed; the oldest are forgotten first.
const MOST: usize = 20_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Open {
    room: String,
    id: String,
    to: String,
    file: String,
    #[serde(default)]
    shown: bool,
}

#[derive(Debug)]
pub(super) struct Later {
    dir: Dir,
    open: HashMap<String, Vec<Open>>,
    count: usize,
    at: Option<Position>,
}

impl Later {
    /// `received` is the folder of the log.
    pub(super) fn load(courier: &Dir) -> std::result::Result<Self, crate::mailbox::Error> {
        let dir = courier.create_dir_synced("received")?;
        let bytes = dir.tail(FILE, LIMIT)?.unwrap_or_default();
        let lines: Vec<Open> =
            bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let mut later = Self { dir, open: HashMap::new(), count: 0, at: None };
        let skip = lines.len().saturating_sub(MOST);
        lines.into_iter().skip(skip).for_each(|open| later.add(open));
        Ok(later)
    }

    fn add(&mut self, open: Open) {
        let all = self.open.entry(open.id.clone()).or_default();
        if !all.iter().any(|other| (&other.room, &other.to) == (&open.room, &open.to)) {
            all.push(open);
            self.count += 1;
        }
    }

    /// Follows letters that were delivered.
    pub(super) fn follow(&mut self, room: &RoomName, letters: &[&LetterContent]) {
        if self.count > MOST {
            self.open.clear();
            self.count = 0;
            let _ = self.dir.replace(FILE, b"");
        }
        let mut lines = vec![];
        for letter in letters {
            let LetterContent { id, to, file, .. } = letter;
            let open = Open {
                room: room.to_string(),
                id: id.clone(),
                to: to.clone(),
                file: file.clone(),
                shown: false,
            };
            lines.extend(serde_json::to_vec(&open).unwrap_or_default());
            lines.push(b'\n');
            self.add(open);
        }
        // A line that is not written costs a receipt after a restart.
        let _ = self.dir.append(FILE, &lines);
    }

    /// The receipts for what happened since the last call, by room. The first call looks at everything that is open.
    pub(super) fn news(&mut self, post: &Post) -> Result<HashMap<String, Vec<ReceiptItem>>> {
        let ids: Vec<String> = match self.at.take() {
            None => {
                self.at = Some(journal::end(post.room())?);
                self.open.keys().cloned().collect()
            }
            Some(at) => {
                let (events, end) = journal::after(post.room(), &at)?;
                self.at = Some(end);
                let mut ids: Vec<String> = events
                    .into_iter()
                    .filter(|event| event.event != "sent" || !event.reply_to.is_empty())
                    .map(|event| if event.event == "sent" { event.reply_to } else { event.id })
                    .filter(|id| self.open.contains_key(id))
                    .collect();
                ids.sort();
                ids.dedup();
                ids
            }
        };
        let mut receipts: HashMap<String, Vec<ReceiptItem>> = HashMap::new();
        let mut changed = false;
        for id in ids {
            let Some(all) = self.open.get_mut(&id) else { continue };
            let mut kept = vec![];
            for mut open in std::mem::take(all) {
                let to = post.addressee(&open.to);
                let state = to.and_then(|to| post.state_of(&open.id, to.as_str()));
                let (state, why, is_end) = match state {
                    Ok(Some(MessageState::Shown(_))) => (Some(ReceiptState::Shown), String::new(), false),
                    Ok(Some(MessageState::Done(_))) => (Some(ReceiptState::Done), String::new(), true),
                    Ok(Some(MessageState::Answered(_))) => {
                        (Some(ReceiptState::Answered), String::new(), true)
                    }
                    Ok(Some(MessageState::Filed(_))) => (None, String::new(), true),
                    // The notice to its sender is a letter of its own; this is only the state.
                    Ok(Some(MessageState::Failed(why))) => (Some(ReceiptState::Failed), why, true),
                    Ok(_) | Err(_) => (None, String::new(), false),
                };
                let is_news = state.is_some() && !(open.shown && state == Some(ReceiptState::Shown));
                if let Some(state) = state.filter(|_| is_news) {
                    let Open { id, to, file, .. } = open.clone();
                    let item = ReceiptItem { id, to, file, state, why };
                    receipts.entry(open.room.clone()).or_default().push(item);
                }
                open.shown |= state == Some(ReceiptState::Shown);
                changed |= is_end;
                if is_end {
                    self.count = self.count.saturating_sub(1);
                } else {
                    kept.push(open);
                }
            }
            match kept.is_empty() {
                true => drop(self.open.remove(&id)),
                false => *all = kept,
            }
        }
        if changed && self.open.is_empty() {
            let _ = self.dir.replace(FILE, b"");
        }
        Ok(receipts)
    }
}
