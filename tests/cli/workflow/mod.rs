//! Workflows: definitions, runs, gates, and what becomes of a run that is interrupted.

pub(crate) mod again;
pub(crate) mod check;
pub(crate) mod check_words;
pub(crate) mod fan_out;
pub(crate) mod follow;
pub(crate) mod gates;
pub(crate) mod guarded;
pub(crate) mod lost;
pub(crate) mod no_result;
pub(crate) mod real;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod tree;
