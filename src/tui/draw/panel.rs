//! One panel: its border with title and place, and its rows or lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use crate::message::visible;
use crate::overview::Card;
use crate::tui::layout::{inside, is_boxed, visible};
use crate::tui::pages;
use crate::tui::rows;
use crate::tui::seen::{Found, Tab};
use crate::tui::state::{Mode, Panel, Place, State};
use crate::tui::theme::Tone;

pub(super) fn draw(state: &State, panel: Panel, area: Rect, buffer: &mut Buffer) {
    let inner = inside(state.size, area);
    let is_focused = state.focus == panel;
    let cursor = state.cursor(panel);
    let height = usize::from(inner.height);
    let (count, at) = if panel.is_text() {
        let lines = pages::lines(state, panel, inner.width);
        for (y, line) in lines.iter().skip(cursor.top).take(height).enumerate() {
            buffer.line(inner.x, inner.y + u16::try_from(y).unwrap_or(0), line, inner.width);
        }
        (lines.len(), (cursor.top + height).min(lines.len()))
    } else {
        let rows = rows::rows(state, panel, inner.width);
        for (y, (at, row)) in rows.iter().enumerate().skip(cursor.top).take(height).enumerate() {
            let y = inner.y + u16::try_from(y).unwrap_or(0);
            buffer.line(inner.x, y, &row.line, inner.width);
            if at == cursor.index && !row.is_heading {
                let tone = if is_focused { Tone::Chosen } else { Tone::ChosenElsewhere };
                buffer.paint(Rect::new(inner.x, y, inner.width, 1), state.style(tone));
            }
        }
        let chosen = rows.iter().take(cursor.index + 1).filter(|row| !row.is_heading).count();
        if rows.is_empty() {
            empty(state, panel, inner, buffer);
        }
        (rows.iter().filter(|row| !row.is_heading).count(), chosen)
    };
    if count == 0 && panel.is_text() {
        empty(state, panel, inner, buffer);
    }
    border(state, panel, area, (at, count), buffer);
}

/// Why there is nothing.
fn empty(state: &State, panel: Panel, inner: Rect, buffer: &mut Buffer) {
    let (text, tone) = match (state.wrong(panel), panel) {
        (Some(why), _) => (why.to_owned(), Tone::Bad),
        (None, _) if !state.filter(panel).is_empty() => ("nothing fits the filter".to_owned(), Tone::Dim),
        (None, Panel::Now | Panel::Feed | Panel::Boxes) if state.room_seen.is_none() => {
            ("reading …".to_owned(), Tone::Dim)
        }
        (None, Panel::Feed) => ("nothing has happened yet".to_owned(), Tone::Dim),
        (None, Panel::Now | Panel::Boxes) => (String::new(), Tone::Dim),
        (None, Panel::Letters) if state.found(panel).is_some() => {
            (format!("no message is {}", state.chosen.tab.as_str()), Tone::Dim)
        }
        (None, Panel::Runs) if state.found(panel).is_some() => {
            ("no agent was started yet".to_owned(), Tone::Dim)
        }
        (None, _) if state.found(panel).is_some() || state.want(panel).is_none() => {
            (String::new(), Tone::Dim)
        }
        (None, _) => ("reading …".to_owned(), Tone::Dim),
    };
    let parts = [Span::styled(visible::line(&text), state.style(tone))];
    let lines = crate::tui::wrap::fold(&parts, inner.width.into(), &Span::raw(""), &Span::raw(""));
    for (y, line) in lines.iter().take(inner.height.into()).enumerate() {
        buffer.line(inner.x, inner.y + u16::try_from(y).unwrap_or(0), line, inner.width);
    }
}

/// The name of the mailbox whose mail is shown.
fn mailbox_name(state: &State) -> Option<String> {
    let cards = state.room_seen.iter().flat_map(|room| &room.overview.cards);
    let is_it =
        |card: &&Card| card.id.as_ref().map(ToString::to_string) == state.chosen.mailbox && card.id.is_some();
    cards.into_iter().find(is_it).map(|card| card.name.clone())
}

