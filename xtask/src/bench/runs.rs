//! Runs: a pair whose sides are processes in one room.

use std::process::Command;

use super::pair::{Pair, Sides, Unit, microseconds};
use super::room::Room;

/// Makes the command of a round; rounds differ where a file name must.
type Make<'a> = &'a dyn Fn(usize) -> Result<Command, String>;

pub(crate) struct Runs<'a> {
    pub(crate) room: &'a Room<'a>,
    pub(crate) measured: Make<'a>,
    pub(crate) floor: Make<'a>,
    /// The exit codes of a good run.
    pub(crate) expected: &'a [i32],
    /// The mailboxes that receive mail, which are swept now and then.
    pub(crate) receivers: &'a [&'a str],
}

/// Rounds between two sweeps: an inbox that is called empty never holds many more messages.
const SWEEP: usize = 20;

impl Runs<'_> {
    pub(crate) fn take(mut self, rounds: usize) -> Result<Pair, String> {
        Pair::take(Unit::Microseconds, rounds, &mut self)
    }

    /// The same for processes that use all cores.
    pub(crate) fn take_among_others(mut self, rounds: usize) -> Result<Pair, String> {
        Pair::take_among_others(Unit::Microseconds, rounds, &mut self)
    }

    fn time(&self, make: Make<'_>, round: usize) -> Result<f64, String> {
        self.room.programs.time(make(round)?, self.expected).map(microseconds)
    }
}

impl Sides for Runs<'_> {
    fn measured(&mut self, round: usize) -> Result<f64, String> {
        self.time(self.measured, round)
    }

    fn floor(&mut self, round: usize) -> Result<f64, String> {
        self.time(self.floor, round)
    }

    fn after(&mut self, round: usize) -> Result<(), String> {
        if round % SWEEP == SWEEP - 1 {
            self.receivers.iter().try_for_each(|name| self.room.sweep(name))?;
        }
        Ok(())
    }
}
