//! P2: the race matrix. Two verbs on one message, or on one registry: the first is stopped after each of its look-ups,
//! locks, renames, links, unlinks and syncs, the second runs to its end, the first goes on.
//!
//! Whatever happens between them, it must look as if one had run after the other: the exit codes of both, what they
//! showed, and every file are those of one of the two orders, as they were seen without a race. A verb may also say that it
//! did nothing and can be tried again (exit 5), if that is so. A second verb that waits for a lock of the first may wait: then
//! the first goes on.
//!
//! Tier 2 does every pair at every point; tier 1 a sample, chosen by a seed that the result names. `POSTROOM_SEED` chooses it
//! again, and `POSTROOM_PAIR` the pairs whose name holds it (`Maildir Unread: Read beside Claim`), at every point.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::l_fence::Draws;
use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::ledger::body;
use crate::p_races_scene::{Protocol, Scene, Stage, Verb};
use crate::p_races_state::{difference, masked, without_litter};
use crate::p_races_stop::{Race, points, race, race_of_two_stopped};
use crate::process::Ended;
use crate::strace::{self, Point};

/// How many pairs, and how many points of each, tier 1 takes.
const SAMPLE: (usize, usize) = (250, 3);

/// Two verbs that meet.
#[derive(Clone, Copy, Debug)]
struct Pair {
    protocol: Protocol,
    stage: Stage,
    first: Verb,
    second: Verb,
}

impl Pair {
    /// Mail for a mailbox that is being removed: every point in every run.
    fn is_deadly(&self) -> bool {
        let both = [Verb::Prune, Verb::SendToPruned];
        self.first != self.second && both.contains(&self.first) && both.contains(&self.second)
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, stage, first, second } = self;
        write!(f, "{protocol:?} {stage:?}: {first:?} beside {second:?}")
    }
}

/// What came of two verbs: how each ended and whether it showed the message, and what is there afterwards.
#[derive(PartialEq, Eq)]
struct Met {
    ends: [(Option<i32>, bool); 2],
    state: Vec<String>,
}

pub(crate) fn race_matrix(lab: &Lab) -> Outcome {
    need("strace")?;
    let seed = std::env::var("POSTROOM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed =
        seed.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_secs()));
    let mut draws = Draws::new(seed);
    let mut pairs = every_pair();
    let all = pairs.len();
    let wanted = std::env::var("POSTROOM_PAIR").ok();
    if let Some(wanted) = &wanted {
        pairs.retain(|pair| pair.to_string().contains(wanted));
    }
    let lab = &Lab { tier: if wanted.is_some() { 2 } else { lab.tier }, ..lab.clone() };
    if lab.tier < 2 {
        let (mut some, mut others): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(Pair::is_deadly);
        some.extend((0..SAMPLE.0).map(|_| others.swap_remove(draws.below(others.len()))));
        pairs = some;
    }
    let chosen: Vec<(Pair, u64)> = pairs.into_iter().map(|pair| (pair, draws.next())).collect();
    let dir = lab.fast_dir();
    let tables: Vec<Table> =
        (0..lab.workers).map(|n| Table::new(lab, &dir.path().join(format!("w{n}")))).collect();
    let findings = Findings::default();
    let counts = Counts::default();
    spread(lab.workers, &chosen, |worker, (pair, seed)| {
        tables[worker].meet(*pair, Draws::new(*seed), &findings, &counts);
    });
    let [races, missed, waited, again] =
        [counts.races, counts.missed, counts.waited, counts.again].map(AtomicUsize::into_inner);
    findings.check(missed * 20 <= races, || format!("{missed} of {races} points were not reached"));
    let pairs = chosen.len();
    findings.verdict(format!(
        "{races} races of {pairs} of {all} pairs (seed {seed}), {missed} not reached, {waited} waited for a lock, {again} were told to try again"
    ))
}

/// Every pair in every stage in which both have something to do, or else in the first one of the first.
fn every_pair() -> Vec<Pair> {
    let mut pairs = vec![];
    for protocol in Protocol::ALL {
        for verbs in [&Verb::ON_MESSAGES[..], &Verb::ON_REGISTRY[..]] {
            for (first, second) in verbs.iter().flat_map(|a| verbs.iter().map(move |b| (*a, *b))) {
                let registry = verbs.len() == Verb::ON_REGISTRY.len();
                let common = first.stages().iter().filter(|stage| second.stages().contains(stage));
                let mut stages: Vec<Stage> = common.copied().collect();
                if stages.is_empty() {
                    stages.push(first.stages()[0]);
                }
                if registry {
                    stages = vec![Stage::Registry];
                }
                pairs.extend(stages.into_iter().map(|stage| Pair { protocol, stage, first, second }));
            }
        }
    }
    pairs
}

#[derive(Default)]
struct Counts {
    races: AtomicUsize,
    missed: AtomicUsize,
    waited: AtomicUsize,
    again: AtomicUsize,
}

/// The scenes of one worker, made when they are first needed.
struct Table<'a> {
    lab: &'a Lab,
    base: std::path::PathBuf,
    scenes: Mutex<HashMap<String, Scene>>,
}

