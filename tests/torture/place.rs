//! A place: one throw-away directory with a room in it, and the commands that are run there.
//!
//! ```text
//! <base>/room/        the root under test
//!       /outside/     what no command may touch
//!       /home/        HOME, and XDG_STATE_HOME below it
//!       /template/    the room as it was when it was kept
//! ```
//!
//! The registry names the inboxes by their full paths, so a room is never moved: it is saved beside itself
//! and put back.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};
use serde_json::Value;

use crate::lab::Lab;
use crate::process::{Ended, Run};

pub(crate) struct Place {
    pub(crate) base: PathBuf,
    pub(crate) root: PathBuf,
    binary: PathBuf,
    /// What is left out of the program, if it can leave something out (D4).
    mutation: Option<String>,
}

impl Place {
    pub(crate) fn new(lab: &Lab, base: &Path) -> Self {
        for folder in ["", "outside", "home"] {
            fs::create_dir_all(base.join(folder)).expect("a directory for the test");
        }
        fs::set_permissions(base, PermissionsExt::from_mode(0o700)).expect("its mode");
        let (binary, mutation) = (lab.binary.clone(), lab.mutation.clone());
        Self { base: base.to_owned(), root: base.join("room"), binary, mutation }
    }

    /// The same room by another copy of the program.
    pub(crate) fn by_program(&self, binary: &Path) -> Self {
        let (base, root, mutation) = (self.base.clone(), self.root.clone(), self.mutation.clone());
        Self { base, root, binary: binary.to_owned(), mutation }
    }

    /// A place with these mailboxes.
    pub(crate) fn with(lab: &Lab, base: &Path, names: &[&str]) -> Self {
        let place = Self::new(lab, base);
        for name in names {
            // The person's mailbox is made for the person.
            match *name {
                "user" => place.ok(&["setup", "--child", name]),
                name => place.ok(&["setup", name]),
            };
        }
        place
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.base.join("outside")
    }

    /// A command in this room.
    pub(crate) fn command(&self, arguments: &[&str]) -> Run {
        let root = [OsString::from("--root"), self.root.clone().into_os_string()];
        // The room that the person started it with, which an agent's session may make.
        self.bare(root.into_iter().chain(arguments.iter().map(OsString::from)))
            .env("POSTROOM_ROOT", &self.root)
    }

