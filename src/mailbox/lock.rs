//! Locks: an flock(2) on a file that is never renamed or removed while anyone may hold it.
//!
//! A lock is released when its [`Lock`] is dropped or its process dies in any way. Waiting is bounded, because a
//! stopped holder must not block everybody else forever.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::disk::Dir;
use super::fault::{Error, IfAny, Result};

/// The lock for every change of a room's members: the registry, the groups, and the set of mailboxes.
pub const ROOM: &str = ".registry.lock";

/// How long a command waits for a lock before it gives up (exit 5).
const PATIENCE: Duration = Duration::from_secs(20);

/// A held lock. Child processes do not inherit it.
#[derive(Debug)]
pub struct Lock(File);

/// The bytes that [`Lock::reserve`] keeps.
const RESERVED: usize = 400;

impl Lock {
    /// Fills the file of the lock, so that [`Lock::note`] needs no further space of the disk.
    pub fn reserve(&self) -> std::io::Result<()> {
        self.0.write_all_at(&[b' '; RESERVED], 0)
    }

    /// Writes a short text into the reserved space: it also works on a full disk.
    pub fn note(&self, text: &str) -> std::io::Result<()> {
        let mut bytes = text.as_bytes()[..text.floor_char_boundary(RESERVED)].to_vec();
        bytes.resize(RESERVED, b' ');
        self.0.write_all_at(&bytes, 0)
    }
}

/// Whether a lock is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    Alone,
    Together,
}

impl Dir {
    /// Takes the lock `name` in this directory, waiting a bounded time.
    pub fn lock(&self, name: &str) -> Result<Lock> {
        patiently(&self.path().join(name), || self.try_lock(name, Hold::Alone))
    }

    /// Takes the lock on this directory itself, waiting a bounded time.
    pub fn hold(&self) -> Result<Lock> {
        patiently(self.path(), || self.try_hold())
    }

    /// Takes the lock on this directory itself, if nobody holds it.
    pub fn try_hold(&self) -> Result<Option<Lock>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(self.fd(), ".", flags, Mode::empty()))
            .map_err(|e| Error::io("open", self.path(), e))?;
        Ok(flocked(self.path(), &fd, Hold::Alone)?.then(|| Lock(File::from(fd))))
    }

    /// Takes the lock if nobody holds it.
    pub fn try_lock(&self, name: &str, hold: Hold) -> Result<Option<Lock>> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(self.fd(), name, flags, Mode::RUSR | Mode::WUSR)).map_err(
            |e| match e {
                Errno::LOOP => Error::Link { path: self.path().join(name) },
                e => self.fault("open", name, e),
            },
        )?;
        let stat = fs::fstat(&fd).map_err(|e| self.fault("look at", name, e))?;
        if stat.st_mode & 0o777 != 0o600 {
            fs::fchmod(&fd, Mode::RUSR | Mode::WUSR).map_err(|e| self.fault("set the mode of", name, e))?;
        }
        if flocked(&self.path().join(name), &fd, hold)? { self.still(name, fd, &stat) } else { Ok(None) }
    }

    /// Takes a lock whose holder may be dead. It does not make the file, nor open it for writing: a watcher of closed
    /// files in this directory must see only the real holders.
    pub fn try_left_lock(&self, name: &str) -> Result<Option<Lock>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match retry_on_intr(|| fs::openat(self.fd(), name, flags, Mode::empty())) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(|e| self.fault("open", name, e))?,
        };
        let stat = fs::fstat(&fd).map_err(|e| self.fault("look at", name, e))?;
        if flocked(&self.path().join(name), &fd, Hold::Alone)? {
            self.still(name, fd, &stat)
        } else {
            Ok(None)
        }
    }

    /// Another process may have removed the file between open and lock: then the lock has no effect.
    fn still(&self, name: &str, fd: OwnedFd, stat: &fs::Stat) -> Result<Option<Lock>> {
        let is_same = |now: fs::Stat| (now.st_ino, now.st_dev) == (stat.st_ino, stat.st_dev);
        Ok(self.stat(name).if_any()?.is_some_and(is_same).then(|| Lock(File::from(fd))))
    }
}

/// Whether an open file is locked now; `false` if another process holds it.
fn flocked(path: &Path, fd: &OwnedFd, hold: Hold) -> Result<bool> {
    let operation = match hold {
        Hold::Alone => FlockOperation::NonBlockingLockExclusive,
        Hold::Together => FlockOperation::NonBlockingLockShared,
    };
    match retry_on_intr(|| fs::flock(fd, operation)) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        other => other.map(|()| true).map_err(|e| Error::io("lock", path, e)),
    }
}

/// Retries for a bounded time.
fn patiently(path: &Path, mut attempt: impl FnMut() -> Result<Option<Lock>>) -> Result<Lock> {
    let (mut waited, mut pause) = (Duration::ZERO, Duration::from_millis(1));
    loop {
        if let Some(lock) = attempt()? {
            return Ok(lock);
        }
        if waited >= PATIENCE {
            return Err(Error::Locked { path: path.to_owned(), seconds: PATIENCE.as_secs() });
        }
        super::pause(pause);
        waited += pause;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
