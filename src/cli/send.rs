//! `postroom send`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Verb;
use super::context::Context;
use super::fail::Fail;
use super::output::{GREEN, MAGENTA, note};
use super::text::Text;
use crate::hint::Hint;
use crate::mailbox::disk::read_source;
use crate::message::envelope::check_value;
use crate::message::{Priority, visible};
use crate::name::MessageId;
use crate::post::{Destination, Error, Failure, Fate, Letter, Me, Outcome, Post, Receipt, Until, line};
use crate::settings::Limits;
use crate::span;
use crate::surroundings::sandbox_hint;
use crate::view::send as view;

/// Send a message to one or several names
///
/// Exit 0: it is in each mailbox and survives a power cut, seen or not. Give the
/// text by one of -m, --file and standard input:
///
///   postroom send bob -s 'parser review' <<'EOF'
///   The parser is done. Please review src/parse.rs.
///   EOF
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Send {
    /// Names, NAME@ROOM in another room, or @GROUP
    #[arg(required = true, value_name = "TO")]
    to: Vec<String>,
    #[command(flatten)]
    writing: Writing,
    /// The full id of what it answers (`reply` does more)
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// Wait until then
    #[arg(long, value_name = "shown|done|reply", value_parser = until)]
    wait_for: Option<Until>,
    /// At most this long: seconds, 30m, 2h
    #[arg(long, value_name = "SPAN", default_value = "540", value_parser = span::parse)]
    timeout: Duration,
}

fn until(text: &str) -> Result<Until, String> {
    match text {
        "shown" => Ok(Until::Shown),
        "done" => Ok(Until::Done),
        "reply" => Ok(Until::Reply),
        _ => Err("one of shown, done, reply".to_owned()),
    }
}

/// The message options of every verb that sends.
#[derive(Debug, Args)]
pub(super) struct Writing {
    /// Default: the first line, or `re: ` and what it answers
    #[arg(short, long, allow_hyphen_values = true)]
    subject: Option<String>,
    #[command(flatten)]
    text: Text,
    /// low, normal, high or urgent
    #[arg(long, value_name = "PRIORITY", value_parser = priority, default_value = "normal")]
    priority: Priority,
    /// The conversation it belongs to
    #[arg(long)]
    channel: Option<String>,
    /// A field of your own; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = field)]
    field: Vec<(String, String)>,
    /// A file to send along; may be repeated
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Your own id: sent again, it is delivered once
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Send even what looks like a secret
    #[arg(long)]
    allow_secrets: bool,
}

impl Writing {
    /// Whether a text is given without standard input.
    pub(super) fn has_text(&self) -> bool {
        self.text.is_given()
    }

    /// Whether a file is to be sent along.
    pub(super) fn has_files(&self) -> bool {
        !self.attach.is_empty()
    }

    /// The letter, without recipients. Reads its text now, up to the room's limit.
    pub(super) fn letter(self, post: &Post) -> Result<Letter, Fail> {
        // A duplicate key would make the message unreadable.
        let again = |(at, (key, _)): (usize, &(String, String))| {
            self.field[..at].iter().any(|(other, _)| other == key).then(|| key.clone())
        };
        if let Some(key) = self.field.iter().enumerate().find_map(again) {
            let why = format!("the field `{key}` is given twice");
            return Err(Fail::usage(why, "one --field for each key"));
        }
        let mut letter = Letter {
            id: self.id.as_deref().map(|id| given("--id", id)).transpose()?,
            body: self.text.read(post.room().limits().body_bytes)?,
            subject: self.subject.map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()),
            priority: self.priority,
            channel: self.channel,
            allow_secrets: self.allow_secrets,
            extra: self.field,
            ..Letter::default()
        };
        let Limits { attachments, attachment_bytes, .. } = *post.room().limits();
        if self.attach.len() > attachments {
            return Err(Error::TooManyFiles { limit: attachments }.into());
        }
        for path in &self.attach {
            let bytes = read_source(path, attachment_bytes).map_err(|e| match e.is_transient() {
                true => e.into(),
                false => Fail::refused(e.to_string(), "--attach takes a readable file"),
            })?;
            letter.attach(&path.file_name().unwrap_or_default().to_string_lossy(), bytes);
        }
        Ok(letter)
    }
}

fn field(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("of the form KEY=VALUE")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if key.is_empty() || key.len() > 64 || !key.bytes().all(plain) {
        return Err("a key is made of letters, digits, `_` and `-`".to_owned());
    }
    let value = value.trim();
    check_value(value).map_err(|why| why.to_string())?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) fn priority(text: &str) -> Result<Priority, String> {
    Priority::parse(text).ok_or_else(|| "one of low, normal, high, urgent".to_owned())
}

fn given(what: &'static str, id: &str) -> Result<MessageId, Fail> {
    MessageId::parse_strict(id).map_err(|why| Error::BadName { what, text: id.to_owned(), why }.into())
}

