//! Where the person was when the client ended, and the draft that was not sent, for each room. It lies with the state of this
//! user, and may be deleted.
//!
//! ```text
//! <state>/tui/places.json   {"v":1,"rooms":{"<root>":{"places":[…],"mailbox":…,"tab":…,"left":…}}}
//!            /draft-<hash of the root>.json   {"v":1,"reply":…,"to":…,"subject":…,"body":…}
//!            /draft-<pid>.md   a message while it is in the editor
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::layout::panels;
use super::seen::Tab;
use super::state::{Draft, Place, State};
use super::text_box::TextBox;
use crate::mailbox::Dir;

const FILE: &str = "places.json";
const LIMIT: u64 = 256 * 1024;

/// The longest draft in the form in which it is kept.
const DRAFT: u64 = 4 * 1024 * 1024;

/// The most rooms that are remembered.
const ROOMS: usize = 50;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Remembered {
    v: u32,
    rooms: BTreeMap<String, Was>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Was {
    places: Vec<Place>,
    #[serde(default)]
    mailbox: Option<String>,
    tab: Tab,
    /// The room that was left last has the largest number.
    #[serde(default)]
    left: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptDraft {
    v: u32,
    /// The message that it answers, and its subject.
    reply: Option<(String, String)>,
    to: String,
    subject: String,
    body: String,
}

/// The directory of the client, if there is one.
#[derive(Debug)]
pub(super) struct Memory {
    path: Option<PathBuf>,
    /// A draft of this room is there, and it is the one that this client knows. Another client may have left one since.
    has_draft: bool,
}

impl Memory {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, has_draft: false }
    }

    fn dir(&self) -> Option<Dir> {
        Dir::make(self.path.as_ref()?).ok()
    }

    fn read(&self) -> Remembered {
        let bytes = self.path.as_ref().and_then(|dir| Dir::open(dir).ok()?.read(FILE, LIMIT).ok()?);
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Brings the person back to where they were in a room. What is odd is passed over.
    pub(super) fn recall(&self, root: &Path, state: &mut State) {
        let Some(was) = self.read().rooms.remove(&root.display().to_string()) else { return };
        if let Some(place) = was.places.last().filter(|_| was.places.len() <= 50) {
            state.focus = panels(place)[0];
            state.places = was.places;
        }
        state.chosen.mailbox = was.mailbox.clone();
        state.chosen.tab = was.tab;
        state.cursors.entry(super::state::Panel::Boxes).or_default().key = was.mailbox;
    }

    /// Keeps where the person is. If that cannot be written, nothing is lost but this.
    pub(super) fn keep(&self, root: &Path, state: &State) {
        let Some(dir) = self.dir() else { return };
        let mut all = self.read();
        all.v = 1;
        let was = Was {
            places: state.places.clone(),
            mailbox: state.chosen.mailbox.clone(),
            tab: state.chosen.tab,
            left: all.rooms.values().map(|was| was.left).max().unwrap_or(0).saturating_add(1),
        };
        all.rooms.insert(root.display().to_string(), was);
        while all.rooms.len() > ROOMS
            && let Some(oldest) =
                all.rooms.iter().min_by_key(|(_, was)| was.left).map(|(root, _)| root.clone())
        {
            all.rooms.remove(&oldest);
        }
        let _ = dir.replace(FILE, &serde_json::to_vec(&all).unwrap_or_default());
    }

    /// Brings back the draft of a room.
    pub(super) fn recall_draft(&mut self, root: &Path, state: &mut State) {
        self.has_draft = false;
        if state.looking_only.is_some() {
            return;
        }
        let dir = self.path.as_ref().and_then(|dir| Dir::open(dir).ok());
        let bytes = dir.and_then(|dir| dir.read(&draft_name(root), DRAFT).ok()?);
        let kept: Option<KeptDraft> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(kept) = kept else { return };
        let [to, subject, body] = [&kept.to, &kept.subject, &kept.body].map(|text| TextBox::new(text));
        state.draft = Some(Draft { reply: kept.reply, to, subject, body, field: 2, sent: None });
        state.say("your draft is still here; c goes on with it");
        self.has_draft = true;
    }

    /// Keeps the draft of a room on the disk, or removes the one that was sent or thrown away.
    pub(super) fn keep_draft(&mut self, root: &Path, state: &State) -> Result<(), String> {
        let name = draft_name(root);
        let Some(draft) = state.draft.as_ref().filter(|draft| !draft.body.is_blank()) else {
            if std::mem::take(&mut self.has_draft)
                && let Some(dir) = self.dir()
            {
                // Somebody may have removed it before.
                let _ = dir.remove(&name);
            }
            return Ok(());
        };
        let kept = KeptDraft {
            v: 1,
            reply: draft.reply.clone(),
            to: draft.to.text(),
            subject: draft.subject.text(),
            body: draft.body.text(),
        };
        let dir = self.path.as_ref().ok_or("there is no place for a draft")?;
        let dir = Dir::make(dir).map_err(|e| e.to_string())?;
        let text = serde_json::to_vec(&kept).map_err(|e| e.to_string())?;
        dir.replace_synced(&name, &text).map_err(|e| e.to_string())?;
        self.has_draft = true;
        Ok(())
    }

    /// Writes a draft for the editor; returns its directory and name.
    pub(super) fn write_draft(&self, text: &str) -> Result<(Dir, String), String> {
        let name = format!("draft-{}.md", std::process::id());
        let dir = self.path.as_ref().ok_or("there is no place for a draft")?;
        let dir = Dir::make(dir).map_err(|e| e.to_string())?;
        dir.replace(&name, text.as_bytes()).map_err(|e| e.to_string())?;
        Ok((dir, name))
    }
}

fn draft_name(root: &Path) -> String {
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("draft-{hash}.json")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::tui::theme::Theme;

    fn state() -> State {
        State::new("main", (80, 24), crate::clock::Timestamp::from_parts(0, 0), Theme::Plain)
    }

    #[test]
    fn a_draft_outlives_the_client_and_stays_in_its_room() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("tui");
        let (root, other) = (Path::new("/room"), Path::new("/other"));
        let mut written = state();
        let (to, body) = (TextBox::new("ann"), TextBox::new("two\nlines"));
        let mut draft = Draft { to, body, ..Draft::default() };
        draft.sent = draft.deed();
        written.draft = Some(draft);
        Memory::new(Some(path.clone())).keep_draft(root, &written).unwrap();
        let file = std::fs::metadata(path.join(draft_name(root))).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);

        let mut memory = Memory::new(Some(path.clone()));
        let mut found = state();
        memory.recall_draft(other, &mut found);
        assert!(found.draft.is_none());
        memory.keep_draft(other, &found).unwrap();
        memory.recall_draft(root, &mut found);
        let draft = found.draft.take().unwrap();
        assert_eq!((draft.to.text(), draft.body.text()), ("ann".into(), "two\nlines".into()));
        assert!(draft.sent.is_none());
        // It was sent meanwhile.
        memory.keep_draft(root, &found).unwrap();
        memory.recall_draft(root, &mut found);
        assert!(found.draft.is_none());
    }

    /// The one that was forgotten was the first of the alphabet, and so perhaps the one that was just left.
    #[test]
    fn of_too_many_rooms_the_one_that_was_left_first_is_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        let memory = Memory::new(Some(temp.path().canonicalize().unwrap().join("tui")));
        let mut left = state();
        left.places = vec![Place::Runs];
        for room in (0..=ROOMS).rev() {
            memory.keep(Path::new(&format!("/room{room:02}")), &left);
        }
        let place = |room: usize| {
            let mut state = state();
            memory.recall(Path::new(&format!("/room{room:02}")), &mut state);
            state.place().clone()
        };
        assert_eq!((place(0), place(ROOMS - 1), place(ROOMS)), (Place::Runs, Place::Runs, Place::Now));
    }

    #[test]
    fn a_draft_that_cannot_be_kept_is_an_error() {
        let mut written = state();
        let mut memory = Memory::new(None);
        assert!(memory.keep_draft(Path::new("/room"), &written).is_ok());
        written.draft = Some(Draft { body: TextBox::new("x"), ..Draft::default() });
        assert!(memory.keep_draft(Path::new("/room"), &written).is_err());
    }
}
