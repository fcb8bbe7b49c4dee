//! The connection: one thread with a runtime; work on the disk happens on blocking threads.
//!
//! [`Courier::run`] keeps a session with the server and begins another after it broke, later each time. [`Courier::once`] carries
//! what there is.

mod connect;
mod delivery;
mod desk;
mod held;
mod monitor;
mod objects;
mod packing;
mod receive;
mod send;
mod session;
mod streams;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

pub use connect::ServerUrl;

use self::desk::Desk;
use self::session::Session;
use super::member::Member;
use super::{Error, Result};
use crate::clock::Clock;
use crate::mailbox::{Dir, IfAny};
use crate::post::Caller;
use crate::wait::{self, Watch, Woken};

/// Stands for all keys of a room.
const ALL: &str = "*";
/// A file by which another command orders a comparison with the server.
const ORDER: &str = "reconcile";
/// A file whose change wakes the courier.
const WAKE: &str = "wake";

/// How long a greeting may take.
const GREETING: Duration = Duration::from_secs(30);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What was carried.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Letters that the server has now.
    pub sent: usize,
    /// Letters that are in a mailbox of this room now.
    pub received: usize,
    /// Something could not be sent, and waits.
    pub is_incomplete: bool,
}

/// Ends a courier that runs.
#[derive(Debug, Clone)]
pub struct Stop {
    order: watch::Sender<bool>,
    sleep: wait::Stop,
}

impl Stop {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { order: watch::Sender::new(false), sleep: wait::Stop::new()? })
    }

    pub fn now(&self) {
        let _ = self.order.send_replace(true);
        self.sleep.now();
    }
}

/// The courier of one room.
#[derive(Debug)]
pub struct Courier {
    desk: Arc<Desk>,
}

impl Courier {
    /// The courier of the room at `root`, if no other one runs.
    pub fn new(root: PathBuf, caller: Caller, clock: Arc<dyn Clock>, member: Member) -> Result<Self> {
        Ok(Self { desk: Desk::open(root, caller, clock, member)? })
    }

    /// Connects once, so that a wrong address or a taken name is reported at once, and hears the names of the others. Takes a
    /// bounded time.
    pub fn greet(&self) -> Result<()> {
        let desk = &self.desk;
        with_runtime(async {
            let begun = tokio::time::timeout(GREETING, Session::begin(desk, false)).await;
            let late = |_| Error::Unreachable {
                server: desk.member.url.clone(),
                why: "it did not answer in time".to_owned(),
            };
            begun.map_err(late)?.map(drop)
        })?;
        desk.note(|contact| contact.connected = false);
        Ok(())
    }

    /// Carries what there is, and ends. `reconcile`: first sends again what has no receipt.
    pub fn once(&self, reconcile: bool) -> Result<Ended> {
        let desk = &self.desk;
        let carried = with_runtime(async { Session::begin(desk, reconcile).await?.once().await });
        if let Err(e) = &carried {
            self.note_trouble(e);
        }
        let session::Carried { out, into, is_incomplete } = carried?;
        Ok(Ended { sent: out, received: into, is_incomplete })
    }

    /// Carries until it is stopped. `told`: hears of each connection that began or broke.
    pub fn run(&self, stop: &Stop, told: impl Fn(&std::result::Result<(), Error>)) -> Result<Ended> {
        let (wake, mut woken) = mpsc::channel(1);
        let watching = std::thread::spawn({
            let (desk, stop) = (Arc::clone(&self.desk), stop.sleep.clone());
            move || watch_disk(&desk, &wake, &stop)
        });
        let mut stopped = stop.order.subscribe();
        let ended = with_runtime(async {
            let mut total = Ended::default();
            let mut pause = FIRST_WAIT;
            loop {
                let error = match Session::begin(&self.desk, false).await {
                    Ok(session) => {
                        told(&Ok(()));
                        let began = self.desk.clock.boot();
                        match session.run(&mut woken, &mut stopped).await {
                            Ok(carried) => {
                                total.sent += carried.out;
                                total.received += carried.into;
                                return Ok(total);
                            }
                            Err(e) => {
                                // A connection that breaks is soon there again; a full disk is not.
                                let lasted = self.desk.clock.boot().saturating_sub(began) >= LONGEST_WAIT;
                                if lasted || matches!(e, Error::Server { .. } | Error::Unreachable { .. }) {
                                    pause = FIRST_WAIT;
                                }
                                e
                            }
                        }
                    }
                    Err(e @ (Error::NameTaken { .. } | Error::Settings { .. } | Error::Url { .. })) => {
                        return Err(e);
                    }
                    Err(e) => e,
                };
                self.note_trouble(&error);
                told(&Err(error));
                // Couriers of many rooms must not come back at the same moment.
                let jitter =
                    Duration::from_millis(crate::random::number() % (pause.as_millis() as u64 / 2 + 1));
                tokio::select! {
                    _ = tokio::time::sleep(pause / 2 + jitter) => {}
                    _ = stopped.changed() => {}
                }
                if *stopped.borrow() {
                    return Ok(total);
                }
                pause = (pause * 2).min(LONGEST_WAIT);
            }
        });
        stop.now();
        let _ = watching.join();
        ended
    }

    fn note_trouble(&self, e: &Error) {
        let now = self.desk.clock.now().to_string();
        self.desk.note(|contact| {
            if contact.trouble.is_none() {
                contact.since = now;
            }
            contact.connected = false;
            contact.trouble = Some(e.to_string());
        });
    }
}

/// Lets a courier that runs compare its mail with the server.
pub fn order_reconcile(courier: &Dir) -> Result<()> {
    Ok(courier.replace(ORDER, b"")?)
}

/// Wakes a courier that runs: the person decided something.
pub fn wake(courier: &Dir) -> Result<()> {
    Ok(courier.replace(WAKE, b"")?)
}

fn take_order(courier: &Dir) -> Result<bool> {
    Ok(courier.remove(ORDER).if_any()?.is_some())
}

fn with_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let failed = |e: std::io::Error| Error::Server { what: "to begin".to_owned(), why: e.to_string() };
    let runtime = runtime.map_err(failed)?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

/// Wakes the session when the disk has something. The watch is set before the session looks, and kept while the directories are
/// the same: closing one takes the kernel longer than a letter needs to the other room.
fn watch_disk(desk: &Desk, wake: &mpsc::Sender<()>, stop: &wait::Stop) {
    let set = |dirs: &[PathBuf]| Watch::on(dirs).rarely().until(stop);
    let mut dirs = desk.watched().unwrap_or_default();
    let mut watch = set(&dirs);
    while !stop.is_now() {
        // One that waits to be seen is enough.
        let _ = wake.try_send(());
        let woken = watch.sleep(LONGEST_WAIT);
        let now = desk.watched().unwrap_or_default();
        if now != dirs || woken == Woken::Gone {
            let _ = wake.try_send(());
            dirs = now;
            watch = set(&dirs);
        }
    }
}
