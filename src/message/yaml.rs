//! YAML frontmatter: the fields of a tree message or a shared file, read and changed in place.
//!
//! [`fields`] returns the top-level keys with their scalars and positions. Anchors, aliases, tags, a second document
//! and deep nesting are refused, because no protocol needs them and each has been used in attacks. [`set`] changes one
//! scalar and leaves every other byte as it was: comments, quoting, order, line ends. A header that is not YAML can be
//! read with [`lines`].

pub mod lines;

use std::collections::HashSet;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle};

use super::frontmatter::{ParseError, bad};

/// The deepest nesting of lists and maps.
const DEPTH: usize = 16;

/// One top-level key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub key: String,
    /// The scalar as YAML reads it; `None` for a list or a map.
    pub value: Option<String>,
    /// Counted from 1, in the file whose first line is the opening fence.
    pub line: usize,
    span: Range<usize>,
    style: ScalarStyle,
}

impl Field {
    pub(super) fn bad(&self, why: impl ToString) -> ParseError {
        bad(self.line, &self.key, why)
    }

    /// Its text; `None` for a list, a map, and a key without a value, which YAML reads as `~`.
    pub fn text(&self) -> Option<&str> {
        let nothing = |value: &&str| self.style == ScalarStyle::Plain && matches!(*value, "" | "~");
        self.value.as_deref().filter(|value| !nothing(value))
    }
}

/// Reads the top-level keys of a header (the lines between the fences).
pub fn fields(header: &str) -> Result<Vec<Field>, ParseError> {
    let mut reader = Reader { parser: Parser::new_from_str(header) };
    let mut fields = vec![];
    let mut seen = HashSet::new();
    loop {
        match reader.next()? {
            Part { event: Event::StreamStart | Event::DocumentStart(..), .. } => {}
            Part { event: Event::MappingStart(..), .. } => break,
            // An empty header, or one of comments alone.
            Part { event: Event::StreamEnd | Event::DocumentEnd, .. } => return Ok(fields),
            Part { line, .. } => return Err(ParseError::NotAField { line }),
        }
    }
    loop {
        let (key, line) = match reader.next()? {
            Part { event: Event::MappingEnd, .. } => break,
            Part { event: Event::Scalar(key, ..), line, .. } => (key.into_owned(), line),
            Part { line, .. } => return Err(ParseError::NotAField { line }),
        };
        if !seen.insert(key.clone()) {
            return Err(ParseError::Duplicate { line, key: key.chars().take(64).collect() });
        }
        fields.push(match reader.next()? {
            Part { event: Event::Scalar(value, style, ..), span, .. } => {
                Field { key, value: Some(value.into_owned()), line, span, style }
            }
            Part { event: Event::SequenceStart(..) | Event::MappingStart(..), span, .. } => {
                reader.skip()?;
                Field { key, value: None, line, span, style: ScalarStyle::Plain }
            }
            Part { line, .. } => return Err(ParseError::NotAField { line }),
        });
    }
    loop {
        match reader.next()? {
            Part { event: Event::StreamEnd, .. } => return Ok(fields),
            Part { event: Event::DocumentEnd, .. } => {}
            Part { line, .. } => return Err(bad(line, "---", "a second document")),
        }
    }
}

/// The header with one scalar changed; every other byte is kept. `None` if there is no such key.
pub fn set(header: &str, key: &str, value: &str) -> Result<Option<String>, ParseError> {
    let before = fields(header)?;
    let Some(field) = before.iter().find(|field| field.key == key) else { return Ok(None) };
    if field.value.is_none() {
        return Err(field.bad("a list or a map, not one value"));
    }
    let text = match field.style {
        ScalarStyle::Plain => scalar(value),
        ScalarStyle::SingleQuoted => format!("'{}'", value.replace('\'', "''")),
        ScalarStyle::DoubleQuoted => quoted(value),
        _ => return Err(field.bad("a text of several lines, which is not changed in place")),
    };
    let changed = if field.span.is_empty() {
        // An empty value has no position: the new one goes after the colon of its key.
        let start: usize = header.split_inclusive('\n').take(field.line - 2).map(str::len).sum();
        let Some(colon) = header[start..].find(':').map(|at| start + at + 1) else { return Ok(None) };
        let rest = &header[colon..];
        let bare = rest.trim_start_matches(' ');
        // Trailing spaces go; those before a comment stay, because without them it is not a comment.
        let rest = if bare.starts_with(['\r', '\n']) || bare.is_empty() { bare } else { rest };
        format!("{} {text}{rest}", &header[..colon])
    } else {
        format!("{}{text}{}", &header[..field.span.start], &header[field.span.end..])
    };
    let after = fields(&changed)?;
    let same = is_same_but(key, &before, &after);
    let right = after.iter().any(|field| field.key == key && field.value.as_deref() == Some(value));
    if same && right {
        Ok(Some(changed))
    } else {
        Err(field.bad("cannot be changed without touching its neighbours"))
    }
}

/// Whether nothing but the value of one key differs.
pub(super) fn is_same_but(key: &str, before: &[Field], after: &[Field]) -> bool {
    let same = |(a, b): (&Field, &Field)| a.key == b.key && (a.key == key || a.value == b.value);
    before.len() == after.len() && before.iter().zip(after).all(same)
}