    /// A command without a room.
    pub(crate) fn bare(&self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Run {
        let words = std::iter::once(self.binary.clone().into_os_string());
        let run = Run::new(words.chain(arguments.into_iter().map(Into::into)), &self.base)
            .env("HOME", self.base.join("home"))
            .env("XDG_STATE_HOME", self.base.join("home/state"))
            .env("XDG_CONFIG_HOME", self.base.join("home/state/config"));
        match &self.mutation {
            Some(mutation) => run.env("POSTROOM_MUTATION", mutation),
            None => run,
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        match arguments {
            ["trust", ..] => self.command(arguments).by_person(),
            _ => self.command(arguments).end(),
        }
    }

    /// Runs what has to succeed for the test to mean anything.
    pub(crate) fn ok(&self, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert!(ended.ok(), "{arguments:?}: {}", ended.shown());
        ended
    }

    /// Gives the room settings that a person has looked at and trusts.
    pub(crate) fn settle(&self, settings: &str) {
        let file = self.root.join("postroom.toml");
        fs::write(&file, settings).expect("the settings of the room");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("their mode");
        self.ok(&["trust", &self.root.display().to_string()]);
    }

    /// The directory of the mailbox with this name.
    pub(crate) fn mailbox(&self, name: &str) -> PathBuf {
        let prefix = format!("{name}-");
        let found = names_in(&self.root).into_iter().find(|entry| entry.starts_with(&prefix));
        self.root.join(found.unwrap_or_else(|| panic!("no mailbox of {name} in {}", self.root.display())))
    }

    pub(crate) fn folder(&self, name: &str, folder: &str) -> PathBuf {
        self.mailbox(name).join(folder)
    }

    /// The files of a folder that are called like messages, and their bytes.
    pub(crate) fn messages(&self, name: &str, folder: &str) -> Vec<(String, Vec<u8>)> {
        let folder = self.folder(name, folder);
        let read = |file: String| fs::read(folder.join(&file)).ok().map(|bytes| (file, bytes));
        names_in(&folder).into_iter().filter(|file| file.ends_with(".md")).filter_map(read).collect()
    }

    /// What the doctor finds, beyond litter that an interrupted command may leave.
    pub(crate) fn doctor(&self) -> Vec<String> {
        let ended = self.run(&["doctor", "--strict", "--json"]);
        let report: Value = match serde_json::from_slice(&ended.out) {
            Ok(report) => report,
            Err(_) => return vec![format!("doctor: {}", ended.shown())],
        };
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let bad = findings.iter().filter(|finding| finding["grade"] != "litter");
        let mut told: Vec<String> = bad.map(|finding| format!("doctor: {finding}")).collect();
        if ended.code != Some(0) && told.is_empty() {
            told.push(format!("doctor: {}", ended.shown()));
        }
        told
    }

    /// Keeps the room as it is now.
    pub(crate) fn save(&self) {
        let template = self.base.join("template");
        let _ = fs::remove_dir_all(&template);
        copy_tree(&self.root, &template);
    }

    /// Puts the room back as it was kept; no room at all, if there was none.
    /// Nothing is known of this user, as before the first command.
    pub(crate) fn forget_sessions(&self) {
        let _ = fs::remove_dir_all(self.base.join("home/state"));
    }

    /// Where sessions are bound.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.base.join("home/state/postroom/sessions")
    }

    pub(crate) fn restore(&self) {
        self.forget_sessions();
        let _ = fs::remove_dir_all(&self.root);
        copy_tree(&self.base.join("template"), &self.root);
    }
}

/// The names in a directory, sorted; none if it is not there.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Copies directories and regular files with their modes and times.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    let Ok(meta) = fs::symlink_metadata(from) else { return };
    if meta.is_dir() {
        fs::create_dir_all(to).expect("a copied directory");
        for name in names_in(from) {
            copy_tree(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::copy(from, to).expect("a copied file");
        set_time(to, meta.modified().expect("a time"));
    }
    fs::set_permissions(to, meta.permissions()).expect("the mode of a copy");
}

/// Sets the time of last change, which also is when Postroom thinks a file was written.
pub(crate) fn set_time(path: &Path, time: SystemTime) {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).expect("a time after 1970");
    let time = Timespec { tv_sec: since.as_secs() as _, tv_nsec: since.subsec_nanos() as _ };
    let times = Timestamps { last_access: time, last_modification: time };
    // Not by opening it: it may be a FIFO, a link or of mode 000.
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("the time of a file");
}

/// A moment this long ago.
pub(crate) fn ago(seconds: u64) -> SystemTime {
    SystemTime::now() - Duration::from_secs(seconds)
}

/// Every file and directory below, as lines: path, kind and mode, size, time of change, and what it holds.
pub(crate) fn snapshot(directory: &Path) -> Vec<String> {
    let mut lines = vec![];
    look(directory, &mut lines);
    lines.sort();
    lines
}

fn look(path: &Path, lines: &mut Vec<String>) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let holds = if meta.is_symlink() {
        fs::read_link(path).map(|to| to.display().to_string()).unwrap_or_default()
    } else if meta.is_file() {
        fs::read(path).map(|bytes| crate::ledger::sha256(&bytes)).unwrap_or_default()
    } else {
        String::new()
    };
    let time = format!("{}.{:09}", meta.mtime(), meta.mtime_nsec());
    lines.push(format!("{} {:o} {} {time} {holds}", path.display(), meta.mode(), meta.len()));
    if meta.is_dir() {
        names_in(path).iter().for_each(|name| look(&path.join(name), lines));
    }
}
