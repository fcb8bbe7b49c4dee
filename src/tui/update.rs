//! What an event changes, and what is to be done about it. Pure: effects are returned, and somebody else has them.

use super::command;
use super::compose;
use super::deed::Deed;
use super::event::{Code, Event, Key, Mouse, MouseKind};
use super::help;
use super::jumps;
use super::keys::{self, Act};
use super::layout::{self, inside, panels, visible};
use super::pages;
use super::rows::{self, Thing};
use super::seen::{Found, Want};
use super::state::{Cursor, Decided, Mode, PAGE, Panel, Place, State, Then, Typing};
use crate::dispatch::runs::RunState;

/// What is to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    /// Read all that the screen shows.
    Look,
    /// Read what the screen did not show before.
    Fetch(Vec<Want>),
    Do(Deed),
    /// Edit this text in the person's editor.
    Edit(String),
    /// Serve another room.
    Enter(String),
    /// Draw everything anew.
    Redraw,
    Suspend,
    Quit,
    /// End with an error.
    Fail,
}

/// Takes in an event.
pub(super) fn update(state: &mut State, event: Event) -> Vec<Effect> {
    let before = wants(state);
    let mut effects = vec![];
    if matches!(event, Event::Key(_) | Event::Mouse(_)) {
        (state.onward, state.returning) = (None, None);
    }
    match event {
        Event::Key(key) => effects = on_key(state, key),
        Event::Paste(text) => effects = on_paste(state, &text),
        Event::Mouse(mouse) => effects = on_mouse(state, mouse),
        Event::Resized(width, height) => {
            state.size = (width, height);
            // The head of a message depends on the height, too.
            state.version += 1;
            effects.push(Effect::Redraw);
        }
        Event::Background { is_light } => {
            use super::theme::Theme;
            if state.theme != Theme::Plain {
                state.theme = if is_light { Theme::Light } else { Theme::Dark };
                state.version += 1;
            }
        }
        Event::Changed => effects.push(Effect::Look),
        Event::Tick(now) => state.now = now,
        Event::Seen(seen, now) => {
            state.now = now;
            state.take(seen.want, seen.found);
            jumps::go_on(state);
            if state.room_seen.is_some()
                && let Some(line) = state.later.take()
            {
                effects = command::run(state, &line);
            }
        }
        Event::Told(told) => {
            effects.extend(super::told::take(state, told));
            effects.push(Effect::Look);
        }
        Event::Edited(text) => compose::edited(state, text),
        Event::Panicked => effects.push(Effect::Fail),
    }
    settle(state);
    if !effects.contains(&Effect::Look) {
        let new: Vec<Want> = wants(state).into_iter().filter(|want| !before.contains(want)).collect();
        effects.extend((!new.is_empty()).then_some(Effect::Fetch(new)));
    }
    effects
}

/// What the screen needs, what is looked at first.
pub(super) fn wants(state: &State) -> Vec<Want> {
    let mut wants: Vec<Want> = vec![];
    let panels: Vec<Panel> = visible(state).into_iter().map(|(panel, _)| panel).collect();
    for panel in panels.iter().copied().filter(|panel| *panel != Panel::Boxes) {
        wants.extend(state.want(panel).filter(|want| !wants.contains(want)));
    }
    // A step of the way that is not visible on a small screen still decides what is.
    if *state.place() == Place::Mail
        && let Some(want) = state.want(Panel::Letters).filter(|want| !wants.contains(want))
    {
        wants.insert(0, want);
    }
    wants.push(Want::Room);
    // There may be many other rooms, and this one comes first.
    wants.extend(panels.contains(&Panel::Boxes).then_some(Want::Rooms));
    wants
}

fn on_key(state: &mut State, key: Key) -> Vec<Effect> {
    match &mut state.mode {
        Mode::Help { .. } => help::on_key(state, key),
        Mode::Question { then, .. } => {
            let is_yes = matches!(key.code, Code::Char('y' | 'Y')) && !key.ctrl;
            let then = then.clone();
            state.mode = Mode::Normal;
            match then {
                Decided::ThrowAway => compose::throw_away(state, is_yes),
                Decided::Do(deed) if is_yes => return super::acts::begin(state, deed),
                Decided::Do(_) => state.say("nothing was done"),
            }
            vec![]
        }
        Mode::Filter(panel) => {
            let panel = *panel;
            match key.code {
                Code::Enter | Code::Tab | Code::Down => state.mode = Mode::Normal,
                Code::Esc => {
                    state.filters.remove(&panel);
                    state.mode = Mode::Normal;
                }
                _ if key == Key::ctrl('c') => state.mode = Mode::Normal,
                _ => {
                    state.filters.entry(panel).or_default().key(key, true);
                }
            }
            vec![]
        }
        Mode::Prompt { text, then, .. } => match key.code {
            Code::Enter => {
                let (text, then) = (text.text(), then.clone());
                state.mode = Mode::Normal;
                answered(state, text.trim(), then)
            }
            Code::Esc => {
                state.mode = Mode::Normal;
                vec![]
            }
            _ if key == Key::ctrl('c') => {
                state.mode = Mode::Normal;
                vec![]
            }
            _ => {
                text.key(key, true);
                vec![]
            }
        },
        Mode::Command(_) => command::on_key(state, key),
        Mode::Compose => {
            state.note = None;
            compose::on_key(state, key)
        }
        Mode::Normal => {
            state.note = None;
            match keys::act(state, key) {
                Some(act) => super::acts::act(state, act),
                None => vec![],
            }
        }
    }
}

