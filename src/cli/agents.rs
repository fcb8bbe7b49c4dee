//! `postroom agents`.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, GREEN, PLAIN, RED};
use super::surroundings::ThisProcess;
use super::{Verb, staff};
use crate::agents::probe::FOR_VERSION;
use crate::clock::SystemClock;
use crate::dispatch::paused::Pause;
use crate::dispatch::runs::Runs;
use crate::message::visible;
use crate::post::Failure;
use crate::process::child::{self, Next};
use crate::process::presets::Preset;
use crate::surroundings::program_from;
use crate::view;

/// Show the agents: for which mailbox, with which program
#[derive(Debug, Args)]
pub(super) struct Agents {}

impl Verb for Agents {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post()?;
        let staff = staff::gather(post)?;
        let mut missing = false;
        let runs = Runs::existing(post.room())?;
        let mut list: Vec<(view::agents::Agent<'_>, Vec<Pause>)> = vec![];
        for (agent, id) in &staff.agents {
            let program = agent.program().map(|(program, _)| program.to_owned()).unwrap_or_default();
            let there = program_from(&ThisProcess, &program, &agent.cwd);
            let version = there.as_ref().filter(|_| !agent.preset.plain).and_then(|path| version(path));
            missing |= there.is_none() || id.is_none();
            let state = match (&there, id) {
                (None, _) => "missing".to_owned(),
                (_, None) => "no mailbox".to_owned(),
                _ => version.clone().unwrap_or_else(|| "there".to_owned()),
            };
            let settings = &agent.settings;
            let pauses = match (&runs, id) {
                (Some(runs), Some(id)) => runs.pauses(id.as_str(), post.room().clock().now())?,
                _ => vec![],
            };
            if context.output.json {
                let shown = view::agents::Agent::of(agent, id.as_ref(), program, there.is_some(), version);
                list.push((shown, pauses));
                continue;
            }
            let (name, access) = (agent.name.clone(), settings.access.as_str().to_owned());
            let mut line = visible::line(&format!("{name} {} {access} {program} {state}", settings.preset));
            let about = settings.about.clone().unwrap_or_default();
            if settings.about.is_some() {
                line.push_str(&format!(": {}", visible::line(&about)));
            }
            for pause in &pauses {
                line.push_str(&format!("; {}", visible::line(&pause.line())));
            }
            let about = pauses.iter().fold(about, |about, pause| format!("{about} {}", pause.line()));
            let style = if there.is_none() || id.is_none() { RED } else { GREEN };
            let facts = [settings.preset.clone(), access, program].map(|fact| (PLAIN, fact));
            let cells = [(BOLD, name)].into_iter().chain(facts).chain([(style, state), (PLAIN, about)]);
            context.output.entry(&cells.collect::<Vec<_>>(), &line);
        }
        if context.output.json {
            let untrusted = staff.untrusted.iter().map(|left| {
                let (item, directory) = (left.key.to_string(), left.dir.display().to_string());
                view::agents::Untrusted { item, agent: &left.name, directory }
            });
            let paused = |(agent, pauses): &mut (view::agents::Agent<'_>, Vec<Pause>)| {
                agent.paused = std::mem::take(pauses).iter().map(view::stop::Pause::of).collect();
            };
            list.iter_mut().for_each(paused);
            let agents = list.into_iter().map(|(agent, _)| agent).collect();
            context.output.json(&view::agents::Agents { agents, untrusted: untrusted.collect() });
        }
        staff::tell_untrusted(context, &staff);
        if staff.agents.is_empty() {
            return Err(context.nothing(match staff.untrusted.is_empty() {
                true => "no agent is configured",
                false => "no agent may be started yet",
            }));
        }
        if missing { Err(Fail::Code(Failure::NotDone)) } else { Ok(()) }
    }
}

/// The version that a program reports, within a time limit.
#[allow(clippy::disallowed_methods, reason = "what is written to /dev/null is on no disk")]
fn version(path: &std::path::Path) -> Option<String> {
    let nowhere = || File::options().write(true).open("/dev/null").ok();
    let ended = child::run(
        Command::new(path).arg("--version").env(FOR_VERSION.0, FOR_VERSION.1),
        vec![],
        &Preset::of_text(),
        (nowhere()?, nowhere()?),
        Duration::from_secs(10),
        &SystemClock,
        |_, _| Next::GoOn,
    );
    let text = ended.ok()?.found.ok()?.text;
    let line = text.lines().find(|line| line.chars().any(|c| c.is_ascii_digit()))?.trim().to_owned();
    Some(visible::clip(&line, 60))
}
