//! Tests of the command line, through one builder ([`room::TestRoom`]) that lets the doctor look at the room
//! when a test ends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests arrange files, time and environment as they need, and fail by panicking"
)]

mod mail;
mod room;
