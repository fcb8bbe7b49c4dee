//! Waiting: how a process sleeps until a directory may have changed.
//!
//! A [`Watch`] is a hint and never the truth: it may wake for nothing, and the caller scans after every
//! return. The order is always watch, scan, sleep, scan, so that nothing falls between. Where the kernel
//! gives no watch (no instances left), or one that hears only this machine (a network disk), sleeping is bounded
//! and the scans do the work.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::os::{Flag, Handle, News, Watcher, network};

/// How long a watched sleep may last before the scan is repeated anyway.
const RESCAN: Duration = Duration::from_secs(5);

/// How long a process that stays with an idle session may sleep before the scan is repeated.
const RARELY: Duration = Duration::from_secs(60);

/// How long a sleep without a watch may last.
const UNWATCHED: Duration = Duration::from_secs(2);

/// A watch on some directories, or the lack of one.
#[derive(Debug)]
pub struct Watch {
    watcher: Option<Watcher>,
    longest: Duration,
    stop: Option<Stop>,
    process: Option<Handle>,
}

/// A way to end the sleeps of another thread, at once and for good.
#[derive(Debug, Clone)]
pub struct Stop(Arc<Flag>);

impl Stop {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Arc::new(Flag::new()?)))
    }

    /// Ends the sleep that goes on, and every one after it.
    pub fn now(&self) {
        self.0.raise();
    }

    pub fn is_now(&self) -> bool {
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(self.0.fd(), PollFlags::IN)], Some(&none)) == Ok(1)
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
        Self::with(directories, News::Arrivals)
    }

    /// Watches directories for arrivals and for what leaves them.
    pub fn on_changes<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> Self {
        Self::with(directories, News::Both)
    }

    /// This watch, with sleeps that another thread can end.
    pub fn until(self, stop: &Stop) -> Self {
        Self { stop: Some(stop.clone()), ..self }
    }

    /// This watch for a process that is idle for long.
    pub fn rarely(self) -> Self {
        let longest = if self.longest == RESCAN { RARELY } else { self.longest };
        Self { longest, ..self }
    }

    /// This watch for a process that stays as long as another one: its sleeps end with that, and are long.
    pub fn while_running(self, process: Handle) -> Self {
        let longest = match (self.watcher.is_some() && self.longest == RESCAN, process.fd()) {
            (true, Some(_)) => RARELY,
            _ => self.longest,
        };
        Self { longest, process: Some(process), ..self }
    }

    /// Watches a directory for what leaves it.
    pub fn on_leaving(directory: &Path) -> Self {
        Self::with([directory], News::Departures)
    }

    fn with<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>, news: News) -> Self {
        let Ok(watcher) = Watcher::new() else { return Self::none() };
        let mut longest = RESCAN;
        for directory in directories {
            if watcher.add(directory.as_ref(), news).is_err() {
                return Self::none();
            }
            if network(directory.as_ref()).is_some() {
                longest = UNWATCHED;
            }
        }
        Self { watcher: Some(watcher), longest, stop: None, process: None }
    }

    fn none() -> Self {
        Self { watcher: None, longest: UNWATCHED, stop: None, process: None }
    }

    /// No watch at all: looks again after each `interval`.
    pub fn polling(interval: Duration) -> Self {
        Self { longest: interval.max(Duration::from_millis(10)), ..Self::none() }
    }

    /// Sleeps until there may be news, at most `limit`.
    pub fn sleep(&mut self, limit: Duration) -> Woken {
        let limit = limit.min(self.longest);
        if self.watcher.is_none() && self.stop.is_none() && self.process.is_none() {
            crate::mailbox::pause(limit);
            return Woken::Look;
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        let stop = self.stop.iter().map(|stop| stop.0.fd());
        let process = self.process.iter().filter_map(Handle::fd);
        let mut descriptors: Vec<PollFd<'_>> =
            (self.watcher.iter().map(Watcher::fd).chain(stop).chain(process))
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                .collect();
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Woken::Look,
            Ok(_) => {}
            Err(_) => {
                *self = Self { stop: self.stop.take(), process: self.process.take(), ..Self::none() };
                return Woken::Look;
            }
        }
        // One scan serves all that came.
        let is_gone = self.watcher.as_ref().is_some_and(Watcher::drain);
        if is_gone { Woken::Gone } else { Woken::Look }
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
        assert!(watch.watcher.is_some());
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
        assert!(watch.watcher.is_none());
        assert_eq!(watch.sleep(Duration::from_millis(1)), Woken::Look);
    }
}
