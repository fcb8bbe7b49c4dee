//! Mail: all mailboxes of a room, and the messages of one.

use askama::Template;

use crate::mailbox::Folder;
use crate::message::visible;
use crate::post::line::of_presence;
use crate::post::{Browsed, Listed, Names};
use crate::web::guard::Role;
use crate::web::markup::{Time, encoded};
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};

/// The number of messages on a page.
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "mail.html")]
struct Mail<'a> {
    room: &'a str,
    boxes: Vec<Box<'a>>,
    chosen: Option<Chosen>,
    is_person: bool,
}

/// A mailbox in the list.
struct Box<'a> {
    listed: &'a Listed,
    unread: Option<usize>,
    presence: String,
    is_chosen: bool,
}

/// The mailbox whose messages are shown.
struct Chosen {
    name: String,
    about: String,
    address: String,
    tabs: Vec<(&'static str, &'static str, bool)>,
    rows: Vec<Shown>,
    total: usize,
    older: Option<String>,
    wrong: Option<String>,
}

/// A message in a list.
pub(in crate::web) struct Shown {
    pub(in crate::web) id: String,
    pub(in crate::web) from: String,
    pub(in crate::web) subject: String,
    pub(in crate::web) time: Option<Time>,
    pub(in crate::web) marks: Vec<String>,
    pub(in crate::web) is_broken: bool,
}

/// The folders as people call them, by the word in the address.
const TABS: [(&str, &str); 4] =
    [("unread", "Unread"), ("work", "In work"), ("archive", "Archive"), ("failed", "Failed")];

fn is_in(tab: &str, folder: Folder) -> bool {
    match folder {
        Folder::Inbox => tab == "unread",
        Folder::Claimed(_) | Folder::Working | Folder::Carried => tab == "work",
        Folder::Archive => tab == "archive",
        Folder::Failed | Folder::Quarantine => tab == "failed",
    }
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    show(ask, None)
}

pub(in crate::web) fn mailbox(ask: &Ask) -> Result<Page, Wrong> {
    show(ask, Some(ask.part(0)))
}

fn show(ask: &Ask, wanted: Option<&str>) -> Result<Page, Wrong> {
    let post = &ask.post;
    let mut names = post.names(&Names::default())?;
    names.sort_by_key(|listed| {
        (listed.unread.is_none_or(|(unread, _)| unread == 0), listed.name.to_lowercase())
    });
    let now = post.room().clock().now();
    let chosen = match wanted {
        Some(name) => Some(chosen(ask, name)?),
        None => None,
    };
    let boxes = names.iter().map(|listed| Box {
        unread: listed.unread.map(|(unread, _)| unread),
        presence: of_presence(listed, now),
        is_chosen: wanted == Some(listed.name.as_str()),
        listed,
    });
    let title = wanted.map_or_else(|| "Mail".to_owned(), visible::line);
    let mail =
        Mail { room: &ask.room, boxes: boxes.collect(), chosen, is_person: ask.visitor.role == Role::Person };
    Page::new("mail", title, &mail)
}

fn chosen(ask: &Ask, name: &str) -> Result<Chosen, Wrong> {
    let post = &ask.post;
    let id = post.addressee(name)?;
    let listed = post.registry()?.by_id(&id);
    let about = listed.and_then(|entry| entry.text("about")).unwrap_or_default().to_owned();
    let me = post.other(&id)?;
    let tab = ask.value("in").filter(|tab| TABS.iter().any(|(known, _)| known == tab)).unwrap_or("unread");
    // One that cannot be opened still has its place beside the others.
    let (rows, wrong) = match post.browse(&me, |folder| is_in(tab, folder), ask.value("before"), ROWS) {
        Ok(rows) => (rows, None),
        Err(e) => (Browsed::default(), Some(e.to_string())),
    };
    let now = post.room().clock().now();
    let shown: Vec<Shown> = rows
        .messages
        .into_iter()
        .map(|row| match row.header {
            Ok(header) => Shown {
                id: header.envelope.id.to_string(),
                from: visible::line(&post.sender_shown(&header.envelope)),
                subject: visible::clip(&header.envelope.subject, 200),
                time: Some(Time::new(header.time, now)),
                marks: crate::post::line::marks(&header)
                    .filter(|mark| !mark.starts_with("re="))
                    .map(|mark| visible::line(&mark))
                    .collect(),
                is_broken: false,
            },
            Err(broken) => Shown {
                id: String::new(),
                from: visible::line(&broken.name),
                subject: visible::line(&broken.why),
                time: broken.time.map(|time| Time::new(time, now)),
                marks: vec![],
                is_broken: true,
            },
        })
        .collect();
    Ok(Chosen {
        name: visible::line(me.shown()),
        address: me.shown().to_owned(),
        about: visible::clip(&about, 300),
        tabs: TABS.map(|(word, name)| (word, name, word == tab)).to_vec(),
        total: rows.total,
        older: rows.next.map(|next| format!("?in={tab}&before={}", encoded(&next))),
        rows: shown,
        wrong,
    })
}
