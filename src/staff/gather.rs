//! Gathers the configured agents: tables, the descriptions of a tree, and what of them the person trusts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Error, LeftOut, Result, Staff};
use crate::dispatch::supervisor::Agent;
use crate::mailbox::tree;
use crate::name::Name;
use crate::post::{Names, Post};
use crate::process::presets::{self, Preset};
use crate::registry::Entry;
use crate::settings::Project;
use crate::settings::agents::{AgentSettings, DispatchSettings};
use crate::settings::worktree::Worktree;
use crate::surroundings::{self, Environment, project_file};
use crate::trust::{Key, Store, Trusted, described_agent};

/// Gathers all agents configured for a room whose name is wanted. `store`: what the person has trusted.
pub fn gather(
    environment: &dyn Environment,
    store: Store,
    post: &Post,
    wanted: impl Fn(&str) -> bool,
) -> Result<Staff> {
    let registry = post.registry()?;
    let room = post.room().settings();
    let mut sources = Sources { store, all: BTreeMap::new() };
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
    if let Some((path, text)) = project_file(environment)? {
        let dir = path.parent().unwrap_or(Path::new("/"));
        let read = Project::parse(&text, &path.display().to_string()).map_err(surroundings::Error::from)?;
        limit(dir, !read.agents.is_empty(), read.dispatch.as_ref());
        let base: Arc<Path> = Arc::from(dir);
        found.extend(read.agents.into_iter().map(|(name, agent)| Table::own(name, agent, &base)));
    }
    for DescribedAgent { name, file, project } in described(post) {
        if !found.contains_key(&name) && !room.agents.contains_key(&name) {
            let agent = Arc::new(described_agent(&file));
            found.insert(name, Table { agent, base: project.into(), key: Key::Described(file) });
        }
    }
    // Agents can write in rooms, so a room's settings need trust as much as a repository's.
    let base: Arc<Path> = Arc::from(post.room().path());
    limit(&base, !room.agents.is_empty(), room.dispatch.as_ref());
    found.extend(room.agents.iter().map(|(name, agent)| Table::own(name.clone(), agent.clone(), &base)));
    spread(&mut found, post);
    let mut presets = BTreeMap::new();
    let (mut agents, mut tables) = (vec![], BTreeMap::new());
    let ids = registry.by_names();
    let vacant =
        registry.entries.iter().filter(|entry| is_of_tree(entry) && !found.contains_key(&entry.name));
    let vacant = vacant.map(|entry| (entry.name.clone(), entry.id.clone())).collect();
    for (name, table) in found.into_iter().filter(|(name, _)| wanted(name)) {
        let entry = ids.get(name.as_str());
        let known = entry.map(|entry| entry.id.clone());
        // Only after the table is chosen: an edited table must not be replaced by another one.
        if !sources.of(&table.base).trusts(&table) {
            untrusted.push(LeftOut { key: table.key, dir: table.base.to_path_buf(), name, id: known });
            continue;
        }
        let Table { agent: settings, base, key } = table;
        let is_own = matches!(key, Key::Agent(_)) && *base != *post.room().path();
        let project = is_own.then(|| Arc::clone(&base));
        let wrong = |why: String| Error::Table { name: name.clone(), why };
        let preset = checked(&settings, &mut presets).map_err(wrong)?;
        let protocol = entry.and_then(|entry| entry.text("protocol"));
        if let (Worktree::OnBranch(_), Some(protocol)) = (&settings.worktree, protocol) {
            return Err(wrong(format!(
                "`worktree` is not possible for a mailbox of the protocol {protocol}: its messages are files of the \
                 project, and a worktree would have copies of them"
            )));
        }
        tables.insert(name.clone(), (key, base.to_path_buf()));
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
    Ok(Staff { agents, settings: settings.unwrap_or_default(), untrusted, vacant, tables })
}

/// The projects and rooms that define tables.
struct Sources {
    store: Store,
    all: BTreeMap<PathBuf, Source>,
}

struct Source {
    trusted: Trusted,
    /// Whether the limits for the agents of its tables are trusted.
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

/// The tables of agents by name.
type Tables = BTreeMap<String, Table>;

/// The settings of an agent, with their item and directory.
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

/// Replaces each pattern by the matching mailboxes without a table of their own.
fn spread(tables: &mut Tables, post: &Post) {
    let is_pattern = |name: &String| name.contains(['*', '?']);
    if !tables.keys().any(is_pattern) {
        return;
    }
    let (patterns, plain): (Tables, Tables) =
        std::mem::take(tables).into_iter().partition(|(name, _)| is_pattern(name));
    *tables = plain;
    let entries = post.registry().map(|registry| registry.entries.as_slice()).unwrap_or_default();
    // The longest matching pattern is the most specific.
    let mut patterns: Vec<_> = patterns.into_iter().collect();
    patterns.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
    for (pattern, table) in patterns {
        let meant = Names { patterns: vec![pattern], about: None };
        for entry in entries.iter().filter(|entry| meant.fits(entry)) {
            tables.entry(entry.name.clone()).or_insert_with(|| table.clone());
        }
    }
}

/// The preset of an agent with a valid table, else its problem.
fn checked(
    settings: &AgentSettings,
    presets: &mut BTreeMap<String, Arc<Preset>>,
) -> std::result::Result<Arc<Preset>, String> {
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

/// An agent of a registered tree that has its own file.
struct DescribedAgent {
    name: String,
    /// The name of its file, without the ending.
    file: String,
    project: PathBuf,
}

fn described(post: &Post) -> Vec<DescribedAgent> {
    let Ok(registry) = post.registry() else { return vec![] };
    let place = |entry: &Entry| {
        let inbox = Path::new(&entry.inbox);
        let file = inbox.file_name()?.to_str()?.to_owned();
        Some(DescribedAgent { name: entry.name.clone(), file, project: tree::described_in(inbox)? })
    };
    registry.entries.iter().filter_map(place).collect()
}

fn is_of_tree(entry: &Entry) -> bool {
    tree::project_of(Path::new(&entry.inbox)).is_some()
}
