//! Agent programs: what each is told about the room, and how.
//!
//! `programs` is the one table of all programs, built from the types of `program`: their files, hooks, answers and how
//! they are woken. `answer` turns a notice into what a program accepts. `change` with `jsonc` and `tables` edits
//! settings without touching the rest. `install_files` lists what a program gets; `ledger` installs and removes
//! (`removal`) them, with a `record` of each file as it was (`file_on_disk`). `texts` are the skill and the commands.
//! `probe` asks a program something, and `verify` what it sees of all that, by a `talk` or by a `complaint` of it. `shown`
//! finds the process that shows a session, and `tmux` types into one. `codex_hooks` asks Codex which hooks it sees.
//! `launch` is one start with a mailbox and without an installation; `starts` keeps its files while it runs.

pub mod answer;
pub mod change;
pub mod codex_hooks;
mod complaint;
mod file_on_disk;
pub mod install_files;
pub mod jsonc;
pub mod launch;
pub mod ledger;
pub mod notice;
pub mod probe;
mod program;
pub mod programs;
mod record;
mod removal;
pub mod shown;
pub mod starts;
pub mod tables;
mod talk;
pub mod texts;
pub mod tmux;
pub mod verify;
