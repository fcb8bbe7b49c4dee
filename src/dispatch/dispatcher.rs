//! The dispatcher: finds waiting messages and starts a supervisor for each that may run now.
//!
//! It holds the current state: which messages wait, which supervisors run, what they reported. Any number of
//! dispatchers may work on one room: the claim decides who gets a message, and the slots of each agent, which
//! supervisors hold, limit how many run at once. All events come through one channel: arrivals from a watch, reports of
//! supervisors, the stop request. Without waiting mail nothing is started, and a watch costs nothing. A watch reads its
//! settings again when they change ([`Sources`]).

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::background::Background;
pub use super::events::{AtWork, Event, Sources, Wanted};
use super::in_flight::InFlight;
use super::project;
use super::queue::{Crew, Delay, Key, PostOf, Queue, Remark, Waiting};
use super::recovery::recover;
use super::runs::Runs;
use super::supervisor::Agent;
use crate::name::MailboxId;
use crate::post::{Post, Result};
use crate::wait::{Watch, Woken};

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
    queue: RefCell<Queue<'a>>,
    /// The directories where mail for the agents arrives.
    inboxes: Arc<Mutex<Vec<PathBuf>>>,
    runs: Runs,
    tell: Sender<Signal>,
    hear: Receiver<Signal>,
}

