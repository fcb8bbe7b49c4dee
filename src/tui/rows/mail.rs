//! Rooms and mailboxes, the messages of one, and a thread as a tree.

use super::now::of_card;
use super::tree::branch;
use super::{Cell, LetterState, OLDER, Row, Thing};
use crate::overview::{Card, CardKind, CardState};
use crate::tui::seen::{Found, OtherRoom, Tab};
use crate::tui::state::{Panel, State};
use crate::tui::theme::Tone;

/// The mailboxes of this room, then the other rooms.
pub(super) fn boxes(state: &State, width: usize) -> Vec<Row> {
    let Some(room) = &state.room_seen else { return vec![] };
    let mut cards: Vec<&Card> = room.overview.cards.iter().collect();
    cards.sort_by_key(|card| {
        (
            card.kind != CardKind::Person,
            card.unread.is_none_or(|unread| unread == 0),
            card.name.to_lowercase(),
        )
    });
    let mut rows: Vec<Row> =
        cards.into_iter().filter(|card| card.id.is_some()).map(|card| of(state, card, width)).collect();
    let others: Vec<&String> = room.rooms.iter().filter(|name| **name != state.room).collect();
    let seen: &[OtherRoom] = match state.found(Panel::Boxes) {
        Some(Found::Rooms(rooms)) => rooms,
        _ => &[],
    };
    if !others.is_empty() {
        rows.push(state.heading("Other rooms", 0, width));
        rows.extend(others.into_iter().map(|name| {
            let seen = seen.iter().find(|other| other.name == *name);
            let is_running = seen.is_some_and(|other| other.is_running);
            let (sign, tone) = if is_running { ("●", Tone::Work) } else { ("⌂", Tone::Dim) };
            let (unread, oldest) = match seen.map(|other| other.unread) {
                None => (String::new(), None),
                Some(unread) => {
                    (count(unread.map(|(count, _)| count)), unread.and_then(|(_, oldest)| oldest))
                }
            };
            let cells = [
                Cell::Fixed(2, sign.into(), tone),
                Cell::Rest(name.clone(), if unread.is_empty() { Tone::Plain } else { Tone::Strong }),
                Cell::Right(unread, Tone::Accent),
                Cell::Right(state.age(oldest), Tone::Dim),
            ];
            state.row(format!("room {name}"), Thing::Room { name: name.clone() }, width, &cells)
        }));
    }
    rows
}

/// How many messages are unread. `None`: nobody could count them.
fn count(unread: Option<usize>) -> String {
    match unread {
        None => "?".to_owned(),
        Some(0) => String::new(),
        Some(unread) => format!("{unread:>3}"),
    }
}

fn of(state: &State, card: &Card, width: usize) -> Row {
    let (sign, tone) = match &card.state {
        CardState::Running => ("●", Tone::Work),
        CardState::Paused { .. } => ("‖", Tone::Warn),
        CardState::Untrusted { .. } | CardState::NoProgram | CardState::NoMailbox => ("!", Tone::Warn),
        CardState::InSession => ("◉", Tone::Good),
        CardState::Waiting { .. } | CardState::Idle => match card.kind {
            CardKind::Person => ("☺", Tone::Accent),
            _ => (" ", Tone::Dim),
        },
    };
    let unread = count(card.unread);
    let name = if unread.is_empty() { Tone::Plain } else { Tone::Strong };
    let cells = [
        Cell::Fixed(2, sign.into(), tone),
        Cell::Rest(card.name.clone(), name),
        Cell::Right(unread, Tone::Accent),
        Cell::Right(state.age(card.oldest), Tone::Dim),
    ];
    let key = card.id.as_ref().map(ToString::to_string).unwrap_or_default();
    state.row(key, of_card(card), width, &cells)
}

/// Whether the mailbox is the person's.
fn is_mine(state: &State, mailbox: &str) -> bool {
    let cards = state.room_seen.iter().flat_map(|room| &room.overview.cards);
    cards.into_iter().any(|card| {
        card.kind == CardKind::Person && card.id.as_ref().is_some_and(|id| id.as_str() == mailbox)
    })
}

