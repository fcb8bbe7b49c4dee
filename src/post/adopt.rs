//! Adopting: gives existing mailboxes outside the room, of any protocol, a name and a home in this room. It changes
//! nothing in them. A second run reports them as adopted.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::setup::{minted, not_reserved};
use super::{Error, Post, Result, USER};
use crate::journal::Event;
use crate::mailbox::disk::Swapped;
use crate::mailbox::tree::Tree;
use crate::mailbox::workspace::{self, MAILBOX};
use crate::mailbox::{Dir, Folder, IfAny, Maildir};
use crate::message::Protocol;
use crate::message::envelope::check_value;
use crate::name::{MailboxId, MessageId, Name, fold};
use crate::random;
use crate::registry::{self, Editing, Entry, Registry};

/// The directory of a tree of agents in a project.
const TREE: &str = ".claude";

/// A mailbox that was found, and what became of it.
#[derive(Debug)]
pub struct Adopted {
    pub name: String,
    pub protocol: Protocol,
    pub inbox: PathBuf,
    pub state: Adoption,
}

#[derive(Debug)]
pub enum Adoption {
    New(MailboxId),
    Already(MailboxId),
    /// Another mailbox has the name; these names are free.
    Taken(Vec<String>),
    /// The name is not valid.
    BadName(String),
}

/// A mailbox as it was found.
#[derive(Debug, Clone)]
pub(super) struct FoundInbox {
    pub(super) name: String,
    /// A second name, used if it is free.
    pub(super) alias: Option<String>,
    /// Its id in its own room, if it has one.
    pub(super) id: Option<MailboxId>,
    pub(super) protocol: Protocol,
    pub(super) inbox: PathBuf,
    pub(super) about: Option<String>,
}

impl Post {
    /// Gives each mailbox at `path` (a room, a workspace, a `.claude` tree) a name here. `prefix` goes before each name.
    pub fn adopt(&self, path: &Path, prefix: Option<&str>) -> Result<Vec<Adopted>> {
        self.room.may_write()?;
        let found = self.look_for_mailboxes(path)?;
        if found.is_empty() {
            return Err(Error::NothingToAdopt { path: path.display().to_string() });
        }
        let named = |found: FoundInbox| match prefix {
            // The short name keeps working if no other mailbox has it.
            Some(prefix) => {
                FoundInbox { name: format!("{prefix}.{}", found.name), alias: Some(found.name), ..found }
            }
            None => found,
        };
        self.adopt_all(found.into_iter().map(named).collect())
    }

    /// Registers the mailboxes that were found, each if possible.
    pub(super) fn adopt_all(&self, found: Vec<FoundInbox>) -> Result<Vec<Adopted>> {
        let mut editing = Editing::begin(self.room.root())?;
        let (mut adopted, mut new) = (vec![], vec![]);
        for found in found {
            let state = self.adopt_one(&mut editing.registry, &found)?;
            if let Adoption::New(id) = &state {
                new.push((id.clone(), found.name.clone()));
            }
            let FoundInbox { name, protocol, inbox, .. } = found;
            adopted.push(Adopted { name, protocol, inbox, state });
        }
        if new.is_empty() {
            // An earlier run may have been interrupted between writing the registry and making it durable.
            self.room.root().sync()?;
            return Ok(adopted);
        }
        editing.commit()?;
        for (id, name) in new {
            self.record(Event { to: name, note: "adopted".to_owned(), ..Event::new("setup", id.as_str()) });
        }
        Ok(adopted)
    }

