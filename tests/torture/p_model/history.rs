//! Histories: short random lists of steps, the same for the same seed.

use crate::p_model::oracle::{LATE, Oracle};
use crate::p_model::step::{EVERYONE, Key, Step, Who};

/// SplitMix64: a small generator whose numbers depend on the seed alone.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635_d1c2_a9e7)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    pub(crate) fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }
}

/// Four to ten steps, each of which makes sense after those before it.
pub(crate) fn history(draw: &mut Draw) -> Vec<Step> {
    let (mut steps, mut oracle) = (vec![], Oracle::default());
    let length = 4 + draw.below(7);
    while steps.len() < length {
        let step = one(draw, &oracle, &steps);
        let mut next = oracle.clone();
        if next.apply(&step).is_some() {
            oracle = next;
            steps.push(step);
        }
    }
    steps
}

fn one(draw: &mut Draw, oracle: &Oracle, before: &[Step]) -> Step {
    let n = before.len();
    let copies: Vec<&(Key, Who)> = oracle.copies.keys().collect();
    if copies.is_empty() || draw.below(100) < 22 {
        return arrival(draw, n);
    }
    let (key, who) = draw.of(&copies).clone();
    let answer = format!("a{n}");
    let bare = draw.one_in(3);
    match draw.below(50) {
        0..4 => Step::Read { who, key, bare },
        4..9 => Step::Claim { who, key, bare },
        9..13 => Step::Reply { who, key, answer },
        13..17 => Step::Done { who, key, answer: (!draw.one_in(3)).then_some(answer) },
        17..20 | 42..45 => Step::Fail { who, key, reason: format!("r{n}") },
        20..22 => Step::Retry { who, key },
        22 | 23 => Step::Release { who, key },
        24 => Step::Renew { who, key },
        25 | 26 => Step::Archive { who, key },
        27 => Step::Unarchive { who, key },
        28 | 29 | 48 => Step::Stale { who, key, verb: draw.of(&LATE) },
        30 | 31 | 45..48 => Step::HandAnswer { who, key, answer },
        32 => Step::Handback { who, key, answer },
        33 => Step::Check { who },
        34..37 | 38..42 => {
            let sent = before.iter().filter(|step| matches!(step, Step::Send { chosen: true, .. }));
            let sent: Vec<&Step> = sent.collect();
            match sent.is_empty() {
                true => Step::Check { who },
                false => {
                    // To a mailbox that is new since then it is no clash.
                    let grew = before.iter().any(|step| matches!(step, Step::Setup { .. }));
                    let clash = draw.one_in(4) && !grew;
                    Step::Again { send: Box::new(draw.of(&sent).clone()), clash }
                }
            }
        }
        37 => draw.of(&[
            Step::Doctor,
            Step::Setup { name: format!("extra{n}") },
            Step::Adopt,
            Step::Takeover { who },
        ]),
        _ => Step::CleanUp,
    }
}

/// A message that is new.
fn arrival(draw: &mut Draw, n: usize) -> Step {
    let (from, to) = (draw.of(&EVERYONE), draw.of(&EVERYONE));
    let key = format!("m{n}");
    if from == to {
        let to = draw.of(&["@all", "@team"]);
        return Step::Send { from, to, key, chosen: true, subject: "to many", priority: "normal" };
    }
    match draw.below(8) {
        0 | 1 => Step::Hand { from, to, key, home: draw.one_in(2) },
        2 => Step::Ask { from, to, key },
        _ => {
            let (chosen, subject) = (!draw.one_in(4), draw.of(&["job", "job", "spawn: job"]));
            let priority = draw.of(&["normal", "normal", "high"]);
            Step::Send { from, to, key, chosen, subject, priority }
        }
    }
}
