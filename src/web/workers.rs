//! Workers: synchronous code on threads of its own, few at a time.
//!
//! A turn belongs to the work and not to the request: a browser that goes away leaves its work running, and the next one has
//! to wait until that has ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::routes::Wrong;

/// How many light views are made at once.
pub(super) const AT_ONCE: usize = 4;

/// What a piece of work takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Light,
    /// What is computed of every event of a span takes tens of megabytes while it is: one at a time, and always on the same
    /// thread. An allocator keeps what a thread gave back for that thread, so each other one would hold as much again.
    Heavy,
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Debug)]
pub(super) struct Workers {
    light: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    heavy_thread: Sender<Job>,
}

impl Default for Workers {
    fn default() -> Self {
        let (heavy_thread, jobs) = channel();
        std::thread::spawn(move || work_off(&jobs));
        Self { light: Arc::new(Semaphore::new(AT_ONCE)), heavy: Arc::new(Semaphore::new(1)), heavy_thread }
    }
}

impl Workers {
    /// Runs synchronous code, and waits for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        load: Load,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Wrong> {
        let turn = turn(if load == Load::Heavy { &self.heavy } else { &self.light }).await;
        let work = move || {
            let done = work();
            drop(turn);
            done
        };
        let done = match load {
            Load::Light => tokio::task::spawn_blocking(work).await.ok(),
            Load::Heavy => {
                let (tell, told) = oneshot::channel();
                // The one who asked may have gone.
                let job: Job = Box::new(move || drop(tell.send(work())));
                let _ = self.heavy_thread.send(job);
                told.await.ok()
            }
        };
        let fault = "a fault of Postroom itself ended this; please report it";
        done.ok_or_else(|| Wrong::NotDone(fault.to_owned()))
    }
}

/// Does one job after the other, until nobody can bring any more. A panic ends its job alone.
fn work_off(jobs: &Receiver<Job>) {
    for job in jobs {
        let _ = catch_unwind(AssertUnwindSafe(job));
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
    use std::task::{Context, Waker};

    use super::*;

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn work_whose_browser_has_gone_keeps_its_turn() {
        for load in [Load::Light, Load::Heavy] {
            block_on(async {
                let workers = Workers::default();
                let turns = if load == Load::Heavy { &workers.heavy } else { &workers.light };
                let free = turns.available_permits();
                let (begun, begins) = oneshot::channel();
                let (end, ended) = channel::<()>();
                {
                    let work = workers.run(load, move || {
                        let _ = begun.send(());
                        ended.recv()
                    });
                    assert!(pin!(work).poll(&mut Context::from_waker(Waker::noop())).is_pending());
                }
                begins.await.unwrap();
                assert_eq!(turns.available_permits(), free - 1, "it still works, and nobody waits for it");
                drop(end);
                let all = u32::try_from(free).unwrap();
                drop(turns.acquire_many(all).await.unwrap());
                assert!(workers.run(load, || 7).await.is_ok_and(|done| done == 7));
            });
        }
    }

    #[test]
    fn heavy_work_has_one_thread_also_after_a_panic() {
        block_on(async {
            let workers = Workers::default();
            let thread = || workers.run(Load::Heavy, || std::thread::current().id());
            let first = thread().await.unwrap();
            // A pool would lend its idle thread to this, and take another one for the next.
            let (_end, ended) = channel::<()>();
            let light = workers.run(Load::Light, move || ended.recv());
            assert!(pin!(light).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert!(workers.run(Load::Heavy, || panic!("a fault")).await.is_err());
            assert_eq!(thread().await.unwrap(), first);
        });
    }
}
