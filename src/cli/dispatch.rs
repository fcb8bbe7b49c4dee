//! `postroom dispatch` and the supervisor it starts.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::context::{Context, for_good};
use super::dispatch_shown::{dry_run, tell, tell_left, watch_begun};
use super::fail::Fail;
use super::notify::Teller;
use super::output::note;
use super::progress::Progress;
use super::staff;
use super::surroundings::ThisProcess;
use super::{Verb, follow, notify, runs, surroundings, unit};
use crate::dispatch::dispatcher::{Dispatcher, Event, StopHandle, Wanted};
use crate::dispatch::queue::Crew;
use crate::dispatch::runs::{Run, RunState, Runs};
use crate::dispatch::supervisor::{self, Agent, Checks, Outcome};
use crate::dispatch::watchers::Watching;
use crate::hint::Hint;
use crate::message::visible;
use crate::name::MailboxId;
use crate::notify::{News, Noticing, Notifier};
use crate::post::line::counted;
use crate::post::{Failure, HOPS_VARIABLE, Post, THREAD_VARIABLE};
use crate::process::marked::MARK;
use crate::staff::{Staff, equip, left_out};
use crate::workflow::carrier::{Carrier, Carrying};
use crate::workflow::runs::project_of;

/// Give waiting mail to agents, and carry their answers back
///
/// One poll: gives every waiting message to its agent of `postroom agents`, and
/// prints a table of the results. Starts no program just to find that there is
/// no mail. Exits 1 if nothing waited, 5 if a run failed. An agent is a mailbox
/// with a table in postroom.toml, once you said `postroom trust`:
///
///   [agents.coder]
///   preset = "claude"  # or codex, gemini, opencode, copilot, or "command" with
///   # command = ["program"]  # which reads a prompt and prints its answer
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Dispatch {
    /// Go on: give mail to agents as it comes
    #[arg(long)]
    watch: bool,
    /// Only show what would be started
    #[arg(long, conflicts_with = "watch")]
    dry_run: bool,
    /// Only for this agent; may be repeated
    #[arg(long, value_name = "AGENT")]
    only: Vec<String>,
    /// At most this many runs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// At most this many at once
    #[arg(long, value_name = "N")]
    parallel: Option<usize>,
    /// Only print a systemd user unit that keeps `dispatch --watch` running here
    #[arg(long, conflicts_with_all = ["dry_run", "limit"])]
    unit: bool,
}

