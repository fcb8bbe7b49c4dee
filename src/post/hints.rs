//! Hints: the next command to type after each error. An agent gives up at the first confusing error; a command that
//! works when pasted keeps it going.

use super::Error;
use crate::mailbox::fault;
use crate::room;

impl Error {
    /// The next commands to type, most useful first.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownName { nearest, all, .. } => names_hint(nearest, all),
            Self::NobodyAnywhere { .. } => vec!["postroom names --all".into()],
            Self::WhoAmI => vec![
                "postroom setup NAME      makes your mailbox and binds it to this session or terminal".into(),
                "postroom --as NAME …     acts as a mailbox that exists (or export AGENT_MAILBOX_ID=NAME)"
                    .into(),
            ],
            Self::NotMe { name, nearest, .. } => {
                let mut hints = vec![format!("postroom setup {name}")];
                hints.extend(nearest.iter().map(|n| format!("did you mean `{n}`?")));
                hints
            }
            Self::NoMailbox { id, name } if id == name => {
                vec!["postroom setup NAME makes your mailbox, if it was yours".into()]
            }
            Self::NoMailbox { .. } | Self::Registry(_) => vec!["postroom doctor --fix".into()],
            Self::NoMessage { .. } => {
                vec!["postroom check shows what is unread; postroom log what happened".into()]
            }
            Self::NoPerson(_) => {
                vec![
                    "type it yourself, in a terminal that no agent has started (docs/why/security.md)".into(),
                ]
            }
            Self::SaidBefore { .. } => vec!["postroom workflow cancel RUN ends the run".into()],
            Self::NoSettings => vec!["set HOME to your home directory".into()],
            Self::AskOne => {
                vec![
                    "postroom send NAME… reaches several; postroom wait --reply-to ID waits for an answer"
                        .into(),
                ]
            }
            Self::BadPattern { .. } => vec!["leave --regex out to search for the words as they stand".into()],
            Self::HolderAlive { name } => vec![format!("postroom takeover {name} --force")],
            Self::TakenOver { name, .. } => vec![
                "postroom setup NAME      makes another mailbox for this session".into(),
                format!("postroom takeover {name} --force      takes it back"),
            ],
            Self::TwoProjects { .. } => vec![
                "rename one of them, or give one project another room: room = \"NAME\" in its postroom.toml"
                    .into(),
            ],
            Self::OwnMailbox { .. } => vec!["another mailbox must prune it".into()],
            Self::NotOver { run, .. } => vec![format!("postroom workflow cancel {run} ends it")],
            Self::UnreadMail { .. } => vec!["--unread prunes it with its unread mail".into()],
            Self::NotInTrash { .. } => vec!["postroom undo lists what can be brought back".into()],
            Self::UndoTaken { name, bag } => vec![
                format!("postroom undo {bag} --name NEW      brings it back under another name"),
                format!("postroom prune {name}      frees the name"),
            ],
            Self::InboxTaken { other, .. } => {
                vec![format!("postroom prune {other}      frees them for their old name")]
            }
            Self::UnknownGroup { name, all } => vec![
                if all.is_empty() {
                    "there are no groups yet".into()
                } else {
                    format!("groups here: @{}", all.join(", @"))
                },
                format!("postroom group add {name} MEMBER…"),
            ],
            Self::GroupInItself { .. } => {
                vec!["name members that are not the group itself; `@all` is always there".into()]
            }
            Self::EmptyGroup { .. } | Self::NotAMember { .. } => {
                vec!["postroom group list shows who is in it".into()]
            }
            Self::NoClaim { .. } => {
                vec!["postroom claim takes the next message; postroom log shows what happened".into()]
            }
            Self::ForeignClaim { owner, .. } => vec![format!("postroom --as {owner} …, if that is you")],
            Self::NotUnread { reference, .. } => {
                vec![format!("postroom trace {reference} shows who has it; postroom check what is unread")]
            }
            Self::NoSender { .. } => {
                vec!["postroom names shows who is here; postroom archive ID files the message away".into()]
            }
            Self::ShortReference { .. } => vec!["postroom check shows the ids".into()],
            Self::BadName { what: "--id" | "--reply-to", .. } => {
                vec!["letters, digits, `.`, `-`, `_`, eight of them hex digits; postroom check --json shows full ids".into()]
            }
            Self::BadName { what: "the room" | "the id", .. } => {
                vec!["ASCII letters and digits, `.`, `-`, `_`, beginning with a letter or digit".into()]
            }
            Self::BadName { .. } => {
                vec!["letters and digits of any script, `.`, `-`, `_`; at most 64".into()]
            }
            Self::BadValue { .. } => vec!["give it as one plain line of at most 1000 bytes".into()],
            Self::BodyNotUtf8 { .. } => {
                vec!["mail is text: --attach FILE sends other data along".into()]
            }
            Self::Unreadable { .. } => {
                vec!["postroom doctor shows what cannot be read, and --fix puts it aside".into()]
            }
            Self::AmbiguousName { .. } => vec!["write the name exactly as postroom names shows it".into()],
            Self::Room(room::Error::NotEmpty { .. } | room::Error::BadPath { .. }) => {
                vec!["name a new or empty directory: --root DIR".into()]
            }
            Self::Disk(e) | Self::Room(room::Error::Disk(e)) => disk_hints(e),
            Self::Failing { .. } => vec!["try again".into()],
            Self::UnknownRoom { .. } => vec!["postroom rooms lists them".into()],
            Self::NoWayBack { .. } => vec!["use a room that has a name: --room NAME".into()],
            Self::Unproven { .. } => vec!["still claimed; the same command again finishes it".into()],
            Self::AmbiguousMessage { .. } => vec!["give more digits of the id".into()],
            Self::EmptyBody => vec!["-m TEXT, --file FILE, or the text on standard input".into()],
            Self::BodyTooLarge { .. } => vec!["put it into a file: --attach FILE sends it along".into()],
            Self::FileTooLarge { .. } => vec!["send its path instead".into()],
            Self::TooManyFiles { .. } => vec!["put them into one archive".into()],
            Self::NoHome { .. } => vec!["leave --attach out, and send the path of the file".into()],
            Self::Secret { .. } => vec!["--allow-secrets sends it anyway".into()],
            Self::Full { name, .. } => {
                vec![format!("`{name}` must read or archive mail first; nothing was sent")]
            }
            Self::Taken { name, suggestions } => {
                let mut hints: Vec<String> =
                    suggestions.iter().map(|s| format!("postroom setup {s}")).collect();
                hints.push(format!("if `{name}` is yours: postroom --as {name} …"));
                hints
            }
            Self::AlreadyNamed { name, wanted } => {
                vec![format!("postroom --as {name} setup --alias {wanted}")]
            }
            Self::IdTaken { .. } => vec!["leave --id out, or give another".into()],
            Self::Answered { .. } => {
                vec!["postroom done TOKEN accepts that response; postroom send NAME adds to it".into()]
            }
            Self::Room(room::Error::NoRoom { .. }) => {
                vec!["postroom setup NAME      makes the room and your mailbox in it".into()]
            }
            Self::Room(room::Error::Newer { .. }) => vec!["use the newer postroom that wrote it".into()],
            _ => vec![],
        }
    }

    /// Whether the system forbade a write, as a sandbox does.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Disk(e) | Self::Room(room::Error::Disk(e)) if e.is_forbidden())
    }
}

fn disk_hints(e: &fault::Error) -> Vec<String> {
    match e {
        fault::Error::OtherOwner { .. } => {
            vec!["a room belongs to one user: --root DIR names another".into()]
        }
        fault::Error::NotADirectory { .. } => vec!["--root DIR names the directory of a room".into()],
        fault::Error::LooseParent { path } => vec![format!("chmod go-w {}", path.display())],
        fault::Error::OtherParent { path, .. } => vec![
            format!("sudo chown {} {}", rustix::process::geteuid().as_raw(), path.display()),
            "--root DIR names a room below a directory of your own".into(),
        ],
        fault::Error::Link { path } => {
            vec![format!("links are not followed; name the real place of {}", path.display())]
        }
        _ => vec![],
    }
}

fn names_hint(nearest: &[String], all: &[String]) -> Vec<String> {
    let mut hints = vec![];
    if !nearest.is_empty() {
        hints.push(format!("nearest: {}", nearest.join(", ")));
    }
    match all.len() {
        0 => hints.push("nobody has a mailbox here yet: postroom setup NAME".into()),
        1..=20 => hints.push(format!("names here: {}", all.join(", "))),
        n => hints.push(format!("{n} names here: postroom names")),
    }
    hints
}
