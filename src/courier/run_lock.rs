//! The lock of the one courier of a room. The system takes it back when its process dies.
//!
//! Those who look on hold it together and for a moment, so they are not taken for a courier, and keep none from starting.

use std::time::Duration;

use super::{Error, Result};
use crate::mailbox::lock::{Hold, Lock};
use crate::mailbox::{Dir, pause};

const LOCK: &str = ".run.lock";
const PAUSE: Duration = Duration::from_millis(5);
/// How often a courier waits until those who look on are gone.
const TRIES: u32 = 200;

/// Takes the lock for a courier.
pub(super) fn take(courier: &Dir) -> Result<Lock> {
    for _ in 0..TRIES {
        if let Some(lock) = courier.try_lock(LOCK, Hold::Alone)? {
            return Ok(lock);
        }
        if is_held(courier)? {
            break;
        }
        pause(PAUSE);
    }
    Err(Error::Running)
}

/// Whether a courier runs.
pub(super) fn is_held(courier: &Dir) -> Result<bool> {
    Ok(courier.try_lock(LOCK, Hold::Together)?.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_on_is_no_courier_and_keeps_none_from_starting() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(&temp.path().canonicalize().unwrap()).unwrap();
        let look = dir.try_lock(LOCK, Hold::Together).unwrap();
        assert!(look.is_some() && !is_held(&dir).unwrap());
        let looking = std::thread::spawn(move || {
            pause(10 * PAUSE);
            drop(look);
        });
        let lock = take(&dir).unwrap();
        looking.join().unwrap();
        assert!(is_held(&dir).unwrap() && matches!(take(&dir), Err(Error::Running)));
        drop(lock);
        assert!(!is_held(&dir).unwrap());
    }
}
