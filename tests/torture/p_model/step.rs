//! One step of a history: who does what with which message.
//!
//! A message is known by its *key*, which is in its body, because ids are drawn anew in every run. What a step needs of
//! a message is written as a shell would ask for it (`$(id_of m0 bob)`, `$(field REPLY_INBOX_PATH m0 dave)`,
//! `$t_m0_bob_1` for a token), so one text is run here and printed in the script of a finding.

use crate::p_model::by_hand::{answer_by_hand, by_hand};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Maildir,
    Workspace,
    Tree,
}

pub(crate) type Who = &'static str;
pub(crate) type Key = String;

/// Two mailboxes of each protocol.
pub(crate) const EVERYONE: [Who; 6] = ["alice", "bob", "carol", "dave", "explore", "writer"];
/// The members of the group `@team`.
pub(crate) const TEAM: [Who; 3] = ["bob", "dave", "explore"];

pub(crate) fn protocol(who: Who) -> Protocol {
    match who {
        "alice" | "bob" => Protocol::Maildir,
        "carol" | "dave" => Protocol::Workspace,
        _ => Protocol::Tree,
    }
}

/// The directory of a workspace, beside the room.
pub(crate) fn workspace_of(who: Who) -> &'static str {
    if who == "carol" { "web" } else { "api" }
}

/// A verb that wants the token of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    Done,
    Release,
    Fail,
    Renew,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `to` may be `@all` or `@team`. `chosen`: with an id of the sender's own.
    Send {
        from: Who,
        to: Who,
        key: Key,
        chosen: bool,
        subject: &'static str,
        priority: &'static str,
    },
    /// A question that nobody answers in time.
    Ask {
        from: Who,
        to: Who,
        key: Key,
    },
    /// A `send` with an id once more; with other words, if it is to clash.
    Again {
        send: Box<Step>,
        clash: bool,
    },
    /// A file by hand; `home`: into the inbox in the room, which is all that a sender of the native protocol knows.
    Hand {
        from: Who,
        to: Who,
        key: Key,
        home: bool,
    },
    /// An answer by hand, as the protocol of `who` has it.
    HandAnswer {
        who: Who,
        key: Key,
        answer: Key,
    },
    Check {
        who: Who,
    },
    Read {
        who: Who,
        key: Key,
        bare: bool,
    },
    Archive {
        who: Who,
        key: Key,
    },
    Unarchive {
        who: Who,
        key: Key,
    },
    Reply {
        who: Who,
        key: Key,
        answer: Key,
    },
    Handback {
        who: Who,
        key: Key,
        answer: Key,
    },
    Claim {
        who: Who,
        key: Key,
        bare: bool,
    },
    Renew {
        who: Who,
        key: Key,
    },
    Release {
        who: Who,
        key: Key,
    },
    Done {
        who: Who,
        key: Key,
        answer: Option<Key>,
    },
    Fail {
        who: Who,
        key: Key,
        reason: Key,
    },
    Retry {
        who: Who,
        key: Key,
    },
    /// With the token of an earlier claim.
    Stale {
        who: Who,
        key: Key,
        verb: Late,
    },
    Doctor,
    CleanUp,
    /// Another mailbox.
    Setup {
        name: String,
    },
    Adopt,
    Takeover {
        who: Who,
    },
}

impl Step {
    /// Whether it is done by files alone.
    pub(crate) fn by_hand(&self) -> bool {
        matches!(self, Self::Hand { .. } | Self::HandAnswer { .. })
    }

