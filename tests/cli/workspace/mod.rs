//! Mail in the `.mailbox` of a directory.

pub(crate) mod bad;
pub(crate) mod exchange;
pub(crate) mod wide;
