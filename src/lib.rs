//! Postroom: mail for coding agents, on plain files.
//!
//! Folders follow the data: a message is written (`message`), put into a mailbox (`mailbox`, in a `room`),
//! someone is woken (`wait`), and people look on (`journal`, `doctor`). `post` holds the verbs, `view` the documents;
//! what talks to anyone (`cli`, `mcp`, `tui`, `web`, `courier`) holds no rules.
//!
//! The library never prints, reads the environment, finds the home directory or exits; `cli` does.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests arrange files, time and environment as they need")
)]

pub mod agents;
pub mod cli;
pub mod clock;
#[cfg(feature = "courier")]
pub mod courier;
#[cfg(any(feature = "tui", feature = "web"))]
pub mod deeds;
#[cfg(any(feature = "tui", feature = "web"))]
pub mod desk;
pub mod dispatch;
pub mod doctor;
pub mod groups;
pub mod hex;
pub mod hint;
#[cfg(any(feature = "mcp", feature = "web"))]
mod http;
pub mod invisible;
pub mod journal;
pub mod mailbox;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod message;
pub mod name;
pub mod network;
pub mod notify;
pub mod os;
pub mod overview;
pub mod person;
pub mod post;
pub mod process;
pub mod random;
pub mod registry;
pub mod repository;
pub mod room;
pub mod rooms;
pub mod session;
pub mod settings;
pub mod span;
pub mod staff;
pub mod surroundings;
pub mod trust;
#[cfg(feature = "tui")]
pub mod tui;
pub mod view;
pub mod wait;
#[cfg(feature = "web")]
pub mod web;
pub mod workflow;
