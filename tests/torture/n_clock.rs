//! A machine whose clock is an hour fast or slow: the library with such a clock passed in. Its courier is a process of its own,
//! this program again, so that it can be killed like any other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postroom::clock::{Clock, SystemClock, Timestamp};
use postroom::courier::{Courier, Members, Stop};
use postroom::post::{Caller, Letter, Outcome, Post};

/// The argument for which this program is such a courier; its room, its settings and how wrong its clock is follow.
pub(crate) const COURIER: &str = "--courier-with-clock";

/// The machine's clock, wrong by some seconds.
#[derive(Debug, Clone, Copy)]
struct Apart(i64);

impl Clock for Apart {
    fn now(&self) -> Timestamp {
        let (now, span) = (SystemClock.now(), Duration::from_secs(self.0.unsigned_abs()));
        if self.0 < 0 { now.minus(span) } else { now.plus(span) }
    }

    fn boot(&self) -> Duration {
        SystemClock.boot()
    }

    fn boot_id(&self) -> std::io::Result<String> {
        SystemClock.boot_id()
    }

    fn host(&self) -> String {
        SystemClock.host()
    }
}

/// Carries until it is killed.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let [root, config, seconds] = words else { return Err(format!("{COURIER} ROOT CONFIG SECONDS")) };
    let seconds = seconds.parse().map_err(|e| format!("{seconds}: {e}"))?;
    let member = Members::new(Path::new(config)).of(Path::new(root)).map_err(|e| e.to_string())?;
    let member = member.ok_or("the room has joined no network")?;
    let clock = Arc::new(Apart(seconds));
    let courier = Courier::new(root.into(), Caller::default(), clock, member).map_err(|e| e.to_string())?;
    let stop = Stop::new().map_err(|e| e.to_string())?;
    courier.run(&stop, |_| ()).map(drop).map_err(|e| e.to_string())
}

/// Sends by this clock; an error in words unless the letter is queued.
pub(crate) fn send(root: &Path, seconds: i64, from: &str, to: &str, subject: &str) -> Result<(), String> {
    let caller = Caller { flag: Some(from.to_owned()), ..Caller::default() };
    let post = Post::open(root, caller, Arc::new(Apart(seconds))).map_err(|e| e.to_string())?;
    let me = post.me().map_err(|e| e.to_string())?;
    let letter = Letter {
        to: vec![to.to_owned()],
        subject: Some(subject.to_owned()),
        body: "text".to_owned(),
        ..Letter::default()
    };
    match post.send(&me, &letter).map_err(|e| e.to_string())?.as_slice() {
        [one] if matches!(one.outcome, Outcome::Queued) => Ok(()),
        other => Err(format!("not queued: {other:?}")),
    }
}
