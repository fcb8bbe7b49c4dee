//! The order lint: whether a trace syncs what it publishes, before it says so.
//!
//! A power cut on one file system cannot show every missing sync, because a journal commits more than it was
//! asked to. The rules are therefore read off the calls themselves:
//!
//! 1. A file is synced after its last write, successfully, before it is published by rename or link.
//! 2. Whatever is published is first written elsewhere: no file that others read is created in place.
//! 3. A directory in which something was published or made is synced before the next acknowledgement, which
//!    is the next write to standard output, or the end of the command.
//! 4. A directory tree that is published by rename was synced inside before.
//! 5. A sync that failed is not tried again on the same file.
//! 6. Nothing is replaced by chance: a rename says RENAME_NOREPLACE unless it is one that exchanges or is meant to replace
//!    (which has another name), and a file that is created to be written says O_EXCL.
//! 7. The lists in `attempts/` grow in place, and the notes in `answering/` are made there; what is appended, and what is
//!    new, is synced before the next acknowledgement.
//!
//! Exempt, because nothing depends on them: the journal, `seen`, `.alive`, locks, what a
//! tree remembers of its own files, and the terms of a claim in a room, which a power cut ends whatever they say.

use std::collections::{BTreeMap, BTreeSet};

use crate::strace::Call;

/// What a trace owes at one moment.
struct Debts<'a> {
    root: &'a str,
    /// Files with writes that no sync has followed.
    dirty: BTreeSet<String>,
    /// Directories with a new entry that no sync has followed, and what is new in them.
    unsynced: BTreeMap<String, String>,
    failed: BTreeSet<String>,
}

/// What is wrong with the order of calls in the room at `root`, and how many things were published in it.
pub(crate) fn lint(calls: &[Call], root: &str) -> (Vec<String>, usize) {
    let mut debts =
        Debts { root, dirty: BTreeSet::new(), unsynced: BTreeMap::new(), failed: BTreeSet::new() };
    let (mut found, mut published) = (vec![], 0);
    for call in calls {
        let paths = Paths::of(call);
        match call.name.as_str() {
            "write" | "writev" | "pwrite64" if paths.fd == Some(1) => {
                debts.acknowledge("the acknowledgement", &mut found)
            }
            "exit_group" | "exit" => debts.acknowledge("the end", &mut found),
            _ if !call.succeeded() && !call.name.contains("sync") => {}
            "write" | "writev" | "pwrite64" | "ftruncate" => debts.write(paths.first()),
            "open" | "openat" | "creat" if call.arguments.contains("O_CREAT") => {
                let path = paths.first();
                // Lists and logs grow, and locks are opened to be held.
                let has = |flag: &str| call.arguments.contains(flag);
                if within(&path, root) && has("O_WRONLY") && !has("O_APPEND") && !has("O_EXCL") {
                    found.push(format!("{path} may be a file that is there already"));
                }
                if is_list(&path) {
                    debts.make(&path, "made");
                } else if within(&path, root) && !is_exempt(&path) && !is_staging(&path, root) {
                    found.push(format!("{path} is created in place"));
                }
            }
            "rmdir" | "unlink" | "unlinkat" => debts.forget(&paths.first()),
            "fsync" | "fdatasync" => debts.sync(&paths.first(), call.succeeded(), &mut found),
            "mkdir" | "mkdirat" => debts.make(&paths.first(), "made"),
            "rename" | "renameat" | "renameat2" | "link" | "linkat" => {
                published += usize::from(within(&paths.second(), root));
                let keeps =
                    ["RENAME_NOREPLACE", "RENAME_EXCHANGE"].iter().any(|flag| call.arguments.contains(flag));
                if call.name == "renameat2" && !keeps && within(&paths.second(), root) {
                    found.push(format!("{} may be replaced", paths.second()));
                }
                debts.publish(&paths.first(), &paths.second(), call.name.starts_with("rename"), &mut found);
            }
            _ => {}
        }
    }
    (found, published)
}

