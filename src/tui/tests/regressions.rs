//! What once did something else than it seemed to.

use super::driving::{at, types};
use super::fixture::{QUESTION, REQUEST, gate, letter, now, run};
use crate::dispatch::runs::Run;
use crate::tui::deed::{Deed, Made, Told};
use crate::tui::event::{Code, Event, Key};
use crate::tui::keys::{self, Act};
use crate::tui::layout::visible;
use crate::tui::rows;
use crate::tui::seen::{Found, LetterSeen, Seen, Want};
use crate::tui::state::{Mode, Panel, Place, State};
use crate::tui::theme::Theme;
use crate::tui::update::{Effect, update};

fn here(place: Place) -> State {
    at(place, (80, 24), Theme::Dark)
}

fn deeds(effects: Vec<Effect>) -> Vec<Deed> {
    let deeds = effects.into_iter();
    deeds.filter_map(|effect| if let Effect::Do(deed) = effect { Some(deed) } else { None }).collect()
}

fn complains(state: &State) -> bool {
    state.note.as_ref().is_some_and(|note| note.is_error)
}

fn drawn(state: &State) -> Vec<String> {
    let mut buffer = crate::tui::screen::Screen::empty(state.size);
    crate::tui::draw::draw(state, &mut buffer);
    let row = |y| (0..state.size.0).map(|x| buffer[(x, y)].symbol().to_owned()).collect();
    (0..state.size.1).map(row).collect()
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

#[test]
fn the_end_waits_for_a_letter_that_is_being_sent() {
    let mut state = here(Place::Now);
    let deed = Deed::Send { to: vec!["ann".into()], subject: String::new(), body: "Hi".into() };
    types(&mut state, "c ann Enter Enter Hi C-s");
    assert!(types(&mut state, "q").is_empty());
    let refused = Told { deed: deed.clone(), said: Err("the disk is full".into()), made: Made::Nothing };
    assert!(!update(&mut state, Event::Told(refused)).contains(&Effect::Quit), "its text is still needed");
    types(&mut state, "C-s q");
    let sent = Told { deed, said: Ok("queued".into()), made: Made::Nothing };
    assert!(update(&mut state, Event::Told(sent)).contains(&Effect::Quit));
    types(&mut state, "c ann Enter Enter Hi C-s q");
    assert_eq!(types(&mut state, "q"), [Effect::Quit], "asked twice, it does not wait");
}

#[test]
fn a_room_is_not_left_while_something_is_done_in_it() {
    let mut state = here(Place::Now);
    types(&mut state, "c ann Enter Enter Hi C-s");
    assert!(types(&mut state, ":room Space shop Enter").is_empty());
    assert!(complains(&state));
}

#[test]
fn a_value_of_several_words_is_started_whole() {
    let mut state = here(Place::Now);
    let line = ": start Space plan-approve Space task=Fix Space the Space parser Space to=ann Enter";
    let inputs = vec![("task".into(), "Fix the parser".into()), ("to".into(), "ann".into())];
    assert_eq!(deeds(types(&mut state, line)), [Deed::StartFlow { name: "plan-approve".into(), inputs }]);
    assert!(deeds(types(&mut state, ": start Space plan-approve Space fast Enter")).is_empty());
    assert!(complains(&state));
}

#[test]
fn a_command_that_takes_no_words_refuses_them() {
    let mut state = here(Place::Mail);
    types(&mut state, "Tab");
    for line in [": archive Space 1234 Enter", ": undo Space 1234 Enter", ": release Space x Enter"] {
        assert!(deeds(types(&mut state, line)).is_empty(), "{line}");
        assert!(complains(&state), "{line}");
    }
    assert_eq!(deeds(types(&mut state, ": archive Enter")).len(), 1);
}

#[test]
fn a_filter_finds_what_is_clipped_and_keys_act_on_no_other_row() {
    let mut state = here(Place::Mail);
    types(&mut state, "Tab / this Space width Enter");
    let shown = rows::rows(&state, Panel::Letters, 30);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(rows::chosen(&state, Panel::Letters).unwrap().key, shown[0].key);
    types(&mut state, "/ nowhere Enter");
    assert!(deeds(types(&mut state, "a")).is_empty());
    // The page has not all of the archive.
    types(&mut state, "Esc ]] / nowhere Enter");
    let left = rows::rows(&state, Panel::Letters, 60);
    assert_eq!(left.len(), 1);
    assert!(left[0].is_heading && left[0].line.to_string().contains("older, which are not searched"));
}

#[test]
fn a_message_without_a_thread_has_one_panel() {
    let id = "bbbb2222-1111-4222-8333-444455556666";
    for size in [(80, 24), (60, 15), (160, 50)] {
        let mut state = at(Place::Letter { id: id.into() }, size, Theme::Dark);
        let mut alone = letter(id);
        alone.thread.truncate(1);
        let seen = Seen { want: Want::Letter { id: id.into() }, found: Ok(Found::Letter(Box::new(alone))) };
        update(&mut state, Event::Seen(Box::new(seen), now()));
        for key in [Key::plain(Code::Tab), Key::plain(Code::Right), Key::char('l'), Key::plain(Code::Enter)] {
            update(&mut state, Event::Key(key));
            let shown: Vec<Panel> = visible(&state).into_iter().map(|(panel, _)| panel).collect();
            assert!(shown.contains(&state.focus), "{key:?}: {:?}", state.focus);
        }
    }
}

#[test]
fn a_run_whose_supervisor_is_dead_does_not_run() {
    let mut state = at(Place::Runs, (100, 40), Theme::Dark);
    let dead = Run { is_interrupted: true, ..run("r1", "builder", "running", 12, serde_json::json!({})) };
    let want = Want::Runs { agent: None, limit: crate::tui::state::PAGE };
    update(&mut state, Event::Seen(Box::new(Seen { want, found: Ok(Found::Runs(vec![dead])) }), now()));
    let line = rows::rows(&state, Panel::Runs, 98)[0].line.to_string();
    assert!(line.contains("✗ interrupted") && !line.contains("running"), "{line}");
}

#[test]
fn only_keys_that_do_something_are_offered() {
    let offers = |state: &State, act: Act| {
        keys::own(state).iter().chain(&keys::everywhere(state)).any(|binding| binding.act == act)
    };
    let state = here(Place::Run { id: "r3".into() });
    for act in [Act::Open, Act::Filter, Act::NextPanel] {
        assert!(!offers(&state, act.clone()), "{act:?} in a transcript");
    }
    assert!(offers(&here(Place::Now), Act::NextPanel) && offers(&here(Place::Now), Act::Filter));
    // A run that is done, and the agent of a run that is paused.
    let mut state = here(Place::Runs);
    types(&mut state, "j");
    assert!(!offers(&state, Act::Retry) && !offers(&state, Act::Pause) && offers(&state, Act::Resume));
    // What is in quarantine.
    let mut state = here(Place::Failed);
    types(&mut state, "jj");
    assert!(!offers(&state, Act::Prune) && !offers(&state, Act::Retry));
    // Unread mail of a mailbox that no agent works for.
    let mut state = here(Place::Mail);
    types(&mut state, ":mail Space 陳大文 Enter");
    assert!(!offers(&state, Act::Stop));
    types(&mut state, ":mail Space builder Enter");
    assert!(offers(&state, Act::Stop));
}

#[test]
fn a_run_that_is_over_cannot_be_ended_or_repeated() {
    let run = "implement-review-22bb";
    let mut state = here(Place::Flow { run: run.into() });
    let has = |state: &State, act: Act| keys::own(state).iter().any(|binding| binding.act == act);
    assert!(has(&state, Act::Cancel) && !has(&state, Act::Retry), "it goes on");
    for (status, can_retry) in [("completed", false), ("failed", true)] {
        let mut flow = super::fixture::flow(run);
        flow.status = status.into();
        let seen = Seen { want: Want::Flow { run: run.into() }, found: Ok(Found::Flow(Box::new(flow))) };
        update(&mut state, Event::Seen(Box::new(seen), now()));
        assert!(!has(&state, Act::Cancel));
        assert_eq!(has(&state, Act::Retry), can_retry, "{status}");
    }
}

#[test]
fn the_foot_shows_the_keys_of_what_lies_over_the_panels() {
    let foot = |state: &State| drawn(state).pop().unwrap();
    let mut state = here(Place::Now);
    assert!(foot(&state).contains("y approve"));
    for (keys, word) in
        [("?", "Esc close"), ("Esc n", "Enter do it"), ("Esc c", "C-S send"), ("Esc 3 s", "y do it")]
    {
        types(&mut state, keys);
        assert!(foot(&state).contains(word) && !foot(&state).contains("approve"), "{}", foot(&state));
    }
    types(&mut state, "Esc 1");
    state.note = None;
    state.lost = Some("gone".into());
    assert!(foot(&state).contains("q quit") && !foot(&state).contains("approve"));
    assert!(deeds(types(&mut state, "y")).is_empty());
}

#[test]
fn the_whole_help_can_be_read() {
    for size in [(80, 24), (60, 15), (160, 50)] {
        let mut state = at(Place::Mail, size, Theme::Dark);
        types(&mut state, "Tab ?");
        let mut seen = drawn(&state).join("\n");
        for _ in 0..60 {
            types(&mut state, "j");
            seen.push_str(&drawn(&state).join("\n"));
        }
        assert_ne!(state.mode, Mode::Normal);
        for binding in keys::own(&state).iter().chain(&keys::everywhere(&state)) {
            let last = binding.about.rsplit(' ').next().unwrap();
            assert!(seen.contains(last), "{}: {size:?}", binding.about);
        }
        let end = state.mode.clone();
        types(&mut state, "j");
        assert_eq!(state.mode, end, "there is an end");
        types(&mut state, "?");
        assert_eq!(state.mode, Mode::Normal);
    }
}

#[test]
fn the_help_of_the_mailboxes_explains_their_signs() {
    let mut state = at(Place::Mail, (80, 40), Theme::Dark);
    types(&mut state, "?");
    let shown = drawn(&state).join("\n");
    for (sign, about) in keys::signs(&state) {
        assert!(shown.contains(&format!("{sign} {about}")), "{shown}");
    }
    types(&mut state, "Esc Tab ?");
    assert!(keys::signs(&state).is_empty());
}

#[test]
fn a_failed_workflow_and_mail_for_other_machines_are_shown() {
    let mut state = at(Place::Now, (100, 50), Theme::Dark);
    let shown = drawn(&state).join("\n");
    for text in ["implement-review-22bb", "build: the tests do not pass", "2 for another machine, 1 without"]
    {
        assert!(shown.contains(text), "{text}");
    }
    types(&mut state, "/ implement-review Enter");
    assert_eq!(deeds(types(&mut state, "R")), [Deed::RetryFlow { run: "implement-review-22bb".into() }]);
}

#[test]
fn on_a_small_screen_the_mailbox_is_named_and_errors_are_whole() {
    let mut state = at(Place::Mail, (60, 15), Theme::Dark);
    types(&mut state, "Tab");
    assert!(drawn(&state)[1].contains("user: unread"), "{:?}", drawn(&state)[1]);
    let why =
        "the letter reached nobody: nobody here is called nobody, and no room of the network has one, last";
    state.complain(why);
    let shown = drawn(&state);
    assert!(shown[13].contains("✗ the letter") && shown[14].contains(", last"), "{shown:?}");
    types(&mut state, "c");
    assert!(drawn(&state)[14].contains("C-S send") && drawn(&state)[14].contains("Tab field"));
}

#[test]
fn the_transcript_of_a_run_that_goes_on_opens_at_its_end() {
    for (word, follows) in [("running", true), ("failed", false)] {
        let mut state = at(Place::Runs, (60, 15), Theme::Dark);
        update(&mut state, Event::Key(Key::plain(Code::Enter)));
        assert_eq!(*state.place(), Place::Run { id: "r1".into() });
        let Found::Run(mut seen) = super::fixture::answer(&Want::Run { id: "r1".into() }) else { panic!() };
        seen.run = run("r1", "builder", word, 12, serde_json::json!({}));
        let seen = Seen { want: Want::Run { id: "r1".into() }, found: Ok(Found::Run(seen)) };
        update(&mut state, Event::Seen(Box::new(seen), now()));
        let cursor = state.cursor(Panel::Transcript);
        assert_eq!((cursor.follows, cursor.top > 0), (follows, follows), "{word}");
        update(&mut state, Event::Key(Key::char('k')));
        assert!(!state.cursor(Panel::Transcript).follows);
    }
}

#[test]
fn the_mail_beside_a_filtered_list_is_that_of_its_chosen_row() {
    let mut state = here(Place::Mail);
    for c in "/build".chars() {
        // Nothing is read between the keys.
        update(&mut state, Event::Key(Key::char(c)));
    }
    assert_eq!(state.chosen.mailbox.as_deref(), Some("builder-1a2b"));
}

#[test]
fn what_is_typed_in_wide_characters_ends_at_the_cursor() {
    for keys in ["c ann Enter Enter", "n", "/", ": open Space"] {
        let mut state = here(Place::Now);
        types(&mut state, &format!("{keys} {}x", "陳".repeat(60)));
        let mut buffer = crate::tui::screen::Screen::empty(state.size);
        let (x, y) = crate::tui::draw::draw(&state, &mut buffer).unwrap();
        let left = |columns: u16| buffer[(x - columns, y)].symbol().to_owned();
        assert_eq!((left(1), left(3), left(5)), ("x".into(), "陳".into(), "陳".into()), "{keys}");
    }
}

/// Its panel began with the commands for a terminal, and the tree above it had as many rows as the text.
#[test]
fn what_a_gate_asks_about_is_seen_without_scrolling() {
    let mut state = here(Place::Flow { run: "plan-approve-7f3a".into() });
    types(&mut state, "j");
    let screen = drawn(&state).join("\n");
    for seen in ["measure", "It asks you: y approves, n rejects", "Move the index", "Keep its name"] {
        assert!(screen.contains(seen), "{seen}: {screen}");
    }
    assert!(!screen.contains("In a terminal") && !screen.contains("Answer this message"), "{screen}");
    types(&mut state, "y");
    let Mode::Prompt { title, .. } = &state.mode else { panic!("{:?}", state.mode) };
    assert_eq!(title, "Approve plan-approve-7f3a/plan", "it was the id of the request");
}

/// In the mail, `y` and `n` did nothing with a message that asks for approval.
#[test]
fn a_gate_is_decided_where_its_message_is_read() {
    let mut state = here(Place::Mail);
    types(&mut state, "Tab");
    let rows::Thing::Letter { id, gate: None, .. } = rows::thing(&state) else { panic!() };
    assert!(deeds(types(&mut state, "y")).is_empty() && state.mode == Mode::Normal);
    let want = state.want(Panel::Glance).unwrap();
    let asks = LetterSeen { gate: Some(gate()), body: QUESTION.into(), ..letter(&id) };
    let found = Ok(Found::Letter(Box::new(asks)));
    update(&mut state, Event::Seen(Box::new(Seen { want, found }), now()));
    let screen = drawn(&state);
    let all = screen.join("\n");
    assert!(all.contains("It asks you: y approves") && !all.contains("In a terminal"), "{all}");
    assert!(screen[23].starts_with(" y approve  n reject "), "{all}");
    let deed = Deed::Reject { gate: REQUEST.into(), why: "no".into() };
    assert_eq!(deeds(types(&mut state, "n no Enter")), [deed]);
}
