//! Following a run: a dispatcher that ends with the run, and the live tree of its steps.
//!
//! On a terminal the tree is drawn again whenever something changes, and every second while something runs; without one
//! there is a line per change, and with `--json` a document per change.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::Style;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::context::Context;
use super::dispatch::{gate_starter, supervisor_starter};
use super::fail::Fail;
use super::output::{CYAN, DIM, GREEN, PLAIN, RED, note};
use super::staff::{self, Staff};
use crate::dispatch::dispatcher::{Dispatcher, Event, Wanted};
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::{Failure, Post};
use crate::view;
use crate::workflow::carrier::{Carried, look_at, shown};
use crate::workflow::engine::Status;
use crate::workflow::runs::Runs;
use crate::workflow::start;

/// Whether there is anything to say: a step that stands otherwise, or the end.
pub(super) fn is_news(carried: &Carried) -> bool {
    !carried.changes.is_empty() || carried.status != Status::InProgress
}

/// One line about a run that got on: `workflow RUN STATUS SETTLED/TOTAL STEP: HOW, …`.
pub(super) fn line(carried: &Carried) -> String {
    let changes: Vec<String> =
        carried.changes.iter().map(|(step, how)| format!("{step}: {}", visible::line(how))).collect();
    let changes = if changes.is_empty() { String::new() } else { format!(" {}", changes.join(", ")) };
    format!(
        "workflow {} {} {}/{}{changes}",
        carried.run,
        carried.status.word(),
        carried.settled,
        carried.total
    )
}

/// What a person should know of it.
pub(super) fn remarks(carried: &Carried) {
    carried
        .remarks
        .iter()
        .for_each(|remark| note(&format!("postroom: {}: {}", carried.run, visible::line(remark))));
}

/// Dispatches until a run is over, and shows how it gets on; gives how it ended.
pub(super) fn follow(context: &mut Context, post: &Post, run: &str) -> Result<Status, Fail> {
    let staff = staff::gather(post)?;
    staff.tell_untrusted();
    left_to_themselves(post, run, &staff)?;
    let parallel = staff.settings.parallel.max(1);
    let agents = staff.agents.into_iter().filter_map(|(agent, me)| Some((agent, me?))).collect();
    let dispatcher = Dispatcher::new(post, agents)?;
    let (bell, own) = (dispatcher.bell(), dispatcher.bell());
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
        .map_err(|e| Fail::told(Failure::NotDone, e.to_string(), "try again"))?;
    std::thread::spawn(move || signals.forever().for_each(|_| bell.stop()));
    let live = context.output.terminal && !context.output.quiet;
    let wanted = Wanted { watch: true, limit: None, parallel, progress: live, follow: Some(run.to_owned()) };
    let mut tree = LiveTree::new(post, run)?;
    let mut status = tree.status;
    if status != Status::InProgress {
        own.stop();
    }
    let (start, gate) = (supervisor_starter(&context.root), gate_starter(&context.root));
    dispatcher.run(&wanted, start, &gate, |event| {
        match &event {
            Event::Carried { carried } if carried.run == run => {
                if !carried.remarks.is_empty() {
                    tree.clear();
                    remarks(carried);
                }
                status = carried.status;
                if !live && is_news(carried) {
                    match context.output.json {
                        true => context.output.json(&view::run::Dispatch::carried(carried)),
                        false => context.output.line(&line(carried)),
                    }
                    let _ = context.output.flush();
                }
                tree.take(carried);
            }
            Event::Going { runs } => tree.going = runs.to_vec(),
            Event::Ended { run } => tree.going.retain(|(agent, ..)| *agent != run.agent),
            Event::Nothing { agent, why: Some(why) } => {
                tree.clear();
                note(&format!("postroom: {}: {}", visible::line(agent), visible::line(why)));
            }
            _ => return,
        }
        if live {
            tree.draw(context);
        }
        if status != Status::InProgress {
            own.stop();
        }
    })?;
    if live {
        tree.going.clear();
        tree.draw(context);
    }
    // Whoever stopped this one may have been slower than whoever ended the run.
    let runs = Runs::existing(post.room())?;
    Ok(runs.map(|runs| look_at(post, &runs, run)).transpose()?.map_or(status, |engine| engine.status()))
}

/// Refuses to follow a run whose agents stand in settings that nobody has trusted: it would wait for them without end.
pub(super) fn must_be_staffed(post: &Post, agents: &[(String, MailboxId)]) -> Result<(), Fail> {
    let staff = staff::gather(post)?;
    for (name, id) in alone(&staff, agents) {
        if let Some((what, command)) = staff::left_out(staff.untrusted_for(id)).pop() {
            let why = format!("no program is started for `{}`: {what}", visible::line(name));
            return Err(Fail::told(Failure::Refused, why, &command));
        }
    }
    Ok(())
}

/// Tells of agents for whom no program is started here: their steps wait for somebody else.
fn left_to_themselves(post: &Post, run: &str, staff: &Staff) -> Result<(), Fail> {
    let Some(runs) = Runs::existing(post.room())? else { return Ok(()) };
    let engine = look_at(post, &runs, run)?;
    let agents = start::agents(post, engine.definition(), &engine.facts().inputs);
    for (name, id) in alone(staff, &agents) {
        let name = visible::line(name);
        let hint = match staff.untrusted_for(id) {
            Some(_) => String::new(),
            None => format!("; [agents.{name}] in postroom.toml names one"),
        };
        note(&format!(
            "postroom: no program is started for `{name}`, so its steps wait until somebody answers{hint}"
        ));
    }
    Ok(())
}

