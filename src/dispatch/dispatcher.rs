//! The dispatcher: finds waiting messages and starts a supervisor for each that may run now.
//!
//! It holds the current state: which messages wait, which supervisors run, what they reported. Any number of
//! dispatchers may work on one room: the claim decides who gets a message, and the slots of each agent, which
//! supervisors hold, limit how many run at once. All events come through one channel: arrivals from a watch, reports of
//! supervisors, the stop request. Without waiting mail nothing is started, and a watch costs nothing.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use super::background::Background;
use super::in_flight::InFlight;
use super::project;
use super::queue::{Key, Queue, Remark, Waiting};
use super::recovery::recover;
use super::runs::{Run, Runs};
use super::supervisor::Agent;
use crate::name::MailboxId;
use crate::post::{Post, Result};
use crate::wait::{Watch, Woken};

/// The options of a dispatcher.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Go on until stopped.
    pub watch: bool,
    /// At most this many runs.
    pub limit: Option<usize>,
    /// At most this many at once.
    pub parallel: usize,
    /// Report the progress of running agents every second.
    pub progress: bool,
    /// Somebody follows the background work, which other processes may advance.
    pub followed: bool,
}

/// An event.
#[derive(Debug)]
pub enum Event<'a, N> {
    Started {
        agent: &'a str,
        file: &'a str,
        waiting: usize,
    },
    /// The current runs, each with its duration.
    Going {
        runs: &'a [(String, Duration, String)],
    },
    Ended {
        run: &'a Run,
    },
    /// The background work advanced.
    Background {
        news: &'a N,
    },
    /// A message that starts no agent, and why.
    Waits {
        agent: &'a str,
        why: &'a str,
    },
    /// A supervisor that ended without a run: another process was faster, or it could not be started.
    Nothing {
        agent: &'a str,
        why: Option<&'a str>,
    },
}

/// A signal to the dispatcher.
#[derive(Debug)]
enum Signal {
    Look,
    Said { key: Key, line: String },
    Ended { key: Key },
    Stop,
}

/// Stops a dispatcher. Current runs go on without it.
#[derive(Debug, Clone)]
pub struct StopHandle(Sender<Signal>);

impl StopHandle {
    pub fn stop(&self) {
        let _ = self.0.send(Signal::Stop);
    }

    /// A handle, and a function that tells whether it was used.
    #[cfg(test)]
    pub(crate) fn for_test() -> (Self, impl Fn() -> bool) {
        let (tell, hear) = mpsc::channel();
        (Self(tell), move || hear.try_recv().is_ok())
    }
}

/// The longest sleep between two looks.
const LOOK: Duration = Duration::from_secs(5);

/// The longest sleep while the background work is busy.
const BUSY: Duration = Duration::from_millis(100);

/// The longest sleep while somebody follows the background work.
const FOLLOWED: Duration = Duration::from_secs(1);

/// The longest line that is read from a supervisor.
const LINE: u64 = 256 * 1024;

/// One dispatcher.
#[derive(Debug)]
pub struct Dispatcher<'a> {
    queue: Queue<'a>,
    runs: Runs,
    tell: Sender<Signal>,
    hear: Receiver<Signal>,
}

