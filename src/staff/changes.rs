//! Whether the settings of agents may have changed: a number made of the files they come from, which costs a few looks at
//! directories and reads nothing.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::settings;
use crate::surroundings::Environment;
use crate::trust::Store;

/// The files and directories that decide which agents there are, and what the person hears about them: settings of the project,
/// of the room and of the person, the registry, the descriptions of agents in these trees, and what the person trusts.
fn sources(environment: &dyn Environment, store: &Store, room: &Path, trees: &[PathBuf]) -> Vec<PathBuf> {
    let here = environment.here();
    let above = here.iter().flat_map(|here| here.ancestors()).map(|dir| dir.join(settings::FILE));
    let own = [settings::FILE, "registry.json"].map(|file| room.join(file));
    let personal = store.path().with_file_name(settings::FILE);
    let described = trees.iter().map(|tree| tree.join("agents"));
    above.chain(own).chain(described).chain([store.path().to_owned(), personal]).collect()
}

/// Another number says that something may have changed. `trees`: those of the room.
pub fn stamp(environment: &dyn Environment, store: &Store, room: &Path, trees: &[PathBuf]) -> u64 {
    let mut hash = DefaultHasher::new();
    for path in sources(environment, store, room, trees) {
        let known = |path: &Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.ino(), found.len(), found.mtime(), found.mtime_nsec(), found.ctime_nsec()))
        };
        known(&path).hash(&mut hash);
    }
    hash.finish()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;
    use crate::surroundings::tests::Given;

    /// An agent of a tree whose description came back needed a restart, and so did `[notify]`.
    #[test]
    fn descriptions_of_a_tree_and_the_settings_of_the_person_count() {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (store, given) =
            (Store::new(&base.join("config")), Given { here: base.join("web"), ..Given::default() });
        let agents = base.join("web/.claude/agents");
        std::fs::create_dir_all(&agents).unwrap();
        std::fs::create_dir(base.join("config")).unwrap();
        let stamp = || stamp(&given, &store, &base.join("room"), &[base.join("web/.claude")]);
        let before = stamp();
        assert_eq!(stamp(), before);
        std::fs::write(agents.join("explore.md"), "x").unwrap();
        let described = stamp();
        assert_ne!(described, before);
        std::fs::write(base.join("config/postroom.toml"), "[notify]\n").unwrap();
        assert_ne!(stamp(), described);
    }
}
