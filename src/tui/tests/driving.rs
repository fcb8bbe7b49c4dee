//! Brings a state to a place, types keys, and answers what the state wants to read, as the threads would.

use super::fixture::{answer, now};
use crate::tui::event::{Code, Event, Key};
use crate::tui::seen::Seen;
use crate::tui::state::{Place, State};
use crate::tui::theme::Theme;
use crate::tui::update::{Effect, settle, update, wants};

/// Answers every want of a state, as the threads would.
pub(super) fn feed(state: &mut State) {
    for _ in 0..4 {
        for want in wants(state) {
            let seen = Box::new(Seen { found: Ok(answer(&want)), want });
            update(state, Event::Seen(seen, now()));
        }
    }
}

pub(super) fn at(place: Place, size: (u16, u16), theme: Theme) -> State {
    let mut state = State::new("main", size, now(), theme);
    state.focus = crate::tui::layout::panels(&place)[0];
    state.places = match Place::TABS.contains(&place) {
        true => vec![place],
        false => vec![Place::Now, place],
    };
    settle(&mut state);
    feed(&mut state);
    state
}

/// Types keys: single characters, or words such as `Enter`. The wants are answered after each.
pub(super) fn types(state: &mut State, keys: &str) -> Vec<Effect> {
    let mut effects = vec![];
    for word in keys.split(' ') {
        let key = match word {
            "Enter" => Key::plain(Code::Enter),
            "Esc" => Key::plain(Code::Esc),
            "Tab" => Key::plain(Code::Tab),
            "Space" => Key::char(' '),
            "Down" => Key::plain(Code::Down),
            word if word.starts_with("C-") => Key::ctrl(word.chars().nth(2).unwrap()),
            word => {
                for c in word.chars() {
                    effects.extend(update(state, Event::Key(Key::char(c))));
                    feed(state);
                }
                continue;
            }
        };
        effects.extend(update(state, Event::Key(key)));
        feed(state);
    }
    effects
}
