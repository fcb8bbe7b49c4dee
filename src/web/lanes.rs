//! A thread as swim lanes: a lane for each mailbox, an arrow for each message, and the time between a question and its answer.

use std::fmt::Write;

use askama::filters::{Html, escape};

use super::markup::encoded;
use crate::clock::Timestamp;
use crate::message::visible;
use crate::post::{Branch, Node, Post};
use crate::span;

const LEFT: usize = 90;
const LANE: usize = 240;
const TOP: usize = 46;
const STEP: usize = 44;

/// More than this are not drawn.
const MOST: usize = 60;

/// A drawing.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) svg: String,
    /// How many messages of the thread are left out, all of them older.
    pub(super) older: usize,
}

/// Draws a thread. `here`: the message that is shown now.
pub(super) fn draw(post: &Post, room: &str, thread: &[Branch], here: &str) -> Lanes {
    let (nodes, older) = newest(thread, here);
    let mut lanes: Vec<&str> = vec![];
    for name in nodes.iter().flat_map(|node| std::iter::once(&node.from).chain(&node.to)) {
        if !lanes.contains(&name.as_str()) {
            lanes.push(name);
        }
    }
    let x = |name: &str| LEFT + LANE / 2 + LANE * lanes.iter().position(|lane| *lane == name).unwrap_or(0);
    let (width, height) = (LEFT + LANE * lanes.len() + 20, TOP + STEP * nodes.len() + 16);
    let mut svg = String::new();
    let mut out = |text: std::fmt::Arguments<'_>| {
        // Writing into a String does not fail.
        let _ = svg.write_fmt(text);
    };
    out(format_args!(
        "<svg class=\"lanes\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"group\" \
         aria-label=\"The thread: who wrote to whom, and when\">"
    ));
    for lane in &lanes {
        let (at, name) = (x(lane), escaped(&visible::clip(post.name_of(lane), 26)));
        out(format_args!(
            "<text x=\"{at}\" y=\"24\" text-anchor=\"middle\" class=\"lane\">{name}</text>\
             <line x1=\"{at}\" y1=\"34\" x2=\"{at}\" y2=\"{height}\" class=\"lane\"/>"
        ));
    }
    for (row, node) in nodes.iter().enumerate() {
        let y = TOP + STEP * row + 22;
        let time = Timestamp::parse(&node.time);
        let asked = node.reply_to.as_ref().and_then(|id| nodes.iter().find(|other| other.id == *id));
        let took = asked.and_then(|asked| Some(time?.since(Timestamp::parse(&asked.time)?)));
        let took = took.map_or_else(
            || time.map_or_else(String::new, |time| time.to_string().get(11..19).unwrap_or("").to_owned()),
            |took| format!("+{}", span::measured(took)),
        );
        out(format_args!("<text x=\"8\" y=\"{}\" class=\"dim\">{}</text>", y + 4, escaped(&took)));
        let from = x(&node.from);
        let is_here = if node.id == here { " here" } else { "" };
        let answer = if asked.is_some() { " answer" } else { "" };
        out(format_args!(
            "<a href=\"/r/{}/message/{}\" class=\"hop{is_here}{answer}\">",
            encoded(room),
            encoded(&node.id)
        ));
        out(format_args!("<title>{}</title>", escaped(&visible::line(&node.subject))));
        out(format_args!("<circle cx=\"{from}\" cy=\"{y}\" r=\"5\"/>"));
        for to in &node.to {
            let to = x(to);
            if to == from {
                continue;
            }
            let (end, back) = if to > from { (to - 3, -7_i64) } else { (to + 3, 7) };
            let tip = end as i64 + back;
            out(format_args!(
                "<line x1=\"{from}\" y1=\"{y}\" x2=\"{end}\" y2=\"{y}\"/>\
                 <path d=\"M{tip} {} L{end} {y} L{tip} {}\"/>",
                y - 4,
                y + 4
            ));
        }
        let first = node.to.first().map_or(from, |to| x(to));
        let (middle, subject) = ((from + first) / 2, escaped(&visible::clip(&node.subject, 30)));
        out(format_args!("<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{subject}</text></a>", y - 8));
    }
    svg.push_str("</svg>");
    Lanes { svg, older }
}

/// The newest messages of a thread, oldest first, with the one that is shown now, and the number of those left out.
fn newest<'a>(thread: &'a [Branch], here: &str) -> (Vec<&'a Node>, usize) {
    let mut nodes: Vec<_> = thread.iter().map(|branch| &branch.node).collect();
    nodes.sort_by(|one, other| one.time.cmp(&other.time));
    let older = nodes.len().saturating_sub(MOST);
    let mut kept = nodes.split_off(older);
    if let (Some(here), Some(oldest)) = (nodes.iter().find(|node| node.id == here), kept.first_mut()) {
        *oldest = here;
    }
    (kept, older)
}

/// A text that HTML takes for nothing else.
pub(super) fn escaped(text: &str) -> String {
    escape(text, Html).map(|text| text.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(length: usize) -> Vec<Branch> {
        let node = |number: usize| Node {
            id: number.to_string(),
            time: format!("2026-11-18T{:02}:{:02}:00Z", number / 60, number % 60),
            ..Node::default()
        };
        (0..length).map(|number| Branch { depth: number, node: node(number) }).collect()
    }

    #[test]
    fn the_newest_of_a_long_thread_and_the_one_that_is_read_are_drawn() {
        let thread = thread(MOST + 40);
        let ids = |here: &str| {
            let (nodes, older) = newest(&thread, here);
            assert_eq!((nodes.len(), older), (MOST, 40));
            (nodes[0].id.clone(), nodes[1].id.clone(), nodes[MOST - 1].id.clone())
        };
        assert_eq!(ids("99"), ("40".into(), "41".into(), "99".into()));
        assert_eq!(ids("3"), ("3".into(), "41".into(), "99".into()), "the one that is read is there");
    }

    #[test]
    fn a_short_thread_is_drawn_whole() {
        let thread = thread(3);
        assert_eq!((newest(&thread, "0").0.len(), newest(&thread, "0").1), (3, 0));
    }
}
