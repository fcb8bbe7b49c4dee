//! The workflows that can be started: in the project around the working directory, and in the program itself. A repository's
//! workflow is started only if the person trusts its current text.
//!
//! A start goes through [`FoundWorkflow::ready`], which needs no room, and [`ReadyWorkflow::begin`], which does. Errors name
//! what is wrong; what to type next is for the face to say.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};
use thiserror::Error as ThisError;

use crate::message::visible;
use crate::name::MailboxId;
use crate::post::{self, Failure, Post, USER};
use crate::surroundings::{self, Environment, above, config, project_file};
use crate::trust::{PLACES, Store, Trusted};
use crate::workflow::definition::Definition;
use crate::workflow::problem::Problem;
use crate::workflow::templates::{SHIPPED, shipped};
use crate::workflow::{inputs, reading, start};

/// A workflow that was found.
#[derive(Debug)]
pub struct FoundWorkflow {
    pub name: String,
    pub text: String,
    /// Its file. `None` for a shipped one.
    pub file: Option<PathBuf>,
    /// The directory in which its gates run.
    pub project: PathBuf,
}

/// A workflow that may be started, with its inputs.
#[derive(Debug)]
pub struct ReadyWorkflow<'a> {
    found: &'a FoundWorkflow,
    pub definition: Definition,
    inputs: Map<String, Json>,
}

/// Why a workflow is not found, or not started.
#[derive(Debug, ThisError)]
pub enum WorkflowError {
    #[error("there is no workflow `{name}`")]
    Unknown { name: String },
    #[error("there is no workflow `{}`", visible::clip(.name, 60))]
    BadName { name: String },
    #[error("there is no workflow `{}`: the file name is wrong", visible::clip(.name, 60))]
    BadFileName { name: String, file: PathBuf },
    #[error("there is no file {}", visible::line(&.file.display().to_string()))]
    NoFile { file: PathBuf },
    #[error("{}: {why}", .file.display())]
    Unreadable { file: PathBuf, why: String },
    /// Each line names the place of one problem.
    #[error("{}", .lines.join("\n"))]
    Wrong { name: String, lines: Vec<String> },
    /// Recipients that do not exist, each line with its place; `missing`: the names that nobody has.
    #[error("{}", .lines.join("\n"))]
    Strangers { lines: Vec<String>, missing: BTreeSet<String> },
    #[error("{shown} is not in the directory of a project's workflows")]
    NotCovered { shown: String },
    #[error("the workflow `{name}` of {} is left alone until you have looked at it", .project.display())]
    Untrusted { name: String, project: PathBuf, shown: String },
    /// `known`: how each input is given.
    #[error("{}", .wrong.join("\n"))]
    Inputs { wrong: Vec<String>, known: Vec<String> },
    #[error(transparent)]
    Surroundings(#[from] surroundings::Error),
    #[error(transparent)]
    Post(#[from] post::Error),
}

type Result<T> = std::result::Result<T, WorkflowError>;

impl WorkflowError {
    pub fn code(&self) -> Failure {
        match self {
            Self::Unknown { .. }
            | Self::BadName { .. }
            | Self::BadFileName { .. }
            | Self::NoFile { .. }
            | Self::Strangers { .. } => Failure::Unknown,
            Self::Unreadable { .. }
            | Self::Wrong { .. }
            | Self::NotCovered { .. }
            | Self::Untrusted { .. } => Failure::Refused,
            Self::Inputs { .. } => Failure::Usage,
            Self::Surroundings(e) => e.code(),
            Self::Post(e) => e.code(),
        }
    }
}

impl FoundWorkflow {
    /// Its file name for people.
    pub fn shown(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None => format!("{} (shipped)", self.name),
        }
    }

    /// Its path for a document. `None` for a shipped one.
    pub fn path(&self) -> Option<String> {
        self.file.as_ref().map(|file| file.display().to_string())
    }

    /// Whether its name allows it to be run.
    pub fn is_named(&self) -> bool {
        reading::is_name(&self.name)
    }

    pub fn parsed(&self) -> std::result::Result<Definition, Vec<Problem>> {
        reading::parse(&self.text, &self.name)
    }

    /// The definition, or an error with all problems.
    pub fn definition(&self) -> Result<Definition> {
        self.parsed().map_err(|problems| {
            let (name, lines) = (self.name.clone(), self.lines(&problems));
            WorkflowError::Wrong { name, lines }
        })
    }

    /// `FILE:LINE:COLUMN: what is wrong`, as editors expect it.
    pub fn line(&self, problem: &Problem) -> String {
        format!("{}:{}:{}: {}", self.shown(), problem.place.line, problem.place.column, problem.message)
    }

    fn lines(&self, problems: &[Problem]) -> Vec<String> {
        problems.iter().map(|problem| self.line(problem)).collect()
    }

    /// Refuses a repository's workflow until the person has trusted it.
    pub fn must_be_trusted(&self, environment: &dyn Environment) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let inside = file.strip_prefix(&self.project).unwrap_or(file);
        let is_own = PLACES.iter().any(|place| inside.parent() == Some(Path::new(place)));
        // A link leads to bytes that the trust does not cover.
        if !is_own || file.is_symlink() {
            return Err(WorkflowError::NotCovered { shown: self.shown() });
        }
        let store = Store::new(&config(environment)?);
        if Trusted::of(&store, &self.project).workflow(&inside.to_string_lossy(), &self.text) {
            return Ok(());
        }
        let (name, project, shown) = (self.name.clone(), self.project.clone(), self.shown());
        Err(WorkflowError::Untrusted { name, project, shown })
    }

