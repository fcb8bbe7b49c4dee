//! What a test does instead of sleeping, and instead of failing where a machine lacks something.

use std::io::Write;
use std::process::Child;

/// Returns once a process has a watch open. A condition that can be seen is looked at, never slept for. With the portable layer
/// there is no watch: then it sleeps between two looks.
pub(crate) fn until_watching(child: &Child) {
    let place = format!("/proc/{}", child.id());
    if cfg!(feature = "portable") {
        let sleeps = |at: String| ["nanosleep", "poll", "futex"].iter().any(|call| at.contains(call));
        return until("a sleep", || std::fs::read_to_string(format!("{place}/wchan")).is_ok_and(sleeps));
    }
    until("a watch", || {
        std::fs::read_dir(format!("{place}/fd")).is_ok_and(|list| {
            list.flatten().any(|fd| {
                std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("inotify"))
            })
        })
    });
}

/// Looks until something is so, and gives up long before the runner does. What comes at once is seen at once; what takes longer needs the
/// processor itself.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        let waited = start.elapsed();
        assert!(waited.as_secs() < 90, "{what} did not come");
        if waited.as_millis() < 10 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// The same for what a large program does, which takes its time on a busy machine, and leaves it the processor.
pub(crate) fn until_at_last(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed().as_secs() < 150, "{what} did not come");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Says that a test did not run here, to who watches and to `cargo xtask test`.
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}");
    println!("{line}");
    if let Some(path) = std::env::var_os("POSTROOM_SKIPPED") {
        let mut record = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(record, "{line}").unwrap();
    }
}
