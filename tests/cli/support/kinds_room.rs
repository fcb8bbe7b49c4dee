//! Mailboxes of the other two protocols in a throw-away room: workspaces and the agents of a `.claude` tree, as
//! directories that a test can look into, and the messages that a hand writes for them.

use std::path::{Path, PathBuf};

use crate::support::hand::age;
use crate::support::room::TestRoom;

/// A request id, as a hand makes one up.
pub(crate) const REQUEST: &str = "0123456789abcdef0123456789abcdef";

/// A directory that holds messages, wherever it lies.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// The names in it, sorted; what begins with a dot is no message.
    pub(crate) fn files(&self) -> Vec<String> {
        let Ok(list) = std::fs::read_dir(&self.0) else { return vec![] };
        let names = list.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    /// The name of the only file.
    #[track_caller]
    pub(crate) fn only(&self) -> String {
        let files = self.files();
        assert_eq!(files.len(), 1, "{}: {files:?}", self.0.display());
        files[0].clone()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// The value of a field of the only file.
    #[track_caller]
    pub(crate) fn field(&self, key: &str) -> String {
        let text = self.text(&self.only());
        let start = format!("{key}: ");
        text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{text}")).to_owned()
    }

    /// Writes a file by hand, so long ago that it is whole; files that come later have later times.
    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::create_dir_all(&self.0).unwrap();
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        age(&path, 600 - u64::try_from(self.files().len()).unwrap());
        path
    }
}

/// A room with two workspaces, carol and dave, called like their directories.
pub(crate) fn two_workspaces() -> TestRoom {
    let room = TestRoom::empty();
    room.workspace("carol");
    room.workspace("dave");
    room
}

impl TestRoom {
    /// Makes a directory and sets up the mailbox of its workspace under the same name.
    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        let dir = self.around().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        self.run(["setup", "-q", "--workspace", name]).succeeds();
        dir
    }

    /// A folder of the workspace of this name.
    pub(crate) fn of_workspace(&self, name: &str, folder: &str) -> Folder {
        Folder(self.around().join(name).join(".mailbox").join(folder))
    }

    /// Lays out the tree of a project with these agents, and gives its `.claude`.
    pub(crate) fn agents(&self, names: &[&str]) -> PathBuf {
        let dir = self.around().join("project");
        std::fs::create_dir_all(&dir).unwrap();
        let run = self.run(["setup", "-q", "--tree", "project"].into_iter().chain(names.iter().copied()));
        run.succeeds();
        dir.join(".claude")
    }

    /// The inbox or outbox of an agent of the project.
    pub(crate) fn of_agent(&self, tray: &str, name: &str) -> Folder {
        Folder(self.around().join("project/.claude").join(tray).join(name))
    }

    /// The headers that `check` shows.
    #[track_caller]
    pub(crate) fn headers(&self, name: &str) -> Vec<serde_json::Value> {
        self.by(name, ["check", "--json"]).json()["messages"].as_array().unwrap().clone()
    }

    /// The only header that `check` shows.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> serde_json::Value {
        let headers = self.headers(name);
        assert_eq!(headers.len(), 1, "{headers:?}");
        headers[0].clone()
    }
}

/// A message of the workspace protocol as a hand writes it.
pub(crate) fn request(kind: &str, id: &str, receiver: &Path, reply: &Path, body: &str) -> String {
    format!(
        "---\nREQUEST_ID: {id}\nMESSAGE_TYPE: {kind}\nRECEIVER_INBOX_PATH: {}\nREPLY_INBOX_PATH: {}\n---\n\n{body}",
        receiver.display(),
        reply.display()
    )
}

/// A task as a hand writes it.
pub(crate) fn task(id: &str, from: &str, to: &str, body: &str) -> String {
    format!(
        "---\nid: {id}\nfrom: {from}\nto: {to}\nstatus: pending\ncreated: 2026-01-01T12:00:00Z\n---\n\n## Request\n\n{body}"
    )
}