    /// Checks definition, trust and inputs, which are given as text.
    pub fn ready(
        &self,
        environment: &dyn Environment,
        given: &[(String, String)],
    ) -> Result<ReadyWorkflow<'_>> {
        let definition = self.definition()?;
        self.must_be_trusted(environment)?;
        let inputs = inputs::resolve(&definition, given).map_err(|wrong| {
            let known = definition.inputs.iter().map(|input| {
                let needed = if input.default.is_none() { " (needed)" } else { "" };
                let known = format!("--input {}={}{needed} {}", input.name, input.kind.as_str(), input.about);
                known.trim_end().to_owned()
            });
            WorkflowError::Inputs { wrong, known: known.collect() }
        })?;
        Ok(ReadyWorkflow { found: self, definition, inputs })
    }
}

impl ReadyWorkflow<'_> {
    /// Refuses recipients that do not exist, as far as known before the run.
    pub fn check_recipients(&self, post: &Post) -> Result<()> {
        let strangers = start::strangers(post, &self.definition, Some(&self.inputs));
        let (lines, missing) = (self.found.lines(&strangers.problems), strangers.missing);
        if lines.is_empty() { Ok(()) } else { Err(WorkflowError::Strangers { lines, missing }) }
    }

    /// The agents of the run, as far as known before it.
    pub fn agents(&self, post: &Post) -> Vec<(String, MailboxId)> {
        start::agents(post, &self.definition, &self.inputs)
    }

    /// Starts a run and returns its id. Durable on return; nothing is sent before the run is carried.
    pub fn begin(self, post: &Post) -> Result<String> {
        self.check_recipients(post)?;
        let Self { found, definition, inputs } = self;
        let tree = start::tree_of(post, &definition, &inputs).or_else(|| {
            let claude = found.project.join(".claude");
            (found.file.is_some() && start::is_tree(&claude)).then_some(claude)
        });
        let by = post.me().map_or_else(|_| USER.to_owned(), |me| me.id.to_string());
        let (text, project) = (found.text.as_str(), found.project.clone());
        let beginning = start::Beginning { definition: &definition, text, inputs, project, tree, by: &by };
        Ok(start::begin(post, beginning)?)
    }
}

/// Finds a workflow by name, else the file of a path.
pub fn find_workflow(environment: &dyn Environment, name: &str) -> Result<FoundWorkflow> {
    if name.ends_with(".yaml") || name.ends_with(".yml") {
        let file = environment.here().map_or_else(|_| PathBuf::from(name), |here| here.join(name));
        let file = std::path::absolute(&file).unwrap_or(file);
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let project = file.ancestors().nth(3).map_or_else(|| PathBuf::from("/"), Path::to_owned);
        return Ok(FoundWorkflow { name: stem, text: read(&file)?, file: Some(file), project });
    }
    let (nearest, name) = (nearest(environment, name), name.to_owned());
    if !reading::is_name(&name) {
        return Err(match nearest {
            Some((_, file)) => WorkflowError::BadFileName { name, file },
            None => WorkflowError::BadName { name },
        });
    }
    if let Some((project, file)) = nearest {
        return Ok(FoundWorkflow { name, text: read(&file)?, file: Some(file), project });
    }
    let Some(text) = shipped(&name) else { return Err(WorkflowError::Unknown { name }) };
    let project = match project_file(environment)? {
        Some((file, _)) => file.parent().map(Path::to_owned),
        None => above(environment).into_iter().next(),
    };
    let project = project.unwrap_or_else(|| PathBuf::from("/"));
    Ok(FoundWorkflow { name, text: text.to_owned(), file: None, project })
}

/// The nearest project with a file of this name among its workflows, and that file.
fn nearest(environment: &dyn Environment, name: &str) -> Option<(PathBuf, PathBuf)> {
    if name.contains(['/', '\0']) {
        return None;
    }
    let files = PLACES.map(|place| ["yaml", "yml"].map(|end| format!("{place}/{name}.{end}")));
    above(environment).into_iter().find_map(|project| {
        let file = files.iter().flatten().map(|file| project.join(file)).find(|file| file.is_file())?;
        Some((project, file))
    })
}

