//! Settings tables as lines of a description. Pure.
//!
//! Values other than the defaults are listed; the working directory and the access of an agent always are. What a
//! preset makes of them belongs to the program: it is shown but not covered, so an upgrade that starts a program in
//! another way needs no new approval.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::item::{plain, words};
use crate::process::presets::{self, Parts};
use crate::settings::agents::{AgentSettings, Answers, DispatchSettings};
use crate::settings::worktree::Worktree;

/// The values of `[dispatch]` that are not defaults. Every field is named, so that a new one cannot be forgotten here.
pub(super) fn of_limits(limits: &DispatchSettings) -> Vec<String> {
    let DispatchSettings { parallel, hops, thread_runs, hour_runs, back_off, probe, day_cost } = limits;
    let usual = DispatchSettings::default();
    let mut lines = Lines(vec![]);
    lines.unless(*parallel == usual.parallel, "parallel", || parallel.to_string());
    lines.unless(*hops == usual.hops, "hops", || hops.to_string());
    lines.unless(*thread_runs == usual.thread_runs, "thread_runs", || thread_runs.to_string());
    lines.unless(*hour_runs == usual.hour_runs, "hour_runs", || hour_runs.to_string());
    lines.unless(*back_off == usual.back_off, "back_off", || seconds(*back_off));
    lines.unless(*probe == usual.probe, "probe", || seconds(*probe));
    lines.given("day_cost", day_cost.map(|cost| cost.to_string()));
    lines.0
}

/// The values of an agent's table that are not defaults. Every field is named here too.
pub(super) fn of_agent(settings: &AgentSettings, directory: &str) -> Vec<String> {
    let AgentSettings {
        preset,
        command,
        // Covered by `directory`, to which it resolves.
        cwd: _,
        access,
        model,
        time_limit,
        retries,
        concurrency,
        env,
        about,
        session,
        described,
        answers,
        batch,
        from,
        on_denied,
        worktree,
    } = settings;
    let usual = AgentSettings::default();
    let mut lines = Lines(vec![]);
    lines.given("preset", Some(plain(preset)));
    lines.unless(command.is_empty(), "command", || words(command));
    lines.given("directory", Some(directory.to_owned()));
    lines.given("access", Some(access.as_str().to_owned()));
    lines.given("model", model.as_deref().map(plain));
    lines.given("agent", described.as_deref().map(plain));
    lines.unless(!session, "session", || "true".to_owned());
    lines.unless(env.is_empty(), "env", || words(env));
    lines.unless(from.is_empty(), "from", || words(from));
    let word = |answers: Answers| if answers == Answers::Start { "start" } else { "keep" }.to_owned();
    lines.given("answers", answers.map(word));
    lines.unless(*time_limit == usual.time_limit, "time_limit", || seconds(*time_limit));
    lines.unless(*retries == usual.retries, "retries", || retries.to_string());
    lines.unless(*concurrency == usual.concurrency, "concurrency", || concurrency.to_string());
    lines.unless(*batch == usual.batch, "batch", || batch.to_string());
    lines.unless(*on_denied == usual.on_denied, "on_denied", || "fail".to_owned());
    lines.given("worktree", on_branch(worktree));
    lines.given("about", about.as_deref().map(plain));
    lines.0
}

fn on_branch(worktree: &Worktree) -> Option<String> {
    match worktree {
        Worktree::No => None,
        Worktree::OnBranch(name) => Some(plain(name)),
    }
}

struct Lines(Vec<String>);

impl Lines {
    fn given(&mut self, key: &str, value: Option<String>) {
        self.0.extend(value.map(|value| [key, ": ", &value].concat()));
    }

    fn unless(&mut self, is_usual: bool, key: &str, value: impl FnOnce() -> String) {
        self.given(key, (!is_usual).then(value));
    }
}

/// The program and its arguments for a first message.
pub(super) fn command(settings: &AgentSettings) -> Vec<String> {
    let preset = presets::named(&settings.preset).unwrap_or_default();
    let mut command = settings.command.clone();
    if command.is_empty() && !preset.program.is_empty() {
        command.push(preset.program.clone());
    }
    command.extend(preset.arguments(&Parts {
        access: settings.access,
        model: settings.model.as_deref(),
        session: None,
        described: settings.described.as_deref(),
        root: Path::new("{room}"),
        last: Path::new("{last}"),
    }));
    command
}

pub(super) fn variables(settings: &AgentSettings) -> Vec<String> {
    let preset = presets::named(&settings.preset).unwrap_or_default();
    preset.env.into_iter().chain(settings.env.iter().cloned()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn seconds(span: Duration) -> String {
    format!("{}s", span.as_secs_f64())
}
