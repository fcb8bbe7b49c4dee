//! Mail in a `.claude` tree.

pub(crate) mod bad;
pub(crate) mod broken;
pub(crate) mod bytes;
pub(crate) mod claim;
pub(crate) mod crowd;
pub(crate) mod hand;
pub(crate) mod mail;
pub(crate) mod order;
pub(crate) mod setup;
pub(crate) mod shared_state;
pub(crate) mod status;
