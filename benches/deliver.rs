//! Deliveries by the library in one process, for `cargo xtask bench deliver`, which sets them against a bare loop.
//!
//! `deliver ROOT FROM TO COUNT [send]` makes COUNT deliveries of 2 KiB into an existing mailbox and prints how many it
//! made a second. Each is a whole one: a fresh id, the rendered envelope, staged, synced, published, synced. With `send`
//! the verb is measured instead, which also checks the letter and records it in the journal. Started by cargo, without
//! these arguments, it has nothing to measure against and says so.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the rules of clippy.toml are for the mail path; a measurement reads arguments and the clock"
)]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use postroom::clock::{Clock, SystemClock};
use postroom::mailbox::Durability;
use postroom::mailbox::{self, Maildir};
use postroom::message::{Envelope, FileName, Priority, ProtocolFields, maildir};
use postroom::name::MessageId;
use postroom::post::{Caller, Letter, Outcome, Post};

const BODY: usize = 2048;
const SUBJECT: &str = "subject";
const LINE: &str = "What was agreed holds; the rest is in the notes of the last review.\n";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let body: String = LINE.chars().cycle().take(BODY).collect();
    let rate = match args[..] {
        [root, from, to, count] => rate(count.parse()?, deliveries(&open(root, from)?, to, &body)?)?,
        [root, from, to, count, "send"] => rate(count.parse()?, sends(&open(root, from)?, to, body)?)?,
        _ => {
            println!("`cargo xtask bench deliver` measures this");
            return Ok(());
        }
    };
    println!("{rate:.0}");
    Ok(())
}

fn rate(count: u32, mut one: impl FnMut() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..count {
        one()?;
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

fn open(root: &str, from: &str) -> Result<Post> {
    let caller = Caller { flag: Some(from.to_owned()), ..Caller::default() };
    Ok(Post::open(Path::new(root), caller, Arc::new(SystemClock))?)
}

/// What a program does that delivers into one mailbox again and again.
fn deliveries(post: &Post, to: &str, body: &str) -> Result<impl FnMut() -> Result<()>> {
    let me = post.me()?;
    let entry = post.registry()?.lookup(to)?.ok_or("there is no such recipient")?;
    let mailbox = Maildir::open(post.room().root(), &entry.id)?;
    Ok(move || {
        loop {
            let id = MessageId::fresh();
            let short = id.short().ok_or("an id without digits")?;
            let name = FileName::new(SystemClock.now(), &short, SUBJECT, Priority::Normal);
            let envelope = Envelope {
                id,
                from: postroom::message::Origin::mailbox(me.id.to_string()),
                to: mailbox.id().to_string(),
                subject: SUBJECT.to_owned(),
                reply_to: None,
                priority: Priority::Normal,
                channel: None,
                extra: vec![],
                native: ProtocolFields::Maildir,
                doubts: vec![],
            };
            match mailbox.publish(&name, maildir::render(&envelope, body)?.as_bytes()) {
                Ok(Durability::Proven) => return Ok(()),
                // At a hundred thousand a second, two ids of one second share their eight digits now and then.
                Err(mailbox::Error::Exists { .. }) => {}
                Ok(Durability::Unproven(e)) | Err(e) => return Err(e.into()),
            }
        }
    })
}

fn sends(post: &Post, to: &str, body: String) -> Result<impl FnMut() -> Result<()>> {
    let me = post.me()?;
    let letter =
        Letter { to: vec![to.to_owned()], subject: Some(SUBJECT.to_owned()), body, ..Letter::default() };
    Ok(move || match post.send(&me, &letter)?.first().map(|receipt| &receipt.outcome) {
        Some(Outcome::Queued) => Ok(()),
        other => Err(format!("not queued: {other:?}").into()),
    })
}
