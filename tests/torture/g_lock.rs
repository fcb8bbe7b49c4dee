//! G5: a lock whose file is removed. Every holder removes the file before it lets go, so that others wait for a lock on a
//! file that is no longer there; a process that gets such a lock must notice that it holds nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use postroom::mailbox::Dir;
use postroom::mailbox::lock::Hold;

use crate::lab::{Findings, Lab, Outcome};

const NAME: &str = ".torture.lock";
const THREADS: usize = 4;
/// How long a holder waits for somebody to want the same.
const PATIENCE: Duration = Duration::from_millis(20);

pub(crate) fn removed_locks(lab: &Lab) -> Outcome {
    let tries = if lab.tier == 0 { 200 } else { 10_000 };
    let findings = Findings::default();
    let dir = lab.fast_dir();
    let (inside, taken, passed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let room = Dir::open(dir.path()).expect("a directory");
                while taken.load(Ordering::Relaxed) < tries {
                    match room.try_lock(NAME, Hold::Alone) {
                        Ok(Some(lock)) => {
                            let others = inside.fetch_add(1, Ordering::SeqCst);
                            findings.check(others == 0, || format!("{} hold it at once", others + 1));
                            taken.fetch_add(1, Ordering::Relaxed);
                            // Somebody else has to come meanwhile, or nothing is proven; not for ever.
                            let (before, start) = (passed.load(Ordering::Relaxed), Instant::now());
                            while passed.load(Ordering::Relaxed) == before && start.elapsed() < PATIENCE {
                                std::thread::yield_now();
                            }
                            inside.fetch_sub(1, Ordering::SeqCst);
                            // Removed while it is held; others have the old file open by now.
                            findings.check(room.remove(NAME).is_ok(), || {
                                "the file of a held lock was gone".to_owned()
                            });
                            drop(lock);
                        }
                        Ok(None) => {
                            passed.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                        }
                        Err(e) => return findings.add(e.to_string()),
                    }
                }
            });
        }
    });
    let (taken, passed) = (taken.into_inner(), passed.into_inner());
    findings.check(passed * 2 >= taken, || format!("only {passed} had to wait"));
    findings.verdict(format!("{THREADS} threads, {taken} locks taken and their file removed, {passed} tries in vain, never two holders"))
}
