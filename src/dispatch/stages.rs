//! The stages of a run: its messages are claimed, its agent works on them, and each is ended on its own.
//!
//! While the agent works, its record and its leases are kept up, and it is stopped when somebody wants that, when every
//! message is lost, or when its program goes on trying in an outage. An outage pauses the agent and tells the person once;
//! the first run after it that meets none lets the agent go on.

use std::cell::Cell;
use std::collections::HashSet;
use std::time::Duration;

use super::ending::Ending;
use super::guards;
use super::judgement::{self, Verdict};
use super::paused::Pause;
use super::runs::{Run, RunState};
use super::stop::StopRequest;
use super::work::{Job, Step, Work};
use super::workplace::Workplace;
use super::worktree::RunWorktree;
use crate::name::MessageId;
use crate::os;
use crate::post::{Letter, Result, USER};
use crate::process::child::Next;
use crate::process::marked;
use crate::process::output::AgentOutput;

/// How often a lease is renewed while the agent lives.
const RENEWAL: Duration = Duration::from_secs(20);

/// How long a program may go on trying in an outage, in probes.
const PATIENCE: u32 = 5;

/// The stage of a run. Messages go from each stage to the next, and each ends on its own.
enum Stage<'w> {
    /// Its messages are claimed. Those that need no agent are ended.
    Claimed,
    /// The agent works on these.
    Working(Vec<&'w Work>),
    /// The agent has ended, with or without an answer. Each message is ended.
    Worked(Vec<&'w Work>, Verdict),
    /// Every message waits for its agent to be free again.
    Delayed,
    /// Every message has ended.
    Over,
}

/// One run, through all its stages.
pub(super) struct Stages<'a> {
    pub(super) job: &'a Job<'a>,
    /// The message of the run, and those handled together with it.
    pub(super) work: &'a [Work],
    pub(super) tell: &'a dyn Fn(&Run),
}

impl<'a> Stages<'a> {
    /// Returns how the run ended. `None`: nothing began, because its agent has to wait.
    pub(super) fn see_through(&self, run: &mut Run) -> Result<Option<Ending>> {
        let (mut stage, mut endings) = (Stage::Claimed, vec![]);
        loop {
            stage = match stage {
                Stage::Claimed => self.begin(&mut endings)?,
                Stage::Working(left) => self.work(run, left)?,
                Stage::Worked(left, verdict) => self.end(run, left, &verdict, &mut endings)?,
                Stage::Delayed => return Ok(None),
                Stage::Over => return Ok(Some(Ending::of_run(endings))),
            };
        }
    }

