//! The help while it is open: it scrolls, and goes away. Its lines come from the keys, and `draw` folds them.

use super::event::Key;
use super::keys::{self, Act};
use super::state::{Mode, State};
use super::update::Effect;

/// A key while the help is open.
pub(super) fn on_key(state: &mut State, key: Key) -> Vec<Effect> {
    match keys::act(state, key) {
        Some(Act::Down) => scroll(state, 1),
        Some(Act::Up) => scroll(state, -1),
        Some(Act::PageDown) => scroll(state, 10),
        Some(Act::PageUp) => scroll(state, -10),
        Some(Act::First) => scroll(state, isize::MIN / 2),
        Some(Act::Last) => scroll(state, isize::MAX / 2),
        Some(Act::Back | Act::Help | Act::Quit) => state.mode = Mode::Normal,
        _ => {}
    }
    vec![]
}

pub(super) fn scroll(state: &mut State, by: isize) {
    let end = super::draw::help_end(state);
    if let Mode::Help { top } = &mut state.mode {
        *top = top.saturating_add_signed(by).min(end);
    }
}
