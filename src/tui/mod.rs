//! The terminal client: the mail and the control room for people who live in a terminal.
//!
//! A thin view over the library, like the command line: it holds no rule. Its core is pure: events go in, effects come out
//! (`update`), and the state is drawn as cells (`draw`). Threads read the room and do deeds (`crew`); the terminal is taken
//! over and given back in one place (`screen`).
//!
//! ```text
//! client.rs   the loop; crew.rs: its threads; signals.rs, screen.rs, input.rs: the terminal
//! state.rs    where the person is; update.rs: what an event changes; acts.rs, jumps.rs, command.rs, compose.rs, help.rs: what keys do
//! keys.rs     the keys of this moment, for the keyboard, the foot and the help
//! load/       what is read, as seen.rs has it; doing.rs: what is done, as deed.rs has it; leaving.rs, ending.rs: the end
//! rows/       lists; pages.rs: texts; markdown.rs, wrap.rs: their lines
//! layout.rs   which panels are visible; draw/: their cells; theme.rs: colours
//! memory.rs   where the person was, and drafts
//! ```

mod acts;
mod client;
mod command;
mod compose;
mod crew;
mod deed;
mod doing;
mod draw;
mod ending;
mod event;
mod help;
mod input;
mod jumps;
mod keys;
mod layout;
mod leaving;
mod load;
mod markdown;
mod memory;
mod pages;
mod rows;
mod screen;
mod seen;
mod signals;
mod state;
mod text_box;
mod theme;
mod told;
mod update;
mod wrap;

pub use client::{Options, run};
pub use ending::{End, Ended, LostDraft};

// Pictures of every panel, what keys lead to, and keys at random over a real room.
#[cfg(test)]
#[path = "tests/driving.rs"]
mod driving;
#[cfg(test)]
#[path = "tests/fixture.rs"]
mod fixture;
#[cfg(test)]
#[path = "tests/journeys.rs"]
mod journeys;
#[cfg(test)]
#[path = "tests/jumping.rs"]
mod jumping;
#[cfg(test)]
#[path = "tests/panicking.rs"]
mod panicking;
#[cfg(test)]
#[path = "tests/pictures.rs"]
mod pictures;
#[cfg(test)]
#[path = "tests/random_keys.rs"]
mod random_keys;
#[cfg(test)]
#[path = "tests/regressions.rs"]
mod regressions;
