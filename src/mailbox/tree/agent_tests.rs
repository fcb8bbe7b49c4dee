//! Tests of an agent's inbox: states, golden bytes of their changes, and the number of files a look opens.

#![allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]

use std::time::Duration;

use super::super::scene::*;
use super::*;
use crate::mailbox::place::Place;

const SEED: &str = "---\nid: 2026-11-15-001 # ours\nfrom: 'explore'\nto: \"a\"\nstatus: pending # pending | in_progress | completed | failed\ncreated: 2026-11-15T10:00:00Z\ntags:\n  - x\n---\n\n## Request\n\nstatus: pending\n";

#[test]
fn a_status_change_keeps_every_other_byte() {
    let scene = Scene::new(&["a"]);
    let agent = scene.agent("a");
    let name = "2026-11-15-001.md";
    let file = scene.path("inboxes/a/2026-11-15-001.md");
    let forms = [
        SEED.to_owned(),
        SEED.replace('\n', "\r\n"),
        format!("\u{feff}{SEED}"),
        SEED.replace("status: pending #", "status: \"pending\" #"),
        SEED.replace("status: pending #", "status: 'pending' #"),
        SEED.trim_end().to_owned(),
    ];
    for text in forms {
        std::fs::write(&file, &text).unwrap();
        assert!(agent.set_status(name, Status::Pending, Status::InProgress, None).unwrap());
        let changed = text.replacen("pending", "in_progress", 1);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), changed);
        assert!(!agent.set_status(name, Status::Pending, Status::Failed, None).unwrap());
        assert!(agent.set_status(name, Status::InProgress, Status::Failed, Some("exit 1")).unwrap());
        let eol = if text.contains('\r') { "\r\n" } else { "\n" };
        let list = format!("tags:{eol}  - x{eol}");
        let failed = text.replacen("pending", "failed", 1);
        let failed = failed.replacen(&list, &format!("{list}error: exit 1{eol}"), 1);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), failed);
    }
    assert!(!agent.set_status("2026-11-15-999.md", Status::Pending, Status::Failed, None).unwrap());
    assert!(!agent.set_status("../a/2026-11-15-001.md", Status::Failed, Status::Pending, None).unwrap());
    assert_eq!(std::fs::read_dir(scene.path("inboxes/a")).unwrap().count(), 1);
}

#[test]
fn a_status_is_the_folder() {
    let scene = Scene::new(&["a"]);
    for (number, status) in Status::ALL.iter().enumerate() {
        scene.put("a", &format!("2026-11-15-00{number}"), &format!("status: {status}\n"));
    }
    std::fs::write(scene.path("inboxes/a/broken.md"), "---\nid: 1\n").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", scene.path("inboxes/a/link.md")).unwrap();
    let agent = scene.agent("a");
    let expect = [
        (Folder::Inbox, "2026-11-15-000.md"),
        (Folder::Working, "2026-11-15-001.md"),
        (Folder::Archive, "2026-11-15-002.md"),
        (Folder::Failed, "2026-11-15-003.md"),
        (Folder::Quarantine, "broken.md"),
    ];
    for (folder, name) in expect {
        let listing = agent.list(folder, 10).unwrap();
        assert_eq!((listing.names, listing.total), (vec![name.to_owned()], 1), "{folder:?}");
        assert_eq!(listing.strange.len(), usize::from(folder == Folder::Inbox));
        if folder != Folder::Quarantine {
            assert!(agent.read_task(folder, name, 1000).unwrap().is_some());
            assert_eq!(agent.path(folder, name), scene.path("inboxes/a").join(name));
        }
    }
    assert!(agent.read_task(Folder::Inbox, "2026-11-15-001.md", 1000).unwrap().is_none());
    assert!(matches!(
        agent.read_task(Folder::Inbox, "2026-11-15-000.md", 0).map(|found| found.map(|f| f.task.status)),
        Ok(Some(Status::Pending))
    ));
    assert_eq!(agent.unread().unwrap(), (1, Some(noon())));
    assert_eq!(agent.folders().unwrap().len(), 4);
    let shifted = agent.shift("2026-11-15-003.md", Folder::Failed, Folder::Inbox).unwrap();
    assert_eq!(shifted.as_deref(), Some("2026-11-15-003.md"));
    assert_eq!(agent.unread().unwrap().0, 2);
}

#[test]
fn an_empty_field_is_no_value() {
    let scene = Scene::new(&["a"]);
    scene.put("a", "2026-11-15-001", "workflow:\nstep:\nrequest_id:\n");
    let seen = scene.agent("a").facts(Tray::Inbox).unwrap();
    let (_, facts) = seen.readable().next().unwrap();
    assert_eq!((&facts.workflow, facts.step, &facts.request_id), (&None, None, &None));
}