impl<'a> Table<'a> {
    fn new(lab: &'a Lab, base: &Path) -> Self {
        Self { lab, base: base.to_owned(), scenes: Mutex::default() }
    }

    /// Lets two verbs meet at every point, or at some, and judges what comes of it.
    fn meet(&self, pair: Pair, mut draws: Draws, findings: &Findings, counts: &Counts) {
        let Pair { protocol, stage, first, second } = pair;
        let sick = [first, second].contains(&Verb::DoctorFix);
        let key = format!("{protocol:?}-{stage:?}-{sick}");
        let mut scenes = self.scenes.lock().expect("one thread has this table");
        let scene = scenes
            .entry(key.clone())
            .or_insert_with(|| Scene::prepare(self.lab, &self.base.join(&key), protocol, stage, sick));
        let at = pair.to_string();
        let orders = orders(scene, pair);
        let alone = orders.len() - 2;
        for (order, word) in orders.iter().zip(["in this order", "in the other order"]) {
            let bad = order.state.iter().filter(|line| line.starts_with("doctor: "));
            findings.extend(&format!("{at}, {word}"), bad.cloned());
        }
        scene.restore();
        let log = scene.place.base.join("log");
        let (_, calls) = strace::trace(&scene.command(first, "first"), &log, &[]);
        let mut points = points(&calls, &scene.place.root);
        if self.lab.tier < 2 && !pair.is_deadly() {
            let some = SAMPLE.1.min(points.len());
            points = (0..some).map(|_| points.swap_remove(draws.below(points.len()))).collect();
        }
        let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut judge = |race: Option<Race>, point: String| {
            counts.races.fetch_add(1, Ordering::Relaxed);
            let Some(Race { ends, waited }) = race else {
                counts.missed.fetch_add(1, Ordering::Relaxed);
                return;
            };
            counts.waited.fetch_add(usize::from(waited), Ordering::Relaxed);
            findings.extend(&format!("{at} at {point}"), ends.iter().filter_map(Ended::crash));
            let met = met(scene, pair, &ends);
            let like = orders.iter().position(|order| *order == met);
            counts.again.fetch_add(usize::from(like.is_some_and(|at| at >= alone)), Ordering::Relaxed);
            if like.is_none() && !allowed(scene, pair, &orders, &met, &ends) {
                wrong.entry(told(scene, &orders, &met, &ends)).or_default().push(point);
            }
        };
        for point in &points {
            judge(race(scene, [first, second], point), point.to_string());
        }
        if pair.is_deadly() && first == Verb::SendToPruned {
            scene.restore();
            let (_, calls) = strace::trace(&scene.command(second, "second"), &log, &[]);
            let before = before_publishing(&points);
            for other in self::points(&calls, &scene.place.root) {
                let race = race_of_two_stopped(scene, [first, second], [&before, &other]);
                judge(race, format!("{before} and {other}"));
            }
        }
        for (what, points) in wrong {
            findings.add(format!("{at} at {}: {what}", points.join(", ")));
        }
    }
}

/// The last point of a delivery before others can see it.
fn before_publishing(points: &[Point]) -> Point {
    let publishing =
        points.iter().position(|point| point.name.starts_with("rename") || point.name.starts_with("link"));
    points[publishing.expect("a delivery publishes") - 1].clone()
}

/// How a race that is like no order ended, and how the nearest order differs from it.
fn told(scene: &Scene, orders: &[Met], met: &Met, ends: &[Ended; 2]) -> String {
    let known = orders.iter().any(|order| order.ends == met.ends);
    let near = orders.iter().filter(|order| !known || order.ends == met.ends);
    let differences = near.map(|order| difference(&order.state, &met.state));
    let near = differences.min_by_key(String::len).unwrap_or_default();
    let codes = |met: &Met| met.ends.map(|(code, _)| code.unwrap_or(-1));
    let ways: Vec<_> = orders[..orders.len() - 2].iter().map(codes).collect();
    let said = ends.each_ref().map(|ended| {
        let text = masked(&scene.place.base, &format!("{} {}", ended.stderr(), ended.stdout()));
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(600).collect::<String>()
    });
    format!("exit {:?} {said:?}, in order {ways:?}; {near}", codes(met))
}

