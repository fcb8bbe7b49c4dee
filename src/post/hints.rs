//! Hints: what to do after each error. An agent gives up at the first confusing error; a command that works when pasted
//! keeps it going.

use super::error::Typist;
use super::setup::PLACEHOLDER;
use super::{Error, USER};
use crate::hint::{Command, Hint, quoted};
use crate::mailbox::{Folder, fault};
use crate::room;

impl Error {
    /// What to do next, most useful first.
    pub fn hints(&self) -> Vec<Hint> {
        match self {
            Self::UnknownName { name, nearest, all, is_group } => unknown_name(name, nearest, all, *is_group),
            Self::NowhereKnown => vec![
                Hint::run(&["names", "--all"]).to("who is in which room").into(),
                "--as NAME looks for that name in every room".into(),
            ],
            Self::NobodyAnywhere { .. } => vec![Hint::run(&["names", "--all"]).into()],
            Self::WhoAmI { names, more, likely, typist } => {
                who_am_i(names, *more, likely.as_deref(), *typist)
            }
            Self::NotMe { name, nearest, names, .. } => {
                let near = nearest.iter().map(|near| Hint::again_as(near).to("if you are that").into());
                let words: &[&str] = match name.eq_ignore_ascii_case(USER) {
                    true => &["setup", "--child", USER],
                    false => &["setup", name],
                };
                let here = names
                    .iter()
                    .any(|here| !nearest.contains(here))
                    .then(|| format!("names here: {}", names.join(", ")).into());
                near.chain(here).chain([Hint::run(words).to("makes that mailbox").into()]).collect()
            }
            Self::NoMailbox { id, name } if id == name => {
                vec![Hint::run(&["setup"]).to("makes your mailbox, if it was yours").into()]
            }
            Self::NoMailbox { .. } | Self::Registry(_) => vec![Hint::run(&["doctor", "--fix"]).into()],
            Self::NoMessage { .. } => vec![check(), log()],
            Self::NoPerson(_) => {
                vec!["type it yourself, in a terminal that no agent has started".into()]
            }
            Self::SaidBefore { run, .. } => {
                vec![Hint::run(&["workflow", "cancel", run]).to("ends the run").into()]
            }
            Self::NoSettings => vec!["set HOME to your home directory".into()],
            Self::AskOne => {
                vec!["`send` reaches several names, and `wait --reply-to ID` waits for an answer".into()]
            }
            Self::BadPattern { .. } => vec!["leave --regex out to search for the words as they stand".into()],
            Self::HolderAlive { name } => vec![Hint::run(&["takeover", name, "--force"]).into()],
            Self::InSession { name, suggestions } => {
                let other = suggestions.first().map(|free| Hint::again_as(free).to("another mailbox").into());
                other.into_iter().chain([Hint::run(&["names", name]).to("where it is").into()]).collect()
            }
            Self::NoConversation { .. } => vec!["leave out --resume to begin one".into()],
            Self::TakenOver { name, .. } => vec![
                Hint::run(&["setup"]).to("makes another mailbox for this session").into(),
                Hint::run(&["takeover", name, "--force"]).to("takes it back").into(),
            ],
            Self::TwoProjects { .. } => vec![
                "rename one of them, or give one project another room: room = \"NAME\" in its postroom.toml"
                    .into(),
            ],
            Self::OwnMailbox { .. } => vec!["another mailbox must prune it".into()],
            Self::NotOver { run, .. } => vec![Hint::run(&["workflow", "cancel", run]).to("ends it").into()],
            Self::UnreadMail { .. } => {
                vec![Hint::again_with("--unread").to("prunes it with its unread mail").into()]
            }
            Self::NotInTrash { .. } => vec![Hint::run(&["undo"]).to("what can be brought back").into()],
            Self::UndoTaken { name, bag, suggestions } => {
                let renamed = |free: &String| {
                    Hint::run(&["undo", bag, "--name", free]).to("brings it back under another name").into()
                };
                let prune = Hint::run(&["prune", name]).to("frees the name").into();
                suggestions.first().map(renamed).into_iter().chain([prune]).collect()
            }
            Self::InboxTaken { other, .. } => {
                vec![Hint::run(&["prune", other]).to("frees them for their old name").into()]
            }
            Self::UnknownGroup { all, .. } => vec![
                if all.is_empty() {
                    "there are no groups yet".into()
                } else {
                    format!("groups here: @{}", all.join(", @")).into()
                },
                Hint::run(&["help", "group", "add"]).to("how to make one").into(),
            ],
            Self::GroupInItself { .. } => {
                vec!["name members that are not the group itself; `@all` is always there".into()]
            }
            Self::EmptyGroup { .. } | Self::NotAMember { .. } => {
                vec![Hint::run(&["group", "list"]).to("who is in it").into()]
            }
            Self::NoClaim { .. } => vec![Hint::run(&["claim"]).to("takes the next message").into(), log()],
            Self::ForeignClaim { owner, .. } => vec![Hint::again_as(owner).to("if that is you").into()],
            Self::ClaimedBy { owner, run: None, .. } => {
                vec![Hint::again_as(owner).to("if that is you").into()]
            }
            Self::ClaimedBy { run: Some(run), .. } => {
                vec![Hint::run(&["runs", run]).to("what it does").into()]
            }
            Self::LeaseEnded { reference, .. } | Self::NotClaimed { reference, folder: Folder::Inbox } => {
                vec![Hint::run(&["claim", reference]).to("takes it").into()]
            }
            Self::NotClaimed { reference, .. } => {
                vec![Hint::run(&["trace", reference]).to("what happened to it").into()]
            }
            Self::AmbiguousClaim { .. } => vec!["name it by its token".into()],
            Self::NotUnread { reference, .. } => {
                vec![Hint::run(&["trace", reference]).to("who has it").into(), check()]
            }
            Self::NoSender { .. } => vec![Hint::run(&["names"]).to("who is here").into()],
            Self::ShortReference { .. } => vec![Hint::run(&["check"]).to("shows the ids").into()],
            Self::BadName { what: "--id" | "--reply-to", .. } => vec![
                "letters, digits, `.`, `-`, `_`, eight of them hex digits".into(),
                Hint::run(&["check", "--json"]).to("shows full ids").into(),
            ],
            Self::BadName { what: "the room" | "the id", .. } => {
                vec!["ASCII letters and digits, `.`, `-`, `_`, beginning with a letter or digit".into()]
            }
            Self::BadName { .. } => {
                vec!["letters and digits of any script, `.`, `-`, `_`; at most 64".into()]
            }
            Self::Reserved { name } if name.eq_ignore_ascii_case(USER) => {
                vec![Hint::run(&["setup", "--child", USER]).to("makes the person's mailbox").into()]
            }
            Self::Reserved { name } if name == PLACEHOLDER => vec![
                "put your own name in its place".into(),
                Hint::run(&["setup"]).to("takes a free name").into(),
            ],
            Self::Reserved { .. } => vec!["`@all` is everybody, `user` the person; take another name".into()],
            Self::BadValue { .. } => vec!["give it as one plain line of at most 1000 bytes".into()],
            Self::BodyNotUtf8 { .. } => {
                vec!["mail is text: --attach FILE sends other data along".into()]
            }
            Self::Unreadable { .. } => vec![
                Hint::run(&["doctor"]).to("what cannot be read").into(),
                Hint::run(&["doctor", "--fix"]).to("puts it aside").into(),
            ],
            Self::AmbiguousName { .. } => vec![Hint::run(&["names"]).to("shows each name exactly").into()],
            Self::Room(room::Error::NotEmpty { .. } | room::Error::BadPath { .. }) => {
                vec!["name a new or empty directory: --root DIR".into()]
            }
            Self::Disk(e) | Self::Room(room::Error::Disk(e)) => disk_hints(e),
            Self::Failing { .. } => vec!["try again".into()],
            Self::UnknownRoom { .. } => vec![Hint::run(&["rooms"]).to("lists them").into()],
            Self::NoWayBack { .. } => vec!["use a room that has a name: --room NAME".into()],
            Self::Unproven { .. } => vec!["still claimed; the same command again finishes it".into()],
            Self::AmbiguousMessage { .. } => vec!["give more digits of the id".into()],
            Self::EmptyBody => vec!["-m TEXT, --file FILE, or the text on standard input".into()],
            Self::BodyTooLarge { .. } => vec!["put it into a file: --attach FILE sends it along".into()],
            Self::FileTooLarge { .. } => vec!["send its path instead".into()],
            Self::TooManyFiles { .. } => vec!["put them into one archive".into()],
            Self::NoHome { .. } => vec!["leave --attach out, and send the path of the file".into()],
            // Not as a command to paste, which would repeat the secret.
            Self::Secret { .. } => vec!["the same with --allow-secrets sends it anyway".into()],
            Self::Full { name, .. } => {
                vec![format!("`{name}` must read or archive mail first; nothing was sent").into()]
            }
            Self::Taken { name, suggestions, is_left } => {
                // There is one person.
                let free = suggestions.iter().filter(|_| !name.eq_ignore_ascii_case(USER));
                let free = free.map(|free| Hint::run(&["setup", free]).into());
                let yours = match is_left {
                    true => Hint::run(&["takeover", name]),
                    false => Hint::run(&["whoami"]).by(name),
                };
                free.chain([yours.to("if it is yours").into()]).collect()
            }
            Self::AlreadyNamed { name, wanted } => {
                vec![Hint::run(&["setup", "--alias", wanted]).by(name).into()]
            }
            Self::IdTaken { .. } => vec!["leave --id out, or give another".into()],
            Self::Answered { .. } => {
                vec!["`done` without a text accepts that response; `send` adds to it".into()]
            }
            Self::Room(room::Error::NoRoom { .. }) => {
                let (room, free) = ("makes the room, and your mailbox in it", " with a free name");
                vec![own_mailbox(room).to(format!("{room}{free}")).into()]
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

fn check() -> Hint {
    Hint::run(&["check"]).to("what is unread").into()
}

fn log() -> Hint {
    Hint::run(&["log"]).to("what happened").into()
}

/// Makes the mailbox of the caller: a person's is `user`, and an agent takes a free name.
pub fn own_mailbox(remark: &str) -> Command {
    let person = Hint::run(&["setup", USER]).to(remark);
    Hint::run(&["setup"]).to(remark).for_person(person)
}

/// The command again, as one that is here. An agent is not one of them just because it has no identity, and a person is `user`.
fn who_am_i(names: &[String], more: usize, likely: Option<&str>, typist: Typist) -> Vec<Hint> {
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    let known = (names.len() > 1).then(|| format!("names here: {}{others}", names.join(", ")).into());
    let is_user = |name: &str| name.eq_ignore_ascii_case(USER);
    let acting = likely.map(Hint::again_as);
    let or_acting =
        || acting.clone().zip(likely).map(|(acting, name)| acting.to(format!("only if you are {name}")));
    let free =
        || Hint::run(&["setup"]).to("makes your mailbox with a free name, for this session or terminal");
    let user = |remark| Hint::run(&["setup", USER]).to(remark);
    let (first, second, last) = match (typist, acting.clone()) {
        (Typist::Person, Some(acting)) if likely.is_some_and(is_user) => {
            (acting, Some(user("this terminal acts as user from now on")), None)
        }
        (Typist::Person, _) if !names.iter().any(|name| is_user(name)) => {
            (user("makes your mailbox, for this terminal"), None, or_acting())
        }
        // An agent types the first line: it must not take the mail of another.
        (Typist::Agent, _) | (_, None) => (free(), None, or_acting()),
        (Typist::Person | Typist::Unknown, Some(acting)) => (acting, None, None),
    };
    let second = second.map(Hint::from);
    [first.into()].into_iter().chain(second).chain(known).chain(last.map(Hint::from)).collect()
}

fn disk_hints(e: &fault::Error) -> Vec<Hint> {
    match e {
        fault::Error::OtherOwner { .. } => {
            vec!["a room belongs to one user: --root DIR names another".into()]
        }
        fault::Error::NotADirectory { .. } => vec!["--root DIR names the directory of a room".into()],
        fault::Error::LooseParent { path } => {
            vec![format!("chmod go-w {}", quoted(&path.display().to_string())).into()]
        }
        fault::Error::OtherParent { path, .. } => vec![
            format!(
                "sudo chown {} {}",
                rustix::process::geteuid().as_raw(),
                quoted(&path.display().to_string())
            )
            .into(),
            "--root DIR names a room below a directory of your own".into(),
        ],
        fault::Error::Link { path } => {
            vec![format!("links are not followed; name the real place of {}", path.display()).into()]
        }
        _ => vec![],
    }
}

fn unknown_name(name: &str, nearest: &[String], all: &[String], is_group: bool) -> Vec<Hint> {
    let mut hints: Vec<Hint> = vec![];
    if is_group {
        hints.push(Hint::again_instead(name, &format!("@{name}")).to("that is a group").into());
    }
    if !nearest.is_empty() {
        hints.push(format!("nearest: {}", nearest.join(", ")).into());
    }
    hints.push(match all.len() {
        0 => own_mailbox("nobody has a mailbox here yet").into(),
        1..=20 => format!("names here: {}", all.join(", ")).into(),
        n => Hint::run(&["names"]).to(format!("all {n} names")).into(),
    });
    hints
}
