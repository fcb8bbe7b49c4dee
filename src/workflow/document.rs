//! A YAML document with positions: every value knows its line and column, so that error messages can point at it. Pure.
//!
//! Anchors, aliases, tags, a second document, duplicate keys and deep nesting are refused. The document knows only
//! texts, lists and maps; the caller decides what a plain scalar means.

mod fault;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};

use super::problem::{Position, Problem};

/// How deep lists and maps may nest, and how many values a document may have.
const DEPTH: usize = 16;
const VALUES: usize = 100_000;

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub place: Position,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A scalar; `plain`: it is not quoted, so it may mean a number or a YAML keyword.
    Text {
        text: String,
        plain: bool,
        /// A block text of several lines. Its place is the start of its first line.
        block: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub place: Position,
    pub text: String,
}

impl Node {
    /// The name of its kind, for people.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text { .. } => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Its scalar. `None` for a key without a value.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text { text, plain, .. } if !(*plain && matches!(text.as_str(), "" | "~" | "null")) => {
                Some(text)
            }
            _ => None,
        }
    }

    /// Converts to JSON: plain scalars become numbers, booleans and null where they look like them.
    pub fn json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Text { text, plain: true, .. } => match text.as_str() {
                "" | "~" | "null" => Json::Null,
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                number => match serde_json::from_str::<serde_json::Number>(number) {
                    Ok(number) => Json::Number(number),
                    Err(_) => Json::String(text.clone()),
                },
            },
            Value::Text { text, .. } => Json::String(text.clone()),
            Value::List(items) => Json::Array(items.iter().map(Node::json).collect()),
            Value::Map(entries) => {
                Json::Object(entries.iter().map(|(key, node)| (key.text.clone(), node.json())).collect())
            }
        }
    }
}

/// Reads a document.
pub fn parse(text: &str) -> Result<Node, Problem> {
    let mut reader = Reader { text, parser: Parser::new_from_str(text), values: 0 };
    let node = loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (Event::StreamEnd | Event::DocumentEnd, place) => {
                return Err(Problem::at(place, "there is nothing in it"));
            }
            (event, place) => break reader.node(event, place, 0)?,
        }
    };
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(node),
            (Event::DocumentEnd, _) => {}
            (_, place) => return Err(Problem::at(place, "a second document is not taken")),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    values: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Position), Problem> {
        let (event, span) = match self.parser.next_event() {
            Some(Ok(next)) => next,
            Some(Err(e)) => return Err(fault::problem(self.text, &e)),
            None => return Ok((Event::StreamEnd, Position::default())),
        };
        let place = Position { line: span.start.line(), column: span.start.col() + 1 };
        if event.anchor_id().is_some() || event.is_alias() || event.tag().is_some() {
            return Err(Problem::at(place, "anchors, aliases and tags are not taken"));
        }
        self.values += 1;
        if self.values > VALUES {
            return Err(Problem::at(place, format!("it has more than {VALUES} values")));
        }
        Ok((event, place))
    }

    fn node(&mut self, event: Event<'a>, place: Position, depth: usize) -> Result<Node, Problem> {
        if depth > DEPTH {
            return Err(Problem::at(place, format!("it is nested deeper than {DEPTH} levels")));
        }
        let value = match event {
            Event::Scalar(text, style, ..) => Value::Text {
                text: text.into_owned(),
                plain: style == ScalarStyle::Plain,
                block: matches!(style, ScalarStyle::Literal | ScalarStyle::Folded),
            },
            Event::SequenceStart(..) => {
                let mut items = vec![];
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break Value::List(items),
                        (event, place) => items.push(self.node(event, place, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => Value::Map(self.map(depth)?),
            _ => return Err(Problem::at(place, "something is begun and not ended")),
        };
        Ok(Node { place, value })
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(Key, Node)>, Problem> {
        let mut entries: Vec<(Key, Node)> = vec![];
        let mut seen = std::collections::HashSet::new();
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, _) => return Ok(entries),
                (Event::Scalar(text, ..), place) => Key { place, text: text.into_owned() },
                (_, place) => {
                    let braces = fault::braces(self.text, place);
                    return Err(braces.unwrap_or_else(|| Problem::at(place, "a key is one word")));
                }
            };
            if !seen.insert(key.text.clone()) {
                return Err(Problem::at(key.place, format!("`{}` is there twice", key.text)));
            }
            let (event, place) = self.next()?;
            // An empty value has no position of its own, so it gets that of its key.
            let place = if place.line < key.place.line { key.place } else { place };
            let node = self.node(event, place, depth + 1)?;
            entries.push((key, node));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_places() {
        let node = parse("# a comment\nname: x\nsteps:\n  one:\n    prompt: |\n      hello\n      {{ x }}\n  two: [a, 'b']\n").unwrap();
        let Value::Map(top) = &node.value else { panic!("{node:?}") };
        assert_eq!((top[0].0.place, top[0].1.place), (Position::new(2, 1), Position::new(2, 7)));
        let Value::Map(steps) = &top[1].1.value else { panic!("{top:?}") };
        assert_eq!(steps[0].0.place, Position::new(4, 3));
        let Value::Map(one) = &steps[0].1.value else { panic!("{steps:?}") };
        assert_eq!(one[0].1.place, Position::new(6, 7), "a block begins where its text does");
        assert_eq!(one[0].1.text(), Some("hello\n{{ x }}\n"));
        assert_eq!(steps[1].1.json(), serde_json::json!(["a", "b"]));
    }

    #[test]
    fn what_is_hostile_is_refused_with_its_place() {
        for (text, line, why) in [
            ("a: &x 1\n", 1, "anchors"),
            ("a: 1\na: 2\n", 2, "twice"),
            ("a: [1\n", 2, ""),
            ("", 1, "nothing"),
            ("a: 1\n---\nb: 2\n", 2, "second document"),
            (&format!("a: {}{}", "[".repeat(40), "]".repeat(40)), 1, "deeper"),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.message.contains(why) && problem.place.line >= line.min(1), "{text}: {problem}");
        }
    }

    #[test]
    fn plain_scalars_mean_what_they_look_like() {
        let node = parse("[1, 2.5, true, no, '1', ~, text]").unwrap();
        assert_eq!(node.json(), serde_json::json!([1, 2.5, true, "no", "1", null, "text"]));
    }
}
