//! The overview of rooms that are small enough to say what is in them.

use std::sync::Arc;

use super::*;
use crate::clock::SystemClock;
use crate::mailbox::IfAny;
use crate::post::{Caller, Letter, NewMailbox};

fn post() -> (tempfile::TempDir, Post) {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().canonicalize().unwrap().join("room");
    let clock = Arc::new(SystemClock);
    let post = Post::open_or_make(&path, Caller::default(), clock.clone()).unwrap();
    for name in ["alice", "bob"] {
        post.setup(&NewMailbox { name: Some(name.into()), ..NewMailbox::default() }).unwrap();
    }
    let caller = Caller { flag: Some("alice".into()), ..Caller::default() };
    let post = Post::open(&path, caller, clock).unwrap();
    (temp, post)
}

#[test]
fn mail_without_an_agent_waits_for_a_reader_and_a_look_leaves_no_trace() {
    let (_temp, post) = post();
    let me = post.me().unwrap();
    let letter = Letter { to: vec!["bob".into()], body: "x".into(), ..Letter::default() };
    post.send(&me, &letter).unwrap();
    let overview = Overview::look(&post, Ok(Staff::default())).unwrap();
    let [mail] = overview.waiting.as_slice() else { panic!("{overview:?}") };
    assert_eq!((mail.name.as_str(), mail.messages, mail.waits_for), ("bob", 1, WaitsFor::Reader));
    assert!(overview.faults.is_empty(), "{overview:?}");
    assert!(overview.is_like(&Overview::look(&post, Ok(Staff::default())).unwrap()));
    assert!(post.room().root().sub(crate::dispatch::runs::FOLDER).if_any().unwrap().is_none());
}

#[test]
fn settings_that_cannot_be_read_hide_nothing_else() {
    let (_temp, post) = post();
    let wrong = staff::Error::Table { name: "coder".into(), why: "no preset".into() };
    let overview = Overview::look(&post, Err(wrong)).unwrap();
    assert_eq!(overview.faults, ["the agents: [agents.coder]: no preset"]);
}
