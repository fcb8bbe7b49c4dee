//! The terminal client at real terminals: a pseudo-terminal with a person, with nobody, and tmux.
#![cfg(feature = "tui")]

mod bytes;
mod full_disk;
mod operator;
mod person;
mod terminal;
mod tmux;
