//! H1: clocks that are wrong, and clocks that are set while something runs. Wall time is only shown and put into names;
//! what waits and what is leased goes by the time since boot, and a conversation by its links.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use postroom::clock::{Clock, SystemClock, Timestamp};
use postroom::name::MessageId;
use postroom::post::{Awaited, Caller, Filter, Letter, Me, Outcome as Sent, Post};

use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::{body, whole};
use crate::place::Place;

const DAY: i64 = 86_400;

/// The machine's clock, set wrong by some seconds, and a time since boot that can be put forward.
#[derive(Debug, Default)]
struct SetClock {
    wall: AtomicI64,
    boot: AtomicI64,
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        let seconds = SystemClock.now().seconds().saturating_add(self.wall.load(Ordering::Relaxed));
        Timestamp::from_parts(seconds, 0)
    }

    fn boot(&self) -> Duration {
        SystemClock.boot() + Duration::from_secs(self.boot.load(Ordering::Relaxed).unsigned_abs())
    }

    fn boot_id(&self) -> std::io::Result<String> {
        SystemClock.boot_id()
    }

    fn host(&self) -> String {
        SystemClock.host()
    }
}

/// Somebody with a clock of their own.
struct Person {
    post: Post,
    me: Me,
    clock: Arc<SetClock>,
}

impl Person {
    fn new(place: &Place, name: &str, wall: i64) -> Self {
        let clock = Arc::new(SetClock { wall: wall.into(), ..SetClock::default() });
        let caller = Caller { flag: Some(name.to_owned()), ..Caller::default() };
        let shared: Arc<dyn Clock> = clock.clone();
        let post = Post::open(&place.root, caller, shared).expect("the room");
        let me = post.me().expect("a mailbox");
        Self { post, me, clock }
    }

    /// Sends, and tells the id if it was acknowledged.
    fn send(&self, to: &str, key: &str) -> Option<String> {
        let letter = Letter {
            to: vec![to.to_owned()],
            subject: Some("same".to_owned()),
            body: body(key),
            ..Letter::default()
        };
        let receipts = self.post.send(&self.me, &letter).ok()?;
        matches!(receipts[..], [ref one] if matches!(one.outcome, Sent::Queued))
            .then(|| receipts[0].id.to_string())
    }
}

pub(crate) fn wrong_clocks(lab: &Lab) -> Outcome {
    let (draws, each) = if lab.tier == 0 { (100_000, 8) } else { (1_000_000, 100) };
    let findings = Findings::default();
    let mut seen = HashSet::with_capacity(draws);
    let collisions = (0..draws).filter(|_| !seen.insert(MessageId::fresh().as_str().to_owned())).count();
    findings.check(collisions == 0, || format!("{collisions} of {draws} ids were drawn twice"));
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob"]);
    let sent = skewed(&place, each, &findings);
    lease_and_wait(&place, &findings);
    conversation(&place, &findings);
    findings.extend("afterwards", place.doctor());
    findings.verdict(format!("{draws} ids, none twice; {sent} messages by 5 clocks with jumps of an hour, none lost; a lease, a wait and a thread unmoved"))
}

/// Senders a day behind, right, a day ahead, in 1969 and in 2106; each clock jumps back an hour in the middle.
fn skewed(place: &Place, each: usize, findings: &Findings) -> usize {
    let now = SystemClock.now().seconds();
    let clocks = [-DAY, 0, DAY, -now - 1000, 4_294_967_296 - now];
    let mut keys = BTreeSet::new();
    for (which, wall) in clocks.into_iter().enumerate() {
        let sender = Person::new(place, "alice", wall);
        for number in 0..each {
            if number == each / 2 {
                sender.clock.wall.fetch_sub(3600, Ordering::Relaxed);
            }
            let key = format!("c{which}-{number}");
            let acked = sender.send("bob", &key).is_some();
            findings.check(acked, || format!("{key} was not sent"));
            keys.insert(key);
        }
    }
    let arrived: Vec<String> = place
        .messages("bob", "inbox")
        .iter()
        .filter_map(|(name, bytes)| {
            whole(name, bytes).map_err(|why| findings.add(why)).ok().map(|seen| seen.key)
        })
        .collect();
    let lost = keys.difference(&arrived.iter().cloned().collect()).count();
    findings.check(lost == 0 && arrived.len() == keys.len(), || {
        format!("{lost} of {} lost, {} there", keys.len(), arrived.len())
    });
    // Their reader goes by names alone, and reads each once.
    let mut read = 0;
    while place.run(&["--as", "bob", "read", "-q"]).ok() {
        read += 1;
        if read > keys.len() {
            break;
        }
    }
    findings.check(read == keys.len(), || format!("{read} of {} were read", keys.len()));
    keys.len()
}

/// A lease is over when its time since boot is, and a wait takes as long as it was told, whatever the wall says.
fn lease_and_wait(place: &Place, findings: &Findings) {
    let (alice, bob) = (Person::new(place, "alice", 0), Person::new(place, "bob", 0));
    findings.check(alice.send("bob", "leased").is_some(), || "not sent".to_owned());
    let filter = Filter::default();
    let claimed = bob.post.claim(&bob.me, None, None, &filter, Duration::from_secs(600)).expect("a claim").0;
    findings.check(claimed.is_some(), || "nothing to claim".to_owned());
    let waiting = || bob.post.check(&bob.me, &filter, 10).expect("a check").total;
    for wall in [30 * DAY, -30 * DAY, 0] {
        bob.clock.wall.store(wall, Ordering::Relaxed);
        let total = waiting();
        findings.check(total == 0, || format!("a wall clock {wall} s off ended a lease"));
    }
    bob.clock.boot.store(599 - 60, Ordering::Relaxed);
    findings.check(waiting() == 0, || "a lease ended before its time".to_owned());
    bob.clock.boot.store(601, Ordering::Relaxed);
    findings.check(waiting() == 1, || "a lease never ended".to_owned());
    bob.clock.boot.store(0, Ordering::Relaxed);
    place.run(&["--as", "bob", "read", "-q"]);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Set back and forth for as long as the wait lasts.
            while start.elapsed() < Duration::from_millis(400) {
                bob.clock.wall.store(
                    if start.elapsed().as_millis().is_multiple_of(2) { DAY } else { -DAY },
                    Ordering::Relaxed,
                );
                std::thread::yield_now();
            }
        });
        let limit = Duration::from_millis(300);
        let ended = Person::new(place, "bob", 0);
        let waited = ended.post.wait(&ended.me, &filter, 10, limit, None);
        let (took, timed_out) = (start.elapsed(), matches!(waited, Ok(Awaited::TimedOut(_))));
        findings.check(timed_out && took >= limit && took < Duration::from_secs(20), || {
            format!("a wait of {limit:?} took {took:?}: {waited:?}")
        });
    });
}

/// An answer that is dated a day before its question stands below it.
fn conversation(place: &Place, findings: &Findings) {
    let (alice, bob) = (Person::new(place, "alice", DAY), Person::new(place, "bob", -DAY));
    let Some(question) = alice.send("bob", "question") else {
        return findings.add("the question was not sent");
    };
    let letter = Letter { body: body("answer"), ..Letter::default() };
    let answer = bob.post.reply(&bob.me, &question, letter).expect("a reply").receipt.id.to_string();
    let thread = bob.post.thread(Some(&bob.me), &question).expect("a thread");
    let order: Vec<(usize, String)> =
        thread.into_iter().map(|branch| (branch.depth, branch.node.id)).collect();
    findings.check(order == [(0, question), (1, answer)], || format!("the conversation is {order:?}"));
}
