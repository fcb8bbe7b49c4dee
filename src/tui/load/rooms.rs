//! The other rooms: what is unread there, and whether an agent runs.

use crate::desk::Desk;
use crate::dispatch::runs::Runs;
use crate::post::{Names, Post, Result};
use crate::tui::seen::OtherRoom;

/// All rooms but this one. One that cannot be read keeps its name.
pub(super) fn others(desk: &Desk, post: &Post) -> Result<Vec<OtherRoom>> {
    let rooms = desk.all()?.into_iter().map(|name| (desk.root_of(&name), name));
    let others = rooms.filter(|(root, _)| root.as_ref().is_none_or(|root| root != post.room().path()));
    let seen = others.map(|(root, name)| {
        let post = root.and_then(|root| desk.attended_post(&root).ok());
        let listed = post.as_ref().and_then(|post| post.names(&Names::default()).ok());
        let unread = listed.map(|listed| {
            let each = || listed.iter().filter_map(|one| one.unread);
            (each().map(|(count, _)| count).sum(), each().filter_map(|(_, oldest)| oldest).min())
        });
        let runs = post.as_ref().and_then(|post| Runs::existing(post.room()).ok().flatten());
        let is_running = runs.is_some_and(|runs| runs.count_alive().is_ok_and(|count| count > 0));
        OtherRoom { name, unread, is_running }
    });
    Ok(seen.collect())
}
