//! What keys lead to: places, deeds, questions and texts.

use super::driving::{at, types};
use super::fixture::{REQUEST, now};
use crate::tui::deed::{Deed, Made, Told};
use crate::tui::event::{Event, Mouse, MouseKind};
use crate::tui::rows;
use crate::tui::state::{Mode, Panel, Place, State};
use crate::tui::theme::Theme;
use crate::tui::update::{Effect, update};

fn here(place: Place) -> State {
    at(place, (100, 40), Theme::Dark)
}

fn deeds(effects: &[Effect]) -> Vec<&Deed> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Do(deed) = effect { Some(deed) } else { None })
        .collect()
}

#[test]
fn one_key_leads_to_each_place_and_escape_back() {
    let mut state = here(Place::Now);
    for (key, place) in ["1", "2", "3", "4", "5"].into_iter().zip(Place::TABS) {
        types(&mut state, key);
        assert_eq!(*state.place(), place);
    }
    types(&mut state, "3 Enter");
    assert_eq!(*state.place(), Place::Run { id: "r1".into() });
    // From the run to its changes, its message, the workflow of that, and all the way back.
    types(&mut state, "d");
    assert_eq!(*state.place(), Place::Diff { run: "r1".into() });
    types(&mut state, "Esc m");
    let letter = Place::Letter { id: "aaaa1111-1111-4222-8333-444455556666".into() };
    assert_eq!(*state.place(), letter);
    types(&mut state, "w");
    assert_eq!(*state.place(), Place::Flow { run: "plan-approve-7f3a".into() });
    types(&mut state, "Esc o");
    assert_eq!(*state.place(), Place::Run { id: "r1".into() });
    types(&mut state, "Esc Esc Esc Esc");
    assert_eq!(*state.place(), Place::Runs);
}

#[test]
fn an_approval_takes_a_comment_and_a_rejection_needs_a_reason() {
    let mut state = here(Place::Now);
    let gate = REQUEST.to_owned();
    let effects = types(&mut state, "y f i n e Enter");
    assert_eq!(deeds(&effects), [&Deed::Approve { gate: gate.clone(), comment: "fine".into() }]);
    assert!(deeds(&types(&mut state, "n Enter")).is_empty() && state.note.as_ref().unwrap().is_error);
    let effects = types(&mut state, "n n o Enter");
    assert_eq!(deeds(&effects), [&Deed::Reject { gate, why: "no".into() }]);
    assert!(deeds(&types(&mut state, "y Esc")).is_empty());
    // The step of the open run asks the same.
    let mut state = here(Place::Flow { run: "plan-approve-7f3a".into() });
    let effects = types(&mut state, "j y Enter");
    assert_eq!(deeds(&effects), [&Deed::Approve { gate: REQUEST.into(), comment: String::new() }]);
}

#[test]
fn what_cannot_be_undone_asks_first() {
    for (place, keys, deed) in [
        (Place::Runs, "s", Deed::Stop { mailbox: Some("builder-1a2b".into()), what: "r1".into() }),
        (Place::Flows, "K", Deed::CancelFlow { run: "plan-approve-7f3a".into() }),
        (Place::Failed, "A", Deed::RetryAll),
        (Place::Mail, "/ a n n Enter x", Deed::PruneMailbox { name: "ann".into() }),
    ] {
        let mut state = here(place);
        assert!(deeds(&types(&mut state, keys)).is_empty());
        assert!(matches!(state.mode, Mode::Question { .. }), "{keys}");
        assert!(deeds(&types(&mut state, "x")).is_empty() && state.mode == Mode::Normal);
        let effects = types(&mut state, &format!("{} y", keys.rsplit(' ').next().unwrap()));
        assert_eq!(deeds(&effects), [&deed]);
    }
}

#[test]
fn keys_act_on_what_is_chosen() {
    let mut state = here(Place::Mail);
    types(&mut state, "Tab");
    let id = "11111111-1111-4222-8333-444455556666".to_owned();
    assert_eq!(deeds(&types(&mut state, "a")), [&Deed::Archive { id: id.clone() }]);
    let file = "20261111T113000Z-x.md".to_owned();
    let mailbox = "user-1a2b".to_owned();
    types(&mut state, "]]");
    assert_eq!(deeds(&types(&mut state, "x")), [&Deed::PruneMessage { mailbox, file }]);
    let mut state = here(Place::Failed);
    let fixer = Deed::Retry { mailbox: "fixer-1a2b".into(), file: "fixer.md".into() };
    assert_eq!(deeds(&types(&mut state, "R")), [&fixer]);
    let mut state = here(Place::Trash);
    assert_eq!(deeds(&types(&mut state, "Enter")), [&Deed::Undo { bag: "4711abcd".into() }]);
    let mut state = here(Place::Mail);
    let effects = types(&mut state, "/ t e s t e r Enter p");
    assert_eq!(deeds(&effects), [&Deed::Resume { agent: "tester".into() }]);
}

