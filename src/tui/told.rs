//! What was told about a deed: the note at the foot, and where it leads.

use super::acts::jump;
use super::deed::{Deed, Told};
use super::state::{Mode, Place, State};
use super::update::Effect;

/// Takes in how a deed ended.
pub(super) fn take(state: &mut State, told: Told) -> Vec<Effect> {
    if let Some(at) = state.doing.iter().position(|deed| *deed == told.deed) {
        state.doing.remove(at);
    }
    let (is_letter, has_failed) = (told.deed.is_letter(), told.said.is_err());
    match told.said {
        Ok(said) => {
            if is_letter {
                state.draft = None;
                if state.mode == Mode::Compose {
                    state.mode = Mode::Normal;
                }
            }
            state.say(said);
        }
        Err(why) => {
            // The text is still there, and can be sent again.
            if is_letter && let Some(draft) = &mut state.draft {
                draft.is_sent = false;
                state.mode = Mode::Compose;
            }
            state.complain(why);
        }
    }
    if let (Some(run), Deed::StartFlow { .. }) = (told.flow, &told.deed) {
        jump(state, Place::Flow { run });
    }
    super::leaving::after_deed(state, has_failed)
}
