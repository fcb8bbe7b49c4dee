//! A place: an empty directory on a known file system, which goes away with the value.
//!
//! tmpfs is /dev/shm. ext4 is an image of its own, mounted by loop when the user may do that, because the timing of a
//! disk that others write to means little; otherwise the directory for temporary files, if that is ext4.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::statfs;
use tempfile::TempDir;

use super::table::Without;
use crate::run;

const TMPFS_MAGIC: u64 = 0x0102_1994;
const EXT4_MAGIC: u64 = 0xEF53;
/// Room for twice 100,000 small files: a block, an inode and a name each.
const IMAGE_BYTES: u64 = 2 << 30;
const IMAGE_INODES: &str = "400000";

pub(crate) type Open = fn() -> Result<Place, Without>;

#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
    pub(crate) kind: &'static str,
    mounted: bool,
    _temp: TempDir,
}

impl Place {
    /// Both file systems that mail is measured on; each may be missing, with the reason.
    pub(crate) const BOTH: [(&'static str, Open); 2] = [("ext4", Self::ext4), ("tmpfs", Self::tmpfs)];

    pub(crate) fn tmpfs() -> Result<Self, Without> {
        let temp = temp_dir(Path::new("/dev/shm")).map_err(Without::Wanting)?;
        if magic(temp.path())? != TMPFS_MAGIC {
            return Err(Without::Wanting("/dev/shm is not a tmpfs".to_owned()));
        }
        Ok(Self { dir: temp.path().to_owned(), kind: "tmpfs", mounted: false, _temp: temp })
    }

    pub(crate) fn ext4() -> Result<Self, Without> {
        let temp = temp_dir(&std::env::temp_dir())?;
        if rustix::process::geteuid().is_root() {
            match mount_image(temp.path()) {
                Ok(dir) => {
                    return Ok(Self { dir, kind: "ext4", mounted: true, _temp: temp });
                }
                Err(why) => println!("    no ext4 image: {why}; the directory for temporary files instead"),
            }
        }
        if magic(temp.path())? != EXT4_MAGIC {
            let why = "the directory for temporary files is not ext4, and mounting an image needs root";
            return Err(Without::Wanting(why.to_owned()));
        }
        Ok(Self { dir: temp.path().to_owned(), kind: "ext4", mounted: false, _temp: temp })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.mounted {
            // A mount that stays behind keeps the image; the person must know.
            if !run::succeeds(Command::new("umount").arg(&self.dir)) {
                eprintln!("cannot unmount {}", self.dir.display());
            }
        }
    }
}

fn temp_dir(parent: &Path) -> Result<TempDir, String> {
    tempfile::Builder::new()
        .prefix("postroom-bench-")
        .tempdir_in(parent)
        .map_err(|e| format!("no directory in {}: {e}", parent.display()))
}

fn magic(path: &Path) -> Result<u64, String> {
    let found = statfs(path).map_err(|e| format!("{}: {e}", path.display()))?;
    #[allow(clippy::unnecessary_cast, reason = "the type of f_type differs between platforms")]
    Ok(found.f_type as u64)
}

fn mount_image(temp: &Path) -> Result<PathBuf, String> {
    let (image, dir) = (temp.join("image"), temp.join("mounted"));
    let told = |e: std::io::Error| e.to_string();
    File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES)).map_err(told)?;
    std::fs::create_dir(&dir).map_err(told)?;
    let mkfs = run::find_program("mkfs.ext4").ok_or("no mkfs.ext4")?;
    // Nothing is left to be initialised in the background, where it would disturb the first minutes.
    let eager = ["-q", "-F", "-N", IMAGE_INODES, "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    if !run::succeeds(Command::new(mkfs).args(eager).arg(&image)) {
        return Err("mkfs.ext4 failed".to_owned());
    }
    if !run::succeeds(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&dir)) {
        return Err("mount -o loop failed".to_owned());
    }
    Ok(dir)
}
