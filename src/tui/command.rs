//! Commands behind `:`: words for everything that keys do, with completion.

use super::acts::{act, begin, may_act, open_mailbox};
use super::compose;
use super::deed::Deed;
use super::event::{Code, Key};
use super::jumps::jump;
use super::keys::Act;
use super::state::{Decided, Mode, PAGE, Place, State, Typing};
use super::text_box::TextBox;
use super::update::Effect;

/// What a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Mailbox,
    Room,
    Workflow,
    Text,
}

/// The commands: word, what it takes, how that is written, and what it does.
const COMMANDS: &[(&str, Takes, &str, &str)] = &[
    ("now", Takes::Nothing, "", "what goes on now"),
    ("mail", Takes::Mailbox, "[NAME]", "the mail of a mailbox"),
    ("runs", Takes::Mailbox, "[AGENT]", "runs, of one agent or of all"),
    ("workflows", Takes::Nothing, "", "workflows and their runs"),
    ("failed", Takes::Nothing, "", "dead letters and parked messages"),
    ("trash", Takes::Nothing, "", "what was pruned"),
    ("room", Takes::Room, "NAME", "another room"),
    ("open", Takes::Text, "ID", "a message by the first digits of its id"),
    ("send", Takes::Mailbox, "NAME", "write a message"),
    ("reply", Takes::Nothing, "", "answer the chosen message"),
    ("archive", Takes::Nothing, "", "archive the chosen message"),
    ("approve", Takes::Text, "[RUN]", "let a run pass its gate"),
    ("reject", Takes::Text, "[RUN WHY]", "refuse a result"),
    ("stop", Takes::Mailbox, "[AGENT]", "stop a run, a message or an agent"),
    ("pause", Takes::Mailbox, "AGENT [WHY]", "start an agent no more"),
    ("resume", Takes::Mailbox, "AGENT", "let an agent be started again"),
    ("retry", Takes::Nothing, "", "try the chosen message again"),
    ("retry-all", Takes::Nothing, "", "try everything again that was given up"),
    ("release", Takes::Nothing, "", "give back the chosen message"),
    ("prune", Takes::Mailbox, "[NAME]", "move to the trash"),
    ("undo", Takes::Nothing, "", "bring back what you pruned here last"),
    ("start", Takes::Workflow, "WORKFLOW [KEY=VALUE …]", "start a workflow"),
    ("cancel", Takes::Nothing, "", "end the chosen run of a workflow"),
    ("help", Takes::Nothing, "", "the keys"),
    ("quit", Takes::Nothing, "", "end"),
];

/// A key while a command is typed.
pub(super) fn on_key(state: &mut State, key: Key) -> Vec<Effect> {
    let Mode::Command(typing) = &mut state.mode else { return vec![] };
    match key.code {
        Code::Esc => state.mode = Mode::Normal,
        _ if key == Key::ctrl('c') => state.mode = Mode::Normal,
        Code::Backspace if typing.text.text().is_empty() => state.mode = Mode::Normal,
        Code::Enter => {
            let line = typing.text.text();
            state.mode = Mode::Normal;
            return run(state, &line);
        }
        Code::Tab | Code::BackTab => complete(state, key.code == Code::BackTab),
        _ => {
            typing.text.key(key, true);
            (typing.offers, typing.offered) = (vec![], None);
        }
    }
    vec![]
}

/// Puts the next offer at the end of the line.
fn complete(state: &mut State, is_back: bool) {
    let Mode::Command(typing) = state.mode.clone() else { return };
    let line = typing.text.text();
    let head = line.rfind(' ').map_or("", |at| &line[..=at]).to_owned();
    let (offers, next) = match typing.offered {
        Some(at) => {
            let count = typing.offers.len().max(1);
            (typing.offers.clone(), if is_back { (at + count - 1) % count } else { (at + 1) % count })
        }
        None => (offers(state, &line), 0),
    };
    let Some(offer) = offers.get(next) else { return };
    let text = TextBox::new(&format!("{head}{offer}"));
    state.mode = Mode::Command(Typing { text, offered: Some(next), offers });
}

/// What could stand at the end of a line.
pub(super) fn offers(state: &State, line: &str) -> Vec<String> {
    let mut words: Vec<&str> = line.split(' ').collect();
    let last = words.pop().unwrap_or_default().to_lowercase();
    let fits = |word: &String| word.to_lowercase().starts_with(&last);
    let [command, ..] = words.as_slice() else {
        return COMMANDS.iter().map(|(word, ..)| (*word).to_owned()).filter(fits).collect();
    };
    let Some((_, takes, ..)) = COMMANDS.iter().find(|(word, ..)| word == command) else { return vec![] };
    let Some(room) = &state.room_seen else { return vec![] };
    let all: Vec<String> = match takes {
        _ if words.len() > 1 => vec![],
        Takes::Mailbox => room.overview.cards.iter().map(|card| card.name.clone()).collect(),
        Takes::Room => room.rooms.clone(),
        Takes::Workflow => room.workflows.clone(),
        Takes::Nothing | Takes::Text => vec![],
    };
    all.into_iter().filter(fits).collect()
}

/// How the commands that begin like this are written, and what they do.
pub(super) fn hints(line: &str) -> Vec<(String, &'static str)> {
    let word = line.split(' ').next().unwrap_or_default();
    let is_whole = line.contains(' ');
    let fits = |known: &str| if is_whole { known == word } else { known.starts_with(word) };
    let found = COMMANDS.iter().filter(|(known, ..)| fits(known));
    found.map(|(known, _, takes, about)| (format!("{known} {takes}").trim_end().to_owned(), *about)).collect()
}

