//! Guards: when a message is not given to an agent although it waits. Whoever hits one is told the reason, and the message
//! is parked as failed, because trying again would only hit it again.

use super::config::DispatchSettings;
use super::tally::Counted;
use crate::message::Envelope;
use crate::post::HOPS;

/// The field that names the first message of a thread, in automatic answers and all that follows them.
pub const THREAD: &str = "thread";

/// How many automatic steps led to a message.
pub fn hops(envelope: &Envelope) -> u32 {
    envelope.extra(HOPS).and_then(|hops| hops.parse().ok()).unwrap_or(0)
}

/// The first message of a thread, as far as the message itself tells.
pub fn thread(envelope: &Envelope) -> String {
    let named = envelope.extra(THREAD).map(str::to_owned);
    named
        .or_else(|| envelope.reply_to.as_ref().map(ToString::to_string))
        .unwrap_or_else(|| envelope.id.to_string())
}

/// Why a message must not be run, if anything stands against it.
pub fn refuse(settings: &DispatchSettings, counted: Counted, envelope: &Envelope) -> Option<String> {
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
