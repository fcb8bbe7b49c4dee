//! Keys at random over a real room: nothing panics, every screen can be drawn, and the room stays whole.

use std::path::Path;
use std::sync::Arc;

use super::fixture::now;
use crate::clock::{Clock, SystemClock};
use crate::desk::Desk;
use crate::doctor::Grade;
use crate::person::Person;
use crate::post::{Caller, Letter, NewMailbox, Post, USER};
use crate::room::Room;
use crate::rooms::Rooms;
use crate::surroundings::tests::Given;
use crate::tui::draw::draw;
use crate::tui::event::{Code, Event, Key, Mouse, MouseKind};
use crate::tui::screen::Screen;
use crate::tui::seen::Seen;
use crate::tui::state::State;
use crate::tui::theme::Theme;
use crate::tui::update::{Effect, update, wants};
use crate::tui::{doing, load};

const KEYS: usize = 100_000;

/// A small generator of numbers, the same at every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn desk(base: &Path) -> Desk {
    let caller = Caller { by_agent: true, approvals: Some(base.join("approvals")), ..Caller::default() };
    let environment = Given { here: base.to_owned(), home: Some(base.to_owned()), ..Given::default() };
    Desk {
        rooms: Rooms::new(base),
        root: base.join("room"),
        room: None,
        caller,
        clock: Arc::new(SystemClock),
        person: Some(Person::of_test()),
        environment: Arc::new(environment),
        store: crate::trust::Store::new(base),
        start_gate: |_, _, _| Ok(()),
    }
}

fn furnish(base: &Path) {
    let caller = Caller { by_agent: true, ..Caller::default() };
    let open = || {
        let post = Post::open_or_make(&base.join("room"), caller.clone(), Arc::new(SystemClock)).unwrap();
        post.attended_by(Person::of_test())
    };
    for name in [USER, "ann", "陳大文", "coder"] {
        open().setup(&NewMailbox { name: Some(name.into()), ..NewMailbox::default() }).unwrap();
    }
    let post = open();
    let me = post.act_as("ann").unwrap();
    for at in 0..60 {
        let to = [USER, "陳大文", "coder"][at % 3];
        let body = format!("# Message {at}\n\n\u{1b}[31mred\u{202e} 👨‍👩‍👧‍👦 {}", "word ".repeat(at));
        let letter = Letter { to: vec![to.into()], body, ..Letter::default() };
        post.send(&me, &letter).unwrap();
    }
}

fn event(dice: &mut Dice) -> Event {
    let key = match dice.below(40) {
        0 => Code::Enter,
        1 => Code::Tab,
        2 => Code::Esc,
        3 => Code::Up,
        4 => Code::Down,
        5 => Code::PageDown,
        6 => Code::PageUp,
        7 => Code::Backspace,
        8 => Code::BackTab,
        9 => Code::Home,
        10 => Code::End,
        11 => Code::Delete,
        12 => Code::Left,
        13 => Code::Right,
        14 => {
            let (x, y) = (dice.below(200) as u16, dice.below(60) as u16);
            let kind = [MouseKind::Press, MouseKind::Up, MouseKind::Down][dice.below(3) as usize];
            return Event::Mouse(Mouse { x, y, kind });
        }
        15 => return Event::Paste("a\nb\u{1b}[2J陳".into()),
        16 if dice.below(20) == 0 => return Event::Resized(dice.below(200) as u16, dice.below(60) as u16),
        17 => {
            let letter = char::from(b'a' + dice.below(26) as u8);
            return Event::Key(Key { code: Code::Char(letter), ctrl: true, alt: dice.below(4) == 0 });
        }
        18 => Code::Char(['陳', 'é', '👍', '\u{301}', '\u{200d}'][dice.below(5) as usize]),
        _ => Code::Char(char::from(b' ' + dice.below(95) as u8)),
    };
    Event::Key(Key::plain(key))
}

#[test]
fn a_hundred_thousand_keys_over_a_live_room() {
    let temp = tempfile::tempdir().unwrap();
    let base = temp.path().canonicalize().unwrap();
    furnish(&base);
    let desk = desk(&base);
    let mut state = State::new("main", (80, 24), now(), Theme::Dark);
    let mut dice = Dice(20_261_118);
    let (mut looks, mut deeds, mut done) = (0, 0, 0);
    for key in 0..KEYS {
        let mut events = vec![event(&mut dice)];
        while let Some(event) = events.pop() {
            for effect in update(&mut state, event) {
                match effect {
                    // Not each one: a disk is slower than a finger.
                    Effect::Look | Effect::Fetch(_) if looks * 40 <= key => {
                        looks += 1;
                        let post = desk.attended_post(&desk.root).unwrap();
                        for want in wants(&state) {
                            let found = load::look(&desk, &post, &want);
                            events.push(Event::Seen(Box::new(Seen { want, found }), SystemClock.now()));
                        }
                    }
                    Effect::Do(deed) if deeds * 60 <= key => {
                        deeds += 1;
                        let post = desk.attended_post(&desk.root).unwrap();
                        let told = doing::perform(&desk, &post, deed);
                        done += usize::from(told.said.is_ok());
                        events.push(Event::Told(told));
                    }
                    Effect::Do(deed) => {
                        let said = Err("not now".to_owned());
                        events.push(Event::Told(crate::tui::deed::Told {
                            deed,
                            said,
                            made: crate::tui::deed::Made::Nothing,
                        }));
                    }
                    Effect::Edit(text) => events.push(Event::Edited(Ok(format!("{text}!")))),
                    Effect::Look | Effect::Fetch(_) | Effect::Enter(_) => {}
                    Effect::Redraw | Effect::Suspend | Effect::Quit | Effect::Fail => {}
                }
            }
        }
        // Every screen that a person could have seen between two keys would take longer than the keys.
        if key % 10 == 0 {
            let mut buffer = Screen::empty(state.size);
            if let Some((x, y)) = draw(&state, &mut buffer) {
                assert!(x < state.size.0 && y < state.size.1);
            }
        }
    }
    assert!(looks > 500 && deeds > 40 && done > 10, "{looks} looks, {deeds} deeds, {done} done");
    let room = Room::open(&desk.root, Arc::new(SystemClock)).unwrap();
    let findings = crate::doctor::examine(&room, false, |_| {}).unwrap();
    assert!(findings.iter().all(|finding| finding.grade != Grade::Fault), "{findings:?}");
}
