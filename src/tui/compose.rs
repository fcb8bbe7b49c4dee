//! Writing a message, in place or in the editor. A draft stays until it was sent, also if the panel is left.

use super::acts::begin as begin_deed;
use super::deed::Deed;
use super::event::{Code, Key};
use super::seen::Found;
use super::state::{Draft, Mode, Panel, State};
use super::text_box::TextBox;
use super::update::Effect;

/// The line above which the editor shows what is answered.
const CUT: &str = "-- >8 -- what is below this line is not sent --";

/// Begins a message, or goes on with the draft.
pub(super) fn begin(state: &mut State, to: &str) {
    let is_new = state.draft.as_ref().is_none_or(|draft| draft.body.is_blank() && !draft.is_sent);
    if is_new {
        let field = if to.is_empty() { 0 } else { 1 };
        state.draft = Some(Draft { to: TextBox::new(to), field, ..Draft::default() });
    } else {
        state.say("your last draft; C-X throws it away");
    }
    state.mode = Mode::Compose;
}

/// Begins an answer, or goes on with it.
pub(super) fn reply(state: &mut State, id: &str) {
    let is_it =
        state.draft.as_ref().is_some_and(|draft| draft.reply.as_ref().is_some_and(|(known, _)| known == id));
    let is_free = state.draft.as_ref().is_none_or(|draft| draft.body.is_blank() && !draft.is_sent);
    if !is_it && !is_free {
        state.say("your last draft; C-X throws it away");
    } else if !is_it {
        let subject = [Panel::Letter, Panel::Glance].into_iter().find_map(|panel| match state.found(panel) {
            Some(Found::Letter(letter)) if letter.id == id => Some(letter.subject.clone()),
            _ => None,
        });
        let reply = Some((id.to_owned(), subject.unwrap_or_default()));
        state.draft = Some(Draft { reply, field: 2, ..Draft::default() });
    }
    state.mode = Mode::Compose;
}

/// A key while a message is written.
pub(super) fn on_key(state: &mut State, key: Key) -> Vec<Effect> {
    let Some(draft) = &mut state.draft else {
        state.mode = Mode::Normal;
        return vec![];
    };
    let is_reply = draft.reply.is_some();
    match (key.code, key.ctrl) {
        (Code::Esc, _) => {
            state.mode = Mode::Normal;
            if draft.body.is_blank() && !draft.is_sent {
                state.draft = None;
            } else {
                state.say("the draft is kept; c goes on with it");
            }
        }
        (Code::Char('c'), true) => state.mode = Mode::Normal,
        (Code::Char('x'), true) => {
            state.draft = None;
            state.mode = Mode::Normal;
            state.say("the draft is thrown away");
        }
        (Code::Char('s'), true) => return send(state),
        (Code::Enter, _) if key.alt => return send(state),
        (Code::Char('o'), true) => return vec![Effect::Edit(for_editor(state))],
        (Code::Tab, _) if !is_reply => draft.field = (draft.field + 1) % 3,
        (Code::BackTab, _) if !is_reply => draft.field = (draft.field + 2) % 3,
        (Code::Enter, _) if draft.field < 2 => draft.field += 1,
        _ => {
            let field = draft.field;
            let text = draft.text_mut();
            if !text.key(key, field < 2) && !is_reply {
                match key.code {
                    Code::Up => draft.field = field.saturating_sub(1),
                    Code::Down => draft.field = (field + 1).min(2),
                    _ => {}
                }
            }
        }
    }
    vec![]
}

pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(draft) = &mut state.draft {
        let single = draft.field < 2;
        draft.text_mut().insert(text, single);
    }
}

impl Draft {
    fn text_mut(&mut self) -> &mut TextBox {
        match self.field {
            0 => &mut self.to,
            1 => &mut self.subject,
            _ => &mut self.body,
        }
    }
}

fn send(state: &mut State) -> Vec<Effect> {
    let Some(draft) = &mut state.draft else { return vec![] };
    if draft.is_sent {
        return vec![];
    }
    let body = draft.body.text();
    let to: Vec<String> =
        draft.to.text().split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let deed = match &draft.reply {
        _ if draft.body.is_blank() => {
            draft.field = 2;
            state.complain("there is no text yet");
            return vec![];
        }
        Some((id, _)) => Deed::Reply { id: id.clone(), body },
        None if to.is_empty() => {
            draft.field = 0;
            state.complain("to whom? A name, or several");
            return vec![];
        }
        None => Deed::Send { to, subject: draft.subject.text(), body },
    };
    draft.is_sent = true;
    state.mode = Mode::Normal;
    begin_deed(state, deed)
}

/// The text that the editor gets: the draft, and what is answered below a line.
fn for_editor(state: &State) -> String {
    let Some(draft) = &state.draft else { return String::new() };
    let mut text = draft.body.text();
    let asked = draft.reply.as_ref().and_then(|(id, _)| {
        [Panel::Letter, Panel::Glance].into_iter().find_map(|panel| match state.found(panel) {
            Some(Found::Letter(letter)) if letter.id == *id => Some(letter.body.clone()),
            _ => None,
        })
    });
    if let Some(asked) = asked {
        text.push_str(&format!("\n\n{CUT}\n"));
        for line in crate::message::visible::text(&asked).lines() {
            text.push_str(&format!("> {line}\n"));
        }
    }
    text
}

/// Takes the text back from the editor.
pub(super) fn edited(state: &mut State, text: Result<String, String>) {
    match (text, &mut state.draft) {
        (Ok(text), Some(draft)) => {
            let own = text.split(CUT).next().unwrap_or_default().trim_end();
            draft.body = TextBox::new(own);
            draft.field = 2;
            state.mode = Mode::Compose;
        }
        (Err(why), _) => state.complain(why),
        (Ok(_), None) => {}
    }
}
