//! `postroom agents` and `postroom runs`.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use clap::Args;

use super::context::Context;
use super::fail::Fail;
use super::output::{BOLD, GREEN, PLAIN, RED};
use super::surroundings::ThisProcess;
use super::{Verb, dispatch, staff};
use crate::clock::SystemClock;
use crate::dispatch::paused::Pause;
use crate::dispatch::runs::Runs;
use crate::hint::Hint;
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
            return Err(context.nothing("no agent is configured"));
        }
        if missing { Err(Fail::Code(Failure::NotDone)) } else { Ok(()) }
    }
}

/// The version that a program reports, within a time limit.
#[allow(clippy::disallowed_methods, reason = "what is written to /dev/null is on no disk")]
fn version(path: &std::path::Path) -> Option<String> {
    let nowhere = || File::options().write(true).open("/dev/null").ok();
    let ended = child::run(
        Command::new(path).arg("--version"),
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

/// Show the runs of agents, or the output of one run
#[derive(Debug, Args)]
pub(super) struct RunsOf {
    /// A run, by the beginning of its id
    id: Option<String>,
    /// At most this many, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Verb for RunsOf {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post()?;
        let runs = Runs::open(post.room())?;
        let ids = runs.ids()?;
        let Some(wanted) = &self.id else {
            let newest = ids[ids.len().saturating_sub(self.limit)..].iter();
            let newest: Vec<_> = newest.filter_map(|id| runs.get(id).ok().flatten()).collect();
            let document = view::run::Runs::of(&newest);
            context.output.list(&document, &newest, dispatch::show);
            return if newest.is_empty() { Err(context.nothing("no agent was started")) } else { Ok(()) };
        };
        let fits = |id: &&String| id.starts_with(wanted.as_str()) || id.ends_with(wanted.as_str());
        let fitting: Vec<_> = ids.iter().filter(fits).filter_map(|id| runs.get(id).ok().flatten()).collect();
        let [run] = fitting.as_slice() else {
            let why = format!("{} runs are called `{}`", fitting.len(), visible::clip(wanted, 60));
            return Err(Fail::unknown(why, Hint::run(&["runs"]).to("lists them")));
        };
        let (out, err) = runs.output(&run.id, 64 * 1024 * 1024)?;
        let (out, err) =
            (String::from_utf8_lossy(&out).into_owned(), String::from_utf8_lossy(&err).into_owned());
        if context.output.json {
            context.output.json(&view::run::RunOutput { run: run.into(), out: &out, err: &err });
            return Ok(());
        }
        dispatch::show(&mut context.output, run);
        if !run.why.is_empty() {
            context.output.line(&visible::text(&run.why));
        }
        for (title, text) in [("output", out), ("errors", err)] {
            if !text.is_empty() {
                context.output.line(&format!("--- {title}"));
                context.output.text_of_others(&text);
            }
        }
        Ok(())
    }
}
