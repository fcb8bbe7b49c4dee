//! V1: dispatchers and supervisors that are killed. Several dispatchers work on one room, and every 200 ms one of them or one
//! of their supervisors is killed. Every request gets exactly one reply, none is lost, and no agent has more runs at
//! once than it may have, the left-over processes of killed runs included.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::place::{Place, names_in};

const DISPATCHERS: usize = 3;
const BETWEEN_KILLS: Duration = Duration::from_millis(200);

/// How long all of it may take: far beyond what it takes, and below what anybody waits for.
const LIMIT: Duration = Duration::from_secs(240);

/// Every agent takes one of its places and holds it as long as anything of it lives; without one it says so.
const AGENT: &str = r#"
job=$(grep -o 'job-[0-9]*' | head -1)
exec 9>"$1.0"
if ! flock -n 9; then
    exec 9>"$1.1"
    if [ "$2" = 1 ] || ! flock -n 9; then echo "$1 $job" >> "$3"; fi
fi
sleep 0.0$((RANDOM % 9 + 1))
echo "finished $job"
"#;

pub(crate) fn killed_dispatchers(lab: &Lab) -> Outcome {
    need("flock")?;
    need("bash")?;
    let (messages, agents) = if lab.tier == 0 { (60, 4) } else { (500, 10) };
    let dir = lab.fast_dir();
    let place = Place::new(lab, dir.path());
    let (live, above) = (place.outside(), place.outside().join("above"));
    let names: Vec<String> = (0..agents).map(|n| format!("w{n}")).collect();
    place.ok(&["setup", "alice"]);
    let mut settings =
        String::from("[dispatch]\nback_off = \"0s\"\nhour_runs = 1000000\nthread_runs = 1000000\n");
    for (n, name) in names.iter().enumerate() {
        place.ok(&["setup", "--child", name]);
        let (most, lock) = (1 + n % 2, live.join(name));
        settings.push_str(&format!(
            "[agents.{name}]\npreset = \"command\"\nretries = 100000\nconcurrency = {most}\n\
             command = [\"bash\", \"-c\", '''{AGENT}''', \"agent\", \"{}\", \"{most}\", \"{}\"]\n",
            lock.display(),
            above.display(),
        ));
    }
    place.settle(&settings);
    let jobs: Vec<usize> = (0..messages).collect();
    spread(lab.workers, &jobs, |_, n| {
        place.ok(&["--as", "alice", "send", &names[n % agents], "-m", &format!("job-{n}")]);
    });
    let findings = Findings::default();
    let start = Instant::now();
    let kills = under_fire(&place, messages, &findings);
    let took = start.elapsed().as_secs_f64();
    verdict(&place, &names, messages, &findings);
    if let Ok(above) = fs::read_to_string(&above) {
        findings.add(format!("runs above the concurrency of their agents: {above}"));
    }
    findings.extend("at the end", place.doctor());
    findings.verdict(format!("{messages} messages, {agents} agents, {kills} kills, {took:.1} s"))
}

/// Lets dispatchers work, and kills, until every request has its reply. Gives how many were killed.
fn under_fire(place: &Place, messages: usize, findings: &Findings) -> usize {
    let stop = AtomicBool::new(false);
    let kills = AtomicUsize::new(0);
    let dispatchers: Mutex<Vec<u32>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..DISPATCHERS {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let run = place.command(&["dispatch", "--watch", "--parallel", "5", "-q"]);
                    let running = run.deadline(LIMIT).start();
                    let id = running.id();
                    dispatchers.lock().unwrap().push(id);
                    let ended = running.end();
                    dispatchers.lock().unwrap().retain(|other| *other != id);
                    findings.check(ended.was_killed() || ended.crash().is_none(), || ended.shown());
                }
            });
        }
        let end = Instant::now() + LIMIT;
        let mut turn = 0usize;
        while Instant::now() < end && replies(place) < messages {
            std::thread::sleep(BETWEEN_KILLS);
            turn += 1;
            // Two of three are supervisors: there are more of them, and they have more to lose.
            let victims =
                if turn.is_multiple_of(3) { dispatchers.lock().unwrap().clone() } else { supervisors(place) };
            let victim = victims.get(turn * 7 % victims.len().max(1));
            if victim
                .and_then(|pid| Pid::from_raw(*pid as i32))
                .is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
            {
                kills.fetch_add(1, Ordering::Relaxed);
            }
        }
        // What was killed last is still to be recovered; a second reply would come now.
        let quiet = Instant::now() + Duration::from_secs(20);
        let open = place.root.join(".dispatch/open");
        while Instant::now() < quiet && !names_in(&open).is_empty() {
            std::thread::sleep(Duration::from_millis(50));
        }
        findings.check(names_in(&open).is_empty(), || format!("runs left open: {:?}", names_in(&open)));
        stop.store(true, Ordering::Relaxed);
        for id in dispatchers.lock().unwrap().iter() {
            let _ = Pid::from_raw(*id as i32).map(|pid| kill_process(pid, Signal::TERM));
        }
    });
    kills.into_inner()
}

fn replies(place: &Place) -> usize {
    names_in(&place.folder("alice", "inbox")).len()
}

/// The supervisors of this room, by their command lines.
fn supervisors(place: &Place) -> Vec<u32> {
    let root = place.root.display().to_string();
    let is_one = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|b| *b == 0).collect();
        words.contains(&b"supervise".as_slice()) && words.contains(&root.as_bytes())
    };
    names_in("/proc".as_ref()).iter().filter_map(|name| name.parse().ok()).filter(is_one).collect()
}

/// Every request has its one reply, and lies where finished mail lies.
fn verdict(place: &Place, names: &[String], messages: usize, findings: &Findings) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (name, bytes) in place.messages("alice", "inbox") {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match text.lines().find_map(|line| line.strip_prefix("finished ")) {
            Some(job) => *seen.entry(job.to_owned()).or_default() += 1,
            None => findings.add(format!("{name} is no answer: {}", text.escape_debug())),
        }
    }
    for n in 0..messages {
        let count = seen.get(&format!("job-{n}")).copied().unwrap_or(0);
        findings.check(count == 1, || format!("job-{n} was answered {count} times"));
    }
    for name in names {
        for folder in ["inbox", "failed"] {
            let left = place.messages(name, folder).len();
            findings.check(left == 0, || format!("{left} messages lie in {folder} of {name}"));
        }
        let claims = names_in(&place.folder(name, "claimed"));
        let held: usize =
            claims.iter().map(|token| place.messages(name, &format!("claimed/{token}")).len()).sum();
        findings.check(held == 0, || format!("{held} messages of {name} are claimed for ever"));
    }
}
