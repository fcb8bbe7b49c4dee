//! What a started program is given: the variables that every program needs, those its preset and its table name, and who it is.

use std::ffi::OsString;
use std::path::Path;

use crate::dispatch::supervisor::Agent;
use crate::post::Me;
use crate::surroundings::{Environment, HARNESS, MAILBOX, ROOT};

/// Variables that every agent gets.
const USUAL: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// The environment of a gate: what every agent gets, and the room.
pub fn gate_environment(environment: &dyn Environment, root: &Path) -> Vec<(OsString, OsString)> {
    let mut variables = environment.variables(&mut USUAL.into_iter());
    variables.push((ROOT.into(), root.into()));
    variables
}

/// Gives an agent that is about to be started its environment: nothing but what it needs and what was allowed.
pub fn equip(environment: &dyn Environment, root: &Path, agent: &mut Agent, me: &Me) {
    let allowed = agent.preset.env.iter().chain(&agent.settings.env).map(String::as_str);
    agent.environment = environment.variables(&mut USUAL.into_iter().chain(allowed));
    let own = [
        (ROOT, root.into()),
        (HARNESS, agent.settings.preset.clone().into()),
        (MAILBOX, me.id.as_str().into()),
    ];
    agent.environment.extend(own.map(|(name, value)| (name.into(), value)));
}
