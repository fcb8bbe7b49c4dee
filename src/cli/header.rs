//! A header: one unread message on one line, for `check` and `wait`.

use anstyle::Style;

use super::output::{BOLD, CYAN, DIM, Output, PLAIN, RED, YELLOW, note};
use crate::clock::Timestamp;
use crate::mailbox::reading::{Header, Unreadable};
use crate::message::{Priority, visible};
pub(super) use crate::post::line::of_header as plain;
use crate::post::{Checked, Post, line};
use crate::span;

/// Shows the result of `check`, and how much more there is.
pub(super) fn show(output: &mut Output, post: &Post, checked: &Checked, now: Timestamp) {
    for header in &checked.headers {
        if output.terminal {
            output.row(&cells(post, header, now));
        } else {
            output.line(&plain(post, header));
        }
    }
    if checked.more > 0 && !output.quiet {
        let all = checked.headers.len() + checked.more;
        output.line(&format!("… {} more: postroom check --limit {all}", checked.more));
    }
    checked.unreadable.iter().for_each(unreadable);
}

/// Reports an unreadable file.
pub(super) fn unreadable(broken: &Unreadable) {
    note(&format!("postroom: {}", line::of_unreadable(broken)));
}

pub(super) fn cells(post: &Post, header: &Header, now: Timestamp) -> Vec<(Style, String)> {
    let envelope = &header.envelope;
    let style = match envelope.priority {
        Priority::Urgent => RED,
        Priority::High => YELLOW,
        _ => DIM,
    };
    let mut cells = vec![
        (CYAN, header.envelope.called(&header.name)),
        (DIM, format!("{:>4}", age(now, header.time))),
        (BOLD, visible::pad(&post.sender_shown(envelope), 12)),
    ];
    let marks: Vec<String> = line::marks(header).collect();
    if !marks.is_empty() {
        cells.push((style, marks.join(" ")));
    }
    cells.push((PLAIN, envelope.subject.clone()));
    cells
}

/// How long ago.
pub(super) fn age(now: Timestamp, then: Timestamp) -> String {
    span::short(now.since(then))
}
