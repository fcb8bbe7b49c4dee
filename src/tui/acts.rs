//! What the keys and commands do: moves, and deeds with what is chosen.

use super::compose;
use super::deed::Deed;
use super::jumps::{back, jump, jump_from};
use super::keys::{self, Act};
use super::layout::{inside, panels, reachable, visible};
use super::rows::{Thing, thing};
use super::seen::{GateSeen, Tab};
use super::state::{Decided, Mode, PAGE, Panel, Place, State, Then, Typing};
use super::text_box::TextBox;
use super::update::{Effect, begin_filter, step};

/// Does what a key means.
pub(super) fn act(state: &mut State, act: Act) -> Vec<Effect> {
    if keys::is_deed(&act) && !may_act(state) {
        return vec![];
    }
    match act {
        Act::Go(place) => go(state, place),
        Act::Back => back(state),
        Act::NextPanel => turn(state, 1),
        Act::LastPanel => turn(state, -1),
        Act::NextTab => next_tab(state, 1),
        Act::LastTab => next_tab(state, Tab::ALL.len() - 1),
        Act::Down => step(state, state.focus, 1),
        Act::Up => step(state, state.focus, -1),
        Act::PageDown => step(state, state.focus, height(state)),
        Act::PageUp => step(state, state.focus, -height(state)),
        Act::First => {
            state.cursors.entry(state.focus).or_default().top = 0;
            step(state, state.focus, isize::MIN / 2);
        }
        Act::Last => {
            step(state, state.focus, isize::MAX / 2);
            state.cursors.entry(state.focus).or_default().follows = state.focus == Panel::Transcript;
        }
        Act::Filter => begin_filter(state),
        Act::Command => state.mode = Mode::Command(Typing::default()),
        Act::Help => state.mode = Mode::Help { top: 0 },
        Act::Quit => return super::leaving::quit(state),
        Act::Redraw => return vec![Effect::Redraw, Effect::Look],
        Act::Suspend => return vec![Effect::Suspend],
        Act::Open => return open(state),
        other => return with_thing(state, &other),
    }
    vec![]
}

/// Whether a person is here. If not, it is said why nothing is done.
pub(super) fn may_act(state: &mut State) -> bool {
    let Some(why) = &state.looking_only else { return true };
    state.complain(format!("this is for looking only: {why}"));
    false
}

fn height(state: &State) -> isize {
    let area = visible(state).into_iter().find(|(panel, _)| *panel == state.focus);
    let height = area.map_or(10, |(_, area)| inside(state.size, area).height);
    isize::try_from(height.saturating_sub(1).max(1)).unwrap_or(10)
}

/// Goes to a place by its name; there is no way back from it.
fn go(state: &mut State, place: Place) {
    if place == Place::Runs {
        (state.runs_of, state.runs_limit) = (None, PAGE);
    }
    state.focus = panels(&place)[0];
    state.places = vec![place];
    state.left.clear();
}

fn turn(state: &mut State, by: isize) {
    let all = reachable(state);
    let at = all.iter().position(|panel| *panel == state.focus).unwrap_or(0);
    let next = (at as isize + by).rem_euclid(all.len().max(1) as isize);
    state.focus = all.get(next.unsigned_abs()).copied().unwrap_or(state.focus);
}

fn next_tab(state: &mut State, by: usize) {
    let at = Tab::ALL.iter().position(|tab| *tab == state.chosen.tab).unwrap_or(0);
    show_tab(state, Tab::ALL[(at + by) % Tab::ALL.len()]);
}

fn show_tab(state: &mut State, tab: Tab) {
    state.chosen.tab = tab;
    state.chosen.limit = PAGE;
    state.cursors.remove(&Panel::Letters);
}

/// Shows the mail of a mailbox.
pub(super) fn open_mailbox(state: &mut State, id: String) {
    if *state.place() != Place::Mail {
        jump(state, Place::Mail);
    }
    state.filters.remove(&Panel::Boxes);
    state.cursors.entry(Panel::Boxes).or_default().key = Some(id.clone());
    if state.chosen.mailbox.as_ref() != Some(&id) {
        state.chosen.mailbox = Some(id);
        show_tab(state, Tab::Unread);
    }
    state.focus = Panel::Letters;
}

fn open(state: &mut State) -> Vec<Effect> {
    match thing(state) {
        Thing::Nothing | Thing::Broken { .. } | Thing::Step { .. } => {
            turn(state, 1);
        }
        Thing::Room { name } => return super::leaving::enter(state, &name),
        Thing::Mailbox { id, .. } => open_mailbox(state, id),
        Thing::Letter { id, .. } => match (state.focus, state.place()) {
            // On a small screen, the text comes first.
            (Panel::Letters, _) if visible(state).len() == 1 => state.focus = Panel::Glance,
            (Panel::Letter, _) => turn(state, 1),
            _ => jump(state, Place::Letter { id }),
        },
        Thing::Run { id, .. } => jump(state, Place::Run { id }),
        Thing::Flow { run, .. } | Thing::Gate { run, .. } => {
            if *state.place() != (Place::Flow { run: run.clone() }) {
                let gate = match thing(state) {
                    Thing::Gate { gate, .. } => Some(gate.word),
                    _ => None,
                };
                jump(state, Place::Flow { run });
                let step =
                    gate.as_deref().and_then(|word| word.split_once('/')).map(|(_, step)| step.to_owned());
                state.cursors.entry(Panel::Steps).or_default().key = step;
            }
        }
        Thing::Link(place) => jump(state, place),
        Thing::Workflow { .. } | Thing::Bag { .. } => {
            let act = if matches!(thing(state), Thing::Bag { .. }) { Act::Undo } else { Act::Start };
            return self::act(state, act);
        }
    }
    vec![]
}

