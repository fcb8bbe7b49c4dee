//! What can be told at a glance: whether anything is in a directory, when it changed, whether its path still leads to it, and the end of a long
//! file.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use rustix::fs::{self, FileType, Mode};
use rustix::io::{Errno, retry_on_intr};

use super::flags::dir_flags;
use super::{Dir, Opened};
use crate::clock::Timestamp;
use crate::mailbox::fault::{Error, IfAny, Result};
use crate::mailbox::reading::mtime;
use crate::os;

/// The number of bytes that are read at once of a long file.
const PIECE: usize = 1 << 16;

/// Which directory this is, and when something last came into it or left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirState {
    /// Device and inode.
    pub file: (u64, u64),
    pub changed: Timestamp,
}

impl Dir {
    #[allow(clippy::useless_conversion, reason = "the type of st_dev differs between platforms")]
    pub fn state(&self) -> Result<DirState> {
        let stat = fs::fstat(&self.fd).map_err(|e| Error::io("look at", &self.path, e))?;
        Ok(DirState { file: (stat.st_dev as u64, stat.st_ino), changed: mtime(&stat) })
    }

    /// Whether this directory is empty; one look into the kernel's buffer, however much there is.
    pub fn is_empty(&self) -> Result<bool> {
        self.is_empty_at(".")
    }

    /// As [`Dir::is_empty`], for a directory below this one. Only for a look: the path to it is not checked for links.
    pub fn is_empty_at(&self, below: &str) -> Result<bool> {
        let fd = retry_on_intr(|| fs::openat(&self.fd, below, dir_flags(), Mode::empty()))
            .map_err(|e| Error::io("open", &self.path.join(below), e))?;
        os::is_empty(fd).map_err(|e| Error::io("list", &self.path, e))
    }

    /// How many directories lie in a directory below; none if it is not there. Not every file system tells at a glance.
    #[allow(clippy::useless_conversion, reason = "the type of st_nlink differs between platforms")]
    pub fn dirs_at(&self, below: &str) -> Option<u64> {
        match retry_on_intr(|| fs::statat(&self.fd, below, fs::AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                u64::from(stat.st_nlink).checked_sub(2)
            }
            Err(Errno::NOENT) => Some(0),
            _ => None,
        }
    }

    /// How many links a file has now, not as a cache remembers it.
    pub fn links(&self, name: &str) -> Result<u32> {
        match os::links(&self.fd, name) {
            Ok(links) => Ok(links),
            Err(Errno::NOSYS | Errno::INVAL | Errno::PERM) => {
                Ok(u32::try_from(self.stat(name)?.st_nlink).unwrap_or(u32::MAX))
            }
            Err(e) => Err(self.fault("look at", name, e)),
        }
    }

    /// The directory `name` below this one, if it is there.
    pub fn sub_if_any(&self, name: &str) -> Result<Option<Self>> {
        self.sub(name).if_any()
    }

    /// The directory `name` beside this one, wherever this one is now.
    pub fn beside(&self, name: &str) -> Result<Option<Self>> {
        self.sub_if_any(&format!("../{name}"))
    }

    /// Whether its path still leads here: it was not moved, replaced, removed or unmounted.
    pub fn is_in_place(&self) -> Result<bool> {
        let here = fs::fstat(&self.fd).map_err(|e| Error::io("look at", &self.path, e))?;
        match retry_on_intr(|| fs::lstat(&self.path)) {
            Ok(there) => Ok((there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(e) => Err(Error::io("look at", &self.path, e)),
        }
    }
}

impl Opened {
    /// The last `limit` bytes, and how many come before them.
    pub fn tail(self, limit: u64) -> Result<(Vec<u8>, u64)> {
        self.tail_after(0, limit)
    }

    /// Each line of the last `limit` bytes, with its line break. Only one is in memory at a time.
    pub fn each_line(mut self, limit: u64, mut take: impl FnMut(&[u8])) -> Result<()> {
        let wrong = |e| Error::std("read", &self.path, e);
        let size = u64::try_from(self.stat.st_size).unwrap_or(0);
        let start = size.saturating_sub(limit);
        self.file.seek(SeekFrom::Start(start)).map_err(wrong)?;
        // What is appended meanwhile belongs to the next look.
        let mut reader = BufReader::with_capacity(PIECE, (&self.file).take(size - start));
        let mut line = vec![];
        while reader.read_until(b'\n', &mut line).map_err(wrong)? > 0 {
            take(&line);
            line.clear();
        }
        Ok(())
    }

    /// As [`Opened::tail`], without the first `skip` bytes.
    pub fn tail_after(mut self, skip: u64, limit: u64) -> Result<(Vec<u8>, u64)> {
        let size = u64::try_from(self.stat.st_size).unwrap_or(0);
        let start = size.saturating_sub(limit).max(skip.min(size));
        self.file.seek(SeekFrom::Start(start)).map_err(|e| Error::std("read", &self.path, e))?;
        // What is appended meanwhile belongs to the next look.
        Ok((self.head(usize::try_from(size - start).unwrap_or(usize::MAX))?, start))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_file_is_read_and_a_moved_directory_is_noticed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("d");
        std::fs::create_dir(&path).unwrap();
        let dir = Dir::outside(&path).unwrap();
        assert!(dir.is_empty().unwrap() && dir.is_in_place().unwrap());
        dir.create_synced("f", b"0123456789").unwrap();
        assert!(!dir.is_empty().unwrap());
        std::fs::create_dir(path.join("s")).unwrap();
        assert!(dir.is_empty_at("s").unwrap() && dir.is_empty_at("t").unwrap_err().is_missing());
        std::fs::write(path.join("s/f"), "").unwrap();
        assert!(!dir.is_empty_at("s").unwrap());
        assert_eq!((dir.dirs_at("t"), dir.dirs_at("f"), dir.dirs_at("s")), (Some(0), None, Some(0)));
        std::fs::create_dir(path.join("s/d")).unwrap();
        assert_eq!(dir.dirs_at("s"), Some(1));
        assert_eq!(dir.open_file("f").unwrap().tail(4).unwrap(), (b"6789".to_vec(), 6));
        assert_eq!(dir.open_file("f").unwrap().tail(100).unwrap(), (b"0123456789".to_vec(), 0));
        std::fs::rename(&path, path.with_file_name("e")).unwrap();
        assert!(!dir.is_in_place().unwrap());
    }
}