/// The title of a panel, in parts.
fn title(state: &State, panel: Panel) -> Vec<Span<'static>> {
    let strong = state.style(Tone::Strong);
    let plain = |text: String| vec![Span::styled(text, strong)];
    match panel {
        Panel::Now => plain("Now".into()),
        Panel::Feed => plain("What happens".into()),
        Panel::Boxes => plain("Mailboxes".into()),
        Panel::Letters => {
            let tabs = Tab::ALL.into_iter().flat_map(|tab| {
                let style = match tab == state.chosen.tab {
                    true => strong.add_modifier(Modifier::UNDERLINED),
                    false => state.style(Tone::Dim),
                };
                [Span::styled(tab.as_str(), style), Span::raw("  ")]
            });
            let tabs = tabs.take(Tab::ALL.len() * 2 - 1);
            // Beside the mailboxes it is the chosen one.
            let is_beside = visible(state).iter().any(|(panel, _)| *panel == Panel::Boxes);
            let name = (!is_beside).then(|| mailbox_name(state)).flatten();
            let name = name.map(|name| Span::styled(format!("{}: ", visible::clip(&name, 16)), strong));
            name.into_iter().chain(tabs).collect()
        }
        Panel::Glance => plain("Message".into()),
        Panel::Letter => match state.place() {
            Place::Letter { id } => {
                plain(format!("Message {}", visible::clip(&crate::post::line::brief(id), 12)))
            }
            _ => plain("Message".into()),
        },
        Panel::Thread => plain("Thread".into()),
        Panel::Runs => match &state.runs_of {
            Some(agent) => plain(format!("Runs of {}", visible::clip(agent, 40))),
            None => plain("Runs".into()),
        },
        Panel::Transcript => match state.found(panel) {
            Some(Found::Run(seen)) => plain(format!("{} · transcript", visible::clip(&seen.run.agent, 30))),
            _ => plain("Transcript".into()),
        },
        Panel::Diff => plain("Changes".into()),
        Panel::Flows => plain("Workflows".into()),
        Panel::Steps => match state.found(panel) {
            Some(Found::Flow(flow)) => plain(format!(
                "{} · {} · {}/{}",
                visible::clip(&flow.run, 40),
                flow.status,
                flow.settled,
                flow.total
            )),
            _ => plain("Steps".into()),
        },
        Panel::Result => plain("Result".into()),
        Panel::Failed => plain("Failed and parked".into()),
        Panel::Trash => plain("Trash".into()),
    }
}

fn border(state: &State, panel: Panel, area: Rect, (at, count): (usize, usize), buffer: &mut Buffer) {
    if area.height == 0 || area.width < 4 {
        return;
    }
    let style = state.style(if state.focus == panel { Tone::BorderFocus } else { Tone::Border });
    let (left, right, bottom) = (area.x, area.x + area.width - 1, area.y + area.height - 1);
    for x in left..=right {
        buffer.text(x, area.y, "─", style);
    }
    if is_boxed(state.size) && area.height >= 2 {
        for x in left..=right {
            buffer.text(x, bottom, "─", style);
        }
        for y in area.y + 1..bottom {
            buffer.text(left, y, "│", style);
            buffer.text(right, y, "│", style);
        }
        for (x, y, corner) in
            [(left, area.y, "╭"), (right, area.y, "╮"), (left, bottom, "╰"), (right, bottom, "╯")]
        {
            buffer.text(x, y, corner, style);
        }
    }
    let mut spans = vec![Span::raw(" ")];
    spans.extend(title(state, panel));
    let filter = state.filter(panel);
    if !filter.is_empty() || state.mode == Mode::Filter(panel) {
        spans.push(Span::styled(format!("  /{}", visible::clip(&filter, 30)), state.style(Tone::Warn)));
    }
    spans.push(Span::raw(" "));
    buffer.line(left + 2, area.y, &Line::from(spans), area.width.saturating_sub(4));
    if count > 0 {
        let y = if is_boxed(state.size) { bottom } else { area.y };
        let text = format!(" {at}/{count} ");
        let wide = u16::try_from(text.len()).unwrap_or(0);
        if wide + 16 < area.width {
            buffer.text(right - wide - 1, y, &text, state.style(Tone::Dim));
        }
    }
}

/// The room is gone, or cannot be read.
pub(super) fn lost(state: &State, why: &str, area: Rect, buffer: &mut Buffer) {
    let lines = [
        (format!("The room {} cannot be read now.", state.room), Tone::Bad),
        (why.to_owned(), Tone::Plain),
        (
            "It is looked at again every few seconds. :room NAME opens another one, q ends.".to_owned(),
            Tone::Dim,
        ),
    ];
    let mut y = area.y + area.height / 4;
    for (text, tone) in lines {
        let parts = [Span::styled(visible::line(&text), state.style(tone))];
        let wide = usize::from(area.width.saturating_sub(4));
        for line in crate::tui::wrap::fold(&parts, wide, &Span::raw(""), &Span::raw("")) {
            if y < area.y + area.height {
                buffer.line(area.x + 2, y, &line, area.width.saturating_sub(4));
            }
            y += 1;
        }
    }
}