/// `u` brought back what anybody had pruned last, and did not say what that was.
#[test]
fn undo_brings_back_what_was_pruned_here_and_shows_the_trash_of_others() {
    let mut state = here(Place::Mail);
    assert!(deeds(&types(&mut state, "u")).is_empty());
    assert_eq!((state.place().clone(), state.note.as_ref().unwrap().is_error), (Place::Trash, false));
    types(&mut state, "Esc");
    for bag in ["one", "two"] {
        let deed = Deed::PruneMailbox { name: "ann".into() };
        let told = Told { deed, said: Ok("moved".into()), made: Made::Bag(bag.into()) };
        update(&mut state, Event::Told(told));
    }
    for bag in ["two", "one"] {
        let deed = Deed::Undo { bag: bag.into() };
        assert_eq!(deeds(&types(&mut state, "u")), [&deed]);
        update(&mut state, Event::Told(Told { deed, said: Ok("back".into()), made: Made::Nothing }));
    }
    assert!(deeds(&types(&mut state, "u")).is_empty() && *state.place() == Place::Trash);
}

#[test]
fn a_text_that_was_not_sent_is_kept() {
    let mut state = here(Place::Now);
    let effects = types(&mut state, "c a n n Enter Enter H i C-s");
    let deed = Deed::Send { to: vec!["ann".into()], subject: String::new(), body: "Hi".into() };
    assert_eq!(deeds(&effects), [&deed]);
    assert_eq!(state.mode, Mode::Normal);
    let failed = Told { deed: deed.clone(), said: Err("the disk is full".into()), made: Made::Nothing };
    update(&mut state, Event::Told(failed));
    assert_eq!((state.mode.clone(), state.draft.as_ref().unwrap().body.text()), (Mode::Compose, "Hi".into()));
    // Sent again, and gone.
    assert_eq!(deeds(&types(&mut state, "C-s")), [&deed]);
    update(&mut state, Event::Told(Told { deed, said: Ok("queued".into()), made: Made::Nothing }));
    assert!(state.draft.is_none());
    // Left for a while, and found again.
    types(&mut state, "c b o b Enter Enter x y Esc 2 c");
    assert_eq!(state.draft.as_ref().unwrap().body.text(), "xy");
    assert!(matches!(types(&mut state, "C-o").as_slice(), [Effect::Edit(text)] if text == "xy"));
    update(&mut state, Event::Edited(Ok("from the editor\n".into())));
    assert_eq!(state.draft.as_ref().unwrap().body.text(), "from the editor");
}

#[test]
fn an_answer_shows_what_it_answers_below_a_line() {
    let id = "bbbb2222-1111-4222-8333-444455556666";
    let mut state = here(Place::Letter { id: id.into() });
    let effects = types(&mut state, "r O K C-o");
    let Some(Effect::Edit(text)) = effects.last() else { panic!("{effects:?}") };
    assert!(
        text.starts_with("OK\n\n-- >8 --") && text.contains("\n> # Findings") && !text.contains('\u{1b}')
    );
    let text = text.clone();
    update(&mut state, Event::Edited(Ok(text)));
    let deed = Deed::Reply { id: id.into(), body: "OK".into() };
    assert_eq!(deeds(&types(&mut state, "C-s")), [&deed]);
}

#[test]
fn who_only_looks_does_nothing() {
    let mut state = here(Place::Now);
    state.looking_only = Some("an agent started this".into());
    for keys in [
        "y",
        "n",
        "c",
        ": s e n d Space a n n Enter",
        ": a p p r o v e Space x Enter",
        "3 s",
        "5 R",
        "5 A",
        "u",
    ] {
        assert!(deeds(&types(&mut state, keys)).is_empty(), "{keys}");
        assert!(matches!(state.mode, Mode::Normal), "{keys}: {:?}", state.mode);
    }
    assert!(deeds(&types(&mut state, ": s t o p Space b u i l d e r Enter y")).is_empty());
}

