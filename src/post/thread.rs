//! Threads and sent mail: conversations over all mailboxes, from the journal as far as it goes, else from the headers
//! of all mail.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::claim::{BOUNCE, is_bounce};
use super::links::digest;
use super::trace::{GivenAnswer, MessageState};
use super::{Copy, Error, Me, Post, Result};
use crate::journal::{self, Event, EventLine};
use crate::mailbox::reading::Header;
use crate::message::Envelope;
use crate::name::{MailboxId, MessageId};

/// One message of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    pub reply_to: Option<String>,
    pub from: String,
    pub to: Vec<String>,
    pub subject: String,
    pub time: String,
    /// It only reports that the message it answers was given up.
    pub is_bounce: bool,
}

/// A node with its depth in the tree.
#[derive(Debug)]
pub struct Branch {
    pub depth: usize,
    pub node: Node,
}

/// A sent message and its fate.
#[derive(Debug)]
pub struct Sent {
    pub id: String,
    pub to: String,
    pub subject: String,
    pub time: String,
    /// `None` if it is no longer in that mailbox.
    pub state: Option<MessageState>,
    /// Why it waits, by who knows more than the mail says.
    pub remarks: Vec<String>,
}

type Graph = BTreeMap<String, Node>;

impl Post {
    /// The whole conversation of a message, each answer below its question.
    pub fn thread(&self, me: Option<&Me>, reference: &str) -> Result<Vec<Branch>> {
        let id = match self.locate(me, reference) {
            Ok((id, _)) => id,
            Err(Error::NoMessage { .. }) => self.trace(me, reference)?.id,
            Err(e) => return Err(e),
        };
        let mut links = self.links()?;
        let wanted = links.around(id.as_str());
        let mut graph = Graph::new();
        self.read_journal(|event| {
            if wanted.contains(&*event.id) {
                note_event(&mut graph, event);
            }
        })?;
        for (id, files) in links.unknown().filter(|(id, _)| wanted.contains(*id)) {
            for (mailbox, file) in files {
                let opened = self.mailbox(mailbox)?;
                for folder in opened.folders()? {
                    let header = self.header_if_message(&opened, folder, file)?;
                    if let Some(header) = header.filter(|header| header.envelope.id.as_str() == id) {
                        note_header(&mut graph, mailbox, header);
                    }
                }
            }
        }
        Ok(tree(&graph, id.as_str()))
    }

