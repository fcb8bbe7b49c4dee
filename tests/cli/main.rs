//! Tests of the command line, through one builder ([`room::TestRoom`]) that lets the doctor look at the room
//! when a test ends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests arrange files, time and environment as they need, fail by panicking, and say what they skip"
)]

mod archive;
mod ask;
mod bad_disk;
mod bad_files;
mod bad_input;
mod bounce;
mod check;
mod claim;
mod demo;
mod doctor;
mod doctor_life;
mod elsewhere;
mod failed;
mod flows;
mod group;
mod hand;
mod help;
mod json;
mod json_life;
mod lease;
mod log;
mod mail;
mod mask;
mod moving;
mod page;
mod promises;
mod prune;
mod queue;
mod read;
mod reply;
mod room;
mod rooms;
mod search;
mod seed_room;
mod send;
mod sent;
mod setup;
mod shell;
mod shell_mixed;
mod stats;
mod taken;
mod takeover;
mod terminal;
mod terminal_life;
mod thread;
mod trace;
mod tree;
mod until;
mod wait;
mod wait_for;
mod who;
