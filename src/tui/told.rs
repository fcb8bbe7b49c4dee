//! What was told about a deed: the note at the foot, and where it leads.

use super::deed::{Deed, Made, Told};
use super::jumps::jump;
use super::state::{Decided, Mode, Place, State};
use super::update::Effect;

/// Takes in how a deed ended.
pub(super) fn take(state: &mut State, told: Told) -> Vec<Effect> {
    if let Some(at) = state.doing.iter().position(|deed| *deed == told.deed) {
        state.doing.remove(at);
    }
    let has_failed = told.said.is_err();
    // Meanwhile another text may have been begun.
    let mut its = state.draft.as_mut().filter(|draft| draft.sent.as_ref() == Some(&told.deed));
    if let Some(draft) = &mut its {
        draft.sent = None;
    }
    match (told.said, its) {
        (Ok(said), Some(draft)) if draft.deed().as_ref() == Some(&told.deed) => {
            state.draft = None;
            if matches!(state.mode, Mode::Compose | Mode::Question { then: Decided::ThrowAway, .. }) {
                state.mode = Mode::Normal;
            }
            state.say(said);
        }
        (Ok(said), Some(_)) => state.say(format!("{said}, as it was then; what you changed since is kept")),
        (Ok(said), None) => state.say(said),
        (Err(why), its) => {
            // The text is still there, and can be sent again.
            if its.is_some() {
                state.mode = Mode::Compose;
            }
            state.complain(why);
        }
    }
    match told.made {
        Made::Nothing => {}
        Made::Flow(run) => jump(state, Place::Flow { run }),
        Made::Bag(bag) => state.bags.push(bag),
    }
    if let Deed::Undo { bag } = &told.deed {
        state.bags.retain(|known| known != bag);
    }
    super::leaving::after_deed(state, has_failed)
}