    /// The words of its command; `token` names the variable of the token it needs.
    pub(crate) fn words(&self, token: &str) -> Vec<String> {
        let id = |key: &str, who: &str| format!("$(id_of {key} {who})");
        let body = |key: &str| format!("$(body {key})");
        let text: Vec<String> = match self {
            Self::Send { from, to, key, chosen, subject, priority } => {
                let mut words = send(from, to, key, subject, *chosen);
                words.extend(["--priority", priority].map(str::to_owned));
                words
            }
            Self::Ask { from, to, key } => {
                let mut words = send(from, to, key, "question", true);
                words[2] = "ask".to_owned();
                words.extend(["--timeout", "0.02"].map(str::to_owned));
                words
            }
            Self::Again { send, clash } => {
                let mut words = send.words("");
                for word in words.iter_mut().filter(|word| *clash && word.starts_with("$(body")) {
                    *word = body("other");
                }
                words
            }
            Self::Check { who } => ours(who, &["check", "--count"]),
            Self::Read { who, bare: true, .. } => ours(who, &["read"]),
            Self::Read { who, key, .. } => ours(who, &["read", &id(key, who)]),
            Self::Archive { who, key } => ours(who, &["archive", &id(key, who)]),
            Self::Unarchive { who, key } => ours(who, &["unarchive", &id(key, who)]),
            Self::Reply { who, key, answer } => ours(who, &["reply", &id(key, who), "-m", &body(answer)]),
            Self::Handback { who, answer, .. } => ours(who, &["handback", "-m", &body(answer)]),
            Self::Claim { who, bare: true, .. } => ours(who, &["claim", "--lease", "1h", "--json"]),
            Self::Claim { who, key, .. } => ours(who, &["claim", &id(key, who), "--lease", "1h", "--json"]),
            Self::Renew { who, .. } => ours(who, &["claim", "--renew", token, "--lease", "2h"]),
            Self::Release { who, .. } => ours(who, &["release", token]),
            Self::Done { who, answer: None, .. } => ours(who, &["done", token]),
            Self::Done { who, answer: Some(answer), .. } => ours(who, &["done", token, "-m", &body(answer)]),
            Self::Fail { who, reason, .. } => ours(who, &["fail", token, "--reason", &because(reason)]),
            Self::Retry { who, key } => ours(who, &["failed", "retry", &id(key, who)]),
            Self::Stale { who, verb, .. } => match verb {
                Late::Done => ours(who, &["done", token]),
                Late::Release => ours(who, &["release", token]),
                Late::Fail => ours(who, &["fail", token, "--reason", "late"]),
                Late::Renew => ours(who, &["claim", "--renew", token, "--lease", "2h"]),
            },
            Self::Doctor => ["doctor", "--fix"].map(str::to_owned).into(),
            Self::CleanUp => ["tree", "cleanup", "--tree", "site"].map(str::to_owned).into(),
            Self::Setup { name } => ["setup", name].map(str::to_owned).into(),
            Self::Adopt => ["adopt", "web"].map(str::to_owned).into(),
            Self::Takeover { who } => ["takeover", who, "--force"].map(str::to_owned).into(),
            Self::Hand { .. } | Self::HandAnswer { .. } => vec![],
        };
        text
    }

    /// The files that a step by hand makes, in order: where, and what is in it.
    pub(crate) fn file(&self) -> Option<(String, String)> {
        match self {
            Self::Hand { from, to, key, home } => Some(by_hand(from, to, key, *home)),
            Self::HandAnswer { who, key, answer } => Some(answer_by_hand(who, key, answer)),
            _ => None,
        }
    }

    /// What a step by hand moves away afterwards, and where to.
    pub(crate) fn moves(&self) -> Option<(String, String)> {
        let Self::HandAnswer { who, key, .. } = self else { return None };
        let archive = match protocol(who) {
            Protocol::Maildir => format!("$base/room/$(mailbox {who})/archive/"),
            Protocol::Workspace => format!("$base/{}/.mailbox/archive/", workspace_of(who)),
            Protocol::Tree => return None,
        };
        Some((format!("$(path {key} {who})"), archive))
    }
}

fn ours(who: &str, words: &[&str]) -> Vec<String> {
    ["--as", who].into_iter().chain(words.iter().copied()).map(str::to_owned).collect()
}

fn send(from: &str, to: &str, key: &str, subject: &str, chosen: bool) -> Vec<String> {
    let id = chosen_id(key);
    let mut words = ours(from, &["send", to, "-s", subject]);
    if chosen {
        words.extend(["--id".to_owned(), id]);
    }
    words.extend(["-m".to_owned(), format!("$(body {key})")]);
    words
}

/// The id that a sender chooses for a key such as `m7`.
pub(crate) fn chosen_id(key: &str) -> String {
    let number: u32 = key[1..].parse().expect("a key is a letter and a number");
    format!("c405e{number:03x}-0000-4000-8000-0000000000{number:02x}")
}

/// The text by which a notice of failure is known.
pub(crate) fn because(reason: &str) -> String {
    format!("because-{reason}-end")
}
