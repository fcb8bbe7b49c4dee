//! The names that a template uses, and where. Known before it is rendered. Pure.

use std::collections::BTreeSet;

use super::words::{Part, Word};
use super::{Lines, Marks, language};
use crate::workflow::problem::{Position, Problem};

/// The variables of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Inputs by name.
    pub inputs: BTreeSet<String>,
    /// Steps by name.
    pub steps: BTreeSet<String>,
    /// It looks steps up by names that are only known later.
    pub any_step: bool,
    /// Everything else: `item`, `round`, `failure` …
    pub others: BTreeSet<String>,
    /// Every name with its path, and its position.
    pub spoken: Vec<(Vec<String>, Position)>,
}

impl Uses {
    /// The names that these words use, with positions; `from`: where the words begin in the text. Unknown filters and
    /// tests are reported.
    pub(super) fn of(
        names: impl IntoIterator<Item = String>,
        text: &str,
        from: usize,
        words: Vec<Word>,
        lines: Lines<'_>,
    ) -> Result<(Self, Marks), Vec<Problem>> {
        let mut uses = Self::default();
        let mut any_input = false;
        for name in names {
            let mut parts = name.split('.');
            match (parts.next(), parts.next()) {
                (Some("inputs"), Some(input)) => drop(uses.inputs.insert(input.to_owned())),
                (Some("steps"), Some(step)) => drop(uses.steps.insert(step.to_owned())),
                (Some("steps"), None) => uses.any_step = true,
                (Some("inputs"), None) => any_input = true,
                // Functions of the language are not variables.
                (Some("range" | "dict" | "namespace" | "debug"), None) | (None, _) => {}
                (Some(other), _) => drop(uses.others.insert(other.to_owned())),
            }
        }
        let offsets: Vec<usize> = words.iter().map(|word| from + word.at).collect();
        let places = lines.places(text, &offsets);
        let mut problems = vec![];
        let mut marks = vec![];
        for (Word { part, path, at }, place) in words.into_iter().zip(places) {
            marks.push((at, place));
            match part {
                Part::Opening => {}
                Part::Name => {
                    // The language does not know a name in brackets before it runs.
                    match path.as_slice() {
                        [root, name, ..] if root == "steps" && uses.any_step => {
                            uses.steps.insert(name.clone());
                        }
                        [root, name, ..] if root == "inputs" && any_input => {
                            uses.inputs.insert(name.clone());
                        }
                        _ => {}
                    }
                    uses.spoken.push((path, place));
                }
                Part::Filter | Part::Test => {
                    let why = path.first().and_then(|name| language::unknown(part, name));
                    problems.extend(why.map(|why| Problem::at(place, why)));
                }
            }
        }
        if problems.is_empty() { Ok((uses, marks)) } else { Err(problems) }
    }

    /// The first position of this path, if known.
    pub fn place_of(&self, path: &[&str]) -> Option<Position> {
        let fits =
            |spoken: &[String]| spoken.len() >= path.len() && spoken.iter().zip(path).all(|(a, b)| a == b);
        self.spoken.iter().find(|(spoken, _)| fits(spoken)).map(|(_, place)| *place)
    }
}
