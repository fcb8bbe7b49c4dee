//! Flow: who wrote to whom within a time window, and how long the oldest message between them has been open.
//!
//! It comes from the journal, and is as complete as it is. Only the days of the window are read, so a message from before is
//! not there. A message is open until its recipient has read, finished or answered it, or it was withdrawn; an answer never is.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::symbols::Symbols;
use super::{Post, Result};
use crate::clock::Timestamp;
use crate::journal::{self, EventLine};

/// The mail of a room within a time window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    pub start: Timestamp,
    pub end: Timestamp,
    /// The mailboxes that sent or received something, sorted by id.
    pub nodes: Vec<FlowNode>,
    /// Sorted by sender and recipient.
    pub edges: Vec<FlowEdge>,
}

/// A mailbox with traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowNode {
    pub mailbox: String,
    pub sent: usize,
    pub received: usize,
    /// Messages to it that are open.
    pub open: usize,
}

/// All messages from one mailbox to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowEdge {
    pub from: String,
    pub to: String,
    pub messages: usize,
    /// When the last one was sent.
    pub last: Timestamp,
    /// How many are open.
    pub open: usize,
    /// The id of the oldest open one, and when it was sent.
    pub oldest_open: Option<(String, Timestamp)>,
}

impl Post {
    /// Who wrote to whom within a time window that ends now.
    pub fn flow(&self, window: Duration) -> Result<Flow> {
        let end = self.now();
        let start = end.minus(window);
        let mut seen = Seen::default();
        let first = start.day();
        for day in journal::days(&self.room)?.into_iter().filter(|day| *day >= first) {
            journal::each(&self.room, &day, |event| {
                if let Some(time) = Timestamp::parse(&event.time).filter(|time| *time >= start) {
                    seen.take(&event, time);
                }
            })?;
        }
        Ok(seen.flow(start, end))
    }
}

/// One message that was sent.
struct SentMessage {
    from: u32,
    time: Timestamp,
    is_open: bool,
}

#[derive(Default)]
struct Seen {
    words: Symbols,
    /// By recipient and id.
    messages: HashMap<(u32, u32), SentMessage>,
}