/// A value as YAML, quoted only if it would otherwise be read as something else.
pub fn scalar(value: &str) -> String {
    let plain = |c: char| {
        c.is_alphanumeric()
            || matches!(c, ' ' | '.' | '_' | '-' | '/' | '+' | ':' | '(' | ')' | ',' | ';' | '@' | '~')
    };
    let starts = value.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_'));
    let word = matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "~" | "y" | "n"
    );
    let safe =
        starts && value.chars().all(plain) && !value.contains(": ") && !value.ends_with([':', ' ']) && !word;
    if safe { value.to_owned() } else { quoted(value) }
}

fn quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Characters that are not printable in YAML.
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                out.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The events of a header, without hostile ones.
struct Reader<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
}

/// An event, and where it is in the header.
struct Part<'a> {
    event: Event<'a>,
    line: usize,
    /// Its bytes.
    span: Range<usize>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Part<'a>, ParseError> {
        let (event, span) = match self.parser.next_event() {
            Some(Ok(next)) => next,
            Some(Err(e)) => {
                // The parser has no text for a list or map that ends too early.
                let why = Some(e.info()).filter(|why| !why.is_empty());
                let why = why.unwrap_or_else(|| "something is begun and not ended".into());
                return Err(bad(e.marker().line() + 1, "yaml", &why));
            }
            None => return Ok(Part { event: Event::StreamEnd, line: 0, span: 0..0 }),
        };
        // The header begins on line 2 of its file; the parser counts from 1.
        let line = span.start.line() + 1;
        if event.anchor_id().is_some() || event.is_alias() || event.tag().is_some() {
            return Err(bad(line, "yaml", "anchors, aliases and tags are not taken"));
        }
        let offset = |at: granit_parser::Marker| at.byte_offset().unwrap_or(0);
        Ok(Part { event, line, span: offset(span.start)..offset(span.end) })
    }

    /// Skips the rest of a list or map that has just begun.
    fn skip(&mut self) -> Result<(), ParseError> {
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Part { event: Event::SequenceStart(..) | Event::MappingStart(..), line, .. } => {
                    depth += 1;
                    if depth > DEPTH {
                        return Err(bad(line, "yaml", "nested too deep"));
                    }
                }
                Part { event: Event::SequenceEnd | Event::MappingEnd, .. } => depth -= 1,
                Part { event: Event::StreamEnd, line, .. } => return Err(ParseError::NotAField { line }),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "id: 2025-01-01-001   # the id\nfrom: explore\nstatus: pending # now\ncontext: \"Creating: a skill\"\ntags:\n  - a\n  - b\nstep: 2\n";

    #[test]
    fn fields_are_read_as_yaml() {
        let fields = fields(HEADER).unwrap();
        let get = |key: &str| fields.iter().find(|f| f.key == key).unwrap();
        assert_eq!(get("id").value.as_deref(), Some("2025-01-01-001"));
        assert_eq!(get("context").value.as_deref(), Some("Creating: a skill"));
        assert_eq!((get("tags").value.clone(), get("tags").line), (None, 6));
        assert_eq!(get("step").value.as_deref(), Some("2"));
    }

    #[test]
    fn one_field_changes_and_nothing_else() {
        let changed = set(HEADER, "status", "in_progress").unwrap().unwrap();
        assert_eq!(changed, HEADER.replace("pending", "in_progress"));
        assert_eq!(set(HEADER, "nothing", "x").unwrap(), None);
        let cases = [
            ("status: 'pending'\r\nx: 1\r\n", "status: 'completed'\r\nx: 1\r\n"),
            ("status: \"pending\"\n", "status: \"completed\"\n"),
            ("{from: a, status: pending, x: 1}", "{from: a, status: completed, x: 1}"),
            ("status:\nx: 1\n", "status: completed\nx: 1\n"),
            ("status: \nx: 1\n", "status: completed\nx: 1\n"),
            ("status:  # c\nx: 1\n", "status: completed  # c\nx: 1\n"),
        ];
        for (before, after) in cases {
            assert_eq!(set(before, "status", "completed").unwrap().unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn what_is_hostile_or_odd_is_refused() {
        let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
        for bad in [
            "a: &x 1\nb: *x\n",
            "a: !!str 1\n",
            "a: 1\na: 2\n",
            "- a\n",
            "a: 1\n---\nb: 2\n",
            "a: [\n",
            &deep,
        ] {
            assert!(fields(bad).is_err(), "{bad:?}");
        }
        assert!(set("status: |\n  pending\n", "status", "x").is_err());
        assert!(set("status: [a]\n", "status", "x").is_err());
        assert_eq!(fields("# nothing\n").unwrap(), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn any_value_that_is_written_is_read_back(value in "\\PC{0,40}|[ -~\n\t]{0,40}") {
            let header = format!("a: 1\nkey: {}\nb: 2\n", scalar(&value));
            let fields = fields(&header).unwrap();
            prop_assert_eq!(fields[1].value.as_deref(), Some(value.as_str()));
        }

        #[test]
        fn any_value_that_is_set_leaves_its_neighbours(value in "[ -~]{0,40}") {
            if let Ok(Some(changed)) = set(HEADER, "status", &value) {
                prop_assert!(changed.ends_with("context: \"Creating: a skill\"\ntags:\n  - a\n  - b\nstep: 2\n"));
                prop_assert!(changed.starts_with("id: 2025-01-01-001   # the id\nfrom: explore\nstatus: "));
            }
        }
    }
}
