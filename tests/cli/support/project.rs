//! A project with a `.claude` tree beside a room: what tests of the tree protocol arrange and look at.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::mask::mask;
use crate::support::room::{Run, TestRoom};
use crate::support::until::until;

/// A room, and a project whose agents have names in it.
pub(crate) struct Project {
    pub(crate) room: TestRoom,
    pub(crate) dir: PathBuf,
}

impl Project {
    /// A room with these mailboxes and a tree with these agents.
    pub(crate) fn with(names: &[&str], agents: &[&str]) -> Self {
        let room = TestRoom::with(names);
        let dir = room.around().canonicalize().unwrap().join("project");
        std::fs::create_dir(&dir).unwrap();
        let project = Self { room, dir };
        if !agents.is_empty() {
            project.setup(agents.iter().copied()).succeeds();
        }
        project
    }

    /// The test leaves something that the doctor rightly complains of.
    pub(crate) fn leaves_faults(self) -> Self {
        Self { room: self.room.leaves_faults(), ..self }
    }

    pub(crate) fn setup<'a>(&'a self, agents: impl IntoIterator<Item = &'a str>) -> Run {
        self.room.run(["setup", "--tree", self.dir.to_str().unwrap()].into_iter().chain(agents))
    }

    /// A command as one of the mailboxes or agents.
    pub(crate) fn by<'a>(&self, name: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        self.room.by(name, arguments)
    }

    /// A command about the tree.
    pub(crate) fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Run {
        self.room.run(arguments).within(&self.dir)
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.join(".claude").join(below)
    }

    pub(crate) fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap()
    }

    pub(crate) fn write(&self, below: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(below), text).unwrap();
    }

    /// The names in a directory of the tree, sorted.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        names_in(&self.path(below))
    }

    /// The text with ids of requests, times and places replaced.
    pub(crate) fn mask(&self, text: &str) -> String {
        let days = regex::Regex::new(r"\d{4}-\d\d-\d\d-(\d{3,})").unwrap();
        let text = text.replace(self.dir.to_str().unwrap(), "<project>");
        mask(&days.replace_all(&text, "<day>-$1"), &self.room.root())
    }

    /// Puts a pending request into an inbox by hand. Fields that are given stand in the place of the usual ones.
    pub(crate) fn put(&self, agent: &str, id: &str, fields: &str) -> String {
        let usual = |key: &str, line: &str| {
            let given = fields.lines().any(|l| l.starts_with(&format!("{key}:")));
            if given { String::new() } else { format!("{line}\n") }
        };
        let head = [
            usual("from", "from: user"),
            usual("status", "status: pending"),
            usual("created", "created: 2025-03-04T10:00:00Z"),
        ]
        .concat();
        let text = format!("---\nid: {id}\nto: {agent}\n{head}{fields}---\n\n## Request\n\nDo {id}.\n");
        self.write(&format!("inboxes/{agent}/{id}.md"), &text);
        text
    }

    /// Writes a response into an outbox by hand.
    pub(crate) fn respond(&self, agent: &str, id: &str, to: &str, status: &str, body: &str) {
        let text = format!(
            "---\nid: {id}-response\nrequest_id: {id}\nfrom: {agent}\nto: {to}\nstatus: {status}\ncreated: 2025-03-04T10:05:00Z\n---\n\n{body}"
        );
        self.write(&format!("outboxes/{agent}/{id}-response.md"), text);
    }

    /// Changes the status of a request as somebody with an editor does.
    pub(crate) fn set_by_hand(&self, agent: &str, id: &str, status: &str) {
        let below = format!("inboxes/{agent}/{id}.md");
        let text = self.text(&below);
        let old = text.lines().find(|line| line.starts_with("status:")).unwrap();
        self.write(&below, text.replacen(old, &format!("status: {status}"), 1));
    }

    /// The word after `status:` in the file of a request.
    #[track_caller]
    pub(crate) fn status(&self, agent: &str, id: &str) -> String {
        let text = self.text(&format!("inboxes/{agent}/{id}.md"));
        let line = text.lines().find_map(|line| line.strip_prefix("status:"));
        line.unwrap_or_else(|| panic!("no status in {text}")).trim().to_owned()
    }

    /// The ids of the requests of an agent, sorted.
    pub(crate) fn ids(&self, agent: &str) -> Vec<String> {
        let names = self.names(&format!("inboxes/{agent}"));
        names.iter().filter_map(|name| name.strip_suffix(".md")).map(str::to_owned).collect()
    }

    /// Sends a request and gives the id it was filed under.
    #[track_caller]
    pub(crate) fn ask(&self, from: &str, agent: &str, text: &str) -> String {
        let before = self.ids(agent);
        self.by(from, ["send", agent, "-m", text]).succeeds();
        self.ids(agent).into_iter().find(|id| !before.contains(id)).expect("one more request")
    }

    /// Claims as an agent and gives the token.
    #[track_caller]
    pub(crate) fn claim(&self, agent: &str, arguments: &[&str]) -> String {
        let ran = self.by(agent, ["claim", "--json"].into_iter().chain(arguments.iter().copied())).succeeds();
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        told["claim"]["token"].as_str().unwrap_or_else(|| panic!("no token in {told}")).to_owned()
    }

    /// The tokens of the claims on messages of an agent.
    pub(crate) fn tokens(&self, agent: &str) -> Vec<String> {
        self.names(&format!(".postroom/claims/{agent}/claimed"))
    }

    /// Lets the lease of a claim be over now.
    pub(crate) fn end_lease(&self, agent: &str, token: &str) {
        let below = format!(".postroom/claims/{agent}/claimed/{token}/claim.json");
        let mut terms: Value = serde_json::from_str(&self.text(&below)).unwrap();
        terms["until_ms"] = 0.into();
        self.write(&below, terms.to_string());
    }

    /// Looks at a mailbox until a request has this status.
    pub(crate) fn until_status(&self, agent: &str, id: &str, status: &str) {
        until(&format!("{id} {status}"), || {
            self.by(agent, ["check"]).ends();
            self.status(agent, id) == status
        });
    }
}

pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let list = std::fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<_> = list.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
