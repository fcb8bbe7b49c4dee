//! The staff of a room: which agents can be started, out of the room's own settings, the project's, and the files in
//! `.claude/agents/`. What a repository would run is taken only if the person has trusted it as it is now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::Context;
use super::fail::Fail;
use super::surroundings::{self, project_file};
use super::trusted::{Read, is_trusted};
use crate::dispatch::supervisor::Agent;
use crate::mailbox::tree;
use crate::name::{MailboxId, Name};
use crate::post::{Failure, Me, Names, Post};
use crate::process::presets::{self, Preset};
use crate::registry::Entry;
use crate::settings::Project;
use crate::settings::agents::{AgentSettings, DispatchSettings};

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

/// Who can be started, and under which limits.
#[derive(Debug)]
pub(super) struct Staff {
    pub(super) agents: Vec<(Agent, Option<MailboxId>)>,
    pub(super) settings: DispatchSettings,
    /// A repository whose agents are not trusted.
    pub(super) untrusted: Option<PathBuf>,
    /// Agents of trees for whom nobody is configured.
    pub(super) vacant: Vec<(String, MailboxId)>,
}

/// Gathers everyone who is configured for the room of this command.
pub(super) fn gather(post: &Post) -> Result<Staff, Fail> {
    gather_some(post, |_| true)
}

/// The same for those whose name is wanted.
pub(super) fn gather_some(post: &Post, wanted: impl Fn(&str) -> bool) -> Result<Staff, Fail> {
    let mut found: Tables = BTreeMap::new();
    let registry = post.registry()?;
    let room = post.room().settings();
    let mut settings = None;
    let mut untrusted = None;
    let project = project_file()?;
    if let Some((path, text)) = &project {
        let dir = path.parent().unwrap_or(Path::new("/"));
        let read = Project::parse(text, &path.display().to_string())
            .map_err(|e| Fail::told(Failure::Refused, e.to_string(), "docs/settings.md lists the keys"))?;
        if !read.agents.is_empty() || read.dispatch.is_some() {
            match is_trusted(dir, Read { settings: Some(text), ..Read::default() }) {
                true => {
                    settings = read.dispatch;
                    let base = Arc::from(dir);
                    let table = |(name, agent)| (name, (agent, Arc::clone(&base)));
                    found.extend(read.agents.into_iter().map(table));
                }
                false => untrusted = Some(dir.to_owned()),
            }
        }
    }
    for (name, dir) in described(post) {
        if found.contains_key(&name) || room.agents.contains_key(&name) {
            continue;
        }
        match is_trusted(&dir, Read::default()) {
            true => {
                let described = Some(name.rsplit('.').next().unwrap_or(&name).to_owned());
                let agent =
                    AgentSettings { preset: "claude".to_owned(), described, ..AgentSettings::default() };
                found.insert(name, (Arc::new(agent), dir.into()));
            }
            false => untrusted = untrusted.or(Some(dir)),
        }
    }
    let base = Arc::from(post.room().path());
    let own = |(name, agent): (&String, &Arc<AgentSettings>)| {
        (name.clone(), (Arc::clone(agent), Arc::clone(&base)))
    };
    // Agents write in rooms, so what stands there is no more the person's own word than what a repository says.
    if !room.text.is_empty() {
        match is_trusted(post.room().path(), Read { settings: Some(&room.text), ..Read::default() }) {
            true => {
                settings = room.dispatch.clone().or(settings);
                found.append(&mut room.agents.iter().map(own).collect());
            }
            false => untrusted = Some(post.room().path().to_owned()),
        }
    }
    spread(&mut found, post);
    let mut presets = BTreeMap::new();
    let mut agents = vec![];
    let ids = registry.by_names();
    let vacant =
        registry.entries.iter().filter(|entry| is_of_tree(entry) && !found.contains_key(&entry.name));
    let vacant = vacant.map(|entry| (entry.name.clone(), entry.id.clone())).collect();
    for (name, (settings, base)) in found.into_iter().filter(|(name, _)| wanted(name)) {
        let wrong = |why: String| {
            let hint = "docs/dispatch.md tells what an agent needs";
            Fail::told(Failure::Refused, format!("[agents.{name}]: {why}"), hint)
        };
        let preset = checked(&settings, &mut presets).map_err(wrong)?;
        let cwd = settings.cwd.as_ref().map_or_else(|| Arc::clone(&base), |cwd| base.join(cwd).into());
        let id = match ids.get(name.as_str()) {
            Some(entry) => Some(entry.id.clone()),
            None => {
                Name::parse(&name).map_err(|why| wrong(why.to_string()))?;
                post.addressee(&name).ok()
            }
        };
        agents.push((Agent { name, preset, settings, cwd, environment: vec![] }, id));
    }
    Ok(Staff { agents, settings: settings.unwrap_or_default(), untrusted, vacant })
}

