//! The surroundings: the only place that reads the environment, the home directory and the working
//! directory. What it finds is handed on as plain data.
#![allow(clippy::disallowed_methods, reason = "this is the place")]

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::fail::Fail;
use crate::name::RoomName;
use crate::post::{Error, Failure};
use crate::repository::Repository;
use crate::room;
use crate::rooms::{Located, MAIN, Rooms};
use crate::session::Session;
use crate::settings::{self, Project};

/// Programs that tell a session's id to the commands they start.
const SESSIONS: [(&str, &str); 4] = [
    ("claude", "CLAUDE_CODE_SESSION_ID"),
    ("codex", "CODEX_THREAD_ID"),
    ("copilot", "COPILOT_AGENT_SESSION_ID"),
    // OpenCode tells nothing; its plugin of ours does.
    ("opencode", "POSTROOM_OPENCODE_SESSION"),
];

/// Variables by which a program can be told that tells no session.
const PROGRAMS: [(&str, &str); 3] =
    [("claude", "CLAUDECODE"), ("gemini", "GEMINI_CLI"), ("opencode", "OPENCODE")];

#[derive(Debug)]
pub(super) struct Surroundings {
    pub(super) mailbox_id: Option<String>,
    pub(super) session: Option<Session>,
    pub(super) harness: String,
    /// How many automatic steps led to the run that this command is a part of.
    pub(super) hops: Option<u32>,
    /// The number of the thread that did.
    pub(super) thread: Option<String>,
    /// Whether an agent is at work here, and not a person.
    pub(super) by_agent: bool,
}

impl Surroundings {
    pub(super) fn read() -> Self {
        let session = SESSIONS.iter().find_map(|(program, variable)| {
            variable_of(variable).map(|id| Session { program: (*program).to_owned(), id })
        });
        let program = session.as_ref().map(|s| s.program.clone());
        let known = || PROGRAMS.iter().find(|(_, v)| variable_of(v).is_some()).map(|(p, _)| (*p).to_owned());
        let by_agent =
            program.is_some() || known().is_some() || variable_of(crate::process::marked::MARK).is_some();
        let harness =
            variable_of("AGENT_HARNESS").filter(|h| RoomName::parse(h).is_ok()).or(program).or_else(known);
        Self {
            // Whatever it holds, it is what was said; what cannot be used is refused and never passed over.
            mailbox_id: env::var_os("AGENT_MAILBOX_ID")
                .filter(|value| !value.is_empty())
                .map(|value| value.to_string_lossy().into_owned()),
            session,
            harness: harness.unwrap_or_else(|| "shell".to_owned()),
            hops: variable_of(crate::dispatch::judgement::STEPS).and_then(|hops| hops.parse().ok()),
            thread: variable_of(crate::dispatch::judgement::LEADING),
            by_agent,
        }
    }

    /// The room that is meant, seen from the working directory or from the one that is given.
    pub(super) fn room(
        &self,
        root: Option<&Path>,
        room: Option<&str>,
        session: Option<&Session>,
        here: Option<&Path>,
    ) -> Result<Located, Fail> {
        if let Some(root) = root {
            return Ok(Located::at(absolute(root)?));
        }
        if let Some(room) = room {
            return Ok(rooms()?.named(&checked(room)?));
        }
        if let Some(root) = bound_root(session)? {
            return Ok(rooms()?.at(root));
        }
        if let Some(root) = env::var_os("POSTROOM_ROOT").filter(|r| !r.is_empty()) {
            return Ok(Located::at(absolute(Path::new(&root))?));
        }
        let here = match here.map_or_else(env::current_dir, |here| Ok(here.to_owned())) {
            // It was removed, so it is in no repository.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(rooms()?.named(&checked(MAIN)?)),
            Err(e) => {
                let why = format!("cannot tell where this is: {e}");
                return Err(Fail::told(Failure::NotDone, why, "name a room: --room NAME"));
            }
            Ok(here) => here,
        };
        if let Some(room) = project(&here)?.and_then(|project| project.room) {
            return Ok(rooms()?.named(&room));
        }
        let home = env::home_dir();
        let repository = Repository::around(&here, home.as_deref()).map_err(|e| {
            Fail::told(Failure::Refused, e.to_string(), "correct it, or name a room: --room NAME")
        })?;
        match repository {
            Some(repository) => Ok(rooms()?.of(&repository)?),
            None => Ok(rooms()?.named(&checked(MAIN)?)),
        }
    }

    /// A directory that a person named, with all links on the way resolved once: from here on none is followed.
    pub(super) fn whole_path(&self, path: &Path) -> Result<PathBuf, Fail> {
        std::fs::canonicalize(path).map_err(|e| {
            Fail::told(Failure::Refused, format!("{}: {e}", path.display()), "name a directory that is there")
        })
    }

