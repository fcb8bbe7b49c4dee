//! Flow: the graph of who writes to whom. The width of an edge is its traffic, its colour the age of the oldest message that is
//! open; a dot travels along it when a message is delivered. All runs of a workflow are one node.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::f64::consts::TAU;
use std::time::Duration;

use askama::Template;

use crate::clock::Timestamp;
use crate::message::visible;
use crate::post::{FlowEdge, Post};
use crate::span;
use crate::web::markup::Time;
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};
use crate::workflow::runs::Runs;

const WINDOWS: [(&str, &str, u64); 4] = [
    ("15m", "15 minutes", 900),
    ("1h", "1 hour", 3600),
    ("24h", "24 hours", 86_400),
    ("7d", "7 days", 604_800),
];

/// More nodes than this cannot be told apart.
const NODES: usize = 40;

/// A longer name would leave the picture.
const LABEL: usize = 16;

/// How long the head of an arrow is.
const TIP: f64 = 14.0;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 640.0;

#[derive(Template)]
#[template(path = "flow.html")]
struct Flow {
    nodes: Vec<Node>,
    edges: Vec<Drawn>,
    rows: Vec<Row>,
    windows: Vec<(&'static str, &'static str, bool)>,
    hidden: usize,
}

struct Node {
    name: String,
    full: String,
    x: f64,
    y: f64,
    r: f64,
    label_x: f64,
    label_y: f64,
    anchor: &'static str,
}

struct Drawn {
    /// The names of all mailboxes at its two ends.
    from: String,
    to: String,
    path: String,
    /// The head of the arrow, which touches the circle.
    tip: String,
    width: f64,
    kind: &'static str,
    title: String,
}

