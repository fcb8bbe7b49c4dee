//! Maps positions in a text to positions in its YAML file, so that errors can point into the file. Pure.
//!
//! YAML folds lines, removes indentation and escapes some characters, but it never reorders characters other than white
//! space. So the text and the file are walked in parallel, counting only such characters.

use super::worded;
use crate::workflow::problem::{Position, Problem};

/// A text in its file.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    /// The file, from the beginning of the text.
    pub rest: &'a str,
    pub place: Position,
    /// It is a block text of several lines, which has no quotes.
    pub block: bool,
}

impl Lines<'_> {
    /// Turns a language error into a problem; `from`: where the parsed part begins in the text.
    pub(super) fn problem(&self, text: &str, from: usize, what: &str, e: &minijinja::Error) -> Problem {
        let offset = e.range().map_or(0, |range| (from + range.start).min(text.trim_end().len()));
        let place = self.places(text, &[offset]).pop().unwrap_or(self.place);
        Problem::at(place, format!("{what}: {}", worded(e)))
    }

    /// The file positions of these byte offsets, which are in order.
    pub(super) fn places(&self, text: &str, offsets: &[usize]) -> Vec<Position> {
        let mut file = Walk { rest: self.rest, place: self.place, quote: None };
        if !self.block
            && let Some(quote @ ('\'' | '"')) = self.rest.chars().next()
        {
            file.quote = Some(quote);
            file.step(1);
        }
        let mut places = vec![];
        let mut wanted = offsets.iter().peekable();
        for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            if wanted.peek().is_none() {
                break;
            }
            file.skip_space();
            while wanted.next_if(|offset| **offset <= at).is_some() {
                places.push(file.place);
            }
            file.pass(c);
        }
        // An offset after the last character maps to its end.
        places.extend(wanted.map(|_| file.place));
        places
    }
}

struct Walk<'a> {
    rest: &'a str,
    place: Position,
    quote: Option<char>,
}

impl Walk<'_> {
    fn step(&mut self, count: usize) {
        let mut chars = self.rest.chars();
        for c in chars.by_ref().take(count) {
            match c {
                '\n' => self.place = Position::new(self.place.line + 1, 1),
                _ => self.place.column += 1,
            }
        }
        self.rest = chars.as_str();
    }

    /// Skips white space, in any notation.
    fn skip_space(&mut self) {
        loop {
            let mut chars = self.rest.chars();
            match (chars.next(), chars.next()) {
                (Some(c), _) if c.is_whitespace() => self.step(1),
                (Some('\\'), Some('n' | 't' | 'r' | ' ' | '_' | 'N' | 'L' | 'P' | '\n' | '\r'))
                    if self.quote == Some('"') =>
                {
                    self.step(2);
                }
                _ => return,
            }
        }
    }

    /// Skips this character, in any notation.
    fn pass(&mut self, c: char) {
        let written = match self.quote {
            Some('\'') if c == '\'' => 2,
            Some('"') if self.rest.starts_with('\\') => match self.rest.chars().nth(1) {
                Some('x') => 4,
                Some('u') => 6,
                Some('U') => 10,
                _ => 2,
            },
            _ => 1,
        };
        self.step(written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_found_however_its_text_is_written() {
        for (file, block, text, sought, line, column) in [
            ("hello\n      and {{ x }}\n", true, "hello\nand {{ x }}\n", "{{", 1, 11),
            ("hello\n      and {{ x }}\n", true, "hello and {{ x }}\n", "x", 1, 14),
            ("'it''s {{ x }}'\n", false, "it's {{ x }}", "x", 0, 17),
            (r#""a\n\"b\" \u00e9{{ x }}""#, false, "a\n\"b\" é{{ x }}", "x", 0, 26),
            ("\"a\n   b {{ x }}\"", false, "a b {{ x }}", "x", 1, 9),
            ("'", false, "", "", 0, 8),
        ] {
            let lines = Lines { rest: file, place: Position::new(4, 7), block };
            let offset = text.find(sought).unwrap();
            assert_eq!(lines.places(text, &[offset]), [Position::new(4 + line, column)], "{file}");
        }
    }
}