    fn adopt_one(&self, registry: &mut Registry, found: &FoundInbox) -> Result<Adoption> {
        let inbox = found.inbox.display().to_string();
        if let Some(entry) = registry.entries.iter().find(|entry| entry.inbox == inbox) {
            return Ok(Adoption::Already(entry.id.clone()));
        }
        let at_home = self.room.path() == found.inbox.ancestors().nth(2).unwrap_or(Path::new(""));
        // In this same room, it may be the home of a mailbox whose messages are elsewhere.
        if let Some(entry) = found.id.as_ref().filter(|_| at_home).and_then(|id| registry.by_id(id)) {
            return Ok(Adoption::Already(entry.id.clone()));
        }
        let name = match Name::parse(&found.name) {
            Ok(name) => name,
            Err(why) => return Ok(Adoption::BadName(why.to_string())),
        };
        // The inbox of `user` in a tree is the person's.
        if let Err(e @ Error::Reserved { .. }) = not_reserved(name.as_str())
            && fold(name.as_str()) != USER
        {
            return Ok(Adoption::BadName(e.to_string()));
        }
        if registry.is_taken(name.as_str(), None) {
            return Ok(Adoption::Taken(registry.suggestions(&name)));
        }
        let mut entry = self.entry_of(&name, found.protocol, inbox)?;
        if let Some(id) = &found.id
            && (at_home || self.existing_id(id.as_str())?.is_none())
        {
            entry.id = id.clone();
        }
        if at_home {
            entry.extra.remove("protocol");
        }
        let alias = found
            .alias
            .as_deref()
            .filter(|alias| Name::parse(alias).is_ok() && !registry.is_taken(alias, None));
        entry.extra.extend(alias.map(|alias| ("aliases".to_owned(), alias.into())));
        let about = found.about.as_deref().filter(|about| check_value(about).is_ok());
        entry.extra.extend(about.map(|about| ("about".to_owned(), about.into())));
        Maildir::make(self.room.root(), &entry.id, Some(&entry.card()))?;
        let id = entry.id.clone();
        registry.entries.push(entry);
        Ok(Adoption::New(id))
    }

    /// An entry for a mailbox whose messages are in `inbox`.
    pub(super) fn entry_of(&self, name: &Name, protocol: Protocol, inbox: String) -> Result<Entry> {
        check_value(&inbox).map_err(|why| Error::BadValue { field: "the path of the inbox", why })?;
        // Derived from the path, so that a retry after an interruption finds the same home.
        let digits = MessageId::derived(inbox.as_bytes()).short().unwrap_or_else(random::hex);
        let id = minted(name, &digits)?;
        let mut entry = Entry::new(name.as_str(), id, inbox, self.now().to_string());
        entry.harness = "unknown".to_owned();
        entry.extra.insert("protocol".into(), protocol.as_str().into());
        Ok(entry)
    }

    fn look_for_mailboxes(&self, path: &Path) -> Result<Vec<FoundInbox>> {
        // The user may name the directory of the protocol itself, or its parent.
        let project = match path.file_name().and_then(|name| name.to_str()) {
            Some(MAILBOX | TREE) => path.parent().unwrap_or(path),
            _ => path,
        };
        let Some(dir) = Dir::outside(project).if_any()? else {
            return Err(Error::NothingToAdopt { path: path.display().to_string() });
        };
        let mut found = vec![];
        let inbox = workspace::inbox_of(project);
        if is_directory(&inbox)? {
            let name = project.file_name().and_then(|name| name.to_str()).unwrap_or("workspace");
            found.push(FoundInbox {
                name: name.to_owned(),
                alias: None,
                id: None,
                protocol: Protocol::Workspace,
                inbox,
                about: None,
            });
        }
        if is_directory(&project.join(TREE).join("inboxes"))? {
            found.extend(agents(&Tree::open(&project.join(TREE))?)?);
        }
        found.extend(rooms(&dir)?);
        Ok(found)
    }

