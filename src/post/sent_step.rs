//! A workflow step that was not sent by the run itself. It is recorded, so that the run does not send it again.

use serde::{Deserialize, Serialize};

use super::Post;
use crate::message::Envelope;
use crate::name::MailboxId;

/// A next step that an agent sent itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentStep {
    pub id: String,
    pub from: String,
    pub to: String,
    pub step: String,
    /// When it was sent or first seen; its time limit starts then.
    #[serde(default)]
    pub at: String,
}

impl Post {
    /// Records a step of a run that another mailbox sent; the run then does not send it.
    pub(super) fn note_next_step(&self, from: &MailboxId, envelope: &Envelope) {
        let (Some(run), Some(step)) = (envelope.extra("workflow"), envelope.extra("step")) else { return };
        if run == from.as_str() || envelope.reply_to.is_some() {
            return;
        }
        let Some(note_it) = self.caller.step_sent else { return };
        let note = SentStep {
            id: envelope.id.to_string(),
            from: from.to_string(),
            to: envelope.to.clone(),
            step: step.to_owned(),
            at: self.now().precise(),
        };
        note_it(&self.room, run, &note);
    }
}
