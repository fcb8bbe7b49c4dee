//! The laboratory: what every test is handed, and what it hands back.
//!
//! A [`Lab`] knows the binary under test, how large a run is wanted and where there is room to work. A test
//! returns an [`Outcome`]: a sentence with its figures, or why it failed, or why it could not run here.
//! [`Findings`] collects what went wrong from several threads, so that a run shows all of it and not only the
//! first.

use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;

/// What a test ends with: its figures, or why it did not pass.
pub(crate) type Outcome = Result<String, NotPassed>;

pub(crate) enum NotPassed {
    Failed { figures: String, problems: Vec<String> },
    Skipped(String),
}

/// What every test is handed.
#[derive(Clone)]
pub(crate) struct Lab {
    pub(crate) binary: PathBuf,
    /// How large a run is wanted: the tier it was asked for in.
    pub(crate) tier: u8,
    pub(crate) workers: usize,
    /// How long a soak lasts.
    pub(crate) soak: Duration,
    /// Which histories P1 plays, if not those of its tier.
    pub(crate) seeds: Option<Range<u64>>,
    /// A build that can leave out a sync or a flag (D4), and what it is to leave out.
    pub(crate) mutant: Option<PathBuf>,
    pub(crate) mutation: Option<String>,
}

impl Lab {
    /// A directory for tests that do very much and do not depend on the file system: in memory, where there
    /// is such a place with room to spare.
    pub(crate) fn fast_dir(&self) -> TempDir {
        const ENOUGH: u64 = 256 << 20;
        let memory = Path::new("/dev/shm");
        let free = rustix::fs::statvfs(memory).map_or(0, |stat| stat.f_bavail * stat.f_frsize);
        let made = tempfile::Builder::new().prefix("postroom-torture-").tempdir_in(memory);
        made.ok().filter(|_| free >= ENOUGH).unwrap_or_else(|| self.dir())
    }

    /// A directory on the disk of temporary files.
    pub(crate) fn dir(&self) -> TempDir {
        let dir =
            tempfile::Builder::new().prefix("postroom-torture-").tempdir().expect("a temporary directory");
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o700)).expect("its mode");
        dir
    }

    pub(crate) fn is_root(&self) -> bool {
        rustix::process::geteuid().is_root()
    }
}

/// Problems, gathered from any thread.
#[derive(Default)]
pub(crate) struct Findings(Mutex<Vec<String>>);

impl Findings {
    pub(crate) fn add(&self, problem: impl Into<String>) {
        self.0.lock().expect("no thread panicked here").push(problem.into());
    }

    pub(crate) fn extend(&self, at: &str, problems: impl IntoIterator<Item = String>) {
        for problem in problems {
            self.add(format!("{at}: {problem}"));
        }
    }

    /// Adds a problem unless `holds`.
    pub(crate) fn check(&self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.add(problem());
        }
    }

    /// Passed, if there are none.
    pub(crate) fn verdict(self, figures: impl Into<String>) -> Outcome {
        let problems = self.0.into_inner().expect("no thread panicked here");
        if problems.is_empty() {
            Ok(figures.into())
        } else {
            Err(NotPassed::Failed { figures: figures.into(), problems })
        }
    }
}

/// Hands the items out to `workers` threads; each call is told which worker it runs in.
pub(crate) fn spread<T: Sync>(workers: usize, items: &[T], work: impl Fn(usize, &T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..workers.max(1) {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(worker, item);
                }
            });
        }
    });
}

/// The reason for which a test is skipped when a program is missing.
pub(crate) fn need(program: &str) -> Result<(), NotPassed> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    if places.into_iter().any(|place: PathBuf| place.join(program).is_file()) {
        Ok(())
    } else {
        Err(NotPassed::Skipped(format!("needs {program}")))
    }
}

/// How long a command may take that hangs on nothing: a second, and more where others wait for the processors too.
pub(crate) fn promptly() -> Duration {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Duration::from_secs(1).mul_f64(1.0 + load / cores as f64)
}
