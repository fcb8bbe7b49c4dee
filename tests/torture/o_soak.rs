//! O1: the soak. For as long as it is told, senders, readers and agents work in one room while commands, dispatchers and
//! supervisors are killed and restarted, and once a minute the power is cut under a second room. One dispatcher and one
//! waiter live through all of it: their memory and their descriptors are watched.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::d_load::cut_once;
use crate::disk::Kind;
use crate::l_fence::Draws;
use crate::lab::{Findings, Lab, Outcome};
use crate::ledger::{Ledger, body, whole};
use crate::place::{Place, names_in};
use crate::process::Running;

const SENDERS: usize = 3;
const READERS: usize = 2;
const AGENTS: usize = 2;

/// What happened, counted.
#[derive(Default)]
struct Counts {
    kills: AtomicUsize,
    restarts: AtomicUsize,
    sent: AtomicUsize,
}

pub(crate) fn soak(lab: &Lab) -> Outcome {
    let findings = Findings::default();
    let dir = lab.dir();
    let place = staffed(lab, dir.path());
    let (ledger, counts, stop) = (Ledger::default(), Counts::default(), AtomicBool::new(false));
    let victims: Mutex<Vec<u32>> = Mutex::default();
    let long = Duration::from_secs(3600) + lab.soak;
    let dispatcher = place.command(&["dispatch", "--watch", "-q"]).deadline(long).start();
    let waiter = place.command(&["--as", "idle", "wait", "--timeout", "90000"]).deadline(long).start();
    let mut samples: Vec<[Sample; 2]> = vec![];
    let (mut cuts, start) = (0, Instant::now());
    let going = || !stop.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (place, ledger, counts, findings, going) = (&place, &ledger, &counts, &findings, &going);
            scope.spawn(move || send(place, sender, ledger, counts, going, findings));
        }
        for reader in 0..READERS {
            let (place, victims, findings, going) = (&place, &victims, &findings, &going);
            scope.spawn(move || {
                // Readers and dispatchers come and go; some of them are killed.
                while going() {
                    watched(place, &["--as", &format!("r{reader}"), "read", "-q"], victims, findings);
                }
            });
        }
        scope.spawn(|| {
            while going() {
                watched(&place, &["dispatch", "-q"], &victims, &findings);
                counts.restarts.fetch_add(1, Ordering::Relaxed);
            }
        });
        scope.spawn(|| killer(&victims, &counts, &going));
        let mut draws = Draws::new(4);
        let mut next_cut = Duration::from_secs(20).min(lab.soak / 2);
        while start.elapsed() < lab.soak {
            samples.push([Sample::of(&dispatcher), Sample::of(&waiter)]);
            if start.elapsed() >= next_cut && lab.is_root() {
                next_cut += Duration::from_secs(60);
                let disk = lab.fast_dir();
                let cut = cut_once(lab, disk.path(), Kind::EXT4, &mut draws, &findings);
                cuts += usize::from(cut.is_ok());
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        stop.store(true, Ordering::Relaxed);
    });
    settle(&place, &findings);
    let ends = [ended(dispatcher, Signal::TERM), ended(waiter, Signal::KILL)];
    findings.check(ends[0].is_none(), || format!("the dispatcher: {:?}", ends[0]));
    let jobs = judge(&place, &ledger, &findings);
    findings.extend("at the end", place.doctor());
    let growth = growth(&samples, &findings);
    let tally = ledger.tally();
    findings.verdict(format!(
        "{:.1} min, {tally}, {jobs} answers of agents, {} kills, {} dispatchers started, {cuts} power cuts; {growth}",
        start.elapsed().as_secs_f64() / 60.0,
        counts.kills.into_inner(),
        counts.restarts.into_inner(),
    ))
}

fn staffed(lab: &Lab, base: &std::path::Path) -> Place {
    let names = (0..READERS)
        .map(|n| format!("r{n}"))
        .chain((0..SENDERS).map(|n| format!("s{n}")))
        .chain(["idle".to_owned()]);
    let place =
        Place::with(lab, base, &names.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>());
    let mut settings =
        "[dispatch]\nback_off = \"0s\"\nhour_runs = 1000000\nthread_runs = 1000000\n".to_owned();
    for agent in 0..AGENTS {
        place.ok(&["setup", "--child", &format!("a{agent}")]);
        settings.push_str(&format!("[agents.a{agent}]\npreset = \"command\"\nretries = 100000\ncommand = [\"sh\", \"-c\", \"grep -o 'job-[0-9a-z-]*' | head -1\"]\n"));
    }
    place.settle(&settings);
    place
}

