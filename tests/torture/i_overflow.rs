//! I2: more mail than the watch can tell.
//!
//! Two waiters are stopped, and more messages arrive than the kernel keeps events for; a watch of this test's
//! own proves that it gave up counting. Then the waiters go on: one of them waits for anything, the other for
//! the sender whose only message came last, after the overflow. Both wake by one look, and all of it is there.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use postroom::message::Priority;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::process::Signal;

use crate::lab::{Findings, Lab, Outcome, need};
use crate::place::Place;
use crate::process::Run;
use crate::waiter::{Sender, Waiter};

/// Far more than a waiter needs. Whether it had to look again is told by its trace and not by the time.
const LATEST: Duration = Duration::from_secs(30);

pub(crate) fn overflow(lab: &Lab) -> Outcome {
    need("strace")?;
    let kept = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
    let kept: usize = kept.trim().parse().unwrap_or(16_384);
    let count = if lab.tier == 0 { kept + 500 } else { (kept + 500).max(20_000) };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let place = Place::with(lab, dir.path(), &["alice", "bob", "carol"]);
    let wait = place.command(&["--as", "bob", "wait", "--timeout", "60"]);
    let wait_for_carol = place.command(&["--as", "bob", "wait", "--from", "carol", "--timeout", "60"]);
    let logs = ["any", "carol"].map(|log| dir.path().join(log));
    let waiters = [(wait, &logs[0]), (wait_for_carol, &logs[1])].map(|(run, log)| traced(run, log));
    let own = own_watch(&place.folder("bob", "inbox"));
    waiters.iter().for_each(Waiter::stop);
    let (alice, carol) = (Sender::new(&place.root, "alice"), Sender::new(&place.root, "carol"));
    let start = Instant::now();
    for number in 1..count {
        alice.send("bob", &format!("{number} of {count}"));
    }
    // The last in time and in order: within one second, names order by chance.
    carol.send_with(Priority::Low, "bob", "the last one");
    let published = start.elapsed();
    let (events, overflowed) = told(&own);
    // Without an overflow the waiters have not been asked the question.
    findings.check(overflowed, || format!("the kernel kept all {events} events, and nothing overflowed"));
    let resumed = Instant::now();
    waiters.iter().for_each(|waiter| waiter.signal(Signal::CONT));
    let mut times = vec![];
    for (waiter, who) in waiters.into_iter().zip(["for any mail", "for carol"]) {
        let woke = waiter.ends_within(LATEST.saturating_sub(resumed.elapsed()));
        times.push(resumed.elapsed().as_millis());
        if !woke {
            waiter.signal(Signal::KILL);
        }
        let ended = waiter.end();
        let seen =
            if who == "for any mail" { format!("… {} more", count - 50) } else { "carol".to_owned() };
        findings.check(woke && ended.ok() && ended.stdout().contains(&seen), || {
            format!("the waiter {who}: {}", ended.shown())
        });
    }
    for (log, who) in logs.iter().zip(["for any mail", "for carol"]) {
        let text = std::fs::read_to_string(log).expect("the log of strace");
        // A sleep that was stopped is taken up again, and so is in the log twice; it ends once.
        let ends: Vec<&str> = text.lines().filter(|l| l.contains("ppoll(") && !l.contains(" = ?")).collect();
        findings.check(matches!(ends[..], [only] if only.contains(" = 1 (")), || {
            format!("the waiter {who} did not wake by one look: {ends:?}")
        });
    }
    let unread = place.ok(&["--as", "bob", "check", "--count"]).stdout();
    findings.check(unread.trim() == count.to_string(), || format!("{count} sent, {} unread", unread.trim()));
    findings.verdict(format!(
        "{count} messages in {} ms, {events} events kept of them; the waiters ended {} and {} ms after they went on, {} counted",
        published.as_millis(),
        times[0],
        times[1],
        unread.trim()
    ))
}

/// A waiter that sleeps, its sleeps written down.
fn traced(run: Run, log: &Path) -> Waiter {
    // With parent and child the other way round, what is stopped and ended is the waiter itself; and with the
    // filter, which needs -f, its other calls cost it nothing.
    let words = ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-e", "trace=ppoll", "-o"].map(Into::into);
    Waiter::asleep(&run.behind(words.into_iter().chain([log.as_os_str().to_owned()])))
}

fn own_watch(inbox: &Path) -> OwnedFd {
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).expect("a watch");
    inotify::add_watch(&watch, inbox, WatchFlags::MOVED_TO).expect("a watch on the inbox");
    watch
}

/// How many arrivals a watch tells of, and whether it says that there were more.
fn told(watch: &OwnedFd) -> (usize, bool) {
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut reader = inotify::Reader::new(watch, &mut buffer);
    let (mut events, mut overflowed) = (0, false);
    while let Ok(event) = reader.next() {
        match event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
            true => overflowed = true,
            false => events += 1,
        }
    }
    (events, overflowed)
}
