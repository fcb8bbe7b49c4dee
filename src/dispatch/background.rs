//! Background work: what a dispatcher does between two looks for mail. It is passed in, because a dispatcher knows mail
//! and agents, but not what follows from answers.

use std::path::PathBuf;
use std::time::Duration;

use crate::post::{Post, Result};

/// Work that a dispatcher advances at every look.
pub trait Background {
    /// The report of its progress.
    type News;

    /// Advances as far as possible now.
    fn look(&mut self, post: &Post) -> Result<Progress<Self::News>>;

    /// Returns a function that lists the directories to watch. They change over time.
    fn arrivals(&self, post: &Post) -> Result<Box<dyn Fn() -> Vec<PathBuf> + Send>>;
}

/// The result of one look.
#[derive(Debug)]
pub struct Progress<N> {
    pub news: Vec<N>,
    /// When something is due without any mail.
    pub due: Option<Duration>,
    /// Something is running that ends without mail from others.
    pub busy: bool,
    /// What could not advance now, and why; the next look tries again.
    pub faults: Vec<(String, String)>,
}

impl<N> Default for Progress<N> {
    fn default() -> Self {
        Self { news: vec![], due: None, busy: false, faults: vec![] }
    }
}