impl Verb for Dispatch {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.project_post_for_long(self.watch || self.unit)?;
        if self.unit {
            let only = self.only.iter().flat_map(|agent| ["--only".to_owned(), agent.clone()]);
            let parallel = self.parallel.iter().flat_map(|n| ["--parallel".to_owned(), n.to_string()]);
            let arguments: Vec<String> =
                ["--watch".to_owned()].into_iter().chain(only).chain(parallel).collect();
            return unit::print(context, "dispatch", "dispatcher", &arguments);
        }
        post.adopt_new_inboxes()?;
        let staff = staff::gather(post)?;
        let sources = staff::Settings::of(context, post, &self.only, left_out(&staff.untrusted), &|| {})?;
        tell_vacant(post, &staff);
        let settings = staff.settings.clone();
        let agents = self.chosen(context, staff)?;
        let names: Vec<String> = agents.iter().map(|(agent, _)| agent.name.clone()).collect();
        let dispatcher = for_good(Dispatcher::new(post, Crew { agents, vacant: vec![], settings })?);
        if self.dry_run {
            return dry_run(context, dispatcher);
        }
        let stop = dispatcher.stop_handle();
        let attended = std::sync::OnceLock::new();
        let attend = || attended.get_or_init(|| obey_signals(stop.clone()));
        if self.watch {
            attend();
        }
        let mut progress = Progress::new(context.output.terminal && !context.output.quiet);
        let (watch, limit, parallel) = (self.watch, self.limit, self.parallel);
        let wanted = Wanted { watch, limit, parallel, progress: progress.wanted, followed: false };
        let mut ran: Vec<Run> = vec![];
        let starter = supervisor_starter(&context.root);
        let start = |agent: &Agent, id: &MailboxId, file: &str| {
            // Until a run begins, a signal ends this process as usual, and a poll without mail needs only one thread.
            attend();
            starter(agent, id, file)
        };
        let live = self.watch || context.output.json;
        let (mut failed, mut carried, mut delayed, mut ended) = (false, false, false, 0);
        let gate = gate_starter(&context.root);
        let teller = RefCell::new(Teller::of(context));
        let tell_person = |news: &News| teller.borrow().iter().for_each(|teller| teller.tell(news));
        let events = || teller.borrow().as_ref().map(Teller::events);
        let work = Carrying { carrier: Carrier::default(), start: &gate };
        let notifier = Notifier::new(&[]);
        let background = Noticing { work, notifier, events: &events, tell: &tell_person };
        let is_told = teller.borrow().is_some();
        let watching = self.watch.then(|| watch_begins(post, is_told, &self.only)).transpose()?;
        if self.watch {
            watch_begun(context, dispatcher, &names)?;
        }
        let left = dispatcher.run(&wanted, start, background, sources, |event| {
            progress.clear();
            if let Event::Background { news } = &event {
                follow::remarks(news);
            }
            let is_remark = matches!(
                event,
                Event::Nothing { why: Some(_), .. } | Event::Waits { .. } | Event::Delayed { .. }
            );
            if live || is_remark {
                tell(context, &event);
                let _ = context.output.flush();
            }
            match event {
                Event::Going { runs } => progress.show(runs, context.output.width()),
                Event::Ended { run } => {
                    teller.borrow().iter().for_each(|teller| teller.ended(post, run));
                    failed |= run.state != RunState::Done;
                    ended += 1;
                    if !live {
                        ran.push(run.clone());
                    }
                }
                Event::Nothing { why, .. } => failed |= why.is_some(),
                Event::Background { .. } => carried = true,
                Event::Delayed { .. } => delayed = true,
                Event::Reread { .. } => drop(teller.replace(Teller::of(context))),
                Event::Started { .. } | Event::Waits { .. } => {}
            }
        })?;
        progress.clear();
        if let Some((runs, watching)) = watching {
            runs.end_watching(watching);
        }
        if left > 0 {
            let go = if left == 1 { "goes" } else { "go" };
            let what = format!("{} {go} on without this dispatcher", counted(left, "run"));
            context.warn(&what, Hint::run(&["runs"]).to("shows them"));
        }
        if !live {
            ran.iter().for_each(|run| runs::show_now(context, run));
        }
        let result = match (failed, ended == 0) {
            (true, _) => Err(Fail::Code(Failure::NotDone)),
            (false, true) if left == 0 && !carried => {
                let what = if delayed { "no agent can be started now" } else { "no mail waits for an agent" };
                Err(context.nothing(what))
            }
            _ => Ok(()),
        };
        if !self.watch {
            tell_left(context, post, dispatcher)?;
        }
        result
    }
}

/// Marks this process as a dispatcher that stays. If nobody wants to hear about dead ones, their marks are removed.
fn watch_begins(post: &Post, is_told: bool, only: &[String]) -> Result<(Runs, Watching), Fail> {
    let runs = Runs::open(post.room())?;
    if !is_told {
        runs.take_dead_watchers()?;
    }
    let watching = runs.begin_watching(&notify::here(), only, post.room().clock().now())?;
    Ok((runs, watching))
}

/// Returns a function that starts the supervisor of a message.
pub(super) fn supervisor_starter(
    root: &Path,
) -> impl Fn(&Agent, &MailboxId, &str) -> std::io::Result<Child> + use<> {
    let root = root.to_owned();
    move |agent, id, file| {
        let mut command = detached(&root, &["--json", "supervise", "--", &agent.name, id.as_str(), file])?;
        command.stdout(Stdio::piped()).spawn()
    }
}

/// Returns a function that starts a gate process: like a supervisor, but it reports only by mail.
pub(super) fn gate_starter(root: &Path) -> impl Fn(&str, &str) -> std::io::Result<()> + use<> {
    let root = root.to_owned();
    move |run, id| {
        let mut child = detached(&root, &["workflow-gate", "--", run, id])?.spawn()?;
        // Wait for its end, or it stays in the process table.
        std::thread::spawn(move || child.wait());
        Ok(())
    }
}

