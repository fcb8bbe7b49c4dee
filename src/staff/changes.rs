//! Whether the settings of agents may have changed: a number made of the files they come from, which costs a few looks at
//! directories and reads nothing.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::settings;
use crate::surroundings::Environment;
use crate::trust::Store;

/// The files and directories that decide which agents there are: settings of the project and of the room, the registry,
/// and what the person trusts.
fn sources(environment: &dyn Environment, store: &Store, room: &Path) -> Vec<PathBuf> {
    let here = environment.here();
    let above = here.iter().flat_map(|here| here.ancestors()).map(|dir| dir.join(settings::FILE));
    let own = [settings::FILE, "registry.json"].map(|file| room.join(file));
    above.chain(own).chain([store.path().to_owned()]).collect()
}

/// Another number says that something may have changed.
pub fn stamp(environment: &dyn Environment, store: &Store, room: &Path) -> u64 {
    let mut hash = DefaultHasher::new();
    for path in sources(environment, store, room) {
        let known = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec(), found.ctime_nsec()))
        };
        known(&path).hash(&mut hash);
    }
    hash.finish()
}
