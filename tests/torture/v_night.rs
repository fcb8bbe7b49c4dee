//! V2: a night without a person, compressed: no clock is passed into the program, so the times that grow are made short
//! (`back_off` 10 s → 0.1 s, `probe` 60 s → 0.1 s). The hour of `hour_runs` is an hour here too, so what is over that limit
//! still waits in the morning.
//!
//! Two thousand messages go to six agents. Five are stand-ins for the agent programs and say in their programs' own words
//! that they cannot work, in ten outages; dispatchers, supervisors and agents are killed at random; some messages always
//! fail, for some a provider is always down, some belong to threads that have had too many runs, and two agents write to each other without end. In the morning
//! every message is answered once, parked with a reason, failed with a reason (only what always fails, and the loop), or
//! waits until a time. No outage counts as an attempt, unless it is one message's own.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fire::{Fire, left_in};
use crate::l_fence::Draws;
use crate::lab::{Findings, Lab, Outcome, need, spread};
use crate::place::{Place, names_in};
use crate::v_morning::{is_outage, judge};

/// The stand-ins; `busy` and the two of the loop are lines of shell.
pub(crate) const PROGRAMS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "copilot"];
/// The one that has messages for which its provider is always down. No thread of it has too many messages.
pub(crate) const CURSED: &str = PROGRAMS[3];
pub(crate) const OTHERS: [&str; 3] = ["busy", "ping", "pong"];

/// What each program says in an outage, and its exit code. The lines are those of tests/cli/dispatch/outage.rs.
const OUTAGES: [(&str, &str, u8); 10] = [
    (
        "claude",
        r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error","result":"API Error"}"#,
        1,
    ),
    (
        "codex",
        r#"{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}"#,
        1,
    ),
    ("gemini", r#"{"type":"init","session_id":"s"}"#, 173),
    (
        "opencode",
        r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":402}}}"#,
        1,
    ),
    ("copilot", r#"{"type":"model.call_failure","data":{"failureKind":"transport","retryAttempt":5}}"#, 1),
    (
        "claude",
        r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Credit balance is too low"}]},"error":"billing_error"}"#,
        1,
    ),
    (
        "codex",
        r#"{"type":"turn.failed","error":{"message":"stream disconnected before completion: error sending request"}}"#,
        1,
    ),
    (
        "gemini",
        r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: {\"error\":{\"code\":503}}]"}}"#,
        1,
    ),
    (
        "opencode",
        r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":529}}}"#,
        1,
    ),
    ("copilot", r#"{"type":"session.error","data":{"errorType":"authentication","message":"no"}}"#, 1),
];

/// A stand-in: it answers in the form of its program, unless there is a file with what it says instead.
const STUB: &str = r#"#!/bin/bash
prompt=$(cat); dir=${0%/*}/..; program=${0##*/}
[[ $prompt =~ (job|poison|cursed|over)-[0-9]+ ]]; job=${BASH_REMATCH[0]}
echo "$POSTROOM_RUN $job" >> "$dir/starts"
sleep 0.0$((RANDOM % 9 + 1))
if { read -r code && read -r line; } 2> /dev/null < "$dir/outage.$program"; then
    echo "$POSTROOM_RUN $job" >> "$dir/outages.$program"
    echo "$line"
    exit "$code"
fi
if [[ $job == cursed-* ]]; then
    echo '{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":500}}}'
    exit 1
fi
if [[ $job == poison-* ]]; then echo "$job is too much" >&2; exit 3; fi
case $program in
    claude) echo '{"type":"result","is_error":false,"result":"done '"$job"'","session_id":"s"}';;
    codex) echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"done '"$job"'"}}';;
    gemini) echo '{"type":"message","role":"assistant","content":"done '"$job"'"}';;
    opencode) echo '{"type":"text","sessionID":"s","part":{"text":"done '"$job"'"}}';;
    copilot) echo '{"type":"assistant.message","data":{"messageId":"m","content":"done '"$job"'"}}';;
