//! Tests of [`super`], without any file of a mailbox: what they tell comes from the journal.

use std::sync::Arc;

use super::*;
use crate::clock::{Clock, SystemClock};
use crate::message::Priority;
use crate::post::Caller;

const ID: &str = "0193d7a0-0000-7000-8000-000000000001";

struct Scene {
    post: Post,
    courier: Dir,
    laptop: RoomName,
    _temp: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("room");
        let post = Post::open_or_make(&root, Caller::default(), Arc::new(SystemClock)).unwrap();
        let courier = post.room().root().create_dir(crate::network::FOLDER).unwrap();
        let laptop = crate::network::network_room("laptop").unwrap();
        Self { post, courier, laptop, _temp: temp }
    }

    fn later(&self) -> Later {
        Later::load(&self.courier).unwrap()
    }

    fn record(&self, event: &str, change: impl FnOnce(&mut Event)) {
        let mut event = Event { id: ID.into(), ..Event::new(event, "bob-1") };
        change(&mut event);
        self.post.record(event);
    }

    /// The states that are owed, in order of their letters.
    fn owed(&self, later: &mut Later) -> Vec<ReceiptState> {
        later.news(&self.post).unwrap().into_values().flatten().map(|item| item.state).collect()
    }

    fn tell(&self, later: &mut Later, is_sent: bool) {
        for (room, items) in later.news(&self.post).unwrap() {
            later.told((&room, &items), is_sent, SystemClock.now());
        }
    }

    fn size(&self) -> usize {
        self.courier.sub("received").unwrap().read(FILE, LIMIT).unwrap().unwrap_or_default().len()
    }
}

fn letter(id: &str) -> LetterContent {
    LetterContent {
        id: id.to_owned(),
        from: "alice-1".to_owned(),
        from_name: "alice".to_owned(),
        to: "bob-1".to_owned(),
        file: "f.md".to_owned(),
        subject: "s".to_owned(),
        priority: Priority::Normal,
        channel: None,
        reply_to: None,
        extra: vec![],
        body: String::new(),
        large: None,
        after: None,
    }
}

/// A letter that is followed, by a courier that looked once.
fn followed() -> (Scene, Later) {
    let scene = Scene::new();
    let mut later = scene.later();
    later.follow(&scene.laptop, &[&letter(ID)]);
    assert!(scene.owed(&mut later).is_empty());
    (scene, later)
}

#[test]
fn shown_is_told_once_whatever_process_carries() {
    let (scene, mut later) = followed();
    scene.record("shown", |_| ());
    assert_eq!(scene.owed(&mut later), [ReceiptState::Shown]);
    scene.tell(&mut later, true);
    assert!(scene.owed(&mut later).is_empty());
    scene.record("shown", |_| ());
    for _ in 0..3 {
        later = scene.later();
        assert!(scene.owed(&mut later).is_empty());
    }
    scene.record("done", |_| ());
    assert_eq!(scene.owed(&mut later), [ReceiptState::Done]);
    scene.tell(&mut later, true);
    assert!(later.open.is_empty() && scene.later().open.is_empty());
}

#[test]
fn a_receipt_is_owed_until_it_was_sent() {
    let (scene, mut later) = followed();
    scene.record("done", |_| ());
    scene.tell(&mut later, false);
    // A room that cannot be reached is not tried at each look, and another process tries at once.
    assert!(scene.owed(&mut later).is_empty());
    let mut later = scene.later();
    assert_eq!(scene.owed(&mut later), [ReceiptState::Done]);
    let items = later.news(&scene.post).unwrap().remove("laptop").unwrap();
    let now = SystemClock.now();
    later.told(("laptop", &items), false, now);
    later.kept_back.insert("laptop".into(), Timestamp::from_parts(now.seconds() - 60, 0));
    assert_eq!(scene.owed(&mut later), [ReceiptState::Done]);
    // What came meanwhile is not told by an older receipt.
    later.told(("laptop", &[ReceiptItem { state: ReceiptState::Shown, ..items[0].clone() }]), true, now);
    assert_eq!(scene.owed(&mut later), [ReceiptState::Done]);
}

#[test]
fn the_journal_says_the_state_without_a_look_at_the_files() {
    let answer = |event: &mut Event| {
        event.reply_to = ID.into();
        event.id = "0193d7a0-0000-7000-8000-000000000002".into();
    };
    type Step<'a> = (&'a str, &'a dyn Fn(&mut Event));
    let cases: [(&[Step<'_>], &[ReceiptState]); 8] = [
        (&[("shown", &|_| ()), ("sent", &answer)], &[ReceiptState::Answered]),
        (&[("sent", &answer), ("answered", &|_| ())], &[ReceiptState::Answered]),
        (&[("done", &|_| ()), ("archived", &|_| ())], &[ReceiptState::Done]),
        (&[("failed", &|event| event.note = "broken".into())], &[ReceiptState::Failed]),
        (&[("failed", &|event| event.note = "x".into()), ("retried", &|_| ())], &[]),
        (&[("archived", &|_| ())], &[]),
        // Somebody else's copy, and a notice that it came to nothing, say nothing.
        (&[("done", &|event| event.by = "eve-1".into())], &[]),
        (
            &[("sent", &|event| {
                answer(event);
                event.note = BOUNCE.into();
            })],
            &[],
        ),
    ];
    for (steps, wanted) in cases {
        let (scene, mut later) = followed();
        steps.iter().for_each(|(event, change)| scene.record(event, change));
        assert_eq!(
            scene.owed(&mut later),
            wanted,
            "{:?}",
            steps.iter().map(|step| step.0).collect::<Vec<_>>()
        );
    }
}

#[test]
fn the_oldest_of_too_many_is_forgotten_and_ended_lines_leave_the_file() {
    let scene = Scene::new();
    let id = |number: usize| format!("0193d7a0-0000-7000-8000-{number:012}");
    let letters: Vec<LetterContent> = (0..MOST + 5).map(|number| letter(&id(number))).collect();
    let mut later = scene.later();
    later.follow(&scene.laptop, &letters.iter().collect::<Vec<_>>());
    for later in [&later, &scene.later()] {
        assert_eq!(later.open.len(), MOST);
        assert!(later.number("laptop", &id(4), "bob-1").is_none());
        assert!(later.number("laptop", &id(5), "bob-1").is_some());
    }
    // A place in the journal, so that no file is looked at.
    later.at = Some(journal::end(scene.post.room()).unwrap());
    let before = scene.size();
    for number in 0..MOST + 5 {
        scene.record("done", |event| event.id = id(number));
    }
    scene.tell(&mut later, true);
    assert!(later.open.is_empty() && scene.size() < before / 10, "{before} {}", scene.size());
    assert!(scene.later().open.is_empty());
}
