//! The threads behind the screen: one reads the room, one does deeds, one sleeps until the room changes. The loop of the
//! screen is woken by a byte in a pipe, and so never waits for a disk.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::deed::{Deed, Made, Told};
use super::doing;
use super::event::Event;
use super::load;
use super::seen::{Lost, Seen, Want};
use crate::desk::Desk;
use crate::overview::RoomWatch;
use crate::wait::Stop;

/// Events for the loop, and the pipe that wakes it.
#[derive(Debug)]
struct Outlet {
    events: Sender<Event>,
    wake: PipeWriter,
}

impl Outlet {
    /// `false` if nobody listens any more.
    fn send(&self, event: Event) -> bool {
        // A full pipe means that the loop is behind; then this thread waits for it.
        self.events.send(event).is_ok() && (&self.wake).write(b"x").is_ok()
    }

    fn again(&self) -> io::Result<Self> {
        Ok(Self { events: self.events.clone(), wake: self.wake.try_clone()? })
    }
}

/// What to read in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    root: PathBuf,
    /// All that the screen shows.
    wants: Vec<Want>,
    /// The part of it that is not read yet, or out of date.
    due: Vec<Want>,
}

impl Look {
    /// Takes the place of an older look that nobody has begun: what that had to read is still due, as far as it is shown.
    fn after(self, older: Self) -> Self {
        let is_due =
            |want: &&Want| self.due.contains(want) || (older.root == self.root && older.due.contains(want));
        let due = self.wants.iter().filter(is_due).cloned().collect();
        Self { due, ..self }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.send(Event::Panicked);
        }
    }
}

#[derive(Debug)]
pub(super) struct Crew {
    desk: Arc<Desk>,
    outlet: Outlet,
    looks: Sender<Look>,
    deeds: Sender<(PathBuf, Deed)>,
    watch: Stop,
    pub(super) events: Receiver<Event>,
    pub(super) woken: PipeReader,
}

impl Crew {
    pub(super) fn start(desk: Desk) -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let ((sender, events), (looks, to_look), (deeds, to_do)) = (channel(), channel(), channel());
        let outlet = Outlet { events: sender, wake };
        let desk = Arc::new(desk);
        let (of_looks, its) = (Arc::clone(&desk), outlet.again()?);
        std::thread::spawn(move || looking(&of_looks, &to_look, &its));
        let (of_deeds, its) = (Arc::clone(&desk), outlet.again()?);
        std::thread::spawn(move || acting(&of_deeds, &to_do, &its));
        let watch = Stop::new()?;
        let crew = Self { desk, outlet, looks, deeds, watch, events, woken };
        Ok(crew)
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Watches a room instead of the one before.
    pub(super) fn watch(&mut self, root: &Path) -> io::Result<()> {
        self.watch.now();
        self.watch = Stop::new()?;
        let (desk, its, stop) = (Arc::clone(&self.desk), self.outlet.again()?, self.watch.clone());
        let root = root.to_owned();
        std::thread::spawn(move || watching(&desk, &root, &stop, &its));
        Ok(())
    }

    /// Reads everything that the screen shows.
    pub(super) fn look(&self, root: &Path, wants: Vec<Want>) {
        let _ = self.looks.send(Look { root: root.to_owned(), due: wants.clone(), wants });
    }

    /// Reads what the screen shows now and did not show before.
    pub(super) fn fetch(&self, root: &Path, wants: Vec<Want>, due: Vec<Want>) {
        let _ = self.looks.send(Look { root: root.to_owned(), wants, due });
    }

    pub(super) fn perform(&self, root: &Path, deed: Deed) {
        let _ = self.deeds.send((root.to_owned(), deed));
    }
}

/// Reads what is due. What is not shown any more is not read.
fn looking(desk: &Desk, jobs: &Receiver<Look>, outlet: &Outlet) {
    while let Ok(mut job) = jobs.recv() {
        while let Ok(newer) = jobs.try_recv() {
            job = newer.after(job);
        }
        match desk.attended_post(&job.root) {
            Ok(post) => {
                for want in job.due {
                    let found = load::look(desk, &post, &want);
                    let seen = Box::new(Seen { want, found });
                    if !outlet.send(Event::Seen(seen, desk.clock.now())) {
                        return;
                    }
                }
            }
            Err(e) => {
                let seen = Box::new(Seen { want: Want::Room, found: Err(Lost::Room(e.to_string())) });
                if !outlet.send(Event::Seen(seen, desk.clock.now())) {
                    return;
                }
            }
        }
    }
}

fn acting(desk: &Desk, jobs: &Receiver<(PathBuf, Deed)>, outlet: &Outlet) {
    while let Ok((root, deed)) = jobs.recv() {
        let told = match desk.attended_post(&root) {
            Ok(post) => doing::perform(desk, &post, deed),
            Err(e) => Told { deed, said: Err(e.to_string()), made: Made::Nothing },
        };
        if !outlet.send(Event::Told(told)) {
            return;
        }
    }
}

/// Says when a room changes, and how time goes on.
fn watching(desk: &Desk, root: &Path, stop: &Stop, outlet: &Outlet) {
    let mut watch = RoomWatch::until(stop);
    let mut is_first = true;
    while !stop.is_now() {
        let has_changed = match desk.post(root) {
            Ok(post) => watch.has_changed(&post),
            Err(_) => watch.is_newly_lost(),
        };
        // The loop itself looks at the start.
        let event = match has_changed && !std::mem::take(&mut is_first) {
            true => Event::Changed,
            false => Event::Tick(desk.clock.now()),
        };
        if !outlet.send(event) {
            return;
        }
        watch.sleep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glance(file: &str) -> Want {
        Want::Glance { mailbox: "m".into(), file: file.into() }
    }

    #[test]
    fn a_thread_that_panics_tells_the_loop() {
        let ((sender, events), (mut woken, wake)) = (channel(), io::pipe().unwrap());
        let outlet = Outlet { events: sender, wake };
        let panics = std::thread::spawn(move || {
            let _its = outlet;
            panic!("on purpose")
        });
        assert!(panics.join().is_err());
        io::Read::read_exact(&mut woken, &mut [0]).unwrap();
        assert!(matches!(events.recv().unwrap(), Event::Panicked));
    }

    #[test]
    fn a_newer_look_keeps_what_is_due_and_still_shown() {
        let look = |root: &str, wants: &[Want], due: &[Want]| Look {
            root: root.into(),
            wants: wants.to_vec(),
            due: due.to_vec(),
        };
        let (room, one, two) = (Want::Room, glance("1"), glance("2"));
        let all = look("/r", &[Want::Failed, one.clone(), room.clone()], &[one.clone(), room.clone()]);
        let wants = [two.clone(), Want::Failed, room.clone()];
        let next = look("/r", &wants, std::slice::from_ref(&two)).after(all.clone());
        assert_eq!(next.due, [two.clone(), room], "the first message is not shown any more");
        let elsewhere = look("/other", &wants, std::slice::from_ref(&two)).after(all);
        assert_eq!(elsewhere.due, [two]);
    }
}