esac
"#;

const BUSY: &str = r#"[[ $(cat) =~ job-[0-9]+ ]]; echo "$POSTROOM_RUN ${BASH_REMATCH[0]}" >> "$1/starts"; sleep 0.01; echo "done ${BASH_REMATCH[0]}""#;
const LOOP: &str = r#"cat > /dev/null; "$1" send "$2" -q -m more; echo done"#;

/// How many messages begin a loop.
const LOOPS: usize = 3;

/// How long the night may take.
const LIMIT: Duration = Duration::from_secs(540);

/// The size of a night.
pub(crate) struct Size {
    messages: usize,
    /// How many of them go to `busy`, and the limit that it meets.
    busy: usize,
    hour_runs: usize,
    pub(crate) poison: usize,
    /// How many messages to [`CURSED`] meet an outage of their own.
    pub(crate) cursed: usize,
    /// How many threads have too many messages, and how many.
    threads: usize,
    in_thread: usize,
    outages: usize,
    kills: usize,
    retries: usize,
}

const NIGHT: Size = Size {
    messages: 2000,
    busy: 600,
    hour_runs: 450,
    poison: 15,
    cursed: 3,
    threads: 3,
    in_thread: 16,
    outages: 10,
    kills: 250,
    retries: 5,
};

const NAP: Size = Size {
    messages: 120,
    busy: 40,
    hour_runs: 35,
    poison: 2,
    cursed: 1,
    threads: 1,
    in_thread: 12,
    outages: 2,
    kills: 8,
    retries: 3,
};

/// A message of the night.
pub(crate) struct Letter {
    pub(crate) id: String,
    pub(crate) to: String,
    pub(crate) thread: Option<String>,
}

pub(crate) fn night(lab: &Lab) -> Outcome {
    need("bash")?;
    let size = if lab.tier == 0 { NAP } else { NIGHT };
    let dir = lab.fast_dir();
    let base = dir.path().canonicalize().expect("its path");
    let place = staffed(lab, &base, &size);
    let letters = letters(&size);
    let findings = Findings::default();
    let start = Instant::now();
    let seen = pass(lab, &place, &letters, &size, &findings);
    let took = start.elapsed();
    let morning = judge(&place, &letters, &size, &seen, &findings);
    findings.extend("at the end", left_in(&base));
    findings.extend("at the end", place.doctor());
    let starts = fs::read_to_string(base.join("starts")).unwrap_or_default().lines().count();
    findings.verdict(format!(
        "{} messages in {:.0} s: {morning}; {} outages with {} runs, {} of them told, {}, {:.2} agent starts per message",
        letters.len(),
        took.as_secs_f64(),
        size.outages,
        seen.outage_runs,
        seen.told,
        seen.kills,
        starts as f64 / letters.len() as f64,
    ))
}

/// A room with all agents.
fn staffed(lab: &Lab, base: &Path, size: &Size) -> Place {
    let place = Place::with(lab, base, &["alice", "user"]);
    fs::create_dir_all(base.join("bin")).expect("a directory for programs");
    let Size { hour_runs, retries, .. } = size;
    let thread_runs = size.in_thread - size.in_thread / 4;
    let mut settings = format!(
        "[dispatch]\nback_off = \"0.1s\"\nprobe = \"0.1s\"\nparallel = 8\nhops = 3\n\
         hour_runs = {hour_runs}\nthread_runs = {thread_runs}\n"
    );
    for name in PROGRAMS {
        let file = base.join("bin").join(name);
        fs::write(&file, STUB).expect("a program");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("its mode");
        place.ok(&["setup", "--child", name]);
        settings.push_str(&format!(
            "[agents.{name}]\npreset = \"{name}\"\nretries = {retries}\nconcurrency = 2\n"
        ));
    }
    let (here, binary) = (base.display().to_string(), lab.binary.display().to_string());
    let others = [(BUSY, here.as_str(), ""), (LOOP, &binary, "pong"), (LOOP, &binary, "ping")];
    for (name, (script, first, second)) in OTHERS.into_iter().zip(others) {
        place.ok(&["setup", "--child", name]);
        settings.push_str(&format!(
            "[agents.{name}]\npreset = \"command\"\nretries = {retries}\nconcurrency = 2\n\
             command = [\"bash\", \"-c\", '''{script}''', \"agent\", \"{first}\", \"{second}\"]\n"
        ));
    }
    place.settle(&settings);
    place
}

