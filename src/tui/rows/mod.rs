//! The rows of a list: what each says, and what it is about. Drawing shows them, keys act on the chosen one.

mod mail;
mod now;
mod tree;
mod work;

pub(super) use work::sign;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::seen::GateSeen;
use super::state::{Panel, State};
use super::theme::Tone;
use crate::clock::Timestamp;
use crate::message::visible;
use crate::span;

/// What a row is about, and so what keys can do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thing {
    /// A heading, or a remark.
    Nothing,
    Room {
        name: String,
    },
    Mailbox {
        id: String,
        name: String,
        is_agent: bool,
        is_paused: bool,
        is_running: bool,
    },
    Letter {
        id: String,
        mailbox: String,
        file: String,
        is_mine: bool,
        /// What it asks the person, if its text is shown.
        gate: Option<GateSeen>,
        state: LetterState,
    },
    /// A message that cannot be read.
    Broken {
        mailbox: String,
        file: String,
        can_prune: bool,
    },
    Run {
        id: String,
        mailbox: String,
        message: String,
        agent: String,
        is_running: bool,
        can_retry: bool,
        has_worktree: bool,
    },
    Flow {
        run: String,
        is_open: bool,
        has_failed: bool,
    },
    Gate {
        gate: GateSeen,
        run: String,
    },
    Step {
        run: String,
        gate: Option<GateSeen>,
        is_open: bool,
        has_failed: bool,
    },
    /// A workflow that can be started.
    Workflow {
        name: String,
    },
    /// Leads to a place.
    Link(super::state::Place),
    Bag {
        id: String,
    },
}

/// What became of a message, as far as keys depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LetterState {
    Unread,
    InWork,
    Archived,
    Dead,
    Parked,
    Quarantined,
}

/// One row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// What tells it from the others, also after a change.
    pub(super) key: String,
    pub(super) thing: Thing,
    pub(super) line: Line<'static>,
    /// All that it says, also what does not fit the line: this is filtered.
    pub(super) text: String,
    /// Whether it can be chosen.
    pub(super) is_heading: bool,
}

/// The key of the row that counts what is not read. A filter leaves it, because those are not searched.
const OLDER: &str = "- older";

/// The rows of a list that fit its filter.
pub(super) fn rows(state: &State, panel: Panel, width: u16) -> Vec<Row> {
    let width = usize::from(width);
    let all = match panel {
        Panel::Now => now::rows(state, width),
        Panel::Feed => now::feed(state, width),
        Panel::Boxes => mail::boxes(state, width),
        Panel::Letters => mail::letters(state, width),
        Panel::Thread => mail::thread(state, width),
        Panel::Runs => work::runs(state, width),
        Panel::Flows => work::flows(state, width),
        Panel::Steps => work::steps(state, width),
        Panel::Failed => work::failed(state, width),
        Panel::Trash => work::trash(state, width),
        Panel::Glance | Panel::Letter | Panel::Transcript | Panel::Diff | Panel::Result => vec![],
    };
    let filter = state.filter(panel).to_lowercase();
    let words: Vec<&str> = filter.split_whitespace().collect();
    if words.is_empty() {
        return all;
    }
    let fits = |row: &Row| {
        let text = row.text.to_lowercase();
        row.key == OLDER || !row.is_heading && words.iter().all(|word| text.contains(word))
    };
    all.into_iter().filter(fits).collect()
}

/// The chosen row.
pub(super) fn chosen(state: &State, panel: Panel) -> Option<Row> {
    let cursor = state.cursor(panel);
    let rows = rows(state, panel, 400);
    let at = rows.iter().position(|row| Some(&row.key) == cursor.key.as_ref());
    // What a filter hides is not exchanged for its neighbour.
    let neighbour = Some(cursor.index).filter(|_| state.filter(panel).trim().is_empty());
    at.or(neighbour).and_then(|at| rows.into_iter().nth(at)).filter(|row| !row.is_heading)
}

/// What the keys act on: the chosen row of the focus, or the thing that the place is about.
pub(super) fn thing(state: &State) -> Thing {
    match state.focus.is_text() {
        true => about(state),
        false => chosen(state, state.focus).map_or(Thing::Nothing, |row| row.thing),
    }
}

/// What a text is about.
fn about(state: &State) -> Thing {
    match state.focus {
        Panel::Glance => chosen(state, Panel::Letters).map_or(Thing::Nothing, |row| row.thing),
        Panel::Result => chosen(state, Panel::Steps).map_or(Thing::Nothing, |row| row.thing),
        Panel::Letter => mail::opened(state).unwrap_or(Thing::Nothing),
        Panel::Transcript | Panel::Diff => work::opened(state).unwrap_or(Thing::Nothing),
        _ => Thing::Nothing,
    }
}

