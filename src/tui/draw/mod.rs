//! Drawing: the state as cells of a screen. Pure. Nothing is drawn outside of the screen, however small it is, and every text
//! of others was made harmless before it comes here.

mod canvas;
mod overlay;
mod panel;
mod typed;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use self::canvas::Canvas;
use self::typed::around_cursor;
use super::keys;
use super::layout::{self, Frame};
use super::state::{Mode, Place, State};
use super::theme::Tone;
use super::wrap::fold;
use crate::clock::Timestamp;
use crate::message::visible;
use crate::overview::Overview;
use crate::span;

/// Draws everything. Returns where the cursor is, if one is shown.
pub(super) fn draw(state: &State, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let Frame { top, body, foot } = layout::frame(state.size);
    header(state, top, buffer);
    match &state.lost {
        Some(why) => panel::lost(state, why, body, buffer),
        None => {
            for (panel, area) in layout::visible(state) {
                panel::draw(state, panel, area, buffer);
            }
        }
    }
    let cursor = overlay::draw(state, body, buffer);
    let typed = footer(state, foot, buffer);
    cursor.or(typed)
}

/// How far the help can be scrolled.
pub(super) fn help_end(state: &State) -> usize {
    overlay::help_end(state, layout::frame(state.size).body)
}

/// The words of the header for each place, with a number where something waits.
fn tabs(state: &State) -> Vec<(Place, String)> {
    let room = state.room_seen.as_ref().map(|room| &room.overview);
    let count = |place: &Place| {
        room.map_or(0, |overview| match place {
            Place::Now => overview.gates.len(),
            Place::Mail => overview.unread_mail(),
            Place::Runs => overview.running.len(),
            Place::Flows => overview.flows.len() + overview.failed_flows.len(),
            Place::Failed => overview.failed.iter().map(|dead| dead.messages).sum(),
            _ => 0,
        })
    };
    let is_narrow = state.size.0 < 70;
    let shown = Place::TABS.into_iter().enumerate().map(|(at, place)| {
        let number = at + 1;
        let title = match (&place, is_narrow) {
            (Place::Flows, true) => "Flows",
            _ => place.title(),
        };
        let count = match count(&place) {
            0 => String::new(),
            count => format!(" {count}"),
        };
        (place, format!(" {number} {title}{count} "))
    });
    shown.collect()
}

fn room_word(state: &State) -> String {
    let wide = if state.size.0 < 70 { 8 } else { 20 };
    // A room without a name has this word.
    let room = if state.room == crate::desk::UNNAMED { "this room" } else { &state.room };
    format!(" {} ", visible::clip(room, wide))
}

/// The place whose word in the header is at a column.
pub(super) fn tab_at(state: &State, x: u16) -> Option<Place> {
    let mut at = visible::columns(&room_word(state));
    for (place, word) in tabs(state) {
        let end = at + visible::columns(&word);
        if (at..end).contains(&usize::from(x)) {
            return Some(place);
        }
        at = end;
    }
    None
}

/// It is at the right end of the header, or at the beginning of the foot if it does not fit there.
const LOOKING_ONLY: &str = "looking only";

fn is_in_header(state: &State, width: u16) -> bool {
    let words = std::iter::once(room_word(state)).chain(tabs(state).into_iter().map(|(_, word)| word));
    let used: usize = words.map(|word| visible::columns(&word)).sum();
    used + LOOKING_ONLY.len() + 2 <= usize::from(width)
}

fn header(state: &State, area: Rect, buffer: &mut Buffer) {
    buffer.paint(area, state.style(Tone::Bar));
    let bar = state.style(Tone::Bar);
    let mut spans = vec![Span::styled(
        room_word(state),
        bar.patch(state.style(Tone::Accent)).add_modifier(Modifier::BOLD),
    )];
    let first = state.places.first().cloned().unwrap_or(Place::Now);
    for (place, word) in tabs(state) {
        let is_here = place == first;
        if is_here {
            spans.push(Span::styled(word, bar.patch(state.style(Tone::Chosen)).add_modifier(Modifier::BOLD)));
            continue;
        }
        // The key must not be taken for the count of the word before it.
        let (key, rest) = word.split_at(word.find(|c: char| c.is_ascii_digit()).map_or(0, |at| at + 1));
        spans.push(Span::styled(key.to_owned(), bar.patch(state.style(Tone::Key))));
        spans.push(Span::styled(rest.to_owned(), bar));
    }
    let left = Line::from(spans);
    let used = u16::try_from(left.width()).unwrap_or(area.width).min(area.width);
    buffer.line(area.x, area.y, &left, area.width);
    let right = match (&state.looking_only, &state.room_seen) {
        (Some(_), _) if is_in_header(state, area.width) => LOOKING_ONLY.to_owned(),
        (Some(_), _) => String::new(),
        (None, Some(room)) => {
            let (runs, cost) = dispatcher(&room.overview);
            let both = format!("{runs}{cost}");
            if both.len() + usize::from(used) + 2 <= usize::from(area.width) { both } else { runs }
        }
        (None, None) => String::new(),
    };
    let right = visible::clip(&right, usize::from(area.width.saturating_sub(used + 2)));
    let wide = u16::try_from(visible::columns(&right)).unwrap_or(0);
    if wide > 3 && area.height > 0 {
        let x = area.x + area.width - wide - 1;
        buffer.text(x, area.y, &right, bar.patch(state.style(Tone::Dim)));
    }
}

