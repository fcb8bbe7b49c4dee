//! D4: the mutation check. A build that exists only for this can leave out any one sync or no-replace flag. Every place
//! that the operations reach is left out in turn, and the order lint (D3), a taken name (J1) or the power cut (D1) has to
//! notice. Otherwise the battery would pass whether the call is there or not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::d_order::{
    a_takeover_that_was_interrupted, before_a_takeover, order_of, order_of_deeds, takeover,
};
use crate::d_power::{self, every_op};
use crate::disk::Kind;
use crate::j_odd::overwrites;
use crate::lab::{Findings, Lab, NotPassed, Outcome, need};
use crate::ops::Op;
use crate::process::Run;
use crate::w_power;
use crate::w_scene::{Deed, Scene};

pub(crate) fn every_mutant_is_caught(lab: &Lab) -> Outcome {
    need("strace")?;
    let Some(binary) = lab.mutant.clone() else {
        let how = "POSTROOM_MUTANT_BIN names no build with the feature `mutations`; cargo xtask torture D4 makes one";
        return Err(NotPassed::Skipped(how.to_owned()));
    };
    let lab = Lab { binary, ..lab.clone() };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let mut sites: BTreeMap<String, Way> = BTreeMap::new();
    for op in every_op() {
        let place = op.prepare(&lab, &dir.path().join(op.word().replace(' ', "-")));
        op.restore(&place);
        for site in reached(&op.command(&place), dir.path()) {
            sites.entry(site).or_default().ops.push(op);
        }
    }
    let place = before_a_takeover(&lab, &dir.path().join("takeover"));
    for site in reached(&takeover(&place), dir.path()) {
        sites.entry(site).or_default();
    }
    for deed in Deed::ALL {
        let scene = Scene::prepare(&lab, &dir.path().join(format!("{deed:?}")), deed);
        for site in reached(&scene.run(), dir.path()) {
            sites.entry(site).or_default().deeds.push(deed);
        }
    }
    findings.check(sites.keys().any(|site| site.starts_with("sync ")), || {
        format!("no sync is reached: {sites:?}")
    });
    // Nothing left out, nothing found: otherwise a finding below would say nothing.
    let sound = Findings::default();
    order_of(&lab, &[Op::Send], &sound);
    order_of_deeds(&lab, &[Deed::Send], &sound);
    findings.extend("nothing left out", sound.verdict("").err().into_iter().flat_map(told));
    let mut caught: BTreeMap<&str, usize> = BTreeMap::new();
    for (site, way) in &sites {
        let lab = Lab { mutation: Some(site.clone()), ..lab.clone() };
        match catch(&lab, way) {
            Some(by) => *caught.entry(by).or_default() += 1,
            None => findings.add(format!("`{site}` can be left out of {way:?} and nothing notices")),
        }
    }
    let by: Vec<String> = caught.iter().map(|(by, count)| format!("{count} by {by}")).collect();
    findings.verdict(format!("{} calls and flags left out in turn, caught {}", sites.len(), by.join(", ")))
}

/// What comes by a place.
#[derive(Debug, Default)]
struct Way {
    ops: Vec<Op>,
    /// In trees and workspaces.
    deeds: Vec<Deed>,
}

/// What notices first that something is left out.
fn catch(lab: &Lab, way: &Way) -> Option<&'static str> {
    for op in &way.ops {
        let found = Findings::default();
        order_of(lab, &[*op], &found);
        if found.verdict("").is_err() {
            return Some("the order lint");
        }
    }
    let found = Findings::default();
    order_of_deeds(lab, &way.deeds, &found);
    if found.verdict("").is_err() {
        return Some("the order lint");
    }
    let found = Findings::default();
    a_takeover_that_was_interrupted(lab, &found);
    if found.verdict("").is_err() {
        return Some("the order lint");
    }
    if !overwrites(lab).is_empty() {
        return Some("a taken name");
    }
    let cut = |outcome: Outcome| matches!(outcome, Err(NotPassed::Failed { .. }));
    if cut(d_power::on(lab, Kind::EXT4, &way.ops)) || cut(w_power::on(lab, &way.deeds, 1)) {
        return Some("the power cut");
    }
    None
}

fn told(not_passed: NotPassed) -> Vec<String> {
    match not_passed {
        NotPassed::Failed { problems, .. } => problems,
        NotPassed::Skipped(why) => vec![why],
    }
}

/// The places that a command comes by.
fn reached(run: &Run, base: &Path) -> BTreeSet<String> {
    let list = base.join("sites");
    let _ = fs::remove_file(&list);
    let ended = run.clone().env("POSTROOM_MUTATION_SITES", &list).end();
    assert!(ended.ok(), "{:?}: {}", run.words, ended.shown());
    fs::read_to_string(&list).unwrap_or_default().lines().map(str::to_owned).collect()
}
