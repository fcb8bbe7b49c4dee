//! One copy of a message, as the oracle knows it: its state, and what its history allows to be done with it.

use crate::p_model::step::{Protocol, Who, protocol};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Unread,
    Held,
    Done,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) state: State,
    /// Who asked, if it is a question.
    pub(crate) asker: Option<Who>,
    /// Who gets an answer to an answer: there is a second round.
    pub(crate) back: Option<Who>,
    pub(crate) answered: bool,
    /// A workspace showed it, or a tree's `read` took it.
    pub(crate) shown: bool,
    pub(crate) spawn: bool,
    /// How many claims it had; the last one is open while it is held, unless `read` took it.
    pub(crate) claims: usize,
    /// By hand, and not carried over for sure before this one looks.
    pub(crate) late: Option<Who>,
    /// It may be there twice: a `send` without an id was run again, or an answer outlived its claim.
    pub(crate) loose: bool,
}

impl Held {
    pub(crate) fn new(asker: Option<Who>, back: Option<Who>) -> Self {
        let (answered, shown, spawn, claims, late, loose) = (false, false, false, 0, None, false);
        Self { state: State::Unread, asker, back, answered, shown, spawn, claims, late, loose }
    }

    pub(crate) fn question(asker: Who) -> Self {
        Self::new(Some(asker), None)
    }

    /// What `who` answers; in a tree a second round is a task.
    pub(crate) fn answer(who: Who, to: Who, is_round: bool) -> Self {
        Self::new((is_round && protocol(to) == Protocol::Tree).then_some(who), Some(who))
    }

    pub(crate) fn notice() -> Self {
        Self::new(None, None)
    }

    /// Whether `read` took it, in a tree, so that nobody has a token.
    pub(crate) fn by_read(&self, who: Who) -> bool {
        self.state == State::Held && self.shown && protocol(who) == Protocol::Tree
    }
}