/// All workflows that can be run from here. A nearer one hides one of the same name.
pub fn all_workflows(environment: &dyn Environment) -> Vec<FoundWorkflow> {
    let mut found: Vec<FoundWorkflow> = vec![];
    for project in above(environment) {
        for place in PLACES {
            let Ok(entries) = std::fs::read_dir(project.join(place)) else { continue };
            let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            files.sort();
            for file in files {
                let is_yaml = file.extension().is_some_and(|end| end == "yaml" || end == "yml");
                let Some(name) = file.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) else {
                    continue;
                };
                if !is_yaml || found.iter().any(|known| known.name == name) {
                    continue;
                }
                let text = read(&file).unwrap_or_default();
                found.push(FoundWorkflow { name, text, file: Some(file), project: project.clone() });
            }
        }
    }
    for (name, text) in SHIPPED {
        if !found.iter().any(|known| known.name == name) {
            let project = PathBuf::new();
            found.push(FoundWorkflow { name: name.to_owned(), text: text.to_owned(), file: None, project });
        }
    }
    found
}

fn read(file: &Path) -> Result<String> {
    let wrong = |why: String| WorkflowError::Unreadable { file: file.to_owned(), why };
    let metadata = std::fs::metadata(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => WorkflowError::NoFile { file: file.to_owned() },
        _ => wrong(e.to_string()),
    })?;
    // A pipe would block and a device never ends, so the kind is checked before opening.
    if !metadata.is_file() {
        return Err(wrong("it is not a file".to_owned()));
    }
    let mut bytes = vec![];
    let opened = std::fs::File::open(file).map_err(|e| wrong(e.to_string()))?;
    opened.take(reading::LIMIT + 1).read_to_end(&mut bytes).map_err(|e| wrong(e.to_string()))?;
    if bytes.len() as u64 > reading::LIMIT {
        return Err(wrong(format!("it is longer than {} bytes", reading::LIMIT)));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        wrong(format!("line {line} is no UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::post::{Caller, NewMailbox};
    use crate::surroundings::tests::Given;
    use crate::trust::Look;
    use crate::workflow::runs::Runs;

    const TEXT: &str =
        "inputs:\n  topic: {type: text}\nsteps:\n  a: {agent: one, prompt: '{{ inputs.topic }}'}\n";

    #[test]
    fn a_workflow_of_a_project_is_begun_when_it_is_trusted_and_its_inputs_and_agents_are_there() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let project = base.join("project");
        std::fs::create_dir_all(project.join(".postroom/workflows")).unwrap();
        std::fs::write(project.join(".postroom/workflows/topics.yaml"), TEXT).unwrap();
        std::fs::write(project.join(".postroom/workflows/Wrong.yaml"), TEXT).unwrap();
        let given = Given { here: project.clone(), home: Some(base.clone()), ..Given::default() };

        let names: Vec<String> = all_workflows(&given).into_iter().map(|found| found.name).collect();
        assert!(
            names.starts_with(&["Wrong".to_owned(), "topics".to_owned()]) && names.len() > 2,
            "{names:?}"
        );
        assert!(matches!(find_workflow(&given, "nothing"), Err(WorkflowError::Unknown { .. })));
        assert!(matches!(find_workflow(&given, "Wrong"), Err(WorkflowError::BadFileName { .. })));
        assert!(matches!(find_workflow(&given, "a b"), Err(WorkflowError::BadName { .. })));
        assert!(matches!(find_workflow(&given, "x.yaml"), Err(WorkflowError::NoFile { .. })));
        let found = find_workflow(&given, "topics").unwrap();
        let topic = [("topic".to_owned(), "mail".to_owned())];
        assert!(matches!(found.ready(&given, &topic), Err(WorkflowError::Untrusted { .. })));

        let store = Store::new(&config(&given).unwrap());
        let mut record = store.record(&project).unwrap();
        Look::at(&project).items().unwrap().iter().for_each(|item| record.trust(item));
        store.keep(&project, &record).unwrap();
        let missing = found.ready(&given, &[]);
        assert!(
            matches!(&missing, Err(WorkflowError::Inputs { known, .. }) if known.len() == 1),
            "{missing:?}"
        );
        let open =
            || Post::open_or_make(&base.join("room"), Caller::default(), Arc::new(SystemClock)).unwrap();
        let strangers = found.ready(&given, &topic).unwrap().begin(&open());
        assert!(matches!(strangers, Err(WorkflowError::Strangers { .. })), "{strangers:?}");
        open().setup(&NewMailbox { name: Some("one".into()), ..NewMailbox::default() }).unwrap();
        let post = open();
        let id = found.ready(&given, &topic).unwrap().begin(&post).unwrap();
        let record = Runs::existing(post.room()).unwrap().unwrap().record(&id).unwrap();
        assert_eq!((record.workflow.as_str(), &record.project), ("topics", &project));
        assert_eq!(record.inputs["topic"], "mail");
    }
}
