//! Filing: a request gets the next id of the day and goes into an inbox; a response goes into an outbox, once.
//!
//! ```text
//! inboxes/<agent>/<YYYY-MM-DD-NNN>.md
//! outboxes/<agent>/<YYYY-MM-DD-NNN>-response.md
//! .postroom/sequence      `2026-11-15 12`: the last number that was given, and on which day
//! ```
//!
//! There is one sequence a day over all inboxes of the tree. The file `sequence` only says where to begin. Whether a
//! number is free is looked up in every agent's trays, because others file by hand. All of this happens under the
//! tree's lock, so numbers have no gaps. A message is published without replacing, so a name taken meanwhile costs only
//! a number.

use std::path::PathBuf;

use super::agent::{Agent, read};
use super::facts::Tray;
use super::{Held, LIMIT, Tree};
use crate::clock::Timestamp;
use crate::mailbox::disk::Dir;
use crate::mailbox::fault::{Durability, Error, IfAny, Result};
use crate::message::tree::{self, Status, Task};
use crate::message::workspace::file_name_of;
use crate::message::{attachment, file_name};
use crate::random;

const SEQUENCE: &str = "sequence";

/// The response that is now in the outbox.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// The given one; it is durable.
    Written,
    /// An equal one: this is a retry.
    Same(Task),
    /// Another one, which stays.
    Other(Task),
}

impl Agent {
    /// Files a message: draws its id, sets `id` and `created`, and publishes it. Returns the name of the file.
    pub(super) fn file(&self, held: &Held, task: &mut Task, now: Timestamp) -> Result<(String, Durability)> {
        let day = now.day();
        let trays = self.tree().trays()?;
        let mut number = self.tree().last_number(held, &trays, &day)?;
        task.created = now.to_string();
        loop {
            number = number.checked_add(1).ok_or_else(|| {
                let why = format!("all numbers of the day {day} are taken");
                Error::Content { path: self.dir().path().to_owned(), why }
            })?;
            let id = format!("{day}-{number:03}");
            if is_taken(&trays, &id)? {
                continue;
            }
            let name = format!("{id}.md");
            task.id = id;
            let staged = format!(".{name}.{}", random::unique_hex());
            self.dir().stage(&staged, tree::render(task)?.as_bytes())?;
            let how = match self.dir().publish_staged(&staged, self.dir(), &name) {
                // Filed by hand at this very moment.
                Err(Error::Exists { .. }) => continue,
                other => other?,
            };
            // Only a hint: without it the next call searches by itself.
            let _ = held.own.replace(SEQUENCE, format!("{day} {number}\n").as_bytes());
            return Ok((name, how));
        }
    }

    /// Writes the response to the request with this id, unless there is one. Durable on return.
    pub(super) fn respond(&self, id: &str, response: &Task) -> Result<Response> {
        let name = response_name(id);
        let _held = self.tree().hold()?;
        let outbox = self.tree().made_tray(Tray::Outbox, self.id())?;
        let bytes = tree::render(response)?;
        match outbox.create_synced(&name, bytes.as_bytes()) {
            Ok(()) => return Ok(Response::Written),
            Err(Error::Exists { .. }) => {}
            Err(e) => return Err(e),
        }
        let missing = || Error::io("open", &outbox.path().join(&name), rustix::io::Errno::NOENT);
        let found = read(&outbox, &name, LIMIT)?.ok_or_else(missing)?.task;
        let said = |task: &Task| {
            let files = task.extra.iter().filter(|(key, _)| attachment::is_key(key)).cloned();
            (task.status, task.to.clone(), task.body.trim_end().to_owned(), files.collect::<Vec<_>>())
        };
        if said(&found) != said(response) {
            return Ok(Response::Other(found));
        }
        // An earlier run may have been interrupted before the sync.
        outbox.sync_file(&name)?;
        outbox.sync()?;
        Ok(Response::Same(found))
    }

    /// Makes way for another try: a response that says `failed` goes to the archive, under a name that is not a
    /// response's. `false` if there is none. Durable on return.
    pub fn put_failure_away(&self, id: &str) -> Result<bool> {
        self.put_failure_away_held(&self.tree().hold()?, id)
    }

