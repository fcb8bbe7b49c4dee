//! A picture without a server: board, flow and numbers of the last day as one file that needs nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;

use super::guard::{Role, Visitor};
use super::page;
use super::routes::Ask;
use super::views::{flow, now, numbers};
use crate::desk::Desk;
use crate::post::{Error, Result};

#[derive(Template)]
#[template(path = "picture.html")]
struct Picture<'a> {
    room: &'a str,
    at: String,
    style: String,
    parts: Vec<String>,
}

/// The picture of the room of a desk, as HTML.
pub fn picture(desk: Desk) -> Result<String> {
    let (desk, visitor) = (Arc::new(desk), Visitor { role: Role::Reader, token: String::new() });
    let post = desk.post(&desk.root)?;
    let at = post.room().clock().now().to_string();
    let room = desk.own().to_owned();
    let query = HashMap::from([("window".to_owned(), "24h".to_owned())]);
    let ask = Ask { room, post, parts: vec![], query, visitor, desk, transcripts: Arc::default() };
    let failed = |e: &dyn std::fmt::Display| Error::Failing { why: e.to_string() };
    let mut parts = vec![];
    for view in [now::page, flow::page, numbers::page] {
        parts.push(view(&ask).map_err(|e| failed(&e))?.main);
    }
    let style = page::style();
    let room = if ask.desk.room.is_some() { ask.room.as_str() } else { "this room" };
    Picture { room, at, style, parts }.render().map_err(|e| failed(&e))
}