/// The tables of agents by their names, each with the directory that it speaks of.
type Tables = BTreeMap<String, (Arc<AgentSettings>, Arc<Path>)>;

/// Puts in the place of each pattern the mailboxes that it fits and that have no table of their own.
fn spread(tables: &mut Tables, post: &Post) {
    let is_pattern = |name: &String| name.contains(['*', '?']);
    if !tables.keys().any(is_pattern) {
        return;
    }
    let (patterns, plain): (Tables, Tables) =
        std::mem::take(tables).into_iter().partition(|(name, _)| is_pattern(name));
    *tables = plain;
    let entries = post.registry().map(|registry| registry.entries.as_slice()).unwrap_or_default();
    // Of several that fit the longest says most.
    let mut patterns: Vec<_> = patterns.into_iter().collect();
    patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
    for (pattern, table) in patterns {
        let meant = Names { patterns: vec![pattern], about: None };
        for entry in entries.iter().filter(|entry| meant.fits(entry)) {
            tables.entry(entry.name.clone()).or_insert_with(|| table.clone());
        }
    }
}

/// The preset of an agent whose table is in order, else what is wrong with it.
fn checked(
    settings: &AgentSettings,
    presets: &mut BTreeMap<String, Arc<Preset>>,
) -> Result<Arc<Preset>, String> {
    let preset = match presets.get(&settings.preset) {
        Some(preset) => Arc::clone(preset),
        None => {
            let preset = presets::named(&settings.preset).ok_or_else(|| {
                let all: Vec<&str> = presets::names().collect();
                format!("`preset` is `{}`, not one of {}", settings.preset, all.join(", "))
            })?;
            Arc::clone(presets.entry(settings.preset.clone()).or_insert(Arc::new(preset)))
        }
    };
    if preset.program.is_empty() && settings.command.is_empty() {
        return Err("`command` is needed with this preset: the program and its arguments".to_owned());
    }
    Ok(preset)
}

/// The environment of a gate: what every agent gets, and the room.
pub(super) fn gate_environment(context: &Context) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let mut environment = surroundings::variables(USUAL.into_iter());
    environment.push(("POSTROOM_ROOT".into(), context.root.clone().into_os_string()));
    environment
}

/// Gives an agent that is about to be started its environment: nothing but what it needs and what was allowed.
pub(super) fn equip(context: &Context, agent: &mut Agent, me: &Me) {
    let allowed = agent.preset.env.iter().chain(&agent.settings.env).map(String::as_str);
    agent.environment = surroundings::variables(USUAL.into_iter().chain(allowed));
    let own = [
        ("POSTROOM_ROOT", context.root.clone().into_os_string()),
        ("AGENT_HARNESS", agent.settings.preset.clone().into()),
        ("AGENT_MAILBOX_ID", me.id.as_str().into()),
    ];
    agent.environment.extend(own.map(|(name, value)| (name.into(), value)));
}

/// Agents of trees in the registry that have a file of their own, with the project each is in.
fn described(post: &Post) -> Vec<(String, PathBuf)> {
    let Ok(registry) = post.registry() else { return vec![] };
    let place = |entry: &Entry| Some((entry.name.clone(), tree::described_in(Path::new(&entry.inbox))?));
    registry.entries.iter().filter_map(place).collect()
}

fn is_of_tree(entry: &Entry) -> bool {
    tree::project_of(Path::new(&entry.inbox)).is_some()
}
