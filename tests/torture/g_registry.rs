//! G3: one name, wanted by many at once. Exactly one gets it, and all others are told so.

use std::sync::Barrier;
use std::thread;

use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, names_in};

pub(crate) fn one_name(lab: &Lab) -> Outcome {
    const CALLERS: usize = 50;
    let rounds = if lab.tier == 0 { 20 } else { 200 };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice"]);
    for round in 0..rounds {
        let name = format!("name{round}");
        let start = Barrier::new(CALLERS);
        let ends: Vec<_> = thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| {
                    let (place, name, start) = (&place, &name, &start);
                    scope.spawn(move || {
                        // Sessions differ, so each is another agent; half of them spell the name differently.
                        let name = if caller.is_multiple_of(2) { name.clone() } else { name.to_uppercase() };
                        let session = format!("{name}-{caller}");
                        start.wait();
                        place.command(&["setup", &name]).env("CLAUDE_CODE_SESSION_ID", session).end()
                    })
                })
                .collect();
            callers.into_iter().map(|caller| caller.join().expect("a caller")).collect()
        });
        let won = ends.iter().filter(|ended| ended.ok()).count();
        let told =
            ends.iter().filter(|ended| ended.code == Some(4) && ended.stderr().contains("taken")).count();
        findings.check(won == 1 && told == CALLERS - 1, || {
            let odd = ends.iter().find(|ended| !matches!(ended.code, Some(0 | 4)));
            let odd = odd.map(|ended| ended.shown()).unwrap_or_default();
            format!("round {round}: {won} got the name, {told} were told that it is taken {odd}")
        });
    }
    let registry = std::fs::read(place.root.join("registry.json")).expect("the registry");
    let entries: Value = serde_json::from_slice(&registry).expect("a registry");
    let names = entries.as_object().map_or(0, serde_json::Map::len);
    findings.check(names == rounds + 1, || format!("{names} names after {rounds} rounds"));
    let mailboxes = names_in(&place.root).into_iter().filter(|name| name.starts_with("name")).count();
    findings.check(mailboxes == rounds, || format!("{mailboxes} mailboxes after {rounds} rounds"));
    findings.extend("afterwards", place.doctor());
    findings.verdict(format!("{rounds} rounds of {CALLERS} callers, one winner in each"))
}