/// What is said about the dispatcher, and what a day costs.
fn dispatcher(overview: &Overview) -> (String, String) {
    let alive = &overview.dispatchers.alive;
    let since = alive.first().and_then(|one| Timestamp::parse(&one.since));
    let runs = match (alive.len(), overview.dispatchers.dead.is_empty()) {
        (0, true) => "no dispatcher".to_owned(),
        (0, false) => "the dispatcher has died".to_owned(),
        (1, _) => match since {
            Some(since) => format!("dispatcher {}", span::short(overview.at.since(since))),
            None => "dispatcher runs".to_owned(),
        },
        (count, _) => format!("{count} dispatchers"),
    };
    let cost = if overview.cost > 0.0 { format!(" · ${:.2} a day", overview.cost) } else { String::new() };
    (runs, cost)
}

/// The last line: what is typed, what was told, or the most useful keys.
fn footer(state: &State, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    buffer.paint(area, state.style(Tone::Bar));
    let bar = state.style(Tone::Bar);
    let typed = |before: &str, text: &super::text_box::TextBox, buffer: &mut Buffer| {
        let room = usize::from(area.width).saturating_sub(visible::columns(before));
        let (shown, at) = around_cursor(&text.text(), text.cursor().1, room);
        let line = Line::from(vec![
            Span::styled(before.to_owned(), bar.patch(state.style(Tone::Key)).add_modifier(Modifier::BOLD)),
            Span::styled(shown, bar),
        ]);
        buffer.line(area.x, area.y, &line, area.width);
        let x = visible::columns(before) + at;
        (area.height > 0 && area.width > 0)
            .then(|| (area.x + u16::try_from(x).unwrap_or(u16::MAX).min(area.width - 1), area.y))
    };
    match &state.mode {
        Mode::Filter(panel) => {
            let text = state.filters.get(panel).cloned().unwrap_or_default();
            return typed("/", &text, buffer);
        }
        Mode::Command(typing) => return typed(":", &typing.text, buffer),
        _ => {}
    }
    let end = if state.is_ending { ", then it ends; q ends at once" } else { "" };
    let doing = state.doing.first().map(|deed| format!("{} …{end}", deed.doing()));
    let note = match (&state.note, doing) {
        (Some(note), _) if note.is_error => Some((format!("✗ {}", note.text), Tone::Bad)),
        (_, Some(doing)) => Some((doing, Tone::Work)),
        (Some(note), None) => Some((format!("✓ {}", note.text), Tone::Good)),
        (None, None) => None,
    };
    if let Some((text, Tone::Bad)) = &note {
        complaint(state, text, area, buffer);
        return None;
    }
    if let Some((text, tone)) = note {
        let text = visible::clip(&text, usize::from(area.width.saturating_sub(2)));
        buffer.text(area.x + 1.min(area.width), area.y, &text, bar.patch(state.style(tone)));
        return None;
    }
    buffer.line(area.x, area.y, &useful_keys(state, usize::from(area.width)), area.width);
    None
}

/// What went wrong, whole: in as many lines as it needs, above the foot.
fn complaint(state: &State, text: &str, area: Rect, buffer: &mut Buffer) {
    let style = state.style(Tone::Bar).patch(state.style(Tone::Bad));
    let text = Span::styled(visible::line(text), style);
    let width = usize::from(area.width.saturating_sub(2));
    let mut lines = fold(&[text], width, &Span::raw(""), &Span::styled("  ", style));
    lines.truncate(usize::from(area.y / 2).max(1));
    let count = u16::try_from(lines.len()).unwrap_or(1);
    let top = (area.y + 1).saturating_sub(count);
    buffer.paint(Rect::new(area.x, top, area.width, count), state.style(Tone::Bar));
    for (y, line) in (top..).zip(&lines) {
        for x in area.x..area.x + area.width {
            buffer.text(x, y, " ", state.style(Tone::Bar));
        }
        buffer.line(area.x + 1.min(area.width), y, line, area.width.saturating_sub(1));
    }
}

/// As many keys as fit, those of the chosen thing first; the way to all others is always there.
fn useful_keys(state: &State, width: usize) -> Line<'static> {
    if let Some(over) = keys::over(state) {
        return key_line(state, over.into_iter().map(|(key, word)| (key.to_owned(), word)), width);
    }
    let is_wanted = |binding: &keys::Binding| {
        matches!(binding.word, "filter" | "command" | "panel" | "back" | "quit" | "write")
    };
    let all = keys::own(state).into_iter().chain(keys::everywhere(state).into_iter().filter(is_wanted));
    let last = ("?".to_owned(), "keys");
    let mut room = width.saturating_sub(last.0.len() + last.1.len() + 3);
    let mut line = Line::default();
    if state.looking_only.is_some() && !is_in_header(state, state.size.0) {
        let style = state.style(Tone::Bar).patch(state.style(Tone::Warn));
        line.push_span(Span::styled(format!(" {LOOKING_ONLY} "), style));
        room = room.saturating_sub(line.width());
    }
    let keys = key_line(state, all.map(|binding| (binding.key.shown(), binding.word)), room);
    line.spans.extend(keys.spans);
    line.spans.extend(key_line(state, std::iter::once(last), width).spans);
    line
}

/// Keys with their words, each word once, as many as fit.
fn key_line(
    state: &State,
    keys: impl Iterator<Item = (String, &'static str)>,
    width: usize,
) -> Line<'static> {
    let bar = state.style(Tone::Bar);
    let (mut spans, mut known, mut used) = (vec![], vec![], 0);
    for (key, word) in keys {
        if known.contains(&word) {
            continue;
        }
        used += visible::columns(&key) + word.len() + 3;
        if used > width {
            break;
        }
        known.push(word);
        let style = bar.patch(state.style(Tone::Key)).add_modifier(Modifier::BOLD);
        spans.push(Span::styled(format!(" {key}"), style));
        spans.push(Span::styled(format!(" {word} "), bar));
    }
    Line::from(spans)
}
