//! The dispatcher: finds waiting messages and starts a supervisor for each that may run now.
//!
//! It owns what is known of the moment: which messages wait, which supervisors run, what they came to. Any number of
//! dispatchers may work on one room: who gets a message is decided by the claim, and how many run at once by the slots
//! of each agent, which supervisors hold. Everything that happens comes through one channel: arrivals from a watch,
//! what supervisors say, the wish to stop. Without waiting mail nothing is started, and a watch costs nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use super::queue::{Key, Queue, Waiting};
use super::recovery::recover;
use super::runs::{Run, Runs, State};
use super::supervisor::Agent;
use crate::name::MailboxId;
use crate::post::{Post, Result};
use crate::wait::{Watch, Woken};
use crate::workflow::carrier::{Carried, Carrier, StartGate};
use crate::workflow::runs as workflows;

/// What is wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Go on until told to stop.
    pub watch: bool,
    /// At most this many runs.
    pub limit: Option<usize>,
    /// At most this many at once.
    pub parallel: usize,
    /// Tell every second how those get on that run.
    pub progress: bool,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    Started {
        agent: &'a str,
        file: &'a str,
        waiting: usize,
    },
    /// What runs now, each with how long it has.
    Going {
        runs: &'a [(String, Duration, String)],
    },
    Ended {
        run: &'a Run,
    },
    /// A run of a workflow got on.
    Carried {
        carried: &'a Carried,
    },
    /// A supervisor that ended without a run: somebody else was quicker, or it could not be started.
    Nothing {
        agent: &'a str,
        why: Option<&'a str>,
    },
}

/// What a dispatcher hears.
#[derive(Debug)]
enum Heard {
    Look,
    Said { key: Key, line: String },
    Ended { key: Key },
    Stop,
}

/// The way to tell a dispatcher that it is to stop; what runs goes on without it.
#[derive(Debug, Clone)]
pub struct Bell(Sender<Heard>);

impl Bell {
    pub fn stop(&self) {
        let _ = self.0.send(Heard::Stop);
    }
}

/// How long a dispatcher sleeps at most between two looks.
const LOOK: Duration = Duration::from_secs(5);

/// How long it sleeps at most while gates of workflows run.
const GATES: Duration = Duration::from_millis(100);

/// How long a message is left alone after its supervisor could not begin: others are at it, or something is wrong.
const OTHERS: Duration = Duration::from_millis(500);
const WRONG: Duration = Duration::from_secs(30);

/// The longest line of a supervisor that is read.
const LINE: u64 = 256 * 1024;

/// One dispatcher.
#[derive(Debug)]
pub struct Dispatcher<'a> {
    queue: Queue<'a>,
    runs: Runs,
    tell: Sender<Heard>,
    hear: Receiver<Heard>,
}

/// A supervisor that was started here.
#[derive(Debug)]
struct Going {
    since: Duration,
    activity: String,
    ended: Option<Run>,
    wrong: Option<String>,
}

impl<'a> Dispatcher<'a> {
    pub fn new(post: &'a Post, agents: Vec<(Agent, MailboxId)>) -> Result<Self> {
        let runs = Runs::open(post.room())?;
        let (tell, hear) = mpsc::channel();
        Ok(Self { queue: Queue::new(post, agents), runs, tell, hear })
    }

    pub fn bell(&self) -> Bell {
        Bell(self.tell.clone())
    }

    /// What would be started: every message that waits and may run now.
    pub fn waiting(&self) -> Result<Vec<Key>> {
        Ok(self.queue.waiting(&self.runs)?.messages)
    }

