//! W3: killed at every system call, in a `.claude` tree and in a workspace.
//!
//! Whatever was struck, each message is in one place, whole, with a valid status; the same command run again finishes it,
//! and nothing is answered twice. Tier 1 strikes every third call, tier 0 every third of those that leave other files behind than the
//! one before.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::ledger::body;
use crate::place::names_in;
use crate::strace::{self, Point};
use crate::w_scene::{Deed, Scene, token_of};
use crate::w_tree::{Filed, claude, filed};

/// What a look at the tree tells, after a kill or at the end.
struct Look {
    problems: Vec<String>,
    jobs: Vec<Filed>,
    archived: Vec<Filed>,
    responses: Vec<Filed>,
    new: usize,
}

fn look(scene: &Scene) -> Look {
    let mut problems = vec![];
    let mut tray = |tray: &str| filed(&scene.place, tray, &mut problems);
    let inbox = tray("inboxes/explore");
    let archived = tray("archive/inboxes/explore");
    let mut responses = tray("outboxes/explore");
    responses.extend(tray("archive/outboxes/explore"));
    let other = tray("inboxes/tester").len();
    tray("inboxes/writer");
    if other != 1 {
        problems.push("a bystander is gone".to_owned());
    }
    let new = inbox.iter().filter(|filed| filed.key == "new").count();
    let jobs = inbox.into_iter().filter(|filed| filed.key == "job").collect();
    Look { problems, jobs, archived, responses, new }
}

pub(crate) fn killed_at_every_call(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let (points, missed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for deed in Deed::ALL {
        let dir = lab.fast_dir();
        let scenes: Vec<Scene> =
            (0..lab.workers).map(|n| Scene::prepare(lab, &dir.path().join(format!("w{n}")), deed)).collect();
        let (clean, calls) = strace::trace(&scenes[0].run(), &dir.path().join("log"), &[]);
        findings.check(clean.ok(), || format!("{deed:?}: undisturbed: {}", clean.shown()));
        let changing =
            strace::points(&calls).into_iter().filter(|(_, call)| lab.tier > 0 || call.changes_files());
        // Of these, there is time for every third below tier 2.
        let every = if lab.tier < 2 { 3 } else { 1 };
        let all: Vec<Point> = changing.step_by(every).map(|(point, _)| point).collect();
        spread(lab.workers, &all, |n, point| {
            let scene = &scenes[n];
            scene.restore();
            let killed = strace::struck(&scene.run(), point, "signal=KILL").end();
            points.fetch_add(1, Ordering::Relaxed);
            // A run that was not struck proves nothing about the point.
            if killed.ok() {
                missed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let at = format!("{deed:?} killed at {point}");
            findings.extend(&at, after(deed, scene, !killed.stdout().is_empty()));
            findings.extend(&at, scene.place.doctor());
        });
    }
    let (points, missed) = (points.into_inner(), missed.into_inner());
    findings.check(missed * 50 <= points, || format!("{missed} points were not reached"));
    findings.verdict(format!("{points} points of {} deeds, {missed} not reached", Deed::ALL.len()))
}

/// Judges what a kill left, runs the deed again, and judges the end. `told`: its receipt was out before the kill.
pub(crate) fn after(deed: Deed, scene: &Scene, told: bool) -> Vec<String> {
    let struck = look(scene);
    let mut problems = struck.problems;
    let there = struck.jobs.len() + struck.archived.len();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            problems.push(what);
        }
    };
    expect(there == 1, format!("the job is there {there} times"));
    expect(struck.new <= 1 && struck.responses.len() <= 1, "something is there twice".to_owned());
    if matches!(deed, Deed::WorkspaceSend | Deed::WorkspaceReply) {
        problems.extend(after_workspace(deed, scene, told));
        return problems;
    }
    if matches!(deed, Deed::Claim | Deed::Read) {
        problems.extend(after_claim(deed, scene));
        return problems;
    }
    let questions = |scene: &Scene| {
        let text = fs::read_to_string(claude(&scene.place, "shared/session-context.md")).unwrap_or_default();
        (
            text.matches("why?").count(),
            text.starts_with("---\nsession_id:") && text.contains("## Open Questions\n"),
        )
    };
    let asked_before = questions(scene);
    let again = scene.run().end();
    // A process that comes back after the deed was done finds no claim any more, or nothing to clean up, and is told so.
    let told = match deed {
        Deed::CleanUp => again.code == Some(1),
        deed => deed.is_held() && again.code == Some(3),
    };
    expect(again.ok() || told, format!("the second run: {}", again.shown()));
    if deed == Deed::Append {
        let asked = questions(scene);
        expect(asked_before.1 && asked.1, "the shared file is not whole".to_owned());
        expect(
            asked_before.0 <= 1 && asked.0 == asked_before.0 + 1,
            format!("asked {asked_before:?}, then {asked:?}"),
        );
    }
    problems.extend(at_the_end(deed, scene));
    problems
}