/// The mail of the night, in the order in which it is sent.
fn letters(size: &Size) -> Vec<Letter> {
    let mut all = vec![];
    let mut add = |kind: &str, to: &str, thread| {
        let id = format!("{kind}-{:08}", all.len());
        all.push(Letter { id, to: to.to_owned(), thread });
    };
    // First, because only others that follow tell whose outage it is.
    for _ in 0..size.cursed {
        add("cursed", CURSED, None);
    }
    for n in 0..size.poison {
        add("poison", PROGRAMS[n % PROGRAMS.len()], None);
    }
    for n in 0..size.threads * size.in_thread {
        let thread = n % size.threads;
        add("over", PROGRAMS[thread % PROGRAMS.len()], Some(format!("{:032x}", 0xabc + thread)));
    }
    for _ in 0..LOOPS {
        add("job", "ping", None);
    }
    for _ in 0..size.busy {
        add("job", "busy", None);
    }
    for n in 0..size.messages - size.poison - size.cursed - size.threads * size.in_thread - LOOPS - size.busy
    {
        add("job", PROGRAMS[n % PROGRAMS.len()], None);
    }
    let mut draws = Draws::new(7);
    for last in (size.cursed + 1..all.len()).rev() {
        all.swap(last, size.cursed + draws.below(last + 1 - size.cursed));
    }
    all
}

/// What happened in the night.
pub(crate) struct Seen {
    /// The records of all runs, by their ids.
    pub(crate) runs: BTreeMap<String, Value>,
    kills: String,
    outage_runs: usize,
    /// How many outages were reported to the person.
    told: usize,
}