/// Sends mail to readers and, now and then, work to an agent.
fn send(
    place: &Place,
    sender: usize,
    ledger: &Ledger,
    counts: &Counts,
    going: &dyn Fn() -> bool,
    findings: &Findings,
) {
    let me = format!("s{sender}");
    for number in 0.. {
        if !going() {
            return;
        }
        let key = format!("{me}-{number}");
        let words = match number % 8 {
            0 => vec![
                "--as".to_owned(),
                me.clone(),
                "send".to_owned(),
                format!("a{}", (number / 8) % AGENTS),
                "-m".to_owned(),
                format!("job-{key}"),
            ],
            _ => {
                let text = body(&key);
                ledger.intent(&key, &text);
                vec![
                    "--as".to_owned(),
                    me.clone(),
                    "send".to_owned(),
                    format!("r{}", number % READERS),
                    "-m".to_owned(),
                    text,
                ]
            }
        };
        let ended = place.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        findings.check(ended.ok(), || format!("{key}: {}", ended.shown()));
        if ended.ok() && number % 8 != 0 {
            ledger.acked(&key);
        }
        counts.sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs a command that may be killed.
fn watched(place: &Place, words: &[&str], victims: &Mutex<Vec<u32>>, findings: &Findings) {
    let running = place.command(words).start();
    let id = running.id();
    victims.lock().unwrap().push(id);
    let ended = running.end();
    victims.lock().unwrap().retain(|other| *other != id);
    findings.check(ended.was_killed() || ended.crash().is_none(), || format!("{words:?}: {}", ended.shown()));
}

fn killer(victims: &Mutex<Vec<u32>>, counts: &Counts, going: &dyn Fn() -> bool) {
    let mut draws = Draws::new(5);
    while going() {
        std::thread::sleep(Duration::from_millis(20 + draws.next() % 200));
        // Held while it is killed, so that its number cannot have gone to somebody else.
        let victims = victims.lock().unwrap();
        let victim = victims.get(draws.below(victims.len().max(1))).and_then(|id| Pid::from_raw(*id as i32));
        counts.kills.fetch_add(
            usize::from(victim.is_some_and(|id| kill_process(id, Signal::KILL).is_ok())),
            Ordering::Relaxed,
        );
    }
}

/// Waits until the agents have nothing left to do.
fn settle(place: &Place, findings: &Findings) {
    let deadline = Instant::now() + Duration::from_secs(300);
    let waits = || {
        (0..AGENTS).map(|n| names_in(&place.folder(&format!("a{n}"), "inbox")).len()).sum::<usize>()
            + names_in(&place.root.join(".dispatch/open")).len()
    };
    while waits() > 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
    }
    findings.check(waits() == 0, || format!("{} jobs are left", waits()));
}

/// Every acknowledged message is in one place, and every job has one answer. Gives how many of those.
fn judge(place: &Place, ledger: &Ledger, findings: &Findings) -> usize {
    for reader in (0..READERS).map(|n| format!("r{n}")) {
        for folder in ["inbox", "archive"] {
            for (file, bytes) in place.messages(&reader, folder) {
                match whole(&file, &bytes) {
                    Ok(seen) => ledger.got(&body(&seen.key)),
                    Err(why) => findings.add(why),
                }
            }
        }
    }
    findings.extend("ledger", ledger.tally().problems());
    let mut answers = std::collections::BTreeMap::<String, usize>::new();
    for sender in 0..SENDERS {
        for (_, bytes) in place.messages(&format!("s{sender}"), "inbox") {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let job = text.rsplit("\n\n").next().unwrap_or_default().trim().to_owned();
            *answers.entry(job).or_default() += 1;
        }
    }
    for agent in 0..AGENTS {
        let name = format!("a{agent}");
        let failed = place.messages(&name, "failed").len();
        findings.check(failed == 0, || format!("{failed} jobs of {name} failed"));
        for (_, bytes) in place.messages(&name, "archive") {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let job = text.rsplit("\n\n").next().unwrap_or_default().trim();
            let count = answers.get(job).copied().unwrap_or(0);
            findings.check(count == 1, || format!("{job} has {count} answers"));
        }
    }
    answers.len()
}

/// Memory and descriptors of a process.
#[derive(Clone, Copy)]
struct Sample {
    kilobytes: u64,
    descriptors: usize,
}

impl Sample {
    fn of(running: &Running) -> Self {
        let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok()).unwrap_or(0);
        Self { kilobytes, descriptors: names_in(format!("/proc/{}/fd", running.id()).as_ref()).len() }
    }
}

/// The second half against the first, by what is most of the time: a look in the middle of a run has more.
fn growth(samples: &[[Sample; 2]], findings: &Findings) -> String {
    // What a process needs at its start is not what it leaks.
    let steady = &samples[samples.len() / 5..];
    let (early, late) = steady.split_at(steady.len() / 2);
    let mut told = vec![];
    for (which, name) in ["dispatcher", "waiter"].into_iter().enumerate() {
        let median = |part: &[[Sample; 2]], of: fn(&Sample) -> u64| {
            let mut values: Vec<u64> = part.iter().map(|both| of(&both[which])).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or(0)
        };
        let [before, after] = [early, late].map(|part| median(part, |sample| sample.kilobytes));
        let [few, many] = [early, late].map(|part| median(part, |sample| sample.descriptors as u64));
        findings.check(after * 100 <= before * 105 + 100 * 64, || {
            format!("the {name} grew from {before} to {after} kB")
        });
        findings.check(many <= few + 2, || format!("the {name} had {few} descriptors, then {many}"));
        findings.check(before > 0, || format!("the {name} was never seen"));
        told.push(format!("{name} {before} → {after} kB, {few} → {many} descriptors"));
    }
    told.join("; ")
}

/// Ends a process, and tells how it ended if that was not well.
fn ended(running: Running, signal: Signal) -> Option<String> {
    let id = i32::try_from(running.id()).ok().and_then(Pid::from_raw).expect("the id of a process");
    let _ = kill_process(id, signal);
    let end = running.end();
    if end.was_killed() { None } else { end.crash() }
}
