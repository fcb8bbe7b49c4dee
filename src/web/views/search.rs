//! Search: the messages of a room that contain a text.

use askama::Template;

use super::mail::Shown;
use crate::message::visible;
use crate::post::Query;
use crate::web::markup::Time;
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};

/// The most hits that are shown.
const HITS: usize = 50;

#[derive(Template)]
#[template(path = "search.html")]
struct Search<'a> {
    room: &'a str,
    text: &'a str,
    hits: Vec<Hit>,
    is_cut: bool,
    wrong: Option<String>,
}

struct Hit {
    shown: Shown,
    to: String,
    /// The first line that matches: before, the match, and after.
    line: Option<[String; 3]>,
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let text = ask.value("q").unwrap_or_default();
    let (mut hits, mut is_cut, mut wrong) = (vec![], false, None);
    if !text.trim().is_empty() {
        let post = &ask.post;
        let now = post.room().clock().now();
        let query = Query::new(text, false)?;
        let searched = post.search(&query, |hit| {
            let envelope = &hit.copy.header.envelope;
            if post.is_persons(&hit.copy.mailbox) && post.person(crate::post::USER).is_err() {
                return true;
            }
            is_cut = hits.len() == HITS;
            if is_cut {
                return false;
            }
            let line = hit.lines.first().map(|line| {
                let parts = [
                    &line.text[..line.found.start],
                    &line.text[line.found.clone()],
                    &line.text[line.found.end..],
                ];
                [visible::line(&end(parts[0], 60)), visible::line(parts[1]), visible::clip(parts[2], 120)]
            });
            hits.push(Hit {
                shown: Shown {
                    id: envelope.id.to_string(),
                    from: visible::line(&post.sender_shown(envelope)),
                    subject: visible::clip(&envelope.subject, 200),
                    time: Some(Time::new(hit.copy.time(), now)),
                    marks: vec![],
                    is_broken: false,
                },
                to: visible::line(post.name_of(hit.copy.mailbox.as_str())),
                line,
            });
            true
        });
        wrong = searched.err().map(|e| e.to_string());
    }
    Page::new("mail", "Search", &Search { room: &ask.room, text, hits, is_cut, wrong })
}

/// The last characters of a text.
fn end(text: &str, most: usize) -> String {
    let count = text.chars().count();
    let cut: String = text.chars().skip(count.saturating_sub(most)).collect();
    if count > most { format!("…{cut}") } else { cut }
}
