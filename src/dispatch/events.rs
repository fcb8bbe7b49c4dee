//! What a dispatcher is asked for, what it tells, and where its settings come from.

use std::path::PathBuf;
use std::time::Duration;

use super::queue::{Crew, Delay};
use super::runs::Run;
use crate::post::Post;

/// The options of a dispatcher.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Go on until stopped.
    pub watch: bool,
    /// At most this many runs.
    pub limit: Option<usize>,
    /// At most this many at once. `None`: as many as the settings say.
    pub parallel: Option<usize>,
    /// Report the progress of running agents every second.
    pub progress: bool,
    /// Somebody follows the background work, which other processes may advance.
    pub followed: bool,
}

/// An agent at work.
#[derive(Debug, Clone)]
pub struct AtWork {
    pub agent: String,
    pub elapsed: Duration,
    /// What it does now, in the words of its program; empty if that is not known.
    pub activity: String,
}

/// An event.
#[derive(Debug)]
pub enum Event<'a, N> {
    Started {
        agent: &'a str,
        file: &'a str,
        waiting: usize,
    },
    /// The current runs.
    Going {
        runs: &'a [AtWork],
    },
    Ended {
        run: &'a Run,
    },
    /// The background work advanced.
    Background {
        news: &'a N,
    },
    /// A message that starts no agent, and why.
    Waits {
        agent: &'a str,
        why: &'a str,
    },
    /// Mail that waits for a time or for a person.
    Delayed {
        delay: &'a Delay,
    },
    /// The settings changed, and were read again.
    Reread {
        agents: usize,
        /// Whether agents or limits differ; the files may have changed for another reason.
        changed: bool,
    },
    /// A supervisor that ended without a run: another process was faster, or it could not be started.
    Nothing {
        agent: &'a str,
        why: Option<&'a str>,
    },
}

/// Where the settings of a dispatcher come from. It is passed in, because a dispatcher does not look for files.
pub trait Sources {
    /// What the settings are now, as cheap as possible: another value says that they may have changed.
    fn stamp(&self) -> u64;

    /// Reads everything again. `Err`: why that is not possible now; the former settings stay.
    fn read(&mut self, post: &Post) -> std::result::Result<Crew, String>;

    /// Directories to watch for changes.
    fn directories(&self) -> Vec<PathBuf>;
}
