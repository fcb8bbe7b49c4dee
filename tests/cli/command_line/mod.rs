//! What every command has in common: help, output, JSON, terminals, the shell interface, the pages of the documentation.

pub(crate) mod budget;
pub(crate) mod complete;
pub(crate) mod compose;
pub(crate) mod demo;
pub(crate) mod help;
pub(crate) mod hints;
pub(crate) mod json;
pub(crate) mod json_life;
pub(crate) mod log;
pub(crate) mod mistakes;
pub(crate) mod pages;
pub(crate) mod schemas;
pub(crate) mod shell;
pub(crate) mod shell_mixed;
pub(crate) mod stats;
pub(crate) mod terminal;
pub(crate) mod terminal_life;
pub(crate) mod unicode;
pub(crate) mod width;
