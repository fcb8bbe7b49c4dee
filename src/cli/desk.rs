//! The desk of a face for people, filled from the context of the command that starts it.

use std::sync::Arc;

use super::context::Context;
use super::dispatch::gate_starter;
use super::fail::Fail;
use super::staff;
use super::surroundings::ThisProcess;
use crate::desk::Desk;
use crate::person::Person;
use crate::post::Caller;
use crate::rooms::Located;
use crate::surroundings::rooms;

/// What a face for people needs to know. It acts as the person, whatever mailbox this terminal or session has.
pub(super) fn desk(context: &Context, located: Located, person: Option<Person>) -> Result<Desk, Fail> {
    Ok(Desk {
        rooms: rooms(&ThisProcess)?,
        root: located.root,
        room: located.name,
        caller: Caller {
            flag: None,
            environment: None,
            session: None,
            terminal: false,
            // A process that stays has its person from the start: later the terminal may be somebody else's.
            started_without_person: person.is_none(),
            typed: None,
            unread_counts: Some(Arc::default()),
            ..context.caller()
        },
        clock: context.clock(),
        person,
        environment: Arc::new(ThisProcess),
        store: staff::store()?,
        start_gate: |root, run, id| gate_starter(root)(run, id),
    })
}
