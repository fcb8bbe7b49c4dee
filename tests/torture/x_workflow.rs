//! X1: a run of twenty steps with a fan-out of ten, whose dispatchers, supervisors, gates and resumes are killed at random
//! moments. However often, every request is sent once, every accepted result is accepted once, and the run ends as one
//! that nobody disturbed.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::{Findings, Lab, Outcome, need};
use crate::place::{Place, names_in};

/// How many requests to agents the run has: twenty steps, one of them ten times.
const REQUESTS: usize = 29;

/// How long one run may take under fire.
const LIMIT: Duration = Duration::from_secs(240);

/// What every agent does: it takes a moment, and says what it was asked and by which step.
const AGENT: &str =
    "text=$(sed -n '/ body:/{n;p;}' | md5sum | cut -c1-8); sleep 0.0$((RANDOM % 5)); echo \"$1 $text\"";

pub(crate) fn killed_runs(lab: &Lab) -> Outcome {
    for program in ["bash", "md5sum"] {
        need(program)?;
    }
    let wanted = if lab.tier == 0 { 10 } else { 200 };
    let (calm, rough) = (lab.fast_dir(), lab.fast_dir());
    let calm = arranged(lab, calm.path());
    let rough = arranged(lab, rough.path());
    let findings = Findings::default();
    let run = begun(&calm);
    calm.ok(&["dispatch", "-q"]);
    let undisturbed = outcome(&calm, &run);
    findings.check(undisturbed.0 == "completed", || format!("undisturbed, it is {}", undisturbed.0));
    let (mut kills, mut runs, mut seed) = (0, 0, 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id()));
    let start = Instant::now();
    while kills < wanted && runs < 40 {
        let run = begun(&rough);
        kills += under_fire(&rough, &run, wanted - kills, &mut seed, &findings);
        runs += 1;
        let ended = outcome(&rough, &run);
        findings.check(ended == undisturbed, || {
            format!("{run} ended otherwise: {ended:?} instead of {undisturbed:?}")
        });
        // Two of the steps have a gate, and each gate has a verdict.
        once(&rough, &run, &["w0", "w1", "w2", "w3"], (REQUESTS, REQUESTS + 2), &findings);
    }
    findings.check(kills >= wanted, || format!("only {kills} kills in {runs} runs"));
    findings.extend("at the end", rough.doctor());
    let took = start.elapsed().as_secs_f64();
    findings.verdict(format!("{kills} kills in {runs} runs of 20 steps, {took:.1} s"))
}

/// A room with four agents and the workflow.
fn arranged(lab: &Lab, base: &std::path::Path) -> Place {
    let place = Place::new(lab, base);
    place.ok(&["setup", "alice"]);
    let mut settings = String::from("[dispatch]\nback_off = \"0s\"\nhour_runs = 1000000\nparallel = 8\n");
    for name in ["w0", "w1", "w2", "w3"] {
        place.ok(&["setup", "--child", name]);
        settings.push_str(&format!(
            "[agents.{name}]\npreset = \"command\"\nretries = 100000\nconcurrency = 4\n\
             command = [\"bash\", \"-c\", '''{AGENT}''', \"agent\", \"{name}\"]\n"
        ));
    }
    place.settle(&settings);
    let workflows = base.join(".postroom/workflows");
    fs::create_dir_all(&workflows).expect("a directory for workflows");
    fs::write(workflows.join("twenty.yaml"), twenty()).expect("the workflow");
    place.ok(&["trust", &base.display().to_string()]);
    place
}

/// Twenty steps: a chain, a fan-out of ten in its middle, two branches, and a gate now and then.
fn twenty() -> String {
    let mut text = String::from("parallel: 6\nsteps:\n  s1: {agent: w0, prompt: begin}\n");
    for n in 2..=20 {
        let agent = format!("w{}", n % 4);
        let (needs, more) = match n {
            9 => ("s8".to_owned(), ", foreach: 'range(10) | list'"),
            15 => ("s13".to_owned(), ""),
            16 => ("s14, s15".to_owned(), ""),
            5 | 18 => (format!("s{}", n - 1), ", gate: {command: [grep, -q, 'w']}"),
            _ => (format!("s{}", n - 1), ""),
        };
        let item = if n == 9 { " {{ item }}" } else { "" };
        let first = needs.split(", ").next().unwrap_or_default().to_owned();
        text.push_str(&format!(
            "  s{n}: {{agent: {agent}, needs: [{needs}], prompt: '{n}{item} after {{{{ steps.{first}.results }}}}'{more}}}\n"
        ));
    }
    text
}

fn begun(place: &Place) -> String {
    let ended = place.ok(&["workflow", "run", "twenty"]);
    let out = String::from_utf8_lossy(&ended.out).into_owned();
    out.trim().strip_prefix("run ").unwrap_or_else(|| panic!("no run: {out}")).to_owned()
}

