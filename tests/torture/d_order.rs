//! D3: the order lint over every operation, and over the second run of one that was cut off.
//!
//! First the lint itself is put to the proof, on traces written by hand that each break one rule. Then each
//! operation is traced whole. At last each is killed before a sync of a directory and run again: what the
//! first run published is owed by the second, which must not acknowledge it unsynced.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::d_power::every_op;
use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::lint::lint;
use crate::ops::Op;
use crate::place::Place;
use crate::process::Run;
use crate::strace::{self, Call};
use crate::w_scene::{Deed, Scene};

/// Traces by hand: what each shows, whether the lint must find something, and the calls.
const BY_HAND: [(&str, bool, &str); 26] = [
    ("the right order", false, "stage F; write F; fsync F; publish F I; fsync I; ack"),
    ("no sync of the file", true, "stage F; write F; publish F I; fsync I; ack"),
    (
        "the file is synced before its last write",
        true,
        "stage F; write F; fsync F; write F; publish F I; fsync I; ack",
    ),
    ("the sync of the file fails", true, "stage F; write F; fsync- F; publish F I; fsync I; ack"),
    ("a failed sync is tried again", true, "stage F; write F; fsync- F; fsync F; publish F I; fsync I; ack"),
    (
        "the file is synced after it is published",
        true,
        "stage F; write F; publish F I; fsync F; fsync I; ack",
    ),
    ("no sync of the directory", true, "stage F; write F; fsync F; publish F I; ack"),
    (
        "the directory is synced before the publishing",
        true,
        "stage F; write F; fsync F; fsync I; publish F I; ack",
    ),
    (
        "the directory is synced after the acknowledgement",
        true,
        "stage F; write F; fsync F; publish F I; ack; fsync I",
    ),
    ("another directory is synced", true, "stage F; write F; fsync F; publish F I; fsync T; ack"),
    ("a made directory whose parent is not synced", true, "mkdir D; ack"),
    ("a made directory whose parent is synced", false, "mkdir D; fsync R; ack"),
    ("moved after the output, synced before the end", false, "ack; publish F I; fsync I; end"),
    ("moved after the output, not synced before the end", true, "ack; publish F I; end"),
    ("a tree that is synced inside and published", false, "mkdir S; mkdir N; fsync S; move S; fsync R; ack"),
    ("a tree that is published unsynced inside", true, "mkdir S; mkdir N; move S; fsync R; ack"),
    ("the journal, which needs no sync", false, "stage J; write J; ack; end"),
    ("a message written in place", true, "stage P; write P; fsync P; fsync I; ack"),
    ("a rename that may replace", true, "stage F; write F; fsync F; replace F I; fsync I; ack"),
    ("a file that may be there already", true, "open F; write F; fsync F; publish F I; fsync I; ack"),
    ("a list that grows and is synced", false, "stage A; write A; fsync A; fsync L; ack"),
    ("a list whose lines are not synced", true, "stage A; write A; fsync L; ack"),
    ("a list whose name is not synced", true, "stage A; write A; fsync A; ack"),
    ("the terms of a claim, which a power cut ends", false, "mkdir C; stage K; write K; fsync B; ack"),
    ("a claim that is not synced", true, "mkdir C; fsync B; take; ack"),
    ("a claim that is not synced and is removed", false, "mkdir C; fsync B; take; rmdir C; ack"),
];

pub(crate) fn order_of_calls(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    for (what, bad, script) in BY_HAND {
        let found = lint(&by_hand(script), "/tmp/r").0;
        findings.check(found.is_empty() != bad, || format!("the lint misjudges `{what}`: {found:?}"));
    }
    let (published, mut seconds) = order_of(lab, &every_op(), &findings);
    seconds += a_takeover_that_was_interrupted(lab, &findings);
    let in_trees = order_of_deeds(lab, &Deed::ALL, &findings);
    let (rules, ops, deeds) = (BY_HAND.len(), Op::CHANGING.len() + Op::CLAIMS.len(), Deed::ALL.len());
    findings.verdict(format!(
        "{rules} traces by hand judged rightly; {ops} operations, {published} publishings, {seconds} second runs; {deeds} deeds in trees and workspaces, {in_trees} publishings"
    ))
}

