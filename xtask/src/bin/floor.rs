//! The floor: what a piece of mail work costs when nothing is checked, parsed or decided.
//!
//! Each verb makes exactly the system calls without which its work cannot be done, as a process of its own, built with the
//! profile of the binary that is shipped. `cargo xtask bench` sets Postroom's times against these. There is no argument parsing
//! on purpose: the first argument is matched, the others are taken by position and trusted.
//!
//! ```text
//! floor send ROOT ID NAME     publish one 2 KiB message durably as NAME, journal it, print a line
//! floor scan ROOT ID          iterate over the inbox once; print how many names there are, if any
//! floor wait ROOT ID          end when something is published into the inbox
//! floor deliver ROOT ID N     publish N messages durably; print how many a second
//! floor claim ROOT ID TOKEN   take the first message of the inbox durably under TOKEN, journal it, print it
//! floor done ROOT ID TOKEN    archive durably what TOKEN holds, end the claim, journal it, print a line
//! floor change TREE AGENT NAME   change the status of a message of a tree, durably, under the lock; print a line
//! floor search ROOT N WORD    print the files of all mailboxes that contain WORD, with N threads
//! floor scan-all ROOT         iterate over the inbox of every mailbox once
//! floor spawn ROOT ID P A...  start the program P with A for whatever is published into the inbox, for ever
//! floor start FILE            write into FILE when this process began; print a line
//! floor flood N               print N bytes
//! floor nothing               end at once: the price of a process
//! ```

#![allow(
    clippy::disallowed_methods,
    reason = "the rules of clippy.toml are for the mail path; this is what it is measured against"
)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, fsync, inotify, mkdirat, openat,
    renameat_with, unlinkat,
};
use rustix::time::{ClockId, clock_gettime};

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
        ["claim", root, id, token] => claim(root, id, token),
        ["done", root, id, token] => done(root, id, token),
        ["change", tree, agent, name] => change(tree, agent, name),
        ["search", root, threads, word] => search(root, threads.parse().map_err(io::Error::other)?, word),
        ["scan-all", root] => scan_all(root),
        ["spawn", root, id, program, ref args @ ..] => spawn(root, id, program, args),
        ["start", file] => start(file),
        ["flood", bytes] => flood(bytes.parse().map_err(io::Error::other)?),
        ["nothing"] => Ok(()),
        _ => Err(io::Error::other("there is no such verb of the floor; see the head of floor.rs")),
    }
}

fn send(root: &str, id: &str, name: &str) -> io::Result<()> {
    let room = open_room(root)?;
    publish(&room, id, name, message(id).as_bytes())?;
    journal(&room, "queued", id, name)?;
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

fn scan_all(root: &str) -> io::Result<()> {
    open_room(root)?;
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") && entry.file_type()?.is_dir() {
            count_names(&entry.path().join("inbox"))?;
        }
    }
    Ok(())
}

fn spawn(root: &str, id: &str, program: &str, args: &[&str]) -> io::Result<()> {
    let inbox = Path::new(root).join(id).join("inbox");
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watch, &inbox, inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::CREATE)?;
    let mut events = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&watch, &mut events);
    loop {
        events.next()?;
        std::process::Command::new(program).args(args).spawn()?.wait()?;
    }
}

fn start(file: &str) -> io::Result<()> {
    let now = clock_gettime(ClockId::Monotonic);
    let staged = format!("{file}.new");
    std::fs::write(
        &staged,
        format!("{}.{:03}\n", now.tv_sec * 1_000_000 + now.tv_nsec / 1000, now.tv_nsec % 1000),
    )?;
    std::fs::rename(&staged, file)?;
    io::stdout().write_all(b"started\n")
}