    pub(super) fn put_failure_away_held(&self, _held: &Held, id: &str) -> Result<bool> {
        let name = response_name(id);
        let Some(outbox) = self.tree().tray(Tray::Outbox, self.id())? else { return Ok(false) };
        match read(&outbox, &name, LIMIT) {
            Ok(Some(found)) if found.task.status == Status::Failed => {}
            // The content of an unreadable one is unknown.
            Ok(_) | Err(Error::Unparsed { .. }) => return Ok(false),
            Err(e) => return Err(e),
        }
        let archive = self.tree().made_tray(Tray::ArchivedOutbox, self.id())?;
        let file = outbox.to_move(&name)?;
        let away = outbox.publish_free(&name, &archive, file_name::candidates(&name).skip(1))?;
        if away.is_some() {
            archive.sync_moved(&file)?;
            outbox.sync()?;
        }
        Ok(away.is_some())
    }

    /// The response to the request with this id, from the outbox or the archive.
    pub fn response(&self, id: &str) -> Result<Option<(Task, PathBuf)>> {
        let name = response_name(id);
        // An archived response belongs to an archived request: a person may reuse its id.
        let is_here = self.dir().stat(&format!("{}.md", file_name_of(id))).is_ok();
        let trays = [Tray::Outbox, Tray::ArchivedOutbox];
        for tray in trays.into_iter().take(if is_here { 1 } else { 2 }) {
            let Some(dir) = self.tree().tray(tray, self.id())? else { continue };
            if let Some(found) = read(&dir, &name, LIMIT)? {
                return Ok(Some((found.task, dir.path().join(name))));
            }
        }
        Ok(None)
    }
}

impl Tree {
    /// Every directory in which an id may be taken.
    fn trays(&self) -> Result<Vec<(Tray, Dir)>> {
        let mut trays = vec![];
        for tray in Tray::ALL {
            for agent in self.names(tray.way())? {
                trays.extend(self.tray(tray, &agent)?.map(|dir| (tray, dir)));
            }
        }
        Ok(trays)
    }

    /// The last number of the day: from the hint, else from the files.
    fn last_number(&self, held: &Held, trays: &[(Tray, Dir)], day: &str) -> Result<u64> {
        let hint = held.own.read(SEQUENCE, 64).ok().flatten().unwrap_or_default();
        let hint = str::from_utf8(&hint).unwrap_or_default().trim();
        let number =
            hint.split_once(' ').filter(|(of, _)| *of == day).and_then(|(_, n)| n.parse::<u32>().ok());
        if let Some(number) = number {
            return Ok(u64::from(number));
        }
        let mut last = 0;
        for (_, dir) in trays {
            dir.scan(|name, _| last = last.max(number_of(name, day).unwrap_or(0)))?;
        }
        Ok(u64::from(last))
    }
}

/// The number in the name of a request or response of a day.
fn number_of(name: &[u8], day: &str) -> Option<u32> {
    let rest = str::from_utf8(name).ok()?.strip_prefix(day)?.strip_prefix('-')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
    // A number that no day reaches was not meant as one, and must not advance the sequence.
    digits.parse().ok().filter(|number| *number < 1_000_000)
}