/// A text among the names is the most common mistake. `bare`: a later name, and no text is given.
fn misplaced(name: &str, bare: bool, e: Error) -> Fail {
    if !bare && !name.contains(char::is_whitespace) {
        return e.into();
    }
    let mut hints: Vec<Hint> = vec!["the text goes behind -m: send NAME -m 'TEXT'".into()];
    hints.extend(e.hints());
    Fail::Told(e.code(), format!("nobody here is called `{}`", visible::clip(name, 60)), hints)
}

impl Verb for Send {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let (post, me) = context.post_and_me()?;
        // `-` among the names usually means standard input, which is read anyway.
        let to: Vec<String> = self.to.into_iter().filter(|name| name != "-").collect();
        if to.is_empty() {
            return Err(Fail::usage("no recipient is given", Hint::run(&["help", "send"])));
        }
        for (index, name) in to.iter().enumerate().filter(|(_, name)| !name.starts_with('@')) {
            let bare = index > 0 && !self.writing.has_text();
            post.check_address(name).map_err(|e| misplaced(name, bare, e))?;
        }
        let reply_to = self.reply_to.as_deref().map(|id| given("--reply-to", id)).transpose()?;
        let letter = Letter { to, reply_to, ..self.writing.letter(post)? };
        let receipts = post.send(&me, &letter)?;
        remark_own(context, &me, &receipts);
        tell(context, &receipts)?;
        match self.wait_for {
            Some(until) => await_fates(context, post, &me, &receipts, until, self.timeout),
            None => Ok(()),
        }
    }
}

/// Remarks that a message went to its own sender, who may have meant another.
pub(super) fn remark_own(context: &Context, me: &Me, receipts: &[Receipt]) {
    let own = Destination::Here(me.id.clone());
    let is_there = |receipt: &Receipt| !matches!(receipt.outcome, Outcome::Failed(_));
    if !context.output.quiet && receipts.iter().any(|receipt| receipt.to == own && is_there(receipt)) {
        let name = visible::line(me.shown());
        note(&format!("postroom: {name} is you: this message is in your own mailbox"));
    }
}

/// Waits until every copy has reached the wanted state; the time limit is for all of them together.
fn await_fates(
    context: &mut Context,
    post: &Post,
    me: &Me,
    receipts: &[Receipt],
    until: Until,
    timeout: Duration,
) -> Result<(), Fail> {
    context.output.flush().map_err(Fail::Output)?;
    let clock = context.clock();
    let start = clock.boot();
    let mut end = None;
    for receipt in receipts {
        let left = timeout.saturating_sub(clock.boot().saturating_sub(start));
        let (state, code) = match post.await_fate(me, receipt, until, receipts.len() == 1, left)? {
            Fate::Reached(state) => (Some(state), None),
            Fate::Missed(state) => (Some(state), Some(Failure::Refused)),
            Fate::TimedOut(state) => (state, Some(Failure::Nothing)),
        };
        end = end.or(code);
        let shown =
            state.as_ref().map_or_else(|| "no evidence".to_owned(), |state| line::of_state(post, state));
        let (id, to) = (receipt.id.short().unwrap_or_default(), visible::line(&receipt.name));
        if context.output.json {
            let (id, to) = (receipt.id.as_str(), receipt.name.as_str());
            context.output.json(&view::Fate { id, to, reached: code.is_none(), state: &shown });
        } else {
            context.output.line(&format!("{id} for {to}: {shown}"));
        }
    }
    end.map_or(Ok(()), |code| Err(Fail::Code(code)))
}

/// Shows the receipts. The exit code is that of the worst.
pub(super) fn tell<'a>(
    context: &mut Context,
    receipts: impl IntoIterator<Item = &'a Receipt>,
) -> Result<(), Fail> {
    let receipts: Vec<&Receipt> = receipts.into_iter().collect();
    context.done = receipts.iter().all(|r| matches!(r.outcome, Outcome::Queued | Outcome::Already(_)));
    if context.output.json {
        context.output.json(&view::Receipts::of(&receipts));
    }
    let mut worst = None;
    for receipt in receipts {
        let (verdict, rest) = line::of_receipt_in_two(receipt);
        let style = match &receipt.outcome {
            Outcome::Queued | Outcome::Already(_) => GREEN,
            Outcome::Unproven(_) => {
                worst = worst.or(Some(Failure::Unproven));
                MAGENTA
            }
            Outcome::Failed(e) => {
                worst = Some(e.code());
                note(&format!("postroom: {verdict} {rest}"));
                e.hints().into_iter().for_each(|hint| note(&format!("  {}", context.hint(hint))));
                if e.is_forbidden() {
                    note(&format!("  {}", sandbox_hint(&context.surroundings.harness, &context.root)));
                }
                continue;
            }
        };
        let output = &mut context.output;
        if !output.json && !output.quiet {
            output.line(&format!("{} {rest}", output.paint(style, verdict)));
        }
    }
    worst.map_or(Ok(()), |code| Err(Fail::Code(code)))
}
