//! Leaving: the end of the client, and another room. What is being done is awaited first, so that no letter is lost and its
//! answer comes where it belongs.

use super::state::State;
use super::update::Effect;
use crate::message::visible;

/// Ends, once everything is done. Asked again, it does not wait.
pub(super) fn quit(state: &mut State) -> Vec<Effect> {
    if state.doing.is_empty() || state.is_ending {
        return vec![Effect::Quit];
    }
    state.is_ending = true;
    vec![]
}

/// Ends after the last deed. One that failed is read first.
pub(super) fn after_deed(state: &mut State, has_failed: bool) -> Vec<Effect> {
    state.is_ending &= !has_failed;
    if state.is_ending && state.doing.is_empty() { vec![Effect::Quit] } else { vec![] }
}

/// Serves another room, unless something is being done in this one.
pub(super) fn enter(state: &mut State, room: &str) -> Vec<Effect> {
    if let Some(deed) = state.doing.first() {
        let doing = deed.doing();
        state.complain(format!("it is still {doing} here; then :room {} again", visible::clip(room, 60)));
        return vec![];
    }
    vec![Effect::Enter(room.to_owned())]
}