/// At 60 columns nothing said it: the header had no room, and `c` and `:send` did nothing.
#[test]
fn looking_only_is_said_at_every_width_and_when_a_deed_is_tried() {
    for width in [40, 60, 70, 80, 100] {
        let mut state = at(Place::Now, (width, 15), Theme::Dark);
        state.looking_only = Some("an agent started this".into());
        let said = || {
            let mut buffer = crate::tui::screen::Screen::empty(state.size);
            crate::tui::draw::draw(&state, &mut buffer);
            let cells = buffer.content().iter().map(|cell| cell.symbol());
            cells.collect::<String>().matches("looking only").count()
        };
        assert_eq!(said(), 1, "{width}");
        for keys in ["c", "u", "y", "3 s", ": s e n d Space a n n Enter", ": p r u n e Space a n n Enter"] {
            state.note = None;
            types(&mut state, keys);
            let note = state.note.as_ref().map(|note| (note.is_error, note.text.as_str()));
            assert_eq!(note, Some((true, "this is for looking only: an agent started this")), "{keys}");
        }
    }
}

#[test]
fn commands_complete_and_say_what_they_want() {
    let mut state = here(Place::Now);
    types(&mut state, ": p a Tab");
    let Mode::Command(typing) = &state.mode else { panic!() };
    assert_eq!(typing.text.text(), "pause");
    types(&mut state, "Space b Tab");
    let Mode::Command(typing) = &state.mode else { panic!() };
    assert_eq!(typing.text.text(), "pause builder");
    let effects = types(&mut state, "Enter");
    assert_eq!(deeds(&effects), [&Deed::Pause { agent: "builder".into(), why: String::new() }]);
    state.doing.clear();
    types(&mut state, ": x y z Enter");
    assert!(state.note.as_ref().unwrap().is_error);
    assert_eq!(types(&mut state, ": r o o m Space s Tab Enter"), [Effect::Enter("shop".into())]);
    let effects = types(&mut state, ": s t a r t Space p l a n - a p p r o v e Space t a s k = x Enter");
    let inputs = vec![("task".into(), "x".into())];
    assert_eq!(deeds(&effects), [&Deed::StartFlow { name: "plan-approve".into(), inputs }]);
    types(&mut state, ": m a i l Space a n n Enter");
    assert_eq!((state.place().clone(), state.focus), (Place::Mail, Panel::Letters));
    assert_eq!(state.chosen.mailbox.as_deref(), Some("ann-1a2b"));
}

#[test]
fn a_filter_narrows_as_one_types_and_the_choice_follows() {
    let mut state = here(Place::Mail);
    types(&mut state, "/ b u i l");
    let names: Vec<String> =
        rows::rows(&state, Panel::Boxes, 30).iter().map(|row| row.line.to_string()).collect();
    assert!(names.len() == 1 && names[0].contains("builder"), "{names:?}");
    assert_eq!(state.chosen.mailbox.as_deref(), Some("builder-1a2b"));
    types(&mut state, "Enter Esc");
    assert!(rows::rows(&state, Panel::Boxes, 30).len() > 5);
}

#[test]
fn the_mouse_chooses_opens_scrolls_and_changes_the_place() {
    let mut state = here(Place::Runs);
    let press = |x, y| Event::Mouse(Mouse { x, y, kind: MouseKind::Press });
    update(&mut state, press(10, 3));
    assert_eq!(state.cursor(Panel::Runs).key.as_deref(), Some("r2"));
    update(&mut state, press(10, 3));
    assert_eq!(*state.place(), Place::Run { id: "r2".into() });
    update(&mut state, press(8, 0));
    assert_eq!(*state.place(), Place::Now);
    update(&mut state, Event::Mouse(Mouse { x: 10, y: 5, kind: MouseKind::Down }));
    assert!(state.cursor(Panel::Now).index > 2);
    for (x, y) in [(0, 0), (99, 39), (500, 500), (u16::MAX, 0)] {
        update(&mut state, press(x, y));
    }
}

#[test]
fn a_paste_is_never_a_command() {
    let mut state = here(Place::Runs);
    assert!(update(&mut state, Event::Paste("sy\nq:quit\n".into())).is_empty());
    assert_eq!(state.mode, Mode::Normal);
    types(&mut state, "s");
    update(&mut state, Event::Paste("y".into()));
    assert!(matches!(state.mode, Mode::Question { .. }));
}

#[test]
fn what_comes_too_late_is_not_shown() {
    let mut state = here(Place::Letter { id: REQUEST.into() });
    let late = crate::tui::seen::Want::Letter { id: "other".into() };
    let seen = crate::tui::seen::Seen { found: Ok(super::fixture::answer(&late)), want: late };
    update(&mut state, Event::Seen(Box::new(seen), now()));
    let Some(crate::tui::seen::Found::Letter(letter)) = state.found(Panel::Letter) else { panic!() };
    assert_eq!(letter.id, REQUEST);
}
