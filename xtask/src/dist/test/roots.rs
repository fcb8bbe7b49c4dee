//! What is tested in a bare root: the binary alone, the archive with its script, and the `.deb`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::run;

use super::super::Packages;
use super::super::release::Release;
use super::apart::{Apart, bare_root, make};
use super::demo;
use super::picture::{compare, picture};

/// What `install.sh` uses.
pub(crate) const TOOLS: [&str; 14] = [
    "sh",
    "cat",
    "cp",
    "grep",
    "gzip",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "rmdir",
    "sed",
    "sha256sum",
    "tar",
    "uname",
];

/// In a root with nothing else: no shell, no library, no user, no `/etc`.
pub(crate) fn binary(apart: &Apart, release: &Release) -> Result<(), String> {
    let root = bare_root(&[])?;
    let own = root.path().join("postroom");
    fs::copy(&release.path, &own).map_err(|e| format!("cannot copy the binary: {e}"))?;
    let before = picture(root.path());
    demo(|| apart.rooted(root.path(), "/postroom"))?;
    compare(&before, &picture(root.path()))
}

pub(crate) fn archive(apart: &Apart, packages: &Packages) -> Result<(), String> {
    let root = bare_root(&TOOLS)?;
    make(&root.path().join("download"))?;
    for path in [&packages.archive, &packages.installer] {
        let name = path.file_name().unwrap_or_default();
        fs::copy(path, root.path().join("download").join(name)).map_err(|e| format!("cannot copy: {e}"))?;
    }
    for prefix in [[].as_slice(), &["--prefix", "/opt/postroom"]] {
        let before = picture(root.path());
        let script = |words: &[&str]| {
            let mut sh = apart.rooted(root.path(), "/bin/sh");
            run::run(sh.arg("/download/install.sh").args(prefix).args(words))
        };
        script(&[])?;
        let binary = format!("{}/bin/postroom", prefix.get(1).unwrap_or(&"/home/.local"));
        demo(|| apart.rooted(root.path(), &binary))?;
        script(&["--uninstall"])?;
        compare(&before, &picture(root.path()))?;
    }
    Ok(())
}

pub(crate) fn deb(apart: &Apart, package: &Path) -> Result<(), String> {
    let root = bare_root(&[])?;
    for directory in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        make(&root.path().join(directory))?;
    }
    fs::write(root.path().join("var/lib/dpkg/status"), "").map_err(|e| format!("cannot write: {e}"))?;
    let dpkg = |words: &[&str]| -> Command {
        let mut dpkg = apart.command("dpkg", root.path(), "/usr/sbin:/usr/bin:/sbin:/bin");
        dpkg.arg("--root").arg(root.path()).arg("--log=/dev/null").args(words);
        dpkg
    };
    // Its own notes of what is installed are not a trace of the package.
    let outside = || {
        let mut all = picture(root.path());
        all.retain(|path, _| !path.starts_with("/var/lib/dpkg"));
        all
    };
    let before = outside();
    run::run(dpkg(&["--install"]).arg(package))?;
    demo(|| apart.rooted(root.path(), "/usr/bin/postroom"))?;
    run::run(&mut dpkg(&["--purge", "postroom"]))?;
    compare(&before, &outside())?;
    let listed = run::unseen(&mut dpkg(&["--get-selections"]))?;
    if listed.is_empty() { Ok(()) } else { Err(format!("dpkg still knows {listed}")) }
}
