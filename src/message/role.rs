//! The role of a message: whether it asks for work, answers something, or only says that something failed. It decides
//! whether the message starts an agent, and whether the agent's words go back to its sender.

use super::Envelope;

/// The field that marks the notice that a message was given up, so that no notice is ever answered by another.
pub const BOUNCE: &str = "bounce";

/// The field with the number of automatic steps that led to a message.
pub const HOPS: &str = "hops";

/// The field with the number of the thread that led to a message, beside the number of steps.
pub const THREAD: &str = "thread";

/// The field of a failed response in a tree.
const ERROR: &str = "error";

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Request,
    /// It answers a message and needs no answer, or two agents would thank each other endlessly.
    Answer,
    /// It says that a message failed.
    Notice,
}

impl Envelope {
    /// A reply to what an agent said in a run is a new request if it has the thread's id and no automatic steps: a
    /// sender decided to write it.
    pub fn role(&self) -> Role {
        let hops = self.extra(HOPS).and_then(|hops| hops.parse::<u32>().ok()).unwrap_or(0);
        let asks_again = hops == 0 && self.extra(THREAD).is_some();
        match self.reply_to {
            _ if self.extra(BOUNCE).is_some() => Role::Notice,
            Some(_) if self.extra(ERROR).is_some() => Role::Notice,
            Some(_) if !asks_again => Role::Answer,
            _ => Role::Request,
        }
    }
}
