//! What the tests stand on: a throw-away room, files by hand, a person's seat, agents that are scripts, the real programs.

pub(crate) mod at_work;
pub(crate) mod closure;
pub(crate) mod crew;
pub(crate) mod drawn;
pub(crate) mod edges_strike;
pub(crate) mod hand;
pub(crate) mod kinds;
pub(crate) mod kinds_claims;
pub(crate) mod kinds_room;
pub(crate) mod mask;
pub(crate) mod mcp_client;
pub(crate) mod models;
pub(crate) mod page;
pub(crate) mod pasted;
pub(crate) mod picture;
pub(crate) mod programs;
pub(crate) mod project;
pub(crate) mod room;
pub(crate) mod schemas;
pub(crate) mod seat;
pub(crate) mod staffed;
pub(crate) mod taken;
pub(crate) mod until;
pub(crate) mod yard;