/// Does what a line says.
pub(super) fn run(state: &mut State, line: &str) -> Vec<Effect> {
    let line = line.trim();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    // The beginning of a word is enough if it fits one command.
    let mut fitting = COMMANDS.iter().filter(|(known, ..)| known.starts_with(word));
    let word = match (COMMANDS.iter().find(|(known, ..)| *known == word), fitting.next(), fitting.next()) {
        _ if word.is_empty() => return vec![],
        (Some((known, ..)), ..) | (None, Some((known, ..)), None) => *known,
        _ => {
            state.complain(format!(
                "there is no command {}; ? shows the keys",
                crate::message::visible::clip(word, 40)
            ));
            return vec![];
        }
    };
    let takes_nothing = COMMANDS.iter().any(|(known, takes, ..)| *known == word && *takes == Takes::Nothing);
    if takes_nothing && !rest.is_empty() {
        state.complain(format!(":{word} takes no words; it is about what is chosen"));
        return vec![];
    }
    let simple = match (word, rest.is_empty()) {
        ("now", _) => Act::Go(Place::Now),
        ("mail", true) => Act::Go(Place::Mail),
        ("runs", true) => Act::Go(Place::Runs),
        ("workflows", _) => Act::Go(Place::Flows),
        ("failed", _) => Act::Go(Place::Failed),
        ("trash", _) => Act::Go(Place::Trash),
        ("reply", _) => Act::Reply,
        ("archive", _) => Act::Archive,
        ("approve", true) => Act::Approve,
        ("reject", true) => Act::Reject,
        ("stop", true) => Act::Stop,
        ("retry", _) => Act::Retry,
        ("retry-all", _) => Act::RetryAll,
        ("release", _) => Act::Release,
        ("prune", true) => Act::Prune,
        ("undo", _) => Act::Undo,
        ("cancel", _) => Act::Cancel,
        ("help", _) => Act::Help,
        ("quit", _) => Act::Quit,
        ("send", true) => Act::Compose,
        ("room" | "open" | "pause" | "resume" | "start", true) => {
            let how = hints(word).first().map(|(how, _)| how.clone()).unwrap_or_default();
            state.complain(format!(":{how}"));
            return vec![];
        }
        _ => return with_words(state, word, rest),
    };
    act(state, simple)
}

fn with_words(state: &mut State, word: &str, rest: &str) -> Vec<Effect> {
    let (first, others) = rest.split_once(' ').unwrap_or((rest, ""));
    let (one, others) = (first.to_owned(), others.trim().to_owned());
    if !matches!(word, "mail" | "runs" | "room" | "open") && !may_act(state) {
        return vec![];
    }
    match word {
        // Fingers are faster than disks.
        "mail" if state.room_seen.is_none() => state.later = Some(format!("mail {rest}")),
        "mail" => {
            let cards = state.room_seen.iter().flat_map(|room| &room.overview.cards);
            let found = cards.into_iter().find(|card| card.name.eq_ignore_ascii_case(rest));
            match found.and_then(|card| card.id.as_ref()).map(ToString::to_string) {
                Some(id) => open_mailbox(state, id),
                None => state
                    .complain(format!("no mailbox is called {}", crate::message::visible::clip(rest, 60))),
            }
        }
        "runs" => {
            (state.runs_of, state.runs_limit) = (Some(rest.to_owned()), PAGE);
            jump(state, Place::Runs);
        }
        "room" => return super::leaving::enter(state, rest),
        "open" => jump(state, Place::Letter { id: rest.to_owned() }),
        "send" => compose::begin(state, rest),
        "approve" => return begin(state, Deed::Approve { gate: one, comment: others }),
        "reject" if others.is_empty() => state.complain(":reject RUN WHY"),
        "reject" => return begin(state, Deed::Reject { gate: one, why: others }),
        "stop" => {
            let text = format!("Stop {}?", crate::message::visible::clip(rest, 60));
            let deed = Deed::Stop { mailbox: None, what: rest.to_owned() };
            state.mode = Mode::Question { text, then: Decided::Do(deed) };
        }
        "pause" => return begin(state, Deed::Pause { agent: one, why: others }),
        "resume" => return begin(state, Deed::Resume { agent: rest.to_owned() }),
        "prune" => {
            let text = format!(
                "Move the mailbox {} with all its mail to the trash?",
                crate::message::visible::clip(rest, 60)
            );
            let deed = Deed::PruneMailbox { name: rest.to_owned() };
            state.mode = Mode::Question { text, then: Decided::Do(deed) };
        }
        "start" => match inputs(&others) {
            Some(inputs) => return begin(state, Deed::StartFlow { name: one, inputs }),
            None => state.complain(":start WORKFLOW [KEY=VALUE …]"),
        },
        _ => {}
    }
    vec![]
}

/// `task=Fix the parser to=ann`: a word that names no input belongs to the value before it. `None` if there is none.
fn inputs(text: &str) -> Option<Vec<(String, String)>> {
    let is_name = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    let mut inputs: Vec<(String, String)> = vec![];
    for word in text.split_whitespace() {
        match word.split_once('=').filter(|(key, _)| is_name(key)) {
            Some((key, value)) => inputs.push((key.to_owned(), value.to_owned())),
            None => {
                let (_, value) = inputs.last_mut()?;
                value.push(' ');
                value.push_str(word);
            }
        }
    }
    Some(inputs)
}
