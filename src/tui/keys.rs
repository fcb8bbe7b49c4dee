//! The keys of this moment: what each does with what is chosen. One table; the foot, the help and the keyboard use it, so a key
//! that is shown works, and one that works is shown.

mod of_thing;

use self::of_thing::of_thing;
use super::event::{Code, Key};
use super::layout::reachable;
use super::rows::thing;
use super::state::{Mode, Panel, Place, State};

/// What a key does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Go(Place),
    Open,
    Back,
    NextPanel,
    LastPanel,
    NextTab,
    LastTab,
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Filter,
    Command,
    Help,
    Quit,
    Redraw,
    Suspend,
    Compose,
    Reply,
    Archive,
    Unarchive,
    Approve,
    Reject,
    Stop,
    Pause,
    Resume,
    Retry,
    RetryAll,
    Release,
    Prune,
    Undo,
    Cancel,
    ToRun,
    ToFlow,
    ToLetter,
    ToDiff,
    Start,
}

/// A key, its word at the foot, and its explanation.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub(super) key: Key,
    pub(super) word: &'static str,
    pub(super) about: &'static str,
    pub(super) act: Act,
}

fn bind(key: char, word: &'static str, about: &'static str, act: Act) -> Binding {
    Binding { key: Key::char(key), word, about, act }
}

fn key(code: Code, word: &'static str, about: &'static str, act: Act) -> Binding {
    Binding { key: Key::plain(code), word, about, act }
}

/// The keys that belong to what is chosen, the most useful first.
pub(super) fn own(state: &State) -> Vec<Binding> {
    offered(state, own_of_person(state))
}

/// The keys that work everywhere.
pub(super) fn everywhere(state: &State) -> Vec<Binding> {
    offered(state, everywhere_of_person(state))
}

/// A person's deeds are not offered where nobody is a person.
fn offered(state: &State, mut keys: Vec<Binding>) -> Vec<Binding> {
    keys.retain(|binding| state.looking_only.is_none() || !is_deed(&binding.act));
    keys
}

fn own_of_person(state: &State) -> Vec<Binding> {
    // What was seen before the room was lost is not shown.
    if state.lost.is_some() {
        return vec![];
    }
    let mut keys = of_thing(state, &thing(state));
    match state.place() {
        Place::Mail if state.focus != Panel::Boxes => {
            keys.push(bind(
                ']',
                "next part",
                "the next part of the mailbox: unread, in work, archive, failed",
                Act::NextTab,
            ));
            keys.push(bind('[', "last part", "the part of the mailbox before this one", Act::LastTab));
        }
        Place::Failed => keys.push(bind('A', "retry all", "try all of these again", Act::RetryAll)),
        _ => {}
    }
    keys
}

/// Whether it needs a person.
pub(super) fn is_deed(act: &Act) -> bool {
    matches!(
        act,
        Act::Compose
            | Act::Reply
            | Act::Archive
            | Act::Unarchive
            | Act::Approve
            | Act::Reject
            | Act::Stop
            | Act::Pause
            | Act::Resume
            | Act::Retry
            | Act::RetryAll
            | Act::Release
            | Act::Prune
            | Act::Undo
            | Act::Cancel
            | Act::Start
    )
}

