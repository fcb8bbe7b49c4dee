//! Spans of time as people write them: `45s`, `30m`, `12h`, `7d`, `2w`; a bare number is seconds. Pure.

use std::time::Duration;

/// The longest span that is accepted: ten years.
const LIMIT: f64 = 10.0 * 366.0 * 86_400.0;

/// Reads a span.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a span of time; try 45s, 30m, 12h, 7d or 2w");
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, c)) if c.is_ascii_alphabetic() => (&text[..at], c),
        _ => (text, 's'),
    };
    let factor = match unit {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        'd' => 86_400.0,
        'w' => 604_800.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * factor;
    if (0.0..=LIMIT).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(wrong()) }
}

/// Reads a span that must have a unit, where a wrong guess would cost something.
pub fn parse_with_unit(text: &str) -> Result<Duration, String> {
    match text.ends_with(|c: char| c.is_ascii_alphabetic()) {
        true => parse(text),
        false => Err(format!("`{text}` has no unit; try {text}d for days, or 45s, 30m, 12h, 2w")),
    }
}

/// A span in its largest useful unit: `3m`, `2h`, `5d`.
pub fn short(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A span in words: `50 ms`, `12 s`, `3 min`, `2 h`, `5 days`.
pub fn spoken(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 if !span.is_zero() => format!("{} ms", span.as_millis()),
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A span for a table of measurements: `12ms`, `3.4s`, and longer ones in two units: `6m 40s`, `2h 5m`, `3d 4h`.
pub fn measured(span: Duration) -> String {
    let seconds = span.as_secs();
    let (one, size, other, part) = match span.as_millis() {
        ms @ 0..1000 => return format!("{ms}ms"),
        1000..60_000 => return format!("{:.1}s", span.as_secs_f64()),
        60_000..3_600_000 => ("m", 60, "s", 1),
        3_600_000..172_800_000 => ("h", 3600, "m", 60),
        _ => ("d", 86_400, "h", 3600),
    };
    match seconds % size / part {
        0 => format!("{}{one}", seconds / size),
        rest => format!("{}{one} {rest}{other}", seconds / size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        for (text, seconds) in [
            ("45s", 45.0),
            ("1.5m", 90.0),
            ("2h", 7200.0),
            ("7d", 604_800.0),
            ("1w", 604_800.0),
            ("0.05", 0.05),
        ] {
            assert_eq!(parse(text).unwrap(), Duration::from_secs_f64(seconds), "{text}");
        }
        for bad in ["", "x", "-1s", "5y", "1e99d", "nan", "inf", "m", "é"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shown_in_the_largest_unit() {
        assert_eq!(short(Duration::from_secs(59)), "59s");
        assert_eq!(short(Duration::from_secs(7200)), "2h");
        assert_eq!(short(Duration::from_secs(172_800)), "2d");
        let spoken_of = |seconds| spoken(Duration::from_secs(seconds));
        assert_eq!([12, 200, 7200, 172_800].map(spoken_of), ["12 s", "3 min", "2 h", "2 days"]);
        assert_eq!(measured(Duration::from_millis(12)), "12ms");
        assert_eq!(measured(Duration::from_millis(3440)), "3.4s");
        let measured_of = |seconds| measured(Duration::from_secs(seconds));
        assert_eq!(
            [60, 400, 1800, 3960, 86_400, 273_600].map(measured_of),
            ["1m", "6m 40s", "30m", "1h 6m", "24h", "3d 4h"]
        );
    }
}