impl Debts<'_> {
    fn write(&mut self, path: String) {
        if !is_exempt(&path) {
            self.dirty.insert(path);
        }
    }

    fn sync(&mut self, path: &str, succeeded: bool, found: &mut Vec<String>) {
        if self.failed.contains(path) {
            found.push(format!("the sync of {path} failed and was tried again"));
        }
        if succeeded {
            self.dirty.remove(path);
            self.unsynced.remove(path);
        } else {
            self.failed.insert(path.to_owned());
        }
    }

    fn make(&mut self, path: &str, how: &str) {
        if !is_exempt(path) {
            self.unsynced.insert(parent(path), format!("{path} was {how}"));
        }
    }

    /// What is removed owes nothing any more.
    fn forget(&mut self, path: &str) {
        self.dirty.remove(path);
        self.unsynced.remove(path);
    }

    fn publish(&mut self, from: &str, to: &str, moves: bool, found: &mut Vec<String>) {
        if is_exempt(to) {
            return;
        }
        for path in self.dirty.iter().filter(|path| *path == from || path.starts_with(&format!("{from}/"))) {
            found.push(format!("{path} is published as {to} before it is synced"));
        }
        let below = |path: &String| path == from || path.starts_with(&format!("{from}/"));
        for (directory, what) in self.unsynced.iter().filter(|(path, _)| below(path)) {
            found.push(format!("{directory} is published as {to} unsynced after {what}"));
        }
        if moves {
            self.dirty.retain(|path| !below(path));
            self.unsynced.retain(|path, _| !below(path));
        }
        self.make(to, "published");
    }

    fn acknowledge(&mut self, what: &str, found: &mut Vec<String>) {
        for (directory, why) in &self.unsynced {
            // A mailbox in the making is nobody's business until it is published.
            if !is_staging(directory, self.root) && !directory.ends_with("/.staging") {
                found.push(format!("{directory} is not synced before {what}, after {why}"));
            }
        }
        self.unsynced.clear();
        for list in self.dirty.extract_if(.., |path| is_list(path)) {
            found.push(format!("{list} is not synced before {what}, after it grew"));
        }
    }
}

fn within(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
}

fn parent(path: &str) -> String {
    path.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned())
}

fn is_exempt(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let last = parts.last().copied().unwrap_or_default();
    let exempt = parts.contains(&".journal");
    // What a tree keeps of what it knows already: locks, an index that is made again, a number to begin looking at.
    let known = path
        .split_once("/.postroom/")
        .is_some_and(|(_, below)| below.starts_with("index") || ["lock", "sequence"].contains(&below));
    exempt
        || known
        || ["seen", ".alive"].contains(&last)
        || last == "claim.json" && !is_list(path)
        || last.ends_with(".lock")
        || !path.starts_with('/')
}

/// Whether it is a list that grows in place, or the note of an answer under way. The terms of a claim in a tree are made in place as well: they are all that
/// brings its message back, so they have to last.
fn is_list(path: &str) -> bool {
    ["/attempts", "/answering"].iter().any(|folder| parent(path).ends_with(folder))
        || path.contains("/.postroom/claims/") && path.ends_with("/claim.json")
}

/// Whether no reader looks there: `tmp/`, `.staging/`, and files with a leading dot that are about to be
/// renamed.
fn is_staging(path: &str, root: &str) -> bool {
    let Some(below) = path.strip_prefix(root) else { return false };
    let mut parts = below.split('/').rev();
    let hidden = parts.next().is_some_and(|last| last.starts_with('.'));
    hidden || parts.any(|part| ["tmp", ".staging"].contains(&part))
}

/// The paths that a call is about: of its descriptors, and of names relative to them.
struct Paths {
    fd: Option<i32>,
    all: Vec<String>,
}

impl Paths {
    fn of(call: &Call) -> Self {
        let mut paths = Self { fd: None, all: vec![] };
        let mut base = String::new();
        for argument in arguments(&call.arguments) {
            let (number, path) = match argument.split_once('<') {
                Some((number, rest)) => (number, Some(rest.trim_end_matches('>'))),
                None => (argument.as_str(), None),
            };
            if let Some(name) = argument.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
                let full = if name.starts_with('/') { name.to_owned() } else { format!("{base}/{name}") };
                paths.all.push(full);
            } else if let Some(path) = path.filter(|_| number == "AT_FDCWD" || number.parse::<i32>().is_ok())
            {
                paths.fd = paths.fd.or(number.parse().ok());
                base = path.to_owned();
            }
        }
        if paths.all.is_empty() || call.name.starts_with("write") {
            paths.all = vec![base];
        }
        paths
    }

    fn first(&self) -> String {
        self.all.first().cloned().unwrap_or_default()
    }

    fn second(&self) -> String {
        self.all.get(1).cloned().unwrap_or_default()
    }
}

/// Cuts at the commas that are not within quotes or brackets.
fn arguments(text: &str) -> Vec<String> {
    let (mut all, mut current) = (vec![], String::new());
    let (mut quoted, mut escaped, mut depth) = (false, false, 0);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' | '<' if !quoted => depth += 1,
            '}' | ']' | '>' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                all.push(current.trim().to_owned());
                current.clear();
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    all.push(current.trim().to_owned());
    all
}
