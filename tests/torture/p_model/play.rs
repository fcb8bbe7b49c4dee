//! A history is played: step by step in a fresh scene, undisturbed or with one fault, and judged after each step.
//!
//! An undisturbed step ends with the exit code that the oracle knows, and its copies are where the oracle has them. A
//! step that was struck may leave each copy where it was or where it goes, once and whole; if it said that it is done,
//! it is done. Otherwise its user runs the same command again, and then everything is as if nothing had happened.

use std::path::Path;

use crate::disk::Disk;
use crate::ledger::body;
use crate::p_model::fault::{Fault, Strike};
use crate::p_model::held::State;
use crate::p_model::judge::{agrees, between};
use crate::p_model::look::Look;
use crate::p_model::oracle::{Codes, Oracle};
use crate::p_model::scene::Scene;
use crate::p_model::step::{Step, because};
use crate::process::{Ended, Run};
use crate::strace::{self, Call};

/// What came of a history.
#[derive(Default)]
pub(crate) struct Played {
    pub(crate) problems: Vec<String>,
    /// The step that was struck was run again.
    pub(crate) again: bool,
    /// The calls of the step that was traced.
    pub(crate) calls: Vec<Call>,
}

/// Where a history is played.
pub(crate) struct Stage<'a> {
    pub(crate) scene: &'a mut Scene,
    pub(crate) disk: Option<&'a Disk>,
}

/// What is done to one step.
pub(crate) enum Special<'a> {
    Nothing,
    /// This step is traced into this file.
    Trace(usize, &'a Path),
    Fault(&'a Fault),
}

impl Stage<'_> {
    pub(crate) fn play(&mut self, steps: &[Step], special: &Special) -> Played {
        self.scene.restore();
        if let Some(disk) = self.disk {
            disk.settle();
        }
        let mut played = Played::default();
        let mut oracle = Oracle::default();
        for (n, step) in steps.iter().enumerate() {
            let found = match special {
                Special::Fault(fault) if fault.at == n => {
                    self.struck(step, &mut oracle, fault, &mut played.again)
                }
                Special::Trace(at, log) if *at == n => self.whole(step, &mut oracle, |run| {
                    let (ended, calls) = strace::trace(run, log, &[]);
                    played.calls = calls;
                    ended
                }),
                _ => self.whole(step, &mut oracle, Run::end),
            };
            played.problems.extend(found.into_iter().map(|what| format!("step {}: {what}", n + 1)));
            if !played.problems.is_empty() {
                return played;
            }
        }
        played.problems = self.at_the_end(&mut oracle);
        played
    }

    /// Does a step that nothing disturbs.
    fn whole(&mut self, step: &Step, oracle: &mut Oracle, end: impl FnOnce(&Run) -> Ended) -> Vec<String> {
        let mut next = oracle.clone();
        let Some(codes) = next.apply(step) else { return vec![] };
        if step.by_hand() {
            if let Err(why) = self.scene.by_hand(step, oracle) {
                return vec![why];
            }
            *oracle = next;
            return agrees(&Look::at(&self.scene.place), oracle);
        }
        let ended = match self.scene.command(step, oracle) {
            Ok(run) => end(&run),
            Err(why) => return vec![why],
        };
        if let Step::Claim { .. } = step {
            self.scene.keep_token(&oracle.token(step), &ended);
        }
        *oracle = next;
        let mut problems: Vec<String> = wrong(step, &ended, codes, oracle).into_iter().collect();
        problems.extend(agrees(&Look::at(&self.scene.place), oracle));
        problems
    }

    /// Does a step that is struck, and does it again if it did not end well.
    fn struck(&mut self, step: &Step, oracle: &mut Oracle, fault: &Fault, retried: &mut bool) -> Vec<String> {
        if let Strike::Clock(clock) = fault.strike {
            clock.set(self.scene, oracle);
            return self.whole(step, oracle, Run::end);
        }
        let mut next = oracle.clone();
        let Some(codes) = next.apply(step) else { return vec![] };
        let run = match self.scene.command(step, oracle) {
            Ok(run) => run,
            Err(why) => return vec![why],
        };
        let claims = self.scene.claims();
        let first = fault.end(&run, self.scene);
        let mut problems = fault.crash(&first).into_iter().collect::<Vec<_>>();
        let done = is_done(step, &first, codes);
        if done && !first.was_killed() {
            problems.extend(wrong(step, &first, codes, &next));
        }
        let claimed =
            matches!(step, Step::Claim { .. }) && self.scene.keep_token(&oracle.token(step), &first);
        if let (Strike::Cut, Some(disk)) = (fault.strike, self.disk) {
            disk.cut();
            self.starts_again(&mut [oracle, &mut next]);
        }
        let look = Look::at(&self.scene.place);
        if claimed || done {
            problems.extend(agrees(&look, &next));
            *oracle = next;
        } else {
            // An error is never "nothing there", and never a mistake in the words of the command.
            if matches!(first.code, Some(1..=3)) {
                problems.push("it was denied, not said to have failed".to_owned());
            }
            problems.extend(between(&look, oracle, &next));
            // Who claims the next message has to wait for the lease of the command that was struck; who names it and
            // reads it need not.
            if fault.strike != Strike::Cut && !matches!(step, Step::Read { bare: false, .. }) {
                self.scene.end_leases_but(&claims);
            }
            let done_before = agrees(&look, &next).is_empty();
            match oracle.clone().apply(step) {
                Some(_) => {
                    *retried = true;
                    problems.extend(self.again(step, oracle, &run, &look, (done_before, &first)));
                }
                // Its claim did not outlive the cut: it was done, or not, or its answer alone went out.
                None if done_before => *oracle = next,
                None => oracle.arrived(&next, |key, who| !look.states(key, who).is_empty()),
            }
        }
        let how = format!("{fault}: {}", first.shown());
        problems.into_iter().map(|what| format!("{what} ({how})")).collect()
    }

    /// After a power cut no claim is in force, and everybody looks.
    fn starts_again(&mut self, views: &mut [&mut Oracle]) {
        self.scene.end_leases_but(&[]);
        self.scene.all_look();
        for view in views {
            view.leases_end();
            view.all_look();
        }
    }

    /// Runs a command again that was struck. `done_before`: it had done everything, and may say so by its exit code.
    fn again(
        &mut self,
        step: &Step,
        oracle: &mut Oracle,
        run: &Run,
        look: &Look,
        (done_before, first): (bool, &Ended),
    ) -> Vec<String> {
        let token = oracle.token(step);
        let Some(codes) = oracle.apply(step) else { return vec![] };
        if let Step::Send { key, chosen: false, .. } = step {
            for ((_, who), held) in oracle.copies.iter_mut().filter(|((known, _), _)| known == key) {
                held.loose = !look.states(key, who).is_empty();
            }
        }
        let again = run.end();
        if let Step::Claim { .. } = step {
            self.scene.keep_token(&token, &again);
        }
        // What was shown is put away; another message of a workspace may have its name.
        let shown = matches!(step, Step::Read { key, .. } if first.stdout().contains(&body(key)));
        let late = done_before && (matches!(again.code, Some(1 | 3 | 4)) || shown && again.ok());
        let mut problems = vec![];
        if !late {
            problems.extend(wrong(step, &again, codes, oracle));
        }
        problems.extend(agrees(&Look::at(&self.scene.place), oracle));
        problems.into_iter().map(|what| format!("run again ({}): {what}", again.shown())).collect()
    }

    fn at_the_end(&mut self, oracle: &mut Oracle) -> Vec<String> {
        // What an agent carries to an asker, the asker sees when it looks next.
        self.scene.all_look();
        let looked = self.scene.all_look();
        oracle.all_look();
        let look = Look::at(&self.scene.place);
        let mut problems = agrees(&look, oracle);
        if look.waiting > 0 {
            problems.push(format!("{} files were not carried over", look.waiting));
        }
        let loose = oracle.copies.values().any(|held| held.loose);
        for (who, ended) in looked {
            let unread = oracle.count(who, State::Unread);
            if !loose && ended.stdout().trim().parse() != Ok(unread) {
                problems.push(format!("{who} has {unread} unread, but check says: {}", ended.shown()));
            }
        }
        let responses = |keys: &[String]| {
            let mut keys = keys.to_vec();
            keys.sort();
            keys
        };
        let (there, wanted) = (responses(&look.responses), responses(&oracle.responses));
        if there != wanted && !loose {
            problems.push(format!("the outboxes have {there:?}, not {wanted:?}"));
        }
        problems.extend(self.scene.place.doctor());
        problems.into_iter().map(|what| format!("at the end: {what}")).collect()
    }
}