/// A line that was asked for.
fn answered(state: &mut State, text: &str, then: Then) -> Vec<Effect> {
    let text = text.to_owned();
    let deed = match then {
        Then::Approve { gate } => Deed::Approve { gate, comment: text },
        Then::Reject { .. } if text.is_empty() => {
            state.complain("a rejection needs a reason: the agent reads it");
            return vec![];
        }
        Then::Reject { gate } => Deed::Reject { gate, why: text },
        Then::Pause { agent } => Deed::Pause { agent, why: text },
    };
    super::acts::begin(state, deed)
}

fn on_paste(state: &mut State, text: &str) -> Vec<Effect> {
    match &mut state.mode {
        Mode::Filter(panel) => {
            let panel = *panel;
            state.filters.entry(panel).or_default().insert(text, true);
        }
        Mode::Prompt { text: typed, .. } | Mode::Command(Typing { text: typed, .. }) => {
            typed.insert(text, true)
        }
        Mode::Compose => compose::paste(state, text),
        // What is pasted is no key: a line of a message must not stop an agent.
        Mode::Normal | Mode::Help { .. } | Mode::Question { .. } => {}
    }
    vec![]
}

fn on_mouse(state: &mut State, mouse: Mouse) -> Vec<Effect> {
    let is_at = |area: ratatui::layout::Rect| area.contains(ratatui::layout::Position::new(mouse.x, mouse.y));
    match (&state.mode, mouse.kind) {
        (Mode::Help { .. }, kind) => {
            match kind {
                MouseKind::Press => state.mode = Mode::Normal,
                MouseKind::Up => help::scroll(state, -3),
                MouseKind::Down => help::scroll(state, 3),
            }
            return vec![];
        }
        (Mode::Normal, _) => {}
        _ => return vec![],
    }
    if is_at(layout::frame(state.size).top) && mouse.kind == MouseKind::Press {
        return match super::draw::tab_at(state, mouse.x) {
            Some(place) => super::acts::act(state, Act::Go(place)),
            None => vec![],
        };
    }
    let Some((panel, area)) = visible(state).into_iter().find(|(_, area)| is_at(*area)) else {
        return vec![];
    };
    let inner = inside(state.size, area);
    match mouse.kind {
        MouseKind::Press => {
            let was = (state.focus == panel).then(|| state.cursor(panel).index);
            state.focus = panel;
            if panel.is_text() || !is_at(inner) {
                return vec![];
            }
            let at = state.cursor(panel).top + usize::from(mouse.y - inner.y);
            let rows = rows::rows(state, panel, inner.width);
            let Some(row) = rows.get(at).filter(|row| !row.is_heading) else { return vec![] };
            let cursor = state.cursors.entry(panel).or_default();
            (cursor.index, cursor.key) = (at, Some(row.key.clone()));
            // A second press on the chosen row opens it.
            if was == Some(at) { super::acts::act(state, Act::Open) } else { vec![] }
        }
        MouseKind::Up | MouseKind::Down => {
            let by = if mouse.kind == MouseKind::Up { -3 } else { 3 };
            step(state, panel, by);
            vec![]
        }
    }
}

/// Moves in a panel by some rows.
pub(super) fn step(state: &mut State, panel: Panel, by: isize) {
    if panel.is_text() {
        let cursor = state.cursors.entry(panel).or_default();
        cursor.top = cursor.top.saturating_add_signed(by);
        cursor.follows = false;
        return;
    }
    let rows = rows::rows(state, panel, 80);
    let from = place_in(&rows, &state.cursor(panel));
    let wanted = from.saturating_add_signed(by).min(rows.len().saturating_sub(1));
    // Headings are passed over, in the direction of the move.
    let is_free = |at: &usize| rows.get(*at).is_some_and(|row| !row.is_heading);
    let found = match by < 0 {
        true => (0..=wanted).rev().find(is_free).or_else(|| (wanted..=from).find(is_free)),
        false => (wanted..rows.len()).find(is_free).or_else(|| (from..=wanted).rev().find(is_free)),
    };
    let cursor = state.cursors.entry(panel).or_default();
    if let Some(at) = found {
        (cursor.index, cursor.key) = (at, Some(rows[at].key.clone()));
        if at <= 1 {
            cursor.top = 0;
        }
    }
    // The next page is read before one is at the end.
    let is_near_end = found.is_some_and(|at| at + 20 >= rows.len());
    match panel {
        Panel::Letters if is_near_end && rows.len() >= state.chosen.limit => state.chosen.limit += PAGE,
        Panel::Runs if is_near_end && rows.len() >= state.runs_limit => state.runs_limit += PAGE,
        _ => {}
    }
}