    /// Every message that the journal knows, as often as it was delivered.
    pub(super) fn read_journal(&self, mut take: impl FnMut(EventLine<'_>)) -> Result<()> {
        for day in journal::days(&self.room)? {
            journal::each(&self.room, &day, |event| {
                if event.event == "sent" && !event.id.is_empty() {
                    take(event);
                }
            })?;
        }
        Ok(())
    }

    /// Every message of the room by its id. Files that the journal knows are not opened; those older than it, or placed
    /// by hand, are.
    fn graph(&self) -> Result<Graph> {
        let mut graph = Graph::new();
        let mut known: HashSet<u64> = HashSet::new();
        self.read_journal(|event| {
            known.insert(digest(&event.to, &event.file));
            note_event(&mut graph, event);
        })?;
        let is_known = |mailbox: &str, name: &str| known.contains(&digest(mailbox, name));
        self.every_header(is_known, |mailbox, header| note_header(&mut graph, mailbox.id(), header))?;
        Ok(graph)
    }

    /// What this mailbox sent, newest first.
    pub fn sent(&self, me: &Me, limit: usize) -> Result<Vec<Sent>> {
        let graph = self.graph()?;
        let mut nodes: Vec<&Node> = graph.values().filter(|node| node.from == me.id.as_str()).collect();
        nodes.sort_by(|a, b| b.time.cmp(&a.time));
        nodes.truncate(limit);
        let mut answers: HashMap<&str, Vec<GivenAnswer>> = HashMap::new();
        for node in graph.values().filter(|node| !node.is_bounce) {
            if let Some(asked) = &node.reply_to {
                let (id, from, time) = (node.id.clone(), node.from.clone(), node.time.clone());
                answers.entry(asked).or_default().push(GivenAnswer { id, from, time });
            }
        }
        // The journal is read once for all of them.
        let ids: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
        let events = journal::mentions(&self.room, &ids)?;
        let mut sent = vec![];
        for node in nodes {
            let answers = answers.get(node.id.as_str()).map(Vec::as_slice).unwrap_or_default();
            for to in &node.to {
                if sent.len() >= limit {
                    return Ok(sent);
                }
                let state = match self.copy_in(&node.id, to)? {
                    None if to.contains('@') => self.state_of(&node.id, to)?,
                    Some(copy) => Some(self.located(copy, &events, answers)?.state),
                    // A workspace removes answered messages; then only the journal and the answer are evidence.
                    None => {
                        let noted = |e: &&Event| e.event == "answered" && e.id == node.id && e.by == *to;
                        let noted = events.iter().find(noted).map(|e| &e.time);
                        let given = || answers.iter().find(|a| a.from == *to).map(|a| &a.time);
                        noted.or_else(given).map(|time| MessageState::Answered(time.clone()))
                    }
                };
                let (id, subject, time) = (node.id.clone(), node.subject.clone(), node.time.clone());
                sent.push(Sent { id, to: to.clone(), subject, time, state, remarks: vec![] });
            }
        }
        Ok(sent)
    }

    /// The copy of a message in one mailbox.
    pub(super) fn copy_in(&self, id: &str, mailbox: &str) -> Result<Option<Copy>> {
        match (MessageId::parse_lenient(id), self.existing_id(mailbox)?) {
            (Ok(id), Some(mailbox)) => self.copy_of(&id, &mailbox),
            _ => Ok(None),
        }
    }

    pub(super) fn copy_of(&self, id: &MessageId, mailbox: &MailboxId) -> Result<Option<Copy>> {
        self.copy_that(id, mailbox, |_| true)
    }

    /// The copy of a message in one mailbox that is like this: several senders may have used its id.
    pub(super) fn copy_that(
        &self,
        id: &MessageId,
        mailbox: &MailboxId,
        is_it: impl Fn(&Envelope) -> bool,
    ) -> Result<Option<Copy>> {
        let opened = self.mailbox(mailbox)?;
        for folder in opened.folders()? {
            for name in opened.twins(folder, id)? {
                let header = self.header_if_message(&opened, folder, &name)?;
                if let Some(header) = header.filter(|h| h.envelope.id == *id && is_it(&h.envelope)) {
                    return Ok(Some(Copy { mailbox: mailbox.clone(), folder, header }));
                }
            }
        }
        Ok(None)
    }
}

/// Puts a delivery that the journal tells of into a graph.
fn note_event(graph: &mut Graph, event: EventLine<'_>) {
    let node = graph.entry(event.id.to_string()).or_insert_with(|| Node {
        id: event.id.into_owned(),
        reply_to: Some(event.reply_to.into_owned()).filter(|r| !r.is_empty()),
        from: event.by.into_owned(),
        to: vec![],
        subject: event.subject.into_owned(),
        time: event.time.into_owned(),
        is_bounce: event.note == BOUNCE,
    });
    node.note_recipient(event.to.into_owned());
}

/// Puts a message that only its file tells of into a graph.
fn note_header(graph: &mut Graph, mailbox: &MailboxId, header: Header) {
    let envelope = header.envelope;
    let is_bounce = is_bounce(&envelope);
    let node = graph.entry(envelope.id.to_string()).or_insert_with(|| Node {
        id: envelope.id.to_string(),
        reply_to: envelope.reply_to.map(|id| id.to_string()),
        from: envelope.from.to_string(),
        to: vec![],
        subject: envelope.subject,
        time: header.time.precise(),
        is_bounce,
    });
    node.note_recipient(mailbox.to_string());
}

impl Node {
    /// The journal has the order of sending, the files do not; sorted, both have one order.
    fn note_recipient(&mut self, to: String) {
        if let (false, Err(at)) = (to.is_empty(), self.to.binary_search(&to)) {
            self.to.insert(at, to);
        }
    }
}

/// The tree around a message: up to its root, then down, each level in order of time. A cycle, which only hand-written
/// mail can make, is walked once.
fn tree(graph: &Graph, start: &str) -> Vec<Branch> {
    let mut top = start;
    let mut seen = HashSet::from([start]);
    while let Some(parent) =
        graph.get(top).and_then(|n| n.reply_to.as_deref()).filter(|p| graph.contains_key(*p))
    {
        if !seen.insert(parent) {
            break;
        }
        top = parent;
    }
    let mut answers: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in graph.values() {
        if let Some(parent) = &node.reply_to {
            answers.entry(parent).or_default().push(node);
        }
    }
    answers.values_mut().for_each(|list| list.sort_by(|a, b| b.time.cmp(&a.time)));
    let mut branches = vec![];
    let mut shown = HashSet::new();
    let mut open: Vec<(usize, &Node)> = graph.get(top).map(|node| (0, node)).into_iter().collect();
    while let Some((depth, node)) = open.pop() {
        if !shown.insert(node.id.as_str()) {
            continue;
        }
        branches.push(Branch { depth, node: node.clone() });
        open.extend(answers.get(node.id.as_str()).into_iter().flatten().map(|n| (depth + 1, *n)));
    }
    branches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(links: &[(&str, Option<&str>)]) -> Graph {
        let node = |(id, reply_to): &(&str, Option<&str>)| {
            let node = Node {
                id: (*id).into(),
                reply_to: reply_to.map(Into::into),
                time: (*id).into(),
                ..Node::default()
            };
            ((*id).to_owned(), node)
        };
        links.iter().map(node).collect()
    }

    fn shape(graph: &Graph, start: &str) -> Vec<(usize, String)> {
        tree(graph, start).into_iter().map(|b| (b.depth, b.node.id)).collect()
    }

    #[test]
    fn a_thread_is_shown_whole_from_any_of_its_messages() {
        let graph = graph(&[("a", None), ("b", Some("a")), ("c", Some("a")), ("d", Some("b")), ("x", None)]);
        let whole = [(0, "a".to_owned()), (1, "b".to_owned()), (2, "d".to_owned()), (1, "c".to_owned())];
        assert_eq!(shape(&graph, "d"), whole);
        assert_eq!(shape(&graph, "a"), whole);
    }

    #[test]
    fn a_cycle_and_a_lost_parent_end() {
        let cyclic = graph(&[("a", Some("b")), ("b", Some("a"))]);
        assert_eq!(shape(&cyclic, "a").len(), 2);
        let itself = graph(&[("a", Some("a"))]);
        assert_eq!(shape(&itself, "a"), [(0, "a".to_owned())]);
        let orphan = graph(&[("b", Some("gone"))]);
        assert_eq!(shape(&orphan, "b"), [(0, "b".to_owned())]);
    }
}
