//! Pausing and resuming an agent, for people. What a person paused, only a person resumes.

use super::paused::{Pause, PauseKind};
use super::runs::Runs;
use crate::message::visible;
use crate::post::{Post, Result};

/// An agent that may be started again.
#[derive(Debug)]
pub struct Resumed {
    /// Whether it was paused at all.
    pub was_paused: bool,
    /// What still keeps it from being started: a limit is not lifted.
    pub left: Vec<Pause>,
}

/// The reason of a person who gave none.
const BY_HAND: &str = "by hand";

/// Keeps an agent from being started until [`resume`], also one that is not configured now. What runs goes on. Without a
/// reason, one that was given before stays. Returns what keeps it from being started.
pub fn pause(post: &Post, agent: &str, why: &str) -> Result<Vec<Pause>> {
    let id = post.addressee(agent)?;
    post.room().may_write()?;
    let runs = Runs::open(post.room())?;
    let now = post.room().clock().now();
    let before = runs.pause_of(id.as_str(), PauseKind::Person)?;
    if before.is_none() || !why.is_empty() {
        let why = visible::clip(if why.is_empty() { BY_HAND } else { why }, 400);
        runs.pause(id.as_str(), &Pause::new(PauseKind::Person, agent, &why, now, None))?;
    }
    Ok(runs.pauses(id.as_str(), now)?)
}

/// Lets a paused agent be started again, and tries at once after an outage.
pub fn resume(post: &Post, agent: &str) -> Result<Resumed> {
    let id = post.addressee(agent)?;
    post.room().may_write()?;
    let runs = Runs::open(post.room())?;
    let now = post.room().clock().now();
    if runs.pause_of(id.as_str(), PauseKind::Person)?.is_some() {
        // A person's word is a person's.
        post.person(agent)?;
    }
    let mut was_paused = runs.unpause(id.as_str(), PauseKind::Person)?;
    was_paused |= runs.probe_now(id.as_str(), now)?;
    Ok(Resumed { was_paused, left: runs.pauses(id.as_str(), now)? })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::person::Person;
    use crate::post::{Caller, Error, NewMailbox};

    #[test]
    fn only_a_person_resumes_what_a_person_paused() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("room");
        let caller = Caller { by_agent: true, ..Caller::default() };
        let post = Post::open_or_make(&path, caller, Arc::new(SystemClock)).unwrap();
        post.setup(&NewMailbox { name: Some("coder".into()), ..NewMailbox::default() }).unwrap();
        let post = post.again().unwrap();
        assert!(!resume(&post, "coder").unwrap().was_paused);

        let pauses = pause(&post, "coder", "holiday").unwrap();
        assert_eq!((pauses.len(), pauses[0].kind, pauses[0].why.as_str()), (1, PauseKind::Person, "holiday"));
        assert_eq!(pause(&post, "coder", "").unwrap(), pauses, "a second pause replaced the reason");
        assert!(matches!(resume(&post, "coder"), Err(Error::NoPerson(_))));
        let runs = Runs::open(post.room()).unwrap();
        let id = post.addressee("coder").unwrap();
        assert_eq!(runs.pauses(id.as_str(), post.room().clock().now()).unwrap(), pauses);
        let resumed = resume(&post.again().unwrap().attended_by(Person::of_test()), "coder").unwrap();
        assert!(resumed.was_paused && resumed.left.is_empty());

        let limit = Pause::new(PauseKind::Limit, "coder", "4 runs an hour", post.room().clock().now(), None);
        runs.pause(id.as_str(), &limit).unwrap();
        let resumed = resume(&post, "coder").unwrap();
        assert!(!resumed.was_paused && resumed.left == [limit], "{resumed:?}");
        assert!(matches!(pause(&post, "nobody", ""), Err(Error::UnknownName { .. })));
    }
}
