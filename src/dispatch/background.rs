//! Background work: what a dispatcher does between two looks for mail. It is passed in, because a dispatcher knows mail and agents,
//! and nothing of what follows from answers.

use std::path::PathBuf;
use std::time::Duration;

use crate::post::{Post, Result};

/// Work that gets on whenever a dispatcher looks.
pub trait Background {
    /// What there is to tell when it got on.
    type News;

    /// Gets on as far as that goes now.
    fn look(&mut self, post: &Post) -> Result<Progress<Self::News>>;

    /// Finds the directories where something arrives that it waits for. They come and go.
    fn arrivals(&self, post: &Post) -> Result<Box<dyn Fn() -> Vec<PathBuf> + Send>>;
}

/// What one look came to.
#[derive(Debug)]
pub struct Progress<N> {
    pub news: Vec<N>,
    /// When something is due without any mail.
    pub due: Option<Duration>,
    /// Something is under way that ends without any mail of others.
    pub busy: bool,
    /// What could not get on just now, and why; the next look tries again.
    pub faults: Vec<(String, String)>,
}

impl<N> Default for Progress<N> {
    fn default() -> Self {
        Self { news: vec![], due: None, busy: false, faults: vec![] }
    }
}