    /// The `.claude` directory that is meant: of the directory that was named, else the nearest above the working
    /// directory that has inboxes.
    pub(super) fn tree(&self, named: Option<&Path>) -> Result<PathBuf, Fail> {
        let none = |at: &Path| {
            let hint = "--tree DIR names a project; postroom setup --tree DIR AGENT... lays one out";
            Fail::told(Failure::Unknown, format!("there is no .claude tree at {}", at.display()), hint)
        };
        let start = match named {
            Some(path) => self.whole_path(path)?,
            None => env::current_dir().map_err(|_| none(Path::new(".")))?,
        };
        let failed = |e: std::io::Error| {
            Fail::told(Failure::NotDone, format!("cannot look at {}: {e}", start.display()), "try again")
        };
        if start.ends_with(".claude") && is_tree(&start).map_err(failed)? {
            return Ok(start);
        }
        let above = start.ancestors().take(if named.is_some() { 1 } else { usize::MAX });
        tree_among(above).map_err(failed)?.ok_or_else(|| none(&start))
    }

    /// What allows a write that the sandbox of the program around us forbade.
    pub(super) fn sandbox_hint(&self, root: &Path) -> String {
        let root = root.display();
        match self.harness.as_str() {
            "codex" => format!("the sandbox of codex forbids it; start codex with --add-dir {root}"),
            "copilot" => format!("the sandbox of copilot forbids it; start copilot with --add-dir {root}"),
            "opencode" => format!(
                "opencode forbids it; allow \"external_directory\": {{\"{root}/*\": \"allow\"}} in its settings"
            ),
            "claude" => {
                format!("if a sandbox is set, allow writing to {root} in it (claude --add-dir {root})")
            }
            "gemini" => format!("if a sandbox is set, allow writing to {root} in it"),
            _ => format!("see who may write to {root}"),
        }
    }
}

/// Where a path leads, with all links on the way resolved; nothing if it leads nowhere.
pub(super) fn real_path(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// The `.claude` directory with inboxes that is nearest to the working directory.
pub(super) fn nearest_tree() -> Option<PathBuf> {
    tree_among(env::current_dir().ok()?.ancestors()).ok()?
}

fn tree_among<'a>(dirs: impl Iterator<Item = &'a Path>) -> std::io::Result<Option<PathBuf>> {
    for claude in dirs.map(|dir| dir.join(".claude")) {
        if is_tree(&claude)? {
            return Ok(Some(claude));
        }
    }
    Ok(None)
}

fn is_tree(claude: &Path) -> std::io::Result<bool> {
    use std::io::ErrorKind;
    match claude.join("inboxes").metadata() {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        // A directory of somebody else on the way up is not ours to look into.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Ok(false),
        found => Ok(found?.is_dir()),
    }
}

fn checked(room: &str) -> Result<RoomName, Fail> {
    RoomName::parse(room)
        .map_err(|why| Error::BadName { what: "the room", text: room.to_owned(), why }.into())
}

/// Where sessions of this person are bound, if anything tells.
pub(super) fn sessions() -> Option<PathBuf> {
    state().ok().map(|state| state.join("sessions"))
}

/// The room that a session is bound in, if it is still there.
pub(super) fn bound_root(session: Option<&Session>) -> Result<Option<PathBuf>, Fail> {
    let (Some(session), Some(sessions)) = (session, sessions()) else { return Ok(None) };
    let root = session.binding(&sessions)?.map(|bound| bound.root);
    // What cannot be looked at is there: opening it tells what is wrong, and no other room is taken for it.
    let is_gone =
        |root: &PathBuf| root.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    Ok(root.filter(|root| !is_gone(root)))
}

/// The rooms of this person.
pub(super) fn rooms() -> Result<Rooms, Fail> {
    Ok(Rooms::new(&state()?))
}

/// Where the rooms of this person are.
pub(super) fn state() -> Result<PathBuf, Fail> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let state =
        state.or_else(|| env::home_dir().filter(|h| h.is_absolute()).map(|home| home.join(".local/state")));
    let state = state.ok_or_else(|| {
        Fail::told(
            Failure::Refused,
            "neither XDG_STATE_HOME nor HOME says where rooms are",
            "--root DIR names one",
        )
    })?;
    Ok(state.join("postroom"))
}

/// Where the settings of this person are: what is trusted, and what was approved.
pub(super) fn config() -> Result<PathBuf, Fail> {
    let config = directory("XDG_CONFIG_HOME").map_or_else(|| Ok(home()?.join(".config")), Ok::<_, Fail>)?;
    Ok(config.join("postroom"))
}

/// The variables of the environment with these names, as they are.
pub(super) fn variables<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(OsString, OsString)> {
    names.filter_map(|name| Some((OsString::from(name), env::var_os(name)?))).collect()
}

/// The file of this program itself, to be started again.
pub(super) fn myself() -> std::io::Result<PathBuf> {
    // After an upgrade its name leads to another file, or to none; what runs goes on with what it began with.
    let named = env::current_exe()?;
    Ok(crate::os::replaced_program(&named).unwrap_or(named))
}

/// The path of this program, if it still leads to it.
pub(super) fn own_path() -> std::io::Result<Option<PathBuf>> {
    let named = env::current_exe()?;
    Ok(Some(named).filter(|named| crate::os::replaced_program(named).is_none()))
}

