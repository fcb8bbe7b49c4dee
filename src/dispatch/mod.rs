//! The dispatcher: waiting mail starts agents, and their answers go back.
//!
//! `dispatcher` finds waiting messages and starts a supervisor process for each that may run; `shift` is what it has going.
//! `supervisor` is one run, from the claim to the answer; it outlives a dispatcher that is killed. `work` is the messages of a run,
//! `runs` and `pruning` what is kept of it all, `tally` and `guards` when enough is enough, `recovery` what becomes of a run whose
//! supervisor was killed, `project` whose agents work for a mailbox.

pub mod dispatcher;
pub mod guards;
pub mod judgement;
pub mod project;
mod pruning;
pub mod queue;
pub mod recovery;
pub mod runs;
mod shift;
pub mod supervisor;
pub mod tally;
mod work;
