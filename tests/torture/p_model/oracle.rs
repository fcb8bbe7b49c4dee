//! The oracle: what must exist after each step, exactly once, and what the step's exit code is.
//!
//! It keeps for each copy of a message who has it and in which of four states, whatever the protocol: unread, held,
//! done, failed. [`Oracle::apply`] says which exit codes a step may end with and changes the copies as
//! docs/reference/format.md says (§4.4 a given id, §5 consumption, §9.3 carrying over, §10.3 and §11.3 how the other protocols
//! differ); a step that makes no sense in this state is `None` and is left out, so histories can be shortened freely.
//! A copy that was written by hand may not be carried over before somebody looks: it is *late* until then, and only
//! judged afterwards.

use std::collections::BTreeMap;

use crate::p_model::held::{Held, State};
use crate::p_model::step::{EVERYONE, Key, Late, Protocol, Step, TEAM, Who, protocol};

/// Which exit codes a step may have.
pub(crate) type Codes = &'static [i32];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Oracle {
    pub(crate) copies: BTreeMap<(Key, Who), Held>,
    /// What agents of the tree answered: each is a response in an outbox, once.
    pub(crate) responses: Vec<Key>,
}

impl Oracle {
    /// Does a step; `None` if it makes no sense now.
    pub(crate) fn apply(&mut self, step: &Step) -> Option<Codes> {
        match step {
            Step::Send { from, to, key, subject, .. } => {
                for who in recipients(from, to) {
                    let spawn = subject.starts_with("spawn:");
                    self.arrives(key, who, Held { spawn, ..Held::question(from) })?;
                }
                Some(&[0])
            }
            Step::Ask { from, to, key } => {
                self.arrives(key, to, Held::question(from))?;
                self.looks(from);
                Some(&[1])
            }
            Step::Again { send, clash } => {
                let Step::Send { key, chosen: true, .. } = &**send else { return None };
                self.copies.keys().any(|(known, _)| known == key).then_some(())?;
                Some(if *clash { &[4] } else { &[0] })
            }
            Step::Hand { from, to, key, home } => {
                let late = (*home && protocol(to) != Protocol::Maildir).then_some(*to);
                self.arrives(key, to, Held { late, ..Held::question(from) })?;
                Some(&[0])
            }
            Step::HandAnswer { who, key, answer } => {
                let question =
                    self.on_time(key, who).filter(|held| !held.answered && held.state == State::Unread)?;
                let asker = question.asker?;
                let in_tree = protocol(who) == Protocol::Tree;
                question.state = State::Done;
                question.answered = true;
                question.late = in_tree.then_some(*who);
                // An agent carries what is in its outbox, an asker what is in its home.
                let elsewhere = (protocol(who) != protocol(asker)).then_some(asker);
                let late = if in_tree { Some(*who) } else { elsewhere };
                self.arrives(answer, asker, Held { late, ..Held::answer(who, asker, false) })?;
                self.responds(who, answer);
                Some(&[0])
            }
            Step::Check { who } => {
                self.looks(who);
                Some(match (self.count(who, State::Unread), self.is_vague(who)) {
                    (_, true) => &[0, 1],
                    (0, _) => &[1],
                    _ => &[0],
                })
            }
            Step::Read { who, key, bare } => {
                self.takes(who, key, *bare)?;
                let held =
                    self.on_time(key, who).filter(|held| held.state == State::Unread && !held.shown)?;
                match (protocol(who), held.asker) {
                    (Protocol::Workspace, Some(_)) => held.shown = true,
                    (Protocol::Tree, Some(_)) => (held.state, held.shown) = (State::Held, true),
                    _ => held.state = State::Done,
                }
                Some(&[0])
            }
            Step::Archive { who, key } => self.moves(key, who, State::Unread, State::Done),
            Step::Unarchive { who, key } => {
                let held =
                    self.on_time(key, who).filter(|held| held.state == State::Done && !held.answered)?;
                (held.state, held.shown) = (State::Unread, false);
                Some(&[0])
            }
            Step::Reply { who, key, answer } => self.answers(key, who, answer),
            Step::Handback { who, key, answer } => {
                self.looks(who);
                let tasks = self.copies.iter().filter(|((_, at), held)| at == who && held.spawn);
                let mut tasks = tasks.map(|((task, _), _)| task);
                let one = tasks.next() == Some(key) && tasks.next().is_none();
                // A task is known by the name of its file, which only a maildir has, and not looked for among claims.
                let is_found = protocol(who) == Protocol::Maildir && self.held(key, who).is_none();
                (one && is_found).then(|| self.answers(key, who, answer))?
            }
            Step::Claim { who, key, bare } => {
                self.takes(who, key, *bare)?;
                self.looks(who);
                let held = self.on_time(key, who).filter(|held| held.state == State::Unread)?;
                held.state = State::Held;
                held.claims += 1;
                Some(&[0])
            }
            Step::Renew { who, key } => self.held(key, who).map(|_| -> Codes { &[0] }),
            Step::Release { who, key } => {
                self.held(key, who)?.state = State::Unread;
                Some(&[0])
            }
            Step::Done { who, key, answer } => {
                let held = self.held(key, who)?;
                held.state = State::Done;
                if let Some(answer) = answer {
                    let asker = held.asker.filter(|_| !held.answered)?;
                    held.answered = true;
                    self.arrives(answer, asker, Held::answer(who, asker, false))?;
                    self.responds(who, answer);
                }
                Some(&[0])
            }
            Step::Fail { who, key, reason } => {
                let held = self.held(key, who)?;
                let asker = held.asker.filter(|_| !held.answered)?;
                held.state = State::Failed;
                self.arrives(reason, asker, Held::notice())?;
                self.responds(who, reason);
                Some(&[0])
            }
            Step::Retry { who, key } => self.moves(key, who, State::Failed, State::Unread),
            Step::Stale { who, key, .. } => {
                self.stale_claim(key, who)?;
                Some(&[3])
            }
            Step::CleanUp => Some(&[0, 1]),
            Step::Takeover { .. } | Step::Doctor | Step::Setup { .. } | Step::Adopt => Some(&[0]),
        }
    }