fn everywhere_of_person(state: &State) -> Vec<Binding> {
    let mut keys = vec![];
    if !state.focus.is_text() || state.focus == Panel::Glance {
        keys.push(bind('/', "filter", "show only what has these words", Act::Filter));
    }
    keys.push(bind(':', "command", "type a command; Tab completes it", Act::Command));
    keys.push(bind('?', "keys", "these keys", Act::Help));
    if reachable(state).len() > 1 {
        keys.push(key(Code::Tab, "panel", "the next panel", Act::NextPanel));
        keys.push(key(Code::BackTab, "panel", "the panel before this one", Act::LastPanel));
    }
    keys.extend([
        key(Code::Esc, "back", "back to where you came from", Act::Back),
        bind('q', "quit", "end; you come back to the same place", Act::Quit),
        bind('c', "write", "write a message", Act::Compose),
        bind('u', "undo", "bring back what you moved to the trash here; else show the trash", Act::Undo),
        bind('T', "trash", "what was pruned within 30 days", Act::Go(Place::Trash)),
    ]);
    keys.extend(Place::TABS.into_iter().zip(['1', '2', '3', '4', '5']).map(|(place, digit)| {
        let about = match place {
            Place::Now => "what goes on now",
            Place::Mail => "rooms, mailboxes and messages",
            Place::Runs => "runs of agents",
            Place::Flows => "workflows and their runs",
            _ => "dead letters and parked messages",
        };
        bind(digit, "go", about, Act::Go(place))
    }));
    keys.extend([
        bind('j', "down", "down, also ↓ and the mouse", Act::Down),
        bind('k', "up", "up, also ↑ and the mouse", Act::Up),
        key(Code::PageDown, "page", "a page down, also Space", Act::PageDown),
        key(Code::PageUp, "page", "a page up", Act::PageUp),
        bind('g', "first", "to the beginning, also Home", Act::First),
        bind('G', "last", "to the end, also End; a transcript is followed there", Act::Last),
        Binding { key: Key::ctrl('l'), word: "draw", about: "draw the screen anew", act: Act::Redraw },
        Binding {
            key: Key::ctrl('z'),
            word: "sleep",
            about: "back to the shell; `fg` comes back here",
            act: Act::Suspend,
        },
    ]);
    keys
}

/// What the signs before the rows of this panel mean, where no word beside them says it.
pub(super) fn signs(state: &State) -> &'static [(&'static str, &'static str)] {
    match state.focus {
        Panel::Boxes => &[
            ("●", "an agent is at work"),
            ("◉", "in session"),
            ("‖", "paused"),
            ("!", "no program, no trust, or no mailbox"),
            ("☺", "you"),
            ("⌂", "another room; ● if an agent is at work there"),
        ],
        _ => &[],
    }
}

/// The keys of what lies over the panels, or of a room that is lost: key and word for the foot. `None`: those above.
pub(super) fn over(state: &State) -> Option<Vec<(&'static str, &'static str)>> {
    Some(match &state.mode {
        Mode::Help { .. } => vec![("j", "down"), ("k", "up"), ("Space", "page"), ("Esc", "close")],
        Mode::Question { .. } => vec![("y", "do it"), ("Esc", "do nothing")],
        Mode::Prompt { .. } => vec![("Enter", "do it"), ("Esc", "do nothing")],
        Mode::Compose => {
            let is_reply = state.draft.as_ref().is_some_and(|draft| draft.reply.is_some());
            let mut keys = vec![("C-S", "send"), ("C-O", "editor"), ("Esc", "keep"), ("C-X", "throw away")];
            keys.extend((!is_reply).then_some(("Tab", "field")));
            keys
        }
        Mode::Normal if state.lost.is_some() => vec![(":", "command"), ("q", "quit")],
        Mode::Normal | Mode::Filter(_) | Mode::Command(_) => return None,
    })
}

/// Other keys for the same.
fn alias(key: Key) -> Option<Act> {
    Some(match (key.code, key.ctrl) {
        (Code::Down, _) => Act::Down,
        (Code::Up, _) => Act::Up,
        (Code::Char(' '), false) => Act::PageDown,
        (Code::Char('f' | 'd'), true) => Act::PageDown,
        (Code::Char('b' | 'u'), true) => Act::PageUp,
        (Code::Home, _) => Act::First,
        (Code::End, _) => Act::Last,
        (Code::Right, _) => Act::NextPanel,
        (Code::Left, _) => Act::LastPanel,
        (Code::Backspace, _) => Act::Back,
        (Code::Char('c'), true) => Act::Quit,
        (Code::Char('l'), false) => Act::NextPanel,
        (Code::Char('h'), false) => Act::LastPanel,
        _ => return None,
    })
}

/// What a key does now, or would do for a person.
pub(super) fn act(state: &State, key: Key) -> Option<Act> {
    let all = own_of_person(state).into_iter().chain(everywhere_of_person(state));
    all.into_iter().find(|binding| binding.key == key).map(|binding| binding.act).or_else(|| alias(key))
}
