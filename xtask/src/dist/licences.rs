//! The licences of what is inside the binary: every crate it is built from, the standard library of Rust, and the C library.
//!
//! The first two ask that their notices come with every copy. The C library is under the LGPL, which also asks that a user can
//! link the program with another version of it: the source of Postroom and `cargo xtask dist` are that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::repo::Repo;
use crate::run;

pub(crate) const NAME: &str = "LICENSES-THIRD-PARTY.txt";

const HEAD: &str = "What the binary of Postroom contains, and under which licences.

GNU C Library (glibc), LGPL-2.1-or-later with exceptions. It is linked statically and unchanged; its source is published by the
GNU project and by Debian. To link Postroom with another version of it, build Postroom from its source: cargo xtask dist.

Rust standard library, MIT OR Apache-2.0, and the crates that it contains. Copyright (c) The Rust Project Contributors.

";

/// Where Debian keeps the licence of the C library; other systems name it only.
const LGPL: &str = "/usr/share/common-licenses/LGPL-2.1";

pub(crate) fn collect(repo: &Repo) -> Result<String, String> {
    let words =
        ["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let metadata = run::unseen(repo.cargo().args(words))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|e| format!("cannot read what cargo metadata says: {e}"))?;
    let inside = inside(&metadata);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // Many crates have the same text, so each is printed once, after the names of all that have it.
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut list = vec![];
    for package in packages.filter(|package| package["id"].as_str().is_some_and(|id| inside.contains(id))) {
        let [name, version, licence, manifest] = ["name", "version", "license", "manifest_path"]
            .map(|key| package[key].as_str().unwrap_or_default());
        if name == "postroom" {
            continue;
        }
        list.push(format!("{name} {version}, {licence}\n"));
        for text in notices(Path::new(manifest)) {
            texts.entry(text).or_default().insert(name.to_owned());
        }
    }
    list.sort();
    let mut all = HEAD.to_owned() + &list.concat();
    if let Ok(text) = fs::read_to_string(LGPL) {
        texts.entry(text).or_default().insert("GNU C Library".to_owned());
    }
    for (text, names) in texts {
        let names: Vec<String> = names.into_iter().collect();
        all.push_str(&format!("\n{}\n{}:\n\n{}\n", "-".repeat(80), names.join(", "), text.trim_end()));
    }
    Ok(all)
}

/// The ids of the packages that end up in the binary: reached from postroom without build scripts and tests.
fn inside(metadata: &Value) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let own =
        metadata["packages"].as_array().into_iter().flatten().find(|package| package["name"] == "postroom");
    let mut open: Vec<&str> = own.and_then(|own| own["id"].as_str()).into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let deps = nodes.get(id).and_then(|node| node["deps"].as_array()).into_iter().flatten();
        let is_normal = |dep: &&Value| {
            dep["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        };
        open.extend(deps.filter(is_normal).filter_map(|dep| dep["pkg"].as_str()));
    }
    seen
}

/// The licence texts beside a manifest.
fn notices(manifest: &Path) -> Vec<String> {
    let Some(entries) = manifest.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return vec![] };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let is_notice = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|word| name.starts_with(word))
    };
    paths.into_iter().filter(is_notice).filter_map(|path| fs::read_to_string(path).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_counts() {
        let dep = |id: &str, kind: Value| serde_json::json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = serde_json::json!({
            "packages": [{"name": "postroom", "id": "p"}, {"name": "a", "id": "a"}],
            "resolve": {"nodes": [
                {"id": "p", "deps": [dep("a", Value::Null), dep("test", "dev".into()), dep("script", "build".into())]},
                {"id": "a", "deps": [dep("b", Value::Null)]},
                {"id": "b", "deps": []},
            ]},
        });
        assert_eq!(inside(&metadata), BTreeSet::from(["p", "a", "b"]));
    }

    #[test]
    fn a_licence_of_a_crate_is_found_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["Cargo.toml", "LICENSE-MIT", "copying.txt", "lib.rs"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(notices(&folder.path().join("Cargo.toml")), ["LICENSE-MIT", "copying.txt"]);
    }
}
