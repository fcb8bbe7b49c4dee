//! What lies over the panels: the keys, a question, a line to type, the commands that fit, and a message in the making.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use super::typed::around_cursor;
use crate::message::visible;
use crate::tui::command;
use crate::tui::keys::{self, Binding};
use crate::tui::state::{Draft, Mode, State};
use crate::tui::text_box::TextBox;
use crate::tui::theme::Tone;
use crate::tui::wrap::fold;

/// Draws it. Returns where the cursor is.
pub(super) fn draw(state: &State, body: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    match &state.mode {
        Mode::Normal | Mode::Filter(_) => None,
        Mode::Help { top } => {
            help(state, *top, body, buffer);
            None
        }
        Mode::Question { text, .. } => {
            question(state, text, body, buffer);
            None
        }
        Mode::Prompt { title, hint, text, .. } => prompt(state, title, hint, text, body, buffer),
        Mode::Command(typing) => {
            commands(state, &typing.text.text(), typing.offered.map(|at| (at, &typing.offers)), body, buffer);
            None
        }
        Mode::Compose => state.draft.as_ref().and_then(|draft| compose(state, draft, body, buffer)),
    }
}

/// A box in the middle, empty; returns what is inside.
fn window(state: &State, area: Rect, title: &str, buffer: &mut Buffer) -> Rect {
    let style = state.style(Tone::BorderFocus);
    for y in area.y..area.y + area.height {
        for x in area.x..area.x + area.width {
            if let Some(cell) = buffer.cell_mut((x, y)) {
                *cell = Cell::default();
            }
        }
    }
    if area.width < 4 || area.height < 3 {
        return area;
    }
    let (right, bottom) = (area.x + area.width - 1, area.y + area.height - 1);
    for x in area.x..=right {
        buffer.text(x, area.y, "─", style);
        buffer.text(x, bottom, "─", style);
    }
    for y in area.y..=bottom {
        buffer.text(area.x, y, "│", style);
        buffer.text(right, y, "│", style);
    }
    for (x, y, corner) in
        [(area.x, area.y, "╭"), (right, area.y, "╮"), (area.x, bottom, "╰"), (right, bottom, "╯")]
    {
        buffer.text(x, y, corner, style);
    }
    let title = visible::clip(title, usize::from(area.width.saturating_sub(6)));
    buffer.text(area.x + 2, area.y, &format!(" {title} "), state.style(Tone::Strong));
    Rect::new(area.x + 2, area.y + 1, area.width.saturating_sub(4), area.height - 2)
}

fn middle(body: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(body.width), height.min(body.height));
    Rect::new(body.x + (body.width - width) / 2, body.y + (body.height - height) / 2, width, height)
}

/// The help, laid out for a screen.
struct HelpPage {
    lines: Vec<Line<'static>>,
    columns: u16,
    /// How many are visible.
    rows: usize,
}

fn help_page(state: &State, body: Rect) -> HelpPage {
    let columns: u16 = if body.width >= 100 { 2 } else { 1 };
    let each = (58 * columns).min(body.width).saturating_sub(4) / columns;
    let line = |binding: &Binding| {
        let style = state.style(Tone::Key).add_modifier(Modifier::BOLD);
        let key = Span::styled(format!("{:>6} ", binding.key.shown()), style);
        fold(&[Span::raw(binding.about)], each.saturating_sub(1).into(), &key, &Span::raw(" ".repeat(7)))
    };
    let heading = |text: &str| Line::from(Span::styled(text.to_owned(), state.style(Tone::Accent)));
    let own = keys::own(state);
    let mut lines = vec![];
    if !own.is_empty() {
        lines.push(heading("What is chosen"));
        lines.extend(own.iter().flat_map(line));
    }
    let signs = keys::signs(state);
    if !signs.is_empty() {
        lines.push(heading("Signs"));
        lines.extend(signs.iter().map(|(sign, about)| Line::from(format!("{sign:>6} {about}"))));
    }
    lines.push(heading("Everywhere"));
    lines.extend(keys::everywhere(state).iter().flat_map(line));
    let rows = lines.len().div_ceil(columns.into()).min(body.height.saturating_sub(2).into());
    HelpPage { lines, columns, rows }
}

/// How far the help can be scrolled.
pub(super) fn help_end(state: &State, body: Rect) -> usize {
    let HelpPage { lines, columns, rows } = help_page(state, body);
    lines.len().saturating_sub(rows * usize::from(columns))
}

fn help(state: &State, top: usize, body: Rect, buffer: &mut Buffer) {
    let HelpPage { lines, columns, rows } = help_page(state, body);
    let height = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
    let inner = window(state, middle(body, 58 * columns, height), "Keys here, and everywhere", buffer);
    let each = inner.width / columns;
    let top = top.min(help_end(state, body));
    for (at, line) in lines.iter().skip(top).enumerate().take(rows * usize::from(columns)) {
        let (column, y) = (at / rows, at % rows);
        let x = inner.x + each * u16::try_from(column).unwrap_or(0);
        buffer.line(x, inner.y + u16::try_from(y).unwrap_or(0), line, each.saturating_sub(1));
    }
}

