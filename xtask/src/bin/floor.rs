//! The floor: what a piece of mail work costs when nothing is checked, parsed or decided.
//!
//! Each verb makes exactly the system calls without which its work cannot be done, as a process of its own, built with the
//! profile of the release binary. `cargo xtask bench` sets Postroom's times against these. There is no argument parsing
//! on purpose: the first argument is matched, the others are taken by position and trusted.
//!
//! ```text
//! floor send ROOT ID NAME     publish one 2 KiB message durably as NAME, journal it, print a line
//! floor scan ROOT ID          iterate over the inbox once; print how many names there are, if any
//! floor wait ROOT ID          end when something is published into the inbox
//! floor deliver ROOT ID N     publish N messages durably; print how many a second
//! floor nothing               end at once: the price of a process
//! ```

#![allow(
    clippy::disallowed_methods,
    reason = "the rules of clippy.toml are for the mail path; this is what it is measured against"
)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fsync, inotify, openat, renameat_with};

const BODY: usize = 2048;
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[1..] {
        ["send", root, id, name] => send(root, id, name),
        ["scan", root, id] => scan(root, id),
        ["wait", root, id] => wait(root, id),
        ["deliver", root, id, count] => deliver(root, id, count.parse().map_err(io::Error::other)?),
        ["nothing"] => Ok(()),
        _ => Err(io::Error::other("usage: floor send|scan|wait|deliver|nothing …; see the head of floor.rs")),
    }
}

fn send(root: &str, id: &str, name: &str) -> io::Result<()> {
    let room = open_room(root)?;
    publish(&room, id, name, message(id).as_bytes())?;
    let append = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
    let mut journal = File::from(openat(&room, ".journal/floor.jsonl", append, PRIVATE)?);
    journal.write_all(
        format!("{{\"v\":1,\"what\":\"queued\",\"to\":\"{id}\",\"file\":\"{name}\"}}\n").as_bytes(),
    )?;
    io::stdout().write_all(format!("queued {name}\n").as_bytes())
}

fn scan(root: &str, id: &str) -> io::Result<()> {
    open_room(root)?;
    let count = count_names(&Path::new(root).join(id).join("inbox"))?;
    if count > 0 {
        io::stdout().write_all(format!("{count}\n").as_bytes())?;
    }
    Ok(())
}

fn wait(root: &str, id: &str) -> io::Result<()> {
    open_room(root)?;
    let inbox = Path::new(root).join(id).join("inbox");
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watch, &inbox, inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::CREATE)?;
    if count_names(&inbox)? == 0 {
        poll(&mut [PollFd::new(&watch, PollFlags::IN)], None)?;
    }
    Ok(())
}

fn deliver(root: &str, id: &str, count: usize) -> io::Result<()> {
    let room = open_room(root)?;
    let message = message(id);
    let start = Instant::now();
    for number in 0..count {
        publish(&room, id, &format!("20260101T000000Z-{number:08x}-floor.md"), message.as_bytes())?;
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    io::stdout().write_all(format!("{rate:.0}\n").as_bytes())
}

/// Opens the room and reads its registry, as every command of a mailbox must.
fn open_room(root: &str) -> io::Result<OwnedFd> {
    let room = open_dir(CWD, root)?;
    let registry = openat(&room, "registry.json", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(registry).read_to_end(&mut Vec::new())?;
    Ok(room)
}

fn open_dir(at: impl AsFd, path: &str) -> io::Result<OwnedFd> {
    Ok(openat(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Stages a message, syncs it, publishes it without replacing and syncs the inbox.
fn publish(room: &OwnedFd, id: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let (staged, published) = (format!("{id}/tmp/{name}"), format!("{id}/inbox/{name}"));
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = File::from(openat(room, &staged, create, PRIVATE)?);
    file.write_all(bytes)?;
    fsync(&file)?;
    drop(file);
    renameat_with(room, &staged, room, &published, RenameFlags::NOREPLACE)?;
    Ok(fsync(open_dir(room, &format!("{id}/inbox"))?)?)
}

/// A whole message: an envelope of the usual length and a body of 2 KiB.
fn message(id: &str) -> String {
    let body = "x".repeat(BODY);
    format!(
        "---\nfrom: {id}\nmsg_id: 00000000-0000-4000-8000-000000000000\nsubject: subject\nto: {id}\n---\n\n{body}"
    )
}

fn count_names(inbox: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir(inbox)? {
        entry?;
        count += 1;
    }
    Ok(count)
}
