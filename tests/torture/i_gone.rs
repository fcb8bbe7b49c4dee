//! I4: the mailbox is removed, moved, replaced or unmounted under its waiter.
//!
//! A waiter that can get no mail any more says so and ends, within the time after which it looks again; it does
//! not sleep on in a directory that no sender will ever find, and it does not spin. Where there is a mailbox
//! again in the same place, being woken by its mail is as good.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Signal;

use crate::lab::{Findings, Lab, Outcome, spread};
use crate::place::{Place, copy_tree};
use crate::waiter::Waiter;

/// Five seconds until it looks again, and some for a busy machine.
const LATEST: Duration = Duration::from_millis(6500);
/// What it takes to look once more, say what happened and end; it is all that a waiter may need beyond one per
/// cent of the time.
const LAST_LOOK: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Removed,
    Moved,
    /// By a copy, in one step.
    Replaced,
    Unmounted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Inbox,
    Mailbox,
    Room,
}

pub(crate) fn gone(lab: &Lab) -> Outcome {
    let mut cases = vec![];
    for what in [What::Inbox, What::Mailbox, What::Room] {
        cases.extend([Blow::Removed, Blow::Moved, Blow::Replaced].map(|blow| (blow, what)));
    }
    let mounts = lab.is_root() && can_mount(lab);
    if mounts {
        cases.push((Blow::Unmounted, What::Room));
    }
    let findings = Findings::default();
    let slowest = std::sync::Mutex::new(Duration::ZERO);
    // They mostly sleep.
    spread(cases.len(), &cases, |_, (blow, what)| {
        let took = strike(lab, *blow, *what, &findings);
        let mut slowest = slowest.lock().expect("no thread panicked here");
        *slowest = took.max(*slowest);
    });
    let slowest = slowest.into_inner().expect("no thread panicked here");
    let unmounted = if mounts { "one of them unmounted" } else { "none unmounted, which needs root" };
    findings.verdict(format!(
        "{} cases, {unmounted}; the last waiter ended after {} ms",
        cases.len(),
        slowest.as_millis()
    ))
}

/// Starts a waiter, takes its mailbox away, and sees how it ends. How long that took.
fn strike(lab: &Lab, blow: Blow, what: What, findings: &Findings) -> Duration {
    let at = format!("{what:?} {blow:?}").to_lowercase();
    let dir = lab.fast_dir();
    let mount = dir.path().join("mount");
    std::fs::create_dir(&mount).expect("a mount point");
    if blow == Blow::Unmounted {
        mount_memory(&mount).expect("a file system in memory");
    }
    let place = Place::with(lab, &mount.join("p"), &["alice", "bob"]);
    let path = match what {
        What::Inbox => place.folder("bob", "inbox"),
        What::Mailbox => place.mailbox("bob"),
        What::Room => place.root.clone(),
    };
    let waiter = Waiter::asleep(&place.command(&["--as", "bob", "wait", "--timeout", "30"]));
    let (start, spent) = (Instant::now(), waiter.cpu());
    let elsewhere = dir.path().join("elsewhere");
    match blow {
        Blow::Removed => std::fs::remove_dir_all(&path).expect("a removed directory"),
        Blow::Moved => std::fs::rename(&path, &elsewhere).expect("a moved directory"),
        Blow::Replaced => {
            copy_tree(&path, &elsewhere);
            renameat_with(CWD, &elsewhere, CWD, &path, RenameFlags::EXCHANGE).expect("a swap");
            place.ok(&["--as", "alice", "send", "bob", "-m", "to the new one"]);
        }
        Blow::Unmounted => unmount(&mount).expect("a file system that can be unmounted"),
    }
    // A mailbox that a part is missing of is made whole by the next command, and its waiter goes on.
    let made_whole = what == What::Inbox && matches!(blow, Blow::Removed | Blow::Moved);
    if made_whole {
        place.ok(&["--as", "alice", "send", "bob", "-m", "to the new one"]);
    }
    let ended_itself = waiter.ends_within(LATEST);
    let took = start.elapsed();
    let worked = waiter.cpu() - spent;
    if !ended_itself {
        waiter.signal(Signal::KILL);
    }
    let ended = waiter.end();
    let told = matches!(ended.code, Some(3..=5)) && ended.stderr().starts_with("postroom: ");
    let woken = (blow == Blow::Replaced || made_whole) && ended.ok() && ended.stdout().contains("alice");
    findings.check(ended_itself && (told || woken), || {
        let how = if ended_itself { "ended without a word that helps" } else { "sleeps on" };
        format!("{at}: the waiter {how}, {} ms later: {}", took.as_millis(), ended.shown())
    });
    findings.check(worked < LAST_LOOK + took / 100, || {
        format!("{at}: it worked {} ms of {} ms", worked.as_millis(), took.as_millis())
    });
    took
}

/// Whether this process may mount, and so take a mount away.
fn can_mount(lab: &Lab) -> bool {
    let dir = lab.fast_dir();
    mount_memory(dir.path()).and_then(|()| unmount(dir.path())).is_ok()
}

fn mount_memory(at: &Path) -> Result<(), String> {
    run(Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs"]).arg(at))
}

fn unmount(at: &Path) -> Result<(), String> {
    run(Command::new("umount").arg("-l").arg(at))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
