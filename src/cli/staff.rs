//! The staff of a room, gathered for this process.

use super::context::Context;
use super::fail::Fail;
use super::surroundings::ThisProcess;
use crate::post::Post;
use crate::staff::{self, Staff, left_out};
use crate::surroundings::config;
use crate::trust::Store;

/// The person's record of trust.
pub(super) fn store() -> Result<Store, Fail> {
    Ok(Store::new(&config(&ThisProcess)?))
}

/// All agents configured for the room of this command.
pub(super) fn gather(post: &Post) -> Result<Staff, Fail> {
    gather_some(post, |_| true)
}

/// The agents whose name is wanted.
pub(super) fn gather_some(post: &Post, wanted: impl Fn(&str) -> bool) -> Result<Staff, Fail> {
    Ok(staff::gather(&ThisProcess, store()?, post, wanted)?)
}

/// Reports what is left out.
pub(super) fn tell_untrusted(context: &Context, staff: &Staff) {
    for (what, command) in left_out(&staff.untrusted) {
        context.warn(&what, command);
    }
}
