//! Strangers: connections that have not shown the token yet. They are few, each has little time, and the oldest is
//! dropped for the next. So a client with the token gets in, however many strangers come. A connection that has shown
//! the token is no longer a stranger.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The number of simultaneous strangers.
const STRANGERS: usize = 64;

/// All connections: strangers in order of arrival, and the places of those with the token.
#[derive(Debug)]
pub(super) struct Connections {
    strangers: Mutex<VecDeque<(u64, AbortHandle)>>,
    places: Arc<Semaphore>,
}

/// One connection, a stranger until it is let in.
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

    /// The handle of a connection while it is served.
    pub(super) fn connection(self: &Arc<Self>, number: u64) -> Connection {
        Connection { number, all: Arc::clone(self), place: Mutex::default() }
    }

    /// Adds a stranger that this task serves, and ends the oldest if there are too many.
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
    /// Lets in a connection that has shown the token. `false` if every place is taken.
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
