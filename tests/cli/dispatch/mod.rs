//! The dispatcher: who is started for which mail, what may be started at all, and what becomes of the answer.

pub(crate) mod bad;
pub(crate) mod batch;
pub(crate) mod dead_ends;
pub(crate) mod denied;
pub(crate) mod hostile;
pub(crate) mod limits;
pub(crate) mod outage;
pub(crate) mod presets;
pub(crate) mod real;
pub(crate) mod real_outages;
pub(crate) mod recovery;
pub(crate) mod roles;
pub(crate) mod runs;
pub(crate) mod started;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod told;
pub(crate) mod trust;
pub(crate) mod trust_items;
pub(crate) mod two_projects;
pub(crate) mod unit;
pub(crate) mod worktree;
pub(crate) mod worktree_left;
