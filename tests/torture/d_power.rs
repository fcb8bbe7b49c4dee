//! D1: the power is cut at every system call.
//!
//! The room lies on a small ext4 in a file. An operation is killed at a point, the file system is shut down
//! without flushing its journal, unmounted and mounted again: what was not synced is gone, as after a power
//! cut. There are two ways:
//!
//! - killed, cut, judged, run again, judged: the machine died with the command, at any call of its work or
//!   after its end;
//! - killed, run again, cut, judged: the machine died later, after a second run had acknowledged what the
//!   first had done. Only calls that change a file are struck so, because a kill before any other leaves what
//!   a kill before the next leaves.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::lab::{Findings, Lab, NotPassed, Outcome, need, spread};
use crate::ops::Op;
use crate::ops_claims::UNSETTLED;
use crate::place::Place;
use crate::process::Ended;
use crate::strace::{self, Point};

pub(crate) fn cut_at_every_call(lab: &Lab) -> Outcome {
    need("strace")?;
    need("mkfs.ext4")?;
    if !lab.is_root() {
        return Err(NotPassed::Skipped("needs root and a loop device".to_owned()));
    }
    // The image may well lie in memory: what counts is what the file system on it has written out.
    let dir = lab.fast_dir();
    let mut disks = vec![];
    for worker in 0..lab.workers {
        disks.push(Disk::new(&dir.path().join(format!("d{worker}")))?);
    }
    let findings = Findings::default();
    let (cuts, acked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for op in Op::CHANGING.into_iter().chain(Op::CLAIMS) {
        let places: Vec<Place> = disks.iter().map(|disk| disk.place(lab, op)).collect();
        op.restore(&places[0]);
        let (clean, calls) = strace::trace(&op.command(&places[0]), &dir.path().join("log"), &[]);
        assert!(clean.ok(), "{}: undisturbed: {}", op.word(), clean.shown());
        let own = strace::own_points(&calls, &places[0].root);
        let changing = own.iter().filter(|(_, call)| call.changes_files());
        let later: Vec<Point> = changing.map(|(point, _)| point.clone()).collect();
        let points: Vec<Option<Point>> =
            own.into_iter().map(|(point, _)| Some(point)).chain([None]).collect();
        spread(lab.workers, &points, |worker, point| {
            let told = cut(op, &disks[worker], &places[worker], point.as_ref(), &findings);
            acked.fetch_add(usize::from(told), Ordering::Relaxed);
        });
        spread(lab.workers, &later, |worker, point| {
            cut_later(op, &disks[worker], &places[worker], point, &findings)
        });
        cuts.fetch_add(points.len() + later.len(), Ordering::Relaxed);
    }
    let (cuts, acked, ops) = (cuts.into_inner(), acked.into_inner(), Op::CHANGING.len() + Op::CLAIMS.len());
    findings.verdict(format!(
        "{cuts} cuts of {ops} operations, {acked} first runs were acknowledged before the cut"
    ))
}

/// The machine dies with the command. Tells whether the command had been acknowledged.
fn cut(op: Op, disk: &Disk, place: &Place, point: Option<&Point>, findings: &Findings) -> bool {
    let at = format!("{} cut at {}", op.word(), point.map_or("its end".to_owned(), Point::to_string));
    let first = strike(op, disk, place, point, findings);
    disk.cut();
    findings.extend(&at, op.judge(place, &first, None));
    let again = op.again(place).end();
    findings.extend(&format!("{at}, run again"), op.judge(place, &first, Some(&again)));
    findings.extend(&format!("{at}, run again"), place.doctor());
    op.acknowledged(&first)
}

/// The machine dies after the second run.
fn cut_later(op: Op, disk: &Disk, place: &Place, point: &Point, findings: &Findings) {
    let at = format!("{} killed at {point}, run again, then cut", op.word());
    let first = strike(op, disk, place, Some(point), findings);
    let again = op.again(place).end();
    disk.cut();
    let mut found = op.judge(place, &first, Some(&again));
    if matches!(op, Op::Read | Op::ReadById) {
        // Showing a message again says nothing about where it lies; at worst it is shown once more.
        found.retain(|what| !what.starts_with("not archived"));
    }
    if op.is_claim() && again.code == Some(3) {
        // It acknowledged nothing: what the first run moved unsynced may be held by its claim again.
        found.retain(|what| !what.starts_with(UNSETTLED));
    }
    findings.extend(&at, found);
    if op == Op::Claim {
        // Terms are not synced, because no claim outlives a power cut: the next look gives the message back.
        place.ok(&["--as", "bob", "check", "--count"]);
    }
    findings.extend(&at, place.doctor());
}

/// Runs an operation in a fresh room on a settled disk, and kills it at the point.
fn strike(op: Op, disk: &Disk, place: &Place, point: Option<&Point>, findings: &Findings) -> Ended {
    op.restore(place);
    disk.settle();
    let command = op.command(place);
    let Some(point) = point else { return command.end() };
    let killed = strace::struck(&command, point, "signal=KILL").end();
    findings
        .check(killed.was_killed(), || format!("{} not killed at {point}: {}", op.word(), killed.shown()));
    killed
}

/// A small ext4 in a file, mounted by a loop device.
struct Disk {
    image: PathBuf,
    mount: PathBuf,
}

impl Disk {
    fn new(base: &Path) -> Result<Self, NotPassed> {
        let disk = Self { image: base.with_extension("img"), mount: base.to_owned() };
        fs::create_dir_all(&disk.mount).expect("a mount point");
        File::create(&disk.image).and_then(|file| file.set_len(48 << 20)).expect("an image");
        let image = disk.image.as_os_str();
        // A small journal and nothing left for later make a mount take milliseconds.
        let options = "lazy_itable_init=0,lazy_journal_init=0";
        let words =
            ["-q", "-F", "-b", "1024", "-J", "size=4", "-N", "4096", "-E", options].map(AsRef::as_ref);
        tool("mkfs.ext4", &[&words[..], &[image]].concat()).expect("a file system");
        match disk.attach() {
            Ok(()) => Ok(disk),
            Err(why) => Err(NotPassed::Skipped(format!("needs root and a loop device ({why})"))),
        }
    }

    fn attach(&self) -> Result<(), String> {
        let words = ["-t", "ext4", "-o", "loop,data=ordered"].map(AsRef::as_ref);
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

    /// A fresh place for an operation on this disk.
    fn place(&self, lab: &Lab, op: Op) -> Place {
        let base = self.mount.join(op.word().replace(' ', "-"));
        op.prepare(lab, &base)
    }

    /// Everything so far survives.
    fn settle(&self) {
        let root = File::open(&self.mount).expect("the mounted file system");
        rustix::fs::syncfs(&root).expect("a sync of the file system");
    }

    /// Cuts the power and mounts what is left.
    fn cut(&self) {
        let root = File::open(&self.mount).expect("the mounted file system");
        shut_down(&root);
        drop(root);
        self.detach().expect("a file system that was shut down can be unmounted");
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
fn shut_down(root: &File) {
    const FS_IOC_SHUTDOWN: rustix::ioctl::Opcode = 0x8004_587D;
    const NO_LOG_FLUSH: u32 = 2;
    // SAFETY: the kernel reads one u32 through the pointer that Setter passes, and writes nothing.
    let done = unsafe {
        let setter = rustix::ioctl::Setter::<FS_IOC_SHUTDOWN, u32>::new(NO_LOG_FLUSH);
        rustix::ioctl::ioctl(root, setter)
    };
    done.expect("a file system that can be shut down");
}

fn tool(program: &str, arguments: &[&std::ffi::OsStr]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
