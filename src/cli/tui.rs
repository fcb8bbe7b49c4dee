//! `postroom tui`.

use std::io::{self, IsTerminal};

use clap::Args;

use super::context::Context;
use super::desk::desk;
use super::fail::Fail;
use super::output::note;
use super::surroundings::{ThisProcess, on_path};
use super::{Verb, terminal};
use crate::hint::Hint;
use crate::message::visible;
use crate::person;
use crate::post::Failure;
use crate::surroundings::{Environment, state};
use crate::tui::{self, Ended, LostDraft, Options};

/// Show the room in this terminal, and act there
///
/// Mailboxes, messages, runs, workflows and what waits for you, live. The foot shows the keys; ? explains them. Started by a
/// person, it also acts: it writes, answers, approves, stops and retries. Started otherwise, it only shows.
#[derive(Debug, Args)]
pub(super) struct TerminalClient {}

impl Verb for TerminalClient {
    fn run(self, context: &mut Context) -> Result<(), Fail> {
        let located = context.locate()?;
        context.must_stay_in_place()?;
        // Fails now, and not on the other screen, if there is no room.
        context.post_for_now()?;
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            let hints = vec![Hint::run(&["status"]).to("the room as text").into()];
            return Err(Fail::Told(Failure::Usage, "this needs a terminal".to_owned(), hints));
        }
        let person = person::at_hand(context.surroundings.by_agent, "tui", terminal::typed);
        let options = Options {
            looking_only: person.as_ref().err().map(ToString::to_string),
            is_plain: word("NO_COLOR").is_some() || word("TERM").is_some_and(|term| term == "dumb"),
            is_light: word("COLORFGBG").is_some_and(|colours| is_light(&colours)),
            editor: editor(),
            memory: state(&ThisProcess).ok().map(|state| state.join("tui")),
        };
        let desk = desk(context, located, person.ok())?;
        let failed = |e: io::Error| Fail::not_done(format!("the terminal failed: {e}"), "start it again");
        let end = tui::run(desk, options).map_err(failed)?;
        if let Some(LostDraft { what, why, text }) = &end.lost {
            let (what, text) = (visible::line(what), visible::text(text));
            note(&format!("{what} could not be kept: {why}\nIts text:\n\n{text}\n"));
        }
        match end.how {
            Ok(Ended::Quit) => Ok(()),
            Ok(Ended::Signal(number)) => {
                // The exit status tells the sender of the signal that the client obeyed it.
                let _ = signal_hook::low_level::emulate_default_handler(number);
                Ok(())
            }
            Err(e) => Err(failed(e)),
        }
    }
}

fn word(name: &str) -> Option<String> {
    ThisProcess.variable(name)?.into_string().ok().filter(|value| !value.is_empty())
}

/// `15;0`: foreground and background, as numbers of the sixteen colours.
fn is_light(colours: &str) -> bool {
    let background = colours.rsplit(';').next().and_then(|number| number.parse::<u8>().ok());
    matches!(background, Some(7 | 9..=15))
}

/// The person's editor, else one that is there.
fn editor() -> String {
    let own = word("VISUAL").or_else(|| word("EDITOR"));
    own.unwrap_or_else(|| {
        let known = ["nano", "vim", "vi"].into_iter().find(|program| on_path(program).is_some());
        known.unwrap_or("vi").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_light_background_is_known_by_its_number() {
        assert!(is_light("0;15") && is_light("0;default;7"));
        assert!(!is_light("15;0") && !is_light("15;8") && !is_light("") && !is_light("x;y"));
    }
}
