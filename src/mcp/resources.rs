//! Resources: the inbox and threads, as text a client may show or watch. Headers only: a body is shown by `read` alone,
//! which has it fenced.
//!
//! A change is noticed by the same watch that wakes `wait`. Each watch is a thread that sleeps; it compares what the
//! resource says before and after, so that a client is told of changes and of nothing else.

use rmcp::model::{Resource, ResourceTemplate};
use tokio::sync::mpsc::UnboundedSender;

use super::desk::Desk;
use crate::journal;
use crate::post::{self, Filter, line};
use crate::wait::{Stop, Watch, Woken};

pub(super) const INBOX: &str = "postroom://inbox";
const THREAD: &str = "postroom://thread/";

/// How many headers the inbox shows.
const HEADERS: usize = 50;

/// How long one sleep of a watch may last; the watch itself bounds it further.
const SLEEP: std::time::Duration = std::time::Duration::from_secs(3600);

/// A resource that there is.
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

    /// What it says now.
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

    /// Begins to watch: from the return on, no change is missed.
    pub(super) fn begin(self, desk: Desk, stop: Stop) -> Watching {
        let watch = self.start(&desk, &stop);
        let before = self.text(&desk).ok();
        Watching { which: self, desk, stop, watch, before }
    }

    fn start(&self, desk: &Desk, stop: &Stop) -> Option<Watch> {
        let (post, me) = desk.post_and_me().ok()?;
        let mut dirs = post.watched(&me).ok()?;
        if let Self::Thread(_) = self {
            // What others of the thread write to each other is known by the journal.
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
    /// What it said when it was last looked at.
    before: Option<String>,
}

impl Watching {
    /// Tells of each change until it is stopped or nobody listens; runs on a thread of its own.
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