/// A part of a row.
pub(super) enum Cell {
    /// So many columns; none hides it, and a filter still finds it.
    Fixed(usize, String, Tone),
    /// What is left.
    Rest(String, Tone),
    /// At the right edge.
    Right(String, Tone),
}

impl State {
    pub(super) fn style(&self, tone: Tone) -> Style {
        self.theme.style(tone)
    }

    /// The age of something, short, and as wide as most others.
    pub(super) fn age(&self, time: Option<Timestamp>) -> String {
        time.map(|time| format!("{:>3}", span::short(self.now.since(time)))).unwrap_or_default()
    }

    /// A line of exactly these cells; every text is made harmless, and nothing is wider than the line.
    pub(super) fn line(&self, width: usize, cells: &[Cell]) -> Line<'static> {
        let fixed: usize =
            cells.iter().map(|cell| if let Cell::Fixed(wide, ..) = cell { *wide } else { 0 }).sum();
        let right: usize = cells
            .iter()
            .map(|cell| match cell {
                Cell::Right(text, _) if !text.is_empty() => visible::columns(text) + 1,
                _ => 0,
            })
            .sum();
        let fixed = fixed.min(width);
        let right = if fixed + right <= width { right } else { 0 };
        let rests: Vec<bool> = cells
            .iter()
            .filter_map(|cell| if let Cell::Rest(text, _) = cell { Some(!text.is_empty()) } else { None })
            .collect();
        // Those at the end that say nothing leave their room to the others.
        let rests = rests.iter().rposition(|has_text| *has_text).map_or(1, |at| at + 1);
        let (each, left) = ((width - fixed - right) / rests, (width - fixed - right) % rests);
        let (mut spans, mut used, mut filled) = (vec![], 0, 0);
        for cell in cells {
            let (text, tone) = match cell {
                Cell::Fixed(0, ..) => continue,
                Cell::Fixed(wide, text, tone) => {
                    let wide = (*wide).min(width - used.min(width));
                    used += wide;
                    let clipped = visible::clip(text, wide.saturating_sub(1));
                    (visible::pad(&clipped, wide), tone)
                }
                Cell::Rest(..) if filled == rests => continue,
                Cell::Rest(text, tone) => {
                    filled += 1;
                    let is_last = filled == rests;
                    let wide = each + if is_last { left } else { 0 };
                    used += wide;
                    let clipped = visible::clip(text, wide.saturating_sub(usize::from(!is_last)));
                    (visible::pad(&clipped, wide), tone)
                }
                Cell::Right(_, _) if right == 0 => continue,
                Cell::Right(text, _) if text.is_empty() => continue,
                Cell::Right(text, tone) => {
                    let gap =
                        if filled > 0 { 1 } else { width.saturating_sub(used + visible::columns(text)) };
                    used += gap + visible::columns(text);
                    (format!("{}{}", " ".repeat(gap), visible::line(text)), tone)
                }
            };
            spans.push(Span::styled(text, self.style(*tone)));
        }
        Line::from(spans)
    }

    pub(super) fn row(&self, key: impl Into<String>, thing: Thing, width: usize, cells: &[Cell]) -> Row {
        let texts = cells.iter().map(|cell| match cell {
            Cell::Fixed(_, text, _) | Cell::Rest(text, _) | Cell::Right(text, _) => visible::line(text),
        });
        let text = texts.collect::<Vec<_>>().join(" ");
        Row { key: key.into(), thing, line: self.line(width, cells), text, is_heading: false }
    }

    pub(super) fn heading(&self, text: &str, count: usize, width: usize) -> Row {
        let count = if count > 0 { format!(" {count}") } else { String::new() };
        let cells = [Cell::Rest(format!("{text}{count}"), Tone::Accent)];
        Row {
            key: format!("# {text}"),
            thing: Thing::Nothing,
            line: self.line(width, &cells),
            text: String::new(),
            is_heading: true,
        }
    }

    pub(super) fn remark(&self, text: &str, width: usize) -> Row {
        let cells = [Cell::Rest(text.to_owned(), Tone::Dim)];
        Row {
            key: format!("- {text}"),
            thing: Thing::Nothing,
            line: self.line(width, &cells),
            text: String::new(),
            is_heading: true,
        }
    }
}
