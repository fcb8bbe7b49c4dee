//! Frontmatter: the block between two `---` lines at the head of a file, split into raw lines.
//!
//! [`split`] finds the block and the body in text, [`split_message`] also after blank lines. [`fields`] reads `key:
//! value` lines in which a value is the raw rest of its line. Nothing is unquoted or unescaped. A byte order mark, CRLF
//! line ends and keys of the protocol in another case are accepted; the caller keeps the text, so it can be returned
//! byte for byte.

use thiserror::Error;

/// The longest block that is read. A longer one is not an envelope.
pub const HEADER_LIMIT: usize = 64 * 1024;

/// Why a file is not a message. The text names the line and the field, if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    #[error("it is empty")]
    Empty,
    #[error("it is not UTF-8 (byte {at})")]
    NotUtf8 { at: usize },
    #[error("line 1: it does not begin with `---`")]
    NoFrontmatter,
    #[error("the frontmatter is not closed by a line `---`")]
    Unclosed,
    #[error("the frontmatter is longer than {} KiB", HEADER_LIMIT / 1024)]
    HeaderTooLong,
    #[error("line {line}: not of the form `key: value`")]
    NotAField { line: usize },
    #[error("line {line}: the field `{key}` is there twice")]
    Duplicate { line: usize, key: String },
    #[error("the field `{field}` is missing")]
    Missing { field: &'static str },
    #[error("{}`{field}`: {why}", place(.line))]
    BadValue { line: usize, field: String, why: String },
}

impl ParseError {
    /// The error for a file whose first fence has `lines` lines above it.
    pub(super) fn moved_down(mut self, lines: usize) -> Self {
        match &mut self {
            Self::NotAField { line } | Self::Duplicate { line, .. } => *line += lines,
            Self::BadValue { line, .. } if *line > 0 => *line += lines,
            _ => {}
        }
        self
    }
}

/// The error for the value of a field; its name may be long.
pub(super) fn bad(line: usize, field: &str, why: impl ToString) -> ParseError {
    ParseError::BadValue { line, field: field.chars().take(64).collect(), why: why.to_string() }
}

/// A field that is not in the file yet has no line.
fn place(line: &usize) -> String {
    if *line == 0 { String::new() } else { format!("line {line}: ") }
}

/// The parts of a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split<'a> {
    /// The lines between the fences.
    pub header: &'a str,
    /// Everything after the closing fence and at most one blank line.
    pub body: &'a str,
}

/// One `key: value` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    pub key: &'a str,
    pub value: &'a str,
    /// Counted from 1, in the file.
    pub line: usize,
}

impl Field<'_> {
    pub(super) fn bad(&self, why: impl ToString) -> ParseError {
        bad(self.line, self.key, why)
    }
}

/// The fields that are not of the protocol, as they stand.
pub(super) fn extra(fields: &[Field<'_>], own: &[&str]) -> Vec<(String, String)> {
    let extra = fields.iter().filter(|field| !own.contains(&field.key));
    extra.map(|field| (field.key.to_owned(), field.value.to_owned())).collect()
}

/// The text of a file, if it is UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, ParseError> {
    str::from_utf8(bytes).map_err(|e| ParseError::NotUtf8 { at: e.valid_up_to() })
}

/// Finds the frontmatter and the body.
pub fn split(text: &str) -> Result<Split<'_>, ParseError> {
    split_unmarked(without_mark(text))
}

/// The text after a byte order mark. A mark counts only at the start of a file, and once.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// [`split`] for text whose byte order mark was taken off.
fn split_unmarked(start: &str) -> Result<Split<'_>, ParseError> {
    if start.is_empty() {
        return Err(ParseError::Empty);
    }
    let (first, rest) = cut_line(start);
    if first != "---" {
        return Err(ParseError::NoFrontmatter);
    }
    let mut at = 0;
    while at < rest.len() {
        if at > HEADER_LIMIT {
            return Err(ParseError::HeaderTooLong);
        }
        let (line, after) = cut_line(&rest[at..]);
        if line == "---" {
            let (blank, below) = cut_line(after);
            return Ok(Split { header: &rest[..at], body: if blank.is_empty() { below } else { after } });
        }
        at = rest.len() - after.len();
    }
    Err(if rest.len() > HEADER_LIMIT { ParseError::HeaderTooLong } else { ParseError::Unclosed })
}

/// Finds the frontmatter and the body of a message, which may begin with blank lines; also returns their number.
pub fn split_message(text: &str) -> Result<(Split<'_>, usize), ParseError> {
    let start = without_blank_lines(text);
    if start.trim().is_empty() {
        return Err(ParseError::Empty);
    }
    let above = text[..text.len() - start.len()].matches('\n').count();
    split_unmarked(start).map(|split| (split, above))
}

/// The text from its first non-blank line.
pub(super) fn without_blank_lines(text: &str) -> &str {
    let mut rest = without_mark(text);
    while let Some((line, below)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = below;
    }
    rest
}

