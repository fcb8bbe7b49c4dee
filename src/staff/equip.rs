//! The environment of a started program: the variables that every program needs, those of its preset and its table, and
//! its identity.

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

/// The environment of a gate: the variables of every agent, and the room.
pub fn gate_environment(environment: &dyn Environment, root: &Path) -> Vec<(OsString, OsString)> {
    let mut variables = environment.variables(&mut USUAL.into_iter());
    variables.push((ROOT.into(), root.into()));
    variables
}

/// Sets the environment of an agent before its start: only what it needs and what was allowed.
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
