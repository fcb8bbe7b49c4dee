//! `postroom doctor`.

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::keeper;
use super::output::{GREEN, MAGENTA, PLAIN, RED, note};
use super::surroundings::ThisProcess;
use crate::dispatch::worktree;
use crate::doctor::{self, Finding, Grade};
use crate::hint::Hint;
use crate::message::visible;
use crate::post::Failure;
use crate::post::line::counted;
use crate::room::Room;
use crate::surroundings;
use crate::view;

/// Check every rule of the format on this room; --fix repairs
///
/// Exits 0 when nothing is wrong or all was fixed, 4 when faults are left. --fix removes staging files older than 36
/// hours, quarantines unreadable files, tightens modes, rebuilds a lost registry, and clears away what a killed `postroom
/// claude` left.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Repair what can be repaired
    #[arg(long)]
    fix: bool,
    /// Count notes as faults
    #[arg(long)]
    strict: bool,
}

impl Verb for Doctor {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let clock = context.clock();
        let root = context.locate()?.root;
        let room = if self.fix { Room::open(&root, clock)? } else { Room::look(&root, clock)? };
        if self.fix {
            room.may_write()?;
            keeper::clear_away()?;
        }
        let clock = context.clock();
        let (start, mut told) = (clock.boot(), clock.boot());
        let terminal = context.output.terminal;
        let mut seen = 0usize;
        let findings = doctor::examine(&room, self.fix, |name| {
            seen += 1;
            // Progress for people, once a second and only when it takes more than one.
            if terminal
                && clock.boot().saturating_sub(told).as_secs() >= 1
                && clock.boot().saturating_sub(start).as_secs() >= 1
            {
                told = clock.boot();
                note(&format!("looking at mailbox {seen}: {name}"));
            }
        })?;
        let bad =
            |f: &&Finding| !f.fixed && (f.grade == Grade::Fault || self.strict && f.grade == Grade::Note);
        let faults = findings.iter().filter(bad).count();
        self.tell(context, &findings, faults);
        if faults > 0 { Err(Fail::Code(Failure::Refused)) } else { Ok(()) }
    }
}

impl Doctor {
    fn tell(&self, context: &mut Context, findings: &[Finding], faults: usize) {
        let root = context.root.display().to_string();
        let room = context.room_shown();
        let output = &mut context.output;
        if output.json {
            return output.json(&view::rooms::Doctor::of(&root, faults, findings));
        }
        for finding in findings {
            let style = match finding.grade {
                _ if finding.fixed => GREEN,
                Grade::Fault => RED,
                Grade::Note => MAGENTA,
                Grade::Litter => PLAIN,
            };
            let word = if finding.fixed { "fixed" } else { finding.grade.as_str() };
            output.line(&format!(
                "{} {} {}: {}",
                output.paint(style, word),
                finding.rule,
                visible::line(&finding.path),
                visible::line(&finding.what)
            ));
        }
        let kept =
            surroundings::worktrees(&ThisProcess).map(|state| worktree::kept(&state)).unwrap_or_default();
        if let Some(first) = kept.first() {
            let (count, first) = (counted(kept.len(), "worktree"), first.display().to_string());
            output.remark(&visible::line(&format!(
                "{count} of ended runs kept with changes, such as {first}; `git worktree remove PATH` removes one"
            )));
        }
        if faults == 0 {
            output.remark(&format!("nothing is wrong in the room {room}"));
        } else if !self.fix && !output.quiet {
            let fix = context.hint(Hint::run(&["doctor", "--fix"]).to("repairs what can be repaired"));
            context.output.line(&fix);
        }
    }
}
