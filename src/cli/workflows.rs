//! Finds workflows: in the project around the working directory, and in the program itself.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::fail::Fail;
use super::staff;
use super::surroundings::ThisProcess;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::Failure;
use crate::surroundings::{above, project_file};
use crate::trust::{PLACES, Trusted};
use crate::workflow::definition::Definition;
use crate::workflow::problem::Problem;
use crate::workflow::reading;
use crate::workflow::templates::{SHIPPED, shipped};

/// A workflow that was found.
#[derive(Debug)]
pub(super) struct FoundWorkflow {
    pub(super) name: String,
    pub(super) text: String,
    /// Its file. `None` for a shipped one.
    pub(super) file: Option<PathBuf>,
    /// The directory in which its gates run.
    pub(super) project: PathBuf,
}

impl FoundWorkflow {
    /// Its file name for people.
    pub(super) fn shown(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None => format!("{} (shipped)", self.name),
        }
    }

    /// Its path for a document. `None` for a shipped one.
    pub(super) fn path(&self) -> Option<String> {
        self.file.as_ref().map(|file| file.display().to_string())
    }

    /// Whether its name allows it to be run.
    pub(super) fn is_named(&self) -> bool {
        reading::is_name(&self.name)
    }

    pub(super) fn parsed(&self) -> Result<Definition, Vec<Problem>> {
        reading::parse(&self.text, &self.name)
    }

    /// The definition, or an error with all problems.
    pub(super) fn definition(&self) -> Result<Definition, Fail> {
        self.parsed().map_err(|problems| self.wrong(&problems, Failure::Refused))
    }

    pub(super) fn wrong(&self, problems: &[Problem], code: Failure) -> Fail {
        let lines: Vec<String> = problems.iter().map(|problem| self.line(problem)).collect();
        let example = SHIPPED.iter().map(|(name, _)| *name).find(|name| *name != self.name);
        let compare =
            |name| Hint::run(&["workflow", "graph", name, "--yaml"]).to("one to compare it with").into();
        Fail::Told(code, lines.join("\n"), example.map(compare).into_iter().collect())
    }

    /// `FILE:LINE:COLUMN: what is wrong`, as editors expect it.
    pub(super) fn line(&self, problem: &Problem) -> String {
        format!("{}:{}:{}: {}", self.shown(), problem.place.line, problem.place.column, problem.message)
    }

    /// Refuses a repository's workflow until the person has trusted it.
    pub(super) fn must_be_trusted(&self) -> Result<(), Fail> {
        let Some(file) = &self.file else { return Ok(()) };
        let project = self.project.display();
        let inside = file.strip_prefix(&self.project).unwrap_or(file);
        let is_own = PLACES.iter().any(|place| inside.parent() == Some(Path::new(place)));
        // A link leads to bytes that the trust does not cover.
        if !is_own || file.is_symlink() {
            return Err(Fail::refused(
                format!("{} is no file among the workflows of a project", self.shown()),
                "only what `trust` covers is run: put it into .postroom/workflows/",
            ));
        }
        if Trusted::of(&staff::store()?, &self.project).workflow(&inside.to_string_lossy(), &self.text) {
            return Ok(());
        }
        Err(Fail::refused(
            format!("the workflow `{}` of {project} is left alone until you have looked at it", self.name),
            Hint::run(&["trust", &project.to_string()]).to(format!("after you have read {}", self.shown())),
        ))
    }
}

/// Finds a workflow by name, else the file of a path.
pub(super) fn find(name: &str) -> Result<FoundWorkflow, Fail> {
    if name.ends_with(".yaml") || name.ends_with(".yml") {
        let file = std::path::absolute(name).unwrap_or_else(|_| PathBuf::from(name));
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let project = file.ancestors().nth(3).map_or_else(|| PathBuf::from("/"), Path::to_owned);
        return Ok(FoundWorkflow { name: stem, text: read(&file)?, file: Some(file), project });
    }
    let nearest = nearest(name);
    if !reading::is_name(name) {
        if let Some((_, file)) = nearest {
            return Err(Fail::unknown(
                format!("there is no workflow `{}`: the file name is wrong", visible::clip(name, 60)),
                format!("rename {}: the name of a workflow is of a-z, 0-9, `-` and `_`", file.display()),
            ));
        }
        let hints = vec!["the name of a workflow is of a-z, 0-9, `-` and `_`".into(), list()];
        let why = format!("there is no workflow `{}`", visible::clip(name, 60));
        return Err(Fail::Told(Failure::Unknown, why, hints));
    }
    if let Some((project, file)) = nearest {
        return Ok(FoundWorkflow { name: name.to_owned(), text: read(&file)?, file: Some(file), project });
    }
    match shipped(name) {
        Some(text) => {
            let project = match project_file(&ThisProcess)? {
                Some((file, _)) => file.parent().map(Path::to_owned),
                None => above(&ThisProcess).into_iter().next(),
            };
            let project = project.unwrap_or_else(|| PathBuf::from("/"));
            Ok(FoundWorkflow { name: name.to_owned(), text: text.to_owned(), file: None, project })
        }
        None => Err(Fail::Told(
            Failure::Unknown,
            format!("there is no workflow `{name}`"),
            vec![list(), "a new one is .postroom/workflows/NAME.yaml".into()],
        )),
    }
}

fn list() -> Hint {
    Hint::run(&["workflow", "list"]).to("shows them").into()
}

/// The nearest project with a file of this name among its workflows, and that file.
fn nearest(name: &str) -> Option<(PathBuf, PathBuf)> {
    if name.contains(['/', '\0']) {
        return None;
    }
    let files = PLACES.map(|place| ["yaml", "yml"].map(|end| format!("{place}/{name}.{end}")));
    above(&ThisProcess).into_iter().find_map(|project| {
        let file = files.iter().flatten().map(|file| project.join(file)).find(|file| file.is_file())?;
        Some((project, file))
    })
}

/// All workflows that can be run from here. A nearer one hides one of the same name.
pub(super) fn all() -> Vec<FoundWorkflow> {
    let mut found: Vec<FoundWorkflow> = vec![];
    for project in above(&ThisProcess) {
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

fn read(file: &Path) -> Result<String, Fail> {
    let wrong = |why: String| {
        Fail::refused(format!("{}: {why}", file.display()), "a workflow is a YAML file of text")
    };
    let metadata = std::fs::metadata(file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Fail::Told(
            Failure::Unknown,
            format!("there is no file {}", visible::line(&file.display().to_string())),
            vec![list(), "a workflow of the project is named without .yaml".into()],
        ),
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
