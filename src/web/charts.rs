//! Charts over time, as SVG: lines with an axis of values and one of time, and small bars without either.

use std::fmt::Write;
use std::time::Duration;

use super::lanes::escaped;
use crate::span;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 22.0;
const TOP: f64 = 10.0;

/// One line of a chart. `kind` is its colour.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) kind: &'static str,
    /// `None` where there is nothing to say; the line has a gap there.
    pub(super) values: Vec<Option<f64>>,
}

/// The colours of lines, as the style names them.
pub(super) const KINDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// The smallest round number that is no less: 1, 2, 4, 6 or 8 of some power of ten, which all have a round half.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|round| *round >= value)
        .unwrap_or(value)
}

/// The end of an axis: round in what people count, seconds up to minutes and hours too.
pub(super) fn axis(most: f64, unit: Unit) -> f64 {
    match unit {
        _ if most <= 0.0 => 1.0,
        Unit::Count => round_up(most.max(2.0)),
        Unit::Amount => round_up(most),
        Unit::Seconds => {
            let size = [(86_400.0, 172_800.0), (3600.0, 3600.0), (60.0, 60.0)];
            let size = size.into_iter().find(|(_, from)| most > *from).map_or(1.0, |(size, _)| size);
            // Half of an odd number of minutes would be cut.
            round_up((most / size).max(if size > 1.0 { 2.0 } else { 0.0 })) * size
        }
    }
}

/// What the values of a chart are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    Count,
    Amount,
    Seconds,
}

/// Draws lines over a span that ends now. `written`: a value in words.
pub(super) fn draw(span: Duration, all: &[Series], unit: Unit, written: &dyn Fn(f64) -> String) -> String {
    let most =
        axis(all.iter().flat_map(|series| &series.values).copied().flatten().fold(0.0, f64::max), unit);
    let mut svg = String::new();
    let mut out = |text: std::fmt::Arguments<'_>| {
        // Writing into a String does not fail.
        let _ = svg.write_fmt(text);
    };
    let names: Vec<String> = all.iter().map(|series| escaped(&series.name)).collect();
    out(format_args!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{} over time\">",
        names.join(", ")
    ));
    let y = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / most);
    for part in [0.0, 0.5, 1.0] {
        let (at, value) = (y(most * part), escaped(&written(most * part)));
        out(format_args!(
            "<line class=\"tick\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{WIDTH}\" y2=\"{at:.1}\"/>\
             <text class=\"dim\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            LEFT - 6.0,
            at + 4.0
        ));
    }
    for part in 0..=3 {
        let at = LEFT + (WIDTH - LEFT) * f64::from(part) / 3.0;
        let ago = span.mul_f64(1.0 - f64::from(part) / 3.0);
        let (text, anchor) = match part {
            3 => ("now".to_owned(), "end"),
            0 => (format!("−{}", span::short(ago)), "start"),
            _ => (format!("−{}", span::short(ago)), "middle"),
        };
        out(format_args!(
            "<text class=\"dim\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>",
            HEIGHT - 5.0
        ));
    }
    for series in all {
        let step = (WIDTH - LEFT) / series.values.len().max(1) as f64;
        let at = |(at, value): (usize, f64)| (LEFT + step * (at as f64 + 0.5), y(value));
        let numbered: Vec<(usize, Option<f64>)> = series.values.iter().copied().enumerate().collect();
        for piece in numbered.split(|(_, value)| value.is_none()).filter(|piece| !piece.is_empty()) {
            let known = piece.iter().filter_map(|(number, value)| Some(at((*number, (*value)?))));
            let points: Vec<(f64, f64)> = known.collect();
            let text: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let (kind, text, floor) = (series.kind, text.join(" "), HEIGHT - BOTTOM);
            match points.as_slice() {
                // A line of one value has no length.
                [(x, y)] => out(format_args!(
                    "<circle class=\"point {kind}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>"
                )),
                [(from, _), .., (to, _)] => out(format_args!(
                    "<polygon class=\"area {kind}\" points=\"{from:.1},{floor} {text} {to:.1},{floor}\"/>\
                     <polyline class=\"line {kind}\" points=\"{text}\"/>"
                )),
                [] => {}
            }
        }
    }
    svg.push_str("</svg>");
    let keys = all
        .iter()
        .map(|series| format!("<span class=\"key {}\">{}</span>", series.kind, escaped(&series.name)));
    format!("{svg}<p class=\"legend small\">{}</p>", keys.collect::<Vec<_>>().join(" "))
}

/// Small bars, one for each value.
pub(super) fn spark(values: &[usize]) -> String {
    let most = values.iter().copied().max().unwrap_or(0).max(1) as f64;
    let mut svg =
        format!("<svg class=\"spark\" viewBox=\"0 0 {} 18\" aria-hidden=\"true\">", values.len() * 3);
    for (at, value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let height = 2.0 + 16.0 * *value as f64 / most;
        let _ = write!(
            svg,
            "<rect x=\"{}\" y=\"{:.1}\" width=\"2\" height=\"{height:.1}\"/>",
            at * 3,
            18.0 - height
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<Option<f64>>) -> String {
        let series = Series { name: "<x>".into(), kind: "a", values };
        draw(Duration::from_secs(3600), &[series], Unit::Count, &|value| format!("{value:.0}"))
    }

    #[test]
    fn a_chart_of_nothing_of_one_value_and_with_a_gap() {
        assert!(!chart(vec![]).contains("NaN") && !chart(vec![Some(0.0); 3]).contains("NaN"));
        assert!(chart(vec![Some(5.0)]).contains("<circle"));
        let gap = chart(vec![Some(5.0), Some(4.0), None, Some(1.0), Some(2.0)]);
        assert_eq!(gap.matches("<polyline").count(), 2, "{gap}");
        assert!(gap.contains("&#60;x&#62;") && !gap.contains("<x>"), "{gap}");
        assert!(spark(&[0, 3]).matches("<rect").count() == 1);
    }

    #[test]
    fn axes_end_at_round_numbers() {
        let ends = |unit| [0.0, 1.0, 9.0, 41.0, 130.0, 4000.0].map(|most| axis(most, unit));
        assert_eq!(ends(Unit::Count), [1.0, 2.0, 10.0, 60.0, 200.0, 4000.0]);
        assert_eq!(ends(Unit::Seconds), [1.0, 1.0, 10.0, 60.0, 240.0, 7200.0]);
        assert!((axis(0.034, Unit::Amount) - 0.04).abs() < 1e-9);
    }
}
