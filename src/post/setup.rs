//! Setup: makes a mailbox, registers its name, binds it to the agent's session.
//!
//! All steps run under the registry's lock, in an order that is safe against interruption: the mailbox with its card,
//! then the binding, then the name. A second run continues where the first one ended.

use std::path::PathBuf;

use super::takeover::holder;
use super::{Error, Post, Result, USER, Why};
use crate::groups::ALL;
use crate::journal::Event;
use crate::mailbox::maildir::CARD_LIMIT;
use crate::mailbox::{Folder, Maildir, workspace};
use crate::message::Protocol;
use crate::message::envelope::check_value;
use crate::name::{MailboxId, Name, fold, with_numbers};
use crate::random;
use crate::registry::{Editing, Entry, Registry};
use crate::room::Extent;
use crate::session::Session;

/// The word that stands for a name in help and hints.
pub(super) const PLACEHOLDER: &str = "NAME";

/// The requested mailbox.
#[derive(Debug, Default)]
pub struct NewMailbox {
    /// Defaults to the current name, else a free given name.
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub about: Option<String>,
    /// For another agent: the caller is neither bound nor named.
    pub child: bool,
    /// The workspace of the mailbox, if it is for one.
    pub workspace: Option<PathBuf>,
    /// The program of another agent, if it is known.
    pub program: Option<String>,
}

/// The result of a setup.
#[derive(Debug)]
pub struct Setup {
    pub name: String,
    pub id: MailboxId,
    /// Whether this call registered the name.
    pub created: bool,
    /// What acts as this mailbox from now on: the agent session or the terminal.
    pub bound: Option<Why>,
    /// Whom this terminal acted as until now, if that was another.
    pub was: Option<String>,
    /// `None` if the setup succeeded, but the inbox could not be read.
    pub unread: Option<usize>,
    /// Nobody gave a name, so a free one was taken.
    pub chosen: bool,
}

impl Post {
    pub fn setup(&self, wanted: &NewMailbox) -> Result<Setup> {
        self.room.may_write()?;
        let name = wanted.name.as_deref().map(checked_name).transpose()?;
        let aliases = wanted.aliases.iter().map(|a| checked_name(a)).collect::<Result<Vec<_>>>()?;
        if let Some(about) = &wanted.about {
            check_value(about).map_err(|why| Error::BadValue { field: "--about", why })?;
        }
        let mut editing = Editing::begin(self.room.root())?;
        let inbox = wanted.workspace.as_deref().map(|dir| workspace::inbox_of(dir).display().to_string());
        let own = match &inbox {
            // The owner of a workspace does not depend on the caller.
            Some(inbox) => editing.registry.entries.iter().find(|e| e.inbox == *inbox).map(|e| e.id.clone()),
            None if wanted.child => None,
            None => match self.persons_own(&editing.registry, name.as_ref()) {
                Some(id) => Some(id),
                None => self.own_id(&editing.registry, name.as_ref())?,
            },
        };
        let known = own.as_ref().and_then(|id| editing.registry.by_id(id)).cloned();
        let (mut entry, chosen) = match known {
            Some(entry) => (same_owner(entry, name.as_ref(), &aliases)?, false),
            None => {
                let given = name.or_else(|| name_of_workspace(wanted));
                let (name, chosen) = self.name_for(&editing.registry, own.as_ref(), given)?;
                self.check_word(name.as_str(), wanted.child)?;
                (self.new_entry(&editing.registry, own, name)?, chosen)
            }
        };
        if let Some(inbox) = inbox {
            check_value(&inbox).map_err(|why| Error::BadValue { field: "--workspace", why })?;
            entry.inbox = inbox;
            entry.extra.insert("protocol".into(), Protocol::Workspace.as_str().into());
        }
        self.fill_in(&mut entry, &editing.registry, &aliases, wanted)?;
        // Only now, so that a refused name leaves room and directory unchanged.
        self.room.explain()?;
        if let Some(dir) = &wanted.workspace {
            workspace::make(dir)?;
        }
        let old = editing.registry.by_id(&entry.id).cloned();
        let mailbox = Maildir::make(self.room.root(), &entry.id, Some(&entry.card()))?;
        let was = self.bound_to_terminal().filter(|id| *id != entry.id);
        let was = was.and_then(|id| Some(editing.registry.by_id(&id)?.name.clone()));
        let bound = match &self.caller.session {
            _ if wanted.child => None,
            Some(session) => self.bind_if_free(session, &mailbox)?.then_some(Why::Session),
            None => self.bind_terminal(&entry.id)?.then_some(Why::Terminal),
        };
        let created = old.is_none();
        if old.as_ref() != Some(&entry) {
            editing.registry.set(entry.clone());
            editing.commit()?;
            self.record(Event {
                to: entry.name.clone(),
                ..Event::new(if created { "setup" } else { "changed" }, entry.id.as_str())
            });
        } else {
            // An earlier run may have been interrupted between writing the registry and making it durable.
            self.room.root().sync()?;
        }
        if !wanted.child {
            mailbox.mark_seen();
            self.tell_program();
        }
        // The setup succeeded, whatever the inbox contains.
        let unread = self.placed(mailbox).and_then(|mailbox| Ok(mailbox.list(Folder::Inbox, 0)?.total)).ok();
        let was = was.filter(|_| bound == Some(Why::Terminal));
        Ok(Setup { name: entry.name, id: entry.id, created, bound, was, unread, chosen })
    }

