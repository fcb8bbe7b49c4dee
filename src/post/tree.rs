//! The verbs of a `.claude` tree as a whole: its status, archiving of finished chains, its shared files.

use std::path::Path;

use super::Result;
use crate::mailbox::tree::Tree;

pub use crate::mailbox::tree::{Chain, TreeStatus};

/// The status of the tree with this `.claude` directory, with so many of its newest messages.
pub fn tree_status(claude: &Path, latest: usize) -> Result<TreeStatus> {
    Ok(Tree::open(claude)?.status(latest)?)
}

/// Archives the finished chains of a tree; `dry` only lists them.
pub fn clean_up(claude: &Path, dry: bool) -> Result<Vec<Chain>> {
    Ok(Tree::open(claude)?.clean_up(dry)?)
}

/// The shared files of a tree.
#[derive(Debug)]
pub struct Shared(Tree);

impl Shared {
    pub fn open(claude: &Path) -> Result<Self> {
        Ok(Self(Tree::open(claude)?))
    }

    pub fn files(&self) -> Result<Vec<String>> {
        Ok(self.0.shared_files()?)
    }

    /// A whole file, or one part of it: a field, or a section by its heading. `None` if it does not exist.
    pub fn get(&self, name: &str, part: Option<&str>) -> Result<Option<String>> {
        Ok(match part {
            None => self.0.shared(name)?,
            Some(part) => self.0.get(name, part)?,
        })
    }

    pub fn set(&self, name: &str, field: &str, value: &str) -> Result<()> {
        Ok(self.0.set(name, field, value)?)
    }

    pub fn append(&self, name: &str, part: &str, line: &str) -> Result<()> {
        Ok(self.0.append(name, part, line)?)
    }
}