/// What no order gives and the documents allow.
fn allowed(scene: &Scene, pair: Pair, orders: &[Met], met: &Met, ends: &[Ended; 2]) -> bool {
    let verbs = [pair.first, pair.second];
    let is_archived = |line: &&String| line.contains("/archive/") || line.contains("status: completed");
    let archived = met.state.iter().filter(is_archived).any(|line| line.contains("a5ced000"));
    let alike = |n: usize, wanted: (Option<i32>, bool)| {
        let end = met.ends[n];
        end == wanted
            // Refused is refused, for whichever reason was seen first.
            || wanted == (Some(3), false) && end == (Some(4), false)
            // At least once: what one reader archives, another may show as well. In a workspace it stays until it is answered.
            || (archived || pair.protocol == Protocol::Workspace)
                && verbs[n] == Verb::Read
                && end == (Some(0), true)
            // Both removed it: it is gone.
            || verbs == [Verb::Prune; 2] && end.0 == Some(0)
    };
    // A second answer that finds the first says so, and sends none.
    let said = verbs == [Verb::Reply; 2]
        && ends.iter().all(Ended::ok)
        && ends.iter().any(|ended| ended.stdout().starts_with("sent before "));
    // What could not be sent stays as a draft.
    let undrafted = |state: &[String]| -> Vec<String> {
        state.iter().filter(|line| !line.contains("/scratch/")).cloned().collect()
    };
    let (orders, alone) = orders.split_at(orders.len() - 2);
    // Who finds a message in the hands of the other says so, and did nothing.
    let held = |n: usize| ends[n].code == Some(4) && ends[n].stderr().contains("it is in claimed");
    let did = [0, 1].map(|n| if held(n) { (Some(5), false) } else { met.ends[n] });
    // Terms of a message that is not in progress mean nothing.
    let state = without_litter(&met.state);
    let same = |order: &&Met| order.state == met.state || without_litter(&order.state) == state;
    orders.iter().filter(same).any(|order| (0..2).all(|n| alike(n, order.ends[n])))
        // Whether a mailbox is named that is being removed is a matter of moments.
        || verbs.contains(&Verb::Prune)
            && (0..2).any(|n| verbs[n] != Verb::Prune && matches!(met.ends[n].0, Some(3 | 5)))
            && alone.iter().any(|one| undrafted(&one.state) == undrafted(&met.state))
        // Both removed it: one of them has it in the trash.
        || verbs == [Verb::Prune; 2]
            && ends.iter().all(Ended::ok)
            && alone.iter().any(|one| one.state == met.state)
        || said && alone.iter().any(|alone| alone.state == met.state)
        || alone.iter().any(|one| one.ends == did && undrafted(&one.state) == undrafted(&met.state))
        || kept(scene, pair, ends)
}

/// How a claim whose lease is over may be seen.
#[derive(Clone, Copy)]
enum Lease {
    AsItIs,
    Returned,
    Running,
}

/// What the two come to without a race: one after the other, both ways. Last, one alone, the other having said that it did
/// nothing.
fn orders(scene: &Scene, pair: Pair) -> Vec<Met> {
    let run = |verb: Verb, session: &str| scene.command(verb, session).end();
    // The return of a claim that is over is a step of its own, which any look may have taken; and one that its holder is just
    // ending is not over.
    let leases: &[Lease] = match pair.stage {
        Stage::Expired => &[Lease::AsItIs, Lease::Returned, Lease::Running],
        _ => &[Lease::AsItIs],
    };
    let start = |lease: Lease| {
        scene.restore();
        match lease {
            Lease::AsItIs => {}
            Lease::Returned => drop(scene.place.run(&["--as", pair.protocol.names().1, "check"])),
            Lease::Running => scene.end_leases(u64::MAX / 4),
        }
    };
    let mut orders = vec![];
    for lease in leases {
        start(*lease);
        let ends = [run(pair.first, "first"), run(pair.second, "second")];
        orders.push(met(scene, pair, &ends));
        start(*lease);
        let [two, one] = [run(pair.second, "second"), run(pair.first, "first")];
        orders.push(met(scene, pair, &[one, two]));
    }
    let nothing = (Some(5), false);
    for first in [true, false] {
        start(Lease::AsItIs);
        let ended = if first { run(pair.first, "first") } else { run(pair.second, "second") };
        let end = (ended.code, shows(&ended));
        let ends = if first { [end, nothing] } else { [nothing, end] };
        orders.push(Met { ends, state: state(scene, pair) });
    }
    orders
}

fn met(scene: &Scene, pair: Pair, ends: &[Ended; 2]) -> Met {
    Met { ends: [0, 1].map(|n: usize| (ends[n].code, shows(&ends[n]))), state: state(scene, pair) }
}

fn state(scene: &Scene, pair: Pair) -> Vec<String> {
    let mut state = scene.state();
    if pair.stage == Stage::Expired {
        // Whether a try whose lease is over counts depends on who notes it first.
        state.retain(|line| !line.contains("/attempts/"));
    }
    let told = scene.place.doctor();
    state.extend(told.iter().map(|line| masked(&scene.place.base, line)));
    state
}

fn shows(ended: &Ended) -> bool {
    ended.stdout().contains(&body("job"))
}

/// A message that was acknowledged beside the end of its mailbox is in the mailbox, at the latest after `undo`.
fn kept(scene: &Scene, pair: Pair, ends: &[Ended; 2]) -> bool {
    if !pair.is_deadly() || !ends.iter().all(Ended::ok) {
        return false;
    }
    scene.place.run(&["undo"]);
    let (_, to) = pair.protocol.names();
    scene.place.run(&["--as", to, "read"]).stdout().contains(&body("new")) && scene.place.doctor().is_empty()
}
