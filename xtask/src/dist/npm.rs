//! The packages for npm: a launcher, and the binary in a package for its platform, which npm chooses by `os` and `cpu`. Nothing is
//! downloaded when or after they are installed, and no script runs.

use serde_json::{Value, json};

use super::archive::tar_gz;
use super::files::{BINARY, DOC, File};
use super::release::Release;
use super::{licences, under};

const LAUNCHER: &str = include_str!("../../../packaging/npm/launcher.js");
pub(crate) const NATIVE: &str = "postroom-linux-x64";

/// The file names and the bytes of the launcher and of the binary.
pub(crate) fn packages(release: &Release, files: &[File]) -> [(String, Vec<u8>); 2] {
    let version = release.version;
    let launcher = json!({
        "name": "postroom",
        "bin": {"postroom": "bin/postroom.js"},
        "engines": {"node": ">=16"},
        "optionalDependencies": {NATIVE: version},
    });
    let native = json!({
        "name": NATIVE,
        "os": ["linux"],
        "cpu": ["x64"],
        // Some package managers otherwise leave it inside an archive, from which nothing can be started.
        "preferUnplugged": true,
    });
    let binary: Vec<File> = files.iter().filter(|file| file.path == BINARY).cloned().collect();
    let readme = documents(files, &["README.md"]);
    let licences = documents(files, &["LICENSE-APACHE", "LICENSE-MIT"]);
    let third = documents(files, &[licences::NAME]);
    let script = vec![File::program("bin/postroom.js", LAUNCHER)];
    [
        (
            format!("postroom-{version}.tgz"),
            pack(release, launcher, [script, readme, licences.clone()].concat()),
        ),
        (
            format!("postroom-linux-x64-{version}.tgz"),
            pack(release, native, [binary, licences, third].concat()),
        ),
    ]
}

/// Documents of the installation, at the top of the package.
fn documents(files: &[File], names: &[&str]) -> Vec<File> {
    let named = names.iter().map(|name| (name, format!("{DOC}/{name}")));
    let found =
        named.filter_map(|(name, path)| files.iter().find(|file| file.path == path).map(|file| (name, file)));
    found.map(|(name, file)| File::new(*name, file.bytes.clone())).collect()
}

fn pack(release: &Release, mut manifest: Value, mut files: Vec<File>) -> Vec<u8> {
    manifest["version"] = json!(release.version);
    manifest["description"] = json!("Mail for coding agents, on plain files");
    manifest["license"] = json!("MIT OR Apache-2.0");
    files.push(File::new("package.json", format!("{manifest:#}\n")));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    tar_gz(&under(&files, "package"), release.time)
}
