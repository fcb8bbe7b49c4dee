//! The dispatcher: waiting mail starts agents, and their answers go back.
//!
//! `dispatcher` finds waiting messages and starts a supervisor process for each that may run; `in_flight` is what it has
//! running. `supervisor` is one run, from the claim to the answer, by `stages`; it outlives a dispatcher that is killed. `work` is
//! one message of a run, and `acting` how it ends. `judgement` starts the agent and judges its answer. `runs` and `pruning` keep
//! the records, `chosen` finds some of them, `run_reader` reads the transcript of one, `spending` counts what they cost, `tally` and `guards` the limits. `later`, `parked` and `paused` say what waits, for what, and until when; `waits` tells it. `suspects` are messages whose outages may be their own.
//! `stop` ends runs, `pausing` holds an agent
//! back, and `retriable` is what can be tried again; all three for people. `recovery` finishes a run whose supervisor was killed. `project` decides whose agents work for a
//! mailbox. `workplace` decides in which directory a run works, and `worktree` makes one for it. `background` is other work of a dispatcher, passed in. `watchers` are the dispatchers that live, `told` is what the
//! person was told.

mod acting;
pub mod background;
pub mod chosen;
pub mod dispatcher;
mod ending;
mod events;
pub mod guards;
mod in_flight;
pub mod judgement;
pub mod later;
mod on_hold;
pub mod parked;
pub mod paused;
pub mod pausing;
pub mod project;
mod pruning;
pub mod queue;
pub mod recovery;
pub mod retriable;
pub mod run_reader;
pub mod runs;
pub mod spending;
mod stages;
pub mod stop;
pub mod supervisor;
pub mod suspects;
pub mod tally;
mod told;
pub mod waits;
pub mod watchers;
mod work;
pub mod workplace;
pub mod worktree;
