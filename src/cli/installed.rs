//! `postroom install --check`: what is installed, current or drifted. Creates and changes nothing.

use std::path::PathBuf;

use super::context::Context;
use super::fail::Fail;
use super::scene::{Scene, said_shown};
use super::surroundings::ThisProcess;
use crate::agents::change::FileState;
use crate::agents::install_files::Piece;
use crate::agents::ledger::{self, Ledger};
use crate::agents::probe::{Said, Trust};
use crate::agents::programs::Program;
use crate::message::visible;
use crate::post::Failure;
use crate::surroundings::state;
use crate::view::install as view;

/// The state of one program's files, and what the program itself reports.
struct Looked {
    scene: Scene,
    states: Vec<(Piece, String, FileState)>,
    whole: FileState,
    said: Said,
    trust: Option<Trust>,
}

/// Checks these programs; exits 1 if one is not as it should be.
pub(super) fn look(
    context: &mut Context,
    programs: Vec<&'static Program>,
    project: Option<PathBuf>,
    name: Option<String>,
) -> Result<(), Fail> {
    context.locate()?;
    let ledger = Ledger::look(&state(&ThisProcess)?)?;
    let (mut list, mut good) = (vec![], true);
    for spec in programs {
        let mut scene = Scene::look(context, spec, project.clone(), name.clone())?;
        let with = ledger.as_ref().map(|ledger| ledger.installed_with(spec.word, project.as_deref()));
        if let Some(with) = with.transpose()?.flatten() {
            scene.site.roots = with.roots;
            scene.site.name = name.clone().or(with.name);
            scene.site.bodies = with.bodies;
            scene.site.types = with.types;
        }
        let looked = Looked::at(scene);
        good &= looked.is_good();
        if context.output.json {
            list.push(looked.view());
        } else {
            looked.lines().iter().for_each(|line| context.output.line(line));
        }
    }
    if context.output.json {
        context.output.json(&view::InstallCheck { programs: list });
    }
    if good { Ok(()) } else { Err(Fail::Code(Failure::Nothing)) }
}

impl Looked {
    fn at(scene: Scene) -> Self {
        let files = scene.site.install_files(scene.spec).into_iter();
        let states: Vec<(Piece, String, FileState)> = files
            .map(|piece| match ledger::state(&piece) {
                Ok(state) => (piece, state.as_str().to_owned(), state),
                Err(e) => (piece, e.to_string(), FileState::Drifted),
            })
            .collect();
        let all = |wanted: FileState| states.iter().all(|(_, _, state)| *state == wanted);
        let whole = match () {
            () if all(FileState::Current) => FileState::Current,
            () if all(FileState::Missing) => FileState::Missing,
            () => FileState::Drifted,
        };
        let (said, trust) = if whole == FileState::Missing { (Said::Nothing, None) } else { scene.probe() };
        Self { scene, states, whole, said, trust }
    }

    fn is_good(&self) -> bool {
        self.whole == FileState::Current && self.trust.as_ref().is_none_or(|trust| *trust == Trust::Trusted)
    }

    fn view(&self) -> view::CheckedProgram {
        let file = |(piece, word, _): &(Piece, String, FileState)| view::CheckedFile {
            path: piece.path.display().to_string(),
            state: word.clone(),
        };
        let (which, version) = ((self.scene.spec.word, self.scene.scope()), self.scene.version_shown());
        let files = self.states.iter().map(file).collect();
        view::CheckedProgram::of(which, self.whole, version, files, (&self.said, self.trust.as_ref()))
    }

    fn lines(&self) -> Vec<String> {
        let (spec, state, version) = (self.scene.spec, self.whole.as_str(), self.scene.version_shown());
        let more = match self.whole {
            FileState::Missing => String::new(),
            _ => format!(": {}", said_shown(&self.said)),
        };
        let mut lines = vec![format!("{} {} {state} ({version}){more}", spec.word, self.scene.scope())];
        let odd = |(_, _, state): &&(Piece, String, FileState)| {
            self.whole == FileState::Drifted && *state != FileState::Current
        };
        for (piece, word, _) in self.states.iter().filter(odd) {
            lines.push(format!("  {} {}", visible::line(word), piece.path.display()));
        }
        lines.extend(self.trust.as_ref().map(|trust| format!("  {trust}")));
        lines
    }
}
