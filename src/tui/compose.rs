//! Writing a message, in place or in the editor. A draft stays until it was sent, also if the panel is left.

use super::acts::begin as begin_deed;
use super::deed::Deed;
use super::event::{Code, Key};
use super::seen::Found;
use super::state::{Decided, Draft, Mode, Panel, State};
use super::text_box::TextBox;
use super::update::Effect;

/// The line above which the editor shows what is answered.
const CUT: &str = "-- >8 -- what is below this line is not sent --";

/// Begins a message, or goes on with the draft.
pub(super) fn begin(state: &mut State, to: &str) {
    let is_new = state.draft.as_ref().is_none_or(Draft::is_free);
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
    let is_free = state.draft.as_ref().is_none_or(Draft::is_free);
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
            if draft.is_free() {
                state.draft = None;
            } else {
                state.say("the draft is kept; c goes on with it");
            }
        }
        (Code::Char('c'), true) => state.mode = Mode::Normal,
        (Code::Char('x'), true) if draft.is_free() => {
            state.draft = None;
            state.mode = Mode::Normal;
        }
        (Code::Char('x'), true) => {
            let text = "Throw this text away? It does not come back.".to_owned();
            state.mode = Mode::Question { text, then: Decided::ThrowAway };
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

/// The answer to whether a draft is thrown away.
pub(super) fn throw_away(state: &mut State, is_yes: bool) {
    match is_yes {
        true => {
            state.draft = None;
            state.say("the draft is thrown away");
        }
        false => state.mode = Mode::Compose,
    }
}

impl Draft {
    /// Whether nothing is lost if it goes.
    fn is_free(&self) -> bool {
        self.body.is_blank() && self.sent.is_none()
    }

    /// What sends it; `None` if something is missing yet.
    pub(super) fn deed(&self) -> Option<Deed> {
        if self.body.is_blank() {
            return None;
        }
        let body = self.body.text();
        if let Some((id, _)) = &self.reply {
            return Some(Deed::Reply { id: id.clone(), body });
        }
        let to = self.to.text();
        let to: Vec<String> =
            to.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        (!to.is_empty()).then(|| Deed::Send { to, subject: self.subject.text(), body })
    }

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
    if draft.sent.is_some() {
        state.complain("it is being sent; what you changed since can be sent after that");
        return vec![];
    }
    let Some(deed) = draft.deed() else {
        let is_blank = draft.body.is_blank();
        draft.field = if is_blank { 2 } else { 0 };
        state.complain(if is_blank { "there is no text yet" } else { "to whom? A name, or several" });
        return vec![];
    };
    draft.sent = Some(deed.clone());
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
