//! The scenes of P2 and P3: one message between two mailboxes of one protocol, or one registry, and the verbs that
//! change them.
//!
//! A [`Stage`] is where the message is before a verb runs. Every verb has the stages in which it has something to do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::lab::Lab;
use crate::ledger::body;
use crate::p_races_state::state;
use crate::place::{Place, ago, copy_tree, names_in, set_time};
use crate::process::Run;
use crate::w_scene::token_of;

const JOB: &str = "a5ced000-0000-4000-8000-000000000001";
const OTHER: &str = "b0051e00-0000-4000-8000-000000000003";

/// What is kept and put back, beside the room.
const KEPT: [&str; 4] = ["project", "left", "right", "found"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    Maildir,
    Workspace,
    Tree,
}

impl Protocol {
    pub(crate) const ALL: [Self; 3] = [Self::Maildir, Self::Workspace, Self::Tree];

    /// Who writes, and to which mailbox.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Maildir => ("alice", "bob"),
            Self::Workspace => ("left", "right"),
            Self::Tree => ("writer", "explore"),
        }
    }
}

/// Where the message is at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Unsent,
    Unread,
    Held,
    /// Held by a claim whose lease is over.
    Expired,
    Failed,
    Archived,
    /// No message: the registry is what is changed.
    Registry,
}

use Stage::{Archived, Expired, Failed, Held, Registry, Unread, Unsent};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Send,
    Read,
    Reply,
    Archive,
    Unarchive,
    Claim,
    Renew,
    Release,
    Done,
    Fail,
    Retry,
    DoctorFix,
    // What follows changes the registry.
    Setup,
    Alias,
    Adopt,
    GroupAdd,
    Takeover,
    Rename,
    Prune,
    /// To the mailbox that `prune` removes; with no id of its own, so that it looks for no earlier delivery.
    SendToPruned,
}

impl Verb {
    pub(crate) const ON_MESSAGES: [Self; 12] = [
        Self::Send,
        Self::Read,
        Self::Reply,
        Self::Archive,
        Self::Unarchive,
        Self::Claim,
        Self::Renew,
        Self::Release,
        Self::Done,
        Self::Fail,
        Self::Retry,
        Self::DoctorFix,
    ];

    pub(crate) const ON_REGISTRY: [Self; 9] = [
        Self::Setup,
        Self::Alias,
        Self::Adopt,
        Self::GroupAdd,
        Self::Takeover,
        Self::Rename,
        Self::Prune,
        Self::SendToPruned,
        Self::DoctorFix,
    ];

    /// The stages in which it has something to do.
    pub(crate) fn stages(self) -> &'static [Stage] {
        match self {
            Self::Send => &[Unsent, Unread, Held, Expired, Failed, Archived],
            Self::Read | Self::Claim => &[Unread, Expired, Unsent],
            Self::Reply | Self::Archive => &[Unread, Expired],
            Self::Unarchive => &[Archived],
            Self::Renew | Self::Release | Self::Done | Self::Fail => &[Held, Expired],
            Self::Retry => &[Failed],
            Self::DoctorFix => &[Unread, Held, Expired, Failed],
            _ => &[Registry],
        }
    }
}

/// A room and what belongs to it at one stage, kept beside itself.
pub(crate) struct Scene {
    pub(crate) place: Place,
    protocol: Protocol,
    token: String,
}

impl Scene {
    /// `sick`: with faults that `doctor --fix` puts right.
    pub(crate) fn prepare(lab: &Lab, base: &Path, protocol: Protocol, stage: Stage, sick: bool) -> Self {
        let place = Place::with(lab, base, &["alice", "bob", "carol"]);
        for name in KEPT {
            fs::create_dir_all(base.join(name)).expect("a directory for the test");
        }
        match protocol {
            Protocol::Maildir => {}
            Protocol::Workspace => {
                for side in ["left", "right"] {
                    place.ok(&["setup", "--workspace", side, side]);
                }
            }
            Protocol::Tree => drop(place.ok(&["setup", "--tree", "project", "explore", "writer"])),
        }
        let mut scene = Self { place, protocol, token: "0000000000000000".to_owned() };
        scene.arrange(stage);
        if sick {
            scene.hurt();
        }
        scene.place.save();
        for name in KEPT {
            copy_tree(&base.join(name), &base.join("kept").join(name));
        }
        scene
    }