fn flood(bytes: usize) -> io::Result<()> {
    let line = [b"x".repeat(99), b"\n".to_vec()].concat();
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    (0..bytes / line.len()).try_for_each(|_| out.write_all(&line))?;
    out.flush()
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

fn claim(root: &str, id: &str, token: &str) -> io::Result<()> {
    let room = open_room(root)?;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(Path::new(root).join(id).join("inbox"))? {
        names.push(entry?.file_name().into_string().map_err(|_| io::Error::other("a strange name"))?);
    }
    let name = names.into_iter().min().ok_or_else(|| io::Error::other("nothing to claim"))?;
    let message = read(&room, &format!("{id}/inbox/{name}"))?;
    let claimed = open_dir(&room, &format!("{id}/claimed"))?;
    mkdirat(&claimed, token, Mode::RWXU)?;
    let own = open_dir(&claimed, token)?;
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    File::from(openat(&own, "claim.json", create, PRIVATE)?).write_all(terms(id, &name).as_bytes())?;
    fsync(&claimed)?;
    renameat_with(&room, format!("{id}/inbox/{name}"), &own, &name, RenameFlags::NOREPLACE)?;
    sync_moved(&own, &name)?;
    journal(&room, "claimed", id, &name)?;
    io::stdout().write_all(&message)
}

/// Makes a move durable: on btrfs a file that is not synced has its old name as well after a power cut.
fn sync_moved(to: &impl AsFd, name: &str) -> io::Result<()> {
    fsync(openat(to, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)?;
    Ok(fsync(to)?)
}

fn done(root: &str, id: &str, token: &str) -> io::Result<()> {
    let room = open_room(root)?;
    let own = format!("{id}/claimed/{token}");
    let terms = String::from_utf8(read(&room, &format!("{own}/claim.json"))?).map_err(io::Error::other)?;
    let name = terms.rsplit('"').nth(1).ok_or_else(|| io::Error::other("no file in claim.json"))?;
    let archive = open_dir(&room, &format!("{id}/archive"))?;
    renameat_with(&room, format!("{own}/{name}"), &archive, name, RenameFlags::NOREPLACE)?;
    sync_moved(&archive, name)?;
    unlinkat(&room, format!("{own}/claim.json"), AtFlags::empty())?;
    unlinkat(&room, &own, AtFlags::REMOVEDIR)?;
    journal(&room, "done", id, name)?;
    io::stdout().write_all(format!("done {token}\n").as_bytes())
}

/// The terms of a claim, in the usual length; the file comes last, where `done` finds it.
fn terms(id: &str, name: &str) -> String {
    format!(
        "{{\"v\":1,\"owner\":\"{id}\",\"host\":\"floor\",\"boot\":\"00000000-0000-4000-8000-000000000000\",\
         \"until_ms\":1800000,\"ends\":\"2026-01-01T00:30:00Z\",\"attempt\":1,\"file\":\"{name}\"}}"
    )
}

/// What was displaced is left beside it, under a hidden name.
fn change(tree: &str, agent: &str, name: &str) -> io::Result<()> {
    let tree = open_dir(CWD, tree)?;
    let lock = openat(&tree, ".postroom/lock", OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC, PRIVATE)?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let inbox = open_dir(&tree, &format!("inboxes/{agent}"))?;
    let text = String::from_utf8(read(&inbox, name)?).map_err(io::Error::other)?;
    let changed = text.replacen("status: pending", "status: completed", 1);
    let staged = format!(".{name}.floor");
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = File::from(openat(&inbox, &staged, create, PRIVATE)?);
    file.write_all(changed.as_bytes())?;
    fsync(&file)?;
    drop(file);
    renameat_with(&inbox, &staged, &inbox, name, RenameFlags::EXCHANGE)?;
    fsync(&inbox)?;
    // What was displaced may be what another hand has written meanwhile.
    if read(&inbox, &staged)? != text.as_bytes() {
        return Err(io::Error::other("it was changed meanwhile"));
    }
    io::stdout().write_all(format!("archived {name}\n").as_bytes())
}

/// Each thread takes one directory at a time, and reads every file of it into the same buffer.
fn search(root: &str, threads: usize, word: &str) -> io::Result<()> {
    open_room(root)?;
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(root)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") && entry.file_type()?.is_dir() {
            folders.extend(["inbox", "archive"].map(|folder| entry.path().join(folder)));
        }
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        let mut buffer = vec![0; 1 << 20];
        while let Some(folder) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            search_folder(folder, word.as_bytes(), &mut buffer, &mut found)?;
        }
        Ok(found)
    };
    let found: Vec<io::Result<Vec<PathBuf>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(std::thread::ScopedJoinHandle::join).collect()
    });
    for path in found.into_iter().collect::<io::Result<Vec<_>>>()?.concat() {
        io::stdout().write_all(format!("{}\n", path.display()).as_bytes())?;
    }
    Ok(())
}

fn search_folder(folder: &Path, word: &[u8], buffer: &mut [u8], found: &mut Vec<PathBuf>) -> io::Result<()> {
    let dir = File::open(folder)?;
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let mut file = File::from(openat(&dir, &name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        // A message of the bench fits into one read, so the end of it is known without another.
        let length = file.read(buffer)?;
        if contains(&buffer[..length], word) {
            found.push(folder.join(&name));
        }
    }
    Ok(())
}

/// Whether a word of at least two bytes occurs: its first two bytes are looked for 32 places at a time, which the compiler
/// turns into vector instructions; only where they stand together the whole word is compared.
fn contains(bytes: &[u8], word: &[u8]) -> bool {
    const STEP: usize = 32;
    let (first, second) = (word[0], word[1]);
    let mut at = 0;
    while let Some(ahead) = bytes.get(at..at + STEP + 1) {
        let (here, after) = (&ahead[..STEP], &ahead[1..]);
        let near = here.iter().zip(after).fold(false, |any, (a, b)| any | ((*a == first) & (*b == second)));
        if near && (at..at + STEP).any(|at| bytes[at..].starts_with(word)) {
            return true;
        }
        at += STEP;
    }
    bytes[at..].windows(word.len()).any(|window| window == word)
}

/// Opens the room and reads its registry, as every command of a mailbox must.
fn open_room(root: &str) -> io::Result<OwnedFd> {
    let room = open_dir(CWD, root)?;
    read(&room, "registry.json")?;
    Ok(room)
}

fn read(at: impl AsFd, path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = openat(at, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(file).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// One line, in one appending write.
fn journal(room: &OwnedFd, event: &str, id: &str, name: &str) -> io::Result<()> {
    let append = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC;
    let mut journal = File::from(openat(room, ".journal/floor.jsonl", append, PRIVATE)?);
    let line =
        format!("{{\"v\":1,\"event\":\"{event}\",\"by\":\"{id}\",\"to\":\"{id}\",\"file\":\"{name}\"}}\n");
    journal.write_all(line.as_bytes())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_wherever_it_begins_and_nowhere_else() {
        for before in 0..100 {
            for after in [0, 1, 40] {
                let text = format!("{}needle{}", "n".repeat(before), "e".repeat(after));
                assert!(contains(text.as_bytes(), b"needle"), "{before} {after}");
                assert!(!contains(text.as_bytes(), b"needles"), "{before} {after}");
            }
        }
        assert!(!contains(b"", b"ab") && !contains(b"a", b"ab"));
    }

    #[test]
    fn the_terms_of_a_claim_are_json_and_end_with_the_file() {
        let terms = terms("bob-1", "x.md");
        let parsed: serde_json::Value = serde_json::from_str(&terms).unwrap();
        assert_eq!(parsed["file"], "x.md");
        assert_eq!(terms.rsplit('"').nth(1), Some("x.md"));
    }
}
