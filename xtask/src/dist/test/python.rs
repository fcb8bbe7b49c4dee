//! The wheel, by each program that installs wheels.

use std::path::Path;
use std::process::Command;

use crate::run;

use super::apart::{Apart, place};
use super::demo;
use super::picture::{compare, picture};

pub(crate) fn pip(apart: &Apart, wheel: &Path) -> Result<(), String> {
    let place = place()?;
    let path = search_path("python3");
    let apart = |program: &str| -> Command {
        let mut command = apart.command(program, place.path(), &path);
        // Otherwise Python compiles its own modules into the environment as it goes.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    run::quietly(apart("python3").args(["-m", "venv"]).arg(place.path().join("venv")))?;
    let inside = |name: &str| place.path().join("venv/bin").join(name).display().to_string();
    let before = picture(place.path());
    let pip = |words: &[&str]| {
        let mut pip = apart(&inside("python3"));
        pip.args(["-m", "pip", "--no-cache-dir", "--disable-pip-version-check"]).args(words);
        pip
    };
    run::quietly(pip(&["install", "--no-index"]).arg(wheel))?;
    demo(|| apart(&inside("postroom")))?;
    run::quietly(&mut pip(&["uninstall", "--yes", "postroom"]))?;
    compare(&before, &picture(place.path()))
}

pub(crate) fn pipx(apart: &Apart, wheel: &Path) -> Result<(), String> {
    let place = place()?;
    let path = format!("{}:{}", place.path().join("home/.local/bin").display(), search_path("pipx"));
    let pipx = |words: &[&str]| {
        let mut pipx = apart.command("pipx", place.path(), &path);
        pipx.args(words);
        pipx
    };
    run::quietly(pipx(&["install", "--pip-args=--no-index"]).arg(wheel))?;
    demo(|| apart.command("postroom", place.path(), &path))?;
    run::quietly(&mut pipx(&["uninstall", "postroom"]))?;
    nothing_left(&place.path().join("home"))
}

pub(crate) fn uv(apart: &Apart, wheel: &Path) -> Result<(), String> {
    let place = place()?;
    let path = format!("{}:{}", place.path().join("home/.local/bin").display(), search_path("uv"));
    let uv = |words: &[&str]| {
        let mut uv = apart.command("uv", place.path(), &path);
        uv.args(words).env("UV_OFFLINE", "1").env("UV_PYTHON_DOWNLOADS", "never");
        uv
    };
    run::quietly(uv(&["tool", "install"]).arg(wheel))?;
    demo(|| apart.command("postroom", place.path(), &path))?;
    run::quietly(&mut uv(&["tool", "uninstall", "postroom"]))?;
    // What `uvx` does.
    demo(|| {
        let mut once = uv(&["tool", "run", "--from"]);
        once.arg(wheel).arg("postroom");
        once
    })?;
    run::quietly(&mut uv(&["cache", "clean"]))?;
    nothing_left(&place.path().join("home"))
}

/// What an installer keeps for itself stays: directories, a cache, locks. Nothing else has the name of postroom.
fn nothing_left(home: &Path) -> Result<(), String> {
    let is_its_own = |path: &String| path.starts_with("/.cache/") || path.ends_with(".lock");
    let named = picture(home).into_keys().filter(|path| path.contains("postroom"));
    let left: Vec<String> = named.filter(|path| !is_its_own(path)).collect();
    if left.is_empty() { Ok(()) } else { Err(format!("left behind: {}", left.join(", "))) }
}

/// A search path with that program, and Python.
fn search_path(program: &str) -> String {
    let found = [program, "python3"].into_iter().filter_map(run::find_program);
    let mut folders: Vec<String> =
        found.filter_map(|path| Some(path.parent()?.display().to_string())).collect();
    folders.push("/usr/bin:/bin".to_owned());
    folders.join(":")
}