    /// The name of the token that a step needs.
    pub(crate) fn token(&self, step: &Step) -> String {
        let (who, key, number) = match step {
            Step::Renew { who, key }
            | Step::Release { who, key }
            | Step::Done { who, key, .. }
            | Step::Fail { who, key, .. } => (who, key, self.claims(key, who)),
            Step::Claim { who, key, .. } => (who, key, self.claims(key, who) + 1),
            Step::Stale { who, key, .. } => (who, key, self.stale_claim(key, who).unwrap_or(0)),
            _ => return String::new(),
        };
        format!("$t_{key}_{who}_{number}")
    }

    /// Every lease ends: its time is over, or the machine was started again.
    pub(crate) fn leases_end(&mut self) {
        for held in self.copies.values_mut().filter(|held| held.state == State::Held) {
            (held.state, held.shown) = (State::Unread, false);
        }
    }

    /// Everybody looks: whatever was late is carried over.
    pub(crate) fn all_look(&mut self) {
        self.copies.values_mut().for_each(|held| held.late = None);
    }

    /// Takes over copies that are new in `next` and there.
    pub(crate) fn arrived(&mut self, next: &Self, is_there: impl Fn(&str, Who) -> bool) {
        for (at, held) in next.copies.iter().filter(|(at, _)| is_there(&at.0, at.1)) {
            self.copies.entry(at.clone()).or_insert_with(|| held.clone());
        }
    }

    pub(crate) fn count(&self, who: Who, state: State) -> usize {
        self.copies.iter().filter(|((_, at), held)| *at == who && held.state == state).count()
    }

    fn claims(&self, key: &Key, who: Who) -> usize {
        self.copies.get(&(key.clone(), who)).map_or(0, |held| held.claims)
    }

    /// The number of a claim that is over.
    fn stale_claim(&self, key: &Key, who: Who) -> Option<usize> {
        let held = self.copies.get(&(key.clone(), who))?;
        let over =
            if held.state == State::Held && !held.by_read(who) { held.claims - 1 } else { held.claims };
        (over > 0).then_some(over)
    }

    fn looks(&mut self, who: Who) {
        let late = self.copies.values_mut().filter(|held| held.late == Some(who));
        late.for_each(|held| held.late = None);
    }

    /// Whether how many unread messages somebody has is not known for sure.
    pub(crate) fn is_vague(&self, who: Who) -> bool {
        self.copies.iter().any(|((_, at), held)| *at == who && (held.late.is_some() || held.loose))
    }

    /// A command that takes `key`, by its id, or because it is all that there is. By an id that is found at once nothing
    /// need be carried over.
    fn takes(&mut self, who: Who, key: &Key, bare: bool) -> Option<()> {
        if !bare {
            return self.on_time(key, who).map(|_| ());
        }
        self.looks(who);
        (!self.is_vague(who)).then_some(())?;
        let mut unread =
            self.copies.iter().filter(|((_, at), held)| *at == who && held.state == State::Unread);
        let one = unread.next().is_some_and(|((known, _), held)| known == key && !held.shown);
        (one && unread.next().is_none()).then_some(())
    }

    fn on_time(&mut self, key: &Key, who: Who) -> Option<&mut Held> {
        self.copies.get_mut(&(key.clone(), who)).filter(|held| held.late.is_none())
    }

    /// A copy under a claim whose token somebody has.
    fn held(&mut self, key: &Key, who: Who) -> Option<&mut Held> {
        self.on_time(key, who).filter(|held| held.state == State::Held && !held.by_read(who))
    }

    fn moves(&mut self, key: &Key, who: Who, from: State, to: State) -> Option<Codes> {
        let held = self.on_time(key, who).filter(|held| held.state == from)?;
        (held.state, held.shown) = (to, false);
        Some(&[0])
    }

    fn arrives(&mut self, key: &Key, who: Who, held: Held) -> Option<()> {
        self.copies.insert((key.clone(), who), held).is_none().then_some(())
    }

    fn answers(&mut self, key: &Key, who: Who, answer: &Key) -> Option<Codes> {
        let held = self.on_time(key, who).filter(|held| !held.answered)?;
        let is_round = held.asker.is_none();
        (held.state != State::Failed && !(is_round && held.state == State::Held)).then_some(())?;
        let asker = held.asker.or(held.back)?;
        // What is claimed is finished by `done`; in a tree an answer finishes its request.
        if held.state != State::Held || protocol(who) == Protocol::Tree {
            held.state = State::Done;
        }
        held.answered = true;
        self.arrives(answer, asker, Held::answer(who, asker, is_round))?;
        self.responds(who, answer);
        Some(&[0])
    }

    fn responds(&mut self, who: Who, answer: &Key) {
        if protocol(who) == Protocol::Tree {
            self.responses.push(answer.clone());
        }
    }
}

/// Who gets what is sent to `to`: nobody writes to themselves by a group.
pub(crate) fn recipients(from: Who, to: Who) -> Vec<Who> {
    let all: Vec<Who> = match to {
        "@all" => EVERYONE.into(),
        "@team" => TEAM.into(),
        who => return vec![who],
    };
    all.into_iter().filter(|who| *who != from).collect()
}

/// The verbs that may come too late.
pub(crate) const LATE: [Late; 4] = [Late::Done, Late::Release, Late::Fail, Late::Renew];
