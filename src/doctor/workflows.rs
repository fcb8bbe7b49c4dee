//! The doctor's checks of the stored workflow runs (format.md §14).

use rustix::fs::FileType;

use super::{Doctor, Grade, entries};
use crate::mailbox::{Dir, Error, IfAny};
use crate::workflow::runs::{FOLDER, Runs};

impl Doctor<'_> {
    pub(super) fn workflows(&mut self) -> Result<(), Error> {
        let Some(runs) = Runs::existing(self.room)? else { return Ok(()) };
        let folder = self.room.root().sub(FOLDER)?;
        self.kept(&folder, 0)?;
        for run in runs.open_ids()? {
            let path = folder.path().join("open").join(&run);
            if let Some(why) = runs.loss(self.room, &run)? {
                let what = format!("marks a run as in progress, but {why}");
                self.repair(Grade::Fault, "§14.1", path, what, || runs.set_open(&run, false));
            }
        }
        Ok(())
    }

    /// Checks owners and modes of everything below; a name with a leading dot was being written.
    fn kept(&mut self, folder: &Dir, depth: usize) -> Result<(), Error> {
        for (name, kind) in entries(folder)? {
            let Some(stat) = folder.stat(&name).if_any()? else { continue };
            match kind {
                FileType::RegularFile if name.starts_with('.') => self.litter(folder, &name),
                FileType::RegularFile => self.modes(folder, &name, &stat),
                // The records of a run that was never begun.
                FileType::Directory if name.starts_with('.') && folder.path().ends_with("runs") => {
                    self.litter(folder, &name);
                }
                FileType::Directory => {
                    self.modes(folder, &name, &stat);
                    if depth < 4
                        && let Some(below) = folder.sub_if_any(&name)?
                    {
                        self.kept(&below, depth + 1)?;
                    }
                }
                _ => {
                    let path = folder.path().join(&name);
                    self.find(Grade::Fault, "§1.3", path, "is neither a file nor a directory");
                }
            }
        }
        Ok(())
    }
}
