//! Every panel at three sizes, on a dark and a light background: the text, and below it the styles of each row.

use ratatui::buffer::Buffer;

use super::driving::{at, types};
use crate::message::visible;
use crate::tui::draw::draw;
use crate::tui::screen::Screen;
use crate::tui::state::{Place, State};
use crate::tui::theme::Theme;

const SIZES: [(u16, u16); 3] = [(80, 24), (60, 15), (160, 50)];

fn drawn(state: &State) -> Buffer {
    let mut buffer = Screen::empty(state.size);
    draw(state, &mut buffer);
    buffer
}

/// The rows of a buffer as text, and then how each row is styled: `12a 3b`, with what the letters mean.
fn picture(state: &State) -> String {
    let buffer = drawn(state);
    let (width, height) = state.size;
    let (mut text, mut styles, mut known) = (String::new(), String::new(), vec![]);
    for y in 0..height {
        let mut runs: Vec<(usize, u32)> = vec![];
        let mut skip = 0;
        for x in 0..width {
            let cell = &buffer[(x, y)];
            if skip == 0 {
                text.push_str(cell.symbol());
                skip = unicode_width::UnicodeWidthStr::width(cell.symbol()).max(1);
            }
            skip -= 1;
            let style = format!("{:?} {:?} {:?}", cell.fg, cell.bg, cell.modifier);
            let at = known.iter().position(|one| *one == style).unwrap_or_else(|| {
                known.push(style);
                known.len() - 1
            });
            match runs.last_mut() {
                Some((letter, count)) if *letter == at => *count += 1,
                _ => runs.push((at, 1)),
            }
        }
        text.push('\n');
        let letter = |at: usize| char::from(b'a' + u8::try_from(at).unwrap());
        let row: Vec<String> = runs.iter().map(|(at, count)| format!("{count}{}", letter(*at))).collect();
        styles.push_str(&row.join(" "));
        styles.push('\n');
    }
    let legend = known
        .iter()
        .enumerate()
        .map(|(at, style)| format!("{} {style}", char::from(b'a' + u8::try_from(at).unwrap())));
    let legend: Vec<String> = legend.collect();
    let text: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("── {width}×{height}\n{}\n\n{styles}{}\n", text.join("\n"), legend.join("\n"))
}

fn snap(name: &str, make: impl Fn((u16, u16), Theme) -> State) {
    for (theme, word) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        let all: Vec<String> = SIZES.iter().map(|size| picture(&make(*size, theme))).collect();
        insta::assert_snapshot!(format!("{name}-{word}"), all.join("\n"));
    }
}

fn place(name: &str, place: &Place) {
    snap(name, |size, theme| at(place.clone(), size, theme));
}

fn after(name: &str, first: &Place, keys: &str) {
    snap(name, |size, theme| {
        let mut state = at(first.clone(), size, theme);
        types(&mut state, keys);
        state
    });
}

#[test]
fn now() {
    place("now", &Place::Now);
    after("feed", &Place::Now, "Tab");
}

#[test]
fn mail() {
    place("mailboxes", &Place::Mail);
    after("messages", &Place::Mail, "Tab ]]");
    after("glance", &Place::Mail, "Tab Tab");
}

#[test]
fn a_message_and_its_thread() {
    let letter = Place::Letter { id: "bbbb2222-1111-4222-8333-444455556666".into() };
    place("message", &letter);
    after("thread", &letter, "Tab");
}

#[test]
fn runs() {
    place("runs", &Place::Runs);
    place("transcript", &Place::Run { id: "r3".into() });
    place("changes", &Place::Diff { run: "r3".into() });
}

#[test]
fn workflows() {
    place("workflows", &Place::Flows);
    let flow = Place::Flow { run: "plan-approve-7f3a".into() };
    place("steps", &flow);
    after("result", &flow, "j Tab");
}

#[test]
fn failed_and_trash() {
    place("failed", &Place::Failed);
    place("trash", &Place::Trash);
}

#[test]
fn what_lies_over_them() {
    after("help", &Place::Mail, "Tab ?");
    after("question", &Place::Runs, "s");
    after("prompt", &Place::Now, "n t o o Space l a t e");
    after("command", &Place::Now, ": p");
    after("filter", &Place::Mail, "/ 陳");
    after("compose", &Place::Now, "c b u i l d e r Enter H i Enter L i n e Space 陳 Enter T w o");
}

#[test]
fn a_lost_room() {
    snap("lost", |size, theme| {
        let mut state = at(Place::Now, size, theme);
        state.lost = Some("the directory is gone".into());
        state
    });
}

/// Every place at every size: nothing panics, nothing hostile is left, and without colours nothing is coloured.
#[test]
fn every_size_is_drawn_and_plain_has_no_colours() {
    let places = [
        Place::Now,
        Place::Mail,
        Place::Runs,
        Place::Flows,
        Place::Failed,
        Place::Trash,
        Place::Letter { id: "bbbb2222-1111-4222-8333-444455556666".into() },
        Place::Run { id: "r3".into() },
        Place::Diff { run: "r3".into() },
        Place::Flow { run: "plan-approve-7f3a".into() },
    ];
    for width in [0, 1, 2, 3, 4, 5, 9, 17, 40, 60, 71, 72, 119, 120, 300] {
        for height in [0, 1, 2, 3, 4, 7, 19, 20, 50] {
            for place in &places {
                let mut state = at(place.clone(), (width, height), Theme::Plain);
                for keys in ["", "?", "Esc :", "Esc c", "Esc Tab s", "Esc Esc /"] {
                    types(&mut state, keys);
                    let buffer = drawn(&state);
                    for cell in buffer.content() {
                        use ratatui::style::Color;
                        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
                        assert!(!cell.symbol().chars().any(|c| c.is_control() || matches!(c, '\u{202e}')));
                        let alone = cell.symbol().chars().count() == 1;
                        assert!(
                            !alone || !cell.symbol().chars().any(visible::is_unsafe),
                            "{:?}",
                            cell.symbol()
                        );
                    }
                }
            }
        }
    }
}
