//! The web page over HTTP: who comes in, what nobody can do, what a message cannot do, and what is never missed.

mod abuse;
mod client;
mod content;
mod deeds;
mod doors;
mod looking;
mod metrics;
mod picture;
mod readers;
mod server;
mod stream;
mod tags;
mod truth;
