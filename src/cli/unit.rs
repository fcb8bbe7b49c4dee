//! `dispatch --unit` and `mcp --unit`: a systemd user unit that keeps this command running.

use std::path::PathBuf;

use super::context::Context;
use super::fail::Fail;
use super::own_program;
use super::surroundings::ThisProcess;
use crate::hex;
use crate::process::unit::Unit;
use crate::surroundings::Environment;
use crate::view::answer;

/// Variables of this process that the unit keeps: without them another search path and other directories would count.
const KEPT: [&str; 3] = ["PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME"];

/// Prints the unit of a verb with these arguments, in the room of this command. `about`: its words in the description.
pub(super) fn print(
    context: &mut Context,
    verb: &str,
    about: &str,
    arguments: &[String],
) -> Result<(), Fail> {
    let root = context.root.display().to_string();
    let room = context.room.clone().unwrap_or_else(|| hex::digest(&root, 4));
    let directory = ThisProcess.here().unwrap_or_else(|_| PathBuf::from("/"));
    let kept = KEPT
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), ThisProcess.variable(name)?.into_string().ok()?)));
    let first = ["--root".to_owned(), root, verb.to_owned()];
    let unit = Unit {
        name: format!("postroom-{verb}-{room}.service"),
        about: format!("Postroom {about} ({room})"),
        program: own_program::lasting_path()?,
        arguments: first.into_iter().chain(arguments.iter().cloned()).collect(),
        directory,
        environment: kept.collect(),
    };
    let text = unit.text().map_err(|value| {
        Fail::refused(format!("a unit cannot hold {value:?}"), "use a path without line breaks")
    })?;
    match context.output.json {
        true => context.output.json(&answer::Unit { name: &unit.name, unit: &text }),
        false => context.output.text(&text),
    }
    Ok(())
}