/// How a run ended: its status, and every step with its results.
pub(crate) fn outcome(place: &Place, run: &str) -> (String, Vec<(String, String, Vec<String>)>) {
    let ended = place.ok(&["workflow", "show", run, "--json"]);
    let told: Value = serde_json::from_slice(&ended.out).expect("a document");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let results = |step: &Value| {
        let items = step["items"].as_array().cloned().unwrap_or_default();
        // What was refused, and why, tells more than that it was.
        items.iter().map(|item| text(&item["result"]) + &text(&item["failure"])).collect()
    };
    let steps = told["steps"].as_array().cloned().unwrap_or_default();
    (
        text(&told["status"]),
        steps.iter().map(|s| (text(&s["step"]), text(&s["status"]), results(s))).collect(),
    )
}

/// Lets two dispatchers and a resuming command work on a run, and kills, until it is over. Gives how many were killed.
fn under_fire(place: &Place, run: &str, most: usize, seed: &mut u64, findings: &Findings) -> usize {
    let (stop, kills) = (AtomicBool::new(false), AtomicUsize::new(0));
    let victims: Mutex<Vec<u32>> = Mutex::default();
    let work = |words: &[&str]| {
        while !stop.load(Ordering::Relaxed) {
            let running = place.command(words).deadline(LIMIT).start();
            let id = running.id();
            victims.lock().unwrap().push(id);
            let ended = running.end();
            victims.lock().unwrap().retain(|other| *other != id);
            // A signal ends a dispatcher that has started nothing as it ends any process.
            findings.check(ended.was_killed() || ended.was_asked_to_end() || ended.crash().is_none(), || {
                ended.shown()
            });
        }
    };
    let mut random = |below: u64| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    };
    std::thread::scope(|scope| {
        scope.spawn(|| work(&["dispatch", "--watch", "-q"]));
        scope.spawn(|| work(&["dispatch", "-q"]));
        scope.spawn(|| work(&["workflow", "resume", run, "-q"]));
        let end = Instant::now() + LIMIT;
        let open = place.root.join(".workflows/open").join(run);
        while Instant::now() < end && open.exists() {
            std::thread::sleep(Duration::from_micros(500 + random(60_000)));
            if kills.load(Ordering::Relaxed) >= most {
                continue;
            }
            // Two of three carry the run on; the others work for it.
            let known = if random(3) > 0 { victims.lock().unwrap().clone() } else { children(place) };
            let victim = known.get(random(known.len().max(1) as u64) as usize);
            let pid = victim.and_then(|pid| Pid::from_raw(*pid as i32));
            if pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok()) {
                kills.fetch_add(1, Ordering::Relaxed);
            }
        }
        findings.check(!open.exists(), || format!("{run} is not over after {LIMIT:?}"));
        let quiet = Instant::now() + Duration::from_secs(20);
        let left = place.root.join(".dispatch/open");
        while Instant::now() < quiet && !names_in(&left).is_empty() {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
        for id in victims.lock().unwrap().iter() {
            let _ = Pid::from_raw(*id as i32).map(|pid| kill_process(pid, Signal::TERM));
        }
    });
    kills.into_inner()
}

/// The supervisors and gates of this room, by their command lines.
fn children(place: &Place) -> Vec<u32> {
    let root = place.root.display().to_string();
    let is_one = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|b| *b == 0).collect();
        let ours = words.contains(&b"supervise".as_slice()) || words.contains(&b"workflow-gate".as_slice());
        ours && words.contains(&root.as_bytes())
    };
    let all: Vec<u32> =
        names_in("/proc".as_ref()).iter().filter_map(|name| name.parse().ok()).filter(is_one).collect();
    // What one of them is about to start looks like itself until it is. That is the command of a gate, whose end is its
    // verdict.
    let is_started = |pid: &&u32| parent(**pid).is_none_or(|parent| !all.contains(&parent));
    all.iter().filter(is_started).copied().collect()
}

pub(crate) fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// Every request of the run lies once with its agent, and every ask has one accepted answer: so many of each.
pub(crate) fn once(
    place: &Place,
    run: &str,
    names: &[&str],
    (requests, answers): (usize, usize),
    findings: &Findings,
) {
    let field = |text: &str, key: &str| {
        let prefix = format!("{key}: ");
        text.lines()
            .take_while(|line| !line.is_empty())
            .find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
    };
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        for folder in ["inbox", "archive", "failed"] {
            for (_, bytes) in place.messages(name, folder) {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if field(&text, "from").as_deref() == Some(run) {
                    *asked.entry(field(&text, "msg_id").unwrap_or_default()).or_default() += 1;
                }
            }
        }
    }
    findings.check(asked.len() == requests, || format!("{run}: {} requests, not {requests}", asked.len()));
    for (id, count) in asked.iter().filter(|(_, count)| **count != 1) {
        findings.add(format!("{run}: the request {id} lies there {count} times"));
    }
    let mut accepted: BTreeMap<String, usize> = BTreeMap::new();
    let archive = place.root.join(run).join("archive");
    for file in names_in(&archive) {
        let text = fs::read_to_string(archive.join(&file)).unwrap_or_default();
        *accepted.entry(field(&text, "reply_to").unwrap_or(file)).or_default() += 1;
    }
    findings.check(accepted.len() == answers, || {
        format!("{run}: {} answers were accepted, not {answers}", accepted.len())
    });
    for (id, count) in accepted.iter().filter(|(_, count)| **count != 1) {
        findings.add(format!("{run}: {count} answers to {id} were accepted"));
    }
}