fn place_in(rows: &[rows::Row], cursor: &Cursor) -> usize {
    let known = rows.iter().position(|row| Some(&row.key) == cursor.key.as_ref());
    known.unwrap_or(cursor.index.min(rows.len().saturating_sub(1)))
}

/// Brings focus, choices and scrolling in line with what is there now.
pub(super) fn settle(state: &mut State) {
    let reachable = layout::reachable(state);
    if !reachable.contains(&state.focus) {
        state.focus = panels(state.place())[0];
    }
    state.focus = state.returning.filter(|panel| reachable.contains(panel)).unwrap_or(state.focus);
    choose_mailbox(state);
    for (panel, area) in visible(state) {
        let inner = inside(state.size, area);
        let height = usize::from(inner.height);
        if panel.is_text() {
            begin_anew(state, panel);
            let count = pages::lines(state, panel, inner.width).len();
            let is_read = state.found(panel).is_some();
            let cursor = state.cursors.entry(panel).or_default();
            let last = count.saturating_sub(height);
            cursor.top = if cursor.follows {
                last
            } else if is_read {
                cursor.top.min(last)
            } else {
                cursor.top
            };
            continue;
        }
        let rows = rows::rows(state, panel, inner.width);
        if rows.is_empty() {
            continue;
        }
        let mut cursor = state.cursor(panel);
        let at = choose(&rows, &mut cursor);
        // The heading above the first row is shown with it.
        let first = if at > 0 && rows[..at].iter().all(|row| row.is_heading) { 0 } else { at };
        cursor.top = cursor.top.min(first).max((at + 1).saturating_sub(height.max(1)));
        cursor.top = cursor.top.min(rows.len().saturating_sub(height));
        if cursor.top > at {
            cursor.top = at;
        }
        state.cursors.insert(panel, cursor);
    }
}

/// Chooses the row that was chosen, or one near it.
fn choose(rows: &[rows::Row], cursor: &mut Cursor) -> usize {
    let mut at = place_in(rows, cursor);
    if rows[at].is_heading {
        let is_free = |at: &usize| !rows[*at].is_heading;
        at = (at..rows.len()).find(is_free).or_else(|| (0..at).rev().find(is_free)).unwrap_or(at);
    }
    (cursor.index, cursor.key) = (at, Some(rows[at].key.clone()).filter(|_| !rows[at].is_heading));
    at
}

/// A text that shows something else now begins at its beginning; the transcript of a run that goes on, at its end.
fn begin_anew(state: &mut State, panel: Panel) {
    let about = match panel {
        Panel::Glance => state.cursor(Panel::Letters).key,
        Panel::Result => state.cursor(Panel::Steps).key,
        _ => state.want(panel).map(|want| format!("{want:?}")),
    };
    // Only what was read tells whether a run goes on; then its end is what matters.
    let follows = match state.found(panel) {
        Some(Found::Run(seen)) => seen.run.state == RunState::Running && !seen.run.is_interrupted,
        None if panel == Panel::Transcript => return,
        _ => false,
    };
    let cursor = state.cursors.entry(panel).or_default();
    if cursor.key != about {
        *cursor = Cursor { key: about, follows, ..Cursor::default() };
    }
}

/// The mail that is shown is that of the chosen mailbox.
fn choose_mailbox(state: &mut State) {
    if *state.place() != Place::Mail {
        return;
    }
    let rows = rows::rows(state, Panel::Boxes, 80);
    if !rows.is_empty() {
        let mut cursor = state.cursor(Panel::Boxes);
        choose(&rows, &mut cursor);
        state.cursors.insert(Panel::Boxes, cursor);
    }
    if let Some(Thing::Mailbox { id, .. }) = rows::chosen(state, Panel::Boxes).map(|row| row.thing)
        && state.chosen.mailbox.as_ref() != Some(&id)
    {
        state.chosen.mailbox = Some(id);
        state.chosen.limit = PAGE;
        state.cursors.remove(&Panel::Letters);
        state.cursors.remove(&Panel::Glance);
        state.filters.remove(&Panel::Letters);
    }
}

/// Begins to type the filter of a panel.
pub(super) fn begin_filter(state: &mut State) {
    let panel = match state.focus {
        Panel::Glance => Panel::Letters,
        panel if panel.is_text() => return state.say("there is nothing to filter here"),
        panel => panel,
    };
    state.focus = panel;
    state.filters.entry(panel).or_default();
    state.mode = Mode::Filter(panel);
}
