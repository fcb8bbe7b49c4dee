//! Workflows: many agents, many steps, one state on disk.
//!
//! A workflow is a file that names steps (`definition`, read by `reading` and `check` from a `document`). Every step is
//! a message to an agent. `engine` computes the state of a run and its next asks from the accepted mail; it is pure,
//! and so are `template`, `inputs` and `graph`. `runs` keeps the records of each run. `carrier` does what the engine
//! asks: it accepts answers, sends requests (`run_mail`), starts gates, and updates the shared state (`state`,
//! `session`). Any process may do so at any time; none has to stay alive.
//! `failures` marks runs that failed, `unawaited` finds requests that no run waits for.
//! `decision` is what a person says at a gate, `order` what a person wants of a run.

mod approval;
mod ask;
pub mod cancelling;
pub mod carrier;
pub mod check;
mod context;
pub mod decision;
pub mod definition;
pub mod document;
pub mod engine;
pub mod failures;
pub mod follow;
pub mod gate;
pub mod graph;
pub mod inputs;
mod item;
mod mail;
mod next_step;
pub mod order;
pub mod problem;
pub mod pruning;
pub mod reading;
pub mod repeat;
pub mod request;
mod run_mail;
pub mod runs;
pub mod schema;
mod sending;
pub mod session;
mod standing;
pub mod start;
pub mod state;
pub mod template;
pub mod templates;
pub mod timeline;
mod turn;
pub mod unawaited;
pub mod verdict;
