//! N2: a server that promises less than a mailbox does is named. What it promises is read where it can be read; a `send` says
//! *queued* whatever the server is, because the mailbox is what keeps the letter.

use crate::lab::{Findings, Lab, Outcome};
use crate::n_scene::{Scene, Site};

/// What the words say of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    SyncsLate,
    Unknown,
    Nothing,
}

fn verdict_of(said: &str) -> Verdict {
    match (said.contains("acknowledges mail before it is on disk"), said.contains("is unknown")) {
        (true, _) => Verdict::SyncsLate,
        (_, true) => Verdict::Unknown,
        _ => Verdict::Nothing,
    }
}

pub(crate) fn policy(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let mut cases = 0;
    for (monitored, syncs) in [(false, true), (false, false), (true, true), (true, false)] {
        let dir = lab.fast_dir();
        let site = Site { monitored, syncs, ..Site::PLAIN };
        let scene = Scene::new(lab, dir.path(), &["anna", "build"], site)?;
        let wanted = match (monitored && scene.tells_how_it_syncs(), syncs) {
            (false, _) => Verdict::Unknown,
            (true, false) => Verdict::SyncsLate,
            (true, true) => Verdict::Nothing,
        };
        let at = format!("monitored {monitored}, syncs {syncs}");
        let (_, status) = scene.say(0, &["courier", "status"]);
        let (_, doctor) = scene.say(0, &["doctor"]);
        findings.check(verdict_of(&status) == wanted, || format!("{at}: status says {status}"));
        // What is not known is no finding of the doctor.
        let late = wanted == Verdict::SyncsLate;
        findings.check((verdict_of(&doctor) == Verdict::SyncsLate) == late, || {
            format!("{at}: doctor says {doctor}")
        });
        let (sent, said) = scene.say(0, &["--as", "anna", "send", "build@build", "-m", "text"]);
        let is_modest = sent && said.starts_with("queued ") && !said.contains("delivered");
        findings.check(is_modest, || format!("{at}: send says {said}"));
        cases += 1;
    }
    findings.verdict(format!(
        "{cases} servers: what each promises is said by status and doctor, or that it is unknown"
    ))
}
