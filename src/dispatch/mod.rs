//! The dispatcher: waiting mail starts agents, and their answers go back.
//!
//! `dispatcher` finds waiting messages and starts a supervisor process for each that may run; `shift` is what it has going.
//! `supervisor` is one run, from the claim to the answer; it outlives a dispatcher that is killed. `work` is one message of a run and how
//! it ends, `judgement` the agent and whether what it did is an answer, `runs` and `pruning` what is kept of it all, `tally` and `guards` when enough is enough, `recovery` what becomes of a run whose
//! supervisor was killed, `project` whose agents work for a mailbox, `background` what a
//! dispatcher does besides, which is passed in.

pub mod background;
pub mod dispatcher;
mod ending;
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