impl<'a> Dispatcher<'a> {
    pub fn new(post: &'a Post, agents: Vec<(Agent, MailboxId)>) -> Result<Self> {
        project::check(post, &agents)?;
        let runs = Runs::open(post.room())?;
        let (tell, hear) = mpsc::channel();
        Ok(Self { queue: Queue::new(post, agents), runs, tell, hear })
    }

    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.tell.clone())
    }

    /// A dry run: every waiting message that may run now, and why others may not.
    pub fn waiting(&self) -> Result<(Vec<Key>, Vec<Remark>)> {
        let waiting = self.queue.waiting(&self.runs)?;
        Ok((waiting.messages, waiting.remarks))
    }

    /// Runs waiting messages, and in a watch also new ones, until stopped. `start` starts the supervisor of a message.
    /// Returns how many runs go on without it.
    pub fn run<B: Background>(
        &self,
        wanted: &Wanted,
        start: impl Fn(&Agent, &MailboxId, &str) -> std::io::Result<Child>,
        mut background: B,
        mut tell: impl FnMut(Event<'_, B::News>),
    ) -> Result<usize> {
        project::note(self.queue.post, &self.queue.agents)?;
        let clock = self.queue.post.room().clock();
        let mut shift = InFlight::new(wanted);
        let (mut faulty, mut remarked): (Vec<Remark>, Vec<Remark>) = (vec![], vec![]);
        if wanted.watch {
            self.watch(background.arrivals(self.queue.post)?)?;
        }
        loop {
            let recovered = recover(self.queue.post, &self.runs, None)?;
            recovered.runs.iter().for_each(|run| tell(Event::Ended { run }));
            // Before the look for mail, so that what it sends is started at once.
            let progress = background.look(self.queue.post)?;
            progress.news.iter().for_each(|news| tell(Event::Background { news }));
            let Waiting { messages: waiting, due, mut faults, remarks } = self.queue.waiting(&self.runs)?;
            faults.extend(recovered.faults.into_iter().chain(progress.faults));
            for (agent, why) in faults.iter().filter(|fault| !faulty.contains(fault)) {
                tell(Event::Nothing { agent, why: Some(why) });
            }
            faulty = faults;
            for (agent, why) in remarks.iter().filter(|remark| !remarked.contains(remark)) {
                tell(Event::Waits { agent, why });
            }
            remarked = remarks;
            let now = clock.boot();
            self.begin(&waiting, &mut shift, now, &start, &mut tell);
            if shift.size() == 0 && !progress.busy && (!wanted.watch || shift.is_spent()) {
                return Ok(0);
            }
            let busy = progress.busy.then_some(BUSY);
            let nap = [due, shift.rest(now), progress.due, busy].into_iter().flatten().min().unwrap_or(LOOK);
            // No watch reports what other processes did to it.
            let longest = if wanted.followed { FOLLOWED } else { LOOK };
            let nap = nap.clamp(Duration::from_millis(20), longest);
            if self.listen(wanted, nap, &mut shift, &mut tell) {
                return Ok(shift.size());
            }
            shift.close(clock.boot(), &mut tell);
        }
    }

    /// Starts a supervisor for each waiting message that may begin now.
    fn begin<N>(
        &self,
        waiting: &[Key],
        shift: &mut InFlight<'_>,
        now: Duration,
        start: &impl Fn(&Agent, &MailboxId, &str) -> std::io::Result<Child>,
        tell: &mut impl FnMut(Event<'_, N>),
    ) {
        let mut full: HashMap<&str, bool> = HashMap::new();
        for key in waiting {
            let Some((agent, id)) = self.queue.agent(&key.0) else { continue };
            // Other dispatchers may use all places of the agent; check before starting a process that would only find
            // that out.
            let places = agent.settings.places();
            if !shift.may_begin(key, agent, now)
                || *full.entry(&key.0).or_insert_with(|| !self.runs.has_slot(id.as_str(), places))
            {
                continue;
            }
            match start(agent, id, &key.1) {
                Ok(child) => {
                    self.attend(key.clone(), child);
                    tell(Event::Started { agent: &key.0, file: &key.1, waiting: waiting.len() });
                    shift.begin(key, now);
                }
                Err(e) => {
                    tell(Event::Nothing { agent: &key.0, why: Some(&e.to_string()) });
                    shift.fail(key, now);
                }
            }
        }
    }

    /// Waits until there may be something to do. `true` if it has to stop.
    fn listen<N>(
        &self,
        wanted: &Wanted,
        nap: Duration,
        shift: &mut InFlight<'_>,
        tell: &mut impl FnMut(Event<'_, N>),
    ) -> bool {
        let clock = self.queue.post.room().clock();
        let until = clock.boot() + nap;
        loop {
            let now = clock.boot();
            let tick = if wanted.progress && shift.size() > 0 { Duration::from_secs(1) } else { nap };
            let heard = self.hear.recv_timeout(tick.min(until.saturating_sub(now))).ok();
            let mut news = heard.is_none() && clock.boot() >= until;
            for heard in heard.into_iter().chain(self.hear.try_iter()) {
                match heard {
                    Signal::Stop => return true,
                    Signal::Look => news = true,
                    Signal::Said { key, line } => shift.hear(&key, &line),
                    Signal::Ended { key } => {
                        news = true;
                        shift.gone(&key);
                    }
                }
            }
            if wanted.progress && shift.size() > 0 {
                tell(Event::Going { runs: &shift.progress(clock.boot()) });
            }
            if news {
                return false;
            }
        }
    }

    /// Reads the reports of a supervisor to its end, in a thread of its own.
    fn attend(&self, key: Key, mut child: Child) {
        let tell = self.tell.clone();
        thread::spawn(move || {
            if let Some(out) = child.stdout.take() {
                let mut out = BufReader::new(out);
                let mut line = String::new();
                while out.by_ref().take(LINE).read_line(&mut line).is_ok_and(|read| read > 0) {
                    let _ = tell.send(Signal::Said { key: key.clone(), line: std::mem::take(&mut line) });
                }
            }
            let _ = child.wait();
            let _ = tell.send(Signal::Ended { key });
        });
    }

    /// Watches the directories where mail arrives and where supervisors end. The watch is set before the first look.
    fn watch(&self, arrivals: Box<dyn Fn() -> Vec<PathBuf> + Send>) -> Result<()> {
        let open = self.runs.dir.create_dir_synced("open")?.path().to_owned();
        let fixed: Vec<_> = self.queue.directories().into_iter().chain([open]).collect();
        let places = move || [fixed.clone(), arrivals()].concat();
        let tell = self.tell.clone();
        let mut watched = places();
        let mut watch = Watch::on(&watched);
        thread::spawn(move || {
            loop {
                if watch.sleep(LOOK) == Woken::Gone {
                    crate::mailbox::pause(Duration::from_millis(200));
                    watched = vec![];
                }
                // First, because an agent may have to start.
                if tell.send(Signal::Look).is_err() {
                    return;
                }
                let now = places();
                if now != watched {
                    watch = Watch::on(&now);
                    watched = now;
                    // Mail may have come to a new place before the watch did.
                    let _ = tell.send(Signal::Look);
                }
            }
        });
        Ok(())
    }
}
