//! `postroom install --check`: what is installed, current or drifted. Creates and changes nothing.

use std::path::PathBuf;

use super::context::Context;
use super::fail::Fail;
use super::scene::Scene;
use super::surroundings::ThisProcess;
use crate::agents::change::FileState;
use crate::agents::install_files::Piece;
use crate::agents::ledger::{self, Ledger};
use crate::agents::probe::Trust;
use crate::agents::programs::Program;
use crate::agents::verify::Report;
use crate::hint::Hint;
use crate::message::visible;
use crate::post::Failure;
use crate::surroundings::state;
use crate::view::install as view;

/// The state of one program's files, and what the program itself reports.
struct Looked {
    scene: Scene,
    files: Vec<InstalledFile>,
    whole: FileState,
    report: Report,
}

/// A file of a program, and how it is.
struct InstalledFile {
    piece: Piece,
    state: FileState,
    /// The state, or why it could not be told.
    word: String,
}

/// Checks these programs. Exits 1 if one that is installed, or was `named`, is not as it should be, and if nothing is
/// installed.
pub(super) fn look(
    context: &mut Context,
    programs: &[&'static Program],
    project: Option<PathBuf>,
    name: Option<String>,
    named: bool,
) -> Result<(), Fail> {
    context.locate()?;
    let ledger = Ledger::look(&state(&ThisProcess)?)?;
    let (mut list, mut good, mut some) = (vec![], true, false);
    for spec in programs {
        let mut scene = Scene::look(context, spec, project.clone(), name.clone())?;
        let with = ledger.as_ref().map(|ledger| ledger.installed_with(spec.word, project.as_deref()));
        let with = with.transpose()?.flatten();
        let is_known = with.is_some();
        with.into_iter().for_each(|with| scene.expect(with));
        let looked = Looked::at(scene, is_known);
        let counts = named || looked.whole != FileState::Missing;
        good &= looked.is_good() || !counts;
        some |= counts;
        if context.output.json {
            list.push(looked.view());
        } else {
            looked.lines(context).iter().for_each(|line| context.output.line(line));
        }
    }
    if context.output.json {
        context.output.json(&view::InstallCheck { programs: list });
    }
    if good && some { Ok(()) } else { Err(Fail::Code(Failure::Nothing)) }
}

impl Looked {
    /// `is_known`: it was installed here. Without that, a part of it belongs to another program.
    fn at(scene: Scene, is_known: bool) -> Self {
        let files = scene.site.install_files(scene.spec).into_iter();
        let files: Vec<InstalledFile> = files
            .map(|piece| match ledger::state(&piece) {
                Ok(state) => InstalledFile { piece, state, word: state.as_str().to_owned() },
                Err(e) => InstalledFile { piece, state: FileState::Drifted, word: e.to_string() },
            })
            .collect();
        let all = |wanted: FileState| files.iter().all(|file| file.state == wanted);
        let whole = match () {
            () if all(FileState::Current) => FileState::Current,
            () if all(FileState::Missing) || !is_known => FileState::Missing,
            () => FileState::Drifted,
        };
        let report = if whole == FileState::Missing { Report::NOTHING } else { scene.report() };
        Self { scene, files, whole, report }
    }

    fn is_good(&self) -> bool {
        let Report { hooks, skill, server, trust } = &self.report;
        let is_seen = [hooks, skill, server].iter().all(|said| said.known() != Some(false));
        let is_trusted = trust.as_ref().is_none_or(|trust| *trust == Trust::Trusted);
        self.whole == FileState::Current && is_seen && is_trusted
    }

    fn view(&self) -> view::CheckedProgram {
        let file = |file: &InstalledFile| view::CheckedFile {
            path: file.piece.path.display().to_string(),
            state: file.word.clone(),
        };
        let (program, scope) = (self.scene.spec, self.scene.scope());
        let version = self.scene.version_shown();
        let files = self.files.iter().map(file).collect();
        view::CheckedProgram::of(program, scope, self.whole, version, files, &self.report)
    }

    /// What a program without skill and hooks needs. One that is not here needs nothing.
    fn missing(&self, context: &Context) -> Vec<String> {
        let (spec, version) = (self.scene.spec, self.scene.version_shown());
        if self.scene.file.is_none() {
            return vec![format!("{}: {version}", spec.title)];
        }
        let is_project = self.scene.site.project.is_some();
        let scope = if is_project { "this project" } else { "your user" };
        let words = ["install", spec.word, "--project"];
        let install = context.hint(Hint::run(&words[..if is_project { 3 } else { 2 }]));
        let line = format!("{} {version}: skill and hooks are not installed for {scope}", spec.title);
        vec![line, format!("  {install}")]
    }

    fn lines(&self, context: &Context) -> Vec<String> {
        if self.whole == FileState::Missing {
            return self.missing(context);
        }
        let (spec, state, version) = (self.scene.spec, self.whole.as_str(), self.scene.version_shown());
        let mut lines = vec![format!("{} {} {state} ({version})", spec.word, self.scene.scope())];
        lines.extend(self.scene.lines(&self.report).iter().map(|line| format!("  {line}")));
        let odd =
            |file: &&InstalledFile| self.whole == FileState::Drifted && file.state != FileState::Current;
        for InstalledFile { piece, word, .. } in self.files.iter().filter(odd) {
            lines.push(format!("  {} {}", visible::line(word), piece.path.display()));
        }
        lines.extend(self.report.trust.as_ref().map(|trust| format!("  {trust}")));
        lines
    }
}