    /// Binds a session to its mailbox, unless another living session holds it: `takeover` asks about that.
    fn bind_if_free(&self, session: &Session, mailbox: &Maildir) -> Result<bool> {
        let is_bound = session.mailbox(&self.room)?.as_ref() == Some(mailbox.id());
        let holder = holder(mailbox)?;
        let is_mine = holder.as_ref().is_some_and(|holder| holder.is(session));
        let is_taken = holder.is_some() && !is_mine;
        if is_taken && (is_bound || self.is_held(mailbox)?) {
            return Ok(is_bound);
        }
        if is_bound {
            // An earlier run may have been interrupted before the sync.
            crate::session::sync(&self.room)?;
        } else {
            session.bind(&self.room, mailbox.id())?;
            self.forget_old_sessions();
        }
        // An earlier run may have been interrupted between the two.
        if !(is_bound && is_mine) {
            self.hold(mailbox, Some(session))?;
        }
        Ok(true)
    }

    /// The mailbox of the person, who has one for all terminals: `setup user` makes a further terminal act as it.
    /// Two entries with that name are none here, and the setup is refused as for any taken name.
    fn persons_own(&self, registry: &Registry, wanted: Option<&Name>) -> Option<MailboxId> {
        wanted.filter(|name| fold(name.as_str()) == USER && self.seems_attended())?;
        self.caller
            .session
            .is_none()
            .then(|| registry.lookup(USER).ok().flatten())?
            .map(|entry| entry.id.clone())
    }

