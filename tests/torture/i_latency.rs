//! I5: how soon a waiter wakes, and that it does nothing until then.
//!
//! Measured is the time from the acknowledgement of a message to the end of the `wait` that it woke. Half of it is
//! the kernel's: it closes a watch only when nobody can be using it, and how long that takes depends on what else the
//! machine does. So a bare waiter is measured in turn with the real one. It watches the inbox, sleeps, wakes
//! and ends. The limit is a multiple of its time, or what is promised if that is more. The figures are printed.
//! What an idle waiter does is counted.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::Signal;

use crate::lab::{Findings, Lab, Outcome};
use crate::place::{Place, names_in};
use crate::process::Run;
use crate::waiter::{Sender, Waiter};

/// The first argument that makes this program a bare waiter.
pub(crate) const BARE_WAIT: &str = "--bare-wait";

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
    let waiter = place.command(&["--as", "bob", "wait", "--timeout", "30"]);
    let bare = bare_waiter(&place);
    let (mut waits, mut bare_waits) = (vec![], vec![]);
    for _ in 0..rounds {
        bare_waits.push(wake(&bare, &place, &sender, &findings));
        waits.push(wake(&waiter, &place, &sender, &findings));
    }
    let [p10, p50, p99] = [10, 50, 99].map(|share| quantile(&mut waits, share));
    let [bare10, bare50, bare99] = [10, 50, 99].map(|share| quantile(&mut bare_waits, share));
    // Closing takes the kernel a tenth of a millisecond or some ten of them, and the median may fall on either side.
    for (share, figure, kernel, promised) in
        [(10, p10, bare10 * 4, 5), (50, p50, bare99.max(bare50 * 4), 5), (99, p99, bare99 * 4, 50)]
    {
        let limit = Duration::from_millis(promised).max(kernel);
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
        "{rounds} messages, from ack to exit p10 {} ms, p50 {}, p99 {} (a bare waiter: {}, {}, {}); an idle waiter slept {:.0} s, woke {woken} times with {looks} looks due, worked {} ms",
        ms(p10), ms(p50), ms(p99), ms(bare10), ms(bare50), ms(bare99), watched.as_secs_f64(), ms(spent)
    ))
}

/// The time from an acknowledgement to the end of the waiter.
fn wake(waiter: &Run, place: &Place, sender: &Sender, findings: &Findings) -> Duration {
    let waiter = Waiter::asleep(waiter);
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

/// This program as a waiter that only watches: what the kernel asks of every waiter.
fn bare_waiter(place: &Place) -> Run {
    let myself = std::env::current_exe().expect("the path of this program");
    let inbox = place.folder("bob", "inbox");
    Run::new(
        [myself.into_os_string(), BARE_WAIT.into(), inbox.into(), place.base.join(".alive").into()],
        &place.base,
    )
}

/// What the bare waiter does. Like a real one it opens a file called `.alive`, by which [`Waiter`] knows it.
pub(crate) fn bare_wait(inbox: &Path, alive: &Path) {
    let watch = inotify::init(CreateFlags::CLOEXEC).expect("a watch");
    inotify::add_watch(&watch, inbox, WatchFlags::MOVED_TO | WatchFlags::CREATE)
        .expect("a watch on the inbox");
    let _alive = File::create(alive).expect("a file of its own");
    poll(&mut [PollFd::new(&watch, PollFlags::IN)], None).expect("an event");
}

fn quantile(times: &mut [Duration], share: usize) -> Duration {
    times.sort();
    times[(times.len() * share / 100).min(times.len() - 1)]
}