#[test]
fn what_cannot_be_read_is_told_with_path_line_and_field() {
    let scene = Scene::new(&["a"]);
    scene.put("a", "one", "from: again\n");
    scene.put("a", "two", "status: waiting\n");
    let agent = scene.agent("a");
    let e = agent.set_status("one.md", Status::Pending, Status::Failed, None).unwrap_err();
    let wanted =
        format!("{}: line 7: the field `from` is there twice", scene.path("inboxes/a/one.md").display());
    assert_eq!(e.to_string(), wanted);
    let e = agent.read_task(Folder::Inbox, "two.md", 1000).unwrap_err();
    assert!(e.to_string().contains("two.md: line 6: `status`: not one of"), "{e}");
    for _ in 0..2 {
        let seen = agent.facts(Tray::Inbox).unwrap();
        // The caller knows the path.
        assert_eq!(seen.facts[0].1.as_ref().unwrap_err(), "line 7: the field `from` is there twice");
        assert!(seen.facts[1].1.as_ref().unwrap_err().starts_with("line 6: `status`: not one of"));
        assert_eq!(seen.broken(), ["one.md", "two.md"]);
        assert_eq!(agent.list(Folder::Inbox, 9).unwrap().broken, ["one.md", "two.md"]);
        assert_eq!(agent.ready(9).unwrap().broken, ["one.md", "two.md"]);
    }
}

/// A scene that trusts a file at once after reading it, because tests do not wait two seconds.
fn trusting(agents: &[&str]) -> Scene {
    let mut scene = Scene::new(agents);
    scene.tree.racy = Duration::ZERO;
    scene
}

#[test]
fn a_second_look_opens_only_what_changed() {
    let scene = trusting(&["a"]);
    for number in 0..10_000 {
        scene.put("a", &format!("2026-11-15-{number:05}"), "status: completed\n");
    }
    let look = || scene.agent("a").facts(Tray::Inbox).unwrap().opened;
    assert_eq!(look(), 10_000);
    assert_eq!(look(), 0);
    for number in [3, 500, 9_999] {
        scene.put("a", &format!("2026-11-15-{number:05}"), "status: completed\npriority: high\n");
    }
    assert_eq!(look(), 3);
    assert_eq!(look(), 0);
    std::fs::remove_file(scene.path("inboxes/a/2026-11-15-00003.md")).unwrap();
    assert_eq!(look(), 0);
    let agent = scene.agent("a");
    assert_eq!(agent.list(Folder::Archive, 1).unwrap().total, 9_999);
    assert_eq!(agent.list(Folder::Archive, 1).unwrap().names, ["2026-11-15-00500.md"]);
    std::fs::write(scene.path(".postroom/index/inboxes/a.json"), "{\"v\":1,\"files\":{").unwrap();
    assert_eq!(look(), 9_999);
    std::fs::remove_dir_all(scene.path(".postroom")).unwrap();
    assert_eq!(look(), 9_999);
    assert_eq!(look(), 0);
}

#[test]
fn what_changed_just_now_is_opened_again() {
    let scene = Scene::new(&["a"]);
    scene.put("a", "2026-11-15-001", "");
    for _ in 0..3 {
        assert_eq!(scene.agent("a").facts(Tray::Inbox).unwrap().opened, 1);
    }
}

#[test]
fn a_message_is_filed_with_one_look_whatever_its_state() {
    let scene = Scene::new(&["a"]);
    let agent = scene.agent("a");
    let file =
        |name: &str| agent.archive_as(name, Status::Completed).unwrap().map(|(task, how)| (task.status, how));
    for status in [Status::Pending, Status::InProgress, Status::Failed] {
        scene.put("a", "one", &format!("status: {status}\n"));
        assert_eq!(file("one.md"), Some((status, ArchivedHow::Now)));
        assert_eq!(agent.status("one.md").unwrap(), Some(Status::Completed));
    }
    assert_eq!(file("one.md"), Some((Status::Completed, ArchivedHow::Before)));
    assert_eq!(file("two.md"), None);
    scene.put("a", "two", "");
    let terms =
        crate::mailbox::claim::Terms::new("me", "two.md", 1, Duration::from_secs(9), &Hand::default())
            .unwrap();
    let token = agent.claim("two.md", &terms).unwrap().unwrap();
    assert_eq!(file("two.md"), Some((Status::InProgress, ArchivedHow::Claimed)));
    assert_eq!(agent.status("two.md").unwrap(), Some(Status::InProgress));
    agent.settle(token, "two.md", Folder::Inbox, "").unwrap();
    assert_eq!(file("two.md"), Some((Status::Pending, ArchivedHow::Now)));
    scene.put("a", "three", "status: waiting\n");
    assert!(matches!(agent.archive_as("three.md", Status::Completed), Err(Error::Unparsed { .. })));
}
