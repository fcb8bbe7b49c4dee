//! Symbols: a number for each word. A busy day has a hundred thousand messages, and what is computed of them has each in several
//! tables.

use std::collections::HashMap;
use std::rc::Rc;

/// The words so far, and their numbers.
#[derive(Default)]
pub(super) struct Symbols {
    numbers: HashMap<Rc<str>, u32>,
    words: Vec<Rc<str>>,
}

impl Symbols {
    pub(super) fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let (number, word) = (u32::try_from(self.words.len()).unwrap_or(u32::MAX), Rc::from(word));
        self.words.push(Rc::clone(&word));
        self.numbers.insert(word, number);
        number
    }

    /// The word of a number that was given.
    pub(super) fn word(&self, number: u32) -> &str {
        self.words.get(number as usize).map_or("", |word| word)
    }
}
