//! Commands that are opened beside this one, in a pane or a window: what `spawn` and `postroom 3 claude` share.

use super::context::Context;
use super::surroundings::{self, ThisProcess};
use crate::agents::programs::{PROGRAMS, Program};
use crate::hint::quoted;
use crate::post::{HOPS_VARIABLE, THREAD_VARIABLE};
use crate::process::marked;
use crate::process::opener::{Extent, Opener, Shown};
use crate::surroundings::Environment;

/// What opens panes and windows here, or why nothing does.
pub(super) fn opener() -> Result<Opener, String> {
    Opener::find(|name| ThisProcess.text(name).is_some(), |program| surroundings::on_path(program).is_some())
}

/// The command that starts a program as a mailbox of this room, with these words.
pub(super) fn line_of(context: &Context, program: &Program, name: &str, words: &[String]) -> Vec<String> {
    let root = context.root.display().to_string();
    let ours = ["postroom", "--root", &root, program.word, "--as", name].map(str::to_owned);
    ours.into_iter().chain(words.iter().cloned()).collect()
}

/// A command as one line for a shell.
pub(super) fn pasted(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Opens a command of `line_of`. Returns what was opened, or why not.
pub(super) fn open(opener: Opener, extent: Extent, title: &str, line: &[String]) -> Result<String, String> {
    let directory = ThisProcess.here().map_err(|e| e.to_string())?;
    let own = surroundings::myself().map_err(|e| e.to_string())?.display().to_string();
    let words: Vec<String> = std::iter::once(own).chain(line.iter().skip(1).cloned()).collect();
    // Where it is opened, the search path may be another, and the marks of this agent may be set.
    let path = ThisProcess.text("PATH").map(|path| ("PATH".to_owned(), path));
    let marks = others_variables().filter(|name| ThisProcess.variable(name).is_some());
    let variables: Vec<(String, String)> =
        path.into_iter().chain(marks.map(|name| (name.to_owned(), String::new()))).collect();
    let shown = Shown { title, directory: &directory, variables: &variables, words: &words };
    opener.open(&shown, extent).map(|()| opener.noun(extent))
}

/// The variables by which agent programs mark what they start.
pub(super) fn others_variables() -> impl Iterator<Item = &'static str> {
    let of = |program: &'static Program| [program.session, program.mark, program.process, program.attended];
    PROGRAMS.iter().flat_map(of).flatten().chain([marked::MARK, HOPS_VARIABLE, THREAD_VARIABLE])
}