/// The night: sends, kills, and lets outages come and go, until nothing can be started any more.
fn pass(lab: &Lab, place: &Place, letters: &[Letter], size: &Size, findings: &Findings) -> Seen {
    let fire = Fire::new(findings);
    let mut runs = BTreeMap::new();
    let path = std::env::var("PATH").unwrap_or_default();
    let watch = place
        .command(&["dispatch", "--watch", "-q"])
        .env("PATH", format!("{}:{path}", place.base.join("bin").display()));
    let (sent, outages) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| fire.keep(&watch));
        }
        scope.spawn(|| {
            spread(lab.workers, letters, |_, letter| send(place, letter, findings));
            sent.store(true, Ordering::Relaxed);
        });
        for program in PROGRAMS {
            let (outages, findings) = (&outages, findings);
            scope.spawn(move || {
                let own = OUTAGES.iter().take(size.outages).filter(|(name, ..)| *name == program);
                for (_, line, code) in own {
                    outage(place, program, (line, *code), size, findings);
                    outages.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut draws = Draws::new(u64::from(std::process::id()));
        let end = Instant::now() + LIMIT;
        let is_over = || sent.load(Ordering::Relaxed) && outages.load(Ordering::Relaxed) == size.outages;
        for look in 1.. {
            std::thread::sleep(Duration::from_millis(20 + draws.next() % 200));
            if fire.kills() < 2 * size.kills {
                fire.kill_one(&[&place.root], &mut draws);
            }
            note_runs(place, &mut runs);
            let is_late = look % 8 == 0 && is_over() && fire.kills() >= size.kills;
            if Instant::now() > end || is_late && is_morning(place, size) {
                break;
            }
        }
        // What was killed last is still to be done again.
        while Instant::now() < end && !is_morning(place, size) {
            std::thread::sleep(Duration::from_millis(200));
            note_runs(place, &mut runs);
        }
        findings.check(Instant::now() < end, || format!("the night is not over after {LIMIT:?}"));
        fire.end();
    });
    note_runs(place, &mut runs);
    findings.check(fire.kills() >= size.kills, || format!("only {} kills", fire.kills()));
    let met = |run: &&Value| is_outage(run);
    let outage_runs = runs.values().filter(met).count();
    let told = place.messages("user", "inbox").len();
    // A message that meets outages of its own is found out after a few of them.
    let most = size.outages + 4 * size.cursed;
    findings.check((size.outages..=most).contains(&told), || {
        format!("{told} outages were reported to the person, not {} to {most}", size.outages)
    });
    Seen { outage_runs, runs, kills: fire.told(), told }
}

fn send(place: &Place, letter: &Letter, findings: &Findings) {
    let Letter { id, to, thread } = letter;
    let thread = thread.as_ref().map(|thread| format!("thread={thread}"));
    let mut words = vec!["--as", "alice", "send", to, "--id", id, "-q", "-m", id];
    words.extend(thread.iter().flat_map(|thread| ["--field", thread.as_str()]));
    let ended = place.run(&words);
    findings.check(ended.ok(), || format!("{id}: {}", ended.shown()));
}

/// One outage: it lasts until more runs have met it than a message has attempts.
fn outage(place: &Place, program: &str, (line, code): (&str, u8), size: &Size, findings: &Findings) {
    let (file, log) =
        (place.base.join(format!("outage.{program}")), place.base.join(format!("outages.{program}")));
    let met = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    let (before, end) = (met(), Instant::now() + Duration::from_secs(120));
    let new = place.base.join(format!("new.{program}"));
    fs::write(&new, format!("{code}\n{line}\n")).and_then(|()| fs::rename(&new, &file)).expect("an outage");
    while met() < before + size.retries + 2 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let met = met() - before;
    findings.check(met > size.retries, || format!("only {met} runs of {program} met an outage"));
    fs::remove_file(&file).expect("the end of an outage");
    // Until it works again, a second outage would be the first one.
    let paused = place.root.join(".dispatch/paused");
    let name = format!("{program}-");
    let is_paused =
        || names_in(&paused).iter().any(|file| file.starts_with(&name) && file.ends_with(".outage"));
    while is_paused() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether nothing runs and nothing can be started, now or after its back-off.
fn is_morning(place: &Place, size: &Size) -> bool {
    // Longer than any of them.
    let back_off = Duration::from_millis(200 << size.retries);
    let later = place.root.join(".dispatch/later");
    let is_new = |name: &String| {
        let changed = fs::metadata(later.join(name)).and_then(|meta| meta.modified()).ok();
        changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age < back_off)
    };
    // While an outage of one message lasts, the others are tried one by one.
    let is_left = |bytes: &[u8]| !String::from_utf8_lossy(bytes).contains("cursed-");
    names_in(&place.root.join(".dispatch/open")).is_empty()
        && !place.messages(CURSED, "inbox").iter().any(|(_, bytes)| is_left(bytes))
        && !names_in(&later).iter().any(is_new)
        && !place.run(&["dispatch", "--dry-run", "--json"]).stdout().contains("would_start")
}

/// Keeps the records of runs that have ended: a room remembers a thousand.
fn note_runs(place: &Place, runs: &mut BTreeMap<String, Value>) {
    let all = place.root.join(".dispatch/runs");
    for id in names_in(&all) {
        if runs.contains_key(&id) {
            continue;
        }
        let record = fs::read(all.join(&id).join("run.json")).unwrap_or_default();
        if let Ok(record) = serde_json::from_slice::<Value>(&record)
            && record["state"] != "running"
        {
            runs.insert(id, record);
        }
    }
}
