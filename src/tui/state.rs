//! The state of the client: where the person is, what is chosen, what was read, and what is being typed. Pure: no disk, no
//! clock, no terminal.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use ratatui::text::Line;
use serde::{Deserialize, Serialize};

use super::deed::Deed;
use super::keys::Act;
use super::seen::{Found, Lost, RoomSeen, Tab, Want};
use super::text_box::TextBox;
use super::theme::Theme;
use crate::clock::Timestamp;

/// How many rows a list has at first, and how many are added at its end.
pub(super) const PAGE: usize = 200;

/// What fills the screen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    Now,
    Mail,
    Runs,
    Flows,
    Failed,
    Trash,
    Letter { id: String },
    Run { id: String },
    Diff { run: String },
    Flow { run: String },
}

impl Place {
    /// The places with a number.
    pub(super) const TABS: [Self; 5] = [Self::Now, Self::Mail, Self::Runs, Self::Flows, Self::Failed];

    pub(super) fn title(&self) -> &'static str {
        match self {
            Self::Now => "Now",
            Self::Mail => "Mail",
            Self::Runs => "Runs",
            Self::Flows => "Workflows",
            Self::Failed => "Failed",
            Self::Trash => "Trash",
            Self::Letter { .. } => "Message",
            Self::Run { .. } => "Run",
            Self::Diff { .. } => "Changes",
            Self::Flow { .. } => "Workflow",
        }
    }
}

/// A part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Panel {
    Now,
    Feed,
    Boxes,
    Letters,
    Glance,
    Letter,
    Thread,
    Runs,
    Transcript,
    Diff,
    Flows,
    Steps,
    Result,
    Failed,
    Trash,
}

impl Panel {
    /// Whether it is a text and not a list.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Glance | Self::Letter | Self::Transcript | Self::Diff | Self::Result)
    }
}

/// Where one is in a list or in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    /// What is chosen; it stays chosen when the list changes.
    pub(super) key: Option<String>,
    pub(super) index: usize,
    /// The first row or line on the screen.
    pub(super) top: usize,
    /// A text that grows stays at its end.
    pub(super) follows: bool,
}

/// What the keys do now.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mode {
    Normal,
    /// The filter of this panel is typed.
    Filter(Panel),
    Command(Typing),
    /// The keys; so many lines of them are above the screen.
    Help {
        top: usize,
    },
    /// Something that cannot be undone.
    Question {
        text: String,
        then: Decided,
    },
    /// One line for a deed.
    Prompt {
        title: String,
        hint: String,
        text: TextBox,
        then: Then,
    },
    /// A message is written; it is in [`State::draft`].
    Compose,
}

/// A command in the making, and what completes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Typing {
    pub(super) text: TextBox,
    /// What could stand at the end, and which of it does.
    pub(super) offers: Vec<String>,
    pub(super) offered: Option<usize>,
}

/// What a yes does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decided {
    Do(Deed),
    /// The text that is being written is gone then.
    ThrowAway,
}

/// What becomes of a line that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Then {
    Approve { gate: String },
    Reject { gate: String },
    Pause { agent: String },
}

/// A message that is being written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Draft {
    /// The message that it answers, and its subject.
    pub(super) reply: Option<(String, String)>,
    pub(super) to: TextBox,
    pub(super) subject: TextBox,
    pub(super) body: TextBox,
    /// 0: to, 1: subject, 2: body.
    pub(super) field: usize,
    /// The deed under way that sends it, as it was then.
    pub(super) sent: Option<Deed>,
}

/// The last thing that was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// Which mail is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The id of a mailbox.
    pub(super) mailbox: Option<String>,
    pub(super) tab: Tab,
    pub(super) limit: usize,
}

/// The lines of a text, for a width.
#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) width: u16,
    pub(super) version: u64,
    pub(super) lines: Rc<Vec<Line<'static>>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    pub(super) theme: Theme,
    /// The word for the room.
    pub(super) room: String,
    /// Why nobody may act here; `None`: a person may.
    pub(super) looking_only: Option<String>,
    /// The places that lead here; the last one is shown.
    pub(super) places: Vec<Place>,
    pub(super) focus: Panel,
    /// The panel that had the focus when a place was left, for the way back.
    pub(super) left: HashMap<Place, Panel>,
    /// The panel of the way back, which may not be there before its place is read.
    pub(super) returning: Option<Panel>,
    pub(super) cursors: HashMap<Panel, Cursor>,
    pub(super) filters: HashMap<Panel, TextBox>,
    pub(super) chosen: Chosen,
    pub(super) runs_of: Option<String>,
    pub(super) runs_limit: usize,
    /// A jump that goes on from this place once it is read, unless another key comes first.
    pub(super) onward: Option<Act>,
    pub(super) mode: Mode,
    pub(super) draft: Option<Draft>,
    pub(super) note: Option<Note>,
    /// A command that was typed before the room was read.
    pub(super) later: Option<String>,
    /// Deeds that go on.
    pub(super) doing: Vec<Deed>,
    /// What this client moved to the trash, and did not bring back.
    pub(super) bags: Vec<String>,
    /// It ends after them.
    pub(super) is_ending: bool,
    /// What was read last, with the want that it answers.
    pub(super) seen: HashMap<Panel, (Want, Result<Rc<Found>, String>)>,
    pub(super) room_seen: Option<Rc<RoomSeen>>,
    /// The room cannot be read: why.
    pub(super) lost: Option<String>,
    /// Counts what was read, so that texts are laid out again only then.
    pub(super) version: u64,
    pub(super) rendered: RefCell<HashMap<Panel, Rendered>>,
}

