//! Time as the rest of the program sees it: a [`Clock`] that is passed in, and a [`Timestamp`] that knows
//! the few forms in which Postroom writes time. Leases and waits are measured on the boot-time clock, which
//! nobody can set back; wall time is only shown and put into names.

use std::fmt;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::os;

/// Where a program gets its time from.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Wall time, which may jump.
    fn now(&self) -> Timestamp;
    /// Time since boot, sleep included, which may not.
    fn boot(&self) -> Duration;
    /// Which boot that is; empty where the system does not say.
    fn boot_id(&self) -> std::io::Result<String>;
    /// Whose boot that is.
    fn host(&self) -> String;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        Timestamp::from_parts(now.tv_sec, i32::try_from(now.tv_nsec).unwrap_or(0))
    }

    fn boot(&self) -> Duration {
        let now = os::boot_time();
        Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
    }

    fn boot_id(&self) -> std::io::Result<String> {
        os::boot_id()
    }

    fn host(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
}

/// A moment in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Clamped to what a four-digit year can say, because names and fields have four digits for it.
    pub fn from_parts(seconds: i64, nanoseconds: i32) -> Self {
        let seconds = seconds.clamp(-62_135_596_800, 253_402_207_199);
        Self(jiff::Timestamp::new(seconds, nanoseconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// A date, or a time without a zone, taken as UTC. A date alone is its midnight.
    pub fn parse_as_utc(text: &str) -> Option<Self> {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        TimeZone::UTC.to_timestamp(civil).ok().map(Self)
    }

    pub fn seconds(self) -> i64 {
        self.0.as_second()
    }

    /// So long after this.
    pub fn plus(self, span: Duration) -> Self {
        let nanoseconds = i64::from(self.0.subsec_nanosecond()) + i64::from(span.subsec_nanos());
        let seconds = self.seconds().saturating_add(i64::try_from(span.as_secs()).unwrap_or(i64::MAX));
        let rest = i32::try_from(nanoseconds % 1_000_000_000).unwrap_or(0);
        Self::from_parts(seconds.saturating_add(nanoseconds / 1_000_000_000), rest)
    }

    /// So long before this.
    pub fn minus(self, span: Duration) -> Self {
        self.0.checked_sub(span).map_or(Self::from_parts(i64::MIN, 0), Self)
    }

    /// How long after `earlier` this is; zero if a clock was set back between them.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from(self.0.duration_since(earlier.0)).unwrap_or(Duration::ZERO)
    }

    /// `20261115T023011Z`, the beginning of a file name.
    pub fn compact(self) -> String {
        let t = self.civil();
        format!(
            "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
            t.year(),
            t.month(),
            t.day(),
            t.hour(),
            t.minute(),
            t.second()
        )
    }

    /// `2026-11-15`, a day of the journal.
    pub fn day(self) -> String {
        let t = self.civil();
        format!("{:04}-{:02}-{:02}", t.year(), t.month(), t.day())
    }

    /// `2026-11-15T02:30:11.042Z`, for the journal, where order within a second matters.
    pub fn precise(self) -> String {
        let t = self.civil();
        format!("{}T{:02}:{:02}:{:02}.{:03}Z", self.day(), t.hour(), t.minute(), t.second(), t.millisecond())
    }

    fn civil(self) -> jiff::civil::DateTime {
        TimeZone::UTC.to_datetime(self.0)
    }
}

/// `2026-11-15T02:30:11Z`, the form of every field and every line of output.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.civil();
        write!(f, "{}T{:02}:{:02}:{:02}Z", self.day(), t.hour(), t.minute(), t.second())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_moment() {
        let t = Timestamp::from_parts(1_781_212_203, 42_000_000);
        assert_eq!(t.to_string(), "2026-06-11T21:10:03Z");
        assert_eq!(t.compact(), "20260611T211003Z");
        assert_eq!(t.precise(), "2026-06-11T21:10:03.042Z");
        assert_eq!(Timestamp::parse("2026-06-11T21:10:03Z").unwrap().seconds(), t.seconds());
    }

    #[test]
    fn a_time_without_a_zone_is_taken_as_utc() {
        let shown = |text: &str| Timestamp::parse_as_utc(text).map(|t| t.to_string());
        assert_eq!(shown("2026-06-11").as_deref(), Some("2026-06-11T00:00:00Z"));
        assert_eq!(shown("2026-06-11 21:10").as_deref(), Some("2026-06-11T21:10:00Z"));
        assert_eq!(shown("2026-06-11T21:10:03").as_deref(), Some("2026-06-11T21:10:03Z"));
        assert_eq!(shown("yesterday"), None);
    }

    #[test]
    fn years_at_the_edges_keep_four_digits() {
        assert_eq!(Timestamp::from_parts(-1, 0).compact(), "19691231T235959Z");
        assert_eq!(Timestamp::from_parts(4_294_967_296, 0).compact(), "21060207T062816Z");
        assert_eq!(Timestamp::from_parts(i64::MAX, 0).compact().len(), 16);
        assert_eq!(Timestamp::from_parts(i64::MIN, 0).compact().len(), 16);
    }

    #[test]
    fn a_clock_set_back_gives_no_time_rather_than_a_negative_one() {
        let (a, b) = (Timestamp::from_parts(100, 0), Timestamp::from_parts(40, 0));
        assert_eq!(a.since(b), Duration::from_secs(60));
        assert_eq!(b.since(a), Duration::ZERO);
    }
}
