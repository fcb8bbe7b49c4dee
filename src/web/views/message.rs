//! One message: its text, its state, its attachments, and its thread as lanes. And the form to write one.

use askama::Template;

use super::super::lanes::{self, Lanes};
use crate::mailbox::attachments::FileState;
use crate::message::visible;
use crate::name::MailboxId;
use crate::post::line::of_state;
use crate::post::{Error, USER};
use crate::web::guard::Role;
use crate::web::markdown;
use crate::web::markup::{Time, dated};
use crate::web::page::Page;
use crate::web::routes::{Ask, Download, Wrong};

/// The largest attachment that is given to a browser.
const FILE_LIMIT: u64 = 256 * 1024 * 1024;

#[derive(Template)]
#[template(path = "message.html")]
struct Shown<'a> {
    room: &'a str,
    id: String,
    subject: String,
    from: String,
    to: Vec<(String, String)>,
    time: Time,
    via: Option<String>,
    priority: &'static str,
    html: String,
    files: Vec<File>,
    doubts: Vec<String>,
    lanes: Option<Lanes>,
    /// The person has it, and can answer it.
    is_mine: bool,
    is_unread: bool,
    is_person: bool,
}

struct File {
    name: String,
    size: u64,
    state: Option<String>,
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let trace = post.trace(None, ask.part(0))?;
    let is_hidden = |id: &MailboxId| post.is_persons(id) && post.person(USER).is_err();
    let Some(copy) = trace.copies.iter().map(|located| &located.copy).find(|copy| !is_hidden(&copy.mailbox))
    else {
        return Err(Error::NoMessage { reference: ask.part(0).to_owned() }.into());
    };
    let me = post.other(&copy.mailbox)?;
    let opened = post.open_in(&me, trace.id.as_str(), copy.folder)?;
    let (envelope, now) = (&opened.message.envelope, post.room().clock().now());
    let mine = trace.copies.iter().find(|located| post.is_persons(&located.copy.mailbox));
    let to = trace.copies.iter().map(|located| {
        let name = post.name_of(located.copy.mailbox.as_str());
        (visible::line(name), dated(&visible::line(&of_state(post, &located.state))))
    });
    let files = opened.files.iter().map(|file| File {
        name: visible::line(&file.attachment.name),
        size: file.attachment.size,
        state: match &file.state {
            FileState::Here(_) => None,
            FileState::Missing => Some("missing".to_owned()),
            FileState::Changed => Some("changed".to_owned()),
            FileState::Unreadable(why) => Some(visible::line(why)),
        },
    });
    let thread = post.thread(None, trace.id.as_str())?;
    let shown = Shown {
        room: &ask.room,
        id: trace.id.to_string(),
        subject: visible::clip(&envelope.subject, 300),
        from: visible::line(&post.sender_shown(envelope)),
        to: to.collect(),
        time: Time::new(opened.time, now),
        via: envelope.extra(crate::post::VIA).map(visible::line),
        priority: envelope.priority.as_str(),
        html: markdown::render(&opened.message.body),
        files: files.collect(),
        doubts: envelope.doubts.iter().map(|doubt| visible::line(doubt)).collect(),
        lanes: (thread.len() > 1).then(|| lanes::draw(post, &ask.room, &thread, trace.id.as_str())),
        is_mine: mine.is_some(),
        is_unread: mine.is_some_and(|located| located.copy.folder == crate::mailbox::Folder::Inbox),
        is_person: ask.visitor.role == Role::Person,
    };
    Page::new("mail", shown.subject.clone(), &shown)
}

/// An attachment, if it is still what was sent.
pub(in crate::web) fn file(ask: &Ask) -> Result<Download, Wrong> {
    let (post, wanted) = (&ask.post, ask.part(1));
    let trace = post.trace(None, ask.part(0))?;
    let shown = visible::clip(wanted, 80);
    let mut wrong = Wrong::Unknown(format!("there is no file `{shown}` with this message"));
    for located in &trace.copies {
        let me = post.other(&located.copy.mailbox)?;
        let opened = match post.open_in(&me, trace.id.as_str(), located.copy.folder) {
            Ok(opened) => opened,
            // Another copy may have it, and may be shown.
            Err(e) => {
                wrong = e.into();
                continue;
            }
        };
        let found = opened.files.iter().find(|file| file.attachment.name == wanted);
        match found.map(|file| &file.state) {
            Some(FileState::Here(path)) => {
                let bytes = crate::mailbox::disk::read_source(path, FILE_LIMIT)?;
                return Ok(Download { name: wanted.to_owned(), bytes });
            }
            Some(FileState::Missing) => wrong = Wrong::Unknown(format!("the file `{shown}` is missing")),
            Some(FileState::Changed) => {
                wrong = Wrong::Refused(format!("the file `{shown}` is not what was sent: it was changed"));
            }
            Some(FileState::Unreadable(why)) => {
                wrong = Wrong::NotDone(format!("the file `{shown}` cannot be read: {}", visible::line(why)));
            }
            None => {}
        }
    }
    Err(wrong)
}

#[derive(Template)]
#[template(path = "compose.html")]
struct Compose<'a> {
    to: &'a str,
    names: Vec<String>,
    is_person: bool,
}

/// The form to write a message.
pub(in crate::web) fn compose(ask: &Ask) -> Result<Page, Wrong> {
    let registry = ask.post.registry()?;
    let names = registry.entries.iter().map(|entry| entry.name.clone());
    let compose = Compose {
        to: ask.value("to").unwrap_or_default(),
        names: names.filter(|name| !name.eq_ignore_ascii_case(USER)).collect(),
        is_person: ask.visitor.role == Role::Person,
    };
    Page::new("mail", "Write", &compose)
}
