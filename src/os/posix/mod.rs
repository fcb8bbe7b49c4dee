//! Every other Unix: portable calls alone. Where there is no such call, the answer is `NOSYS`, and the caller has another way.

pub(super) mod files;
pub(super) mod processes;
pub(super) mod system;
pub(super) mod wait;
