//! Following a run: a dispatcher that ends with the run, and the live tree of its steps.
//!
//! On a terminal the tree is drawn again whenever something changes, and every second while something runs; without one
//! there is a line per change, and with `--json` a document per change.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::context::Context;
use super::dispatch::{gate_starter, supervisor_starter};
use super::fail::Fail;
use super::output::{CYAN, DIM, GREEN, PLAIN, RED, note};
use super::staff;
use crate::dispatch::dispatcher::{Dispatcher, Event, Wanted};
use crate::message::visible;
use crate::post::{Failure, Post};
use crate::workflow::carrier::{Carried, look_at, shown};
use crate::workflow::engine::Status;
use crate::workflow::runs::Runs;

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

/// The same as a document.
pub(super) fn document(carried: &Carried) -> Value {
    let steps: Vec<Value> =
        carried.changes.iter().map(|(step, how)| json!({"step": step, "how": how})).collect();
    json!({
        "v": 1, "event": "carried", "run": carried.run, "status": carried.status.word(),
        "settled": carried.settled, "total": carried.total, "changes": steps, "remarks": carried.remarks,
    })
}

/// Dispatches until a run is over, and shows how it gets on; gives how it ended.
pub(super) fn follow(context: &mut Context, post: &Post, run: &str) -> Result<Status, Fail> {
    let staff = staff::gather(post)?;
    if let Some(dir) = &staff.untrusted {
        note(&format!(
            "postroom: the agents of {} are left out until you have looked at them: postroom trust {}",
            dir.display(),
            dir.display()
        ));
    }
    let parallel = staff.settings.parallel.max(1);
    let agents = staff.agents.into_iter().filter_map(|(agent, me)| Some((agent, me?))).collect();
    let dispatcher = Dispatcher::new(post, agents)?;
    let (bell, own) = (dispatcher.bell(), dispatcher.bell());
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
        .map_err(|e| Fail::told(Failure::NotDone, e.to_string(), "try again"))?;
    std::thread::spawn(move || signals.forever().for_each(|_| bell.stop()));
    let live = context.output.terminal && !context.output.quiet;
    let wanted = Wanted { watch: true, limit: None, parallel, progress: live };
    let mut tree = LiveTree::new(context, post, run)?;
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
                if !live {
                    match context.output.json {
                        true => context.output.json(&document(carried)),
                        false => context.output.line(&line(carried)),
                    }
                    let _ = context.output.flush();
                }
                tree.take(carried);
            }
            Event::Going { runs } => tree.going = runs.to_vec(),
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
        tree.draw(context);
    }
    Ok(status)
}

/// The steps of a run as they stand, drawn over themselves.
struct LiveTree {
    run: String,
    status: Status,
    /// Name, depth, and how it stands.
    steps: Vec<(String, usize, String)>,
    going: Vec<(String, Duration, String)>,
    drawn: usize,
}

impl LiveTree {
    fn new(_context: &Context, post: &Post, run: &str) -> Result<Self, Fail> {
        let mut steps = vec![];
        let mut status = Status::InProgress;
        if let Some(runs) = Runs::existing(post.room())? {
            let engine = look_at(post, &runs, run)?;
            status = engine.status();
            for (index, step) in engine.definition().steps.iter().enumerate() {
                let depth = usize::try_from(step.level.saturating_sub(1)).unwrap_or(0).min(20);
                steps.push((step.name.clone(), depth, shown(&engine, index)));
            }
        }
        Ok(Self { run: run.to_owned(), status, steps, going: vec![], drawn: 0 })
    }

    fn take(&mut self, carried: &Carried) {
        self.status = carried.status;
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

    /// Draws the tree in the place of the last one. A long one shows what runs and what failed.
    fn draw(&mut self, context: &mut Context) {
        const LINES: usize = 30;
        self.clear();
        let output = &context.output;
        let width = output.width();
        let mut lines = vec![output.paint(CYAN, &format!("{} {}", self.run, self.status.word()))];
        let many = self.steps.len() > LINES;
        let done = self.steps.iter().filter(|(.., how)| how.starts_with("done")).count();
        for (name, depth, how) in &self.steps {
            let (mark, style) = match how.split([' ', '(']).next().unwrap_or_default() {
                "done" => ("✔", GREEN),
                "failed" => ("✘", RED),
                "running" => ("▶", CYAN),
                "skipped" => ("–", DIM),
                _ => ("·", PLAIN),
            };
            if many && !matches!(mark, "▶" | "✘") {
                continue;
            }
            let text = format!("{}{mark} {name} {how}", "  ".repeat(*depth + 1));
            lines.push(output.paint(style, &visible::clip(&visible::line(&text), width.saturating_sub(1))));
        }
        for (agent, since, activity) in self.going.iter().filter(|(_, since, _)| since.as_secs() > 0) {
            let text = format!("    {agent} {}s {activity}", since.as_secs());
            lines.push(output.paint(DIM, &visible::clip(&visible::line(&text), width.saturating_sub(1))));
        }
        lines.push(format!("  {done} of {} steps done", self.steps.len()));
        lines.truncate(LINES + 4);
        self.drawn = lines.len();
        let _ = writeln!(io::stdout(), "{}", lines.join("\n"));
        let _ = io::stdout().flush();
    }
}
