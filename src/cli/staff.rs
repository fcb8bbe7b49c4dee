//! The staff of a room: which agents can be started, out of the room's own settings, the project's, and the files in
//! `.claude/agents/`. What a repository would run is taken only if the person has trusted it as it is now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings::{self, project_file};
use crate::dispatch::supervisor::Agent;
use crate::mailbox::tree;
use crate::message::visible;
use crate::name::{MailboxId, Name};
use crate::post::{Failure, Me, Names, Post};
use crate::process::presets::{self, Preset};
use crate::registry::Entry;
use crate::settings::Project;
use crate::settings::agents::{AgentSettings, DispatchSettings};
use crate::trust::{Key, Store, Trusted, described_agent};

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
    pub(super) untrusted: Vec<LeftOut>,
    /// Agents of trees for whom nobody is configured.
    pub(super) vacant: Vec<(String, MailboxId)>,
}

/// Something that is left out until the person has looked at it.
#[derive(Debug)]
pub(super) struct LeftOut {
    pub(super) key: Key,
    /// The repository or the room.
    pub(super) dir: PathBuf,
    /// The mailbox that it would work for.
    pub(super) name: String,
    id: Option<MailboxId>,
}

impl Staff {
    /// Says what is left out.
    pub(super) fn tell_untrusted(&self) {
        for (what, command) in left_out(&self.untrusted) {
            note(&format!("postroom: {what}: {command}"));
        }
    }

    /// What a mailbox is left out by.
    pub(super) fn untrusted_for(&self, id: &MailboxId) -> Option<&LeftOut> {
        self.untrusted.iter().find(|left| left.id.as_ref() == Some(id))
    }
}

/// What is left out, project by project, each with the command that shows it.
pub(super) fn left_out<'a>(all: impl IntoIterator<Item = &'a LeftOut>) -> Vec<(String, String)> {
    let mut projects: BTreeMap<&Path, Vec<&Key>> = BTreeMap::new();
    for left in all {
        let keys = projects.entry(&left.dir).or_default();
        if !keys.contains(&&left.key) {
            keys.push(&left.key);
        }
    }
    let told = |(dir, keys): (&Path, Vec<&Key>)| {
        let dir = visible::line(&dir.display().to_string());
        let agents: Vec<String> = keys
            .iter()
            .filter(|key| **key != &Key::Limits)
            .map(|key| format!("`{}`", visible::line(key.name())))
            .collect();
        let what = match agents.as_slice() {
            [] => format!("the limits of {dir} are left out until you have looked at them"),
            [one] => format!("the agent {one} of {dir} is left out until you have looked at it"),
            all => {
                format!("the agents {} of {dir} are left out until you have looked at them", all.join(", "))
            }
        };
        (what, format!("postroom trust {dir}"))
    };
    projects.into_iter().map(told).collect()
}

/// The person's record of trust.
pub(super) fn store() -> Result<Store, Fail> {
    Ok(Store::new(&surroundings::config()?))
}

/// Gathers everyone who is configured for the room of this command.
pub(super) fn gather(post: &Post) -> Result<Staff, Fail> {
    gather_some(post, |_| true)
}

