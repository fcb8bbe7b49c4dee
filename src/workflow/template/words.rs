//! The words of a template: the names, filters and tests in its braces, with positions. Pure.
//!
//! The language reports which names are not its own, but not their positions, and it finds an unknown filter only when
//! it runs it. This is not a parser: it only tells names from texts, numbers and operators.

/// The role of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// A name with its path, such as `steps.look.result`.
    Name,
    Filter,
    Test,
    /// The opening braces.
    Opening,
}

/// A word and its byte offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) part: Part,
    pub(super) path: Vec<String>,
    pub(super) at: usize,
}

/// The words of a text with braces.
pub(super) fn of_template(source: &str) -> Vec<Word> {
    let mut words = vec![];
    let mut at = 0;
    while let Some(found) = source[at..].find('{').map(|found| at + found) {
        at = match source.as_bytes().get(found + 1) {
            Some(b'#') => source[found..].find("#}").map_or(source.len(), |end| found + end + 2),
            Some(b'{' | b'%') => {
                words.push(Word { part: Part::Opening, path: vec![], at: found });
                let from = words.len();
                let end = Scanner { source, at: found + 2, words: &mut words }.code();
                match words[from..].first() {
                    Some(word) if word.path == ["raw"] && source[found..].starts_with("{%") => {
                        words.truncate(from);
                        after_raw(source, end)
                    }
                    _ => end,
                }
            }
            _ => found + 1,
        };
    }
    words
}

/// The words of an expression.
pub(super) fn of_expression(source: &str) -> Vec<Word> {
    let mut words = vec![Word { part: Part::Opening, path: vec![], at: 0 }];
    Scanner { source, at: 0, words: &mut words }.code();
    words
}

/// The end of a raw block.
fn after_raw(source: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(found) = source[at..].find("{%").map(|found| at + found) {
        at = found + 2;
        if source[at..].trim_start_matches(['-', '+']).trim_start().starts_with("endraw") {
            return at;
        }
    }
    source.len()
}

struct Scanner<'s> {
    source: &'s str,
    at: usize,
    words: &'s mut Vec<Word>,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    fn skip_space(&mut self) {
        let rest = &self.source[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn word(&mut self) -> &str {
        let from = self.at;
        let rest = &self.source[from..];
        self.at += rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &self.source[from..self.at]
    }

    /// A quoted text, without its quotes.
    fn quoted(&mut self, quote: char) -> &str {
        self.at += 1;
        let from = self.at;
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            if c == quote {
                return &self.source[from..self.at - 1];
            }
            if c == '\\' {
                self.at += self.peek().map_or(0, char::len_utf8);
            }
        }
        &self.source[from..]
    }

    /// Reads to the end of these braces, and returns that position.
    fn code(&mut self) -> usize {
        let mut depth = 0_usize;
        let mut next = Part::Name;
        loop {
            self.skip_space();
            let rest = &self.source[self.at..];
            let Some(c) = self.peek() else { return self.at };
            if depth == 0 && (rest.starts_with("}}") || rest.starts_with("%}")) {
                return self.at + 2;
            }
            match c {
                '\'' | '"' => drop(self.quoted(c)),
                c if c.is_ascii_digit() => drop(self.word()),
                c if c.is_alphabetic() || c == '_' => {
                    next = self.named(next);
                    continue;
                }
                '|' => {
                    self.at += 1;
                    next = Part::Filter;
                    continue;
                }
                '.' => {
                    // An attribute of something that is not a name, as in `f().x`, is not a name either.
                    self.at += 1;
                    self.word();
                }
                c => {
                    match c {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    self.at += c.len_utf8();
                }
            }
            next = Part::Name;
        }
    }

    /// Takes one word, and returns the role of the next.
    fn named(&mut self, part: Part) -> Part {
        let at = self.at;
        let mut path = vec![self.word().to_owned()];
        match (part, path[0].as_str()) {
            (Part::Test, "not") => return Part::Test,
            (Part::Name, "is") => return Part::Test,
            // `{% filter upper %}` also names a filter.
            (Part::Name, "filter") if self.words.last().is_some_and(|word| word.part == Part::Opening) => {
                return Part::Filter;
            }
            (Part::Name, _) => self.path(&mut path),
            _ => {}
        }
        self.words.push(Word { part, path, at });
        Part::Name
    }

    /// The path after a name: `.word`, or `['word']`.
    fn path(&mut self, path: &mut Vec<String>) {
        loop {
            let before = self.at;
            self.skip_space();
            let rest = &self.source[self.at..];
            if rest.starts_with('.') {
                self.at += 1;
                self.skip_space();
                let word = self.word().to_owned();
                path.push(word);
                continue;
            }
            if let Some(quote) = rest.strip_prefix('[').and_then(|inside| inside.chars().next())
                && matches!(quote, '\'' | '"')
            {
                self.at += 1;
                let word = self.quoted(quote).to_owned();
                self.skip_space();
                if self.peek() == Some(']') {
                    self.at += 1;
                    path.push(word);
                    continue;
                }
            }
            self.at = before;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(words: Vec<Word>) -> Vec<(Part, String, usize)> {
        let inside = words.into_iter().filter(|word| word.part != Part::Opening);
        inside.map(|word| (word.part, word.path.join("."), word.at)).collect()
    }

    #[test]
    fn names_filters_and_tests_are_told_with_their_places() {
        let source = "a {{ steps.look['results'] | join(', ') }} {# {{ x }} #}{% raw %}{{ y }}{% endraw %}{{ {'a': {'b': z}} }}";
        assert_eq!(
            told(of_template(source)),
            [
                (Part::Name, "steps.look.results".to_owned(), 5),
                (Part::Filter, "join".to_owned(), 29),
                (Part::Name, "z".to_owned(), source.find("z}").unwrap()),
            ]
        );
        assert_eq!(
            told(of_expression("inputs.n is not odd and 'is x' != f().y")),
            [
                (Part::Name, "inputs.n".to_owned(), 0),
                (Part::Test, "odd".to_owned(), 16),
                (Part::Name, "and".to_owned(), 20),
                (Part::Name, "f".to_owned(), 34),
            ]
        );
        assert_eq!(told(of_template("{% filter upper %}x{% endfilter %}"))[0].1, "upper");
    }

    proptest! {
        #[test]
        fn any_text_has_an_end(text in "[{}%#|.'\"\\[\\] a-cé\\\\\n-]{0,60}|\\PC{0,40}") {
            for word in of_template(&text).into_iter().chain(of_expression(&text)) {
                prop_assert!(text.is_char_boundary(word.at));
            }
        }
    }
}