    /// The id that the caller already has. An id from the environment may not exist yet.
    fn own_id(&self, registry: &Registry, wanted: Option<&Name>) -> Result<Option<MailboxId>> {
        match self.my_id() {
            // A person may set up several in one terminal; it acts as the last.
            Ok(Some((id, Why::Terminal))) => {
                let is_meant = |entry: &Entry| wanted.is_none_or(|name| entry.name == name.as_str());
                Ok(registry.by_id(&id).is_some_and(is_meant).then_some(id))
            }
            // It was pruned since this command looked it up.
            Ok(Some((id, Why::Flag)))
                if registry.by_id(&id).is_none() && self.room.extent(&id) == Extent::Absent =>
            {
                Err(self.not_me(Why::Flag, self.caller.flag.as_deref().unwrap_or(id.as_str())))
            }
            Ok(own) => Ok(own.map(|(id, _)| id)),
            Err(Error::NotMe { source_of_name, name, nearest, names }) => match MailboxId::parse(&name) {
                Ok(id)
                    if source_of_name == Why::Environment.as_str() && registry.lookup(&name)?.is_none() =>
                {
                    Ok(Some(id))
                }
                _ => Err(Error::NotMe { source_of_name, name, nearest, names }),
            },
            // A session that lost its mailbox may have another.
            Err(Error::TakenOver { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The name of a new entry: as given, else that on the card of its mailbox, else a free one, which is chosen here.
    fn name_for(
        &self,
        registry: &Registry,
        own: Option<&MailboxId>,
        given: Option<Name>,
    ) -> Result<(Name, bool)> {
        if let Some(name) = given {
            return Ok((name, false));
        }
        let carded = own.map(|id| self.carded_name(id)).transpose()?.flatten();
        match carded.filter(|name| !registry.is_taken(name.as_str(), None)) {
            Some(name) => Ok((name, false)),
            None => Ok((free_name(registry)?, true)),
        }
    }

    /// Refuses a reserved word as a new name. The person's mailbox is made by the person, or for the person.
    fn check_word(&self, name: &str, child: bool) -> Result<()> {
        let is_persons = fold(name) == USER && (child || self.seems_attended());
        if is_persons { Ok(()) } else { not_reserved(name) }
    }

    fn new_entry(&self, registry: &Registry, own: Option<MailboxId>, name: Name) -> Result<Entry> {
        // An id is also an address: no name may equal another mailbox's id.
        let squats = match self.existing_id(name.as_str())? {
            Some(id) if Some(&id) != own.as_ref() && registry.by_id(&id).is_none() => {
                self.carded_name(&id)?.as_ref() != Some(&name)
            }
            _ => false,
        };
        if squats || registry.is_taken(name.as_str(), own.as_ref()) {
            let is_left = self.is_left(registry, &name);
            let (suggestions, name) = (registry.suggestions(&name), name.to_string());
            return Err(Error::Taken { name, suggestions, is_left });
        }
        let id = match own {
            Some(id) => id,
            None => match self.orphan(registry, &name)? {
                Some(id) => id,
                None => minted(&name, &random::hex())?,
            },
        };
        let inbox = self.room.path().join(id.as_str()).join(Folder::Inbox.as_str());
        Ok(Entry::new(name.as_str(), id, inbox.display().to_string(), self.now().to_string()))
    }

    /// Whether the session of the caller may take over the mailbox of this name, because nobody is there. What cannot be seen
    /// is somebody.
    fn is_left(&self, registry: &Registry, name: &Name) -> bool {
        let Some(entry) = registry.lookup(name.as_str()).ok().flatten() else { return false };
        let is_held = || self.is_held(&Maildir::open(self.room.root(), &entry.id)?);
        self.caller.session.is_some() && !self.is_persons(&entry.id) && is_held().is_ok_and(|held| !held)
    }

    fn fill_in(
        &self,
        entry: &mut Entry,
        registry: &Registry,
        aliases: &[Name],
        wanted: &NewMailbox,
    ) -> Result<()> {
        if !wanted.child {
            entry.harness.clone_from(&self.caller.harness);
            entry.pid = self.caller.pid;
        } else if entry.harness.is_empty() {
            entry.harness = wanted.program.clone().unwrap_or_else(|| "unknown".to_owned());
        }
        let mut all: Vec<String> = entry.aliases().map(str::to_owned).collect();
        for alias in aliases {
            if entry.aliases().all(|old| old != alias.as_str()) {
                not_reserved(alias.as_str())?;
            }
            if registry.is_taken(alias.as_str(), Some(&entry.id)) {
                return Err(Error::Taken {
                    suggestions: registry.suggestions(alias),
                    name: alias.to_string(),
                    is_left: false,
                });
            }
            if entry.name != alias.as_str() && !all.iter().any(|a| a == alias.as_str()) {
                all.push(alias.to_string());
            }
        }
        if !all.is_empty() {
            entry.extra.insert("aliases".into(), all.join(" ").into());
        }
        if let Some(about) = &wanted.about {
            entry.extra.insert("about".into(), about.as_str().into());
        }
        Ok(())
    }

    /// A mailbox with this name on its card and no entry, left by an interrupted setup or a lost registry.
    fn orphan(&self, registry: &Registry, name: &Name) -> Result<Option<MailboxId>> {
        for id in self.mailbox_ids()?.into_iter().filter(|id| registry.by_id(id).is_none()) {
            if self.carded_name(&id)?.is_some_and(|carded| carded == *name) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The valid name on the card of a mailbox, if any. A disk failure is an error, not a missing card.
    fn carded_name(&self, id: &MailboxId) -> Result<Option<Name>> {
        // Foreign directories are not opened: that would change their modes.
        if self.room.extent(id) == Extent::Absent {
            return Ok(None);
        }
        let read = Maildir::open(self.room.root(), id).and_then(|m| m.dir().read("card.json", CARD_LIMIT));
        let bytes = match read {
            Err(e) if e.is_transient() => return Err(e.into()),
            other => other.ok().flatten(),
        };
        let card = bytes.and_then(|bytes| Registry::parse(&bytes).ok());
        let entry = card.as_ref().and_then(|card| card.by_id(id));
        Ok(entry.and_then(|entry| Name::parse(&entry.name).ok()))
    }
}

/// A workspace gets the name of its directory, if that is valid.
fn name_of_workspace(wanted: &NewMailbox) -> Option<Name> {
    let directory = wanted.workspace.as_deref()?.file_name()?.to_str()?;
    Name::parse(directory).ok()
}

/// Refuses a word that means something else where a name stands: everybody, the person, oneself, and the word that stands
/// for a name in help and hints.
pub(super) fn not_reserved(name: &str) -> Result<()> {
    match name == PLACEHOLDER || [ALL, USER, "me"].contains(&fold(name).as_str()) {
        true => Err(Error::Reserved { name: name.to_owned() }),
        false => Ok(()),
    }
}

pub(super) fn checked_name(text: &str) -> Result<Name> {
    Name::parse(text).map_err(|why| Error::BadName { what: "the name", text: text.to_owned(), why })
}

/// An id for a new mailbox of this name.
pub(super) fn minted(name: &Name, digits: &str) -> Result<MailboxId> {
    let bad = |why| Error::BadName { what: "the name", text: name.to_string(), why };
    MailboxId::mint(name, digits).map_err(bad)
}

/// The owner of a mailbox may repeat its name or an alias; another name would give it two.
fn same_owner(entry: Entry, name: Option<&Name>, aliases: &[Name]) -> Result<Entry> {
    let fits = |name: &Name| {
        let wanted = fold(name.as_str());
        fold(&entry.name) == wanted || entry.aliases().any(|a| fold(a) == wanted) || aliases.contains(name)
    };
    match name {
        Some(name) if !fits(name) => Err(Error::AlreadyNamed { name: entry.name, wanted: name.to_string() }),
        _ => Ok(entry),
    }
}

fn free_name(registry: &Registry) -> Result<Name> {
    let start = usize::try_from(random::number() % GIVEN.len() as u64).unwrap_or(0);
    let given = (0..GIVEN.len()).map(|n| GIVEN[(start + n) % GIVEN.len()].to_owned());
    let free = given
        .chain(with_numbers(GIVEN[start]))
        .find(|name| !registry.is_taken(name, None))
        .unwrap_or_else(random::hex);
    checked_name(&free)
}

/// Names for agents that do not choose one.
const GIVEN: &[&str] = &[
    "ada", "agnes", "alan", "alba", "amir", "anton", "aria", "basil", "bela", "boris", "carla", "cleo",
    "cyrus", "dana", "dario", "edith", "elias", "emil", "enzo", "faye", "felix", "flora", "gaia", "gino",
    "greta", "hana", "hugo", "ida", "igor", "ines", "iris", "ivo", "jana", "jonas", "juno", "kai", "kira",
    "lars", "leila", "leo", "lina", "luca", "maia", "marco", "mila", "nadia", "nils", "nora", "olga", "omar",
    "otto", "petra", "quinn", "rosa", "rufus", "sami", "selma", "silas", "tara", "theo", "tilda", "ugo",
    "vera", "viktor", "wanda", "xenia", "yara", "yuri", "zelda", "zeno",
];
