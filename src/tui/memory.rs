//! Where the person was when the client ended, for each room. It lies with the state of this user, and may be deleted.
//!
//! ```text
//! <state>/tui/places.json   {"v":1,"rooms":{"<root>":{"places":[…],"mailbox":…,"tab":…}}}
//!            /draft-<pid>.md   a message while it is in the editor
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::layout::panels;
use super::seen::Tab;
use super::state::{Place, State};
use crate::mailbox::Dir;

const FILE: &str = "places.json";
const LIMIT: u64 = 256 * 1024;

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
}

/// The directory of the client, if there is one.
#[derive(Debug, Clone)]
pub(super) struct Memory(pub(super) Option<PathBuf>);

impl Memory {
    fn dir(&self) -> Option<Dir> {
        Dir::make(self.0.as_ref()?).ok()
    }

    fn read(&self) -> Remembered {
        let bytes = self.0.as_ref().and_then(|dir| Dir::open(dir).ok()?.read(FILE, LIMIT).ok()?);
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
        };
        all.rooms.insert(root.display().to_string(), was);
        while all.rooms.len() > ROOMS {
            all.rooms.pop_first();
        }
        let _ = dir.replace(FILE, &serde_json::to_vec(&all).unwrap_or_default());
    }

    /// Writes a draft for the editor; returns its directory and name.
    pub(super) fn write_draft(&self, text: &str) -> Result<(Dir, String), String> {
        let name = format!("draft-{}.md", std::process::id());
        let dir = self.0.as_ref().ok_or("there is no place for a draft")?;
        let dir = Dir::make(dir).map_err(|e| e.to_string())?;
        dir.replace(&name, text.as_bytes()).map_err(|e| e.to_string())?;
        Ok((dir, name))
    }
}
