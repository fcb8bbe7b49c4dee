//! A disk whose power can be cut: a small file system in a file, which is shut down without flushing its journal and
//! mounted again. What was not synced is gone then, as after a power cut.
//!
//! Where the kernel cannot shut a file system down (btrfs), the file is copied as it is at that moment: the copy has what
//! the file system has written out, and takes the place of the file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::lab::NotPassed;

/// A kind of file system.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) word: &'static str,
    pub(crate) mkfs: &'static str,
    make: &'static [&'static str],
    mount: &'static str,
    size: u64,
}

// A small journal and nothing left for later make a mount take milliseconds.
const SMALL: &[&str] =
    &["-q", "-F", "-b", "1024", "-J", "size=4", "-N", "8192", "-E", "lazy_itable_init=0,lazy_journal_init=0"];

impl Kind {
    pub(crate) const EXT4: Self =
        Self { word: "ext4", mkfs: "mkfs.ext4", make: SMALL, mount: "loop,data=ordered", size: 64 << 20 };
    /// Where data may reach the disk after the names that lead to it.
    pub(crate) const WRITEBACK: Self = Self { mount: "loop,data=writeback", ..Self::EXT4 };
    pub(crate) const XFS: Self =
        Self { word: "xfs", mkfs: "mkfs.xfs", make: &["-q", "-f"], mount: "loop", size: 320 << 20 };
    pub(crate) const BTRFS: Self = Self {
        word: "btrfs",
        mkfs: "mkfs.btrfs",
        make: &["-q", "-f"],
        mount: "loop,commit=300",
        size: 128 << 20,
    };
}

/// A small file system in a file, mounted by a loop device.
pub(crate) struct Disk {
    image: PathBuf,
    pub(crate) mount: PathBuf,
    kind: Kind,
    can_be_shut_down: bool,
}

impl Disk {
    pub(crate) fn new(base: &Path, kind: Kind) -> Result<Self, NotPassed> {
        let (image, mount) = (base.with_extension("img"), base.to_owned());
        let mut disk = Self { image, mount, kind, can_be_shut_down: true };
        fs::create_dir_all(&disk.mount).expect("a mount point");
        File::create(&disk.image).and_then(|file| file.set_len(kind.size)).expect("an image");
        if !kernel_has(kind.word) {
            return Err(NotPassed::Skipped(format!("the kernel has no {}", kind.word)));
        }
        let words: Vec<&OsStr> = kind.make.iter().map(OsStr::new).chain([disk.image.as_os_str()]).collect();
        tool(kind.mkfs, &words).expect("a file system");
        if let Err(why) = disk.attach() {
            return Err(NotPassed::Skipped(format!("needs root and a loop device ({why})")));
        }
        disk.can_be_shut_down = disk.try_shutdown();
        Ok(disk)
    }

    fn attach(&self) -> Result<(), String> {
        let words = ["-t", self.kind.word, "-o", self.kind.mount].map(OsStr::new);
        tool("mount", &[&words[..], &[self.image.as_os_str(), self.mount.as_os_str()]].concat())
    }

    /// A child of another worker holds all descriptors between fork and exec, so the disk may be busy for a
    /// moment.
    fn detach(&self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match tool("umount", &[self.mount.as_os_str()]) {
                Err(why) if why.contains("busy") && Instant::now() < deadline => std::thread::yield_now(),
                done => return done,
            }
        }
    }

    /// Whether the shutdown is known here: tried once while nothing is on the disk.
    fn try_shutdown(&self) -> bool {
        let root = File::open(&self.mount).expect("the mounted file system");
        let done = shut_down(&root).is_ok();
        drop(root);
        if done {
            self.power_on();
        }
        done
    }

    /// Everything so far survives.
    pub(crate) fn settle(&self) {
        let root = File::open(&self.mount).expect("the mounted file system");
        rustix::fs::syncfs(&root).expect("a sync of the file system");
    }

    /// Cuts the power and mounts what is left.
    pub(crate) fn cut(&self) {
        self.power_off();
        self.power_on();
    }

    /// From here on nothing reaches the disk, no matter who still writes.
    pub(crate) fn power_off(&self) {
        if !self.can_be_shut_down {
            let words = ["--sparse=always", "--reflink=never"].map(OsStr::new);
            tool("cp", &[&words[..], &[self.image.as_os_str(), self.cut_image().as_os_str()]].concat())
                .expect("a copy of the disk");
            return;
        }
        let root = File::open(&self.mount).expect("the mounted file system");
        shut_down(&root).expect("a file system that can be shut down");
    }

    fn cut_image(&self) -> PathBuf {
        self.image.with_extension("cut")
    }

    pub(crate) fn power_on(&self) {
        self.detach().expect("a file system that was shut down can be unmounted");
        if !self.can_be_shut_down {
            fs::rename(self.cut_image(), &self.image).expect("the copy takes the place of the disk");
        }
        self.attach().expect("a file system that was cut off can be mounted");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.detach();
    }
}

/// `FS_IOC_SHUTDOWN` with the flag that leaves the journal unflushed: from here on nothing reaches the disk.
#[allow(unsafe_code, reason = "the call has no safe wrapper")]
fn shut_down(root: &File) -> rustix::io::Result<()> {
    const FS_IOC_SHUTDOWN: rustix::ioctl::Opcode = 0x8004_587D;
    const NO_LOG_FLUSH: u32 = 2;
    // SAFETY: the kernel reads one u32 through the pointer that Setter passes, and writes nothing.
    unsafe {
        let setter = rustix::ioctl::Setter::<FS_IOC_SHUTDOWN, u32>::new(NO_LOG_FLUSH);
        rustix::ioctl::ioctl(root, setter)
    }
}

/// Whether the kernel knows a file system, built in or as a module that it can load.
fn kernel_has(word: &str) -> bool {
    let known = || {
        let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        known.lines().any(|line| line.split_whitespace().next_back() == Some(word))
    };
    known() || tool("modprobe", &[OsStr::new(word)]).is_ok() && known()
}

fn tool(program: &str, arguments: &[&OsStr]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
