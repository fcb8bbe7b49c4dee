//! One suite over the three protocols: every promise is one function, run for each protocol or for each pair of one
//! that asks and one that works for it, by command and by hand (conformance_*.rs).

use serde_json::Value;

use crate::support::kinds_room::Folder;
use crate::support::room::TestRoom;

/// One of the three protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Maildir,
    Workspace,
    Tree,
}

impl Kind {
    pub(crate) fn asker(self) -> &'static str {
        match self {
            Self::Maildir => "alice",
            Self::Workspace => "carol",
            Self::Tree => "explore",
        }
    }

    pub(crate) fn worker(self) -> &'static str {
        match self {
            Self::Maildir => "bob",
            Self::Workspace => "dave",
            Self::Tree => "writer",
        }
    }

    /// The directory in which the protocol looks for mail.
    pub(crate) fn inbox(self, room: &TestRoom, name: &str) -> Folder {
        match self {
            Self::Maildir => Folder(room.folder(name, "inbox")),
            Self::Workspace => room.of_workspace(name, "inbox"),
            Self::Tree => room.of_agent("inboxes", name),
        }
    }

    /// The directory in which what was answered is kept; in a tree it keeps its place until a clean-up.
    pub(crate) fn archive(self, room: &TestRoom, name: &str) -> Folder {
        match self {
            Self::Maildir => Folder(room.folder(name, "archive")),
            Self::Workspace => room.of_workspace(name, "archive"),
            Self::Tree => room.of_agent("inboxes", name),
        }
    }

    /// What the protocol is called in documents.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Maildir => "maildir",
            Self::Workspace => "workspace",
            Self::Tree => "tree",
        }
    }

    /// The files of a mailbox that contain `text`. Drafts, notes and what was carried over are no messages of it.
    pub(crate) fn copies(self, room: &TestRoom, name: &str, text: &str) -> Vec<String> {
        let tree = room.around().join("project/.claude");
        let places = match self {
            Self::Maildir => vec![room.root().join(room.id(name))],
            Self::Workspace => vec![room.around().join(name).join(".mailbox")],
            Self::Tree => vec![tree.join("inboxes").join(name), tree.join("archive/inboxes").join(name)],
        };
        let mut found = vec![];
        for place in places {
            for (path, content) in crate::support::picture::tree(&place) {
                let note =
                    |part: &str| part.starts_with('.') || ["scratch", "tmp", "attempts"].contains(&part);
                if content.starts_with("file ") && content.contains(text) && !path.split('/').any(note) {
                    found.push(place.join(path).display().to_string());
                }
            }
        }
        found
    }
}

/// One that asks and one that works, each in its protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) asks: Kind,
    pub(crate) works: Kind,
}

impl Way {
    /// A room with both of them.
    pub(crate) fn room(self) -> TestRoom {
        let room = TestRoom::empty();
        for (kind, name) in [(self.asks, self.asks.asker()), (self.works, self.works.worker())] {
            match kind {
                Kind::Maildir => drop(room.run(["setup", "-q", name]).succeeds()),
                Kind::Workspace => drop(room.workspace(name)),
                Kind::Tree => drop(room.agents(&[name])),
            }
        }
        room
    }

    pub(crate) fn asker(self) -> &'static str {
        self.asks.asker()
    }

    pub(crate) fn worker(self) -> &'static str {
        self.works.worker()
    }
}

/// Makes one test of each function for each protocol.
macro_rules! for_each_kind {
    ($($test:ident),* $(,)?) => {
        for_each_kind!(@kind maildir Maildir $($test)*);
        for_each_kind!(@kind workspace Workspace $($test)*);
        for_each_kind!(@kind tree Tree $($test)*);
    };
    (@kind $module:ident $kind:ident $($test:ident)*) => {
        mod $module {
            $(#[test] fn $test() { super::$test(crate::protocols::conformance::Kind::$kind); })*
        }
    };
}
pub(crate) use for_each_kind;

/// Makes one test of each function for each pair of protocols.
macro_rules! for_each_way {
    ($($test:ident),* $(,)?) => {
        for_each_way!(@way maildir_to_maildir Maildir Maildir $($test)*);
        for_each_way!(@way maildir_to_workspace Maildir Workspace $($test)*);
        for_each_way!(@way maildir_to_tree Maildir Tree $($test)*);
        for_each_way!(@way workspace_to_maildir Workspace Maildir $($test)*);
        for_each_way!(@way workspace_to_workspace Workspace Workspace $($test)*);
        for_each_way!(@way workspace_to_tree Workspace Tree $($test)*);
        for_each_way!(@way tree_to_maildir Tree Maildir $($test)*);
        for_each_way!(@way tree_to_workspace Tree Workspace $($test)*);
        for_each_way!(@way tree_to_tree Tree Tree $($test)*);
    };
    (@way $module:ident $asks:ident $works:ident $($test:ident)*) => {
        mod $module {
            use crate::protocols::conformance::{Kind, Way};
            $(#[test] fn $test() {
                super::$test(Way { asks: Kind::$asks, works: Kind::$works });
            })*
        }
    };
}
pub(crate) use for_each_way;

/// The id of the only receipt of a send with `--json`.
#[track_caller]
pub(crate) fn sent_id(sent: &Value) -> String {
    assert_eq!(sent["receipts"][0]["state"], "queued", "{sent}");
    sent["receipts"][0]["id"].as_str().unwrap().to_owned()
}

/// What `check` calls a message, fit for any verb.
pub(crate) fn reference(header: &Value) -> String {
    header["file"].as_str().unwrap().to_owned()
}

/// Claims the next message and gives the token.
#[track_caller]
pub(crate) fn claim(room: &TestRoom, name: &str, more: &[&str]) -> String {
    let claimed = room.by(name, ["claim", "--json"].into_iter().chain(more.iter().copied())).json();
    claimed["claim"]["token"].as_str().unwrap_or_else(|| panic!("{claimed}")).to_owned()
}

/// Reads the next message of a mailbox.
#[track_caller]
pub(crate) fn read(room: &TestRoom, name: &str) -> Value {
    let read = room.by(name, ["read", "--json"]).json();
    assert_eq!(read["messages"].as_array().unwrap().len(), 1, "{name}: {read}");
    read["messages"][0].clone()
}

/// Insists that there is one message for somebody, that it can be read, and that it is then gone.
#[track_caller]
pub(crate) fn reads_once(room: &TestRoom, name: &str) -> Value {
    let checked = room.by(name, ["check"]).succeeds();
    assert_eq!((checked.out.lines().count(), checked.err.as_str()), (1, ""), "{checked:?}");
    assert_eq!(room.by(name, ["check", "--count"]).succeeds().out, "1\n");
    let message = read(room, name);
    room.by(name, ["check"]).exits(1);
    room.by(name, ["read"]).exits(1);
    message
}
