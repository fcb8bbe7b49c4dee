//! The dispatcher: waiting mail starts agents, and their answers go back.
//!
//! `dispatcher` finds waiting messages and starts a supervisor process for each that may run; `shift` is what it has going.
//! `supervisor` is one run, from the claim to the answer; it outlives a dispatcher that is killed. `child` is the
//! agent process, `work` the messages of a run, `output` what it says, `presets` how each program is started (data), `config` who works for whom,
//! `runs` and `pruning` what is kept of it all, `tally` and `guards` when enough is enough, `recovery` what becomes of a run whose
//! supervisor was killed, `processes` how all of a run is ended.

pub mod child;
pub mod config;
pub mod dispatcher;
pub mod guards;
pub mod judgement;
pub mod output;
pub mod presets;
pub mod processes;
mod pruning;
pub mod queue;
pub mod recovery;
pub mod runs;
mod shift;
pub mod supervisor;
pub mod tally;
mod work;
