//! I1: mail that comes between the look and the sleep.
//!
//! `strace` holds a waiter for 50 ms at the end of each listing of its inbox, and says so when it begins to:
//! that line is the signal for the sender. A waiter looks, then watches and looks again, and then sleeps. In turn the
//! message comes between the first look and the watch, into the middle of the second look, and between that and the sleep. A
//! waiter that did not look after it had begun to watch would sleep until it looks again, and the trace would show a sleep that
//! ended by its timeout.

use std::io::{BufRead, BufReader};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::place::{Place, names_in};
use crate::process::Run;
use crate::waiter::Sender;

/// A waiter sleeps for five seconds before it looks again, so what ends later than this may have needed it.
const LATEST: Duration = Duration::from_secs(4);
const HELD: &str = "--inject=getdents64:delay_exit=50ms";

/// What the rounds came to.
#[derive(Default)]
struct Tally {
    woken: usize,
    /// Rounds in which the acknowledgement came after the look and before the sleep, by the clock of the trace.
    in_the_gap: usize,
    /// Rounds in which the waiter slept until it was time to look again.
    looked_again: usize,
    slowest: Duration,
}

pub(crate) fn lost_wake_up(lab: &Lab) -> Outcome {
    need("strace")?;
    let rounds = if lab.tier == 0 { 40 } else { 1000 };
    // Nearly all of a round is spent held, so many of them fit beside each other.
    let workers = 4 * lab.workers;
    let names: Vec<String> = (0..workers).map(|worker| format!("w{worker}")).collect();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice"]);
    names.iter().for_each(|name| drop(place.ok(&["setup", name])));
    let (findings, tally) = (Findings::default(), Mutex::<Tally>::default());
    spread(workers, &(0..rounds).collect::<Vec<usize>>(), |worker, round| {
        let name = &names[worker];
        let at = format!("round {round}");
        let (ended_by, ended) = one_round(&place, name, *round, &findings, &tally);
        findings.check(ended, || format!("{at}: the waiter did not wake by itself, {ended_by}"));
        for message in names_in(&place.folder(name, "inbox")) {
            std::fs::remove_file(place.folder(name, "inbox").join(message)).expect("an inbox can be emptied");
        }
    });
    let Tally { woken, in_the_gap, looked_again, slowest } =
        tally.into_inner().expect("no thread panicked here");
    findings.check(woken == rounds, || format!("{woken} of {rounds} woke"));
    // A round that misses the gap proves nothing; a busy machine makes some of them miss it.
    findings.check(in_the_gap * 3 > rounds, || format!("only {in_the_gap} of {rounds} hit the gap"));
    findings.verdict(format!(
        "{woken} of {rounds} woke, {in_the_gap} messages came into the gap, {looked_again} needed another look, the slowest waiter took {} ms",
        slowest.as_millis()
    ))
}

/// One waiter, one message. Whether it woke in time and without its own timeout, and if not, why.
fn one_round(
    place: &Place,
    name: &str,
    round: usize,
    findings: &Findings,
    tally: &Mutex<Tally>,
) -> (String, bool) {
    let sender = Sender::new(&place.root, "alice");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let waiter = held(place.command(&["--as", name, "wait", "--timeout", "30"])).start_with_errors(writer);
    let start = Instant::now();
    let (mut looks, mut asleep_at, mut sent) = (0, None, None);
    let mut slept_in_vain = false;
    for line in BufReader::new(reader).lines() {
        let line = line.expect("a line of strace");
        if line.contains("getdents64(") && line.contains("/inbox>") {
            looks += 1;
            // Of each look the first listing tells what is there, the second that there is no more.
            if looks == 2 + round % 3 {
                sender.send(name, "into the gap");
                sent = Some(SystemTime::now());
            }
        } else if line.contains("ppoll(") {
            asleep_at = asleep_at.or_else(|| moment(&line));
            slept_in_vain |= line.contains("Timeout");
        }
    }
    let ended = waiter.end();
    let took = start.elapsed();
    findings.check(sent.is_some(), || format!("round {round}: the waiter never looked: {}", ended.shown()));
    let in_the_gap = sent.zip(asleep_at).is_some_and(|(sent, asleep)| sent < asleep);
    let woken = ended.ok() && ended.stdout().contains("alice") && !slept_in_vain && took < LATEST;
    let mut tally = tally.lock().expect("no thread panicked here");
    tally.woken += usize::from(woken);
    tally.in_the_gap += usize::from(in_the_gap);
    tally.looked_again += usize::from(slept_in_vain);
    tally.slowest = tally.slowest.max(took);
    let why = if slept_in_vain { "but by looking again" } else { "but" };
    (format!("{why} after {} ms: {}", took.as_millis(), ended.shown()), woken)
}

/// The waiter behind a trace that holds it, with times that can be compared with those of this process.
fn held(run: Run) -> Run {
    run.behind(["strace", "-q", "-y", "-ttt", "-e", "trace=getdents64,ppoll", HELD])
}

/// When a call of the trace began.
fn moment(line: &str) -> Option<SystemTime> {
    let seconds = line.split(' ').next()?.parse().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds))
}