fn question(state: &State, text: &str, body: Rect, buffer: &mut Buffer) {
    let width = 64.min(body.width);
    let parts = [Span::raw(visible::line(text))];
    let lines = fold(&parts, usize::from(width.saturating_sub(4)), &Span::raw(""), &Span::raw(""));
    let height = u16::try_from(lines.len()).unwrap_or(1) + 4;
    let inner = window(state, middle(body, width, height), "Do it?", buffer);
    for (y, line) in lines.iter().take(inner.height.into()).enumerate() {
        buffer.line(inner.x, inner.y + u16::try_from(y).unwrap_or(0), line, inner.width);
    }
    let answer = Line::from(vec![
        Span::styled("y", state.style(Tone::Key).add_modifier(Modifier::BOLD)),
        Span::raw(" does it, any other key does nothing"),
    ]);
    buffer.line(inner.x, inner.y + inner.height.saturating_sub(1), &answer, inner.width);
}

fn prompt(
    state: &State,
    title: &str,
    hint: &str,
    text: &TextBox,
    body: Rect,
    buffer: &mut Buffer,
) -> Option<(u16, u16)> {
    let inner = window(state, middle(body, 72, 5), title, buffer);
    buffer.text(inner.x, inner.y, &visible::clip(hint, inner.width.into()), state.style(Tone::Dim));
    edit(text, Rect { y: inner.y + 1, height: inner.height.saturating_sub(1).min(1), ..inner }, buffer)
}

/// A text with its cursor, scrolled so that this is seen.
fn edit(text: &TextBox, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    if area.width == 0 || area.height == 0 {
        return None;
    }
    let (row, column) = text.cursor();
    let top = (row + 1).saturating_sub(area.height.into());
    let mut x = 0;
    for (y, line) in text.lines().iter().enumerate().skip(top).take(area.height.into()) {
        let shown = if y == row {
            let (shown, at) = around_cursor(line, column, area.width.into());
            x = at;
            shown
        } else {
            visible::line(line)
        };
        let y = area.y + u16::try_from(y - top).unwrap_or(0);
        buffer.line(area.x, y, &Line::from(shown), area.width);
    }
    let x = area.x + u16::try_from(x).unwrap_or(0).min(area.width - 1);
    Some((x, area.y + u16::try_from(row - top).unwrap_or(0)))
}

/// The commands that fit what is typed, above the foot.
fn commands(
    state: &State,
    line: &str,
    offered: Option<(usize, &Vec<String>)>,
    body: Rect,
    buffer: &mut Buffer,
) {
    let mut lines: Vec<Line<'static>> = vec![];
    if let Some((at, offers)) = offered.filter(|_| line.contains(' ')) {
        let from = at.saturating_sub(7);
        lines.extend(offers.iter().enumerate().skip(from).take(8).map(|(index, offer)| {
            let style = if index == at { state.style(Tone::Chosen) } else { state.style(Tone::Plain) };
            Line::from(Span::styled(format!(" {} ", visible::clip(offer, 60)), style))
        }));
    }
    let hints = command::hints(line);
    lines.extend(hints.into_iter().take(10).map(|(how, about)| {
        Line::from(vec![
            Span::styled(format!("{how:<28}"), state.style(Tone::Key)),
            Span::styled(about, state.style(Tone::Dim)),
        ])
    }));
    if lines.is_empty() {
        lines.push(Line::from(Span::styled("there is no such command", state.style(Tone::Warn))));
    }
    let height = (u16::try_from(lines.len()).unwrap_or(10) + 2).min(body.height);
    let width = 76.min(body.width);
    let area = Rect::new(body.x, body.y + body.height - height, width, height);
    let inner = window(state, area, "Commands", buffer);
    for (y, line) in lines.iter().take(inner.height.into()).enumerate() {
        buffer.line(inner.x, inner.y + u16::try_from(y).unwrap_or(0), line, inner.width);
    }
}

fn compose(state: &State, draft: &Draft, body: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let title = match &draft.reply {
        Some((_, subject)) => format!("Answer: {}", visible::clip(subject, 60)),
        None => "Write a message".to_owned(),
    };
    let inner = window(state, middle(body, 84, (body.height * 4 / 5).max(10)), &title, buffer);
    if inner.height < 4 {
        return None;
    }
    let mut y = inner.y;
    let mut cursor = None;
    if draft.reply.is_none() {
        for (field, (name, text)) in [("to", &draft.to), ("subject", &draft.subject)].into_iter().enumerate()
        {
            let tone = if draft.field == field { Tone::Key } else { Tone::Dim };
            buffer.text(inner.x, y, name, state.style(tone));
            let area = Rect::new(inner.x + 9.min(inner.width), y, inner.width.saturating_sub(9), 1);
            let at = edit(text, area, buffer);
            cursor = if draft.field == field { at } else { cursor };
            y += 1;
        }
        let rule = "─".repeat(inner.width.into());
        buffer.text(inner.x, y, &rule, state.style(Tone::Border));
        y += 1;
    }
    let area = Rect::new(inner.x, y, inner.width, (inner.y + inner.height).saturating_sub(y));
    let at = edit(&draft.body, area, buffer);
    cursor = if draft.field == 2 { at } else { cursor };
    cursor
}
