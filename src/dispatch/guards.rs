//! Guards: the limits that keep a waiting message from an agent. A message over a limit is parked as failed, because a
//! retry would hit the limit again, and its sender gets the reason.

use super::runs::key;
use super::tally::RunCounts;
use crate::message::Envelope;
use crate::post::{FROM_ROOM, HOPS};
use crate::settings::agents::DispatchSettings;

pub use crate::post::THREAD;

/// The number of automatic steps that led to a message.
pub fn hops(envelope: &Envelope) -> u32 {
    envelope.extra(HOPS).and_then(|hops| hops.parse().ok()).unwrap_or(0)
}

/// The id of a thread, as far as the message knows it: that of its first message. Hex digits only, because it goes into
/// the environment of an agent, where no text of a message may go.
pub fn thread(envelope: &Envelope) -> String {
    let is_number = |text: &&str| {
        text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    match envelope.extra(THREAD).filter(is_number) {
        Some(number) => number.to_owned(),
        None => key("", envelope.reply_to.as_ref().unwrap_or(&envelope.id).as_str()),
    }
}

/// The reason why a message must not be run. `None` if it may. `rooms`: other rooms whose mail starts the agent.
pub fn refuse(
    settings: &DispatchSettings,
    rooms: &[String],
    counted: RunCounts,
    envelope: &Envelope,
) -> Option<String> {
    if let Some(room) = envelope.extra(FROM_ROOM).filter(|room| !rooms.iter().any(|known| known == room)) {
        return Some(format!("it came from the room {room}, which is not in `from` of its agent"));
    }
    let hops = hops(envelope);
    if hops >= settings.hops {
        return Some(format!("{hops} automatic steps led to it; the limit `hops` is {}", settings.hops));
    }
    if counted.in_thread >= settings.thread_runs {
        return Some(format!(
            "its thread had {} runs; the limit `thread_runs` is {}",
            counted.in_thread, settings.thread_runs
        ));
    }
    if counted.in_hour >= settings.hour_runs {
        return Some(format!(
            "its agent had {} runs within an hour; the limit `hour_runs` is {}",
            counted.in_hour, settings.hour_runs
        ));
    }
    match settings.day_cost {
        Some(limit) if counted.spent >= limit => Some(format!(
            "its agent spent {:.2} dollars within a day; the limit `day_cost` is {limit:.2}",
            counted.spent
        )),
        _ => None,
    }
}
