//! J1: file systems that lack something. Without a rename that replaces nothing, a link does the same;
//! without either, the command refuses in words. Nothing is ever overwritten.

use std::fs;

use crate::lab::{Findings, Lab, Outcome, need};
use crate::ops::Op;
use crate::place::names_in;
use crate::process::Run;

fn without(run: Run, rules: &[&str]) -> Run {
    let rules = rules.iter().map(|rule| format!("--inject={rule}"));
    let words = ["strace", "-q", "-o", "/dev/null"].map(str::to_owned);
    run.behind(words.into_iter().chain(rules))
}

pub(crate) fn lacking_calls(lab: &Lab) -> Outcome {
    need("strace")?;
    let findings = Findings::default();
    let (mut done, mut refused) = (0, 0);
    for op in Op::CHANGING {
        let dir = lab.fast_dir();
        let place = op.prepare(lab, dir.path());
        // What renameat2 says where it or its flag is unknown.
        for error in ["EINVAL", "ENOSYS"] {
            op.restore(&place);
            let at = format!("{} where renameat2 says {error}", op.word());
            let ended = without(op.command(&place), &[&format!("renameat2:error={error}")]).end();
            done += usize::from(ended.ok());
            findings.check(ended.ok(), || format!("{at}: {}", ended.shown()));
            findings.extend(&at, op.judge(&place, &ended, None));
            findings.extend(&at, place.doctor());
        }
        if matches!(op, Op::Setup | Op::FirstSetup) {
            continue;
        }
        for error in ["EPERM", "EOPNOTSUPP", "EMLINK"] {
            op.restore(&place);
            let at = format!("{} with no rename and linkat saying {error}", op.word());
            let rules = ["renameat2:error=EINVAL", &format!("linkat:error={error}")];
            let ended = without(op.command(&place), &rules).end();
            refused += usize::from(!ended.ok());
            findings.check(matches!(ended.code, Some(4 | 5)), || format!("{at}: {}", ended.shown()));
            let in_words = ended.stderr().starts_with("postroom: ");
            findings.check(in_words, || format!("{at}: it says nothing: {}", ended.shown()));
            let mut found = op.judge(&place, &ended, None);
            if matches!(op, Op::Read | Op::ReadById) {
                found.retain(|what| !what.starts_with("archived and never shown"));
            }
            findings.extend(&at, found);
            let left = names_in(&place.folder("bob", "tmp"));
            findings.check(left.is_empty(), || format!("{at}: left in tmp: {left:?}"));
        }
    }
    findings.extend("a taken name", overwrites(lab));
    findings.verdict(format!("{done} runs by link, {refused} refused in words, 0 overwritten"))
}

/// Archiving where the archive already has a file of that name, with other contents: that one stays, and the message is
/// still unread or has found another name.
pub(crate) fn overwrites(lab: &Lab) -> Vec<String> {
    let mut problems = vec![];
    let dir = lab.fast_dir();
    let place = Op::Archive.prepare(lab, dir.path());
    for rules in [&[][..], &["renameat2:error=EINVAL"], &["renameat2:error=EINVAL", "linkat:error=EPERM"]] {
        place.restore();
        let (name, message) = place.messages("bob", "inbox").pop().expect("the unread message");
        let taken = place.folder("bob", "archive").join(&name);
        fs::write(&taken, "of somebody else").expect("a file in the archive");
        let ended = without(Op::Archive.command(&place), rules).end();
        let kept = fs::read(&taken).is_ok_and(|bytes| bytes == b"of somebody else");
        let copies =
            |folder| place.messages("bob", folder).iter().filter(|(_, bytes)| *bytes == message).count();
        let (unread, archived) = (copies("inbox"), copies("archive"));
        let told = if ended.ok() { (unread, archived) == (0, 1) } else { (unread, archived) == (1, 0) };
        if !kept || !told || ended.crash().is_some() {
            let facts = format!("kept {kept}, unread {unread}, archived {archived}");
            problems.push(format!("{rules:?}: {facts}, {}", ended.shown()));
        }
    }
    problems
}
