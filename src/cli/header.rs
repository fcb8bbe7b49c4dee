//! A header: one unread message on one line, for `check` and `wait`.

use super::context::Context;
use super::output::{BOLD, CYAN, MAGENTA, PLAIN, RED, note};
use super::table::Cell;
use crate::clock::Timestamp;
use crate::hint::Hint;
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
            let whose = address.iter().map(|address| (BOLD, address.clone()));
            output.row(&whose.chain(cells(post, header, now)).collect::<Vec<_>>());
        } else {
            let whose = address.as_ref().map(|address| format!("{address} ")).unwrap_or_default();
            output.line(&format!("{whose}{}", plain(post, header)));
        }
    }
    if checked.more > 0 && !output.quiet {
        let (more, all) = (checked.more, (checked.headers.len() + checked.more).to_string());
        let whose = address.as_ref().map(|address| format!(" for {address}")).unwrap_or_default();
        let words = match address {
            Some(_) => &["check", "--all", "--limit", &all][..],
            None => &["check", "--limit", &all],
        };
        let next = context.hint(Hint::run(words));
        context.output.line(&format!("… {more} more{whose}: {next}"));
    }
    unreadable(context, &checked.unreadable);
}

/// Reports unreadable files.
pub(super) fn unreadable(context: &Context, broken: &[Unreadable]) {
    broken.iter().for_each(|one| note(&format!("postroom: {}", line::of_unreadable(one))));
    if broken.iter().any(|one| !one.transient && !one.not_quarantined) {
        note(&format!("  {}", context.hint(Hint::run(&["doctor", "--fix"]).to("puts it aside"))));
    }
}

/// The row of a message: id, age, sender, marks, subject.
pub(super) fn cells(post: &Post, header: &Header, now: Timestamp) -> Vec<Cell> {
    let envelope = &header.envelope;
    let style = match envelope.priority {
        Priority::Urgent => RED,
        Priority::High => MAGENTA,
        _ => PLAIN,
    };
    let marks: Vec<String> = line::marks(header).collect();
    vec![
        (CYAN, header.envelope.called(&header.name)),
        (PLAIN, format!("{:>4}", age(now, header.time))),
        (BOLD, post.sender_shown(envelope)),
        (style, marks.join(" ")),
        (PLAIN, envelope.subject.clone()),
    ]
}

/// How long ago.
pub(super) fn age(now: Timestamp, then: Timestamp) -> String {
    span::short(now.since(then))
}