    /// Creates a `.claude` tree in a project and registers its agents here. `ignored` keeps its files out of the
    /// project's history.
    pub fn setup_tree(&self, project: &Path, names: &[String], ignored: bool) -> Result<Vec<Adopted>> {
        self.room.may_write()?;
        let bad = |text: &String, why| Error::BadName { what: "the agent", text: text.clone(), why };
        // Names that cannot be a folder or a mailbox name are refused before anything is made.
        let checked = |name: &String| {
            Name::parse(name).and_then(|_| MailboxId::parse(name)).map_err(|why| bad(name, why))
        };
        let wanted = names.iter().map(checked).collect::<Result<Vec<_>>>()?;
        let tree = Tree::make(project, &wanted)?;
        if ignored {
            ignore(&Dir::outside(project)?)?;
        }
        let mut found = agents(&tree)?;
        found.retain(|found| wanted.is_empty() || wanted.iter().any(|agent| agent.as_str() == found.name));
        self.adopt_all(found)
    }
}

/// Whether this is a directory, reached without links: nothing else could be written to.
fn is_directory(path: &Path) -> Result<bool> {
    Ok(Dir::outside(path).if_any()?.is_some())
}

/// Adds the missing lines to `.gitignore`.
fn ignore(project: &Dir) -> Result<()> {
    const FILE: &str = ".gitignore";
    let lines =
        ["inboxes", "outboxes", "shared", "archive", ".postroom"].map(|part| format!("/{TREE}/{part}/"));
    for _ in 0..8 {
        // Bytes, because the existing text need not be UTF-8.
        let (before, stat) = project.read_known(FILE, 1024 * 1024)?.unzip();
        let before = before.unwrap_or_default();
        let mut text = before.clone();
        let has = |line: &&String| text.split(|b| *b == b'\n').any(|l| l.trim_ascii() == line.as_bytes());
        let missing: Vec<&String> = lines.iter().filter(|line| !has(line)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        missing.iter().for_each(|line| text.extend(format!("{line}\n").as_bytes()));
        let done = match stat {
            Some(stat) => project.compare_and_swap(FILE, &text, (&before, &stat)),
            None => project.create_synced(FILE, &text).map(|()| Swapped::Done),
        };
        match done {
            Ok(Swapped::Done) => return Ok(()),
            // Changed, removed or made by another process meanwhile.
            Ok(Swapped::Changed) | Err(crate::mailbox::Error::Exists { .. }) => {}
            Err(e) if e.is_missing() => {}
            Err(e) => return Err(e.into()),
        }
    }
    Err(Error::Disk(crate::mailbox::Error::Busy { path: project.path().join(FILE) }))
}

/// The agents of a tree, with the descriptions from their own files.
pub(super) fn agents(tree: &Tree) -> Result<Vec<FoundInbox>> {
    let found = |agent: MailboxId| FoundInbox {
        name: agent.to_string(),
        alias: None,
        id: None,
        protocol: Protocol::Tree,
        inbox: tree.path().join("inboxes").join(agent.as_str()),
        about: tree.about(&agent),
    };
    Ok(tree.agents()?.into_iter().map(found).collect())
}

/// The mailboxes of a native root, under the names in its registry.
fn rooms(root: &Dir) -> Result<Vec<FoundInbox>> {
    let mut ids = super::locate::mailbox_ids(root)?;
    let is_folder = |path: &str| {
        root.stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    };
    ids.retain(|id| ["inbox", "tmp"].iter().all(|folder| is_folder(&format!("{id}/{folder}"))));
    let registry = match Registry::load(root) {
        Err(registry::Error::Disk(e)) => return Err(e.into()),
        // A file that is not a registry has no names.
        other => other.unwrap_or_default(),
    };
    let found = |id: MailboxId| {
        let entry = registry.by_id(&id);
        FoundInbox {
            name: entry.map_or_else(|| id.to_string(), |entry| entry.name.clone()),
            alias: None,
            protocol: Protocol::Maildir,
            inbox: root.path().join(id.as_str()).join(Folder::Inbox.as_str()),
            about: entry.and_then(|entry| entry.text("about")).map(str::to_owned),
            id: Some(id),
        }
    };
    Ok(ids.into_iter().map(found).collect())
}
