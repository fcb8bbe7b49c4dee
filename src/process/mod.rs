//! Processes: other programs that are started, heard and ended, and what the kernel says of those that run.
//!
//! `presets` says how each agent program is started and how its output is read (data), `child` is one that runs, `output` what it
//! says, `tail` its last lines, `outage` what keeps it from working. `marked` finds and ends all processes of a run; `unit` is the text that has systemd start one; `opener` shows a command in a pane or a window.
//! `transcript` reads what an agent did out of what it printed, and `git` runs git.
//! Nothing here knows mail: `dispatch`, `workflow` and `person` stand on it.

pub mod child;
pub mod git;
pub mod marked;
pub mod opener;
pub mod outage;
pub mod output;
pub mod presets;
mod tail;
pub mod transcript;
pub mod unit;

/// A process by its number. What a hook saw means something later, because hooks run outside sandboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Process {
    pub pid: u64,
    /// When it began, in the kernel's ticks since boot, which tells it from a later one with the same number; 0 if nobody says.
    pub started: u64,
    /// The namespace in which it has this number; 0 if nobody says.
    pub space: u64,
}

impl Process {
    /// The process with this number, if there is one.
    pub fn of(pid: u64) -> Option<Self> {
        Some(Self { pid, started: crate::os::started(pid)?, space: crate::os::pid_space() })
    }

    /// The processes above this one, the nearest first; none if they cannot be seen.
    pub fn above() -> Vec<u64> {
        let above = crate::os::ancestors(marked::MARK).unwrap_or_default();
        above.iter().map(|ancestor| ancestor.pid).collect()
    }

    /// Whether it was recorded, and its number means something here: a sandbox may have numbers of its own.
    pub fn is_visible(self) -> bool {
        self.pid != 0 && (self.space == 0 || self.space == crate::os::pid_space())
    }

    /// Whether it was recorded, could be seen, and is not running any more.
    pub fn is_gone(self) -> bool {
        self.is_visible() && crate::os::started(self.pid) != Some(self.started)
    }

    /// Whether it was recorded and is seen running.
    pub fn is_running(self) -> bool {
        self.is_visible() && !self.is_gone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_beginning_too() {
        let me = Process::of(u64::from(std::process::id())).unwrap();
        assert!(!me.is_gone());
        assert!(Process { started: me.started + 1, ..me }.is_gone());
        assert!(!Process::default().is_gone(), "nothing recorded says nothing");
        let elsewhere = Process { started: me.started + 1, space: me.space + 1, ..me };
        assert!(!elsewhere.is_gone() && !elsewhere.is_running(), "its number means nothing here");
    }
}
