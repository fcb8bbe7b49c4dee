//! Tests of claims in a tree: one winner, a lease that ends, and a kill at every step.

#![allow(clippy::disallowed_methods, reason = "tests arrange files by hand")]

use std::time::Duration;

use super::super::scene::*;
use super::*;

const NAME: &str = "2026-11-15-001.md";

fn terms(clock: &Hand) -> Terms {
    Terms::new("worker", NAME, 1, Duration::from_secs(60), clock).unwrap()
}

fn one() -> (Scene, Agent, Hand) {
    let scene = Scene::new(&["a"]);
    scene.put("a", "2026-11-15-001", "");
    let agent = scene.agent("a");
    (scene, agent, Hand::default())
}

#[test]
fn fifty_messages_are_claimed_once_each() {
    let scene = Scene::new(&["a"]);
    let clock = Hand::default();
    let mut all: Vec<_> = (0..50).map(|n| format!("2026-11-15-{n:03}")).collect();
    all.iter().for_each(|name| scene.put("a", name, ""));
    let wins = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (tree, clock, all) = (scene.tree.clone(), &clock, &all);
                scope.spawn(move || {
                    let agent = tree.agent(&id("a")).unwrap();
                    let claim = |name: &String| agent.claim(&format!("{name}.md"), &terms(clock)).unwrap();
                    all.iter().filter(|name| claim(name).is_some()).cloned().collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let mut wins = wins;
    wins.sort();
    all.sort();
    assert_eq!(wins, all);
    assert_eq!(scene.agent("a").tokens().unwrap().len(), 50);
}

#[test]
fn a_claim_is_settled_by_its_token_alone() {
    let (scene, agent, clock) = one();
    let token = agent.claim(NAME, &terms(&clock)).unwrap().unwrap();
    assert!(scene.text("inboxes/a/2026-11-15-001.md").contains("status: in_progress\n"));
    assert_eq!(agent.list(Folder::Claimed(token), 9).unwrap().names, [NAME]);
    assert_eq!(agent.list(Folder::Working, 9).unwrap().total, 0);
    assert!(agent.read_task(Folder::Claimed(token), NAME, 1000).unwrap().is_some());
    assert!(agent.read_task(Folder::Working, NAME, 1000).unwrap().is_none());
    assert_eq!(agent.folders().unwrap().len(), 5);
    assert_eq!(agent.claim(NAME, &terms(&clock)).unwrap(), None);
    assert_eq!(agent.settle(Token::fresh(), NAME, Folder::Archive, "").unwrap(), None);
    assert_eq!(agent.settle(token, "other.md", Folder::Archive, "").unwrap(), None);
    let settled = agent.settle(token, NAME, Folder::Failed, "no luck").unwrap();
    assert_eq!(settled.as_deref(), Some(NAME));
    assert!(scene.text("inboxes/a/2026-11-15-001.md").contains("status: failed\n"));
    assert!(scene.text("inboxes/a/2026-11-15-001.md").contains("error: no luck\n"));
    assert_eq!(agent.settle(token, NAME, Folder::Archive, "").unwrap(), None);
    assert_eq!(agent.tokens().unwrap(), []);
}

#[test]
fn a_lease_that_ends_gives_the_message_back_and_counts() {
    let (_scene, agent, clock) = one();
    let token = agent.claim(NAME, &terms(&clock)).unwrap().unwrap();
    clock.pass(50);
    let mut longer = agent.terms(token).unwrap().unwrap();
    longer.extend(Duration::from_secs(60), &clock);
    assert!(agent.renew(token, &longer).unwrap());
    clock.pass(50);
    assert_eq!(agent.return_expired(&clock).unwrap(), Vec::<String>::new());
    clock.pass(20);
    assert_eq!(agent.return_expired(&clock).unwrap(), [NAME]);
    assert_eq!(agent.return_expired(&clock).unwrap(), Vec::<String>::new());
    assert_eq!(agent.list(Folder::Inbox, 9).unwrap().names, [NAME]);
    assert_eq!((agent.tries(NAME).unwrap(), agent.attempts(NAME).unwrap().len()), (1, 1));
    assert_eq!(agent.end_of(token).unwrap().unwrap().how, "expired");
    assert_eq!(agent.settle(token, NAME, Folder::Archive, "").unwrap(), None);
    assert!(!agent.renew(token, &longer).unwrap());
    assert_eq!(agent.tokens().unwrap(), []);
}

#[test]
fn a_kill_after_the_terms_leaves_the_message_pending_and_claimable() {
    let (scene, agent, clock) = one();
    // A killed claim leaves its terms, and a status that was not reached.
    let dead = agent.claim(NAME, &terms(&clock)).unwrap().unwrap();
    scene.put("a", "2026-11-15-001", "");
    let token = agent.claim(NAME, &terms(&clock)).unwrap().unwrap();
    assert_eq!(agent.tokens().unwrap(), [token]);
    assert_eq!(agent.settle(dead, NAME, Folder::Archive, "").unwrap(), None);
    // The dead claim's lease cannot end the living one's.
    assert_eq!(agent.return_expired(&clock).unwrap(), Vec::<String>::new());
    assert_eq!(agent.list(Folder::Claimed(token), 9).unwrap().total, 1);
}

#[test]
fn a_kill_before_the_terms_are_cleared_changes_nothing() {
    let (scene, agent, clock) = one();
    for status in ["completed", "failed", "pending"] {
        scene.put("a", "2026-11-15-001", "");
        agent.claim(NAME, &terms(&clock)).unwrap().unwrap();
        scene.put("a", "2026-11-15-001", &format!("status: {status}\n"));
        assert_eq!(agent.return_expired(&clock).unwrap(), Vec::<String>::new());
        assert_eq!(agent.tokens().unwrap(), []);
        assert_eq!(agent.status(NAME).unwrap().unwrap().as_str(), status);
    }
    assert_eq!(agent.tries(NAME).unwrap(), 0);
}

#[test]
fn a_message_that_is_broken_and_repaired_comes_back() {
    let (scene, agent, clock) = one();
    let token = agent.claim(NAME, &terms(&clock)).unwrap().unwrap();
    scene.put("a", "2026-11-15-001", "status: in_progress\nstatus: twice\n");
    clock.pass(100);
    assert_eq!(agent.return_expired(&clock).unwrap(), Vec::<String>::new());
    assert_eq!(agent.tokens().unwrap(), [token]);
    scene.put("a", "2026-11-15-001", "status: in_progress\n");
    assert_eq!(agent.return_expired(&clock).unwrap(), [NAME]);
}

#[test]
fn what_others_began_is_left_to_them() {
    let (scene, agent, clock) = one();
    scene.put("a", "2026-11-15-001", "status: in_progress\n");
    assert_eq!(agent.return_expired(&clock).unwrap(), Vec::<String>::new());
    assert_eq!(agent.list(Folder::Working, 9).unwrap().names, [NAME]);
    assert!(!scene.path(".postroom/claims").exists());
    // Without its terms, a claim of ours counts as one of another program.
    scene.put("a", "2026-11-15-001", "");
    let token = agent.claim(NAME, &terms(&clock)).unwrap().unwrap();
    std::fs::remove_dir_all(scene.path(".postroom")).unwrap();
    assert_eq!(agent.settle(token, NAME, Folder::Archive, "").unwrap(), None);
    assert_eq!(agent.list(Folder::Working, 9).unwrap().names, [NAME]);
}
