//! What happens while somebody looks: one thread for each room that is shown, and a stream of events for each page.
//!
//! A page is told two things. `feed` carries new lines of the journal, with the place behind them as the id of the event, so
//! that a page which lost its connection gets what it missed, and nothing twice. `changed` says that files of the room
//! changed, and the page asks for its view again: files are the truth, and the journal is not needed for it. `reload` stands
//! for more events than are worth sending. `beat` says nothing: a page that does not even hear that has lost its line.
//!
//! The thread sleeps in the watch that `wait` uses, and ends with its last page.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::feed;
use crate::desk::Desk;
use crate::journal::{self, Position};
use crate::overview::RoomWatch;
use crate::post::{Post, Result};

/// How many events may wait for a page. One that is slower is dropped, and comes back by itself.
const QUEUE: usize = 64;

/// More events than this are not sent one by one.
const MISSED: usize = 500;
const MISSED_BYTES: usize = 1 << 20;

/// How long a page hears nothing at most. The watch ends its sleep at least every five seconds.
const BEAT: Duration = Duration::from_secs(10);

/// The live rooms.
#[derive(Debug, Default)]
pub(super) struct Live {
    rooms: Mutex<HashMap<PathBuf, Arc<Feed>>>,
}

/// The pages that show one room, and the place in its journal that all of them have seen.
#[derive(Debug)]
struct Feed {
    /// The word for the room.
    room: String,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    place: Position,
    pages: Vec<Sender<Bytes>>,
    /// The thread has ended, and another one is needed.
    is_over: bool,
}

impl Live {
    /// The events of a room behind a place, from now on.
    pub(super) fn follow(
        &self,
        desk: &Arc<Desk>,
        room: &str,
        post: &Post,
        after: Option<Position>,
    ) -> Result<Receiver<Bytes>> {
        let (sender, receiver) = channel(QUEUE);
        let _ = sender.try_send(Bytes::from_static(b"retry: 1000\n\n"));
        let root = post.room().path().to_owned();
        let mut rooms = lock(&self.rooms);
        let catch_up = |place: &Position| match &after {
            Some(after) => missed(post, room, after, place).map(|text| drop(sender.try_send(text))),
            None => Ok(()),
        };
        if let Some(feed) = rooms.get(&root) {
            let mut seen = lock(&feed.seen);
            if !seen.is_over {
                // The page may have seen what the others have not been told yet.
                seen.tell(post, room);
                catch_up(&seen.place)?;
                // What changed since the page was made was told to the others alone.
                let _ = sender.try_send(changed());
                seen.pages.push(sender);
                return Ok(receiver);
            }
        }
        let place = journal::end(post.room())?;
        catch_up(&place)?;
        // It is there before the thread, whose first look tells that there may be something new.
        let seen = Mutex::new(Seen { place, pages: vec![sender], is_over: false });
        let feed = Arc::new(Feed { room: room.to_owned(), seen });
        rooms.insert(root.clone(), Arc::clone(&feed));
        let desk = Arc::clone(desk);
        std::thread::spawn(move || feed.run(&desk, &root));
        Ok(receiver)
    }
}

impl Feed {
    /// Tells the pages of a room what happens, until there are none.
    fn run(&self, desk: &Desk, root: &Path) {
        let (mut watch, mut beaten) = (RoomWatch::default(), desk.clock.boot());
        loop {
            // The room may be gone for a moment; the next look tells, and the page shows that there is no such room.
            let has_changed = match desk.attended_post(root) {
                Ok(post) => {
                    let has_changed = watch.has_changed(&post);
                    self.tell(&post);
                    has_changed
                }
                Err(_) => watch.is_newly_lost(),
            };
            if has_changed {
                self.send(&changed());
            }
            let now = desk.clock.boot();
            if now.saturating_sub(beaten) >= BEAT {
                beaten = now;
                self.send(&bare("beat"));
            }
            watch.sleep();
            if self.is_over() {
                return;
            }
        }
    }

    /// Sends what is new in the journal.
    fn tell(&self, post: &Post) {
        lock(&self.seen).tell(post, &self.room);
    }

    fn send(&self, text: &Bytes) {
        lock(&self.seen).pages.retain(|page| page.try_send(text.clone()).is_ok());
    }

    fn is_over(&self) -> bool {
        let mut seen = lock(&self.seen);
        seen.pages.retain(|page| !page.is_closed());
        seen.is_over = seen.pages.is_empty();
        seen.is_over
    }
}

impl Seen {
    /// Sends what is new in the journal.
    fn tell(&mut self, post: &Post, room: &str) {
        let Ok(end) = journal::end(post.room()) else { return };
        let text = match end.cmp(&self.place) {
            Ordering::Equal => return,
            Ordering::Greater => missed(post, room, &self.place, &end),
            // The journal was removed, and with it the places that pages know.
            Ordering::Less => Ok(event("reload", &end, "")),
        };
        let Ok(text) = text else { return };
        self.place = end;
        self.pages.retain(|page| page.try_send(text.clone()).is_ok());
    }
}

/// What a page has to be told that has seen the journal up to a place.
fn missed(post: &Post, room: &str, after: &Position, end: &Position) -> Result<Bytes> {
    let distance = journal::distance(post.room(), after, end)?;
    let is_near = distance.is_some_and(|bytes| bytes <= MISSED_BYTES);
    // A page that is behind by a night gets its view again, which is less than the journal of a night.
    let events = if is_near { journal::between(post.room(), after, end)? } else { vec![] };
    Ok(match is_near && events.len() <= MISSED {
        true => batch(post, room, &events, end),
        false => event("reload", end, ""),
    })
}

fn batch(post: &Post, room: &str, events: &[journal::Event], place: &Position) -> Bytes {
    event("feed", place, &feed::json(post, room, events))
}

/// Files of the room changed.
fn changed() -> Bytes {
    bare("changed")
}

/// An event that moves no page on in the journal.
fn bare(name: &str) -> Bytes {
    event(name, &Position { day: String::new(), bytes: 0 }, "")
}

/// One event of a stream. Its data has no line break.
fn event(name: &str, place: &Position, data: &str) -> Bytes {
    let id = match place.day.is_empty() {
        true => String::new(),
        false => format!("id: {}\n", written(place)),
    };
    format!("{id}event: {name}\ndata: {data}\n\n").into()
}

/// A place as the id of an event.
pub(super) fn written(place: &Position) -> String {
    format!("{}:{}", place.day, place.bytes)
}

/// The place that an id names. A hostile one leads to no file: a day is compared, and is no path.
pub(super) fn place(id: &str) -> Option<Position> {
    let (day, bytes) = id.split_once(':')?;
    let is_day = day.len() == 10 && day.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    Some(Position { day: is_day.then(|| day.to_owned())?, bytes: bytes.parse().ok()? })
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_is_a_place() {
        let at = Position { day: "2026-11-18".to_owned(), bytes: 42 };
        assert_eq!(place(&written(&at)), Some(at));
        for wrong in ["", "x", "2026-11-18", "2026-11-18:", "../../../x:1", "2026-11-1a:1", "2026-11-18:-1"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
