//! Jumps from a thing to what belongs to it, and the way back.

use super::driving::{at, types};
use super::fixture::{letter, now, run};
use crate::tui::event::{Code, Event, Key};
use crate::tui::keys::{self, Act};
use crate::tui::seen::{Found, Seen, Want};
use crate::tui::state::{Panel, Place, State};
use crate::tui::theme::Theme;
use crate::tui::update::update;

fn here(place: Place) -> State {
    at(place, (100, 40), Theme::Dark)
}

fn offers(state: &State, act: Act) -> bool {
    keys::own(state).iter().any(|binding| binding.act == act)
}

fn sees(state: &mut State, want: Want, found: Found) {
    update(state, Event::Seen(Box::new(Seen { want, found: Ok(found) }), now()));
}

#[test]
fn one_press_leads_from_a_list_to_what_only_the_whole_message_knows() {
    for (key, place) in [
        ("o", Place::Run { id: "r1".into() }),
        ("d", Place::Diff { run: "r1".into() }),
        ("w", Place::Flow { run: "plan-approve-7f3a".into() }),
    ] {
        let mut state = here(Place::Mail);
        types(&mut state, ":mail Space builder Enter");
        types(&mut state, key);
        assert_eq!(*state.place(), place);
        types(&mut state, "Esc");
        assert!(matches!(state.place(), Place::Letter { .. }), "{key}: back by the message");
    }
    let mut state = here(Place::Runs);
    types(&mut state, "w");
    assert_eq!(*state.place(), Place::Flow { run: "plan-approve-7f3a".into() });
}

#[test]
fn a_jump_that_waits_for_the_disk_does_not_go_on_after_another_key() {
    let mut state = here(Place::Runs);
    update(&mut state, Event::Key(Key::char('w')));
    assert_eq!(*state.place(), Place::Run { id: "r1".into() }, "it is being read");
    update(&mut state, Event::Key(Key::char('j')));
    super::driving::feed(&mut state);
    assert_eq!(*state.place(), Place::Run { id: "r1".into() });
}

#[test]
fn a_message_offers_only_ways_that_lead_somewhere() {
    let id = "bbbb2222-1111-4222-8333-444455556666";
    let mut state = here(Place::Letter { id: id.into() });
    for act in [Act::ToRun, Act::ToFlow, Act::ToDiff] {
        assert!(offers(&state, act.clone()), "{act:?}");
    }
    let mut alone = letter(id);
    (alone.runs, alone.changed_by, alone.flow) = (vec![], None, None);
    sees(&mut state, Want::Letter { id: id.into() }, Found::Letter(Box::new(alone)));
    for act in [Act::ToRun, Act::ToFlow, Act::ToDiff] {
        assert!(!offers(&state, act.clone()), "{act:?}");
    }
    // No agent works for the person.
    let mut state = here(Place::Mail);
    types(&mut state, "Tab");
    assert!(!offers(&state, Act::ToRun) && !offers(&state, Act::ToDiff));
    // Its message was sent by a person.
    let mut state = here(Place::Run { id: "r1".into() });
    assert!(offers(&state, Act::ToFlow));
    let want = Want::Run { id: "r1".into() };
    let Found::Run(mut seen) = super::fixture::answer(&want) else { panic!() };
    (seen.run, seen.flow) = (run("r1", "builder", "done", 3, serde_json::json!({})), None);
    sees(&mut state, want, Found::Run(seen));
    assert!(!offers(&state, Act::ToFlow));
}

#[test]
fn a_message_without_a_run_says_so_where_the_jump_ends() {
    let mut state = here(Place::Mail);
    types(&mut state, ":mail Space builder Enter");
    update(&mut state, Event::Key(Key::char('o')));
    let Place::Letter { id } = state.place().clone() else { panic!() };
    let mut alone = letter(&id);
    alone.runs = vec![];
    sees(&mut state, Want::Letter { id }, Found::Letter(Box::new(alone)));
    assert_eq!(state.note.as_ref().unwrap().text, "no agent was started for it");
    update(&mut state, Event::Key(Key::plain(Code::Esc)));
    assert_eq!(*state.place(), Place::Mail);
}

#[test]
fn the_way_back_leads_to_the_panel_that_was_left() {
    let mut state = here(Place::Now);
    types(&mut state, "Tab");
    assert_eq!(state.focus, Panel::Feed);
    types(&mut state, "Enter Esc");
    assert_eq!((state.place().clone(), state.focus), (Place::Now, Panel::Feed));
    // A thread is there only once its message is read again.
    let first = Place::Letter { id: "bbbb2222-1111-4222-8333-444455556666".into() };
    let mut state = here(first.clone());
    types(&mut state, "Tab Enter");
    assert_ne!(*state.place(), first);
    types(&mut state, "Esc");
    assert_eq!((state.place().clone(), state.focus), (first, Panel::Thread));
}