/// Brings back what was moved to the trash here last. What others moved there is named first: the trash is shown.
fn undo(state: &mut State) -> Vec<Effect> {
    let is_free = |bag: &&String| !state.doing.contains(&Deed::Undo { bag: (*bag).clone() });
    if let Some(bag) = state.bags.iter().rev().find(is_free).cloned() {
        return begin(state, Deed::Undo { bag });
    }
    jump(state, Place::Trash);
    state.cursors.remove(&Panel::Trash);
    state.say("you moved nothing there since you began; Enter brings back what is chosen");
    vec![]
}

/// Begins a deed.
pub(super) fn begin(state: &mut State, deed: Deed) -> Vec<Effect> {
    if !may_act(state) {
        return vec![];
    }
    state.doing.push(deed.clone());
    vec![Effect::Do(deed)]
}

fn ask(state: &mut State, text: String, deed: Deed) -> Vec<Effect> {
    state.mode = Mode::Question { text, then: Decided::Do(deed) };
    vec![]
}

fn prompt(state: &mut State, title: String, hint: &str, then: Then) -> Vec<Effect> {
    state.mode = Mode::Prompt { title, hint: hint.to_owned(), text: TextBox::default(), then };
    vec![]
}

fn with_thing(state: &mut State, act: &Act) -> Vec<Effect> {
    match (act, thing(state)) {
        (Act::Compose, Thing::Mailbox { name, .. }) => compose::begin(state, &name),
        (Act::Compose, _) => compose::begin(state, ""),
        (Act::Reply, Thing::Letter { id, .. }) => compose::reply(state, &id),
        (Act::Archive, Thing::Letter { id, .. }) => return begin(state, Deed::Archive { id }),
        (Act::Unarchive, Thing::Letter { id, .. }) => return begin(state, Deed::Unarchive { id }),
        (
            Act::Approve | Act::Reject,
            Thing::Gate { gate, .. }
            | Thing::Step { gate: Some(gate), .. }
            | Thing::Letter { gate: Some(gate), .. },
        ) => {
            let GateSeen { request: gate, word } = gate;
            let (verb, hint, then) = match act {
                Act::Approve => {
                    let hint = "a comment, or nothing; Enter approves, Esc does nothing";
                    ("Approve", hint, Then::Approve { gate })
                }
                _ => ("Reject", "why; the agent reads it before its next attempt", Then::Reject { gate }),
            };
            return prompt(state, format!("{verb} {word}"), hint, then);
        }
        (Act::Stop, Thing::Run { id, mailbox, agent, .. }) => {
            let text = format!("Stop the run of {agent}? What it did since its last commit may be lost.");
            return ask(state, text, Deed::Stop { mailbox: Some(mailbox), what: id });
        }
        (Act::Stop, Thing::Mailbox { name, .. }) => {
            let text = format!("Stop everything that {name} does now?");
            return ask(state, text, Deed::Stop { mailbox: None, what: name });
        }
        (Act::Stop, Thing::Letter { id, mailbox, .. }) => {
            let text = "Stop the work on this message? It is parked.".to_owned();
            return ask(state, text, Deed::Stop { mailbox: Some(mailbox), what: id });
        }
        (Act::Pause, Thing::Mailbox { name: agent, .. } | Thing::Run { agent, .. }) => {
            return prompt(state, format!("Pause {agent}"), "why, or nothing", Then::Pause { agent });
        }
        (Act::Resume, Thing::Mailbox { name: agent, .. } | Thing::Run { agent, .. }) => {
            return begin(state, Deed::Resume { agent });
        }
        (Act::Retry, Thing::Letter { mailbox, file, .. }) => {
            return begin(state, Deed::Retry { mailbox, file });
        }
        (Act::Retry, Thing::Run { mailbox, message, .. }) => {
            return begin(state, Deed::Retry { mailbox, file: message });
        }
        (Act::Retry, Thing::Flow { run, .. } | Thing::Step { run, .. }) => {
            return begin(state, Deed::RetryFlow { run });
        }
        (Act::RetryAll, _) => {
            let text = "Try everything again that was given up? Agents start for each.".to_owned();
            return ask(state, text, Deed::RetryAll);
        }
        (Act::Release, Thing::Letter { id, .. }) => return begin(state, Deed::Release { id }),
        (Act::Cancel, Thing::Flow { run, .. } | Thing::Step { run, .. }) => {
            let text = format!("End the run {run} and its agents? It cannot go on afterwards.");
            return ask(state, text, Deed::CancelFlow { run });
        }
        (Act::Prune, Thing::Letter { mailbox, file, .. } | Thing::Broken { mailbox, file, .. }) => {
            return begin(state, Deed::PruneMessage { mailbox, file });
        }
        (Act::Prune, Thing::Mailbox { name, .. }) => {
            let text = format!("Move the mailbox {name} with all its mail to the trash? u brings it back.");
            return ask(state, text, Deed::PruneMailbox { name });
        }
        (Act::Undo, Thing::Bag { id }) => return begin(state, Deed::Undo { bag: id }),
        (Act::Undo, _) => return undo(state),
        (Act::Start, Thing::Workflow { name }) => {
            let text = TextBox::new(&format!("start {name} "));
            state.mode = Mode::Command(Typing { text, ..Typing::default() });
        }
        (jumping, about) => jump_from(state, jumping, &about),
    }
    vec![]
}