/// Traces these operations, whole and killed at each sync and run again. Gives how many things were published, and how
/// many second runs there were.
pub(crate) fn order_of(lab: &Lab, ops: &[Op], findings: &Findings) -> (usize, usize) {
    let (published, seconds) = (AtomicUsize::new(0), AtomicUsize::new(0));
    spread(lab.workers, ops, |_, op| {
        let op = *op;
        let dir = lab.fast_dir();
        let place = op.prepare(lab, &dir.path().join("w"));
        let (log, root) = (dir.path().join("log"), place.root.display().to_string());
        op.restore(&place);
        let (ended, whole) = strace::trace(&op.command(&place), &log, &[]);
        findings.check(ended.ok(), || format!("{}: {}", op.word(), ended.shown()));
        let (found, count) = lint(&whole, &root);
        // A trace in which nothing is published would pass for the wrong reason.
        findings.check(count > 0, || format!("{}: nothing was published", op.word()));
        findings.extend(op.word(), found);
        published.fetch_add(count, Ordering::Relaxed);
        for (point, call) in strace::points(&whole) {
            if call.name != "fsync" {
                continue;
            }
            op.restore(&place);
            let kill = format!("--inject=fsync:signal=KILL:when={}", point.nth);
            let (_, mut calls) = strace::trace(&op.command(&place), &log, &[&kill]);
            // The call that was struck is in the log, but it was never made.
            calls.pop_if(|call| call.name == "fsync");
            let (second, rest) = strace::trace(&op.again(&place), &log, &[]);
            calls.extend(rest);
            let at = format!("{} killed at {point} and run again", op.word());
            let mut found = lint(&calls, &root).0;
            if matches!(op, Op::Read | Op::ReadById) {
                // Showing a message again says nothing about where it lies; at worst it is shown once more.
                found.retain(|what| !what.contains("/archive is not synced"));
            }
            if op.is_claim() && second.code == Some(3) {
                // It acknowledged nothing: after a power cut the message may be held by its claim again.
                found.retain(|what| !what.contains("is not synced before the end"));
            }
            findings.extend(&at, found);
            seconds.fetch_add(1, Ordering::Relaxed);
        }
    });
    (published.into_inner(), seconds.into_inner())
}

/// The same of deeds in a tree and in workspaces, whole. Gives how many things were published.
pub(crate) fn order_of_deeds(lab: &Lab, deeds: &[Deed], findings: &Findings) -> usize {
    let published = AtomicUsize::new(0);
    spread(lab.workers, deeds, |_, deed| {
        let dir = lab.fast_dir();
        let scene = Scene::prepare(lab, &dir.path().join("w"), *deed);
        let (ended, calls) = strace::trace(&scene.run(), &dir.path().join("log"), &[]);
        findings.check(ended.ok(), || format!("{deed:?}: {}", ended.shown()));
        // The tree and the workspaces lie beside the room.
        let (found, count) = lint(&calls, &scene.place.base.display().to_string());
        findings.check(count > 0, || format!("{deed:?}: nothing was published"));
        findings.extend(&format!("{deed:?}"), found);
        published.fetch_add(count, Ordering::Relaxed);
    });
    published.into_inner()
}

/// The first session of a room takes a mailbox over, whole and killed at each sync and run again: the directory of
/// sessions that the killed run made has to be synced by the second. Gives how many second runs there were.
pub(crate) fn a_takeover_that_was_interrupted(lab: &Lab, findings: &Findings) -> usize {
    let dir = lab.fast_dir();
    let place = before_a_takeover(lab, &dir.path().join("w"));
    let (log, root) = (dir.path().join("log"), place.root.display().to_string());
    let run = takeover(&place);
    let (ended, whole) = strace::trace(&run, &log, &[]);
    findings.check(ended.ok(), || format!("takeover: {}", ended.shown()));
    findings.extend("takeover", lint(&whole, &root).0);
    let syncs = whole.iter().filter(|call| call.name == "fsync").count();
    for nth in 1..=syncs {
        place.restore();
        let (_, mut calls) = strace::trace(&run, &log, &[&format!("--inject=fsync:signal=KILL:when={nth}")]);
        // The call that was struck is in the log, but it was never made.
        calls.pop_if(|call| call.name == "fsync");
        let (again, rest) = strace::trace(&run, &log, &[]);
        calls.extend(rest);
        findings.check(again.ok(), || format!("takeover killed at fsync#{nth}: {}", again.shown()));
        findings.extend(&format!("takeover killed at fsync#{nth} and run again"), lint(&calls, &root).0);
    }
    syncs
}