    /// Runs what waits, and in a watch what comes, until it is told to stop. `start` makes the supervisor of a message.
    /// Gives how many runs go on without it.
    pub fn run(
        &self,
        wanted: &Wanted,
        start: impl Fn(&Agent, &str) -> std::io::Result<Child>,
        gate: &StartGate<'_>,
        mut tell: impl FnMut(Event<'_>),
    ) -> Result<usize> {
        let clock = self.queue.post.room().clock();
        let mut going: BTreeMap<Key, Going> = BTreeMap::new();
        let mut tried: HashSet<Key> = HashSet::new();
        let mut resting: HashMap<Key, Duration> = HashMap::new();
        let mut faulty: Vec<(String, String)> = vec![];
        let mut begun = 0;
        let mut carrier = Carrier::default();
        if wanted.watch {
            self.watch()?;
        }
        loop {
            let recovered = recover(self.queue.post, &self.runs, None)?;
            recovered.runs.iter().for_each(|run| tell(Event::Ended { run }));
            // Before the look for mail: what runs of workflows send now is started now.
            let carried = carrier.look(self.queue.post, gate)?;
            carried.carried.iter().for_each(|carried| tell(Event::Carried { carried }));
            let Waiting { messages: waiting, due, mut faults } = self.queue.waiting(&self.runs)?;
            faults.extend(recovered.faults.into_iter().chain(carried.faults));
            for (agent, why) in faults.iter().filter(|fault| !faulty.contains(fault)) {
                tell(Event::Nothing { agent, why: Some(why) });
            }
            faulty = faults;
            let now = clock.boot();
            resting.retain(|_, until| *until > now);
            let mut full: HashMap<&str, bool> = HashMap::new();
            for key in &waiting {
                let Some((agent, id)) = self.queue.agent(&key.0) else { continue };
                let own = going.keys().filter(|(name, _)| *name == key.0).count();
                let spent = wanted.limit.is_some_and(|limit| begun >= limit);
                // One cycle gives each message one chance; a watch gives it another when its time has come.
                if spent
                    || going.len() >= wanted.parallel
                    || own >= agent.settings.places()
                    || going.contains_key(key)
                    || resting.contains_key(key)
                    || !wanted.watch && tried.contains(key)
                {
                    continue;
                }
                // Others may have taken all places of an agent; then no process is started to find that out.
                let places = agent.settings.places();
                if *full.entry(&key.0).or_insert_with(|| !self.runs.has_slot(id.as_str(), places)) {
                    continue;
                }
                if !wanted.watch {
                    tried.insert(key.clone());
                }
                match start(agent, &key.1) {
                    Ok(child) => {
                        begun += 1;
                        self.attend(key.clone(), child);
                        tell(Event::Started { agent: &key.0, file: &key.1, waiting: waiting.len() });
                        let new = Going { since: now, activity: String::new(), ended: None, wrong: None };
                        going.insert(key.clone(), new);
                    }
                    Err(e) => {
                        resting.insert(key.clone(), now + WRONG);
                        tell(Event::Nothing { agent: &key.0, why: Some(&e.to_string()) });
                    }
                }
            }
            let spent = wanted.limit.is_some_and(|limit| begun >= limit);
            if going.is_empty() && !carried.busy && (!wanted.watch || spent) {
                return Ok(0);
            }
            let rested = resting.values().min().map(|until| until.saturating_sub(now));
            let gates = carried.busy.then_some(GATES);
            let nap = [due, rested, carried.due, gates].into_iter().flatten().min().unwrap_or(LOOK);
            let nap = nap.clamp(Duration::from_millis(20), LOOK);
            if self.listen(wanted, nap, &mut going, &mut tell) {
                return Ok(going.len());
            }
            let ended: Vec<Key> = going
                .iter()
                .filter(|(_, g)| g.ended.is_some() || g.wrong.is_some())
                .map(|(k, _)| k.clone())
                .collect();
            for key in ended {
                let Some(gone) = going.remove(&key) else { continue };
                match (gone.ended, gone.wrong.as_deref()) {
                    (Some(run), _) => {
                        // What was worked on with it had its chance too.
                        let also = run.also.iter().filter(|_| !wanted.watch);
                        tried.extend(also.map(|file| (key.0.clone(), file.clone())));
                        tell(Event::Ended { run: &run });
                    }
                    (None, wrong) => {
                        begun -= 1;
                        let why = wrong.filter(|why| !why.is_empty());
                        let rest = if why.is_some() { WRONG } else { OTHERS };
                        resting.insert(key.clone(), clock.boot() + rest);
                        tell(Event::Nothing { agent: &key.0, why });
                    }
                }
            }
        }
    }

    /// Waits until there may be something to do; `true`: it is to stop.
    fn listen(
        &self,
        wanted: &Wanted,
        nap: Duration,
        going: &mut BTreeMap<Key, Going>,
        tell: &mut impl FnMut(Event<'_>),
    ) -> bool {
        let clock = self.queue.post.room().clock();
        let until = clock.boot() + nap;
        loop {
            let now = clock.boot();
            let tick = if wanted.progress && !going.is_empty() { Duration::from_secs(1) } else { nap };
            let heard = self.hear.recv_timeout(tick.min(until.saturating_sub(now))).ok();
            let mut news = heard.is_none() && clock.boot() >= until;
            for heard in heard.into_iter().chain(self.hear.try_iter()) {
                match heard {
                    Heard::Stop => return true,
                    Heard::Look => news = true,
                    Heard::Said { key, line } => {
                        if let Some(one) = going.get_mut(&key) {
                            one.hear(&line);
                        }
                    }
                    Heard::Ended { key } => {
                        news = true;
                        if let Some(one) = going.get_mut(&key) {
                            one.wrong.get_or_insert_default();
                        }
                    }
                }
            }
            if wanted.progress && !going.is_empty() {
                let now = clock.boot();
                let runs: Vec<_> = going
                    .iter()
                    .map(|((agent, _), one)| {
                        (agent.clone(), now.saturating_sub(one.since), one.activity.clone())
                    })
                    .collect();
                tell(Event::Going { runs: &runs });
            }
            if news {
                return false;
            }
        }
    }

    /// Hears a supervisor to its end, beside everything else.
    fn attend(&self, key: Key, mut child: Child) {
        let bell = self.tell.clone();
        thread::spawn(move || {
            if let Some(out) = child.stdout.take() {
                let mut out = BufReader::new(out);
                let mut line = String::new();
                while out.by_ref().take(LINE).read_line(&mut line).is_ok_and(|read| read > 0) {
                    let _ = bell.send(Heard::Said { key: key.clone(), line: std::mem::take(&mut line) });
                }
            }
            let _ = child.wait();
            let _ = bell.send(Heard::Ended { key });
        });
    }

    /// Watches the places where mail arrives, and where supervisors end. The watch stands before the first look.
    fn watch(&self) -> Result<()> {
        let open = self.runs.dir.made_sub("open")?.path().to_owned();
        let fixed: Vec<_> = self.queue.directories().into_iter().chain([open]).collect();
        let root = self.queue.post.room().path().to_owned();
        workflows::Runs::open(self.queue.post.room())?.made_open()?;
        // Runs of workflows come and go, and their answers arrive in mailboxes of their own.
        let places = move || [fixed.clone(), workflows::arrival_dirs(&root)].concat();
        let bell = self.tell.clone();
        let mut watched = places();
        let mut watch = Watch::on(&watched);
        thread::spawn(move || {
            loop {
                if watch.sleep(LOOK) == Woken::Gone {
                    crate::mailbox::pause(Duration::from_millis(200));
                    watched = vec![];
                }
                let now = places();
                if now != watched {
                    watch = Watch::on(&now);
                    watched = now;
                }
                if bell.send(Heard::Look).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }
}

impl Going {
    /// Takes in what a supervisor said: how its run stands, or why there is none.
    fn hear(&mut self, line: &str) {
        if let Ok(run) = serde_json::from_str::<Run>(line) {
            match run.state {
                State::Running => self.activity = run.activity,
                _ => self.ended = Some(run),
            }
        } else if let Ok(told) = serde_json::from_str::<serde_json::Value>(line)
            && let Some(why) = told["error"]["message"].as_str()
        {
            self.wrong = Some(why.to_owned());
        }
    }
}
