//! Removal: takes what an installation put into files out again.
//!
//! All files are checked before one is changed. A file that several programs use goes with the last of them, and so does
//! a directory that was made for them. The trust that Codex recorded for our hooks goes before the hooks do: it is bound
//! to their text and place, and would count for the same text in that place ever after.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use serde_json::Value;

use super::change::{Change, Language, What};
use super::file_on_disk::FileOnDisk;
use super::ledger::{Done, Error, Ledger, Planned, Result};
use super::record::{Kept, Record, name};
use crate::mailbox::{Dir, IfAny};

/// The files of a program in one place.
struct Removal {
    /// No other program uses these.
    last: Vec<LastUse>,
    shared: Vec<Record>,
    /// The records of everything else.
    others: Vec<Record>,
}

/// A file that goes with its last program.
struct LastUse {
    record: Record,
    file: FileOnDisk,
    /// What is left of it; `None` if nothing is.
    left: Option<String>,
    done: Done,
}

impl Ledger {
    /// Removes everything of a program, in one place.
    pub fn take_out(&self, program: &str, project: Option<&Path>) -> Result<Vec<(PathBuf, Done)>> {
        self.carry_out(program, self.removal(program, project, &[])?)
    }

    /// Removes the files that an earlier installation of a program had and this one has not.
    pub fn retire(
        &self,
        program: &str,
        project: Option<&Path>,
        keep: &[PathBuf],
    ) -> Result<Vec<(PathBuf, Done)>> {
        self.carry_out(program, self.removal(program, project, keep)?)
    }

    /// What taking a program out would do, except for the files to keep. Changes nothing.
    pub fn plan_removal(
        &self,
        program: &str,
        project: Option<&Path>,
        keep: &[PathBuf],
    ) -> Result<Vec<Planned>> {
        let plan = |LastUse { record, file, left, .. }| Planned {
            path: record.path,
            now: file.text().map(str::to_owned),
            then: left,
        };
        Ok(self.removal(program, project, keep)?.last.into_iter().map(plan).collect())
    }

    fn removal(&self, program: &str, project: Option<&Path>, keep: &[PathBuf]) -> Result<Removal> {
        let keep: Vec<PathBuf> =
            keep.iter().map(|path| Ok(FileOnDisk::look(path)?.path)).collect::<Result<_>>()?;
        let is_meant = |r: &Record| {
            r.project.as_deref() == project && r.programs.contains_key(program) && !keep.contains(&r.path)
        };
        let (meant, others): (Vec<_>, Vec<_>) = self.all()?.into_iter().partition(is_meant);
        let (alone, shared): (Vec<_>, Vec<_>) = meant.into_iter().partition(|r| r.programs.len() == 1);
        let mut last = vec![];
        for record in alone {
            let file = FileOnDisk::look(&record.path)?;
            let settings = |source| Error::Settings { path: record.path.clone(), source };
            let (left, done) = record.restored(file.text()).map_err(settings)?;
            if left.as_deref() != file.text() {
                file.is_writable()?;
            }
            last.push(LastUse { record, file, left, done });
        }
        Ok(Removal { last, shared, others })
    }

    fn carry_out(&self, program: &str, removal: Removal) -> Result<Vec<(PathBuf, Done)>> {
        let Removal { last, shared, others } = removal;
        if last.is_empty() && shared.is_empty() {
            return Ok(vec![]);
        }
        let key = |record: &Record| (record.path.clone(), record.project.clone());
        let staying: Vec<(PathBuf, Option<PathBuf>)> = others.iter().chain(&shared).map(key).collect();
        let mut done = vec![];
        for mut record in shared {
            record.programs.remove(program);
            self.write(&record)?;
            done.push((record.path, Done::Kept));
        }
        for LastUse { record, file, left, done: what } in &last {
            if left.as_deref() != file.text() {
                file.write(left.as_deref())?;
            }
            file.tidy(|text| record.wrote(text))?;
            done.push((record.path.clone(), *what));
        }
        self.sweep(last.iter().flat_map(|used| used.record.made.clone()).collect(), &staying)?;
        for LastUse { record, .. } in last {
            self.dir.remove(&name(&record.path, record.project.as_deref())).if_any()?;
        }
        self.dir.sync()?;
        done.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(done)
    }

    /// Removes directories that we made and that are empty again. Those in use pass to the records that still need
    /// them.
    fn sweep(&self, mut made: Vec<PathBuf>, staying: &[(PathBuf, Option<PathBuf>)]) -> Result<()> {
        made.sort();
        made.dedup();
        let mut left = vec![];
        for dir in made.into_iter().rev() {
            if !remove_empty(&dir)? {
                left.push(dir);
            }
        }
        let mut made = left;
        for (path, project) in staying {
            let known = self.record(path, project.as_deref())?;
            let Some(mut record) = known.filter(|_| !made.is_empty()) else { continue };
            let inside: Vec<PathBuf> =
                made.iter().filter(|dir| record.path.starts_with(dir)).cloned().collect();
            if !inside.is_empty() {
                made.retain(|dir| !inside.contains(dir));
                record.made.extend(inside);
                self.write(&record)?;
            }
        }
        Ok(())
    }

