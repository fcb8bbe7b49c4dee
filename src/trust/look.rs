//! A look at a project: the items it would run, each with its description.
//!
//! The description is made of the parsed values, so a caller runs exactly what it compared with the record. The
//! description of an agent is its table and the files that its program reads in its working directory; that of a
//! workflow is its text.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde::Deserialize;

use super::covered::Covered;
use super::item::{Item, Key, What, plain};
use super::{Error, Result, table};
use crate::mailbox::{Dir, IfAny, fault};
use crate::settings;
use crate::settings::agents::{AgentSettings, Agents, DispatchSettings};
use crate::workflow::definition::Gate;
use crate::workflow::problem::Problem;
use crate::workflow::reading;

/// The folders of a project's workflows.
pub const PLACES: [&str; 2] = [".postroom/workflows", ".claude/workflows"];

/// The settings of a tree's agent that has its own file and no table.
pub fn described_agent(name: &str) -> AgentSettings {
    AgentSettings {
        preset: "claude".to_owned(),
        described: Some(name.to_owned()),
        ..AgentSettings::default()
    }
}

/// A project that is looked at.
#[derive(Debug)]
pub struct Look {
    covered: Covered,
    /// The lines about the last working directory, which many agents share.
    place: Option<(OsString, PlaceLines)>,
}

/// What the description of an agent says about its working directory.
#[derive(Debug, Clone)]
struct PlaceLines {
    directory: String,
    /// The repository, if it is another one than the project.
    repository: Option<String>,
}

impl Look {
    /// Looks at a project, or at a worktree in which its agents work.
    pub fn at(project: &Path) -> Self {
        Self { covered: Covered::new(project), place: None }
    }

    pub fn project(&self) -> &Path {
        &self.covered.project
    }

