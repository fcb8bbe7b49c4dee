//! Runs: the records of each run of a workflow, beside its mail.
//!
//! ```text
//! <root>/<run>/                                the mailbox of the run: archive/ holds what it accepted
//!       /.workflows/open/<run>                 marks the run as in progress; dispatchers look here
//!                  /failed/<run>               marks the run as failed (failures.rs)
//!                  /runs/<run>/run.json        the constants: inputs, where it was started
//!                             /definition.yaml the workflow as it was when the run began
//!                             /lock            flocked while a carrier works on the run
//!                             /turn            the last carrier; if it is this process, its memory is current
//!                             /sent.jsonl      sent messages with times
//!                             /begun.jsonl     requests whose work was seen to begin, with times
//!                             /by_agents.jsonl next steps that agents sent themselves
//!                             /gates/<id>      flocked by the process of a gate while it lives
//! ```
//!
//! Only `run.json` and `definition.yaml` are needed; everything else follows from the mail, or is a hint.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::clock::Timestamp;
use crate::mailbox::fault::Result;
use crate::mailbox::lock::{Hold, Lock};
use crate::mailbox::trash::Bag;
use crate::mailbox::{Dir, IfAny};
use crate::name::{MailboxId, MessageId};
use crate::post::SentStep;
use crate::room::Room;

pub const FOLDER: &str = ".workflows";
const OPEN: &str = "open";
const RUNS: &str = "runs";
const RECORD: &str = "run.json";
const DEFINITION: &str = "definition.yaml";
const SENT: &str = "sent.jsonl";
const BEGUN: &str = "begun.jsonl";
const BY_AGENTS: &str = "by_agents.jsonl";
const LIMIT: u64 = 64 * 1024 * 1024;

/// The constants of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub v: u32,
    pub id: String,
    pub workflow: String,
    pub inputs: Map<String, Json>,
    pub started: String,
    /// Its starter: a mailbox id, else `user`.
    pub by: String,
    /// The directory in which gate commands run.
    pub project: PathBuf,
    /// The directory whose `shared/` holds the state: a `.claude` tree, or `.workflows` in the room.
    pub desk: PathBuf,
    /// How many automatic steps led to its start.
    #[serde(default)]
    pub hops: Option<u32>,
}

/// One line of `sent.jsonl` and `begun.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
struct Dated {
    id: String,
    at: String,
}

/// The runs of a room.
#[derive(Debug)]
pub struct Runs {
    pub(super) dir: Dir,
}

/// The directories to watch for a room's runs: marks of new runs, and their mail.
pub fn arrival_dirs(root: &Path) -> Vec<PathBuf> {
    let open = root.join(FOLDER).join(OPEN);
    let mut names = vec![];
    if let Ok(dir) = Dir::look(&open) {
        let _ = dir.scan_once(|name, _| names.extend(str::from_utf8(name).ok().map(str::to_owned)));
    }
    names.retain(|name| MailboxId::parse(name).is_ok());
    names.sort();
    let inbox = |name: String| root.join(name).join("inbox");
    [open].into_iter().chain(names.into_iter().map(inbox)).collect()
}

/// The project in which a run was started. `None` if there is no such run.
pub fn project_of(room: &Room, run: &str) -> Result<Option<PathBuf>> {
    let Some(runs) = Runs::existing(room)? else { return Ok(None) };
    // A disk error must not look like "not a run".
    let record = if runs.is_kept(run)? { runs.record(run) } else { None };
    Ok(record.map(|record| record.project))
}

impl Runs {
    pub fn open(room: &Room) -> Result<Self> {
        Ok(Self { dir: room.root().create_dir_synced(FOLDER)? })
    }

    /// Opens the records for reading. `None` if this room never had a run.
    pub fn existing(room: &Room) -> Result<Option<Self>> {
        Ok(room.root().sub_if_any(FOLDER)?.map(|dir| Self { dir }))
    }

    /// The directory for the state of runs in a room without a tree.
    pub fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// The directory to watch for new runs.
    pub fn made_open(&self) -> Result<PathBuf> {
        Ok(self.dir.create_dir_synced(OPEN)?.path().to_owned())
    }

    /// Records a run that is about to begin: it appears with both files or not at all. Durable on return.
    pub fn keep(&self, record: &Record, definition: &str) -> Result<()> {
        let runs = self.dir.create_dir_synced(RUNS)?;
        let staged = format!(".{}", record.id);
        let dir = runs.make_new(&staged)?;
        dir.replace_synced(DEFINITION, definition.as_bytes())?;
        dir.replace_synced(RECORD, &serde_json::to_vec_pretty(record).unwrap_or_default())?;
        runs.rename_dir(&staged, &runs, &record.id)?;
        runs.sync()
    }

