//! `postroom tools compose`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::text::Text;
use crate::hint::Hint;
use crate::mailbox::Dir;
use crate::message::compose::{self, Parts};
use crate::message::{Priority, Protocol};
use crate::random;
use crate::settings::Limits;

/// Print a valid message of any protocol without delivering it
///
/// For clients that place files themselves. Looks nothing up: ids and paths are checked and used as given. maildir and
/// tree need --from and --to (ids), workspace needs --receiver and --reply-path.
#[derive(Debug, Args)]
pub(super) struct Compose {
    /// maildir, workspace or tree
    #[arg(long, value_parser = protocol)]
    protocol: Protocol,
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    #[arg(long, value_name = "ID")]
    to: Option<String>,
    /// Default: a new one (tree: the first of today)
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// maildir: the subject; tree: the context
    #[arg(short, long, allow_hyphen_values = true)]
    subject: Option<String>,
    /// The message this one answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    #[arg(long)]
    channel: Option<String>,
    /// low, normal, high or urgent
    #[arg(long, value_name = "PRIORITY", value_parser = super::send::priority, default_value = "normal")]
    priority: Priority,
    /// workspace: the file this message is delivered as
    #[arg(long, value_name = "PATH")]
    receiver: Option<String>,
    /// workspace: the file its reply is delivered as
    #[arg(long, value_name = "PATH")]
    reply_path: Option<String>,
    /// The workflow it belongs to
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Its step in that workflow
    #[arg(long, value_name = "N")]
    step: Option<u64>,
    #[command(flatten)]
    text: Text,
    /// Write it to this new file instead
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn protocol(text: &str) -> Result<Protocol, String> {
    Protocol::parse(text).ok_or_else(|| "one of maildir, workspace, tree".to_owned())
}

impl Verb for Compose {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        if self.output.is_some() {
            let instead = "leave it out, and let the shell write what is printed";
            context.must_not_write_in_session("--output", instead)?;
        }
        let parts = Parts {
            body: self.text.read(Limits::default().body_bytes)?,
            from: self.from,
            to: self.to,
            id: self.id,
            subject: self.subject,
            reply_to: self.reply_to,
            channel: self.channel,
            priority: self.priority,
            receiver: self.receiver,
            reply_path: self.reply_path,
            workflow: self.workflow,
            step: self.step,
        };
        let made = compose::compose(self.protocol, &parts, context.clock().now(), random::bytes());
        let message = made.map_err(|e| Fail::refused(e.to_string(), Hint::run(&["help", "compose"])))?;
        match &self.output {
            Some(path) => write(path, &message),
            None => {
                context.output.result(&message);
                Ok(())
            }
        }
    }
}

/// Writes a new file, whole or not at all. Never replaces an existing one.
fn write(path: &Path, message: &str) -> Result<(), Fail> {
    let refuse = |why: &str| Fail::refused(format!("{}: {why}", path.display()), "--output takes a new file");
    let name =
        path.file_name().and_then(|name| name.to_str()).ok_or_else(|| refuse("not the name of a file"))?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = std::path::absolute(parent).map_err(|e| refuse(&e.to_string()))?;
    let dir = Dir::look(&parent)?;
    let staged = format!(".{name}.{}", random::unique_hex());
    dir.stage(&staged, message.as_bytes())?;
    if let Err(e) = dir.publish(&staged, &dir, name) {
        let _ = dir.remove(&staged);
        return Err(e.into());
    }
    Ok(dir.sync()?)
}
