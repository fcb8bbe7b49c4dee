//! Metrics: the figures of a room for Prometheus, in its text format, at `/metrics`.
//!
//! They come from the overview, the stats and the spending of the library; nothing is counted here. What is called `day`
//! covers the last 24 hours and can fall, so every figure is a gauge. A scraper shows a token that is good for nothing else.
//! `docs/grafana.json` draws exactly these names.

use std::fmt::Write;
use std::time::Duration;

use super::routes::Wrong;
use crate::desk::Desk;
use crate::dispatch::runs::{Run, Runs};
use crate::message::visible;
use crate::overview::Overview;
use crate::post::{Figures, Post, quantile};

/// The kind of the answer, as the format asks.
pub(super) const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

const DAY: Duration = Duration::from_secs(86_400);

/// Every figure: its name and what it says.
const FIGURES: [(&str, &str); 19] = [
    ("postroom_build_info", "Always 1; the label says which version this is."),
    ("postroom_dispatchers", "Dispatchers that are alive."),
    ("postroom_dead_dispatchers", "Dispatchers that ended without saying so."),
    ("postroom_unread_messages", "Unread messages now."),
    ("postroom_queue_messages", "Messages that wait now until an agent is started for them."),
    ("postroom_oldest_unread_seconds", "Age of the oldest unread message."),
    ("postroom_failed_messages", "Messages that were given up and wait for a retry."),
    ("postroom_gates", "Gates at which workflows wait for the person."),
    ("postroom_runs", "Runs that go on, and runs whose supervisor was killed."),
    ("postroom_day_received_messages", "Messages received within a day."),
    ("postroom_day_sent_messages", "Messages sent within a day."),
    ("postroom_day_finished_messages", "Messages finished within a day."),
    ("postroom_day_failed_messages", "Messages that failed within a day."),
    ("postroom_day_wait_seconds", "Time until a message was taken, within a day."),
    ("postroom_day_work_seconds", "Time of work on a message, within a day."),
    ("postroom_day_runs", "Runs that began within a day, by how they ended."),
    ("postroom_day_cost_dollars", "Cost of the runs of a day, as far as programs say."),
    ("postroom_day_tokens", "Tokens of the runs of a day, as far as programs say."),
    ("postroom_faults", "Parts of the room that could not be read."),
];

