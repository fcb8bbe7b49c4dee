//! Linux.

pub(super) mod files;
pub(super) mod processes;
pub(super) mod system;
pub(super) mod wait;
