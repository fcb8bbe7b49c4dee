//! Connections: a *stranger* has not shown who it is yet. Strangers are few, each has little time, and the oldest is
//! dropped for the next. So a client that may come in gets in, however many strangers there are. A connection that has
//! shown who it is has a place, and is no longer a stranger. One that is about to show its secret *knocks*: it is no longer in
//! the crowd of those who say nothing, and has time for the rest of its request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The number of simultaneous strangers, and of those that knock.
const STRANGERS: usize = 64;

type Queue = Mutex<VecDeque<(u64, AbortHandle)>>;

/// All connections: strangers in order of arrival, those that knock, and the places of the others.
#[derive(Debug)]
pub(crate) struct Connections {
    strangers: Queue,
    knocking: Queue,
    places: Arc<Semaphore>,
}

/// One connection, a stranger until it is let in.
#[derive(Debug)]
pub(crate) struct Connection {
    number: u64,
    all: Arc<Connections>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Connections {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(places));
        Arc::new(Self { strangers: Mutex::default(), knocking: Mutex::default(), places })
    }

    /// The handle of a connection while it is served.
    pub(crate) fn connection(self: &Arc<Self>, number: u64) -> Connection {
        Connection { number, all: Arc::clone(self), place: Mutex::default() }
    }

    /// Adds a stranger that this task serves, and ends the oldest if there are too many.
    pub(crate) fn came(&self, number: u64, task: AbortHandle) {
        join(&self.strangers, number, task);
    }
}

/// Adds a connection to a queue, and ends the oldest if there are too many.
fn join(queue: &Queue, number: u64, task: AbortHandle) {
    let mut queue = lock(queue);
    queue.push_back((number, task));
    if queue.len() > STRANGERS
        && let Some((_, oldest)) = queue.pop_front()
    {
        oldest.abort();
    }
}

impl Connection {
    /// Notes that the headers of a request promise a secret.
    pub(crate) fn knocks(&self) {
        let mut strangers = lock(&self.all.strangers);
        let at = strangers.iter().position(|(number, _)| *number == self.number);
        let task = at.and_then(|at| strangers.remove(at));
        drop(strangers);
        if let Some((number, task)) = task {
            join(&self.all.knocking, number, task);
        }
    }

    /// Lets in a connection that has shown who it is. `false` if every place is taken.
    pub(crate) fn is_let_in(&self) -> bool {
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
        for queue in [&self.all.strangers, &self.all.knocking] {
            lock(queue).retain(|(number, _)| *number != self.number);
        }
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
