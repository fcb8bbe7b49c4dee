//! I5: how soon a waiter wakes, and that it does nothing until then.
//!
//! Measured is the time from the acknowledgement of a message to the end of the `wait` that it woke. Times are
//! those of a busy machine, so the limit is the greater one of what is promised and a multiple of what the
//! kernel itself takes here and now: to start and end a bare process, and to close a watch, for which it waits
//! until nobody can be using it. The figures are printed. What an idle waiter does is counted.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::Signal;

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, names_in};
use crate::process::Run;
use crate::waiter::{Sender, Waiter};

/// A waiter looks again after five seconds. Until then nothing may wake it.
const RESCAN: Duration = Duration::from_secs(5);

pub(crate) fn latency(lab: &Lab) -> Outcome {
    let rounds = if lab.tier == 0 { 100 } else { 1000 };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob", "idle"]);
    let idle = Waiter::asleep(&place.command(&["--as", "idle", "wait", "--timeout", "600"]));
    let (idle_since, sleeps, spent) = (Instant::now(), idle.sleeps_so_far(), idle.cpu());
    let sender = Sender::new(&place.root, "alice");
    let (mut waits, mut starts, mut closes) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        starts.push(bare_start(&place));
        closes.push(bare_close(&place.folder("bob", "inbox")));
        waits.push(wake(&place, &sender, &findings));
    }
    let [p50, p99] = [50, 99].map(|share| quantile(&mut waits, share));
    let [bare50, bare99] = [50, 99].map(|share| quantile(&mut starts, share));
    let [close50, close99] = [50, 99].map(|share| quantile(&mut closes, share));
    let limits = [
        Duration::from_millis(5).max((bare50 + close50) * 4),
        Duration::from_millis(50).max((bare99 + close99) * 4),
    ];
    for (figure, limit, share) in [(p50, limits[0], 50), (p99, limits[1], 99)] {
        findings.check(figure < limit, || format!("p{share} is {figure:?}, the limit here is {limit:?}"));
    }
    // Whole periods after it fell asleep, and never in the middle of a look.
    let periods = 1 + u32::try_from(idle_since.elapsed().as_secs() / RESCAN.as_secs()).unwrap_or(0);
    std::thread::sleep((RESCAN * periods - RESCAN / 5).saturating_sub(idle_since.elapsed()));
    let looks = u64::from(periods) - 1;
    let (watched, woken) = (idle_since.elapsed(), idle.sleeps_so_far() - sleeps);
    let spent = idle.cpu() - spent;
    idle.signal(Signal::KILL);
    drop(idle.end());
    // One switch belongs to each look; the disk may make it wait once more.
    findings.check(woken <= 2 * looks, || format!("an idle waiter woke {woken} times in {watched:?}"));
    findings.check(spent < watched / 1000, || format!("an idle waiter worked {spent:?} of {watched:?}"));
    let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1000.0);
    findings.verdict(format!(
        "{rounds} messages, from ack to exit p50 {} ms, p99 {} ms (a bare process: {}, {}; closing a watch: {}, {}); an idle waiter slept {:.0} s, woke {woken} times with {looks} looks due, worked {} ms",
        ms(p50), ms(p99), ms(bare50), ms(bare99), ms(close50), ms(close99), watched.as_secs_f64(), ms(spent)
    ))
}

/// The time from an acknowledgement to the end of the waiter.
fn wake(place: &Place, sender: &Sender, findings: &Findings) -> Duration {
    let waiter = Waiter::asleep(&place.command(&["--as", "bob", "wait", "--timeout", "30"]));
    sender.send("bob", "wake up");
    let acked = Instant::now();
    let woke = waiter.ends_within(Duration::from_secs(20));
    let took = acked.elapsed();
    let ended = waiter.end();
    findings.check(woke && ended.ok(), || format!("a waiter: {}", ended.shown()));
    for message in names_in(&place.folder("bob", "inbox")) {
        std::fs::remove_file(place.folder("bob", "inbox").join(message)).expect("an inbox can be emptied");
    }
    took
}

/// The time a process takes that does nothing.
fn bare_start(place: &Place) -> Duration {
    let ended = Run::new(["true"], &place.base).end();
    assert!(ended.ok(), "true: {}", ended.shown());
    ended.time
}

/// The time it takes to close a watch.
fn bare_close(directory: &Path) -> Duration {
    let watch = inotify::init(CreateFlags::CLOEXEC).expect("a watch");
    inotify::add_watch(&watch, directory, WatchFlags::MOVED_TO).expect("a watch on the inbox");
    let start = Instant::now();
    drop(watch);
    start.elapsed()
}

fn quantile(times: &mut [Duration], share: usize) -> Duration {
    times.sort();
    times[(times.len() * share / 100).min(times.len() - 1)]
}