impl Seen {
    fn take(&mut self, event: &EventLine<'_>, time: Timestamp) {
        match &*event.event {
            "sent" => {
                if !event.reply_to.is_empty() {
                    self.close(&event.by, &event.reply_to);
                }
                // An answer to a file outside of the room has no receiving mailbox.
                if !event.to.is_empty() {
                    // An answer waits for nobody.
                    let (from, is_open) = (self.words.number(&event.by), event.reply_to.is_empty());
                    let message = SentMessage { from, time, is_open };
                    // A second delivery under the same id is a retry of the first.
                    let key = (self.words.number(&event.to), self.words.number(&event.id));
                    self.messages.entry(key).or_insert(message);
                }
            }
            "shown" | "answered" | "done" | "failed" | "archived" | "withdrawn" | "quarantined" => {
                let at = if event.mailbox.is_empty() { &event.by } else { &event.mailbox };
                self.close(at, &event.id);
            }
            "retried" | "unarchived" => {
                let key = (self.words.number(&event.by), self.words.number(&event.id));
                if let Some(message) = self.messages.get_mut(&key) {
                    message.is_open = true;
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, mailbox: &str, id: &str) {
        let key = (self.words.number(mailbox), self.words.number(id));
        if let Some(message) = self.messages.get_mut(&key) {
            message.is_open = false;
        }
    }

    fn flow(self, start: Timestamp, end: Timestamp) -> Flow {
        let mut nodes: BTreeMap<String, FlowNode> = BTreeMap::new();
        let mut edges: BTreeMap<(String, String), FlowEdge> = BTreeMap::new();
        let new_node = |mailbox: &str| FlowNode { mailbox: mailbox.to_owned(), ..FlowNode::default() };
        for ((to, id), SentMessage { from, time, is_open }) in self.messages {
            let [from, to, id] = [from, to, id].map(|number| self.words.word(number).to_owned());
            nodes.entry(from.clone()).or_insert_with(|| new_node(&from)).sent += 1;
            let recipient = nodes.entry(to.clone()).or_insert_with(|| new_node(&to));
            recipient.received += 1;
            recipient.open += usize::from(is_open);
            let new = || FlowEdge {
                from: from.clone(),
                to: to.clone(),
                messages: 0,
                last: time,
                open: 0,
                oldest_open: None,
            };
            let edge = edges.entry((from.clone(), to.clone())).or_insert_with(new);
            edge.messages += 1;
            edge.last = edge.last.max(time);
            edge.open += usize::from(is_open);
            let is_older = edge.oldest_open.as_ref().is_none_or(|(_, oldest)| time < *oldest);
            if is_open && is_older {
                edge.oldest_open = Some((id, time));
            }
        }
        Flow { start, end, nodes: nodes.into_values().collect(), edges: edges.into_values().collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::clock::Clock;
    use crate::post::{Caller, Letter, NewMailbox};

    /// A clock that is set by hand.
    #[derive(Debug)]
    struct Hand(Mutex<i64>);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            Timestamp::from_parts(*self.0.lock().unwrap(), 0)
        }
        fn boot(&self) -> Duration {
            Duration::ZERO
        }
        fn boot_id(&self) -> std::io::Result<String> {
            Ok("boot".to_owned())
        }
        fn host(&self) -> String {
            "host".to_owned()
        }
    }

    #[test]
    fn an_edge_counts_messages_and_knows_the_oldest_that_is_open() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let clock = Arc::new(Hand(Mutex::new(1_000_000)));
        let open = |flag: Option<&str>| {
            let caller = Caller { flag: flag.map(str::to_owned), ..Caller::default() };
            Post::open_or_make(&path, caller, clock.clone()).unwrap()
        };
        for name in ["ann", "bob"] {
            let wanted = NewMailbox { name: Some(name.into()), ..NewMailbox::default() };
            open(None).setup(&wanted).unwrap();
        }
        let (ann, bob) = (open(Some("ann")), open(Some("bob")));
        let send = |second: i64, body: &str| {
            *clock.0.lock().unwrap() = second;
            let letter = Letter { to: vec!["bob".into()], body: body.into(), ..Letter::default() };
            ann.send(&ann.me().unwrap(), &letter).unwrap().remove(0).id
        };
        send(1_000_000, "before the window");
        let first = send(1_090_000, "answered");
        let second = send(1_090_010, "open");
        send(1_090_020, "open too");
        *clock.0.lock().unwrap() = 1_090_030;
        let letter = Letter { body: "yes".into(), ..Letter::default() };
        bob.reply(&bob.me().unwrap(), first.as_str(), letter).unwrap();

        let flow = ann.flow(Duration::from_secs(3600)).unwrap();
        let (a, b) = (ann.me().unwrap().id.to_string(), bob.me().unwrap().id.to_string());
        let node = |mailbox: &str| flow.nodes.iter().find(|node| node.mailbox == mailbox).unwrap();
        assert_eq!((node(&a).sent, node(&a).received, node(&a).open), (3, 1, 0));
        assert_eq!((node(&b).sent, node(&b).received, node(&b).open), (1, 3, 2));
        let edge = flow.edges.iter().find(|edge| edge.from == a).unwrap();
        let time = |second| Timestamp::from_parts(second, 0);
        assert_eq!((edge.messages, edge.last, edge.open), (3, time(1_090_020), 2));
        assert_eq!(edge.oldest_open, Some((second.to_string(), time(1_090_010))));
        assert_eq!((flow.edges.len(), flow.end), (2, time(1_090_030)));
        assert_eq!(ann.flow(Duration::from_secs(15)).unwrap().nodes.len(), 2, "one letter and one answer");
    }
}
