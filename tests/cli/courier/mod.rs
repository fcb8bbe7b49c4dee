//! The courier, with real servers.

mod carry;
mod lost;
mod objects;
mod server;
mod trust;