/// The protocol's spelling of a key, which may be written in any case.
pub(super) fn known_key(key: &str, known: &[&'static str]) -> Option<&'static str> {
    known.iter().copied().find(|own| own.eq_ignore_ascii_case(key))
}

/// Whether a key is valid before the colon of a raw line.
pub(super) fn is_raw_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Reads the raw fields of a header. Keys in `known` are found in any case and returned in the spelling of `known`.
/// Indented, blank and comment lines belong to other programs and are skipped; the first line of the header is line 2
/// of the file.
pub fn fields<'a>(header: &'a str, known: &[&'static str]) -> Result<Vec<Field<'a>>, ParseError> {
    let mut found: Vec<Field<'_>> = Vec::with_capacity(8);
    let mut seen = std::collections::HashSet::new();
    for (index, line) in header.lines().enumerate() {
        let number = index + 2;
        if line.is_empty() || line.starts_with([' ', '\t', '#', '\r']) {
            continue;
        }
        let (key, value) = line.split_once(':').ok_or(ParseError::NotAField { line: number })?;
        let value = value.strip_prefix(' ').unwrap_or(value);
        if !is_raw_key(key) {
            return Err(ParseError::NotAField { line: number });
        }
        let key = known_key(key, known).unwrap_or(key);
        if !seen.insert(key) {
            return Err(ParseError::Duplicate { line: number, key: key.chars().take(64).collect() });
        }
        found.push(Field { key, value, line: number });
    }
    Ok(found)
}

/// The first line without its end, and the rest.
fn cut_line(text: &str) -> (&str, &str) {
    match text.split_once('\n') {
        Some((line, rest)) => (line.strip_suffix('\r').unwrap_or(line), rest),
        // Without a line feed, a carriage return does not end a line.
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_plain_message() {
        let split = split("---\na: 1\nb: re: x #2\n---\n\nbody\n---\n").unwrap();
        assert_eq!(split.body, "body\n---\n");
        let fields = fields(split.header, &[]).unwrap();
        assert_eq!(fields[1], Field { key: "b", value: "re: x #2", line: 3 });
    }

    #[test]
    fn crlf_bom_and_no_blank_line() {
        let split = split("\u{feff}---\r\na: 1\r\n---\r\nbody").unwrap();
        assert_eq!(split.body, "body");
        assert_eq!(fields(split.header, &[]).unwrap()[0].value, "1");
    }

    #[test]
    fn only_one_blank_line_is_taken_from_the_body() {
        assert_eq!(split("---\na: 1\n---\n\n\nbody").unwrap().body, "\nbody");
        assert_eq!(split("---\na: 1\n---").unwrap().body, "");
        assert_eq!(split("---\na: 1\n---\n\r").unwrap().body, "\r");
    }

    #[test]
    fn a_text_without_a_whole_header_is_refused() {
        assert_eq!(split(""), Err(ParseError::Empty));
        assert_eq!(split("hello"), Err(ParseError::NoFrontmatter));
        assert_eq!(split("---\na: 1\n"), Err(ParseError::Unclosed));
        assert_eq!(split("---"), Err(ParseError::Unclosed));
        assert_eq!(split(&format!("---\n{}", "a: 1\n".repeat(100_000))), Err(ParseError::HeaderTooLong));
        assert_eq!(split(&format!("---\n{}", "k".repeat(1 << 20))), Err(ParseError::HeaderTooLong));
        assert_eq!(text(b"---\n\xff"), Err(ParseError::NotUtf8 { at: 4 }));
    }

    #[test]
    fn a_key_stands_once() {
        assert_eq!(fields("a: 1\na: 2\n", &[]), Err(ParseError::Duplicate { line: 3, key: "a".into() }));
        assert_eq!(fields("just text\n", &[]), Err(ParseError::NotAField { line: 2 }));
    }

    #[test]
    fn a_known_key_is_found_in_any_case_and_stands_once() {
        let found = fields("From: a\nX: 1\nx: 2\n", &["from"]).unwrap();
        assert_eq!(found.iter().map(|f| f.key).collect::<Vec<_>>(), ["from", "X", "x"]);
        let twice = fields("from: a\nFROM: b\n", &["from"]);
        assert_eq!(twice, Err(ParseError::Duplicate { line: 3, key: "from".into() }));
    }

    #[test]
    fn a_message_may_begin_with_blank_lines() {
        let (split, above) = split_message("\u{feff}\n \r\n---\na: 1\n---\nbody").unwrap();
        assert_eq!((split.header, split.body, above), ("a: 1\n", "body", 2));
        assert_eq!(split_message("\n\n"), Err(ParseError::Empty));
        assert_eq!(split_message("\nhello\n---\n"), Err(ParseError::NoFrontmatter));
    }

    #[test]
    fn a_byte_order_mark_counts_at_the_start_of_the_file_and_once() {
        for text in ["\n\u{feff}---\na: 1\n---\nbody", "\u{feff}\u{feff}---\na: 1\n---\nbody"] {
            assert_eq!(split_message(text), Err(ParseError::NoFrontmatter), "{text:?}");
        }
    }

    #[test]
    fn lists_and_comments_of_others_are_passed_over() {
        let fields = fields("tags:\n  - x\n# note\na: 1\n", &[]).unwrap();
        assert_eq!(fields.iter().map(|f| f.key).collect::<Vec<_>>(), ["tags", "a"]);
    }
}
