//! Files that only grow while one process writes them: the output of a run. Nothing depends on them.

use std::fs::File;

use super::Dir;
use crate::mailbox::fault::Result;

impl Dir {
    /// A new file, open for writing.
    pub fn log_file(&self, name: &str) -> Result<File> {
        self.new_file(name, b"").map(|(file, _)| file)
    }
}
