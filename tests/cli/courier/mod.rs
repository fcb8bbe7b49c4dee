//! The courier, with real servers.

mod agents;
mod carry;
mod credentials;
mod guide;
mod lost;
mod networks;
mod objects;
mod server;
mod trust;
