//! `postroom mb`: called by the functions of `tools shell-init`. Results and exit codes are those of the seed.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::text;
use crate::name::{MailboxId, MessageId};
use crate::post::{Awaited, Error, Failure, Filter, Letter, Outcome, Post};
use crate::random;
use crate::room::{self, Room};

/// Called by the mb_* functions of `tools shell-init`
#[derive(Debug, Args)]
pub(super) struct Mb {
    #[command(subcommand)]
    function: Function,
}

#[derive(Debug, Subcommand)]
enum Function {
    /// A fresh id
    Mint,
    /// The id that a name or an id stands for
    #[command(name = "self")]
    ThisProcess { text: String },
    /// Make a mailbox
    Ensure { id: String },
    /// Deliver; prints the file's name
    Send {
        from: String,
        to: String,
        body: std::path::PathBuf,
        subject: Option<String>,
        reply_to: Option<String>,
    },
    /// Paths of unread messages
    List { id: String },
    /// Move from inbox to archive
    Archive { path: String, id: String },
    /// Block until mail is there
    Wait {
        seconds: u32,
        id: String,
        /// Look again after this many seconds instead of watching
        #[arg(long)]
        poll: Option<f64>,
    },
    /// Claim a name; prints it, or `collision`
    Register { id: String, name: Option<String> },
    /// A name's id and inbox
    Lookup { name: String },
    /// All names
    Names,
    /// An id's name
    Whois { id: String },
}

impl Verb for Mb {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        match self.function {
            Function::Mint => context.output.text(MessageId::fresh().as_str()),
            Function::ThisProcess { text } => {
                // An id, else a name; otherwise the id of a mailbox to create.
                let id = context.post().ok().and_then(|post| post.own_id_by_text(&text).ok().flatten());
                context.output.text(id.as_ref().map_or(text.as_str(), MailboxId::as_str));
            }
            Function::Ensure { id } => {
                context.post_or_new()?.ensure(&mailbox(&id)?)?;
            }
            Function::Send { from, to, body, subject, reply_to } => {
                let (from, to) = (mailbox(&from)?, mailbox(&to)?);
                let post = context.post_or_new()?;
                let body = text::from_path(&body, post.room().limits().body_bytes)?;
                let reply_to = reply_to.filter(|id| !id.is_empty()).map(|id| {
                    let bad = |why| Error::BadName { what: "reply_to", text: id.clone(), why };
                    MessageId::parse_lenient(&id).map_err(bad)
                });
                let subject = subject.filter(|s| !s.is_empty()).unwrap_or_else(|| "message".to_owned());
                let letter = Letter {
                    subject: Some(subject),
                    body,
                    reply_to: reply_to.transpose()?,
                    allow_empty: true,
                    ..Letter::default()
                };
                let receipt = post.send_by_id(&from, &to, &letter).map_err(|e| match e {
                    Error::Secret { .. } => Fail::told(
                        e.code(),
                        e.to_string(),
                        "leave the key out; `send` can be told to let it pass",
                    ),
                    e => e.into(),
                })?;
                match receipt.outcome {
                    Outcome::Failed(e) => return Err(e.into()),
                    Outcome::Unproven(why) => {
                        return Err(Fail::told(
                            Failure::Unproven,
                            format!("delivered, durability not proven: {why}"),
                            receipt.file.clone(),
                        ));
                    }
                    Outcome::Queued | Outcome::Already(_) => {
                        context.done = true;
                        context.output.text(&receipt.file);
                    }
                }
            }
            Function::List { id } => {
                let id = mailbox(&id)?;
                let paths = room(context)?.map(|post| post.list_by_id(&id)).transpose()?.unwrap_or_default();
                paths.iter().for_each(|path| context.output.line(&path.display().to_string()));
            }
            Function::Archive { path, id } => {
                let post = context.post_or_new()?;
                let me = post.ensure(&mailbox(&id)?)?;
                post.archive_by_name(&me, path.rsplit('/').next().unwrap_or_default())?;
            }
            Function::Wait { seconds, id, poll } => {
                let post = context.post_or_new()?;
                let me = post.ensure(&mailbox(&id)?)?;
                let interval = poll.filter(|p| (0.0..86_400.0).contains(p)).map(Duration::from_secs_f64);
                if let Awaited::TimedOut(_) =
                    post.wait(&me, &Filter::default(), 1, Duration::from_secs(seconds.into()), interval)?
                {
                    return Err(Fail::Code(Failure::Nothing));
                }
            }
            Function::Register { id, name } => {
                let name = name
                    .filter(|n| !n.is_empty())
                    .unwrap_or_else(|| format!("agent-{}", &random::hex()[..4]));
                let name = context.post_or_new()?.register(&name, &mailbox(&id)?)?;
                context.done = true;
                context.output.text(name.as_deref().unwrap_or("collision"));
            }
            Function::Lookup { name } => {
                let post = room(context)?.ok_or(Fail::Code(Failure::Nothing))?;
                let entry = post.registry()?.lookup(&name)?.ok_or(Fail::Code(Failure::Nothing))?;
                context.output.line(&format!("{}\t{}", entry.id, entry.inbox));
            }
            Function::Names => {
                let Some(post) = room(context)? else { return Ok(()) };
                post.registry()?.entries.iter().for_each(|entry| context.output.line(&entry.name));
            }
            Function::Whois { id } => {
                let id = mailbox(&id)?;
                let post = room(context)?.ok_or(Fail::Code(Failure::Nothing))?;
                let entry = post.registry()?.by_id(&id).ok_or(Fail::Code(Failure::Nothing))?;
                context.output.line(&entry.name);
            }
        }
        Ok(())
    }
}

/// The room to look into. A root in which a room may be created has no mail and no names: the seed's functions create
/// it at the first write.
fn room(context: &mut Context) -> Result<Option<&'static Post>, Fail> {
    match context.post() {
        Err(Fail::Post(Error::Room(room::Error::NoRoom { path })))
            if Room::is_vacant(&path).is_ok_and(|vacant| vacant) =>
        {
            Ok(None)
        }
        other => other.map(Some),
    }
}

fn mailbox(id: &str) -> Result<MailboxId, Fail> {
    MailboxId::parse(id).map_err(|why| Error::BadName { what: "the id", text: id.to_owned(), why }.into())
}
