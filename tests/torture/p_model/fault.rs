//! The one fault of a history: what strikes a step, and at which of its system calls.

use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::a_errno::{CANNOT_FAIL, ERRORS};
use crate::p_model::history::Draw;
use crate::p_model::oracle::Oracle;
use crate::p_model::scene::Scene;
use crate::p_model::step::Step;
use crate::place::{names_in, set_time};
use crate::process::{Ended, Run};
use crate::strace::{self, Call, Point};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strike {
    Kill,
    Error(&'static str),
    /// Killed, or at its end; then the power is cut.
    Cut,
    /// Stopped for a moment while everybody else looks.
    Stop,
    /// Before the step.
    Clock(Clock),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time since boot goes on by a day: every lease is over.
    Sleep,
    /// The wall clock is set back by a day: every file is from the future.
    Back,
    /// It is set forward by a day.
    Forward,
}

#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) strike: Strike,
    pub(crate) point: Option<Point>,
}

const DAY: u64 = 86_400;
/// How long a stopped command is stopped, in microseconds.
const STOPPED: &str = "delay_enter=60000";

impl Strike {
    /// A strike, the cut only where there is a disk for it.
    pub(crate) fn draw(draw: &mut Draw, can_cut: bool) -> Self {
        match draw.below(100) {
            0..42 => Self::Kill,
            42..80 => Self::Error(draw.of(&ERRORS)),
            80..88 if can_cut => Self::Cut,
            80..88 => Self::Kill,
            88..93 => Self::Stop,
            _ => Self::Clock(draw.of(&[Clock::Sleep, Clock::Back, Clock::Forward])),
        }
    }
}

impl Fault {
    /// The step to be struck: any that is a command.
    pub(crate) fn step(draw: &mut Draw, steps: &[Step]) -> Option<usize> {
        let commands: Vec<usize> =
            steps.iter().enumerate().filter(|(_, step)| !step.by_hand()).map(|(n, _)| n).collect();
        (!commands.is_empty()).then(|| draw.of(&commands))
    }

    /// A point of the step that was traced, from its first look at `first` on; half of them are calls that leave
    /// other files behind.
    pub(crate) fn draw(draw: &mut Draw, at: usize, strike: Strike, calls: &[Call], first: &Path) -> Self {
        let mut own = strace::own_points(calls, first);
        if let Strike::Error(_) = strike {
            own.retain(|(point, _)| !CANNOT_FAIL.contains(&point.name.as_str()));
        }
        if draw.below(2) == 0 && own.iter().any(|(_, call)| call.changes_files()) {
            own.retain(|(_, call)| call.changes_files());
        }
        let points: Vec<Point> = own.into_iter().map(|(point, _)| point).collect();
        let end = matches!(strike, Strike::Clock(_)) || strike == Strike::Cut && draw.below(3) == 0;
        let point = (!points.is_empty() && !end).then(|| draw.of(&points));
        Self { at, strike, point }
    }

    /// Runs a command, struck.
    pub(crate) fn end(&self, run: &Run, scene: &Scene) -> Ended {
        let Some(point) = &self.point else { return run.end() };
        match self.strike {
            Strike::Kill | Strike::Cut => strace::struck(run, point, "signal=KILL").end(),
            Strike::Error(error) => strace::struck(run, point, &format!("error={error}")).end(),
            Strike::Stop => {
                let stopped = strace::struck(run, point, STOPPED).start();
                scene.all_look();
                stopped.end()
            }
            Strike::Clock(_) => run.end(),
        }
    }

    /// What no command may end with, unless it was killed on purpose.
    pub(crate) fn crash(&self, ended: &Ended) -> Option<String> {
        let meant = matches!(self.strike, Strike::Kill | Strike::Cut) && ended.was_killed();
        ended.crash().filter(|_| !meant)
    }

    /// The words of `strace` for the script of a finding.
    pub(crate) fn words(&self) -> Option<String> {
        let point = self.point.as_ref()?;
        let what = match self.strike {
            Strike::Kill | Strike::Cut => "signal=KILL".to_owned(),
            Strike::Error(error) => format!("error={error}"),
            Strike::Stop => STOPPED.to_owned(),
            Strike::Clock(_) => return None,
        };
        Some(format!("strace -qo/dev/null -e trace={0} --inject={0}:{what}:when={1}", point.name, point.nth))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.strike)?;
        self.point.as_ref().map_or(Ok(()), |point| write!(f, " at {point}"))
    }
}

impl Clock {
    pub(crate) fn set(self, scene: &mut Scene, oracle: &mut Oracle) {
        match self {
            Self::Sleep => {
                scene.later = rustix::process::geteuid().is_root();
                if !scene.later {
                    scene.end_leases_but(&[]);
                }
                scene.all_look();
                oracle.leases_end();
                oracle.all_look();
            }
            // What commands see of a clock that was set is files from another time.
            Self::Back => shift(&scene.place.base, |time| time + Duration::from_secs(DAY)),
            Self::Forward => shift(&scene.place.base, |time| time - Duration::from_secs(DAY)),
        }
    }
}

fn shift(path: &Path, to: fn(SystemTime) -> SystemTime) {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return };
    if meta.is_dir() {
        let kept = ["template", "kept"];
        names_in(path)
            .iter()
            .filter(|name| !kept.contains(&name.as_str()))
            .for_each(|name| shift(&path.join(name), to));
    } else if let Ok(time) = meta.modified() {
        set_time(path, to(time));
    }
}
