//! Reading: files and directories as they are, without following a link or waiting on anything.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use rustix::fs::{self, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::flags::{dir_flags, file_flags};
use super::{Dir, FILE_MODE, Opened, check_owner, check_regular};
use crate::mailbox::fault::{Error, IfAny, Result};
use crate::os;

impl Dir {
    /// Opens a regular file of this user for reading, without following a link or waiting on a FIFO.
    pub fn open_file(&self, name: &str) -> Result<Opened> {
        let path = self.path.join(name);
        let fd =
            retry_on_intr(|| fs::openat(&self.fd, name, file_flags(), Mode::empty())).map_err(
                |e| match e {
                    Errno::LOOP => Error::Link { path: path.clone() },
                    Errno::NXIO => Error::NotAFile { path: path.clone(), what: "a socket or device" },
                    e => Error::io("open", &path, e),
                },
            )?;
        let stat = fs::fstat(&fd).map_err(|e| Error::io("look at", &path, e))?;
        check_regular(&stat, &path)?;
        check_owner(&stat, &path)?;
        // A second link may be somebody's file outside the room: that one's mode is not ours to change.
        if self.tightens && stat.st_mode & 0o077 != 0 && stat.st_nlink == 1 {
            let _ = fs::fchmod(&fd, FILE_MODE);
        }
        Ok(Opened { file: File::from(fd), stat, path })
    }

    /// What a file holds, if all of it fits into the buffer, and nothing asked about the file itself: enough to see
    /// that it need not be opened with care. `None` says nothing.
    pub fn skim<'b>(&self, name: &str, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let fd = fs::openat(&self.fd, name, file_flags(), Mode::empty()).ok()?;
        let length = rustix::io::read(&fd, &mut *buffer).ok()?;
        // A shorter read is the end of a file.
        (length < buffer.len()).then(|| &buffer[..length])
    }

    /// The whole of a small file. `None` if it is not there.
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        self.open_file(name).if_any()?.map(|opened| opened.read_all(limit)).transpose()
    }

    /// The whole of a small file, and what was known of it when it was opened. `None` if it is not there.
    pub fn read_known(&self, name: &str, limit: u64) -> Result<Option<(Vec<u8>, Stat)>> {
        let Some(opened) = self.open_file(name).if_any()? else { return Ok(None) };
        let stat = opened.stat;
        Ok(Some((opened.read_all(limit)?, stat)))
    }

    /// The last bytes of a file, at most `limit`. `None` if it is not there.
    pub fn tail(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        self.open_file(name).if_any()?.map(|opened| opened.tail(limit).map(|(bytes, _)| bytes)).transpose()
    }

    /// Shows every entry but `.` and `..` to `see`, in no order.
    pub fn scan(&self, see: impl FnMut(&[u8], FileType)) -> Result<()> {
        let fd = retry_on_intr(|| fs::openat(&self.fd, ".", dir_flags(), Mode::empty()))
            .map_err(|e| Error::io("open", &self.path, e))?;
        os::entries(fd, see).map_err(|e| Error::io("list", &self.path, e))
    }

    /// The names that are wanted and UTF-8, sorted.
    pub fn names(&self, wanted: impl Fn(&str, FileType) -> bool) -> Result<Vec<String>> {
        let mut names = vec![];
        self.scan(|name, kind| {
            names.extend(str::from_utf8(name).ok().filter(|name| wanted(name, kind)).map(str::to_owned));
        })?;
        names.sort();
        Ok(names)
    }

    /// [`Dir::scan`] of a directory that was opened for nothing else, and needs no descriptor of its own for it.
    pub fn scan_once(self, see: impl FnMut(&[u8], FileType)) -> Result<()> {
        os::entries(&self.fd, see).map_err(|e| Error::io("list", &self.path, e))
    }
}

/// A small file by its path, with three calls and nothing asked about it. `None`: it is not there.
pub fn glimpse(path: &Path) -> Result<Option<Vec<u8>>> {
    let fault = |doing, e| Error::io(doing, path, e);
    let fd = match retry_on_intr(|| fs::open(path, file_flags(), Mode::empty())) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        other => other.map_err(|e| fault("open", e))?,
    };
    let mut bytes = vec![0; 4096];
    let length = retry_on_intr(|| rustix::io::read(&fd, &mut bytes)).map_err(|e| fault("read", e))?;
    bytes.truncate(length);
    Ok(Some(bytes))
}

/// The whole of a file that a user names: a regular file of any owner, also behind a link, read without waiting.
pub fn read_source(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let flags = file_flags() & !OFlags::NOFOLLOW;
    let fd = retry_on_intr(|| fs::open(path, flags, Mode::empty())).map_err(|e| match e {
        Errno::NXIO => Error::NotAFile { path: path.to_owned(), what: "a socket or device" },
        e => Error::io("open", path, e),
    })?;
    let stat = fs::fstat(&fd).map_err(|e| Error::io("look at", path, e))?;
    check_regular(&stat, path)?;
    Opened { file: File::from(fd), stat, path: path.to_owned() }.read_all(limit)
}

impl Opened {
    /// The first bytes, at most `limit`.
    pub fn head(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; limit];
        let mut filled = 0;
        while filled < limit {
            match (&self.file).read(&mut bytes[filled..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                // A shorter read is the end of a file.
                Ok(got) if got < limit - filled => {
                    filled += got;
                    break;
                }
                other => filled += other.map_err(|e| Error::std("read", &self.path, e))?,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    /// The bytes from a place on, at most `limit`; none behind the end.
    pub fn piece(&mut self, from: u64, limit: usize) -> Result<Vec<u8>> {
        let size = u64::try_from(self.stat.st_size).unwrap_or(0);
        let left = usize::try_from(size.saturating_sub(from)).unwrap_or(usize::MAX);
        (&self.file).seek(SeekFrom::Start(from)).map_err(|e| Error::std("read", &self.path, e))?;
        self.head(left.min(limit))
    }

    /// Everything, if it is no more than `limit`.
    pub fn read_all(self, limit: u64) -> Result<Vec<u8>> {
        let size = u64::try_from(self.stat.st_size).unwrap_or(0);
        let too_large = |path: &Path, size| Err(Error::TooLarge { path: path.to_owned(), size, limit });
        if size > limit {
            return too_large(&self.path, size);
        }
        // One byte more than there should be tells a file that grows; a shorter read is the end of a file.
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0) + 1];
        let mut filled = 0;
        loop {
            let got = match (&self.file).read(&mut bytes[filled..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other.map_err(|e| Error::std("read", &self.path, e))?,
            };
            filled += got;
            if got == 0 || filled < bytes.len() {
                bytes.truncate(filled);
                return Ok(bytes);
            }
            if bytes.len() as u64 > limit {
                return too_large(&self.path, bytes.len() as u64);
            }
            bytes.resize((bytes.len() * 2).min(usize::try_from(limit).unwrap_or(usize::MAX) + 1), 0);
        }
    }
}
