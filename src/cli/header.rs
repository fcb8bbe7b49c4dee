//! A header: one unread message on one line, for `check` and `wait`.

use anstyle::Style;

use super::context::Context;
use super::output::{BOLD, CYAN, DIM, PLAIN, RED, YELLOW, note};
use crate::clock::Timestamp;
use crate::mailbox::reading::{Header, Unreadable};
use crate::message::{Priority, visible};
pub(super) use crate::post::line::of_header as plain;
use crate::post::{Checked, Post, line};
use crate::span;

/// Shows the result of `check`, and how much more there is. `address` names the mailbox if several are shown.
pub(super) fn show(context: &mut Context, post: &Post, checked: &Checked, address: Option<&str>) {
    let now = context.clock().now();
    let output = &mut context.output;
    let address = address.map(visible::line);
    for header in &checked.headers {
        if output.terminal {
            let whose = address.iter().map(|address| (BOLD, visible::pad(address, 12)));
            output.row(&whose.chain(cells(post, header, now)).collect::<Vec<_>>());
        } else {
            let whose = address.as_ref().map(|address| format!("{address} ")).unwrap_or_default();
            output.line(&format!("{whose}{}", plain(post, header)));
        }
    }
    if checked.more > 0 && !output.quiet {
        let (more, all) = (checked.more, checked.headers.len() + checked.more);
        output.line(&match address {
            Some(address) => format!("… {more} more for {address}: postroom check --all --limit {all}"),
            None => format!("… {more} more: postroom check --limit {all}"),
        });
    }
    checked.unreadable.iter().for_each(unreadable);
}

/// Reports an unreadable file.
pub(super) fn unreadable(broken: &Unreadable) {
    note(&format!("postroom: {}", line::of_unreadable(broken)));
}

fn cells(post: &Post, header: &Header, now: Timestamp) -> Vec<(Style, String)> {
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