/// A file of a program on the search path.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    program_from(program, Path::new(""))
}

/// The same, as it is found when it is started in a directory.
pub(super) fn program_from(program: &str, from: &Path) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(from.join(program)).filter(is_program);
    }
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(program)).find(is_program)
}

/// The settings of the nearest `postroom.toml` at or above a directory.
fn project(here: &Path) -> Result<Option<Project>, Fail> {
    let Some((path, text)) = project_file_above(here)? else { return Ok(None) };
    let project = Project::parse(&text, &path.display().to_string());
    project
        .map(Some)
        .map_err(|e| Fail::told(Failure::Refused, e.to_string(), "docs/settings.md lists the keys"))
}

/// The file of the project around the working directory, and what it says.
pub(super) fn project_file() -> Result<Option<(PathBuf, String)>, Fail> {
    env::current_dir().map_or(Ok(None), |here| project_file_above(&here))
}

fn project_file_above(here: &Path) -> Result<Option<(PathBuf, String)>, Fail> {
    use std::io::{ErrorKind, Read};
    use std::os::unix::fs::OpenOptionsExt;
    for directory in here.ancestors() {
        let path = directory.join(settings::FILE);
        let failed = |e: std::io::Error| {
            let why = format!("cannot read {}: {e}", path.display());
            Fail::told(Failure::NotDone, why, "--root DIR goes without it")
        };
        // A pipe of that name would keep every command waiting.
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits();
        let file =
            match std::fs::File::options().read(true).custom_flags(nonblocking.cast_signed()).open(&path) {
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
                other => other.map_err(failed)?,
            };
        // In a room the file of this name holds its limits, and is read there.
        if directory.join(room::VERSION_FILE).is_file() {
            continue;
        }
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() || found.len() > settings::LARGEST {
            let why = format!("{} is no file, or too large", path.display());
            return Err(Fail::told(Failure::Refused, why, "move it away"));
        }
        let mut text = String::new();
        file.take(settings::LARGEST).read_to_string(&mut text).map_err(failed)?;
        return Ok(Some((path, text)));
    }
    Ok(None)
}

/// The working directory and those above it.
pub(super) fn above() -> Vec<PathBuf> {
    env::current_dir().map(|here| here.ancestors().map(Path::to_owned).collect()).unwrap_or_default()
}

fn absolute(path: &Path) -> Result<PathBuf, Fail> {
    let refuse = |why: String| {
        Fail::told(
            Failure::Refused,
            format!("the room {}: {why}", path.display()),
            "--root DIR names a directory",
        )
    };
    let full = std::path::absolute(path).map_err(|e| refuse(e.to_string()))?;
    if !full.components().any(|c| c == std::path::Component::ParentDir) {
        return Ok(full);
    }
    // `..` only means something once links are resolved; the last component is still checked later.
    let (parent, last) = (full.parent(), full.file_name());
    match (parent.map(std::fs::canonicalize), last) {
        (Some(Ok(parent)), Some(last)) => Ok(parent.join(last)),
        (Some(Err(e)), Some(_)) => Err(refuse(e.to_string())),
        _ => std::fs::canonicalize(&full).map_err(|e| refuse(e.to_string())),
    }
}

fn variable_of(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty() && value.len() <= 1024)
}

/// The home directory of this person.
pub(super) fn home() -> Result<PathBuf, Fail> {
    env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
        Fail::told(
            Failure::Refused,
            "HOME does not say where settings are",
            "set HOME to your home directory",
        )
    })
}

/// A directory that a variable names, if it does.
pub(super) fn directory(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The project around the working directory: the nearest directory with a repository or settings, else itself.
pub(super) fn project_dir() -> Result<PathBuf, Fail> {
    let fault =
        |e: std::io::Error| Fail::told(Failure::NotDone, e.to_string(), "go to the project's directory");
    let here = env::current_dir().and_then(std::fs::canonicalize).map_err(fault)?;
    let is_project = |dir: &&Path| dir.join(".git").exists() || dir.join(settings::FILE).exists();
    Ok(here.ancestors().find(is_project).unwrap_or(&here).to_owned())
}

/// Whether this runs inside tmux.
pub(super) fn in_tmux() -> bool {
    variable_of("TMUX").is_some()
}

/// The process of the agent program that called a hook: named by it, else whoever started this command.
pub(super) fn agent_process() -> Option<crate::process::Process> {
    let named = variable_of("CLAUDE_PID").and_then(|pid| pid.parse().ok());
    crate::process::Process::of(named.unwrap_or_else(parent))
}

/// Whether a person sits before the session that called a hook.
pub(super) fn is_attended() -> bool {
    variable_of("CLAUDE_CODE_SESSION_ATTENDED").as_deref() == Some("1")
}

/// The process that started this command, which is the agent or its shell.
pub(super) fn parent() -> u64 {
    rustix::process::getppid().map_or(0, |pid| u64::try_from(pid.as_raw_nonzero().get()).unwrap_or(0))
}
