//! Mail: sent, looked at, read, answered, claimed, waited for.

pub(crate) mod addresses;
pub(crate) mod archive;
pub(crate) mod ask;
pub(crate) mod bounce;
pub(crate) mod broken;
pub(crate) mod channels;
pub(crate) mod check;
pub(crate) mod claim;
pub(crate) mod claim_races;
pub(crate) mod failed;
pub(crate) mod lease;
pub(crate) mod main_road;
pub(crate) mod moving;
pub(crate) mod promises;
pub(crate) mod queue;
pub(crate) mod read;
pub(crate) mod reply;
pub(crate) mod rounds;
pub(crate) mod search;
pub(crate) mod send;
pub(crate) mod sent;
pub(crate) mod thread;
pub(crate) mod trace;
pub(crate) mod wait;
pub(crate) mod wait_for;
