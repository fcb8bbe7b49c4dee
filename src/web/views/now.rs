//! Now: what waits for the person, what every agent does, and what happens.

use askama::Template;

use crate::clock::Timestamp;
use crate::dispatch::runs::Run;
use crate::hint::quoted;
use crate::journal;
use crate::message::visible;
use crate::overview::{Card, CardKind, CardState, Overview, WaitsFor};
use crate::span;
use crate::web::feed::Line;
use crate::web::guard::Role;
use crate::web::markup::Time;
use crate::web::page::Page;
use crate::web::routes::{Ask, Wrong};
use crate::web::views::runs;

/// The number of lines of the feed at the start.
const LINES: usize = 40;

#[derive(Template)]
#[template(path = "now.html")]
struct Now<'a> {
    room: &'a str,
    head: String,
    cost: String,
    gates: Vec<Gate<'a>>,
    unread: usize,
    parked: Vec<Parked>,
    untrusted: Vec<Untrusted>,
    failed: usize,
    /// Workflow runs that failed within a day, the newest first.
    failed_flows: Vec<Flow>,
    /// Runs whose supervisor was killed.
    interrupted: Vec<runs::Row>,
    cards: Vec<Shown>,
    others: Vec<Shown>,
    lines: Vec<String>,
    /// Mail on its way to other machines.
    network: Vec<String>,
    faults: &'a [String],
    is_person: bool,
}

struct Gate<'a> {
    gate: &'a crate::overview::Gate,
    since: Option<Time>,
}

/// Messages that wait for a person's word.
struct Parked {
    name: String,
    messages: usize,
    why: String,
}

/// A mailbox whose agent waits for trust in its settings.
struct Untrusted {
    name: String,
    command: String,
}

/// A workflow run that failed.
struct Flow {
    run: String,
    workflow: String,
    why: String,
    at: Option<Time>,
}

/// A card, in words.
struct Shown {
    name: String,
    is_agent: bool,
    about: String,
    program: String,
    words: CardWords,
    doing: Vec<Doing>,
    queue: usize,
    /// `None`: its mailbox cannot be read.
    unread: Option<usize>,
    oldest: Option<Time>,
    /// The colour of the age of its oldest unread message.
    late: &'static str,
    cost: String,
    last: Option<runs::Row>,
    is_paused: bool,
}

/// A run that goes on.
struct Doing {
    run: String,
    subject: String,
    activity: String,
    since: Option<Time>,
}

pub(in crate::web) fn page(ask: &Ask) -> Result<Page, Wrong> {
    let post = &ask.post;
    let overview = Overview::with_board(post, ask.desk.staff(post))?;
    let now = overview.at;
    let mut lines = vec![];
    // What is written from now on comes by the stream, and so does not come twice.
    let place = journal::end(post.room())?;
    for event in journal::latest_before(post.room(), &place, LINES)?.iter().rev() {
        lines.push(Line::of(post, event).html(&ask.room)?);
    }
    let gates =
        overview.gates.iter().map(|gate| Gate { gate, since: gate.since.map(|since| Time::new(since, now)) });
    let waits = |wanted: WaitsFor| overview.waiting.iter().filter(move |mail| mail.waits_for == wanted);
    let parked = waits(WaitsFor::Person).map(|mail| Parked {
        name: visible::line(&mail.name),
        messages: mail.messages,
        why: visible::clip(&mail.why, 200),
    });
    let untrusted = waits(WaitsFor::Trust)
        .map(|mail| Untrusted { name: visible::line(&mail.name), command: trust(&mail.why) });
    let failed_flows = overview.failed_flows.iter().rev().map(|flow| Flow {
        run: flow.run.clone(),
        workflow: visible::line(&flow.workflow),
        why: visible::clip(&flow.why, 200),
        at: Time::read(&flow.at, now),
    });
    let interrupted = overview.interrupted.iter().map(|run| {
        let run = Run { is_interrupted: true, ..run.clone() };
        runs::Row::of(&run, String::new(), now)
    });
    let shown = overview.cards.iter().map(|card| Shown::of(card, now));
    let (cards, others): (Vec<Shown>, Vec<Shown>) = shown.partition(|card| card.is_agent);
    let view = Now {
        room: &ask.room,
        head: head(&overview),
        cost: if overview.cost > 0.0 { format!("${:.2} in a day", overview.cost) } else { String::new() },
        gates: gates.collect(),
        unread: overview.unread_mail(),
        parked: parked.collect(),
        untrusted: untrusted.collect(),
        failed: overview.failed.iter().map(|letters| letters.messages).sum(),
        failed_flows: failed_flows.collect(),
        interrupted: interrupted.collect(),
        cards,
        others,
        lines,
        network: overview
            .joined
            .iter()
            .map(|joined| format!("{} as {}: {}", joined.network, joined.room, joined.said(now)))
            .chain(overview.network.iter().filter(|way| way.waiting + way.carried > 0).map(|way| {
                format!("for {}: {} waiting, {} without a receipt", way.room, way.waiting, way.carried)
            }))
            .collect(),
        faults: &overview.faults,
        is_person: ask.visitor.role == Role::Person,
    };
    Ok(Page { place: Some(place), ..Page::new("now", "Now", &view)? })
}

