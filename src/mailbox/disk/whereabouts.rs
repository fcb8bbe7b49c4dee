//! What can be told of an open directory at a glance: whether anything lies in it, and whether its path still leads to
//! it.

use std::mem::MaybeUninit;

use rustix::fs::{self, Mode, RawDir};
use rustix::io::{Errno, retry_on_intr};

use super::{Dir, dir_flags};
use crate::mailbox::fault::{Error, Result};

impl Dir {
    /// Whether nothing lies here; one look into the kernel's buffer, however much there is.
    pub fn is_empty(&self) -> Result<bool> {
        let fd = retry_on_intr(|| fs::openat(&self.fd, ".", dir_flags(), Mode::empty()))
            .map_err(|e| Error::io("open", &self.path, e))?;
        let mut buffer = vec![MaybeUninit::uninit(); 1024];
        let mut entries = RawDir::new(fd, &mut buffer);
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(_) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(Errno::NOENT) => return Ok(true),
                Err(e) => return Err(Error::io("list", &self.path, e)),
            }
        }
        Ok(true)
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
