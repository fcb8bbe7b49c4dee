//! Workers: synchronous code on threads of its own, few at a time.
//!
//! A turn belongs to the work and not to the request: a browser that goes away leaves its work running, and the next one has
//! to wait until that has ended.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::routes::Wrong;

/// How many views are made at once.
pub(super) const AT_ONCE: usize = 4;

/// What a piece of work takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Light,
    /// What is computed of every event of a span takes tens of megabytes while it is: one at a time.
    Heavy,
}

#[derive(Debug)]
pub(super) struct Workers {
    places: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
}

impl Default for Workers {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), heavy: Arc::new(Semaphore::new(1)) }
    }
}

impl Workers {
    /// Runs synchronous code, and waits for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        load: Load,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Wrong> {
        let heavy = match load {
            Load::Heavy => turn(&self.heavy).await,
            Load::Light => None,
        };
        let turns = (heavy, turn(&self.places).await);
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turns);
            done
        });
        let fault = "a fault of Postroom itself ended this; please report it";
        done.await.map_err(|_| Wrong::NotDone(fault.to_owned()))
    }
}

/// Nobody closes these.
async fn turn(of: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    Arc::clone(of).acquire_owned().await.ok()
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn work_whose_browser_has_gone_keeps_its_turn() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let workers = Workers::default();
            let (begun, begins) = tokio::sync::oneshot::channel();
            let (end, ended) = channel::<()>();
            {
                let work = workers.run(Load::Heavy, move || {
                    let _ = begun.send(());
                    ended.recv()
                });
                assert!(pin!(work).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            begins.await.unwrap();
            let free = || (workers.heavy.available_permits(), workers.places.available_permits());
            assert_eq!(free(), (0, AT_ONCE - 1), "it still works, and nobody waits for it");
            drop(end);
            assert!(workers.run(Load::Heavy, || 7).await.is_ok_and(|done| done == 7));
            // The first work gives its place back after its turn, on its own thread.
            let _all = workers.places.acquire_many(AT_ONCE as u32).await.unwrap();
            assert_eq!(free(), (1, 0));
        });
    }
}