impl<'a> Dispatcher<'a> {
    pub fn new(post: &'a Post, crew: Crew) -> Result<Self> {
        project::check(post, &crew.agents)?;
        let runs = Runs::open(post.room())?;
        let (tell, hear) = mpsc::channel();
        let queue = RefCell::new(Queue::new(PostOf::Given(post), crew));
        Ok(Self { queue, inboxes: Arc::default(), runs, tell, hear })
    }

    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.tell.clone())
    }

    /// A dry run: every waiting message that may run now, why others may not, and until when they wait.
    pub fn waiting(&self) -> Result<Waiting> {
        self.queue.borrow().waiting(&self.runs)
    }

    /// Runs waiting messages, and in a watch also new ones, until stopped. `start` starts the supervisor of a message.
    /// Returns how many runs go on without it.
    pub fn run<B: Background>(
        &self,
        wanted: &Wanted,
        start: impl Fn(&Agent, &MailboxId, &str) -> std::io::Result<Child>,
        mut background: B,
        mut sources: impl Sources,
        mut tell: impl FnMut(Event<'_, B::News>),
    ) -> Result<usize> {
        let clock = {
            let queue = self.queue.borrow();
            project::note(&queue.post, &queue.agents)?;
            queue.post.room().shared_clock()
        };
        let mut shift = InFlight::new(wanted, self.queue.borrow().settings.parallel);
        let (mut faulty, mut remarked): (Vec<Remark>, Vec<Remark>) = (vec![], vec![]);
        let (mut delayed, mut stamp): (Vec<Delay>, u64) = (vec![], sources.stamp());
        if wanted.watch {
            let arrivals = background.arrivals(&self.queue.borrow().post)?;
            self.watch(sources.directories(), arrivals)?;
        }
        loop {
            let now = if wanted.watch { sources.stamp() } else { stamp };
            if now != stamp {
                stamp = now;
                self.reread(&mut sources, &mut shift, &mut tell)?;
            }
            let queue = self.queue.borrow();
            let mut failed = vec![];
            let recovered = or_told(wanted, recover(&queue.post, &self.runs, None), &mut failed)?;
            recovered.runs.iter().for_each(|run| tell(Event::Ended { run }));
            // Before the look for mail, so that what it sends is started at once.
            let progress = or_told(wanted, background.look(&queue.post), &mut failed)?;
            progress.news.iter().for_each(|news| tell(Event::Background { news }));
            let waiting = or_told(wanted, queue.waiting(&self.runs), &mut failed)?;
            let Waiting { messages: waiting, due, mut faults, remarks, delays, probed, .. } = waiting;
            faults.extend(recovered.faults.into_iter().chain(progress.faults).chain(failed));
            for (agent, why) in faults.iter().filter(|fault| !faulty.contains(fault)) {
                tell(Event::Nothing { agent, why: Some(why) });
            }
            faulty = faults;
            for (agent, why) in remarks.iter().filter(|remark| !remarked.contains(remark)) {
                tell(Event::Waits { agent, why });
            }
            remarked = remarks;
            for delay in delays.iter().filter(|delay| !delayed.iter().any(|told| told.is_like(delay))) {
                tell(Event::Delayed { delay });
            }
            delayed = delays;
            let now = clock.boot();
            let begin = Beginning { queue: &queue, waiting: &waiting, probed: &probed, now };
            self.begin(&begin, &mut shift, &start, &mut tell);
            drop(queue);
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

    /// Reads the settings again: new agents, other limits, and messages that were left alone are tried at once.
    fn reread<N>(
        &self,
        sources: &mut impl Sources,
        shift: &mut InFlight<'_>,
        tell: &mut impl FnMut(Event<'_, N>),
    ) -> Result<()> {
        let post = match self.queue.borrow().post.again() {
            Ok(post) => Box::new(post),
            Err(e) => {
                tell(Event::Nothing { agent: "settings", why: Some(&e.to_string()) });
                return Ok(());
            }
        };
        let read = sources.read(&post).and_then(|mut crew| {
            crew.goes_on(&self.queue.borrow().agents, &post);
            match project::note(&post, &crew.agents) {
                Ok(()) => Ok(crew),
                Err(e) => Err(e.to_string()),
            }
        });
        match read {
            Ok(crew) => {
                let changed = {
                    let queue = self.queue.borrow();
                    queue.agents != crew.agents || queue.settings != crew.settings
                };
                tell(Event::Reread { agents: crew.agents.len(), changed });
                let queue = Queue::new(PostOf::Newer(post), crew);
                *self.inboxes.lock().unwrap_or_else(PoisonError::into_inner) = queue.directories();
                shift.take_settings(queue.settings.parallel);
                self.queue.replace(queue);
            }
            Err(why) => tell(Event::Nothing { agent: "settings", why: Some(&why) }),
        }
        Ok(())
    }

    /// Starts a supervisor for each waiting message that may begin now.
    fn begin<N>(
        &self,
        Beginning { queue, waiting, probed, now }: &Beginning<'_>,
        shift: &mut InFlight<'_>,
        start: &impl Fn(&Agent, &MailboxId, &str) -> std::io::Result<Child>,
        tell: &mut impl FnMut(Event<'_, N>),
    ) {
        let mut full: HashMap<&str, bool> = HashMap::new();
        for key in *waiting {
            let Some((agent, id)) = queue.agent(&key.0) else { continue };
            // After an outage one message tells whether the others can go on.
            let places = if probed.contains(&key.0) { 1 } else { agent.settings.places() };
            // Other dispatchers may use all places of the agent; check before starting a process that would only find
            // that out.
            if !shift.may_begin(key, places, *now)
                || *full.entry(&key.0).or_insert_with(|| !self.runs.has_slot(id.as_str(), places))
            {
                continue;
            }
            match start(agent, id, &key.1) {
                Ok(child) => {
                    self.attend(key.clone(), child);
                    tell(Event::Started { agent: &key.0, file: &key.1, waiting: waiting.len() });
                    shift.begin(key, *now);
                }
                Err(e) => {
                    tell(Event::Nothing { agent: &key.0, why: Some(&e.to_string()) });
                    shift.fail(key, *now);
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
        let clock = self.queue.borrow().post.room().shared_clock();
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
    fn watch(&self, mut fixed: Vec<PathBuf>, arrivals: Box<dyn Fn() -> Vec<PathBuf> + Send>) -> Result<()> {
        for folder in ["open", "parked", "paused"] {
            fixed.push(self.runs.dir.create_dir_synced(folder)?.path().to_owned());
        }
        *self.inboxes.lock().unwrap_or_else(PoisonError::into_inner) = self.queue.borrow().directories();
        let inboxes = Arc::clone(&self.inboxes);
        let places = move || {
            let inboxes = inboxes.lock().unwrap_or_else(PoisonError::into_inner).clone();
            [fixed.clone(), inboxes, arrivals()].concat()
        };
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

/// What a part of a look found. One that fails in a watch found nothing, and the next look tries again: the disk may be
/// full for a moment, and nobody is there to start the watch again.
fn or_told<T: Default>(wanted: &Wanted, found: Result<T>, failed: &mut Vec<Remark>) -> Result<T> {
    match found {
        Err(e) if wanted.watch => {
            failed.push(("dispatcher".to_owned(), e.to_string()));
            Ok(T::default())
        }
        other => other,
    }
}

/// What a look found, for the messages that begin.
struct Beginning<'b> {
    queue: &'b Queue<'b>,
    waiting: &'b [Key],
    probed: &'b HashSet<String>,
    now: Duration,
}
