//! The implementation of each tool: its arguments, one verb of `post`, and the answer as text and as values.
//!
//! An answer has two forms: `text` is what the command line prints without a terminal, `value` is for programs.
//! Everything that matters is in both, and a body is in neither without its fence: Claude Code and Codex show a model
//! the values, others the text.

use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::desk::Desk;
use super::evidence::AfterSend;
use super::letters;
use crate::hint::{Hint, Present};
use crate::message::visible;
use crate::name::MessageId;
use crate::post::{self, Awaited, Error, Filter, HEADERS, NewMailbox, Post, line};
use crate::room;
use crate::view::{ToolResult, mcp as view};
use crate::wait::Stop;

/// How long a wait lasts: less than the minute after which many clients give up a call.
const PATIENCE: u64 = 50;
const LONGEST: u64 = 3600;

/// The answer of a tool.
#[derive(Debug)]
pub(super) struct Answer {
    text: String,
    value: Value,
    pub(super) failed: bool,
}

impl Answer {
    pub(super) fn new(text: impl Into<String>, result: &impl ToolResult) -> Self {
        // Only a map whose keys are not text could fail, and no result has one.
        Self { text: text.into(), value: serde_json::to_value(result).unwrap_or_default(), failed: false }
    }

    fn failure(message: &str, next: &[String]) -> Self {
        let mut text = visible::text(message);
        next.iter().for_each(|hint| text.push_str(&format!("\n  {}", visible::text(hint))));
        Self { text, value: Value::Null, failed: true }
    }

    pub(super) fn result(self) -> CallToolResult {
        let content = vec![ContentBlock::text(self.text)];
        if self.failed {
            return CallToolResult::error(content);
        }
        let mut result = CallToolResult::success(content);
        result.structured_content = Some(self.value);
        result
    }
}

/// Calls a tool. `None` if there is none of this name.
pub(super) fn call(
    desk: &Desk,
    name: &str,
    arguments: Map<String, Value>,
    deeds: &AfterSend,
    stop: &Stop,
) -> Option<Answer> {
    let answer = match name {
        "setup" => with(arguments, |wanted| setup(desk, wanted)),
        "names" => with(arguments, |wanted| names(desk, wanted)),
        "check" => with(arguments, |wanted| check(desk, &wanted)),
        "read" => with(arguments, |wanted| letters::read(desk, &wanted, deeds)),
        "send" => with(arguments, |wanted| letters::send(desk, wanted)),
        "reply" => with(arguments, |wanted| letters::reply(desk, wanted, deeds)),
        "wait" => with(arguments, |wanted| wait(desk, &wanted, stop)),
        "archive" => with(arguments, |wanted| letters::archive(desk, &wanted)),
        _ => return None,
    };
    Some(answer)
}

fn with<A: DeserializeOwned>(
    arguments: Map<String, Value>,
    act: impl FnOnce(A) -> post::Result<Answer>,
) -> Answer {
    match serde_json::from_value(Value::Object(arguments)) {
        Ok(wanted) => act(wanted).unwrap_or_else(|e| Answer::failure(&e.to_string(), &next_steps(&e))),
        Err(e) => {
            let next = "the schema of the tool says what it takes".to_owned();
            Answer::failure(&format!("the arguments do not fit: {e}"), &[next])
        }
    }
}

/// Hints for an error, in terms of the tools where they can help.
pub(super) fn next_steps(e: &Error) -> Vec<String> {
    let own = "or the person starts this server with --as NAME, or with AGENT_MAILBOX_ID set".to_owned();
    match e {
        Error::WhoAmI { .. } | Error::Room(room::Error::NoRoom { .. }) => {
            vec!["call the tool setup with a name for yourself".into(), own]
        }
        Error::NotMe { .. } | Error::NoMailbox { .. } => vec!["call the tool setup".into(), own],
        Error::NoMessage { .. } | Error::ShortReference { .. } => {
            vec!["the tool check shows the ids of unread mail".into()]
        }
        Error::UnknownName { .. } => {
            let hints = e.hints().into_iter().filter(|hint| matches!(hint, Hint::Advice(_)));
            lines(hints).chain(["the tool names shows who is here".into()]).collect()
        }
        e => lines(e.hints()).collect(),
    }
}

/// A client has no command line, so a command needs all its words.
fn lines(hints: impl IntoIterator<Item = Hint>) -> impl Iterator<Item = String> {
    hints.into_iter().map(|hint| hint.line(&Present::default()))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    name: Option<String>,
    about: Option<String>,
}