    /// Removes the trust that Codex recorded for our hooks in its settings. Returns whether there was some.
    pub fn forget_trust(&self, program: &str, project: Option<&Path>, settings: &Path) -> Result<bool> {
        let found = FileOnDisk::look(settings)?;
        let Some(text) = found.text() else { return Ok(false) };
        let failed = |source| Error::Settings { path: settings.to_owned(), source };
        let value = Language::Toml.value(text).map_err(failed)?;
        let mut stale = vec![];
        for record in self.all()? {
            let Kept::Settings(language @ Language::Strict, changes) = &record.form else { continue };
            if record.project.as_deref() != project || !record.programs.contains_key(program) {
                continue;
            }
            let Some(hooks) =
                FileOnDisk::look(&record.path)?.text().and_then(|text| language.value(text).ok())
            else {
                continue;
            };
            let is_file = |path: &str| std::fs::canonicalize(path).is_ok_and(|path| path == record.path);
            stale.extend(trusted(&value, &endings(&hooks, changes), is_file));
        }
        if stale.is_empty() {
            return Ok(false);
        }
        found.is_writable()?;
        found.write(Some(&Language::Toml.remove(text, &stale).map_err(failed)?))?;
        Ok(true)
    }
}

/// How the keys of our hooks end, such as `:session_start:0:0` (event, group, place in the group).
fn endings(hooks: &Value, changes: &[Change]) -> Vec<String> {
    let of_change = |change: &Change| {
        let list = change.at.iter().try_fold(hooks, |value, key| value.get(key)).and_then(Value::as_array);
        let groups = list.map(Vec::as_slice).unwrap_or_default().iter().enumerate();
        let own = groups.filter(|(_, group)| change.is_own_item(group));
        let event = snake(change.at.last().map_or("", String::as_str));
        own.flat_map(|(at, group)| {
            let count = group["hooks"].as_array().map_or(0, Vec::len);
            (0..count).map(|inner| format!(":{event}:{at}:{inner}")).collect::<Vec<_>>()
        })
        .collect::<Vec<_>>()
    };
    changes.iter().flat_map(of_change).collect()
}

/// The entries of trust in a file of hooks that end so, as changes to take out.
fn trusted(settings: &Value, endings: &[String], is_file: impl Fn(&str) -> bool) -> Vec<Change> {
    let keys = settings["hooks"]["state"].as_object().into_iter().flat_map(|state| state.keys());
    let is_ours =
        |key: &&String| endings.iter().any(|end| key.strip_suffix(end.as_str()).is_some_and(&is_file));
    let at = vec!["hooks".to_owned(), "state".to_owned()];
    keys.filter(is_ours)
        .map(|key| Change { at: at.clone(), what: What::Put { key: key.clone(), value: Value::Null } })
        .collect()
}

/// `SessionStart` as `session_start`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// Removes a directory unless it is not empty or belongs to another user. Returns whether it is gone.
fn remove_empty(dir: &Path) -> Result<bool> {
    let (Some(above), Some(name)) = (dir.parent(), dir.file_name().and_then(|name| name.to_str())) else {
        return Ok(false);
    };
    let removed = Dir::outside(above).and_then(|above| {
        above.remove_dir(name)?;
        above.sync()
    });
    match removed {
        Ok(()) => Ok(true),
        Err(e) if e.is_missing() => Ok(true),
        Err(e) => match e.errno() {
            None | Some(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY) => Ok(false),
            Some(_) => Err(e.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_trust_of_our_hooks_is_found_by_their_place() {
        let group = |command: &str| json!({"hooks": [{"command": command}]});
        let hooks = json!({"hooks": {
            "SessionStart": [group("other"), group("postroom hook codex session-start")],
            "Stop": [group("postroom hook codex stop")],
        }});
        let change = |event: &str, mark: &str| Change {
            at: vec!["hooks".to_owned(), event.to_owned()],
            what: What::Add { value: Value::Null, mark: Some(mark.to_owned()) },
        };
        let changes =
            [change("SessionStart", " hook codex session-start"), change("Stop", " hook codex stop")];
        let ends = endings(&hooks, &changes);
        assert_eq!(ends, [":session_start:1:0", ":stop:0:0"]);
        let settings = json!({"hooks": {"state": {
            "/h/hooks.json:session_start:0:0": {}, "/h/hooks.json:session_start:1:0": {},
            "/h/hooks.json:stop:0:0": {}, "/x/hooks.json:stop:0:0": {},
        }}});
        let keys: Vec<String> = trusted(&settings, &ends, |path| path == "/h/hooks.json")
            .into_iter()
            .map(|change| match change.what {
                What::Put { key, .. } => key,
                What::Add { .. } => String::new(),
            })
            .collect();
        assert_eq!(keys, ["/h/hooks.json:session_start:1:0", "/h/hooks.json:stop:0:0"]);
    }
}
