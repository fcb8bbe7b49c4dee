//! A watch on a room as people see it: whether anything changed since the last look, and the sleep until then.
//!
//! Files are the truth: a change is seen by the times of the directories, and the watch of the kernel only ends the sleep
//! sooner. Those times are coarse, so a directory that changed a moment ago is looked at again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::directories;
use crate::clock::Timestamp;
use crate::journal;
use crate::post::Post;
use crate::wait::{Stop, Watch};
use crate::{dispatch, workflow};

/// The longest sleep: while agents work, what they do changes in files that are not watched.
const BUSY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(5);

/// Two changes within this time may leave the same time behind.
const COARSE: Duration = Duration::from_millis(20);

/// A watch on one room.
#[derive(Debug, Default)]
pub struct RoomWatch {
    watched: Option<(Watch, Vec<PathBuf>)>,
    frame: u64,
    /// The directories as they were when they were last seen to be quiet.
    seen: Option<u64>,
    longest: Duration,
    stop: Option<Stop>,
}

impl RoomWatch {
    /// A watch whose sleeps another thread can end.
    pub fn until(stop: &Stop) -> Self {
        Self { stop: Some(stop.clone()), ..Self::default() }
    }

    /// Whether something may have changed since the last look. The caller looks at the room after this, so that nothing
    /// falls between.
    pub fn has_changed(&mut self, post: &Post) -> bool {
        let frame = times(&frame(post.room().path())).0;
        if self.frame != frame || self.watched.is_none() {
            let directories = watched(post);
            let watch = Watch::on_changes(&directories);
            self.watched = Some((self.stoppable(watch), directories));
            self.frame = frame;
        }
        let directories = self.watched.as_ref().map(|(_, directories)| directories.as_slice());
        let (now, newest) = times(directories.unwrap_or_default());
        let is_fresh = post.room().clock().now().since(newest) < COARSE;
        let is_busy = is_busy(post);
        self.longest = match (is_fresh, is_busy) {
            (true, _) => COARSE,
            (false, true) => BUSY,
            (false, false) => IDLE,
        };
        self.seen.replace(if is_fresh { 0 } else { now }) != Some(now) || is_busy
    }

    /// The room cannot be opened. Whether it could be before.
    pub fn is_newly_lost(&mut self) -> bool {
        self.watched = None;
        self.longest = IDLE;
        self.seen.take().is_some()
    }

    /// Sleeps until there may be news.
    pub fn sleep(&mut self) {
        match &mut self.watched {
            Some((watch, _)) => watch.sleep(self.longest),
            None => self.stoppable(Watch::polling(IDLE)).sleep(self.longest),
        };
    }

    fn stoppable(&self, watch: Watch) -> Watch {
        match &self.stop {
            Some(stop) => watch.until(stop),
            None => watch,
        }
    }
}

/// Directories whose change means that others are to be watched.
fn frame(root: &Path) -> [PathBuf; 3] {
    [root.to_owned(), root.join(dispatch::runs::FOLDER), root.join(workflow::runs::FOLDER)]
}

fn watched(post: &Post) -> Vec<PathBuf> {
    let root = post.room().path();
    let all = frame(root).into_iter().chain([root.join(journal::FOLDER)]).chain(directories(post));
    all.filter(|directory| directory.is_dir()).collect()
}

/// What differs if something came into a directory or left it, and the time of the newest change.
fn times(directories: &[PathBuf]) -> (u64, Timestamp) {
    let (mut hasher, mut newest) = (DefaultHasher::new(), (0, 0));
    for directory in directories {
        if let Ok(stat) = directory.symlink_metadata() {
            (stat.ino(), stat.mtime(), stat.mtime_nsec()).hash(&mut hasher);
            newest = newest.max((stat.mtime(), stat.mtime_nsec()));
        }
    }
    let (seconds, nanoseconds) = newest;
    (hasher.finish().max(1), Timestamp::from_parts(seconds, i32::try_from(nanoseconds).unwrap_or(0)))
}

fn is_busy(post: &Post) -> bool {
    let open = dispatch::runs::Runs::existing(post.room()).and_then(|runs| match runs {
        Some(runs) => Ok(!runs.open_ids()?.is_empty()),
        None => Ok(false),
    });
    open.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::post::{Caller, Letter, NewMailbox};

    #[test]
    fn every_change_is_told_and_quiet_is_quiet() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let open = |flag: Option<&str>| {
            let caller = Caller { flag: flag.map(str::to_owned), ..Caller::default() };
            Post::open_or_make(&path, caller, Arc::new(SystemClock)).unwrap()
        };
        open(None).setup(&NewMailbox { name: Some("ann".into()), ..NewMailbox::default() }).unwrap();
        let post = open(Some("ann"));
        let mut watch = RoomWatch::default();
        assert!(watch.has_changed(&post), "the first look is news");
        for _ in 0..3 {
            // Until the last change is older than the times of directories are exact.
            while watch.longest == COARSE {
                watch.sleep();
                watch.has_changed(&post);
            }
            assert!(!watch.has_changed(&post));
            let letter = Letter { to: vec!["ann".into()], body: "x".into(), ..Letter::default() };
            post.send(&post.me().unwrap(), &letter).unwrap();
            watch.sleep();
            assert!(watch.has_changed(&post));
        }
        std::fs::remove_dir_all(&path).unwrap();
        assert!(watch.is_newly_lost() && !watch.is_newly_lost());
    }
}
