//! Reading a definition: turns a document into a [`Definition`], or into a list of all problems with line and column.
//! Pure.
//!
//! One pass finds all problems within single values. How steps fit together (`check`) is checked only if there are
//! none.

mod steps;

use std::time::Duration;

use super::check;
use super::definition::*;
use super::document::{self, Key, Node, Value};
use super::problem::{Position, Problem, offer};
use super::template::{Expression, Lines, Template};
use crate::span;

/// The largest file that is read.
pub const LIMIT: u64 = 4 * 1024 * 1024;

/// Reads and checks the text of a file named `name`.
pub fn parse(text: &str, name: &str) -> Result<Definition, Vec<Problem>> {
    let document = document::parse(text).map_err(|problem| vec![problem])?;
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader = Reader { text, starts, problems: vec![] };
    let definition = reader.definition(&document, name);
    match definition {
        Some(mut definition) if reader.problems.is_empty() => {
            let problems = check::check(&mut definition);
            if problems.is_empty() { Ok(definition) } else { Err(problems) }
        }
        _ => {
            reader.problems.sort();
            Err(reader.problems)
        }
    }
}

/// Whether a word may name a workflow: it becomes part of a mailbox id.
pub fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    text.len() <= 64 && text.bytes().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Whether a word may name a step or an input: templates refer to it.
fn is_word(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= 40 && text.bytes().all(plain) && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

struct Reader<'t> {
    text: &'t str,
    /// The offsets of its lines, because every template is located in it.
    starts: Vec<usize>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong<T>(&mut self, place: Position, message: impl Into<String>) -> Option<T> {
        self.problems.push(Problem::at(place, message));
        None
    }

    fn map<'d>(&mut self, node: &'d Node, what: &str) -> Option<&'d [(Key, Node)]> {
        match &node.value {
            Value::Map(entries) => Some(entries),
            _ => self.wrong(node.place, format!("{what} is a map, not {}", node.kind())),
        }
    }

    fn text(&mut self, node: &Node, what: &str) -> Option<String> {
        match node.text() {
            Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
            _ => self.wrong(node.place, format!("`{what}` is a text, not {}", empty_or_kind(node))),
        }
    }

    fn count(&mut self, node: &Node, what: &str, range: std::ops::RangeInclusive<usize>) -> Option<usize> {
        let number = node.text().and_then(|text| text.parse::<usize>().ok()).filter(|n| range.contains(n));
        number.or_else(|| {
            let (least, most) = range.into_inner();
            self.wrong(node.place, format!("`{what}` is a whole number from {least} to {most}"))
        })
    }

    fn span(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let text = self.text(node, what)?;
        match span::parse(&text) {
            Ok(span) if !span.is_zero() => Some(span),
            Ok(_) => self.wrong(node.place, format!("`{what}` is longer than nothing")),
            Err(why) => self.wrong(node.place, format!("`{what}`: {why}")),
        }
    }

    /// Reports every unknown key, with the nearest known one.
    fn known(&mut self, entries: &[(Key, Node)], what: &str, known: &[&str]) {
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.text.as_str())) {
            let hint = offer(&key.text, known.iter().copied());
            let word = crate::message::visible::clip(&key.text, 40);
            self.problems.push(Problem::at(key.place, format!("{what} has no key `{word}`{hint}")));
        }
    }

    /// The value of a keyword, looked up in a table.
    fn choice<T: Copy>(&mut self, node: &Node, of: &[(&str, T)], wrong: &str) -> Option<T> {
        let found = of.iter().find(|(word, _)| node.text() == Some(word)).map(|(_, value)| *value);
        found.or_else(|| self.wrong(node.place, wrong))
    }

    fn lines(&self, node: &Node) -> Lines<'_> {
        let block = matches!(node.value, Value::Text { block: true, .. });
        let line = self.starts.get(node.place.line.saturating_sub(1)).map_or("", |from| &self.text[*from..]);
        let rest =
            line.char_indices().nth(node.place.column.saturating_sub(1)).map_or("", |(at, _)| &line[at..]);
        Lines { rest, place: node.place, block }
    }

    /// What was parsed, unless there were problems.
    fn parsed<T>(&mut self, result: Result<T, Vec<Problem>>, what: &str) -> Option<T> {
        let told = |p: Problem| Problem::at(p.place, format!("`{what}`: {}", p.message));
        result.map_err(|problems| self.problems.extend(problems.into_iter().map(told))).ok()
    }

    fn template(&mut self, node: &Node, what: &str) -> Option<Template> {
        let text = self.text(node, what)?;
        self.parsed(Template::parse(&text, self.lines(node)), what)
    }

    fn expression(&mut self, node: &Node, what: &str) -> Option<Expression> {
        if let Value::List(_) = node.value {
            return Some(Expression::literal(&node.json(), node.place));
        }
        let text = self.text(node, what)?;
        self.parsed(Expression::parse(&text, self.lines(node)), what)
    }

    fn definition(&mut self, document: &Node, name: &str) -> Option<Definition> {
        const KEYS: [&str; 6] = ["name", "about", "inputs", "parallel", "result_bytes", "steps"];
        let entries = self.map(document, "a workflow")?;
        self.known(entries, "a workflow", &KEYS);
        let get = |key: &str| get(entries, key);
        if !is_name(name) {
            let name = crate::message::visible::clip(name, 60);
            let why =
                format!("the file is called `{name}`; the name of a workflow is of a-z, 0-9, `-` and `_`");
            self.problems.push(Problem::at(Position::default(), why));
        }
        if let Some(node) = get("name")
            && node.text() != Some(name)
        {
            self.problems
                .push(Problem::at(node.place, format!("`name` is not that of the file, which is `{name}`")));
        }
        let about = get("about").and_then(|node| self.text(node, "about")).unwrap_or_default();
        let inputs = get("inputs").map(|node| self.inputs(node)).unwrap_or_default();
        let parallel = get("parallel").and_then(|node| self.count(node, "parallel", 1..=ITEMS));
        let bytes = get("result_bytes").and_then(|node| self.count(node, "result_bytes", 256..=1024 * 1024));
        let Some(node) = get("steps") else { return self.wrong(document.place, "a workflow has `steps`") };
        let steps = self.steps(node)?;
        Some(Definition {
            name: name.to_owned(),
            about: about.trim().to_owned(),
            inputs,
            parallel: parallel.unwrap_or(PARALLEL),
            result_bytes: bytes.unwrap_or(RESULT_BYTES),
            steps,
        })
    }

    fn inputs(&mut self, node: &Node) -> Vec<Input> {
        let entries = self.map(node, "`inputs`").unwrap_or_default();
        entries.iter().filter_map(|(key, node)| self.input(key, node)).collect()
    }

    fn input(&mut self, key: &Key, node: &Node) -> Option<Input> {
        if !is_word(&key.text) {
            return self
                .wrong(key.place, format!("`{}` cannot name an input: letters, digits and `_`", key.text));
        }
        let name = key.text.clone();
        let Value::Map(entries) = &node.value else {
            // The short form is the default itself, which gives the kind.
            let default = Some(node.json()).filter(|value| !value.is_null());
            let kind = default.as_ref().map_or(Kind::Text, Kind::of);
            return Some(Input { name, kind, default, about: String::new() });
        };
        self.known(entries, "an input", &["type", "default", "about"]);
        let get = |key: &str| get(entries, key);
        let default =
            get("default").map(|node| (node.place, node.json())).filter(|(_, value)| !value.is_null());
        let kind = match get("type").map(|node| (node.place, node.text())) {
            None => default.as_ref().map_or(Kind::Text, |(_, value)| Kind::of(value)),
            Some((place, word)) => match Kind::ALL.into_iter().find(|kind| Some(kind.as_str()) == word) {
                Some(kind) => kind,
                None => {
                    let words = Kind::ALL.map(Kind::as_str).join(", ");
                    return self.wrong(place, format!("`type` is one of {words}"));
                }
            },
        };
        if let Some((place, value)) = &default
            && !kind.fits(value)
        {
            return self.wrong(*place, format!("the default is no {}", kind.as_str()));
        }
        let about = get("about").and_then(|node| self.text(node, "about")).unwrap_or_default();
        Some(Input { name, kind, default: default.map(|(_, value)| value), about })
    }
}

/// The value of a key.
fn get<'d>(entries: &'d [(Key, Node)], key: &str) -> Option<&'d Node> {
    entries.iter().find(|(k, _)| k.text == key).map(|(_, node)| node)
}

fn empty_or_kind(node: &Node) -> &'static str {
    match &node.value {
        Value::Text { .. } => "nothing",
        _ => node.kind(),
    }
}