    /// Everything that the files of the project would run now.
    pub fn items(&mut self) -> Result<Vec<Item>> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Said {
            agents: Agents,
            dispatch: Option<DispatchSettings>,
        }
        let dir = Dir::outside(self.project())?;
        let mut items = vec![];
        if let Some(text) = dir.read(settings::FILE, settings::LARGEST)? {
            let said: Said = toml::from_str(&String::from_utf8_lossy(&text)).map_err(|e| {
                Error::Settings { path: self.project().join(settings::FILE), why: e.to_string() }
            })?;
            if !said.agents.is_empty() || said.dispatch.is_some() {
                items.push(self.limits(&said.dispatch.unwrap_or_default()));
            }
            for (name, settings) in &said.agents {
                items.push(self.agent(&Key::Agent(name.clone()), settings)?);
            }
        }
        for name in names(&dir, ".claude/agents", &[".md"], ".claude/inboxes")? {
            let name = name.strip_suffix(".md").unwrap_or(&name);
            items.push(self.agent(&Key::Described(name.to_owned()), &described_agent(name))?);
        }
        for place in PLACES {
            for name in names(&dir, place, &[".yaml", ".yml"], place)? {
                let (file, folder) = (format!("{place}/{name}"), Dir::outside(&dir.path().join(place))?);
                // A file that is not text, or too long, cannot be run.
                let text = match folder.read(&name, reading::LIMIT) {
                    Err(fault::Error::TooLarge { .. }) => continue,
                    other => other?.map(String::from_utf8),
                };
                if let Some(Ok(text)) = text {
                    items.push(self.workflow(&file, &text));
                }
            }
        }
        Ok(items)
    }

    /// The limits in a settings file.
    pub fn limits(&self, limits: &DispatchSettings) -> Item {
        Item { key: Key::Limits, what: What::Limits, description: table::of_limits(limits) }
    }

    /// An agent: a table, or one of `.claude/agents/`.
    pub fn agent(&mut self, key: &Key, settings: &AgentSettings) -> Result<Item> {
        let description = self.agent_described(settings)?;
        let is_file = |line: &&String| line.starts_with("reads ") || line.starts_with("link ");
        let path = |line: &String| {
            let (_, rest) = line.split_once(' ')?;
            Some(rest.rsplit_once(" sha256:").map_or(rest, |(path, _)| path).to_owned())
        };
        let what = What::Agent {
            command: table::command(settings),
            directory: plain(&self.covered.shown(&self.cwd(settings)?)),
            access: settings.access.as_str(),
            variables: table::variables(settings),
            reads: description.iter().filter(is_file).filter_map(path).collect(),
        };
        Ok(Item { key: key.clone(), what, description })
    }

    /// The description of an agent alone, which every look of a dispatcher asks for.
    pub(super) fn agent_described(&mut self, settings: &AgentSettings) -> Result<Vec<String>> {
        let cwd = self.cwd(settings)?;
        self.described_in(settings, &cwd)
    }

    /// The description of an agent in the directory of one run, which stands for its own: it is the same if the files
    /// that its program reads are. `worktree`: the top of the repository that a worktree stands for, and the worktree.
    pub(super) fn agent_described_in(
        &mut self,
        settings: &AgentSettings,
        cwd: &Path,
        worktree: Option<(&Path, &Path)>,
    ) -> Result<Vec<String>> {
        let own = self.cwd(settings)?;
        self.place = None;
        self.covered.moved = [(own.as_path(), cwd)]
            .into_iter()
            .chain(worktree)
            .map(|(meant, own)| (meant.to_owned(), own.to_owned()))
            .collect();
        self.described_in(settings, cwd)
    }

    fn described_in(&mut self, settings: &AgentSettings, cwd: &Path) -> Result<Vec<String>> {
        let place = match self.place.take() {
            Some((known, lines)) if known == cwd.as_os_str() => lines,
            _ => self.lines_about(cwd),
        };
        let mut description = table::of_agent(settings, &place.directory);
        description.extend(place.repository.clone());
        self.place = Some((cwd.as_os_str().to_owned(), place));
        description.extend(self.covered.read_by(&settings.preset, cwd)?);
        Ok(description)
    }

    fn lines_about(&self, cwd: &Path) -> PlaceLines {
        let above = self.covered.above(cwd);
        let is_other = self.covered.meant(above) != self.project();
        PlaceLines {
            directory: plain(&self.covered.shown(cwd)),
            repository: is_other.then(|| format!("repository: {}", plain(&self.covered.shown(above)))),
        }
    }

    /// The directory in which an agent works.
    fn cwd(&self, settings: &AgentSettings) -> Result<PathBuf> {
        let cwd = match &settings.cwd {
            None => self.project().to_owned(),
            Some(cwd) => {
                let cwd = settings::lexical(&self.project().join(cwd));
                // A missing directory has nothing to read; once it exists, its files count.
                std::fs::canonicalize(&cwd).unwrap_or(cwd)
            }
        };
        if cwd.to_str().is_none() { Err(Error::Uncovered { path: cwd }) } else { Ok(cwd) }
    }

    /// A workflow file, relative to the project. Its description is its text.
    pub fn workflow(&self, file: &str, text: &str) -> Item {
        let key = Key::Workflow(file.to_owned());
        let (mut commands, mut agents, mut faults) = (vec![], BTreeSet::new(), vec![]);
        match reading::parse(text, key.name()) {
            Ok(definition) => {
                for step in definition.steps {
                    commands.extend(step.gates.into_iter().filter_map(|gate| match gate {
                        Gate::Command { command, .. } => Some((step.name.clone(), command)),
                        _ => None,
                    }));
                    agents.insert(step.agent.source);
                }
            }
            Err(problems) => {
                let place = |p: &Problem| format!("{}:{}: {}", p.place.line, p.place.column, p.message);
                faults.extend(problems.iter().map(place));
            }
        }
        let what = What::Workflow { commands, agents: agents.into_iter().collect(), faults };
        Item { key, what, description: text.split('\n').map(str::to_owned).collect() }
    }
}

/// The plain files in a folder with one of these endings. None unless the folder `beside` exists too.
fn names(dir: &Dir, folder: &str, ends: &[&str], beside: &str) -> Result<Vec<String>> {
    let Some(_) = sub(dir, beside)? else { return Ok(vec![]) };
    let Some(folder) = sub(dir, folder)? else { return Ok(vec![]) };
    let is_wanted = |name: &str| ends.iter().any(|end| name.ends_with(end));
    Ok(folder.names(|name, kind| kind == FileType::RegularFile && is_wanted(name))?)
}

