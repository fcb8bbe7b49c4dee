//! A room to measure in: set up by Postroom itself, filled and emptied behind its back.
//!
//! Filling by plain files takes seconds where 100,000 durable sends would take minutes. A message that fills has a name
//! of its own, so that a sweep removes what the measurement sent and nothing else.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::programs::Programs;

const FILLED: &str = "-filled.md";
/// An ordinary handoff: 2 KiB, in lines as people write them.
pub(crate) const BODY: usize = 2048;
const LINE: &str = "What was agreed holds; the rest is in the notes of the last review.\n";

#[derive(Debug)]
pub(crate) struct Room<'a> {
    pub(crate) programs: &'a Programs,
    root: PathBuf,
    /// A file outside the mailboxes with the 2 KiB that a `send` sends.
    pub(crate) body: PathBuf,
    registry: Value,
}

impl<'a> Room<'a> {
    /// A room below this directory with mailboxes of these names.
    pub(crate) fn set_up(programs: &'a Programs, dir: &Path, names: &[&str]) -> Result<Self, String> {
        let root = dir.join("room");
        for name in names {
            let args = ["--root".as_ref(), root.as_os_str(), "setup".as_ref(), name.as_ref()];
            programs.output(programs.postroom(&args))?;
        }
        let path = root.join("registry.json");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let registry = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        // The floor journals too, and makes no directories.
        fs::create_dir_all(root.join(".journal")).map_err(|e| e.to_string())?;
        let body = dir.join("body");
        fs::write(&body, prose(BODY)).map_err(|e| e.to_string())?;
        Ok(Self { programs, root, body, registry })
    }

    pub(crate) fn id(&self, name: &str) -> Result<&str, String> {
        self.registry[name]["id"].as_str().ok_or_else(|| format!("registry.json has no id for {name}"))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn folder(&self, name: &str, folder: &str) -> Result<PathBuf, String> {
        Ok(self.root.join(self.id(name)?).join(folder))
    }

    /// `postroom --root ROOT --as NAME ARGS…`
    pub(crate) fn postroom(&self, me: &str, args: &[&OsStr]) -> Command {
        let mut all = vec!["--root".as_ref(), self.root.as_os_str(), "--as".as_ref(), me.as_ref()];
        all.extend(args);
        self.programs.postroom(&all)
    }

    /// `floor VERB ROOT ID ARGS…`
    pub(crate) fn floor(&self, verb: &str, name: &str, args: &[&str]) -> Result<Command, String> {
        let mut all: Vec<&OsStr> = vec![verb.as_ref(), self.root.as_os_str(), self.id(name)?.as_ref()];
        all.extend(args.iter().map(AsRef::<OsStr>::as_ref));
        Ok(self.programs.floor(&all))
    }

    /// Puts this many unread messages into an inbox.
    pub(crate) fn fill(&self, name: &str, count: u32) -> Result<(), String> {
        self.fill_with(name, 0..count)
    }

    /// Puts the messages of these numbers into an inbox.
    pub(crate) fn fill_with(&self, name: &str, numbers: Range<u32>) -> Result<(), String> {
        let inbox = self.folder(name, "inbox")?;
        for number in numbers {
            self.write(&inbox.join(file_name(number)), number, name)
                .map_err(|e| format!("cannot fill {name}: {e}"))?;
        }
        self.settle()
    }

    /// One valid message from alice to `name`, as a plain file.
    pub(crate) fn write(&self, path: &Path, number: u32, name: &str) -> Result<(), String> {
        self.put(path, &Letter { number, from: "alice", to: name, reply_to: None, body: "body\n" })
    }

    /// One valid message, moved into its place when it is whole, as senders do: a file that was written to a moment ago is waited for.
    pub(crate) fn put(&self, path: &Path, letter: &Letter<'_>) -> Result<(), String> {
        let told = |e: std::io::Error| e.to_string();
        let text = letter.text(self.id(letter.from)?, self.id(letter.to)?);
        let staged = path.with_extension("staged");
        let mut file =
            File::options().write(true).create_new(true).mode(0o600).open(&staged).map_err(told)?;
        file.write_all(text.as_bytes()).map_err(told)?;
        file.metadata().map_err(told)?;
        fs::rename(&staged, path).map_err(told)
    }

    /// Removes from an inbox what did not fill it.
    pub(crate) fn sweep(&self, name: &str) -> Result<(), String> {
        self.remove(name, "inbox", |file| !file.ends_with(FILLED))
    }

    /// Removes everything from a folder.
    pub(crate) fn empty(&self, name: &str, folder: &str) -> Result<(), String> {
        self.remove(name, folder, |_| true)
    }

    fn remove(&self, name: &str, folder: &str, goes: impl Fn(&str) -> bool) -> Result<(), String> {
        let told = |e: std::io::Error| format!("cannot sweep {folder} of {name}: {e}");
        for entry in fs::read_dir(self.folder(name, folder)?).map_err(told)? {
            let entry = entry.map_err(told)?;
            if goes(&entry.file_name().to_string_lossy()) {
                fs::remove_file(entry.path()).map_err(told)?;
            }
        }
        self.settle()
    }

    /// Writes out what is pending, else the next measured fsync would pay for it.
    pub(crate) fn settle(&self) -> Result<(), String> {
        let root = File::open(&self.root).map_err(|e| e.to_string())?;
        rustix::fs::syncfs(&root).map_err(|e| e.to_string())
    }
}

/// A message that is written behind Postroom's back; from and to are names.
#[derive(Debug)]
pub(crate) struct Letter<'a> {
    pub(crate) number: u32,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) reply_to: Option<u32>,
    pub(crate) body: &'a str,
}