impl State {
    pub(super) fn new(room: &str, size: (u16, u16), now: Timestamp, theme: Theme) -> Self {
        Self {
            size,
            now,
            theme,
            room: room.to_owned(),
            looking_only: None,
            places: vec![Place::Now],
            focus: Panel::Now,
            left: HashMap::new(),
            returning: None,
            cursors: HashMap::new(),
            filters: HashMap::new(),
            chosen: Chosen { mailbox: None, tab: Tab::Unread, limit: PAGE },
            runs_of: None,
            runs_limit: PAGE,
            onward: None,
            mode: Mode::Normal,
            draft: None,
            note: None,
            later: None,
            doing: vec![],
            bags: vec![],
            is_ending: false,
            seen: HashMap::new(),
            room_seen: None,
            lost: None,
            version: 1,
            rendered: RefCell::default(),
        }
    }

    pub(super) fn place(&self) -> &Place {
        self.places.last().unwrap_or(&Place::Now)
    }

    pub(super) fn cursor(&self, panel: Panel) -> Cursor {
        self.cursors.get(&panel).cloned().unwrap_or_default()
    }

    pub(super) fn filter(&self, panel: Panel) -> String {
        self.filters.get(&panel).map(TextBox::text).unwrap_or_default()
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.note = Some(Note { text: text.into(), is_error: false });
    }

    pub(super) fn complain(&mut self, text: impl Into<String>) {
        self.note = Some(Note { text: text.into(), is_error: true });
    }

    /// What a panel shows, if it was read.
    pub(super) fn found(&self, panel: Panel) -> Option<&Found> {
        match self.seen.get(&panel) {
            Some((want, Ok(found))) if self.want(panel).as_ref() == Some(want) => Some(found),
            // The next page is on its way.
            Some((Want::Mail { mailbox, tab, .. }, Ok(found)))
                if self.chosen.mailbox.as_ref() == Some(mailbox) && self.chosen.tab == *tab =>
            {
                Some(found)
            }
            Some((Want::Runs { agent, .. }, Ok(found))) if *agent == self.runs_of => Some(found),
            _ => None,
        }
    }

    /// Why a panel shows nothing.
    pub(super) fn wrong(&self, panel: Panel) -> Option<&str> {
        match self.seen.get(&panel) {
            Some((want, Err(why))) if self.want(panel).as_ref() == Some(want) => Some(why),
            _ => None,
        }
    }

    /// What a panel has to read.
    pub(super) fn want(&self, panel: Panel) -> Option<Want> {
        Some(match (panel, self.place()) {
            (Panel::Boxes, _) => Want::Rooms,
            (Panel::Letters, _) => Want::Mail {
                mailbox: self.chosen.mailbox.clone()?,
                tab: self.chosen.tab,
                limit: self.chosen.limit,
            },
            (Panel::Glance, _) => {
                Want::Glance { mailbox: self.chosen.mailbox.clone()?, file: self.cursor(Panel::Letters).key? }
            }
            (Panel::Letter | Panel::Thread, Place::Letter { id }) => Want::Letter { id: id.clone() },
            (Panel::Runs, _) => Want::Runs { agent: self.runs_of.clone(), limit: self.runs_limit },
            (Panel::Transcript, Place::Run { id }) => Want::Run { id: id.clone() },
            (Panel::Diff, Place::Diff { run }) => Want::Diff { run: run.clone() },
            (Panel::Flows, _) => Want::Flows,
            (Panel::Steps | Panel::Result, Place::Flow { run }) => Want::Flow { run: run.clone() },
            (Panel::Failed, _) => Want::Failed,
            (Panel::Trash, _) => Want::Trash,
            _ => return None,
        })
    }

    /// Takes in what was read, if it is still wanted.
    pub(super) fn take(&mut self, want: Want, found: Result<Found, Lost>) {
        self.version += 1;
        match found {
            Err(Lost::Room(why)) => self.lost = Some(why),
            Ok(Found::Room(room)) => {
                self.lost = None;
                self.room_seen = Some(Rc::from(room));
            }
            found => {
                self.lost = None;
                let found = found.map(Rc::new).map_err(|lost| match lost {
                    Lost::Room(why) | Lost::Thing(why) => why,
                });
                for panel in super::layout::ALL {
                    if self.want(panel).as_ref() == Some(&want) {
                        self.seen.insert(panel, (want.clone(), found.clone()));
                    }
                }
            }
        }
    }
}