pub(super) fn letters(state: &State, width: usize) -> Vec<Row> {
    let Some(Found::Mail(mail)) = state.found(Panel::Letters) else { return vec![] };
    let mailbox = state.chosen.mailbox.clone().unwrap_or_default();
    let is_mine = is_mine(state, &mailbox);
    // Nothing is approved whose text is not beside it.
    let asks = match state.found(Panel::Glance) {
        Some(Found::Letter(letter)) => Some(letter),
        _ => None,
    };
    let mut rows: Vec<Row> = mail
        .rows
        .iter()
        .map(|row| {
            let letter_state = match row.is_quarantined {
                true => LetterState::Quarantined,
                false => state_of(state.chosen.tab),
            };
            let thing = match &row.id {
                Some(id) => Thing::Letter {
                    id: id.clone(),
                    mailbox: mailbox.clone(),
                    file: row.file.clone(),
                    is_mine,
                    gate: asks.filter(|letter| letter.id == *id).and_then(|letter| letter.gate.clone()),
                    state: letter_state,
                },
                None => Thing::Broken {
                    mailbox: mailbox.clone(),
                    file: row.file.clone(),
                    can_prune: matches!(letter_state, LetterState::Archived | LetterState::Dead),
                },
            };
            let tone = match (&row.id, letter_state) {
                (None, _) => Tone::Bad,
                (_, LetterState::Unread) => Tone::Strong,
                _ => Tone::Plain,
            };
            // What is attached may be long, and must not hide the subject.
            let (files, marks): (Vec<&str>, Vec<&str>) =
                row.marks.iter().map(String::as_str).partition(|mark| mark.starts_with("attached="));
            let words = marks.into_iter().chain([row.subject.as_str()]).chain(files);
            let text = words.collect::<Vec<_>>().join(" ");
            let cells = [
                Cell::Fixed((width / 4).clamp(8, 18), row.from.clone(), Tone::Accent),
                Cell::Rest(text, tone),
                Cell::Right(state.age(row.time), Tone::Dim),
            ];
            state.row(row.file.clone(), thing, width, &cells)
        })
        .collect();
    if mail.has_more {
        let searched =
            if state.filter(Panel::Letters).trim().is_empty() { "" } else { ", which are not searched" };
        let text = format!("… {} older{searched}", mail.total.saturating_sub(mail.rows.len()));
        rows.push(Row { key: OLDER.to_owned(), ..state.remark(&text, width) });
    }
    rows
}

pub(super) fn state_of(tab: Tab) -> LetterState {
    match tab {
        Tab::Unread => LetterState::Unread,
        Tab::InWork => LetterState::InWork,
        Tab::Archive => LetterState::Archived,
        Tab::Failed => LetterState::Dead,
    }
}

/// The message that is open.
pub(super) fn opened(state: &State) -> Option<Thing> {
    let Some(Found::Letter(letter)) = state.found(Panel::Letter) else { return None };
    if let Some(gate) = &letter.gate {
        return Some(Thing::Gate { gate: gate.clone(), run: letter.flow.clone().unwrap_or_default() });
    }
    Some(Thing::Letter {
        id: letter.id.clone(),
        mailbox: letter.mailbox.clone(),
        file: letter.file.clone(),
        is_mine: letter.is_mine,
        gate: None,
        state: state_of(letter.tab),
    })
}

/// The conversation of the open message.
pub(super) fn thread(state: &State, width: usize) -> Vec<Row> {
    let Some(Found::Letter(letter)) = state.found(Panel::Thread) else { return vec![] };
    let depths: Vec<usize> = letter.thread.iter().map(|row| row.depth).collect();
    let rows = letter.thread.iter().enumerate().map(|(at, row)| {
        let is_here = row.id == letter.id;
        let cells = [
            Cell::Fixed(2, if is_here { "▶".into() } else { String::new() }, Tone::Accent),
            Cell::Rest(
                format!("{}{}", branch(&depths, at), row.subject),
                if is_here { Tone::Strong } else { Tone::Plain },
            ),
            Cell::Right(row.who.clone(), Tone::Accent),
            Cell::Right(state.age(row.time), Tone::Dim),
        ];
        let link = Thing::Link(crate::tui::state::Place::Letter { id: row.id.clone() });
        state.row(row.id.clone(), link, width, &cells)
    });
    rows.collect()
}
