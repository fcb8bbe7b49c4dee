//! A pair: the same work done by Postroom and by the floor, alternately, and what the two series say together.
//!
//! Each round does both, and every other round in the opposite order, so that a machine that slows down or warms up
//! does so for both. The rounds are cut into ten blocks, the medians of each block are compared, and the median of these
//! ratios counts: a change of the machine in the middle of a run then falls into one block. Their middle half is the
//! spread, which shows how far another run may come out.

use std::process::Command;
use std::time::Duration;

use crate::run;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unit {
    Microseconds,
    Nanoseconds,
    PerSecond,
    Bytes,
}

impl Unit {
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Microseconds if value < 10_000.0 => format!("{value:.0} µs"),
            Self::Microseconds => format!("{:.1} ms", value / 1000.0),
            Self::Nanoseconds => format!("{value:.0} ns"),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Bytes => format!("{:.1} MiB", value / MIB),
        }
    }
}

const MIB: f64 = 1024.0 * 1024.0;

#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) unit: Unit,
    /// What was measured and the floor of each round, in the unit.
    pub(crate) rounds: Vec<(f64, f64)>,
}

/// The two sides of a pair. Each is told its round and says how long it took.
pub(crate) trait Sides {
    fn measured(&mut self, round: usize) -> Result<f64, String>;
    fn floor(&mut self, round: usize) -> Result<f64, String>;
    /// Runs after each round, outside the measurement.
    fn after(&mut self, _round: usize) -> Result<(), String> {
        Ok(())
    }
}

/// Rounds before the first that counts: they fill the caches of the kernel.
const WARM_UP: usize = 5;
const BLOCKS: usize = 10;

impl Pair {
    pub(crate) fn take(unit: Unit, rounds: usize, sides: &mut impl Sides) -> Result<Self, String> {
        let _undisturbed = Undisturbed::begin();
        Self::take_among_others(unit, rounds, sides)
    }

    /// The same for work that uses all cores: it must not run before all others, or the machine would stand still.
    pub(crate) fn take_among_others(
        unit: Unit,
        rounds: usize,
        sides: &mut impl Sides,
    ) -> Result<Self, String> {
        let mut pair = Self { unit, rounds: Vec::with_capacity(rounds) };
        for round in 0..WARM_UP + rounds {
            let (measured, floor) = if round % 2 == 0 {
                let measured = sides.measured(round)?;
                (measured, sides.floor(round)?)
            } else {
                let floor = sides.floor(round)?;
                (sides.measured(round)?, floor)
            };
            sides.after(round)?;
            if round >= WARM_UP {
                pair.rounds.push((measured, floor));
            }
        }
        Ok(pair)
    }

    pub(crate) fn measured(&self, quantile: f64) -> f64 {
        at(quantile, self.rounds.iter().map(|round| round.0))
    }

    pub(crate) fn floor(&self, quantile: f64) -> f64 {
        at(quantile, self.rounds.iter().map(|round| round.1))
    }

    /// The ratio of the same quantile of both series.
    pub(crate) fn ratio_at(&self, quantile: f64) -> f64 {
        self.measured(quantile) / self.floor(quantile)
    }

    /// The ratio of the medians, and its spread: the lower quartile, the median and the upper quartile of the blocks.
    pub(crate) fn ratio(&self) -> [f64; 3] {
        let length = self.rounds.len().div_ceil(BLOCKS).max(1);
        let of_block = |block: &[(f64, f64)]| {
            at(0.5, block.iter().map(|round| round.0)) / at(0.5, block.iter().map(|round| round.1))
        };
        let ratios: Vec<f64> = self.rounds.chunks(length).map(of_block).collect();
        [0.25, 0.5, 0.75].map(|quantile| at(quantile, ratios.iter().copied()))
    }
}

/// While this lives, this process and those that it starts run before all others, where the user may ask for that: what
/// else the machine does is not to be measured. A nice value would not do, because it counts only within one session.
struct Undisturbed;

impl Undisturbed {
    fn begin() -> Self {
        schedule(&["--fifo", "--pid", "1"]);
        Self
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        schedule(&["--other", "--pid", "0"]);
    }
}

/// Without chrt, or without the right, the figures are only less steady.
fn schedule(how: &[&str]) {
    run::succeeds(Command::new("chrt").args(how).arg(std::process::id().to_string()));
}

/// The value below which this part of the values lies; of none, not a number.
fn at(quantile: f64, values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    values.get((last * quantile).round() as usize).copied().unwrap_or(f64::NAN)
}

pub(crate) fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorded(Vec<String>);

    impl Sides for Recorded {
        fn measured(&mut self, round: usize) -> Result<f64, String> {
            self.0.push(format!("m{round}"));
            Ok(round as f64 * 2.0)
        }

        fn floor(&mut self, round: usize) -> Result<f64, String> {
            self.0.push(format!("f{round}"));
            Ok(round as f64)
        }
    }

    #[test]
    fn sides_alternate_and_the_warm_up_does_not_count() {
        let mut sides = Recorded::default();
        let pair = Pair::take(Unit::Microseconds, 3, &mut sides).unwrap();
        assert_eq!(sides.0[..6], ["m0", "f0", "f1", "m1", "m2", "f2"]);
        assert_eq!(pair.rounds, [(10.0, 5.0), (12.0, 6.0), (14.0, 7.0)]);
        assert_eq!(pair.ratio_at(0.5), 2.0);
        assert_eq!(pair.ratio(), [2.0; 3]);
    }

    #[test]
    fn a_machine_that_slows_down_half_way_changes_no_ratio() {
        let slowing = |round: usize| if round < 55 { (12.0, 10.0) } else { (36.0, 30.0) };
        let mut rounds: Vec<(f64, f64)> = (0..100).map(slowing).collect();
        // One side is caught by the change a few rounds earlier, which moves its median over all rounds.
        rounds[44..55].iter_mut().for_each(|round| round.0 = 36.0);
        let pair = Pair { unit: Unit::Microseconds, rounds };
        assert_eq!(pair.ratio_at(0.5), 3.6);
        assert_eq!(pair.ratio()[1], 1.2);
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values = || (1..=101).rev().map(f64::from);
        assert_eq!(at(0.5, values()), 51.0);
        assert_eq!(at(0.99, values()), 100.0);
        assert_eq!(at(1.0, values()), 101.0);
        assert!(at(0.5, std::iter::empty()).is_nan());
    }
}
