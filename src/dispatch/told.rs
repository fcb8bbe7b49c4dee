//! What the person was told already, so that each event is told once, whichever process notices it.
//!
//! ```text
//! .dispatch/told/<name>   an event that some process has told
//! ```

use super::runs::Runs;
use crate::clock::Timestamp;
use crate::hex;
use crate::mailbox::IfAny;
use crate::mailbox::fault::Result;
use crate::mailbox::reading::mtime;

const FOLDER: &str = "told";

/// How long it is remembered that something was told.
const REMEMBERED: i64 = 30 * 86_400;

/// The number of files from which old ones are removed.
const MANY: usize = 5000;

impl Runs {
    /// Whether this was never told. From now on it was, whichever process asks.
    pub fn tell_once(&self, key: &str) -> Result<bool> {
        let (dir, name) = (self.dir.create_dir_synced(FOLDER)?, hex::digest(key, 16));
        match dir.write_new(&name, b"") {
            // It is made by one process only.
            Err(_) if dir.stat(&name).is_ok() => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Forgets what was told long ago, when there is much of it.
    pub fn forget_told(&self, now: Timestamp) -> Result<()> {
        let names = self.names(FOLDER)?;
        if names.len() < MANY {
            return Ok(());
        }
        let dir = self.dir.sub(FOLDER)?;
        for name in names {
            let old = |stat| now.seconds() - mtime(&stat).seconds() > REMEMBERED;
            if dir.stat(&name).if_any()?.is_some_and(old) {
                let _ = dir.remove(&name);
            }
        }
        Ok(())
    }
}