/// An edge in words.
struct Row {
    from: String,
    to: String,
    messages: usize,
    open: usize,
    oldest: Option<Time>,
    kind: &'static str,
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let window = ask.value("window").unwrap_or("24h");
    let (word, _, seconds) = WINDOWS.into_iter().find(|(word, ..)| *word == window).unwrap_or(WINDOWS[2]);
    let flow = post.flow(Duration::from_secs(seconds))?.edges;
    let places = Places::of(ask, &flow)?;
    let mut edges = places.folded(flow);
    edges.sort_by_key(|edge| std::cmp::Reverse(edge.messages));
    let now = post.room().clock().now();
    let mut traffic: BTreeMap<String, usize> = BTreeMap::new();
    for edge in &edges {
        *traffic.entry(edge.from.clone()).or_default() += edge.messages;
        *traffic.entry(edge.to.clone()).or_default() += edge.messages;
    }
    let named = |id: &str| places.name(post, id);
    let mut ids: Vec<&String> = traffic.keys().collect();
    ids.sort_by_key(|id| std::cmp::Reverse(traffic[*id]));
    let hidden = ids.len().saturating_sub(NODES);
    ids.truncate(NODES);
    // Neighbours on the circle write to each other, so that most edges are short.
    let ids = in_order(ids, &edges);
    let most = traffic.values().copied().max().unwrap_or(1) as f64;
    let place = |id: &str| {
        let at = ids.iter().position(|known| *known == id)?;
        let angle = TAU * at as f64 / ids.len() as f64 - TAU / 4.0;
        Some((angle, WIDTH / 2.0 + 330.0 * angle.cos(), HEIGHT / 2.0 + 240.0 * angle.sin()))
    };
    let radius = |id: &str| 9.0 + 15.0 * (traffic[id] as f64 / most).sqrt();
    let nodes = ids.iter().filter_map(|id| {
        let (angle, x, y) = place(id)?;
        let r = radius(id);
        let anchor = match angle.cos() {
            cos if cos > 0.25 => "start",
            cos if cos < -0.25 => "end",
            _ => "middle",
        };
        let (label_x, label_y) = (x + angle.cos() * (r + 8.0), y + angle.sin() * (r + 14.0) + 4.0);
        Some(Node {
            name: visible::clip(&named(id), LABEL),
            full: named(id),
            x,
            y,
            r,
            label_x,
            label_y,
            anchor,
        })
    });
    let busiest = edges.iter().map(|edge| edge.messages).max().unwrap_or(1) as f64;
    let drawn = edges.iter().filter_map(|edge| {
        let ((_, x1, y1), (_, x2, y2)) = (place(&edge.from)?, place(&edge.to)?);
        let (curve, cx, cy) = match edge.from == edge.to {
            true => (format!("C{:.0} {:.0}", x1 - 60.0, y1 - 70.0), x1 + 60.0, y1 - 70.0),
            // Bent a little to the right, so that the way back is another line.
            false => {
                let (mx, my) = ((x1 + x2) / 2.0 + (y2 - y1) * 0.12, (y1 + y2) / 2.0 - (x2 - x1) * 0.12);
                let (cx, cy) = (mx * 0.8 + WIDTH * 0.1, my * 0.8 + HEIGHT * 0.1);
                ("Q".to_owned(), cx, cy)
            }
        };
        // The line ends where the head of its arrow begins.
        let away = (cx - x2).hypot(cy - y2).max(1.0);
        let (ux, uy) = ((cx - x2) / away, (cy - y2) / away);
        let at = |far: f64, aside: f64| {
            format!("{:.1} {:.1}", x2 + ux * far - uy * aside, y2 + uy * far + ux * aside)
        };
        let near = radius(&edge.to);
        let path = format!("M{x1:.0} {y1:.0}{curve} {cx:.0} {cy:.0} {}", at(near + TIP - 1.0, 0.0));
        let tip = format!("M{}L{}L{}z", at(near, 0.0), at(near + TIP, TIP * 0.6), at(near + TIP, TIP * -0.6));
        Some(Drawn {
            from: places.members(post, &edge.from),
            to: places.members(post, &edge.to),
            path,
            tip,
            width: 1.5 + 8.0 * (edge.messages as f64 / busiest).sqrt(),
            kind: kind(edge, now),
            title: format!(
                "{} → {}: {} messages{}",
                named(&edge.from),
                named(&edge.to),
                edge.messages,
                edge.oldest_open.as_ref().map_or(String::new(), |(_, oldest)| format!(
                    ", {} open, the oldest for {}",
                    edge.open,
                    span::spoken(now.since(*oldest))
                ))
            ),
        })
    });
    let rows = edges.iter().take(NODES).map(|edge| Row {
        from: named(&edge.from),
        to: named(&edge.to),
        messages: edge.messages,
        open: edge.open,
        oldest: edge.oldest_open.as_ref().map(|(_, oldest)| Time::new(*oldest, now)),
        kind: kind(edge, now),
    });
    let flow = Flow {
        nodes: nodes.collect(),
        edges: drawn.collect(),
        rows: rows.collect(),
        windows: WINDOWS.map(|(known, name, _)| (known, name, known == word)).to_vec(),
        hidden,
    };
    Page::new("flow", "Flow", &flow)
}

/// The ids in an order in which neighbours have much to say to each other: from the busiest to its closest, and so on.
fn in_order<'a>(mut ids: Vec<&'a String>, edges: &[FlowEdge]) -> Vec<&'a str> {
    let between = |one: &str, other: &str| {
        let is_it =
            |edge: &&FlowEdge| edge.from == one && edge.to == other || edge.from == other && edge.to == one;
        edges.iter().filter(is_it).map(|edge| edge.messages).sum::<usize>()
    };
    let mut order: Vec<&str> = vec![];
    while !ids.is_empty() {
        let next = match order.last() {
            None => 0,
            Some(last) => {
                let best =
                    ids.iter().enumerate().max_by_key(|(at, id)| (between(last, id), std::cmp::Reverse(*at)));
                best.map_or(0, |(at, _)| at)
            }
        };
        order.push(ids.remove(next));
    }
    order
}