fn alone<'a>(
    staff: &'a Staff,
    agents: &'a [(String, MailboxId)],
) -> impl Iterator<Item = &'a (String, MailboxId)> {
    agents.iter().filter(|(_, id)| !staff.agents.iter().any(|(_, me)| me.as_ref() == Some(id)))
}

/// The steps of a run as they stand, drawn over themselves.
struct LiveTree {
    run: String,
    status: Status,
    /// Name, depth, and how it stands.
    steps: Vec<(String, usize, String)>,
    going: Vec<(String, Duration, String)>,
    settled: usize,
    /// What stands there now, and in how many lines.
    last: Vec<(Style, String)>,
    drawn: usize,
}

impl LiveTree {
    fn new(post: &Post, run: &str) -> Result<Self, Fail> {
        let mut steps = vec![];
        let (mut status, mut settled) = (Status::InProgress, 0);
        if let Some(runs) = Runs::existing(post.room())? {
            let engine = look_at(post, &runs, run)?;
            status = engine.status();
            settled = engine.settled();
            for (index, step) in engine.definition().steps.iter().enumerate() {
                let depth = usize::try_from(step.level.saturating_sub(1)).unwrap_or(0).min(20);
                steps.push((step.name.clone(), depth, shown(&engine, index)));
            }
        }
        Ok(Self { run: run.to_owned(), status, steps, going: vec![], settled, last: vec![], drawn: 0 })
    }

    fn take(&mut self, carried: &Carried) {
        (self.status, self.settled) = (carried.status, carried.settled);
        for (name, how) in &carried.changes {
            if let Some(step) = self.steps.iter_mut().find(|(step, ..)| step == name) {
                step.2.clone_from(how);
            }
        }
    }

    fn clear(&mut self) {
        if self.drawn > 0 {
            let _ = write!(io::stdout(), "\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }

    /// Draws the tree in the place of the last one. What does not fit on the terminal cannot be drawn over, so a tree that
    /// is too long shows what runs and what failed.
    fn draw(&mut self, context: &mut Context) {
        let output = &context.output;
        let lines = self.lines(output.height().saturating_sub(1), output.width());
        if self.drawn == lines.len() && self.last == lines {
            return;
        }
        self.clear();
        self.drawn = lines.len();
        self.last.clone_from(&lines);
        let painted: Vec<String> = lines.iter().map(|(style, text)| output.paint(*style, text)).collect();
        let _ = writeln!(io::stdout(), "{}", painted.join("\n"));
        let _ = io::stdout().flush();
    }

    /// At most so many lines, none wider than a terminal.
    fn lines(&self, most: usize, width: usize) -> Vec<(Style, String)> {
        let clipped = |text: &str| visible::clip(&visible::line(text), width.saturating_sub(1));
        let steps = self.steps.iter().map(|(name, depth, how)| {
            let (mark, style) = match how.split([' ', '(']).next().unwrap_or_default() {
                "done" => ("✔", GREEN),
                "failed" => ("✘", RED),
                "running" => ("▶", CYAN),
                "skipped" => ("–", DIM),
                _ => ("·", PLAIN),
            };
            // On a narrow terminal the depth must not push the step out of sight.
            let indent = "  ".repeat((*depth + 1).min(width / 8));
            (mark, style, clipped(&format!("{indent}{mark} {name} {how}")))
        });
        let going = self.going.iter().filter(|(_, since, _)| since.as_secs() > 0);
        let going = going.map(|(agent, since, activity)| {
            (DIM, clipped(&format!("    {agent} {}s {activity}", since.as_secs())))
        });
        // The head and the count stand above and below.
        let place = most.saturating_sub(2);
        let many = self.steps.len() + going.clone().count() > place;
        let matters = |mark: &str| !many || matches!(mark, "▶" | "✘");
        let mut lines: Vec<(Style, String)> = steps
            .filter(|(mark, ..)| matters(mark))
            .map(|(_, style, text)| (style, text))
            .chain(going)
            .collect();
        lines.truncate(place);
        lines.insert(0, (CYAN, clipped(&format!("{} {}", self.run, self.status.word()))));
        lines.push((PLAIN, clipped(&format!("  {} of {} steps settled", self.settled, self.steps.len()))));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_fits_any_terminal() {
        let step = |n: usize| {
            let how = if n == 70 { "running (waits for approval by user)" } else { "done" };
            (format!("step{n}"), n.min(20), how.to_owned())
        };
        let run = format!("{}-12345678", "long".repeat(12));
        let going = vec![("agent".repeat(20), Duration::from_secs(9), "thinks\n\x1b[2J".repeat(30))];
        let steps = (0..100).map(step).collect();
        let mut tree =
            LiveTree { run, status: Status::InProgress, steps, going, settled: 99, last: vec![], drawn: 0 };
        for (most, width) in [(4, 20), (23, 80), (23, 20), (200, 300)] {
            let lines = tree.lines(most, width);
            assert!(lines.len() <= most, "{most}: {lines:?}");
            assert!(
                lines.iter().all(|(_, text)| visible::columns(text) < width && !text.contains('\x1b')),
                "{lines:?}"
            );
            assert!(lines.iter().any(|(_, text)| text.contains('▶')), "what runs is always shown: {lines:?}");
        }
        tree.steps.truncate(3);
        assert_eq!(tree.lines(23, 80).len(), 6, "a short one is shown whole");
    }
}