fn is_taken(trays: &[(Tray, Dir)], id: &str) -> Result<bool> {
    let (request, response) = (format!("{id}.md"), format!("{id}-response.md"));
    for (tray, dir) in trays {
        let name = match tray {
            Tray::Inbox | Tray::ArchivedInbox => &request,
            Tray::Outbox | Tray::ArchivedOutbox => &response,
        };
        if dir.stat(name).if_any()?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The file of a response. An id is foreign text, and a path component only if it is valid as one.
fn response_name(id: &str) -> String {
    format!("{}-response.md", file_name_of(id))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::super::scene::*;
    use super::*;
    use crate::mailbox::Folder;

    #[test]
    fn a_failure_makes_way_for_another_try() {
        let scene = Scene::new(&["a"]);
        let agent = scene.agent("a");
        let mut answer = task("user", "No.\n");
        (answer.status, answer.created) = (Status::Failed, noon().to_string());
        answer.id = "2026-11-15-001-response".into();
        for number in [2, 3] {
            assert!(matches!(agent.respond("2026-11-15-001", &answer), Ok(Response::Written)));
            assert!(agent.put_failure_away("2026-11-15-001").unwrap());
            let kept = format!("archive/outboxes/a/2026-11-15-001-response-{number}.md");
            assert_eq!(scene.text(&kept), tree::render(&answer).unwrap());
        }
        assert_eq!(agent.response("2026-11-15-001").unwrap(), None);
        answer.status = Status::Completed;
        agent.respond("2026-11-15-001", &answer).unwrap();
        assert!(!agent.put_failure_away("2026-11-15-001").unwrap());
    }

    #[test]
    fn many_file_at_once_and_no_number_is_lost_or_given_twice() {
        let scene = Scene::new(&["a", "b", "c"]);
        let ids = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let tree = scene.tree.clone();
                    scope.spawn(move || {
                        let agent = tree.agent(&id(["a", "b", "c"][thread % 3])).unwrap();
                        let file = |n: usize| {
                            let mut task = task(agent.id().as_str(), &format!("{thread} {n}"));
                            agent.file(&agent.tree().hold().unwrap(), &mut task, noon()).unwrap();
                            task.id
                        };
                        (0..60).map(file).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let mut ids = ids;
        ids.sort();
        let wanted: Vec<_> = (1..=480).map(|n| format!("2026-11-15-{n:03}")).collect();
        assert_eq!(ids, wanted);
    }

    #[test]
    fn numbers_that_others_took_are_passed_over() {
        let scene = Scene::new(&["a", "b"]);
        let agent = scene.agent("a");
        let next = || {
            let mut task = task("a", "x");
            let (name, how) = agent.file(&agent.tree().hold().unwrap(), &mut task, noon()).unwrap();
            assert!(matches!(how, Durability::Proven));
            assert_eq!(name, format!("{}.md", task.id));
            name[11..14].to_owned()
        };
        assert_eq!(next(), "001");
        scene.put("b", "2026-11-15-002", "");
        std::fs::create_dir_all(scene.path("archive/inboxes/old")).unwrap();
        std::fs::write(scene.path("archive/inboxes/old/2026-11-15-003.md"), "").unwrap();
        std::fs::write(scene.path("outboxes/b/2026-11-15-004-response.md"), "").unwrap();
        assert_eq!(next(), "005");
        std::fs::write(scene.path(".postroom/sequence"), "rubbish").unwrap();
        assert_eq!(next(), "006");
        std::fs::remove_dir_all(scene.path(".postroom")).unwrap();
        scene.put("b", "2026-11-15-999", "");
        let mut task = task("a", "x");
        assert_eq!(
            agent.file(&agent.tree().hold().unwrap(), &mut task, noon()).unwrap().0,
            "2026-11-15-1000.md"
        );
        assert_eq!(task.created, "2026-11-15T10:00:00Z");
        let tomorrow = Timestamp::from_parts(noon().seconds() + 86_400, 0);
        assert_eq!(
            agent.file(&agent.tree().hold().unwrap(), &mut task, tomorrow).unwrap().0,
            "2026-11-16-001.md"
        );
        let read = agent.read_task(Folder::Inbox, "2026-11-16-001.md", 100).unwrap().unwrap().task;
        assert_eq!(read, task);
    }

    #[test]
    fn a_response_is_written_once() {
        let scene = Scene::new(&["a"]);
        let agent = scene.agent("a");
        let mut answer = task("user", "## Result\n\nDone.\n");
        answer.status = Status::Completed;
        answer.created = noon().to_string();
        answer.id = "2026-11-15-001-response".into();
        answer.request_id = Some("2026-11-15-001".into());
        let path = scene.path("outboxes/a/2026-11-15-001-response.md");
        assert_eq!(agent.response("2026-11-15-001").unwrap(), None);
        std::fs::remove_dir(scene.path("outboxes/a")).unwrap();
        let respond = |answer: &Task| agent.respond("2026-11-15-001", answer).unwrap();
        assert_eq!(respond(&answer), Response::Written);
        let mut retry = answer.clone();
        retry.created = "2026-11-15T11:00:00Z".into();
        assert_eq!(respond(&retry), Response::Same(answer.clone()));
        retry.body = "Other.".into();
        assert_eq!(respond(&retry), Response::Other(answer.clone()));
        assert_eq!(agent.response("2026-11-15-001").unwrap(), Some((answer.clone(), path.clone())));
        std::fs::write(&path, "half a resp").unwrap();
        assert!(matches!(agent.respond("2026-11-15-001", &answer), Err(Error::Unparsed { .. })));
        assert!(!agent.put_failure_away("2026-11-15-001").unwrap(), "nobody knows what it says");
        for bad in ["../x", "a/b", "", ".x"] {
            assert_eq!(agent.respond(bad, &answer).unwrap(), Response::Written, "{bad}");
        }
        let outbox = std::fs::read_dir(scene.path("outboxes/a")).unwrap();
        assert_eq!(outbox.count(), 5, "no id is a path");
    }
}