/// The runs of workflows among mailboxes, each with the word for its workflow.
struct Places(BTreeMap<String, String>);

impl Places {
    fn of(ask: &Ask, edges: &[FlowEdge]) -> Result<Self, Wrong> {
        let mut known = BTreeMap::new();
        let Some(runs) = Runs::existing(ask.post.room())? else { return Ok(Self(known)) };
        let ids: HashSet<String> = runs.ids()?.into_iter().collect();
        for id in edges.iter().flat_map(|edge| [&edge.from, &edge.to]).filter(|id| ids.contains(*id)) {
            if !known.contains_key(id)
                && let Some(record) = runs.record(id)
            {
                known.insert(id.clone(), format!("workflow {}", record.workflow));
            }
        }
        Ok(Self(known))
    }

    /// The edges, with those of all runs of a workflow as one.
    fn folded(&self, edges: Vec<FlowEdge>) -> Vec<FlowEdge> {
        let mut all: BTreeMap<(String, String), FlowEdge> = BTreeMap::new();
        for edge in edges {
            let place = |id: &String| self.0.get(id).unwrap_or(id).clone();
            let ends = (place(&edge.from), place(&edge.to));
            match all.entry(ends.clone()) {
                Entry::Vacant(new) => {
                    new.insert(FlowEdge { from: ends.0, to: ends.1, ..edge });
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.messages += edge.messages;
                    known.open += edge.open;
                    known.last = known.last.max(edge.last);
                    let oldest = [known.oldest_open.take(), edge.oldest_open].into_iter().flatten();
                    known.oldest_open = oldest.min_by_key(|(_, time)| *time);
                }
            }
        }
        all.into_values().collect()
    }

    fn name(&self, post: &Post, place: &str) -> String {
        match self.0.values().any(|workflow| workflow == place) {
            true => visible::clip(place.trim_start_matches("workflow "), 40),
            false => visible::clip(post.name_of(place), 40),
        }
    }

    /// The names by which the stream of events knows a place. A name has no space.
    fn members(&self, post: &Post, place: &str) -> String {
        let runs: Vec<&str> =
            self.0.iter().filter(|(_, workflow)| *workflow == place).map(|(run, _)| run.as_str()).collect();
        let ids = if runs.is_empty() { vec![place] } else { runs };
        ids.iter().map(|id| visible::line(post.name_of(id))).collect::<Vec<_>>().join(" ")
    }
}

/// How an edge is coloured: by the age of the oldest message that is open.
fn kind(edge: &FlowEdge, now: Timestamp) -> &'static str {
    match edge.oldest_open.as_ref().map(|(_, oldest)| now.since(*oldest).as_secs()) {
        None => "calm",
        Some(0..300) => "young",
        Some(300..3600) => "old",
        Some(_) => "stuck",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runs_of_a_workflow_are_one_place() {
        let edge = |from: &str, to: &str, open: Option<i64>| FlowEdge {
            from: from.into(),
            to: to.into(),
            messages: 2,
            last: Timestamp::from_parts(50, 0),
            open: usize::from(open.is_some()),
            oldest_open: open.map(|second| ("id".into(), Timestamp::from_parts(second, 0))),
        };
        let run = |id: &str| (id.to_owned(), "workflow plan".to_owned());
        let places = Places(BTreeMap::from([run("plan-1"), run("plan-2")]));
        let edges =
            vec![edge("ann", "plan-1", Some(9)), edge("ann", "plan-2", Some(7)), edge("plan", "ann", None)];
        let folded = places.folded(edges);
        // A mailbox that is called as the workflow is another place.
        let ends: Vec<_> =
            folded.iter().map(|edge| (edge.from.as_str(), edge.to.as_str(), edge.messages)).collect();
        assert_eq!(ends, [("ann", "workflow plan", 4), ("plan", "ann", 2)]);
        assert_eq!(
            (folded[0].open, folded[0].oldest_open.as_ref().map(|(_, time)| time.seconds())),
            (2, Some(7))
        );
    }
}
