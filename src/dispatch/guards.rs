//! Guards: the limits that keep a waiting message from an agent.
//!
//! A limit delays: over `hour_runs` and `day_cost` a message waits until a given time, over `thread_runs` it waits for a
//! person. Only a message that a later try cannot help fails: one at the end of a loop (`hops`), or from a room whose mail
//! the agent does not take.

use std::time::Duration;

use super::runs::key;
use super::tally::RunCounts;
use crate::clock::Timestamp;
use crate::message::Envelope;
use crate::post::{FROM_NETWORK, FROM_ROOM, HOPS, line};
use crate::settings::agents::DispatchSettings;

pub use crate::post::THREAD;

/// The windows of `hour_runs` and `day_cost`.
pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const DAY: Duration = Duration::from_secs(86_400);

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

/// Why a message is not given to its agent now, and what becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// A later try would meet it again.
    Fail(String),
    /// A person decides.
    Park(String),
    /// It may be tried from this time on.
    Wait(Timestamp, String),
}

/// The reason why a message must not be run now. `None` if it may. `rooms`: other rooms whose mail starts the agent.
pub fn refuse(
    settings: &DispatchSettings,
    rooms: &[String],
    counted: &RunCounts,
    envelope: &Envelope,
    now: Timestamp,
) -> Option<Refusal> {
    if let Some(room) = envelope.extra(FROM_ROOM).filter(|room| !rooms.iter().any(|known| known == room)) {
        let which = match envelope.extra(FROM_NETWORK) {
            Some(network) => format!("the room {room} of the network {network}"),
            None => format!("the room {room}"),
        };
        let why = format!("it came from {which}, which is not in `from` of its agent");
        return Some(Refusal::Fail(why));
    }
    let hops = hops(envelope);
    if hops >= settings.hops {
        let steps = line::counted(hops as usize, "automatic step");
        let why = format!("{steps} led to it; the limit `hops` is {}", settings.hops);
        return Some(Refusal::Fail(why));
    }
    if counted.in_thread >= settings.thread_runs {
        let (had, limit) = (counted.in_thread, settings.thread_runs);
        let had = line::counted(had, "run");
        return Some(Refusal::Park(format!("its thread had {had}; the limit `thread_runs` is {limit}")));
    }
    delay(settings, counted, now).map(|(until, why)| Refusal::Wait(until, why))
}

/// Until when an agent has to wait because it had too many runs in an hour, or spent too much in a day.
pub fn delay(
    settings: &DispatchSettings,
    counted: &RunCounts,
    now: Timestamp,
) -> Option<(Timestamp, String)> {
    let runs = counted.runs.len();
    if runs >= settings.hour_runs {
        // When so many have become old that one more fits.
        let oldest = counted.runs.get(runs - settings.hour_runs.min(runs)).copied();
        let limit = settings.hour_runs;
        let had = line::counted(runs, "run");
        let why = format!("its agent had {had} within an hour; the limit `hour_runs` is {limit}");
        return Some((oldest.unwrap_or(now).plus(HOUR), why));
    }
    let (limit, spent) = (settings.day_cost?, counted.spent());
    if spent < limit {
        return None;
    }
    let mut left = spent;
    let oldest = counted.costs.iter().find(|(_, dollars)| {
        left -= dollars;
        left < limit
    });
    let why = format!("its agent spent {spent:.2} dollars within a day; the limit `day_cost` is {limit:.2}");
    Some((oldest.map_or(now, |(time, _)| *time).plus(DAY), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(runs: &[i64], costs: &[(i64, f64)]) -> RunCounts {
        let at = |second: &i64| Timestamp::from_parts(*second, 0);
        RunCounts {
            runs: runs.iter().map(at).collect(),
            in_thread: 0,
            costs: costs.iter().map(|(time, dollars)| (at(time), *dollars)).collect(),
        }
    }

    #[test]
    fn a_limit_says_when_it_is_over() {
        let limits = |hour_runs, day_cost| DispatchSettings { hour_runs, day_cost, ..Default::default() };
        let now = Timestamp::from_parts(5000, 0);
        let until = |settings: &DispatchSettings, counted: &RunCounts| {
            delay(settings, counted, now).map(|(until, _)| until.seconds())
        };
        let three = counted(&[2000, 3000, 4000], &[]);
        assert_eq!(until(&limits(4, None), &three), None);
        assert_eq!(until(&limits(3, None), &three), Some(2000 + 3600));
        assert_eq!(until(&limits(2, None), &three), Some(3000 + 3600));
        assert_eq!(until(&limits(0, None), &counted(&[], &[])), Some(5000 + 3600));
        let spent = counted(&[], &[(100, 0.5), (200, 0.25), (300, 0.5)]);
        assert_eq!(until(&limits(9, Some(2.0)), &spent), None);
        assert_eq!(until(&limits(9, Some(1.0)), &spent), Some(100 + 86_400));
        assert_eq!(until(&limits(9, Some(0.5)), &spent), Some(300 + 86_400));
        assert_eq!(until(&limits(9, Some(0.0)), &counted(&[], &[])), Some(5000 + 86_400));
    }

    #[test]
    fn mail_of_another_room_starts_an_agent_only_if_its_table_names_the_room() {
        let extra = [(FROM_ROOM, "build"), (FROM_NETWORK, "team")];
        let envelope = Envelope {
            id: crate::name::MessageId::derived(b"x"),
            from: crate::message::Origin::mailbox("bob-1"),
            to: "alice-1".into(),
            subject: "s".into(),
            reply_to: None,
            priority: crate::message::Priority::Normal,
            channel: None,
            extra: extra.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
            native: Default::default(),
            doubts: vec![],
        };
        let (settings, now) = (DispatchSettings::default(), Timestamp::from_parts(5000, 0));
        let refused = |rooms: &[&str]| {
            let rooms: Vec<String> = rooms.iter().map(|room| (*room).to_owned()).collect();
            refuse(&settings, &rooms, &counted(&[], &[]), &envelope, now)
        };
        assert_eq!(refused(&["main", "build"]), None);
        let why = "it came from the room build of the network team, which is not in `from` of its agent";
        assert_eq!(refused(&["main"]), Some(Refusal::Fail(why.to_owned())));
    }
}
