//! The plan of an installation, shown by `--dry-run`: the difference in every file, line by line.

use super::context::Context;
use super::fail::Fail;
use super::output::{GREEN, PLAIN, RED};
use crate::agents::ledger::Planned;
use crate::message::visible;
use crate::trust::difference;
use crate::view::install as view;

/// Shows what would change.
pub(super) fn tell(
    context: &mut Context,
    program: &'static str,
    scope: &'static str,
    plans: &[Planned],
) -> Result<(), Fail> {
    let changed: Vec<&Planned> = plans.iter().filter(|plan| plan.now != plan.then).collect();
    let files: Vec<view::PlannedFile> = changed.iter().map(|plan| planned(plan)).collect();
    let output = &mut context.output;
    if output.json {
        output.json(&view::InstallPlan { program, scope, files });
        return Ok(());
    }
    if files.is_empty() {
        output.line("nothing would change");
    }
    for file in &files {
        output.line(&format!("would {} {}", file.action, file.path));
        for line in &file.difference {
            let style = match line.chars().next() {
                Some('+') => GREEN,
                Some('-') => RED,
                _ => PLAIN,
            };
            let line = output.paint(style, &visible::text(line));
            output.line(&line);
        }
    }
    Ok(())
}

fn planned(plan: &Planned) -> view::PlannedFile {
    let lines = |text: &Option<String>| -> Vec<String> {
        text.as_deref().unwrap_or_default().lines().map(str::to_owned).collect()
    };
    let action = match (&plan.now, &plan.then) {
        (None, _) => "write",
        (Some(_), Some(_)) => "change",
        (Some(_), None) => "remove",
    };
    let difference = difference(&lines(&plan.now), &lines(&plan.then));
    view::PlannedFile { path: plan.path.display().to_string(), action, difference }
}
