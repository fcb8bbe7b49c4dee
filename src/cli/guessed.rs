//! Guessed options of verbs that send: words that people and models try because other mail programs have them, and the
//! right form of each.

use std::ffi::OsString;

use clap::Command;

use super::verbs;
use crate::hint::{Hint, Present};

/// Options that no verb has, what replaces them, and how that is used.
const GUESSES: &[(&[&str], &str, &str)] = &[
    (&["to", "recipient"], "", "names stand without an option: send NAME -m TEXT"),
    (&["body", "message", "text", "content"], "-m", "the text goes behind -m: -m TEXT"),
    (&["from", "sender"], "--as", "--as NAME says who you are"),
    (&["title", "topic"], "-s", "the subject goes behind -s: -s SUBJECT"),
];

/// The longest command that is repeated.
const LONGEST: usize = 120;

/// What to type instead of the guessed options of a verb: the whole command, or what replaces the first of them. `None`
/// if there is none. `arguments` are those of the verb, the program first.
pub(super) fn hint(verb: &str, arguments: &[OsString]) -> Option<String> {
    let given: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect::<Option<_>>()?;
    let words: Vec<String> = std::iter::once(verb.to_owned()).chain(given).collect();
    let (command, _) = verbs::named(&words).ok()?;
    // Elsewhere `--from` may mean a filter.
    command.get_arguments().find(|arg| arg.get_short() == Some('m'))?;
    let mut right: Vec<&str> = vec![];
    let mut advice = None;
    let mut words_left = words.iter().map(String::as_str);
    while let Some(word) = words_left.next() {
        match guessed(&command, word) {
            Some(guess) => {
                advice = advice.or(Some(guess.about));
                right.extend(Some(guess.option).filter(|option| !option.is_empty()));
                right.extend(guess.value);
            }
            None => right.push(word),
        }
        // What follows is text.
        if word == "--" {
            right.extend(words_left.by_ref());
        }
    }
    let advice = advice?;
    let is_right = verbs::find(verb).is_some_and(|entry| {
        let rest = right.iter().skip(1).copied();
        (entry.command)().try_get_matches_from(std::iter::once("postroom").chain(rest)).is_ok()
    });
    let line = Hint::from(Hint::run(&right)).line(&Present::default());
    let is_plain = !line.chars().any(char::is_control) && line.chars().count() <= LONGEST;
    Some(if is_right && is_plain { line } else { advice.to_owned() })
}

/// What replaces a word.
struct Guess<'a> {
    option: &'static str,
    about: &'static str,
    /// The value that the word carries itself (`--to=bob`).
    value: Option<&'a str>,
}

/// `None` if the verb knows the option.
fn guessed<'a>(command: &Command, word: &'a str) -> Option<Guess<'a>> {
    let (name, value) = match word.strip_prefix("--")?.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word.strip_prefix("--")?, None),
    };
    let is_known = command.get_arguments().any(|arg| {
        arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    });
    let (_, option, about) = GUESSES.iter().find(|(names, ..)| !is_known && names.contains(&name))?;
    Some(Guess { option, about, value })
}