    fn begin(&self, endings: &mut Vec<Ending>) -> Result<Stage<'a>> {
        if let Some(request) = self.stop_request() {
            return Ok(Stage::Worked(self.work.iter().collect(), Verdict::Stopped(request)));
        }
        let (mut left, mut delayed, mut counted) = (vec![], 0, vec![]);
        for work in self.work {
            match work.before(self.job, &mut counted)? {
                Some(step) => {
                    delayed += usize::from(matches!(step, Step::Wait(_)));
                    endings.push(work.perform(self.job, step)?);
                }
                None => left.push(work),
            }
        }
        Ok(match left.is_empty() {
            true if delayed == self.work.len() => Stage::Delayed,
            true => Stage::Over,
            false => Stage::Working(left),
        })
    }

    fn work(&self, run: &mut Run, left: Vec<&'a Work>) -> Result<Stage<'a>> {
        let job = self.job;
        let (beaten, is_prepared) = (Cell::new(job.post.room().clock().boot()), Cell::new(false));
        // Git may work for longer than a lease lasts. What it commits at the end of a stopped run is not given up.
        let beat = || {
            let now = job.post.room().clock().boot();
            if now.saturating_sub(beaten.get()) >= RENEWAL {
                beaten.set(now);
                // One that is lost is noticed at its end.
                self.work.iter().for_each(|work| _ = work.renew(job));
            }
            if !is_prepared.get() && self.stop_request().is_some() { Next::Stop } else { Next::GoOn }
        };
        let mut place = match Workplace::prepare(job, &left, &beat) {
            Ok(place) => place,
            Err(why) => return Ok(Stage::Worked(left, self.unless_stopped(Verdict::Failed(why)))),
        };
        is_prepared.set(true);
        run.worktree = place.as_ref().and_then(Workplace::worktree);
        job.runs.record(&job.open.dir, run)?;
        (self.tell)(run);
        let mut pulse = Pulse { renewed: job.post.room().clock().boot(), troubled: None };
        let mut look = |run: &mut Run, found: &AgentOutput| self.keep_up(run, found, &mut pulse);
        let ended = match &place {
            None => judgement::start(job, run, &left, &mut look),
            Some(place) => {
                let worktree = place.worktree();
                let job = Job { agent: &place.agent, worktree: worktree.as_ref(), ..*job };
                judgement::start(&job, run, &left, &mut look)
            }
        };
        // Processes that the agent left behind must not reach into the next run.
        marked::end(&job.open.id, os::Supervisor::Me, || job.runs.dir_of(&job.open.id));
        if let Some(cost) = run.cost {
            let _ = job.runs.count_cost(job.me.id.as_str(), job.now(), cost);
        }
        if let Some(settled) = place.as_mut().and_then(Workplace::settle) {
            run.worktree = Some(settled);
            job.runs.record(&job.open.dir, run)?;
        }
        let ended_itself = ended.as_ref().is_ok_and(|ended| ended.code.is_some() && !ended.timed_out);
        let verdict = ended.map_or_else(Verdict::Failed, |ended| judgement::judge(job.agent, &ended));
        let verdict = self.blame(&left, self.unless_stopped(verdict))?;
        self.mind_outage(run, &left, &verdict, ended_itself)?;
        if matches!(verdict, Verdict::Answer(_)) {
            // Nobody else says so for an agent whose answer is sent for it.
            job.me.mailbox.home().mark_seen();
        }
        let remark = run.worktree.as_ref().and_then(RunWorktree::remark);
        Ok(Stage::Worked(
            left,
            match (verdict, remark) {
                (Verdict::Failed(why), Some(remark)) => Verdict::Failed(format!("{why}\n{remark}")),
                (verdict, _) => verdict,
            },
        ))
    }

    /// Takes an outage that only this message meets for a failure of its own.
    fn blame(&self, left: &[&Work], verdict: Verdict) -> Result<Verdict> {
        let (Verdict::Outage(why), [one]) = (&verdict, left) else { return Ok(verdict) };
        Ok(match self.job.runs.is_to_blame(self.job.me.id.as_str(), one.file())? {
            true => Verdict::Failed(format!("{why}, but other messages were answered meanwhile")),
            false => verdict,
        })
    }

    /// Pauses the agent if its program cannot work, and lets it go on if it can again. A program that did not end by
    /// itself says neither.
    fn mind_outage(&self, run: &Run, left: &[&Work], verdict: &Verdict, ended_itself: bool) -> Result<()> {
        let job = self.job;
        let mailbox = job.me.id.as_str();
        let began = run.began(job.post.room().clock());
        match verdict {
            Verdict::Outage(why) => {
                let agent = (mailbox, job.agent.name.as_str());
                let pause = job.runs.note_outage(agent, why, began, job.now(), job.settings.probe)?;
                let mut threads = HashSet::new();
                for work in left {
                    job.runs.suspect(mailbox, work.file(), job.now())?;
                    let thread = guards::thread(work.envelope());
                    if !threads.contains(&thread) {
                        job.runs.uncount_thread(&thread)?;
                        threads.insert(thread);
                    }
                }
                self.tell_person(&pause, &run.id);
            }
            Verdict::Answer(_) | Verdict::Failed(_) if ended_itself => {
                job.runs.end_outage(mailbox, began)?;
                if matches!(verdict, Verdict::Answer(_)) {
                    job.runs.outlive(mailbox, began)?;
                }
            }
            Verdict::Answer(_) | Verdict::Failed(_) | Verdict::Stopped(_) => {}
        }
        Ok(())
    }

    /// Writes to the person that the agent is paused, once for each outage: a run after one that was killed at this point
    /// writes it. A room without a person's mailbox has nobody to tell; `agents` and `dispatch` say it in any case.
    fn tell_person(&self, Pause { why, since, .. }: &Pause, run: &str) {
        let name = &self.job.agent.name;
        let body = format!(
            "The agent {name} is paused: {why}.\n\nIts mail waits, and nothing is lost. One message is tried from \
             time to time, and the agent goes on when that works. `postroom resume {name}` tries at once; \
             `postroom runs {run}` shows what the program said.\n"
        );
        let subject = Some(format!("{name} is paused: {why}"));
        let id = Some(MessageId::derived(format!("outage of {} since {since}", self.job.me.id).as_bytes()));
        let letter =
            Letter { to: vec![USER.to_owned()], subject, body, id, allow_secrets: true, ..Letter::default() };
        let _ = self.job.post.send(self.job.me, &letter);
    }

    /// Somebody wants this run to end. If that cannot be seen now, the next look tells.
    fn stop_request(&self) -> Option<StopRequest> {
        StopRequest::of(&self.job.open.dir).ok().flatten()
    }

    /// Why a run without an answer ended: because somebody wanted that, if somebody did.
    fn unless_stopped(&self, verdict: Verdict) -> Verdict {
        match (verdict, self.stop_request()) {
            (verdict @ Verdict::Answer(_), _) | (verdict, None) => verdict,
            (_, Some(request)) => Verdict::Stopped(request),
        }
    }

    fn end(
        &self,
        run: &Run,
        left: Vec<&'a Work>,
        verdict: &Verdict,
        endings: &mut Vec<Ending>,
    ) -> Result<Stage<'a>> {
        let since = run.began(self.job.post.room().clock());
        let job = &Job { worktree: run.worktree.as_ref(), ..*self.job };
        let mut answered: Option<&Work> = None;
        for work in left {
            let step = work.after(job, since, verdict, answered)?;
            let ending = work.perform(job, step)?;
            let has_text = ending.state == RunState::Done && matches!(verdict, Verdict::Answer(_));
            answered = answered.or(has_text.then_some(work));
            endings.push(ending);
        }
        Ok(Stage::Over)
    }

    /// Called while the agent lives: updates the record and the lease, and says whether the agent may go on.
    fn keep_up(&self, run: &mut Run, found: &AgentOutput, pulse: &mut Pulse) -> Next {
        let job = self.job;
        if let Some(activity) = &found.activity {
            let activity = crate::message::visible::clip(activity, 200);
            if activity != run.activity {
                run.activity = activity;
                let _ = job.runs.record(&job.open.dir, run);
                (self.tell)(run);
            }
        }
        if self.stop_request().is_some() || self.work.iter().all(|work| work.is_given_up(job)) {
            return Next::Stop;
        }
        let now = job.post.room().clock().boot();
        if self.is_hopeless(found, pulse, now) {
            return Next::Stop;
        }
        if now.saturating_sub(pulse.renewed) < RENEWAL {
            return Next::GoOn;
        }
        pulse.renewed = now;
        // Renew each of them, even if the one before failed.
        let lost = self.work.iter().filter(|work| !work.renew(job)).count();
        if lost < self.work.len() { Next::GoOn } else { Next::Stop }
    }

    /// Whether its program tries in vain: for long, or against what time alone does not change.
    fn is_hopeless(&self, found: &AgentOutput, pulse: &mut Pulse, now: Duration) -> bool {
        let Some(outage) = found.outage else {
            pulse.troubled = None;
            return false;
        };
        let since = *pulse.troubled.get_or_insert(now);
        !outage.passes() || now.saturating_sub(since) >= self.job.settings.probe.saturating_mul(PATIENCE)
    }
}

/// What is remembered from one look at a working agent to the next.
struct Pulse {
    /// When the leases were renewed.
    renewed: Duration,
    /// Since when its program reports an outage.
    troubled: Option<Duration>,
}
