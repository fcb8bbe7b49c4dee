//! The network of a room in the documents of `status`.

use serde::Serialize;

use crate::post::{NetworkSeen, OnTheWay};

/// The network of a room.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JoinedNetwork<'a> {
    /// Its name.
    pub network: &'a str,
    /// The name of this room there.
    pub room: &'a str,
    /// How many other rooms are known there.
    pub rooms: usize,
    /// Letters that wait for the network.
    pub waiting: usize,
    /// The time of the oldest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// Letters with the server, without a receipt.
    pub carried: usize,
    /// When the server was last heard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    /// Parcels that waited at the server for this room at that time.
    pub lag: u64,
    /// Why there is no connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'a str>,
    /// Parcels that were not let in.
    pub refused: usize,
}

impl<'a> JoinedNetwork<'a> {
    pub(super) fn of(seen: &'a NetworkSeen) -> Self {
        Self {
            network: &seen.network,
            room: &seen.room,
            rooms: seen.rooms,
            waiting: seen.waiting,
            oldest: seen.oldest.map(|at| at.to_string()),
            carried: seen.carried,
            contact: seen.contact.map(|at| at.to_string()),
            lag: seen.lag,
            trouble: seen.trouble.as_deref(),
            refused: seen.refused,
        }
    }
}

/// A room of another machine.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkRoom<'a> {
    /// Its name.
    pub room: &'a str,
    /// Letters that wait for the network.
    pub waiting: usize,
    /// The time of the oldest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// Letters with the server, without a receipt.
    pub carried: usize,
    /// Letters that came to nothing.
    pub failed: usize,
}

impl<'a> NetworkRoom<'a> {
    pub(super) fn of(way: &'a OnTheWay) -> Self {
        Self {
            room: way.room.as_str(),
            waiting: way.waiting,
            oldest: way.oldest.map(|oldest| oldest.to_string()),
            carried: way.carried,
            failed: way.failed,
        }
    }
}