fn setup(desk: &Desk, wanted: Setup) -> post::Result<Answer> {
    let post = desk.post_or_new()?;
    let made = post.setup(&NewMailbox { name: wanted.name, about: wanted.about, ..NewMailbox::default() })?;
    let named = desk.caller.flag.is_some() || desk.caller.environment.is_some();
    let known = made.bound.is_some() || named || desk.remember(&made.id);
    let name = visible::line(&made.name);
    let unread = made.unread.map_or_else(|| "?".to_owned(), |unread| unread.to_string());
    let mut text =
        format!("name: {name}\nid: {}\nroom: {}\nunread: {unread}", made.id, desk.root().display());
    let note = match (known, made.bound.is_some() || named) {
        (false, _) => Some("not bound to a session: the person starts this server with --as"),
        (true, false) => Some("this lasts as long as the server runs; the person keeps the name with --as"),
        (true, true) => None,
    };
    let note = note.map(|note| format!("{note} {name}"));
    note.iter().for_each(|note| text.push_str(&format!("\n{note}")));
    Ok(Answer::new(text, &view::Setup::of(&made, note)))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    pattern: Option<String>,
    about: Option<String>,
}

fn names(desk: &Desk, wanted: Names) -> post::Result<Answer> {
    let post = desk.post()?;
    let which = post::Names { patterns: wanted.pattern.into_iter().collect(), about: wanted.about };
    let list = post.names(&which)?;
    let lines: Vec<String> =
        list.iter().map(|listed| line::of_name(listed, post.room().clock().now())).collect();
    let text = if lines.is_empty() { "nobody fits".to_owned() } else { lines.join("\n") };
    Ok(Answer::new(text, &view::Names::of(&list)))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    from: Option<String>,
    channel: Option<String>,
    reply_to: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wait {
    from: Option<String>,
    channel: Option<String>,
    reply_to: Option<String>,
    timeout: Option<u64>,
}

fn filter(
    post: &Post,
    from: Option<&str>,
    channel: Option<&str>,
    reply_to: Option<&str>,
) -> post::Result<Filter> {
    let id = |text: &str| MessageId::parse_lenient(text).map_err(|why| bad("reply_to", text, why));
    Ok(Filter {
        from: from.map(|name| post.addressee(name)).transpose()?,
        channel: channel.map(str::to_owned),
        reply_to: reply_to.map(id).transpose()?,
        ..Filter::default()
    })
}

fn check(desk: &Desk, wanted: &Check) -> post::Result<Answer> {
    let (post, me) = desk.post_and_me()?;
    let filter =
        filter(&post, wanted.from.as_deref(), wanted.channel.as_deref(), wanted.reply_to.as_deref())?;
    let checked = post.check(&me, &filter, wanted.limit.unwrap_or(HEADERS).max(1))?;
    let mut lines: Vec<String> = checked.headers.iter().map(|h| line::of_header(&post, h)).collect();
    if checked.more > 0 {
        lines.push(format!("… {} more: raise limit", checked.more));
    }
    lines.extend(checked.unreadable.iter().map(line::of_unreadable));
    if lines.is_empty() {
        lines.push(format!("no unread mail for {}", visible::line(me.shown())));
    }
    Ok(Answer::new(lines.join("\n"), &view::Check::of(&post, &checked)))
}

fn wait(desk: &Desk, wanted: &Wait, stop: &Stop) -> post::Result<Answer> {
    let (post, me) = desk.post_and_me()?;
    let filter =
        filter(&post, wanted.from.as_deref(), wanted.channel.as_deref(), wanted.reply_to.as_deref())?;
    let patience = Duration::from_secs(wanted.timeout.unwrap_or(PATIENCE).min(LONGEST));
    match post.wait_until_stopped(&me, &filter, HEADERS, patience, stop)? {
        Awaited::Mail(checked) => {
            let lines: Vec<String> = checked.headers.iter().map(|h| line::of_header(&post, h)).collect();
            Ok(Answer::new(lines.join("\n"), &view::Wait::mail(&post, &checked)))
        }
        Awaited::TimedOut(left) => {
            let mut lines = vec![format!(
                "no mail for {} in {} s; call wait again to go on",
                visible::line(me.shown()),
                patience.as_secs()
            )];
            lines.extend(left.unreadable.iter().map(line::of_unreadable));
            Ok(Answer::new(lines.join("\n"), &view::Wait::timed_out(&left)))
        }
    }
}

pub(super) fn bad(what: &'static str, text: &str, why: crate::name::BadName) -> Error {
    Error::BadName { what, text: text.to_owned(), why }
}
