//! Tests of the command line, through one builder ([`support::room::TestRoom`]) that lets the doctor look at the room
//! when a test ends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests arrange files, time and environment as they need, fail by panicking, and say what they skip"
)]

mod agents;
#[allow(unreachable_pub, reason = "it is the library of the fuzz targets")]
#[path = "../../fuzz/src/lib.rs"]
mod any_bytes;
mod command_line;
#[cfg(feature = "courier")]
mod courier;
mod dispatch;
mod mail;
mod mcp;
mod protocols;
mod rooms;
mod support;
mod tree;
mod tui;
mod web;
mod web_http;
mod workflow;
mod workspace;
