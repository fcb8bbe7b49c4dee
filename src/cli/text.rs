//! The text of a message from the command line: `-m`, `--file`, or standard input.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use super::fail::Fail;
use super::output::note;
use crate::post::Error;

/// The source of the text.
#[derive(Debug, Args)]
pub(super) struct Text {
    /// The text itself
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file", allow_hyphen_values = true)]
    message: Option<String>,
    /// A file with the text; `-`: standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Text {
    /// Whether the command line gives a text.
    pub(super) fn is_given(&self) -> bool {
        self.message.is_some() || self.file.is_some()
    }

    /// The text, read up to the room's limit.
    pub(super) fn read(&self, limit: u64) -> Result<String, Fail> {
        if self.is_given() && self.file.as_deref() != Some(Path::new("-")) {
            no_other_text("the text is given by an option")?;
        }
        if let Some(text) = &self.message {
            return Ok(text.clone());
        }
        match &self.file {
            Some(path) => from_path(path, limit),
            None => from_stdin(limit),
        }
    }
}

/// Refuses a text on standard input that nobody would read, as far as it can be seen without waiting. A file that nobody
/// has read from was meant. Bytes in a pipe may be the rest of a list or of a script that the shell is working through,
/// so they get a remark.
pub(super) fn no_other_text(why: &str) -> Result<(), Fail> {
    let stdin = io::stdin();
    let Ok(stat) = rustix::fs::fstat(&stdin) else { return Ok(()) };
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile if stat.st_size > 0 && rustix::fs::tell(&stdin) == Ok(0) => {
            let what = format!("{why}, but there is a text on standard input");
            Err(Fail::usage(what, "--file - sends standard input; `</dev/null` leaves it out"))
        }
        rustix::fs::FileType::Fifo | rustix::fs::FileType::Socket
            if rustix::io::ioctl_fionread(&stdin).is_ok_and(|bytes| bytes > 0) =>
        {
            note(&format!("postroom: {why}; standard input is not sent (--file - sends it)"));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The text of a file; `-` is standard input.
pub(super) fn from_path(path: &Path, limit: u64) -> Result<String, Fail> {
    if path.as_os_str() == "-" {
        return from_stdin(limit);
    }
    let fault = |e: io::Error| {
        Fail::refused(format!("cannot read {}: {e}", path.display()), "--file takes a readable file")
    };
    let file = std::fs::File::open(path).map_err(fault)?;
    text_of(read_all(&file, limit).map_err(fault)?, limit)
}

fn from_stdin(limit: u64) -> Result<String, Fail> {
    if io::stdin().is_terminal() {
        note("Type the message; end it with Ctrl-D on a line of its own.");
    }
    let bytes = read_all(io::stdin().lock(), limit)
        .map_err(|e| Fail::not_done(format!("cannot read standard input: {e}"), "-m TEXT or --file FILE"))?;
    text_of(bytes, limit)
}

/// The bytes of a source, and at most one over the limit.
fn read_all(source: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    // Most texts fit, and are then read with two calls.
    let mut bytes = Vec::with_capacity(16 * 1024);
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text_of(bytes: Vec<u8>, limit: u64) -> Result<String, Fail> {
    if bytes.len() as u64 > limit {
        return Err(Error::BodyTooLarge { limit }.into());
    }
    Ok(String::from_utf8(bytes).map_err(|e| Error::BodyNotUtf8 { at: e.utf8_error().valid_up_to() })?)
}
