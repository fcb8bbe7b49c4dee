//! One page: what a view says, in the frame that all pages have.

use askama::Template;
use sha2::{Digest, Sha256};

use super::guard::{Role, Visitor};
use super::live::written;
use super::routes::Wrong;
use crate::desk::Desk;
use crate::hex;
use crate::journal::Position;
use crate::message::visible;

/// What a view gives: its title, the entry of the menu that it belongs to, and the HTML between header and foot.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) menu: &'static str,
    pub(super) main: String,
    /// The place in the journal that its lines end at, if it shows lines: the stream of events goes on behind it.
    pub(super) place: Option<Position>,
}

impl Page {
    pub(super) fn new(
        menu: &'static str,
        title: impl Into<String>,
        main: &impl Template,
    ) -> Result<Self, Wrong> {
        Ok(Self { title: title.into(), menu, main: main.render()?, place: None })
    }
}

/// The entries of the menu: the word in the address, the word for people, and the key that leads there.
const MENU: &[(&str, &str, &str)] = &[
    ("now", "Now", "n"),
    ("mail", "Mail", "m"),
    ("flow", "Flow", "f"),
    ("runs", "Runs", "r"),
    ("workflows", "Workflows", "w"),
    ("numbers", "Numbers", "u"),
    ("failed", "Failed", "x"),
];

/// The frame of a page.
#[derive(Template)]
#[template(path = "frame.html")]
struct Frame<'a> {
    page: &'a Page,
    menu: &'a [(&'a str, &'a str, &'a str)],
    room: &'a str,
    rooms: Vec<String>,
    /// Why the other rooms are not among them.
    rooms_fault: Option<String>,
    place: String,
    is_person: bool,
    assets: &'a str,
}

pub(super) fn framed(
    desk: &Desk,
    visitor: &Visitor,
    room: &str,
    place: &Position,
    page: &Page,
) -> Result<String, Wrong> {
    // The page of this room is shown also if the others cannot be listed.
    let (rooms, rooms_fault) = match desk.all() {
        Ok(rooms) => (rooms, None),
        Err(e) => (vec![desk.own().to_owned()], Some(visible::line(&e.to_string()))),
    };
    let frame = Frame {
        page,
        menu: MENU,
        room,
        rooms,
        rooms_fault,
        place: written(place),
        is_person: visitor.role == Role::Person,
        assets: assets(),
    };
    Ok(frame.render()?)
}

/// The page for somebody who has not shown the code.
#[derive(Template)]
#[template(path = "enter.html")]
struct Enter<'a> {
    assets: &'a str,
    is_person: bool,
}

/// `role`: what those who enter may do.
pub(super) fn enter(role: Role) -> Result<String, Wrong> {
    Ok(Enter { assets: assets(), is_person: role == Role::Person }.render()?)
}

/// What went wrong, in the place of a view.
#[derive(Template)]
#[template(path = "wrong.html")]
pub(super) struct WrongPage {
    pub(super) what: String,
}

/// What went wrong where there is no room whose frame could be around it.
#[derive(Template)]
#[template(path = "alone.html")]
struct Alone<'a> {
    main: WrongPage,
    assets: &'a str,
}

pub(super) fn alone(what: String) -> Result<String, Wrong> {
    Ok(Alone { main: WrongPage { what }, assets: assets() }.render()?)
}

/// The style of all views, for a page that carries it inside.
pub(super) fn style() -> String {
    FILES.iter().filter(|(_, kind, _)| *kind == CSS).map(|(.., text)| *text).collect()
}

const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the page.
const FILES: [(&str, &str, &str); 12] = [
    ("app.css", CSS, include_str!("assets/app.css")),
    ("views.css", CSS, include_str!("assets/views.css")),
    ("app.js", SCRIPT, include_str!("assets/app.js")),
    ("act.js", SCRIPT, include_str!("assets/act.js")),
    ("ages.js", SCRIPT, include_str!("assets/ages.js")),
    ("dom.js", SCRIPT, include_str!("assets/dom.js")),
    ("dots.js", SCRIPT, include_str!("assets/dots.js")),
    ("keys.js", SCRIPT, include_str!("assets/keys.js")),
    ("live.js", SCRIPT, include_str!("assets/live.js")),
    ("morph.js", SCRIPT, include_str!("assets/morph.js")),
    ("theme.js", SCRIPT, include_str!("assets/theme.js")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

/// A file of the page and its kind.
pub(super) fn file(name: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(known, ..)| *known == name).map(|(_, kind, text)| (*kind, *text))
}

/// Names the files of this build, so that a browser keeps them until they change.
pub(super) fn assets() -> &'static str {
    static ASSETS: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    ASSETS.get_or_init(|| {
        let mut digest = Sha256::new();
        FILES.iter().for_each(|(.., text)| digest.update(text));
        hex::of(&digest.finalize()[..8])
    })
}
