//! A look at the files of all mailboxes, by hand and not by the library that is under test.
//!
//! Each file that is somebody's message is a [`Copy`]: key, mailbox and state. Copies that a protocol keeps beside
//! (`scratch/`, outboxes, originals that were carried over) only have to be whole. Mail that waits to be carried over is
//! unread, and is not counted where it has arrived already: a command may be killed between the two.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ledger::key_of;
use crate::p_model::held::State;
use crate::p_model::step::{EVERYONE, Key, Protocol, Who, protocol, workspace_of};
use crate::place::{Place, names_in};

pub(crate) struct Copy {
    pub(crate) key: Key,
    pub(crate) who: Who,
    pub(crate) state: State,
    pub(crate) path: PathBuf,
    pub(crate) fields: BTreeMap<String, String>,
    /// Not carried over yet.
    waits: bool,
}

impl Copy {
    /// What its mailbox calls it.
    pub(crate) fn id(&self) -> String {
        let ids = ["msg_id", "REQUEST_ID", "id"];
        let id = ids.iter().find_map(|name| self.fields.get(*name));
        // Two answers to one request have its number: they are told apart by their files.
        let file = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        match self.fields.contains_key("MESSAGE_TYPE") {
            true => file.unwrap_or_default(),
            false => id.cloned().unwrap_or_default(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Look {
    pub(crate) copies: Vec<Copy>,
    /// How much waits to be carried over.
    pub(crate) waiting: usize,
    /// Keys of responses in outboxes.
    pub(crate) responses: Vec<Key>,
    pub(crate) problems: Vec<String>,
}

impl Look {
    pub(crate) fn at(place: &Place) -> Self {
        let mut look = Self::default();
        for who in EVERYONE {
            let home = place.mailbox(who);
            match protocol(who) {
                Protocol::Maildir => look.folders(&home, who, ".md"),
                Protocol::Workspace => {
                    let mailbox = place.base.join(workspace_of(who)).join(".mailbox");
                    look.folders(&mailbox, who, "");
                    look.beside(&mailbox.join("scratch"), "");
                }
                Protocol::Tree => look.tree(&place.base.join("site/.claude"), who),
            }
            if protocol(who) != Protocol::Maildir {
                look.folder(&home.join("inbox"), who, State::Unread, ".md", true);
                look.beside(&home.join("archive"), ".md");
            }
            if protocol(who) != Protocol::Workspace {
                look.folder(&home.join(".mailbox/inbox"), who, State::Unread, "", true);
                look.beside(&home.join(".mailbox/scratch"), "");
                look.beside(&home.join(".mailbox/archive"), "");
            }
            for name in names_in(&home.join("quarantine")) {
                look.problems.push(format!("in quarantine of {who}: {name}"));
            }
        }
        let arrived: Vec<(Key, Who)> =
            look.copies.iter().filter(|copy| !copy.waits).map(|copy| (copy.key.clone(), copy.who)).collect();
        look.waiting = look.copies.iter().filter(|copy| copy.waits).count();
        look.copies.retain(|copy| !copy.waits || !arrived.contains(&(copy.key.clone(), copy.who)));
        look
    }

    /// The states in which a mailbox has a message.
    pub(crate) fn states(&self, key: &str, who: Who) -> Vec<State> {
        let mine = self.copies.iter().filter(|copy| copy.key == key && copy.who == who);
        mine.map(|copy| copy.state).collect()
    }

    /// A message of a mailbox: of two that were sent with the same words, the one in this state.
    pub(crate) fn find(&self, key: &str, who: &str, state: Option<State>) -> Option<&Copy> {
        let mine = || self.copies.iter().filter(|copy| copy.key == key && copy.who == who);
        mine().find(|copy| Some(copy.state) == state).or_else(|| mine().next())
    }

    fn folders(&mut self, mailbox: &Path, who: Who, ending: &str) {
        self.folder(&mailbox.join("inbox"), who, State::Unread, ending, false);
        self.folder(&mailbox.join("archive"), who, State::Done, ending, false);
        self.folder(&mailbox.join("failed"), who, State::Failed, ending, false);
        for token in names_in(&mailbox.join("claimed")) {
            self.folder(&mailbox.join("claimed").join(token), who, State::Held, ending, false);
        }
    }

    fn folder(&mut self, dir: &Path, who: Who, state: State, ending: &str, waits: bool) {
        for (path, message) in self.messages(dir, ending) {
            let Message { key, fields } = message;
            self.copies.push(Copy { key, who, state, path, fields, waits });
        }
    }

    fn beside(&mut self, dir: &Path, ending: &str) {
        self.messages(dir, ending);
    }

    fn tree(&mut self, claude: &Path, who: Who) {
        for (path, Message { key, fields }) in self.messages(&claude.join("inboxes").join(who), ".md") {
            let answer = fields.contains_key("request_id") && fields.contains_key("msg_id");
            let state = match fields.get("status").map_or("", String::as_str) {
                "pending" => State::Unread,
                "in_progress" => State::Held,
                "completed" if answer => State::Unread,
                "completed" => State::Done,
                "failed" => State::Failed,
                other => {
                    self.problems.push(format!("{}: its status is `{other}`", path.display()));
                    continue;
                }
            };
            self.copies.push(Copy { key, who, state, path, fields, waits: false });
        }
        self.folder(&claude.join("archive/inboxes").join(who), who, State::Done, ".md", false);
        for tray in ["outboxes", "archive/outboxes"] {
            let responses = self.messages(&claude.join(tray).join(who), ".md");
            self.responses.extend(responses.into_iter().map(|(_, message)| message.key));
        }
    }

    /// The messages of a folder; what is not whole is a problem.
    fn messages(&mut self, dir: &Path, ending: &str) -> Vec<(PathBuf, Message)> {
        let mut found = vec![];
        for name in names_in(dir).into_iter().filter(|name| !name.starts_with('.') && name != "claim.json") {
            let path = dir.join(&name);
            let taken = if name.ends_with(ending) {
                fs::read_to_string(&path).map_err(|e| e.to_string()).and_then(|text| Message::of(&text))
            } else {
                Err("it does not belong here".to_owned())
            };
            match taken {
                Ok(message) => found.push((path, message)),
                Err(why) => self.problems.push(format!("{}: {why}", path.display())),
            }
        }
        found
    }
}

struct Message {
    key: Key,
    fields: BTreeMap<String, String>,
}

impl Message {
    fn of(text: &str) -> Result<Self, String> {
        let bytes = text.len();
        let rest = text.strip_prefix("---\n").ok_or_else(|| format!("no frontmatter ({bytes} bytes)"))?;
        let (head, body) = rest.split_once("\n---\n\n").ok_or("the frontmatter is not closed")?;
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        let fields = fields.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        // A notice of failure has its reason in the place of a checksum.
        let reason = body.split_once("because-").and_then(|(_, rest)| rest.split_once("-end"));
        let key = match reason {
            Some((reason, _)) => reason.to_owned(),
            None => key_of(body)?,
        };
        Ok(Self { key, fields })
    }
}
