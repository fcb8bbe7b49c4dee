//! Waiting: how a process sleeps until a directory may have changed.
//!
//! A [`Watch`] is a hint and never the truth: it may wake for nothing, and the caller scans after every
//! return. The order is always watch, scan, sleep, scan, so that nothing falls between. Where the kernel
//! gives no watch (no instances left), or one that hears only this machine (a network disk), sleeping is bounded
//! and the scans do the work.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::mailbox::disk::network;

/// How long a watched sleep may last before the scan is repeated all the same.
const RESCAN: Duration = Duration::from_secs(5);

/// How long a sleep without a watch may last.
const UNWATCHED: Duration = Duration::from_secs(2);

/// A watch on some directories, or the lack of one.
#[derive(Debug)]
pub struct Watch {
    inotify: Option<OwnedFd>,
    longest: Duration,
    stop: Option<Stop>,
}

/// A way to end the sleeps of another thread, at once and for good.
#[derive(Debug, Clone)]
pub struct Stop {
    event: Arc<OwnedFd>,
}

impl Stop {
    pub fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { event: Arc::new(event) })
    }

    /// Ends the sleep that goes on, and every one after it.
    pub fn now(&self) {
        // The number is never taken out again, so the descriptor stays readable; a full one is readable, too.
        let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
    }

    pub fn is_now(&self) -> bool {
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.event, PollFlags::IN)], Some(&none)) == Ok(1)
    }
}

/// Why a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Something may have changed, or it is time to look again.
    Look,
    /// A watched directory was removed, moved or unmounted.
    Gone,
}

impl Watch {
    /// Watches directories for arrivals; falls back to bounded sleeps if the kernel refuses.
    pub fn on<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> Self {
        // Close-after-write is there for files that are placed by hand.
        Self::with(directories, WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::CLOSE_WRITE)
    }

    /// Watches directories for arrivals and for what leaves them.
    pub fn on_changes<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> Self {
        let arrivals = WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::CLOSE_WRITE;
        Self::with(directories, arrivals | WatchFlags::MOVED_FROM | WatchFlags::DELETE)
    }

    /// The same watch, whose sleeps another thread can end.
    pub fn until(self, stop: &Stop) -> Self {
        Self { stop: Some(stop.clone()), ..self }
    }

    /// Watches a directory for what leaves it.
    pub fn on_leaving(directory: &Path) -> Self {
        Self::with([directory], WatchFlags::MOVED_FROM | WatchFlags::DELETE)
    }

    fn with<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>, what: WatchFlags) -> Self {
        let Ok(fd) = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) else {
            return Self::none();
        };
        let mask = what
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let mut longest = RESCAN;
        for directory in directories {
            if inotify::add_watch(&fd, directory.as_ref(), mask).is_err() {
                return Self::none();
            }
            if network(directory.as_ref()).is_some() {
                longest = UNWATCHED;
            }
        }
        Self { inotify: Some(fd), longest, stop: None }
    }

    fn none() -> Self {
        Self { inotify: None, longest: UNWATCHED, stop: None }
    }

    /// No watch at all: looks again after each `interval`.
    pub fn polling(interval: Duration) -> Self {
        Self { inotify: None, longest: interval.max(Duration::from_millis(10)), stop: None }
    }

    /// Sleeps until there may be news, at most `limit`.
    pub fn sleep(&mut self, limit: Duration) -> Woken {
        let limit = limit.min(self.longest);
        if self.inotify.is_none() && self.stop.is_none() {
            crate::mailbox::pause(limit);
            return Woken::Look;
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        let stop = self.stop.as_ref().map(|stop| &*stop.event);
        let mut descriptors: Vec<PollFd<'_>> =
            self.inotify.iter().chain(stop).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Woken::Look,
            Ok(_) => {}
            Err(_) => {
                *self = Self { stop: self.stop.take(), ..Self::none() };
                return Woken::Look;
            }
        }
        self.drain()
    }

    /// Empties the queue: one scan serves all that came, an overflow included.
    fn drain(&mut self) -> Woken {
        let Some(fd) = &self.inotify else {
            return Woken::Look;
        };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(fd, &mut buffer);
        let ends = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
        let mut woken = Woken::Look;
        loop {
            match reader.next() {
                Ok(event) if event.events().intersects(ends) => woken = Woken::Gone,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return woken,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_wakes_and_a_read_does_not() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("a"), "x").unwrap();
        let mut watch = Watch::on([temp.path()]);
        assert!(watch.inotify.is_some());
        std::fs::read(temp.path().join("a")).unwrap();
        assert_eq!(watch.sleep(Duration::ZERO), Woken::Look);
        std::fs::write(temp.path().join("b"), "x").unwrap();
        let long = std::time::Instant::now();
        assert_eq!(watch.sleep(Duration::from_secs(30)), Woken::Look);
        assert!(long.elapsed() < Duration::from_secs(4));
    }

    #[test]
    fn a_removed_directory_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let sub = temp.path().join("s");
        std::fs::create_dir(&sub).unwrap();
        let mut watch = Watch::on([&sub]);
        std::fs::remove_dir(&sub).unwrap();
        assert_eq!(watch.sleep(Duration::from_secs(30)), Woken::Gone);
    }

    #[test]
    fn another_thread_ends_a_sleep_and_all_later_ones() {
        let temp = tempfile::tempdir().unwrap();
        let stop = Stop::new().unwrap();
        assert!(!stop.is_now());
        for mut watch in [Watch::on([temp.path()]).until(&stop), Watch::on(["/nowhere"]).until(&stop)] {
            let other = stop.clone();
            let ends = std::thread::spawn(move || other.now());
            let start = std::time::Instant::now();
            assert_eq!(watch.sleep(Duration::from_secs(30)), Woken::Look);
            assert_eq!(watch.sleep(Duration::from_secs(30)), Woken::Look);
            assert!(stop.is_now() && start.elapsed() < Duration::from_secs(1));
            ends.join().unwrap();
        }
    }

    #[test]
    fn what_cannot_be_watched_is_polled() {
        let mut watch = Watch::on(["/nowhere/at/all"]);
        assert!(watch.inotify.is_none());
        assert_eq!(watch.sleep(Duration::from_millis(1)), Woken::Look);
    }
}
