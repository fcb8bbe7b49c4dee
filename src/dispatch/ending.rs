//! The final state of a message, or of a run.

use super::runs::RunState;

/// The final state of a message or a whole run, and why it is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) state: RunState,
    /// If it is done: a remark, or empty.
    pub(super) why: String,
}

impl Ending {
    pub(super) fn done(remark: impl Into<String>) -> Self {
        Self { state: RunState::Done, why: remark.into() }
    }

    /// It waits for its next attempt.
    pub(super) fn again(why: impl Into<String>) -> Self {
        Self { state: RunState::Again, why: why.into() }
    }

    /// It waits for a person.
    pub(super) fn parked(why: impl Into<String>) -> Self {
        Self { state: RunState::Parked, why: why.into() }
    }

    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self { state: RunState::Failed, why: why.into() }
    }

    /// A run ends as the worst of its messages. Among equals the first counts.
    pub(super) fn of_run(messages: Vec<Self>) -> Self {
        let badness = |ending: &Self| match ending.state {
            RunState::Done => 0,
            RunState::Running | RunState::Again => 1,
            RunState::Parked => 2,
            RunState::Failed => 3,
        };
        messages.into_iter().rev().max_by_key(badness).unwrap_or_else(|| Self::done(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_as_the_first_of_its_worst_messages() {
        let (done, again) = (Ending::done("a remark"), Ending::again("busy"));
        let failed = |why: &str| Ending::failed(why);
        assert_eq!(Ending::of_run(vec![]), Ending::done(""));
        assert_eq!(Ending::of_run(vec![done.clone(), Ending::done("")]), done);
        assert_eq!(Ending::of_run(vec![done.clone(), again.clone(), Ending::again("x")]), again);
        assert_eq!(Ending::of_run(vec![again, failed("one"), done, failed("two")]), failed("one"));
    }
}