impl Letter<'_> {
    /// The bytes, with the ids of sender and receiver.
    fn text(&self, from: &str, to: &str) -> String {
        let (id, body) = (message_id(self.number), self.body);
        let reply_to =
            self.reply_to.map(|number| format!("reply_to: {}\n", message_id(number))).unwrap_or_default();
        format!("---\nfrom: {from}\nmsg_id: {id}\nsubject: filled\n{reply_to}to: {to}\n---\n\n{body}")
    }
}

/// The id of the message with this number.
pub(crate) fn message_id(number: u32) -> String {
    format!("{}-0000-4000-8000-000000000000", digits(number))
}

/// The eight digits that the name of a message carries.
pub(crate) fn digits(number: u32) -> String {
    format!("{:08x}", mixed(number))
}

/// Lines as people write them, this many bytes in all.
pub(crate) fn prose(bytes: usize) -> String {
    LINE.chars().cycle().take(bytes).collect()
}

/// A name as Postroom gives it: one message a second, from the first of January.
pub(crate) fn file_name(number: u32) -> String {
    let (day, rest) = (1 + number / 86_400, number % 86_400);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("202601{day:02}T{hour:02}{minute:02}{second:02}Z-{}{FILLED}", digits(number))
}

/// Spreads numbers over all 32 bits, each to another: ids are random, and directories hash names.
fn mixed(number: u32) -> u32 {
    number.wrapping_add(1).wrapping_mul(0x9E37_79B1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_in_order_of_time() {
        let names: Vec<String> = (0..100_000).map(file_name).collect();
        assert_eq!(names[0], "20260101T000000Z-9e3779b1-filled.md");
        assert!(names[86_400].starts_with("20260102T000000Z-"));
        assert!(names.windows(2).all(|pair| pair[0][..16] < pair[1][..16]));
        let ids: std::collections::HashSet<&str> = names.iter().map(|name| &name[17..25]).collect();
        assert_eq!(ids.len(), names.len());
    }
    #[test]
    fn a_letter_is_a_message_of_the_right_length() {
        let body = prose(100);
        assert_eq!(body.len(), 100);
        let letter = Letter { number: 0, from: "a", to: "b", reply_to: Some(1), body: &body };
        let text = letter.text("a-1", "b-2");
        assert!(text.starts_with("---\nfrom: a-1\nmsg_id: 9e3779b1-0000-4000-8000-000000000000\n"));
        assert!(text.contains("\nreply_to: 3c6ef362-0000-4000-8000-000000000000\nto: b-2\n---\n\n"));
        assert!(text.ends_with(&body));
    }
}
