//! Strangers: connections that have not shown the token yet. There are few of them, each has little time, and the oldest
//! makes room for the next, so that however many come, one with the token gets in. Who has shown it is none any more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// How many strangers there are at a time.
const STRANGERS: usize = 64;

/// Everyone who is connected: strangers in the order in which they came, and the places of those with the token.
#[derive(Debug)]
pub(super) struct Connections {
    strangers: Mutex<VecDeque<(u64, AbortHandle)>>,
    places: Arc<Semaphore>,
}

/// One connection, which is a stranger until it is let in.
#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    all: Arc<Connections>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Connections {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { strangers: Mutex::default(), places: Arc::new(Semaphore::new(places)) })
    }

    /// What a connection of this number holds while it is served.
    pub(super) fn connection(self: &Arc<Self>, number: u64) -> Connection {
        Connection { number, all: Arc::clone(self), place: Mutex::default() }
    }

    /// Notes a stranger that is served by this task, and ends the oldest if there are too many.
    pub(super) fn came(&self, number: u64, task: AbortHandle) {
        let mut strangers = lock(&self.strangers);
        strangers.push_back((number, task));
        if strangers.len() > STRANGERS
            && let Some((_, oldest)) = strangers.pop_front()
        {
            oldest.abort();
        }
    }
}

impl Connection {
    /// Lets in a connection that has shown the token. `false`: every place is taken.
    pub(super) fn is_let_in(&self) -> bool {
        let mut place = lock(&self.place);
        if place.is_none() {
            *place = Arc::clone(&self.all.places).try_acquire_owned().ok();
        }
        if place.is_some() {
            self.leave();
        }
        place.is_some()
    }

    fn leave(&self) {
        lock(&self.all.strangers).retain(|(number, _)| *number != self.number);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.leave();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
