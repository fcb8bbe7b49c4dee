//! What is shown: one file for each view. A view reads what it shows, and changes nothing.

pub(super) mod failed;
pub(super) mod flow;
pub(super) mod mail;
pub(super) mod message;
pub(super) mod now;
pub(super) mod numbers;
pub(super) mod runs;
pub(super) mod search;
pub(super) mod workflow_form;
pub(super) mod workflows;