/// The figures of a room.
pub(super) fn text(desk: &Desk, room: &str) -> Result<String, Wrong> {
    let root = desk.root_of(room).ok_or_else(|| Wrong::NoRoom(visible::clip(room, 80)))?;
    let post = desk.post(&root)?;
    let overview = Overview::with_board(&post, desk.staff(&post))?;
    let mut sheet = Sheet { room, samples: vec![] };
    sheet.add("postroom_build_info", &[("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0);
    sheet.add("postroom_dispatchers", &[], overview.dispatchers.alive.len() as f64);
    sheet.add("postroom_dead_dispatchers", &[], overview.dispatchers.dead.len() as f64);
    sheet.add("postroom_gates", &[], overview.gates.len() as f64);
    sheet.add("postroom_faults", &[], overview.faults.len() as f64);
    sheet.now(&overview);
    sheet.mail(&post, &post.stats_in_steps(DAY, 1)?);
    if let Some(runs) = Runs::existing(post.room())? {
        for agent in runs.spending(overview.at.minus(DAY), DAY, 1)? {
            let (name, total) = (visible::line(&agent.agent), agent.total);
            let of = |label: &'static str, value: &'static str| {
                [("agent", name.clone()), (label, value.to_owned())]
            };
            sheet.add("postroom_day_runs", &of("result", "failed"), total.failed as f64);
            sheet.add("postroom_day_runs", &of("result", "other"), (total.runs - total.failed) as f64);
            sheet.add("postroom_day_cost_dollars", &of("agent", "")[..1], total.cost);
            sheet.add("postroom_day_tokens", &of("kind", "input"), total.tokens.input as f64);
            sheet.add("postroom_day_tokens", &of("kind", "output"), total.tokens.output as f64);
        }
    }
    Ok(sheet.written())
}

/// The samples so far, each with the name of its figure.
struct Sheet<'a> {
    room: &'a str,
    samples: Vec<(&'static str, String)>,
}

impl Sheet<'_> {
    fn add(&mut self, figure: &'static str, labels: &[(&str, String)], value: f64) {
        let mut line = format!("{figure}{{room=\"{}\"", escaped(self.room));
        for (key, text) in labels {
            // Writing into a String does not fail.
            let _ = write!(line, ",{key}=\"{}\"", escaped(text));
        }
        let _ = writeln!(line, "}} {value}");
        self.samples.push((figure, line));
    }

    /// What is so at this moment.
    fn now(&mut self, overview: &Overview) {
        for card in &overview.cards {
            let of = [("mailbox", visible::line(&card.name))];
            self.add("postroom_queue_messages", &of, card.queue as f64);
            // A mailbox that cannot be read has no figure, which is not the same as none unread.
            if let Some(unread) = card.unread {
                let age = card.oldest.map_or(0.0, |oldest| overview.at.since(oldest).as_secs_f64());
                self.add("postroom_unread_messages", &of, unread as f64);
                self.add("postroom_oldest_unread_seconds", &of, age);
            }
            let count = |runs: &[Run]| runs.iter().filter(|run| run.agent == card.name).count() as f64;
            for (state, runs) in [("running", &overview.running), ("interrupted", &overview.interrupted)] {
                let of = [("agent", visible::line(&card.name)), ("state", state.to_owned())];
                self.add("postroom_runs", &of, count(runs));
            }
        }
        for letters in &overview.failed {
            let of = [("mailbox", visible::line(&letters.name))];
            self.add("postroom_failed_messages", &of, letters.messages as f64);
        }
    }

    /// The mail of a day.
    fn mail(&mut self, post: &Post, figures: &[Figures]) {
        for one in figures {
            let name = visible::line(post.name_of(&one.mailbox));
            let of = [("mailbox", name.clone())];
            self.add("postroom_day_received_messages", &of, one.received as f64);
            self.add("postroom_day_sent_messages", &of, one.sent as f64);
            self.add("postroom_day_finished_messages", &of, one.finished as f64);
            self.add("postroom_day_failed_messages", &of, one.failed as f64);
            let times =
                [("postroom_day_wait_seconds", &one.waiting), ("postroom_day_work_seconds", &one.processing)];
            for (figure, sorted) in times {
                for (word, share) in [("0.5", 0.5), ("0.95", 0.95)] {
                    if let Some(time) = quantile(sorted, share) {
                        let of = [("mailbox", name.clone()), ("quantile", word.to_owned())];
                        self.add(figure, &of, time.as_secs_f64());
                    }
                }
            }
        }
    }

    /// All samples, those of a figure together, as the format asks.
    fn written(&self) -> String {
        let mut out = String::new();
        for (figure, about) in FIGURES {
            let _ = writeln!(out, "# HELP {figure} {about}\n# TYPE {figure} gauge");
            self.samples.iter().filter(|(name, _)| *name == figure).for_each(|(_, line)| out.push_str(line));
        }
        out
    }
}

/// The value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names_in(text: &str) -> BTreeSet<&str> {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|word| word.starts_with("postroom_")).collect()
    }

    #[test]
    fn the_dashboard_and_the_guide_name_exactly_these_figures() {
        let known: BTreeSet<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names_in(include_str!("../../docs/grafana.json")), known);
        assert_eq!(names_in(include_str!("../../docs/guides/metrics.md")), known);
        let _: serde_json::Value = serde_json::from_str(include_str!("../../docs/grafana.json")).unwrap();
    }

    #[test]
    fn a_label_cannot_end_its_line() {
        let mut sheet = Sheet { room: "r", samples: vec![] };
        sheet.add("postroom_gates", &[("mailbox", "a\"} 1\npostroom_x 2 \\".to_owned())], 3.0);
        let text = sheet.written();
        assert!(
            text.contains("postroom_gates{room=\"r\",mailbox=\"a\\\"} 1\\npostroom_x 2 \\\\\"} 3\n"),
            "{text}"
        );
        assert!(!text.lines().any(|line| line.starts_with("postroom_x")));
    }

    #[test]
    fn every_sample_is_of_a_known_figure() {
        // A figure that is not in the table would be left out of the text.
        let used = include_str!("metrics.rs").split("mod tests").next().unwrap_or_default();
        let (_, after_table) = used.split_once("\n];\n").unwrap();
        let known: BTreeSet<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names_in(after_table), known);
    }
}
