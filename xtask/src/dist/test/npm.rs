//! The packages for npm: as a tool of the user, and among the packages of a project.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

use super::super::npm::NATIVE;
use super::apart::{Apart, make, place};
use super::demo;
use super::picture::{compare, picture};

pub(crate) fn test(apart: &Apart, packages: &[PathBuf; 2]) -> Result<(), String> {
    let place = place()?;
    let [prefix, cache] = ["prefix", "cache"].map(|name| place.path().join(name));
    for directory in [prefix.join("bin"), prefix.join("lib/node_modules"), cache.clone()] {
        make(&directory)?;
    }
    let node = run::find_program("node").and_then(|path| Some(path.parent()?.to_owned()));
    let path =
        format!("{}:{}:/usr/bin:/bin", prefix.join("bin").display(), node.unwrap_or_default().display());
    let before = picture(place.path());
    let npm = |words: &[&str]| -> Command {
        let mut npm = apart.command("npm", place.path(), &path);
        npm.args(words).args(["--global", "--offline", "--no-audit", "--no-fund", "--no-update-notifier"]);
        npm.arg("--prefix").arg(&prefix).arg("--cache").arg(&cache);
        npm
    };
    // Only what npm keeps for itself may change.
    let outside = || {
        let mut all = picture(place.path());
        all.retain(|path, _| !path.starts_with("/cache/"));
        all
    };
    run::quietly(npm(&["install"]).args(packages))?;
    demo(|| apart.command("postroom", place.path(), &path))?;
    passes_on_exit_codes(apart, place.path(), &path)?;
    registers_the_binary(apart, &prefix, &path)?;
    run::quietly(npm(&["uninstall", "postroom", NATIVE]).stdin(std::process::Stdio::null()))?;
    compare(&before, &outside())
}

fn passes_on_exit_codes(apart: &Apart, place: &Path, path: &str) -> Result<(), String> {
    let mut wrong = apart.command("postroom", place, path);
    match wrong.arg("nonsense").output().map(|output| output.status.code()) {
        Ok(Some(2)) => Ok(()),
        other => Err(format!("the launcher ended with {other:?} where postroom ends with 2")),
    }
}

/// The launcher would start Node for every hook, so agent programs are given the path of the binary.
fn registers_the_binary(apart: &Apart, prefix: &Path, path: &str) -> Result<(), String> {
    let home = place()?;
    make(&home.path().join("home/.claude"))?;
    run::quietly(apart.command("postroom", home.path(), path).args(["install", "claude", "--mcp"]))?;
    let settings =
        std::fs::read_to_string(home.path().join("home/.claude.json")).map_err(|e| e.to_string())?;
    let settings: serde_json::Value = serde_json::from_str(&settings).map_err(|e| e.to_string())?;
    let registered = settings["mcpServers"]["postroom"]["command"].as_str().unwrap_or_default();
    if registered.starts_with(&*prefix.to_string_lossy())
        && registered.ends_with(&format!("{NATIVE}/bin/postroom"))
    {
        return Ok(());
    }
    Err(format!("`postroom install` registered {registered}, which is not the binary"))
}