    /// Why a run can never go on: somebody removed a part of it, or it was interrupted before it began. `None` if all
    /// of it is there.
    pub fn loss(&self, room: &Room, run: &str) -> Result<Option<&'static str>> {
        if !self.is_kept(run)? {
            return Ok(Some("its records are gone"));
        }
        Ok(room.root().sub_if_any(run)?.is_none().then_some("its mailbox is gone"))
    }

    /// Marks a run as in progress or not. Durable on return.
    pub fn set_open(&self, run: &str, open: bool) -> Result<()> {
        let dir = self.dir.create_dir_synced(OPEN)?;
        match open {
            true if dir.stat(run).is_ok() => Ok(()),
            true => dir.write_new(run, b"").and_then(|()| dir.sync()),
            false => dir.remove(run).if_any()?.map_or(Ok(()), |()| dir.sync()),
        }
    }

    pub fn is_open(&self, run: &str) -> bool {
        self.dir.sub(OPEN).and_then(|dir| dir.stat(run)).is_ok()
    }

    /// The runs in progress, by name.
    pub fn open_ids(&self) -> Result<Vec<String>> {
        self.names(OPEN)
    }

    /// Whether there is a run with this id, also if only the mark of it is left. Text that is no id names none.
    pub fn is_known(&self, run: &str) -> Result<bool> {
        if MailboxId::parse(run).is_err() {
            return Ok(false);
        }
        Ok(self.dir_of(run).if_any()?.is_some() || self.is_open(run))
    }

    /// All runs, oldest first, also those of which only the mark is left.
    pub fn ids(&self) -> Result<Vec<String>> {
        let mut names = self.names(RUNS)?;
        names.extend(self.names(OPEN)?);
        names.sort();
        names.dedup();
        let mut dated: Vec<_> =
            names.into_iter().map(|name| (self.record(&name).map(|r| r.started), name)).collect();
        dated.sort();
        Ok(dated.into_iter().map(|(_, name)| name).collect())
    }

    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>> {
        let Some(dir) = self.dir.sub(folder).if_any()? else { return Ok(vec![]) };
        let mut names = vec![];
        dir.scan_once(|name, _| {
            let name = str::from_utf8(name).ok().filter(|name| MailboxId::parse(name).is_ok());
            names.extend(name.map(str::to_owned));
        })?;
        names.sort();
        Ok(names)
    }

    pub fn record(&self, run: &str) -> Option<Record> {
        self.read(run, RECORD).ok()?.and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }

    pub fn definition(&self, run: &str) -> Option<String> {
        self.read(run, DEFINITION).ok()?.and_then(|bytes| String::from_utf8(bytes).ok())
    }

    /// Whether the records suffice to carry a run. A disk error is not a "no".
    pub fn is_kept(&self, run: &str) -> Result<bool> {
        for file in [RECORD, DEFINITION] {
            self.read(run, file)?;
        }
        Ok(self.record(run).is_some() && self.definition(run).is_some())
    }

    fn read(&self, run: &str, file: &str) -> Result<Option<Vec<u8>>> {
        if MailboxId::parse(run).is_err() {
            return Ok(None);
        }
        match self.dir_of(run).and_then(|dir| dir.read(file, LIMIT)) {
            Err(e) if e.is_transient() => Err(e),
            other => Ok(other.ok().flatten()),
        }
    }

    fn dir_of(&self, run: &str) -> Result<Dir> {
        self.dir.sub(RUNS)?.sub(run)
    }

    /// Moves the records of a run into the trash. The caller holds its lock. Durable on return.
    pub fn throw_away(&self, run: &str, bag: &Bag) -> Result<()> {
        move_run(&self.dir.sub(RUNS)?, run, &bag.made_runs()?)
    }

    /// Moves the records of a run back. Durable on return.
    pub fn bring_back(&self, run: &str, bag: &Bag) -> Result<()> {
        move_run(&bag.made_runs()?, run, &self.dir.create_dir_synced(RUNS)?)
    }

    /// Takes the lock of a run. `None` if another process holds it.
    pub fn try_lock(&self, run: &str) -> Result<Option<Lock>> {
        self.dir_of(run)?.try_lock("lock", Hold::Alone)
    }

    /// Waits for the lock of a run.
    pub fn lock(&self, run: &str) -> Result<Lock> {
        self.dir_of(run)?.lock("lock")
    }

    /// Waits for the lock of a run, if there is anything left that could be locked.
    pub fn lock_if_any(&self, run: &str) -> Result<Option<Lock>> {
        let dir = self.dir_of(run).if_any()?;
        dir.map(|dir| dir.lock("lock")).transpose()
    }

    /// Whether `mark` was the last carrier's mark, and sets it. The caller holds the lock.
    pub fn was_my_turn(&self, run: &str, mark: &str) -> Result<bool> {
        let dir = self.dir_of(run)?;
        if dir.read("turn", 256)?.as_deref() == Some(mark.as_bytes()) {
            return Ok(true);
        }
        dir.replace("turn", mark.as_bytes())?;
        Ok(false)
    }

    /// Notes that a message was sent. If the note is lost, the message is searched for again.
    pub fn note_sent(&self, run: &str, id: &MessageId, at: Timestamp) -> Result<()> {
        self.note(run, SENT, id, Some(at))
    }

    /// The sent messages with their times.
    pub fn sent(&self, run: &str) -> Result<HashMap<MessageId, Timestamp>> {
        self.noted(run, SENT)
    }

    /// Notes that the work on a request has begun, or that nobody works on it any more. If the note is lost, its timeout
    /// restarts.
    pub fn note_begun(&self, run: &str, id: &MessageId, at: Option<Timestamp>) -> Result<()> {
        self.note(run, BEGUN, id, at)
    }

    /// The requests whose work was seen to begin, with times.
    pub fn begun(&self, run: &str) -> Result<HashMap<MessageId, Timestamp>> {
        self.noted(run, BEGUN)
    }

    fn note(&self, run: &str, file: &str, id: &MessageId, at: Option<Timestamp>) -> Result<()> {
        let line = Dated { id: id.to_string(), at: at.map(Timestamp::precise).unwrap_or_default() };
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        line.push(b'\n');
        self.dir_of(run)?.append(file, &line)
    }

    /// The last time of each message.
    fn noted(&self, run: &str, file: &str) -> Result<HashMap<MessageId, Timestamp>> {
        let bytes = self.dir_of(run)?.read(file, LIMIT)?.unwrap_or_default();
        let mut times = HashMap::new();
        for line in bytes.split(|b| *b == b'\n') {
            let Ok(noted) = serde_json::from_slice::<Dated>(line) else { continue };
            let Ok(id) = MessageId::parse_lenient(&noted.id) else { continue };
            match Timestamp::parse(&noted.at) {
                Some(at) => times.insert(id, at),
                None => times.remove(&id),
            };
        }
        Ok(times)
    }

    /// Notes a next step that was not sent by the run.
    pub fn note_by_agent(room: &Room, run: &str, note: &SentStep) {
        let _ = Self::noted_by_agent(room, run, note);
    }

    fn noted_by_agent(room: &Room, run: &str, note: &SentStep) -> Option<()> {
        MailboxId::parse(run).ok()?;
        let runs = Self::existing(room).ok()??;
        let mut line = serde_json::to_vec(note).ok()?;
        line.push(b'\n');
        runs.dir_of(run).ok()?.append(BY_AGENTS, &line).ok()
    }

    pub fn by_agents(&self, run: &str) -> Result<Vec<SentStep>> {
        let bytes = self.dir_of(run)?.read(BY_AGENTS, LIMIT)?.unwrap_or_default();
        Ok(bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Takes the lock of a gate. `None` if its process is alive.
    pub fn gate(&self, run: &str, id: &MessageId) -> Result<Option<Lock>> {
        self.gates(run)?.try_lock(id.as_str(), Hold::Alone)
    }

    /// What gates of a run leave while they are at work.
    pub(super) fn gates(&self, run: &str) -> Result<Dir> {
        self.dir_of(run)?.create_dir_synced("gates")
    }

    /// A file for the output of a gate.
    pub fn log_of_gate(&self, run: &str, id: &MessageId, what: &str) -> Result<std::fs::File> {
        let (gates, name) = (self.gates(run)?, format!("{id}.{what}"));
        // A killed gate process left its file.
        let _ = gates.remove(&name);
        gates.log_file(&name)
    }

    /// Removes the lock of a gate that has its verdict. The caller holds it.
    pub fn forget_gate(&self, run: &str, id: &MessageId) {
        let _ = self.dir_of(run).and_then(|dir| dir.sub("gates")).and_then(|dir| dir.remove(id.as_str()));
    }
}

fn move_run(from: &Dir, run: &str, to: &Dir) -> Result<()> {
    if from.rename_dir(run, to, run).if_any()?.is_none() {
        return Ok(());
    }
    to.sync()?;
    from.sync()
}
