//! The end of the client: how it ended, and the draft that could not be kept. What is lost with the screen is given to the caller,
//! who can print it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::state::State;

pub(super) const PANICKED: &str = "a part of the client failed; see the report above";

/// How the client ended, and what it could not keep.
#[derive(Debug)]
pub struct End {
    pub how: io::Result<Ended>,
    pub lost: Option<LostDraft>,
}

/// What ended the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Quit,
    /// By this signal.
    Signal(i32),
}

/// A text that was not sent, and could not be kept.
#[derive(Debug)]
pub struct LostDraft {
    /// `your message to ann`
    pub what: String,
    pub why: String,
    pub text: String,
}

impl LostDraft {
    pub(super) fn of(state: &State, why: String) -> Option<Self> {
        let draft = state.draft.as_ref()?;
        let what = match &draft.reply {
            Some((_, subject)) => format!("your answer to \"{subject}\""),
            None => format!("your message to {}", draft.to.text()),
        };
        Some(Self { what, why, text: draft.body.text() })
    }
}

/// Does something that may panic. The panic is reported as usual; then the draft can still be kept.
pub(super) fn guarded(turn: impl FnOnce() -> io::Result<Ended>) -> io::Result<Ended> {
    catch_unwind(AssertUnwindSafe(turn)).unwrap_or_else(|_| Err(io::Error::other(PANICKED)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_loop_does_not_skip_what_comes_after_it() {
        let ended = guarded(|| panic!("on purpose"));
        assert_eq!(ended.unwrap_err().to_string(), PANICKED);
        assert_eq!(guarded(|| Ok(Ended::Quit)).unwrap(), Ended::Quit);
    }
}
