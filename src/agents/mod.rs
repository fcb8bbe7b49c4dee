//! Agent programs at home in the room: what each of them is told, and how it is told so.
//!
//! `programs` is the one table of all programs, in the words of `program`: their files, hooks, answers and ways to be
//! woken. `answer` turns a notice into what a program accepts. `change` with `jsonc` and `tables` edits settings without
//! touching the rest of them; `pieces` says which files a program gets, `ledger` puts them there and takes them away
//! again, with a `record` of each file as it was `found`, and `texts` are the skill and the commands. `witness` asks a
//! program what it sees of all that.

pub mod answer;
pub mod change;
mod found;
pub mod jsonc;
pub mod ledger;
pub mod notice;
pub mod pieces;
mod program;
pub mod programs;
mod record;
pub mod tables;
pub mod texts;
pub mod witness;