/// A folder below a directory. `None` for a file (`.postroom` is one in a room), and for a link, which leads out of the
/// project.
fn sub(dir: &Dir, path: &str) -> Result<Option<Dir>> {
    let mut at: Option<Dir> = None;
    for name in path.split('/') {
        let above = at.as_ref().unwrap_or(dir);
        let kind = above.stat(name).if_any()?.map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind != Some(FileType::Directory) {
            return Ok(None);
        }
        at = Some(above.sub(name)?);
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new(settings: &str) -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            place.write(settings::FILE, settings);
            place
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn items(&self) -> Vec<Item> {
            Look::at(self.0.path()).items().unwrap()
        }

        /// The items whose fingerprints are affected by a change.
        fn changed(&self, change: impl FnOnce(&Self)) -> Vec<String> {
            let before = self.items();
            change(self);
            let kept = |item: &Item| before.iter().any(|old| old.fingerprint() == item.fingerprint());
            self.items().iter().filter(|item| !kept(item)).map(|item| item.key.to_string()).collect()
        }
    }

    const TWO: &str = "[agents.a]\npreset = \"claude\"\n[agents.b]\npreset = \"codex\"\ncwd = \"sub\"\n";

    #[test]
    fn every_value_of_a_table_counts() {
        let place = Place::new(TWO);
        std::fs::create_dir(place.0.path().join("sub")).unwrap();
        for line in [
            "command = [\"x\"]",
            "access = \"full\"",
            "model = \"m\"",
            "time_limit = \"1801s\"",
            "retries = 1",
            "concurrency = 2",
            "env = [\"TOKEN\"]",
            "about = \"x\"",
            "session = true",
            "answers = \"keep\"",
            "batch = 2",
            "from = [\"other\"]",
            "worktree = true",
        ] {
            let changed = place.changed(|place| place.write(settings::FILE, &format!("{TWO}{line}\n")));
            assert_eq!(changed, ["agent b"], "{line}");
            place.write(settings::FILE, TWO);
        }
        let elsewhere = TWO.replace("sub", "other");
        assert_eq!(place.changed(|place| place.write(settings::FILE, &elsewhere)), ["agent b"]);
        let remark = format!("# remark\n{elsewhere}");
        assert!(place.changed(|place| place.write(settings::FILE, &remark)).is_empty());
    }

    #[test]
    fn every_limit_counts() {
        let place = Place::new(TWO);
        for line in
            ["parallel = 1", "hops = 1", "thread_runs = 1", "hour_runs = 1", "back_off = 1", "day_cost = 1.5"]
        {
            let text = format!("{TWO}[dispatch]\n{line}\n");
            assert_eq!(place.changed(|place| place.write(settings::FILE, &text)), ["limits"], "{line}");
        }
    }

    #[test]
    fn a_worktree_of_the_same_files_has_the_same_fingerprints() {
        let (one, other) = (Place::new(TWO), Place::new(TWO));
        for place in [&one, &other] {
            place.write(".git", "gitdir: elsewhere\n");
            place.write("sub/AGENTS.md", "x");
            place.write(".claude/settings.json", "{}");
        }
        let numbers = |place: &Place| place.items().iter().map(Item::fingerprint).collect::<Vec<_>>();
        assert_eq!(numbers(&one), numbers(&other));
        assert_eq!(other.changed(|place| place.write("sub/AGENTS.md", "y")), ["agent b"]);
        assert_eq!(other.changed(|place| place.write(".mcp.json", "{}")), ["agent a"]);
    }

    /// A nested repository would have hidden what is above it.
    #[test]
    fn a_repository_further_down_hides_nothing() {
        let place = Place::new(TWO);
        place.write("sub/.git/HEAD", "x");
        assert_eq!(place.changed(|place| place.write("AGENTS.md", "x")), ["agent b"]);
    }

    #[test]
    fn agents_of_a_tree_and_workflows_are_items() {
        let place = Place::new("");
        place.write(".claude/agents/explore.md", "look");
        assert!(place.items().is_empty(), "without inboxes it is no tree");
        std::fs::create_dir(place.0.path().join(".claude/inboxes")).unwrap();
        let text = "steps:\n  a: {agent: x, prompt: y, gate: {command: [make, it]}}\n";
        place.write(".claude/workflows/build.yml", text);
        place.write(".claude/workflows/wrong.yaml", "steps: 1\n");
        let items = place.items();
        let keys: Vec<String> = items.iter().map(|item| item.key.to_string()).collect();
        assert_eq!(
            keys,
            [
                "agent explore (.claude/agents/explore.md)",
                "workflow build (.claude/workflows/build.yml)",
                "workflow wrong (.claude/workflows/wrong.yaml)",
            ]
        );
        let What::Workflow { commands, agents, .. } = &items[1].what else { panic!("{items:?}") };
        assert_eq!(commands, &[("a".to_owned(), vec!["make".to_owned(), "it".to_owned()])]);
        assert_eq!(agents, &["x"]);
        assert!(matches!(&items[2].what, What::Workflow { faults, .. } if faults.len() == 1));
        let changed = place.changed(|place| place.write(".claude/workflows/build.yml", &format!("{text}\n")));
        assert_eq!(changed, ["workflow build (.claude/workflows/build.yml)"]);
    }
}
