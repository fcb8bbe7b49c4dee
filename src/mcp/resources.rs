//! Resources: the inbox and threads, as text that a client may show or watch. Headers only: only `read` shows a body,
//! because it fences it.
//!
//! Changes are noticed by the watch that `wait` uses too. Each watch is a sleeping thread; it compares the text before
//! and after, so that a client is notified only of real changes.

use rmcp::model::{Resource, ResourceTemplate};
use tokio::sync::mpsc::UnboundedSender;

use super::desk::Desk;
use crate::journal;
use crate::post::{self, Filter, HEADERS, line};
use crate::wait::{Stop, Watch, Woken};

pub(super) const INBOX: &str = "postroom://inbox";
const THREAD: &str = "postroom://thread/";

/// The longest sleep of a watch; the watch itself bounds it further.
const SLEEP: std::time::Duration = std::time::Duration::from_secs(3600);

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    Inbox,
    /// By the first digits of the id of any message in it.
    Thread(String),
}

impl Which {
    pub(super) fn parse(uri: &str) -> Option<Self> {
        match uri.strip_prefix(THREAD) {
            _ if uri == INBOX => Some(Self::Inbox),
            Some(id) if !id.is_empty() && !id.contains('/') => Some(Self::Thread(id.to_owned())),
            _ => None,
        }
    }

    /// Its current text.
    pub(super) fn text(&self, desk: &Desk) -> post::Result<String> {
        let (post, me) = desk.post_and_me()?;
        let mut text = String::new();
        let mut add = |line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        match self {
            Self::Inbox => {
                let checked = post.check(&me, &Filter::default(), HEADERS)?;
                add(format!("unread: {}", checked.total));
                checked.headers.iter().for_each(|h| add(line::of_header(&post, h)));
                checked.unreadable.iter().for_each(|broken| add(line::of_unreadable(broken)));
            }
            Self::Thread(id) => {
                post.thread(Some(&me), id)?.iter().for_each(|branch| add(line::of_branch(&post, branch)));
            }
        }
        Ok(text)
    }

    /// Begins to watch. No change after the return is missed.
    pub(super) fn begin(self, desk: Desk, stop: Stop) -> Watching {
        let watch = self.start(&desk, &stop);
        let before = self.text(&desk).ok();
        Watching { which: self, desk, stop, watch, before }
    }

    fn start(&self, desk: &Desk, stop: &Stop) -> Option<Watch> {
        let (post, me) = desk.post_and_me().ok()?;
        let mut dirs = post.watched(&me).ok()?;
        if let Self::Thread(_) = self {
            // Mail among other members of the thread is noticed through the journal.
            dirs.extend(Some(post.room().path().join(journal::FOLDER)).filter(|dir| dir.is_dir()));
        }
        Some(Watch::on_changes(dirs).until(stop))
    }
}

/// A resource that is being watched.
#[derive(Debug)]
pub(super) struct Watching {
    which: Which,
    desk: Desk,
    stop: Stop,
    watch: Option<Watch>,
    /// Its text at the last look.
    before: Option<String>,
}

impl Watching {
    /// Reports each change until it is stopped or nobody listens. Runs on its own thread.
    pub(super) fn run(mut self, uri: &str, tell: &UnboundedSender<String>) {
        while let Some(watch) = self.watch.as_mut().filter(|_| !self.stop.is_now() && !tell.is_closed()) {
            let woken = watch.sleep(SLEEP);
            let now = self.which.text(&self.desk).ok();
            if now != self.before && !self.stop.is_now() && tell.send(uri.to_owned()).is_err() {
                return;
            }
            self.before = now;
            if woken == Woken::Gone {
                self.watch = self.which.start(&self.desk, &self.stop);
            }
        }
    }
}

pub(super) fn list() -> Vec<Resource> {
    let inbox = Resource::new(INBOX, "inbox").with_description("Headers of unread mail, most urgent first");
    vec![inbox.with_mime_type("text/plain")]
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let thread = ResourceTemplate::new(format!("{THREAD}{{id}}"), "thread");
    let thread =
        thread.with_description("The headers of a whole conversation, by the id of any of its messages");
    vec![thread.with_mime_type("text/plain")]
}