/// What is wrong with the end of a deed in a tree.
fn at_the_end(deed: Deed, scene: &Scene) -> Vec<String> {
    let mut problems = vec![];
    let mut expect = |holds: bool, what: String| {
        if !holds {
            problems.push(what);
        }
    };
    // The asker looks, which carries over what was cut off.
    let asker = if deed == Deed::ReplyInTree { "writer" } else { "alice" };
    scene.place.run(&["--as", asker, "check"]);
    let end = look(scene);
    let status = end.jobs.first().map(|job| job.fields["status"].clone()).unwrap_or_default();
    let wanted = match deed {
        Deed::Send | Deed::Release | Deed::Append => "pending",
        Deed::Fail => "failed",
        Deed::CleanUp => "",
        _ => "completed",
    };
    expect(status == wanted, format!("at the end the job is `{status}`, not `{wanted}`"));
    let answers = match deed {
        Deed::ReplyInTree => {
            names_in(&claude(&scene.place, "inboxes/writer")).iter().filter(|n| !n.starts_with('.')).count()
        }
        _ => scene.place.messages("alice", "inbox").len(),
    };
    let replied = matches!(deed, Deed::Reply | Deed::ReplyInTree | Deed::ReplyWithFile);
    let answered = replied || matches!(deed, Deed::DoneWithAnswer | Deed::Fail | Deed::CleanUp);
    expect(answers == usize::from(answered), format!("{answers} answers reached {asker}"));
    expect(end.responses.len() == usize::from(answered), format!("{} responses", end.responses.len()));
    expect(end.new == usize::from(deed == Deed::Send), format!("{} new messages", end.new));
    if deed == Deed::ReplyWithFile {
        let files = scene.place.folder("alice", "attachments");
        let whole = |id: &String| {
            fs::read(files.join(id).join("letter.txt")).is_ok_and(|b| b == body("new").as_bytes())
        };
        let all = names_in(&files);
        expect(all.len() == 1 && all.iter().all(whole), format!("the file of the answer: {all:?}"));
    }
    if deed == Deed::Append {
        let text = fs::read_to_string(claude(&scene.place, "shared/session-context.md")).unwrap_or_default();
        expect(text.contains("why?"), format!("what was appended is gone: {text:?}"));
    }
    if deed == Deed::CleanUp {
        let left = names_in(&claude(&scene.place, "outboxes/explore"))
            .iter()
            .filter(|n| !n.starts_with('.'))
            .count();
        expect(end.archived.len() == 1 && left == 0, "the chain is not archived".to_owned());
    }
    problems.extend(end.problems);
    problems
}

/// What is wrong after a deed that was acknowledged, and that nobody does again.
pub(crate) fn acknowledged(deed: Deed, scene: &Scene) -> Vec<String> {
    match deed {
        // No claim outlives a power cut: the message comes back.
        Deed::Claim | Deed::Read => after_claim(deed, scene),
        Deed::WorkspaceSend | Deed::WorkspaceReply => at_the_end_in_workspaces(deed, scene),
        _ => at_the_end(deed, scene),
    }
}

/// A claimer that died: the job comes back when the lease ends, and can be finished.
fn after_claim(deed: Deed, scene: &Scene) -> Vec<String> {
    let place = &scene.place;
    let mut problems = vec![];
    let claims = claude(place, ".postroom/claims/explore/claimed");
    if deed == Deed::Read {
        // Its lease is half an hour: it is ended by hand.
        for token in names_in(&claims) {
            let path = claims.join(token).join("claim.json");
            let terms = fs::read_to_string(&path).unwrap_or_default();
            if let Ok(mut terms) = serde_json::from_str::<Value>(&terms) {
                terms["until_ms"] = 0.into();
                fs::write(&path, terms.to_string()).expect("other terms");
            }
        }
    }
    let limit = Instant::now() + Duration::from_secs(10);
    while place.run(&["--as", "explore", "check", "--count"]).stdout() != "1\n" {
        if Instant::now() > limit {
            problems.push(format!("the job never came back: {:?}", look(scene).jobs));
            return problems;
        }
    }
    let again = place.run(&["--as", "explore", "claim", "--json"]);
    let token = token_of(&again).unwrap_or_default();
    let done = place.run(&["--as", "explore", "done", &token]);
    let end = look(scene);
    if !done.ok() || end.jobs.first().is_none_or(|job| job.fields["status"] != "completed") {
        problems.push(format!("it cannot be finished: {}, {}", again.shown(), done.shown()));
    }
    if !names_in(&claims).is_empty() {
        problems.push("a claim is left over".to_owned());
    }
    problems.extend(end.problems);
    problems
}

fn after_workspace(deed: Deed, scene: &Scene, told: bool) -> Vec<String> {
    let mut problems = vec![];
    let count = |side: &str, kind: &str, key: &str, problems: &mut Vec<String>| {
        scene.in_workspace(side, kind, key, problems)
    };
    let asked = count("right", "NEW", "job", &mut problems);
    let answered = count("left", "REPLY", "answer", &mut problems);
    let news = count("right", "NEW", "new", &mut problems);
    if asked + answered == 0 || answered > 1 || news > 1 {
        problems.push(format!("{asked} requests, {answered} answers, {news} new"));
    }
    // Once its receipt is out, a reply that is run again is a second answer, as in a maildir.
    let finished = deed == Deed::WorkspaceReply && told && asked == 0 && answered == 1;
    let again = scene.run().end();
    if !again.ok() {
        problems.push(format!("the second run: {}", again.shown()));
    }
    let second = finished && scene.in_workspace("left", "REPLY", "answer", &mut problems) == 2;
    if !second {
        problems.extend(at_the_end_in_workspaces(deed, scene));
    }
    problems
}

fn at_the_end_in_workspaces(deed: Deed, scene: &Scene) -> Vec<String> {
    let mut problems = vec![];
    let mut count = |side: &str, kind: &str, key: &str| scene.in_workspace(side, kind, key, &mut problems);
    let end = (count("right", "NEW", "job"), count("left", "REPLY", "answer"), count("right", "NEW", "new"));
    let wanted = if deed == Deed::WorkspaceSend { (1, 0, 1) } else { (0, 1, 0) };
    if end != wanted {
        problems.push(format!("at the end {end:?}, not {wanted:?}"));
    }
    problems
}
