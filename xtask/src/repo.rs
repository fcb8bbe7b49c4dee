//! The repository a task works on: where it is, where cargo puts what it builds, and which targets it has.
//!
//! Cargo is asked rather than guessed, because a configuration or `CARGO_TARGET_DIR` may move the target directory.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// The names of the integration test targets of the workspace.
    tests: Vec<String>,
}

impl Repo {
    pub(crate) fn open() -> Result<Self, String> {
        let root = root()?;
        let output = cargo_in(&root)
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .map_err(|source| format!("cannot run cargo metadata: {source}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)
            .map_err(|source| format!("cannot read what cargo metadata says: {source}"))?;
        let target =
            metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory")?;
        Ok(Self { root, target: PathBuf::from(target), tests: test_targets(&metadata) })
    }

    pub(crate) fn cargo(&self) -> Command {
        cargo_in(&self.root)
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// What cargo builds with a profile.
    pub(crate) fn binary(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join(name)
    }

    pub(crate) fn has_test(&self, name: &str) -> bool {
        self.tests.iter().any(|test| test == name)
    }

    /// Where tests leave a line for each test that they skipped; named to them by `POSTROOM_SKIPPED`.
    pub(crate) fn skipped_file(&self) -> PathBuf {
        self.target.join("skipped-tests.txt")
    }
}

/// The root of the checkout that this xtask was built from.
pub(crate) fn root() -> Result<PathBuf, String> {
    // Cargo sets the variable for what it runs; the constant serves a binary that is started by hand.
    let package =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = package.parent().ok_or_else(|| format!("{} has no parent", package.display()))?;
    Ok(root.to_owned())
}

fn cargo_in(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

fn test_targets(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .flat_map(|package| package["targets"].as_array().into_iter().flatten())
        .filter(|target| {
            target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "test"))
        })
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_integration_tests_count_as_test_targets() {
        let metadata = serde_json::json!({"packages": [
            {"targets": [{"kind": ["lib"], "name": "postroom"}, {"kind": ["test"], "name": "torture"}]},
            {"targets": [{"kind": ["bin"], "name": "xtask"}]},
        ]});
        assert_eq!(test_targets(&metadata), ["torture"]);
    }

    #[test]
    fn the_root_holds_the_workspace() {
        let manifest = std::fs::read_to_string(root().unwrap().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
