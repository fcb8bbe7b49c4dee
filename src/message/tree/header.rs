//! The header of a task: YAML, or read line by line if it is not valid YAML; changed one field at a time.
//!
//! Keys of the protocol are found in any case. A change keeps every byte but those of its field, and is read again
//! before it is returned: if it would touch another field, it is refused.

use std::collections::HashSet;

use crate::message::frontmatter::{ParseError, bad};
use crate::message::yaml::{self, Field, lines};

pub(super) struct Header<'a> {
    text: &'a str,
    /// Each with the protocol's spelling of its key.
    fields: Vec<(String, Field)>,
    by_line: bool,
    pub(super) doubts: Vec<String>,
}

impl<'a> Header<'a> {
    /// Reads the lines between the fences.
    pub(super) fn read(text: &'a str) -> Result<Self, ParseError> {
        let (fields, by_line, doubts) = match yaml::fields(text) {
            Ok(fields) => (fields, false, vec![]),
            Err(e @ ParseError::Duplicate { .. }) => return Err(e),
            Err(_) => {
                let (fields, raw) = lines::fields(text)?;
                let keys =
                    if raw.is_empty() { "the header".to_owned() } else { format!("`{}`", raw.join("`, `")) };
                let keys = crate::message::visible::cut(&keys, 80);
                (fields, true, vec![format!("{keys} is not valid YAML and is read line by line")])
            }
        };
        let name = |field: &Field| super::spelled(&field.key).map(str::to_owned);
        let fields: Vec<_> =
            fields.into_iter().map(|f| (name(&f).unwrap_or_else(|| f.key.clone()), f)).collect();
        let mut seen = HashSet::new();
        for (name, field) in &fields {
            if !seen.insert(name) {
                return Err(ParseError::Duplicate { line: field.line, key: name.chars().take(64).collect() });
            }
        }
        Ok(Self { text, fields, by_line, doubts })
    }

    /// The header as it stands.
    pub(super) fn lines(&self) -> &'a str {
        self.text
    }

    pub(super) fn fields(&self) -> &[(String, Field)] {
        &self.fields
    }

    pub(super) fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|(name, _)| name == key).map(|(_, field)| field)
    }

    /// The trimmed text of a field; `None` if it is empty, a list or a map.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.field(key).and_then(Field::text).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The header with one value changed, or added at its end.
    pub(super) fn with(&self, key: &str, value: &str) -> Result<String, ParseError> {
        let changed = match self.field(key) {
            None => format!("{}{key}: {}{}", self.text, yaml::scalar(value), self.line_end()),
            Some(field) if self.by_line => lines::set(self.text, field, value),
            Some(field) => yaml::set(self.text, &field.key, value)?.ok_or_else(|| self.stuck(key))?,
        };
        let after = Header::read(&changed).map_err(|_| self.stuck(key))?;
        let right = after.field(key).is_some_and(|field| field.value.as_deref() == Some(value));
        if right && self.is_same_but(&after, key) { Ok(changed) } else { Err(self.stuck(key)) }
    }

    /// The header without the lines of one field. `None` if there is none, or it shares its lines with others.
    pub(super) fn without(&self, key: &str) -> Option<String> {
        let line = self.field(key)?.line;
        let all: Vec<&str> = self.text.split_inclusive('\n').collect();
        // In YAML a carriage return also ends a line, and then its line numbers differ from ours.
        let (above, below) = (all.get(..line.checked_sub(2)?)?, all.get(line - 1..)?);
        // Lines indented below the key belong to its value, and so do blank lines in between.
        let is_value = |text: &&str| text.starts_with([' ', '\t']) || text.trim().is_empty();
        let reach = below.iter().take_while(|text| is_value(text)).count();
        let end = below[..reach].iter().rposition(|text| !text.trim().is_empty()).map_or(0, |last| last + 1);
        let kept = above.concat() + &below[end..].concat();
        let after = Header::read(&kept).ok()?;
        (after.field(key).is_none() && self.is_same_but(&after, key)).then_some(kept)
    }

    fn is_same_but(&self, after: &Header<'_>, key: &str) -> bool {
        let others = |header: &Header<'_>| -> Vec<_> {
            let others = header.fields.iter().filter(|(name, _)| name != key);
            others.map(|(name, field)| (name.clone(), field.value.clone())).collect()
        };
        others(self) == others(after)
    }

    fn line_end(&self) -> &'static str {
        if self.text.ends_with("\r\n") { "\r\n" } else { "\n" }
    }

    fn stuck(&self, key: &str) -> ParseError {
        let line = self.field(key).map_or(0, |field| field.line);
        bad(line, key, "cannot be changed without touching its neighbours")
    }
}