/// Gathers those whose name is wanted.
pub(super) fn gather_some(post: &Post, wanted: impl Fn(&str) -> bool) -> Result<Staff, Fail> {
    let registry = post.registry()?;
    let room = post.room().settings();
    let mut sources = Sources { store: store()?, all: BTreeMap::new() };
    let (mut found, mut untrusted, mut settings): (Tables, _, _) = (BTreeMap::new(), vec![], None);
    let mut limit = |dir: &Path, agents: bool, said: Option<&DispatchSettings>| {
        if !agents && said.is_none() {
            return;
        }
        let source = sources.of(dir);
        source.limited = source.trusted.limits(&said.cloned().unwrap_or_default());
        match (source.limited, said) {
            (true, Some(said)) => settings = Some(said.clone()),
            (false, Some(_)) if !agents => untrusted.push(LeftOut {
                key: Key::Limits,
                dir: dir.to_owned(),
                name: String::new(),
                id: None,
            }),
            _ => {}
        }
    };
    if let Some((path, text)) = project_file()? {
        let dir = path.parent().unwrap_or(Path::new("/"));
        let read = Project::parse(&text, &path.display().to_string())
            .map_err(|e| Fail::told(Failure::Refused, e.to_string(), "docs/settings.md lists the keys"))?;
        limit(dir, !read.agents.is_empty(), read.dispatch.as_ref());
        let base: Arc<Path> = Arc::from(dir);
        found.extend(read.agents.into_iter().map(|(name, agent)| Table::own(name, agent, &base)));
    }
    for (name, stem, dir) in described(post) {
        if !found.contains_key(&name) && !room.agents.contains_key(&name) {
            let agent = Arc::new(described_agent(&stem));
            found.insert(name, Table { agent, base: dir.into(), key: Key::Described(stem) });
        }
    }
    // Agents write in rooms, so what is there is no more the person's own word than what a repository says.
    let base: Arc<Path> = Arc::from(post.room().path());
    limit(&base, !room.agents.is_empty(), room.dispatch.as_ref());
    found.extend(room.agents.iter().map(|(name, agent)| Table::own(name.clone(), agent.clone(), &base)));
    spread(&mut found, post);
    let mut presets = BTreeMap::new();
    let mut agents = vec![];
    let ids = registry.by_names();
    let vacant =
        registry.entries.iter().filter(|entry| is_of_tree(entry) && !found.contains_key(&entry.name));
    let vacant = vacant.map(|entry| (entry.name.clone(), entry.id.clone())).collect();
    for (name, table) in found.into_iter().filter(|(name, _)| wanted(name)) {
        let known = ids.get(name.as_str()).map(|entry| entry.id.clone());
        // Only now, after it is clear whose table it is: one that was edited must not give way to another.
        if !sources.of(&table.base).trusts(&table) {
            untrusted.push(LeftOut { key: table.key, dir: table.base.to_path_buf(), name, id: known });
            continue;
        }
        let Table { agent: settings, base, key } = table;
        let is_own = matches!(key, Key::Agent(_)) && *base != *post.room().path();
        let project = is_own.then(|| Arc::clone(&base));
        let wrong = |why: String| {
            let hint = "docs/dispatch.md tells what an agent needs";
            Fail::told(Failure::Refused, format!("[agents.{name}]: {why}"), hint)
        };
        let preset = checked(&settings, &mut presets).map_err(wrong)?;
        let cwd = settings.cwd.as_ref().map_or_else(|| Arc::clone(&base), |cwd| base.join(cwd).into());
        let id = match known {
            Some(id) => Some(id),
            None => {
                Name::parse(&name).map_err(|why| wrong(why.to_string()))?;
                post.addressee(&name).ok()
            }
        };
        agents.push((Agent { name, preset, settings, cwd, project, environment: vec![] }, id));
    }
    Ok(Staff { agents, settings: settings.unwrap_or_default(), untrusted, vacant })
}

/// The projects and rooms that tables come from.
struct Sources {
    store: Store,
    all: BTreeMap<PathBuf, Source>,
}

struct Source {
    trusted: Trusted,
    /// Whether the limits of its settings are trusted, under which the agents of its tables run.
    limited: bool,
}

impl Sources {
    fn of(&mut self, dir: &Path) -> &mut Source {
        let store = &self.store;
        let new = || Source { trusted: Trusted::of(store, dir), limited: false };
        self.all.entry(dir.to_owned()).or_insert_with(new)
    }
}

impl Source {
    fn trusts(&mut self, table: &Table) -> bool {
        let limited = self.limited || matches!(table.key, Key::Described(_));
        limited && self.trusted.agent(&table.key, &table.agent)
    }
}

/// The tables of agents by the names they are for.
type Tables = BTreeMap<String, Table>;

/// The settings of an agent, and the item and the directory that they come from.
#[derive(Clone)]
struct Table {
    agent: Arc<AgentSettings>,
    base: Arc<Path>,
    key: Key,
}

impl Table {
    fn own(name: String, agent: Arc<AgentSettings>, base: &Arc<Path>) -> (String, Self) {
        (name.clone(), Self { agent, base: Arc::clone(base), key: Key::Agent(name) })
    }
}

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

/// Agents of trees in the registry that have a file of their own: the name, that of the file, and the project.
fn described(post: &Post) -> Vec<(String, String, PathBuf)> {
    let Ok(registry) = post.registry() else { return vec![] };
    let place = |entry: &Entry| {
        let inbox = Path::new(&entry.inbox);
        let stem = inbox.file_name()?.to_str()?.to_owned();
        Some((entry.name.clone(), stem, tree::described_in(inbox)?))
    };
    registry.entries.iter().filter_map(place).collect()
}

fn is_of_tree(entry: &Entry) -> bool {
    tree::project_of(Path::new(&entry.inbox)).is_some()
}