/// What is wrong with the end of a command that was not disturbed.
fn wrong(step: &Step, ended: &Ended, codes: Codes, oracle: &Oracle) -> Option<String> {
    let expected = ended.code.is_some_and(|code| codes.contains(&code) || code == 6);
    let shows = match step {
        Step::Read { key, .. } if key.starts_with('r') => ended.stdout().contains(&because(key)),
        Step::Read { key, .. } => ended.stdout().contains(&body(key)),
        Step::Check { who } => {
            oracle.is_vague(who) || ended.stdout().trim().parse() == Ok(oracle.count(who, State::Unread))
        }
        _ => true,
    };
    (!expected || !shows).then(|| format!("expected exit {codes:?}: {}", ended.shown()))
}

/// Whether a command that was struck told its user that its deed is done.
fn is_done(step: &Step, ended: &Ended, codes: Codes) -> bool {
    // What carries an answer is finished when that is proven.
    let carries = matches!(step, Step::Reply { .. } | Step::Done { .. } | Step::Fail { .. });
    let ended_well = ended.code.is_some_and(|code| codes.contains(&code) || code == 6 && !carries);
    let receipt = match step {
        // What is shown is not yet put away.
        Step::Read { .. } | Step::Check { .. } | Step::Claim { .. } => false,
        // A receipt for each copy.
        Step::Send { to, .. } if to.starts_with('@') => false,
        Step::Again { .. } | Step::Stale { .. } | Step::CleanUp | Step::Doctor => false,
        _ => ended.was_killed() && !ended.stdout().is_empty(),
    };
    ended_well || receipt
}