/// What is said about the dispatcher.
fn head(overview: &Overview) -> String {
    let alive = &overview.dispatchers.alive;
    let since = alive.first().and_then(|one| Timestamp::parse(&one.since));
    match (alive.len(), overview.dispatchers.dead.is_empty()) {
        (0, true) => "no dispatcher runs".to_owned(),
        (0, false) => "the dispatcher has died".to_owned(),
        (1, _) => format!(
            "the dispatcher runs{}",
            since.map_or(String::new(), |since| format!(" for {}", span::spoken(overview.at.since(since))))
        ),
        (count, _) => format!("{count} dispatchers run"),
    }
}

/// The command that shows the settings of a directory and trusts them.
fn trust(dir: &str) -> String {
    format!("postroom trust {}", quoted(&visible::line(dir)))
}

impl Shown {
    fn of(card: &Card, now: Timestamp) -> Self {
        let late = late(card.oldest, now);
        let mut words = CardWords::of(card, now);
        if !late.is_empty() && words.class.is_empty() {
            words.class = "stuck";
            words.kind = if words.kind.is_empty() { "warn" } else { words.kind };
        }
        let program = match &card.kind {
            CardKind::Agent { preset, .. } => preset.clone(),
            CardKind::AgentWithoutProgram => "no program".to_owned(),
            CardKind::Person => "you".to_owned(),
            CardKind::Session { harness } => harness.clone(),
            CardKind::Plain => String::new(),
        };
        let doing = card.running.iter().map(|current| Doing {
            run: current.run.id.clone(),
            subject: visible::clip(current.subject.as_deref().unwrap_or("its message"), 120),
            activity: visible::clip(&current.run.activity, 120),
            since: Time::read(&current.run.started, now),
        });
        Self {
            name: visible::line(&card.name),
            is_agent: matches!(card.kind, CardKind::Agent { .. } | CardKind::AgentWithoutProgram),
            about: visible::clip(card.about.as_deref().unwrap_or_default(), 120),
            program: visible::line(&program),
            words,
            doing: doing.collect(),
            queue: card.queue,
            unread: card.unread,
            oldest: card.oldest.map(|oldest| Time::new(oldest, now)),
            late,
            cost: if card.cost > 0.0 { format!("${:.2}", card.cost) } else { String::new() },
            last: card.last.as_ref().map(|run| runs::Row::of(run, String::new(), now)),
            is_paused: matches!(card.state, CardState::Paused { .. }),
        }
    }
}

/// How loudly a card says that its mail waits: after an hour, and after a working day.
fn late(oldest: Option<Timestamp>, now: Timestamp) -> &'static str {
    match oldest.map(|oldest| now.since(oldest).as_secs()) {
        None | Some(0..3600) => "",
        Some(3600..28_800) => "warn",
        Some(_) => "bad",
    }
}

/// The state of a card, in words and colours.
#[derive(Default)]
struct CardWords {
    state: String,
    /// The colour of the state.
    kind: &'static str,
    /// The colour of the card.
    class: &'static str,
    why: String,
    until: Option<Time>,
}

impl CardWords {
    fn quiet(word: &str, kind: &'static str) -> Self {
        Self { state: word.to_owned(), kind, ..Self::default() }
    }

    fn of(card: &Card, now: Timestamp) -> Self {
        match &card.state {
            CardState::Running => Self { class: "working", ..Self::quiet("running", "work busy") },
            CardState::Paused { pause } => Self {
                state: format!("paused: {}", pause.kind.as_str()),
                kind: "warn",
                class: "stuck",
                why: visible::clip(&pause.why, 200),
                until: pause.until().map(|until| Time::new(until, now)),
            },
            CardState::Waiting { waits_for, until, why } => {
                let is_usual = matches!(waits_for, WaitsFor::Turn | WaitsFor::Reader);
                Self {
                    state: match waits_for {
                        WaitsFor::Reader => "has mail".to_owned(),
                        _ => format!("waits for {}", waits_for.as_str()),
                    },
                    kind: if is_usual { "" } else { "warn" },
                    class: if is_usual { "" } else { "stuck" },
                    why: match waits_for {
                        WaitsFor::Dispatcher => "no dispatcher runs that starts it".to_owned(),
                        // How its last run ended says more.
                        WaitsFor::Reader => String::new(),
                        _ => visible::clip(why, 200),
                    },
                    until: until.map(|until| Time::new(until, now)),
                }
            }
            CardState::Idle if card.unread.is_some_and(|unread| unread > 0) => Self::quiet("has mail", ""),
            CardState::Idle => Self::quiet("idle", ""),
            CardState::InSession => Self::quiet("in session", "ok"),
            CardState::NoProgram => Self::quiet("no program", "warn"),
            CardState::Untrusted { dir } => Self {
                class: "stuck",
                why: format!("look at it, then: {}", trust(dir)),
                ..Self::quiet("not trusted", "warn")
            },
            CardState::NoMailbox => Self::quiet("no mailbox", "warn"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_that_waits_long_is_coloured() {
        let now = Timestamp::from_parts(100_000, 0);
        let waits = |seconds: i64| late(Some(Timestamp::from_parts(100_000 - seconds, 0)), now);
        assert_eq!([waits(3599), waits(3600), waits(28_799), waits(28_800)], ["", "warn", "warn", "bad"]);
        assert_eq!(late(None, now), "");
    }

    /// The page printed `postroom trust /srv/my work`, which names two directories.
    #[test]
    fn a_directory_with_a_space_is_one_word_of_the_command() {
        assert_eq!(trust("/srv/my work"), "postroom trust '/srv/my work'");
        assert_eq!(trust("/it's/here"), "postroom trust '/it'\\''s/here'");
    }
}
