//! Waiting: a watch on directories, and a flag that another thread raises, both as descriptors to poll.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::{Errno, Result};

use crate::os::News;

/// A watch on some directories; readable when there is news.
#[derive(Debug)]
pub struct Watcher(OwnedFd);

impl Watcher {
    pub fn new() -> Result<Self> {
        inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map(Self)
    }

    pub fn add(&self, directory: &Path, news: News) -> Result<()> {
        // Close-after-write is there for files that are placed by hand.
        let arrivals = WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::CLOSE_WRITE;
        let departures = WatchFlags::MOVED_FROM | WatchFlags::DELETE;
        let what = match news {
            News::Arrivals => arrivals,
            News::Departures => departures,
            News::Both => arrivals | departures,
        };
        let own = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let mask = what | own | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        inotify::add_watch(&self.0, directory, mask).map(|_| ())
    }

    /// Empties the queue, an overflow included. `true`: a watched directory was removed, moved or unmounted.
    pub fn drain(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let ends = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
        let mut gone = false;
        loop {
            match reader.next() {
                Ok(event) => gone |= event.events().intersects(ends),
                Err(Errno::INTR) => {}
                Err(_) => return gone,
            }
        }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Readable once it was raised, for good.
#[derive(Debug)]
pub struct Flag(OwnedFd);

impl Flag {
    pub fn new() -> Result<Self> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Self)
    }

    pub fn raise(&self) {
        // The number is never taken out again, so the descriptor stays readable; a full one is readable, too.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether a process has a watch open.
pub fn is_watching(pid: u32) -> bool {
    let Ok(list) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    list.flatten()
        .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("inotify")))
}
