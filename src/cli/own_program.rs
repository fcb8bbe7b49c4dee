//! The file of postroom on this machine: the path that agent programs are given, and the link on the search path that `install`
//! offers.
//!
//! A package of another language may put a script on the search path that starts the binary (npm does). Registered with an
//! agent program, it would start an interpreter for every hook, so only a binary counts here.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::context::Context;
use super::fail::Fail;
use super::output::note;
use super::surroundings::{self, ThisProcess};
use super::terminal;
use crate::hint::quoted;
use crate::surroundings::{Environment, home, programs_on_path};

const NAME: &str = "postroom";

/// The path by which other programs can start postroom later: one that lasts, if there is one.
pub(super) fn lasting_path() -> Result<PathBuf, Fail> {
    let own = surroundings::own_path();
    let known: Vec<PathBuf> = on_path().into_iter().chain(own.as_ref().ok().cloned().flatten()).collect();
    if let Some(path) = known.iter().find(|path| end(path).is_none()).or(known.first()) {
        return Ok(path.clone());
    }
    let why = match own {
        Err(e) => format!("the file of this program cannot be found: {e}"),
        Ok(_) => "the file of this program was replaced or cannot be read".to_owned(),
    };
    Err(Fail::not_done(why, "run it again, or put postroom on the search path"))
}

/// Whether `postroom` can be called by its name.
pub(super) fn is_on_path() -> bool {
    !programs_on_path(&ThisProcess, NAME).is_empty()
}

/// The binaries on the search path, in its order.
fn on_path() -> Vec<PathBuf> {
    let found = programs_on_path(&ThisProcess, NAME).into_iter();
    found.filter(|path| path.is_absolute() && !is_script(path).unwrap_or(true)).collect()
}

/// Whether a login shell of this person finds postroom by its name. A shell that gives no answer is not held against it.
pub(super) fn is_in_login_shell() -> bool {
    let given = ThisProcess.variable("SHELL").map(PathBuf::from).filter(|shell| shell.is_absolute());
    let usual = ["/bin/bash", "/bin/sh"].map(PathBuf::from);
    let Some(shell) = given.into_iter().chain(usual).find(|shell| shell.is_file()) else { return true };
    let mut command = Command::new("timeout");
    command.args(["-k", "2", "10"]).arg(shell).args(["-lc", &format!("command -v {NAME}")]);
    let ended = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    !ended.is_ok_and(|ended| ended.status.code() == Some(1) || ended.status.code() == Some(127))
}

fn is_script(path: &Path) -> io::Result<bool> {
    let mut head = [0; 2];
    std::fs::File::open(path)?.read_exact(&mut head)?;
    Ok(&head == b"#!")
}

/// What can happen to a file at a place where package managers put it. `None` if it stays until somebody removes it by name.
fn end(path: &Path) -> Option<&'static str> {
    let words: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    let has = |names: &[&str]| words.windows(names.len()).any(|part| part == names);
    if has(&["_npx"]) || has(&[".cache"]) || has(&["archive-v0"]) {
        return Some("it is in a cache, which may be emptied");
    }
    let is_project = has(&["node_modules"]) && !has(&["lib", "node_modules"]);
    let is_tool = has(&["pipx", "venvs"]) || has(&["uv", "tools"]);
    let environment = path.parent().and_then(Path::parent);
    let is_environment = environment.is_some_and(|at| at.join("pyvenv.cfg").is_file()) && !is_tool;
    (is_project || is_environment).then_some("it goes with the packages around it")
}

/// Says that the path given to agent programs may soon lead nowhere.
pub(super) fn warn(path: &str) {
    if let Some(why) = end(Path::new(path)) {
        let hint = "if it disappears, its hooks do nothing; install postroom for good, and run this again";
        note(&format!("postroom: {path} was registered, but {why}: {hint}"));
    }
}

/// Asks a person for a link on the search path if no binary is there; prints the line that makes it where nobody can be asked.
pub(super) fn offer_link(context: &mut Context) -> Result<(), Fail> {
    if !on_path().is_empty() {
        return Ok(());
    }
    let launcher = programs_on_path(&ThisProcess, NAME).into_iter().find(|path| end(path).is_none());
    let missing = match &launcher {
        Some(path) => {
            format!("{} is a script that starts postroom, at every call of an agent", path.display())
        }
        None => "no postroom is on the search path; agents call it by that name".to_owned(),
    };
    let bin = home(&ThisProcess)?.join(".local/bin");
    let searched = ThisProcess.variable("PATH").unwrap_or_default();
    let is_searched = std::env::split_paths(&searched).any(|dir| dir == bin);
    // A link to a file that vanishes would lead nowhere.
    let own = surroundings::own_path().ok().flatten().filter(|own| end(own).is_none());
    let (true, Some(own)) = (is_searched || bin.is_dir(), own) else {
        if launcher.is_none() {
            context.output.line(&format!("{missing}, so put it there"));
        }
        return Ok(());
    };
    let link = bin.join(NAME);
    let [own_shown, bin_shown, link_shown] =
        [&own, &bin, &link].map(|path| quoted(&path.display().to_string()));
    let line = format!("mkdir -p {bin_shown} && ln -s {own_shown} {link_shown}");
    context.output.flush().map_err(Fail::Output)?;
    let asks = !context.surroundings.by_agent;
    if !asks || !terminal::agrees(&format!("{missing}. Make the link {link_shown} to {own_shown}?")) {
        context.output.line(&format!("{missing}: {line}"));
        return Ok(());
    }
    match make(&bin, &link, &own) {
        Ok(()) => {
            let then =
                if is_searched { "" } else { "; log in again to have that directory on the search path" };
            context.output.line(&format!("linked {link_shown}{then} (to undo: rm {link_shown})"));
        }
        Err(e) => note(&format!("postroom: {link_shown} was not made: {e}; try: {line}")),
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a link for the shell of a person is on no mail path")]
fn make(bin: &Path, link: &Path, own: &Path) -> io::Result<()> {
    std::fs::create_dir_all(bin)?;
    // What a removed package left behind leads nowhere, and nobody misses it.
    if link.symlink_metadata().is_ok_and(|found| found.is_symlink())
        && link.metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound)
    {
        std::fs::remove_file(link)?;
    }
    std::os::unix::fs::symlink(own, link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_a_package_manager_may_vanish() {
        let kept = [
            "/usr/bin/postroom",
            "/h/a/.local/bin/postroom",
            "/usr/lib/node_modules/postroom/node_modules/postroom-linux-x64/bin/postroom",
            "/h/a/.local/share/pipx/venvs/postroom/bin/postroom",
            "/h/a/.local/share/uv/tools/postroom/bin/postroom",
        ];
        kept.iter().for_each(|path| assert_eq!(end(Path::new(path)), None, "{path}"));
        let passing = [
            ("/h/a/.npm/_npx/0a/node_modules/postroom-linux-x64/bin/postroom", "cache"),
            ("/h/a/.cache/uv/archive-v0/x/bin/postroom", "cache"),
            ("/cache/uv/archive-v0/x/bin/postroom", "cache"),
            ("/srv/web/node_modules/postroom-linux-x64/bin/postroom", "packages"),
        ];
        for (path, why) in passing {
            assert!(end(Path::new(path)).is_some_and(|said| said.contains(why)), "{path}");
        }
        let venv = tempfile::tempdir().unwrap();
        let path = venv.path().join("bin/postroom");
        assert_eq!(end(&path), None);
        std::fs::write(venv.path().join("pyvenv.cfg"), "").unwrap();
        assert!(end(&path).is_some());
    }
}
