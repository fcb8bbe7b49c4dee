//! What once did something else than it seemed to.

use super::driving::at;
use crate::tui::event::{Event, Key};
use crate::tui::seen::Want;
use crate::tui::state::{Place, State};
use crate::tui::theme::Theme;
use crate::tui::update::{Effect, update};

fn here(place: Place) -> State {
    at(place, (80, 24), Theme::Dark)
}

#[test]
fn a_move_of_the_cursor_reads_the_new_row_alone() {
    let mut state = here(Place::Mail);
    update(&mut state, Event::Key(Key::char('l')));
    let effects = update(&mut state, Event::Key(Key::char('j')));
    let [Effect::Fetch(wants)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(matches!(wants.as_slice(), [Want::Glance { .. }]), "{wants:?}");
    assert!(update(&mut state, Event::Changed).contains(&Effect::Look));
}