/// This program with other arguments. It outlives its starter, and is not part of a run that may surround this command.
pub(super) fn detached(root: &Path, arguments: &[&str]) -> std::io::Result<Command> {
    let mut command = Command::new(surroundings::myself()?);
    command.arg("--root").arg(root).args(arguments);
    command.env_remove(MARK).env_remove(HOPS_VARIABLE).env_remove(THREAD_VARIABLE);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

impl Dispatch {
    /// The selected agents that have a mailbox here.
    fn chosen(&self, context: &Context, staff: Staff) -> Result<Vec<(Agent, MailboxId)>, Fail> {
        for name in &self.only {
            if !staff.agents.iter().any(|(agent, _)| agent.name == *name) {
                let hidden = staff.untrusted.iter().filter(|left| left.name == *name);
                if let Some((what, command)) = left_out(hidden).pop() {
                    return Err(Fail::unknown(what, command));
                }
                return Err(Fail::Told(
                    Failure::Unknown,
                    format!("no agent is configured for `{}`", visible::clip(name, 60)),
                    vec![
                        Hint::run(&["agents"]).to("lists those that are configured").into(),
                        Hint::run(&["help", "dispatch"]).to("how to configure one").into(),
                    ],
                ));
            }
        }
        let meant = |agent: &Agent| self.only.is_empty() || self.only.contains(&agent.name);
        let (mut chosen, mut without_mailbox) = (vec![], vec![]);
        for (agent, id) in staff.agents.into_iter().filter(|(agent, _)| meant(agent)) {
            match id {
                Some(id) => chosen.push((agent, id)),
                None => {
                    let make = Hint::run(&["setup", "--child", &agent.name]);
                    without_mailbox.push((
                        format!("the agent `{}` has no mailbox", visible::line(&agent.name)),
                        make.into(),
                    ));
                }
            }
        }
        let mut faults = left_out(&staff.untrusted);
        faults.extend(without_mailbox);
        // If nothing can be started, the last of the reasons is the error.
        let error = match chosen.is_empty() {
            true => Some(faults.pop().unwrap_or_else(|| {
                let how = Hint::run(&["help", "dispatch"]).to("how to configure one");
                ("no agent can be started".to_owned(), how.into())
            })),
            false => None,
        };
        faults.into_iter().for_each(|(what, hint)| context.warn(&what, hint));
        if let Some((what, hint)) = error {
            return Err(Fail::unknown(what, hint));
        }
        Ok(chosen)
    }
}

/// Reports agents of trees that have waiting mail but no program to start.
fn tell_vacant(post: &Post, staff: &Staff) {
    for (name, id) in &staff.vacant {
        let waits = post.other(id).and_then(|me| Ok(me.mailbox.next(usize::MAX)?));
        if waits.is_ok_and(|waits| waits.names.len() > waits.answers.len()) {
            let name = visible::line(name);
            note(&format!(
                "postroom: mail waits for {name}, for which no program is configured: write [agents.{name}] into postroom.toml, \
                 or .claude/agents/{name}.md (`postroom help dispatch` shows how)"
            ));
        }
    }
}

/// A signal stops the dispatcher, but not its runs. If no handler can be set, a signal ends it at once.
fn obey_signals(bell: StopHandle) {
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
        std::thread::spawn(move || signals.forever().for_each(|_| bell.stop()));
    }
}

/// Work on one message with its agent, to the end (started by `dispatch`)
#[derive(Debug, Args)]
pub(super) struct Supervise {
    agent: String,
    #[arg(value_parser = MailboxId::parse)]
    mailbox: MailboxId,
    file: String,
}

impl Verb for Supervise {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let post = context.post()?;
        // It may have been renamed since the dispatcher began: a table has the old name, a pattern gives the new one.
        let now = post.name_of(self.mailbox.as_str());
        let mut staff = staff::gather_some(post, |name| name == self.agent || name == now)?;
        staff.agents.sort_by_key(|(agent, _)| agent.name != self.agent);
        let Some((mut agent, _)) = staff.agents.first().cloned() else {
            let why = match left_out(&staff.untrusted).pop() {
                // The dispatcher reports only the sentence.
                Some((what, command)) => format!("{what}: {}", context.hint(command)),
                None => "it is not configured any more, or has no mailbox".to_owned(),
            };
            return Err(Fail::unknown(why, Hint::run(&["agents"]).to("lists them")));
        };
        let me = post.other(&self.mailbox)?;
        equip(&ThisProcess, &context.root, &mut agent, &me);
        // The starter may be stopped or gone; the run must not wait until it reads.
        let _ = rustix::fs::fcntl_setfl(std::io::stdout(), rustix::fs::OFlags::NONBLOCK);
        let tell = |run: &Run| {
            let _ = writeln!(std::io::stdout(), "{}", serde_json::to_string(run).unwrap_or_default());
        };
        let store = staff::store()?;
        let is_trusted =
            |cwd: &Path, worktree: Option<(&Path, &Path)>| staff.is_trusted_in(&store, &agent, cwd, worktree);
        let checks = Checks { project_of, is_trusted: &is_trusted };
        match supervisor::supervise(post, &me, &agent, &staff.settings, checks, &self.file, &tell)? {
            Outcome::NotNow => Err(Fail::Code(Failure::Nothing)),
            Outcome::Ran(run) => {
                tell(&run);
                // Its dispatcher may be gone, and then nobody else tells.
                if let Some(teller) = Teller::of(context) {
                    teller.ended(post, &run);
                    teller.dead(post);
                }
                if run.state == RunState::Done { Ok(()) } else { Err(Fail::Code(Failure::NotDone)) }
            }
        }
    }
}
