//! The index: a cache of the files of a tray, so that a look opens only those that changed.
//!
//! ```text
//! .claude/.postroom/index/<tray>/<agent>.json   file name → inode, size, change time, and its facts or its fault
//!                        /look                  touched before files are opened; its time is the time of the look
//! ```
//!
//! An entry is valid as long as inode, size and change time stay the same. A file that changed within two seconds of
//! the look may change again under the same change time, so it is not entered and will be opened the next time too. The
//! time of a look comes from the file system itself, whose clock may differ from ours. Nothing depends on the index: it
//! is written without sync, a failed write is ignored, and unreadable parts are read from the messages again.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use rustix::fs::{FileType, Stat};
use serde::{Deserialize, Serialize};

use super::facts::{Seen, TaskFacts, Tray};
use super::{LIMIT, Tree};
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{self, IfAny, Result};
use crate::message::{file_name, tree};
use crate::name::MailboxId;

/// The version of an index; others are not read.
const VERSION: u32 = 4;

/// The longest index that is read: facts of some hundred thousand messages.
const INDEX_LIMIT: u64 = 256 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct Index {
    v: u32,
    files: HashMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    mark: Mark,
    known: Known,
}

/// Identifies an unchanged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Mark(u64, i64, i64, u64);

/// The facts of a file, or its fault.
type Known = std::result::Result<TaskFacts, String>;

impl Tree {
    /// Reads one tray of one agent. A missing tray is empty.
    pub fn facts(&self, tray: Tray, agent: &MailboxId) -> Result<Seen> {
        let mut seen = Seen::default();
        let Some(dir) = self.tray(tray, agent)? else { return Ok(seen) };
        let names = messages(&dir, &mut seen.strange)?;
        let mut old = self.read_index(tray, agent);
        let had = old.len();
        let mut look = None;
        let mut new = HashMap::with_capacity(names.len());
        for name in names {
            let Some(stat) = dir.stat(&name).if_any()? else { continue };
            let mark = mark(&stat);
            let known = match old.remove(&name).filter(|entry| entry.mark == mark) {
                Some(entry) => {
                    new.insert(name.clone(), Entry { mark, known: entry.known.clone() });
                    entry.known
                }
                None => {
                    let look = look.get_or_insert_with(|| self.look_time());
                    let (known, mark) = match read(&dir, &name) {
                        Ok(Some(found)) => found,
                        Ok(None) => continue,
                        // A file that cannot be opened does not keep the others from being seen.
                        Err(e) => {
                            seen.facts.push((name, Err(e.to_string())));
                            seen.failing = Some(e);
                            continue;
                        }
                    };
                    seen.opened += 1;
                    if look.is_some_and(|look| is_settled(mark, look, self.racy)) {
                        new.insert(name.clone(), Entry { mark, known: known.clone() });
                    }
                    known
                }
            };
            seen.facts.push((name, known));
        }
        if seen.opened > 0 || new.len() != had {
            let _ = self.write_index(tray, agent, new);
        }
        Ok(seen)
    }

    fn read_index(&self, tray: Tray, agent: &MailboxId) -> HashMap<String, Entry> {
        let read = || -> Result<Option<Vec<u8>>> {
            match self.walk(&[".postroom", "index", tray.as_str()])? {
                Some(dir) => dir.read(&format!("{agent}.json"), INDEX_LIMIT),
                None => Ok(None),
            }
        };
        let bytes = read().ok().flatten().unwrap_or_default();
        let index = serde_json::from_slice::<Index>(&bytes).ok().filter(|index| index.v == VERSION);
        index.map(|index| index.files).unwrap_or_default()
    }

    fn write_index(&self, tray: Tray, agent: &MailboxId, files: HashMap<String, Entry>) -> Result<()> {
        let bytes = serde_json::to_vec(&Index { v: VERSION, files }).unwrap_or_default();
        let dir = self.own()?.create_dir("index")?.create_dir(tray.as_str())?;
        dir.replace(&format!("{agent}.json"), &bytes)
    }

    /// The current time of the file system. `None` if it is unknown; then nothing read now is trusted later.
    fn look_time(&self) -> Option<(i64, i64)> {
        let dir = self.own().and_then(|own| own.create_dir("index")).ok()?;
        dir.touch("look").ok()?;
        let stat = dir.stat("look").ok()?;
        Some((stat.st_mtime, nanos(stat.st_mtime_nsec)))
    }
}

/// The names of the messages in a directory, sorted; entries that only look like one go to `strange`.
fn messages(dir: &Dir, strange: &mut Vec<(OsString, &'static str)>) -> Result<Vec<String>> {
    let mut names = vec![];
    dir.scan(|name, kind| {
        if !file_name::is_message(name) {
            return;
        }
        match str::from_utf8(name) {
            Err(_) => strange.push((OsString::from_vec(name.to_vec()), "a file whose name is not UTF-8")),
            Ok(name) if kind != FileType::RegularFile => {
                strange.push((OsString::from(name), fault::kind(kind)));
            }
            Ok(name) => names.push(name.to_owned()),
        }
    })?;
    names.sort();
    Ok(names)
}

/// Reads a message and its mark. `None` if it has gone meanwhile.
fn read(dir: &Dir, name: &str) -> Result<Option<(Known, Mark)>> {
    let Some(opened) = dir.open_file(name).if_any()? else { return Ok(None) };
    let mark = mark(&opened.stat);
    let bytes = opened.read_all(LIMIT)?;
    let task = tree::parse_named(&bytes, name.strip_suffix(".md").unwrap_or(name));
    Ok(Some((task.map(|task| TaskFacts::of(&task)).map_err(|e| e.to_string()), mark)))
}

fn mark(stat: &Stat) -> Mark {
    Mark(stat.st_ino, stat.st_size, stat.st_ctime, stat.st_ctime_nsec)
}

fn nanos(part: impl TryInto<i64>) -> i64 {
    part.try_into().unwrap_or(0)
}

/// Whether a later change would show in the change time.
fn is_settled(mark: Mark, look: (i64, i64), racy: Duration) -> bool {
    let Mark(.., seconds, nanoseconds) = mark;
    let total = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let margin = i128::try_from(racy.as_nanos()).unwrap_or(i128::MAX);
    total(seconds, nanos(nanoseconds)).saturating_add(margin) <= total(look.0, look.1)
}