/// A room in which nobody has a session.
pub(crate) fn before_a_takeover(lab: &Lab, base: &Path) -> Place {
    let place = Place::with(lab, base, &["alice", "bob"]);
    place.save();
    place
}

pub(crate) fn takeover(place: &Place) -> Run {
    place.command(&["takeover", "bob", "--force"]).env("CLAUDE_CODE_SESSION_ID", "session-of-bob")
}

/// A trace out of a script: F is a file staged in T, P one created in the inbox I, J the journal, S a mailbox in
/// the making with its inbox N, D a new mailbox in the root R, A a list in L, C a claim in B with its terms K.
fn by_hand(script: &str) -> Vec<Call> {
    let lines = script.split("; ").map(|step| {
        let (verb, what) = step.split_once(' ').unwrap_or((step, ""));
        let path = |letter: &str| match letter {
            "F" => "/tmp/r/bob/tmp/m.md.1",
            "P" => "/tmp/r/bob/inbox/m.md",
            "T" => "/tmp/r/bob/tmp",
            "I" => "/tmp/r/bob/inbox",
            "D" => "/tmp/r/dave",
            "S" => "/tmp/r/.staging/dave.1",
            "N" => "/tmp/r/.staging/dave.1/inbox",
            "J" => "/tmp/r/.journal/day.jsonl",
            "A" => "/tmp/r/bob/attempts/m.md",
            "L" => "/tmp/r/bob/attempts",
            "B" => "/tmp/r/bob/claimed",
            "C" => "/tmp/r/bob/claimed/0f",
            "K" => "/tmp/r/bob/claimed/0f/claim.json",
            _ => "/tmp/r",
        };
        let at = path(what.split(' ').next().unwrap_or_default());
        let (directory, name) = at.rsplit_once('/').unwrap_or(("", at));
        match verb {
            "stage" => format!("openat(6<{directory}>, \"{name}\", O_WRONLY|O_CREAT|O_EXCL, 0600) = 8<{at}>"),
            "open" => format!("openat(6<{directory}>, \"{name}\", O_WRONLY|O_CREAT, 0600) = 8<{at}>"),
            "replace" => {
                let (from, to) = ("6</tmp/r/bob/tmp>, \"m.md.1\"", "7</tmp/r/bob/inbox>, \"m.md\"");
                format!("renameat2({from}, {to}, 0) = 0")
            }
            "write" => format!("write(8<{at}>, \"---\\nfrom, \\\"x\\\" = 1\"..., 112) = 112"),
            "fsync" => format!("fsync(8<{at}>) = 0"),
            "fsync-" => format!("fsync(8<{at}>) = -1 EIO (Input/output error) (INJECTED)"),
            "publish" => {
                let (from, to) = ("6</tmp/r/bob/tmp>, \"m.md.1\"", "7</tmp/r/bob/inbox>, \"m.md\"");
                format!("renameat2({from}, {to}, RENAME_NOREPLACE) = 0")
            }
            "move" => "renameat2(4</tmp/r/.staging>, \"dave.1\", 3</tmp/r>, \"dave\", RENAME_NOREPLACE) = 0"
                .to_owned(),
            "take" => {
                let (from, to) = ("6</tmp/r/bob/inbox>, \"m.md\"", "7</tmp/r/bob/claimed/0f>, \"m.md\"");
                format!("renameat2({from}, {to}, RENAME_NOREPLACE) = 0")
            }
            "rmdir" => format!("unlinkat(5<{directory}>, \"{name}\", AT_REMOVEDIR) = 0"),
            "end" => "exit_group(0) = ?".to_owned(),
            "mkdir" => format!("mkdirat(3<{directory}>, \"{name}\", 0700) = 0"),
            _ => "write(1</dev/null>, \"queued\\n\", 7) = 7".to_owned(),
        }
    });
    strace::parse(&lines.collect::<Vec<_>>().join("\n"))
}
