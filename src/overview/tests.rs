//! The overview of rooms that are small enough to say what is in them.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::clock::SystemClock;
use crate::dispatch::paused::PauseKind;
use crate::dispatch::runs::RunState;
use crate::dispatch::supervisor::Agent;
use crate::mailbox::IfAny;
use crate::post::{Caller, Filter, LEASE, Letter, NewMailbox};
use crate::process::presets;
use crate::settings::agents::AgentSettings;

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

fn agent(name: &str) -> Agent {
    let settings =
        AgentSettings { preset: "claude".into(), about: Some("reviews".into()), ..AgentSettings::default() };
    Agent {
        name: name.to_owned(),
        settings: Arc::new(settings),
        preset: Arc::new(presets::named("claude").unwrap()),
        cwd: Path::new("/").into(),
        project: None,
        environment: vec![],
    }
}

#[test]
fn each_agent_and_each_other_mailbox_has_a_card() {
    let (_temp, post) = post();
    let me = post.me().unwrap();
    let letter = |subject: &str| Letter {
        to: vec!["bob".into()],
        subject: Some(subject.into()),
        body: "x".into(),
        ..Letter::default()
    };
    let sent = post.send(&me, &letter("first")).unwrap();
    post.send(&me, &letter("second")).unwrap();
    let bob = post.addressee("bob").unwrap();
    let staff = || {
        let mut staff = Staff::default();
        staff.agents = vec![(agent("bob"), Some(bob.clone())), (agent("nobody"), None)];
        staff
    };
    let look = || Overview::with_board(&post, Ok(staff())).unwrap().cards;
    let cards = look();
    let names: Vec<&str> = cards.iter().map(|card| card.name.as_str()).collect();
    assert_eq!(names, ["bob", "nobody", "alice"]);
    let waits = CardState::Waiting { waits_for: WaitsFor::Dispatcher, until: None, why: "none runs".into() };
    assert_eq!((&cards[0].state, cards[0].queue, cards[0].unread), (&waits, 2, Some(2)));
    let kind = CardKind::Agent { preset: "claude".into(), program: "claude".into() };
    assert_eq!((&cards[0].kind, cards[0].about.as_deref()), (&kind, Some("reviews")));
    assert_eq!((&cards[1].state, &cards[1].id), (&CardState::NoMailbox, &None));
    assert_eq!((&cards[2].state, &cards[2].kind), (&CardState::Idle, &CardKind::Plain));

    // Answers that start nobody do not hide what waits for a dispatcher.
    let path = post.room().path().to_owned();
    let by_bob = Caller { flag: Some("bob".into()), ..Caller::default() };
    let by_bob = Post::open(&path, by_bob, Arc::new(SystemClock)).unwrap();
    for _ in 0..4 {
        let ask = Letter { to: vec!["alice".into()], body: "?".into(), ..Letter::default() };
        let asked = by_bob.send(&by_bob.me().unwrap(), &ask).unwrap().remove(0).id;
        post.reply(&me, asked.as_str(), Letter { body: "yes".into(), ..Letter::default() }).unwrap();
    }
    let cards = look();
    assert_eq!((&cards[0].state, cards[0].queue, cards[0].unread), (&waits, 2, Some(6)));
    for message in post
        .browse(&post.other(&bob).unwrap(), |folder| folder == crate::mailbox::Folder::Inbox, None, 10)
        .unwrap()
        .messages
    {
        let header = message.header.unwrap();
        if header.envelope.reply_to.is_some() {
            by_bob
                .move_to(&by_bob.me().unwrap(), header.envelope.id.as_str(), crate::mailbox::Folder::Archive)
                .unwrap();
        }
    }

    // One message is at work, and a run before it failed.
    let them = post.other(&bob).unwrap();
    let claimed =
        post.claim(&them, None, Some(sent[0].id.as_str()), &Filter::default(), LEASE).unwrap().0.unwrap();
    let runs = Runs::open(post.room()).unwrap();
    let begin = |state: RunState| {
        let now = post.room().clock().now();
        let open = runs.begin(now).unwrap();
        runs.count(bob.as_str(), "t", &[], now, |_| None::<()>).unwrap();
        let record = serde_json::json!({"v": 1, "id": open.id, "mailbox": bob.as_str(), "agent": "bob", "message": "m",
            "file": claimed.terms.file, "from": "alice", "thread": "t", "attempt": 1, "started": now.precise(),
            "state": state, "why": "no answer; it ended with:\nmore"});
        runs.record(&open.dir, &serde_json::from_value(record).unwrap()).unwrap();
        open
    };
    let failed = begin(RunState::Failed);
    runs.close(failed);
    runs.count_cost(bob.as_str(), post.room().clock().now(), 0.25).unwrap();
    let open = begin(RunState::Running);
    let cards = look();
    assert_eq!(cards[0].state, CardState::Running);
    let [current] = cards[0].running.as_slice() else { panic!("{cards:?}") };
    assert_eq!((current.run.id.as_str(), current.subject.as_deref()), (open.id.as_str(), Some("first")));
    assert_eq!((cards[0].queue, cards[0].unread, cards[0].cost), (1, Some(1), 0.25));
    assert_eq!(cards[0].last.as_ref().map(Run::first_reason), Some("no answer"));
    runs.close(open);

    let pause = Pause::new(PauseKind::Person, "bob", "holiday", post.room().clock().now(), None);
    runs.pause(bob.as_str(), &pause).unwrap();
    assert_eq!(look()[0].state, CardState::Paused { pause });
}

#[test]
fn a_mailbox_says_that_its_agent_has_no_program() {
    let (_temp, post) = post();
    let bob = post.addressee("bob").unwrap();
    let mut staff = Staff::default();
    staff.vacant = vec![("bob".into(), bob)];
    let cards = Overview::with_board(&post, Ok(staff)).unwrap().cards;
    assert_eq!((&cards[1].state, &cards[1].kind), (&CardState::NoProgram, &CardKind::AgentWithoutProgram));
}