    fn arrange(&mut self, stage: Stage) {
        let (from, to) = self.protocol.names();
        let place = &self.place;
        place.ok(&["--as", from, "send", "carol", "-s", "other", "--id", OTHER, "-m", &body("bystander")]);
        place.ok(&["group", "add", "crew", "alice"]);
        if stage == Registry {
            fs::create_dir_all(place.base.join("found/.mailbox/inbox")).expect("a workspace");
            return;
        }
        if stage == Unsent {
            return;
        }
        place.ok(&["--as", from, "send", to, "-s", "job", "--id", JOB, "-m", &body("job")]);
        self.age();
        match stage {
            Held | Expired | Failed => {
                let told = place.ok(&["--as", to, "claim", "--lease", "1h", "--json"]);
                self.token = token_of(&told).expect("a token");
            }
            Archived => drop(place.ok(&["--as", to, "archive", &JOB[..8]])),
            _ => {}
        }
        match stage {
            Failed => drop(place.ok(&["--as", to, "fail", &self.token, "--reason", "no"])),
            Expired => self.end_leases(0),
            _ => {}
        }
    }

    /// What is younger than five seconds may be growing still, and is treated with more patience.
    fn age(&self) {
        for path in files_below(&self.place.base).into_iter().filter(|path| {
            path.parent().is_some_and(|dir| dir.ends_with("inbox") || dir.ends_with("inboxes/explore"))
        }) {
            set_time(&path, ago(3600));
        }
    }

    /// Sets the end of every lease: 0 is long ago.
    pub(crate) fn end_leases(&self, until_ms: u64) {
        for path in files_below(&self.place.base).into_iter().filter(|path| path.ends_with("claim.json")) {
            let mut terms: Value =
                serde_json::from_slice(&fs::read(&path).expect("a claim")).expect("terms of a claim");
            terms["until_ms"] = until_ms.into();
            fs::write(&path, terms.to_string()).expect("the terms of a claim");
        }
    }

    /// A name that the registry lost, old litter, and a mode that is too wide.
    fn hurt(&self) {
        let place = &self.place;
        let registry = place.root.join("registry.json");
        let text = fs::read_to_string(&registry).expect("a registry");
        let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"alice\":")).collect();
        fs::write(&registry, without.join("\n") + "\n").expect("a registry without a name");
        let litter = place.folder("carol", "tmp").join("litter.md");
        fs::write(&litter, "part of a mess").expect("litter");
        set_time(&litter, ago(40 * 3600));
        let wide = PermissionsExt::from_mode(0o755);
        fs::set_permissions(place.folder("carol", "archive"), wide).expect("a wide mode");
    }

    pub(crate) fn restore(&self) {
        self.place.restore();
        for name in KEPT {
            let _ = fs::remove_dir_all(self.place.base.join(name));
            copy_tree(&self.place.base.join("kept").join(name), &self.place.base.join(name));
        }
    }

    /// A verb, run by the session of this name.
    pub(crate) fn command(&self, verb: Verb, session: &str) -> Run {
        let (from, to) = self.protocol.names();
        let (job, answer, new) = (body("job"), body("answer"), body("new"));
        let (id, token) = (&JOB[..8], self.token.as_str());
        let words: &[&str] = match verb {
            Verb::Send => &["--as", from, "send", to, "-s", "job", "--id", JOB, "-m", &job],
            Verb::Read => &["--as", to, "read"],
            Verb::Reply => &["--as", to, "reply", id, "-m", &answer],
            Verb::Archive => &["--as", to, "archive", id],
            Verb::Unarchive => &["--as", to, "unarchive", id],
            Verb::Claim => &["--as", to, "claim", "--lease", "1h"],
            Verb::Renew => &["--as", to, "claim", "--renew", token, "--lease", "2h"],
            Verb::Release => &["--as", to, "release", token],
            Verb::Done => &["--as", to, "done", token, "-m", &answer],
            Verb::Fail => &["--as", to, "fail", token, "--reason", "struck"],
            Verb::Retry => &["--as", to, "failed", "retry", id],
            Verb::DoctorFix => &["doctor", "--fix"],
            Verb::Setup => &["setup", "dave"],
            Verb::Alias => &["--as", "bob", "setup", "bob", "--alias", "robert"],
            Verb::Adopt => &["adopt", "found"],
            Verb::GroupAdd => &["group", "add", "crew", "bob"],
            Verb::Takeover => &["takeover", to, "--force"],
            Verb::Rename => &["rename", to, "renamed"],
            Verb::Prune => &["prune", to, "--yes"],
            Verb::SendToPruned => &["--as", "carol", "send", to, "-s", "news", "-m", &new],
        };
        let run = self.place.command(words);
        match verb {
            Verb::Setup | Verb::Takeover | Verb::Alias => {
                run.env("CLAUDE_CODE_SESSION_ID", format!("session-{session}"))
            }
            _ => run,
        }
    }

    pub(crate) fn state(&self) -> Vec<String> {
        let below: Vec<&str> = ["room"].into_iter().chain(KEPT).collect();
        state(&self.place.base, &below)
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let paths = names_in(directory).into_iter().map(|name| directory.join(name));
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
