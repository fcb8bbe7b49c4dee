//! The deeds of W3, and the scene before each: a room, a tree and two workspaces, kept beside themselves.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::lab::Lab;
use crate::ledger::{body, key_of};
use crate::place::{Place, copy_tree, names_in};
use crate::process::{Ended, Run};
use crate::w_tree::{claude, with_tree};

const JOB: &str = "a5ced000-0000-4000-8000-000000000001";
const NEW: &str = "c405e000-0000-4000-8000-000000000002";

/// What is struck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    Send,
    Claim,
    Done,
    DoneWithAnswer,
    Reply,
    ReplyInTree,
    /// With a file, which goes by way of the home of the agent that answers.
    ReplyWithFile,
    Fail,
    Release,
    Read,
    Archive,
    Append,
    CleanUp,
    WorkspaceSend,
    WorkspaceReply,
}

impl Deed {
    pub(crate) const ALL: [Self; 15] = [
        Self::Send,
        Self::Claim,
        Self::Done,
        Self::DoneWithAnswer,
        Self::Reply,
        Self::ReplyInTree,
        Self::ReplyWithFile,
        Self::Fail,
        Self::Release,
        Self::Read,
        Self::Archive,
        Self::Append,
        Self::CleanUp,
        Self::WorkspaceSend,
        Self::WorkspaceReply,
    ];

    pub(crate) fn is_held(self) -> bool {
        matches!(self, Self::Done | Self::DoneWithAnswer | Self::Fail | Self::Release)
    }
}

/// A room, a tree and two workspaces in the state before a deed, kept beside themselves.
pub(crate) struct Scene {
    pub(crate) place: Place,
    words: Vec<String>,
}

const KEPT: [&str; 3] = ["project", "left", "right"];

impl Scene {
    pub(crate) fn prepare(lab: &Lab, base: &Path, deed: Deed) -> Self {
        let place = with_tree(lab, base, &["alice"]);
        for side in ["left", "right"] {
            fs::create_dir_all(base.join(side)).expect("a workspace");
            place.ok(&["setup", "--workspace", side, side]);
        }
        let (job, other, answer) = (body("job"), body("bystander"), body("answer"));
        let asker = if deed == Deed::ReplyInTree { "writer" } else { "alice" };
        place.ok(&["--as", "alice", "send", "tester", "-s", "other", "-m", &other]);
        place.ok(&["--as", asker, "send", "explore", "-s", "job", "--id", JOB, "-m", &job]);
        place.ok(&["--as", "left", "send", "right", "-s", "job", "--id", JOB, "-m", &job]);
        let id = names_in(&claude(&place, "inboxes/explore")).pop().unwrap_or_default();
        let id = id.trim_end_matches(".md").to_owned();
        let mut token = String::new();
        if deed.is_held() {
            let told = place.ok(&["--as", "explore", "claim", "--lease", "1h", "--json"]);
            token = token_of(&told).expect("a token");
        }
        if deed == Deed::CleanUp {
            place.ok(&["--as", "explore", "reply", &id, "-m", &answer]);
        }
        let new = body("new");
        fs::write(base.join("project/letter.txt"), &new).expect("a letter");
        let words: &[&str] = match deed {
            Deed::Send => &["--as", "alice", "send", "explore", "-s", "news", "--id", NEW, "-m", &new],
            // Short, so that the end of the lease can be seen; longer than the command takes.
            Deed::Claim => &["--as", "explore", "claim", "--lease", "0.4", "--json"],
            Deed::Done => &["--as", "explore", "done", &token],
            Deed::DoneWithAnswer => &["--as", "explore", "done", &token, "-m", &answer],
            Deed::Reply | Deed::ReplyInTree => &["--as", "explore", "reply", &id, "-m", &answer],
            Deed::ReplyWithFile => {
                &["--as", "explore", "reply", &id, "-m", &answer, "--attach", "project/letter.txt"]
            }
            Deed::Fail => &["--as", "explore", "fail", &token, "--reason", "struck"],
            Deed::Release => &["--as", "explore", "release", &token],
            Deed::Read => &["--as", "explore", "read"],
            Deed::Archive => &["--as", "explore", "archive", &id],
            Deed::Append => &[
                "tree",
                "shared",
                "--tree",
                "project",
                "append",
                "session-context",
                "Open Questions",
                "why?",
            ],
            Deed::CleanUp => &["tree", "cleanup", "--tree", "project"],
            Deed::WorkspaceSend => &["--as", "left", "send", "right", "-s", "news", "--id", NEW, "-m", &new],
            Deed::WorkspaceReply => &["--as", "right", "reply", &JOB[..8], "-m", &answer],
        };
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        place.save();
        for name in KEPT {
            copy_tree(&base.join(name), &base.join("kept").join(name));
        }
        Self { place, words }
    }

    pub(crate) fn restore(&self) {
        self.place.restore();
        for name in KEPT {
            let _ = fs::remove_dir_all(self.place.base.join(name));
            copy_tree(&self.place.base.join("kept").join(name), &self.place.base.join(name));
        }
    }

    pub(crate) fn run(&self) -> Run {
        self.place.command(&self.words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The messages of a workspace's inbox that have this type and body.
    pub(crate) fn in_workspace(
        &self,
        side: &str,
        kind: &str,
        key: &str,
        problems: &mut Vec<String>,
    ) -> usize {
        let dir = self.place.base.join(side).join(".mailbox/inbox");
        let mut count = 0;
        for name in names_in(&dir).into_iter().filter(|name| !name.starts_with('.')) {
            let text = fs::read_to_string(dir.join(&name)).unwrap_or_default();
            match text.split_once("\n---\n\n").map(|(head, body)| (head, key_of(body))) {
                Some((head, Ok(found))) => {
                    count += usize::from(found == key && head.contains(&format!("MESSAGE_TYPE: {kind}")));
                }
                _ => problems.push(format!("partial: {side}/{name} ({} bytes)", text.len())),
            }
        }
        count
    }
}

pub(crate) fn token_of(ended: &Ended) -> Option<String> {
    let told: Value = serde_json::from_slice(&ended.out).ok()?;
    told["claim"]["token"].as_str().map(str::to_owned)
}
