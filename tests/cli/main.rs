//! Tests of the command line, through one builder ([`room::TestRoom`]) that lets the doctor look at the room
//! when a test ends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests arrange files, time and environment as they need, and fail by panicking"
)]

mod archive;
mod check;
mod doctor;
mod help;
mod json;
mod log;
mod mail;
mod mask;
mod read;
mod reply;
mod room;
mod send;
mod setup;
mod tree;
mod wait;
mod who;
