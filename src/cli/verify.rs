//! `postroom tools verify`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{GREEN, RED};
use crate::mailbox::Dir;
use crate::message::{Protocol, protocol, visible};
use crate::post::Failure;
use crate::view::rooms as view;

/// Check whether files are valid messages, of which protocol, and what is wrong
///
/// One line per file: `FILE: valid maildir`, or the error with line and field. Values that a reader has to guess follow
/// in brackets. Exits 4 if any is not valid.
#[derive(Debug, Args)]
pub(super) struct Verify {
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// The largest file that is read.
const LIMIT: u64 = 64 * 1024 * 1024;

impl Verb for Verify {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let mut wrong = false;
        let mut files = vec![];
        for path in &self.files {
            let (protocol, doubts, fault) = match read(path).map(|bytes| protocol::verify(&bytes)) {
                Ok((protocol, Ok(doubts))) => (protocol, doubts, None),
                Ok((protocol, Err(e))) => (protocol, vec![], Some(e.to_string())),
                Err(why) => (None, vec![], Some(why)),
            };
            wrong |= fault.is_some();
            let word = protocol.map(Protocol::as_str);
            let shown = visible::line(&path.display().to_string());
            let line = match &fault {
                None => {
                    let remark = match doubts.is_empty() {
                        true => String::new(),
                        false => format!(" ({})", visible::line(&doubts.join("; "))),
                    };
                    let valid = context.output.paint(GREEN, "valid");
                    format!("{shown}: {valid} {}{remark}", word.unwrap_or_default())
                }
                Some(why) => {
                    let kind = word.map(|word| format!("{word}: ")).unwrap_or_default();
                    format!(
                        "{shown}: {} {kind}{}",
                        context.output.paint(RED, "not valid:"),
                        visible::line(why)
                    )
                }
            };
            if !context.output.json && !context.output.quiet {
                context.output.line(&line);
            }
            let (file, valid) = (path.display().to_string(), fault.is_none());
            files.push(view::VerifiedFile { file, valid, protocol: word, why: fault, doubts });
        }
        if context.output.json {
            context.output.json(&view::Verify { files });
        }
        if wrong { Err(Fail::Code(Failure::Refused)) } else { Ok(()) }
    }
}

/// The bytes of a regular file, without following a link or waiting on a FIFO.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("not the name of a file")?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = std::path::absolute(parent).map_err(|e| e.to_string())?;
    let dir = Dir::look(&parent).map_err(|e| e.to_string())?;
    dir.read(name, LIMIT).map_err(|e| e.to_string())?.ok_or_else(|| "there is no such file".to_owned())
}
