//! Explains YAML syntax errors to people: not what the parser expected, but what the text has and what to write
//! instead. Pure.

use granit_parser::{ErrorKind, ScanError};

use crate::workflow::problem::{Position, Problem};

/// Turns a parser error into a problem.
pub(super) fn problem(text: &str, e: &ScanError) -> Problem {
    let place = Position { line: e.marker().line().max(1), column: e.marker().col() + 1 };
    if let Some(tab) = tab(text, place, e.kind()) {
        return tab;
    }
    if let Some(braces) = braces(text, place) {
        return braces;
    }
    if let Some(opening) = opening(text, place, e.kind()) {
        return opening;
    }
    if *e.kind() == ErrorKind::ExpectedBlockMappingKey
        && line(text, place.line).trim_start().starts_with("- ")
    {
        return Problem::at(place, "this is not YAML: an item of a list stands among the keys of a map");
    }
    let why = why(e.kind());
    Problem::at(place, format!("this is not YAML: {why}"))
}

/// A line of the text, counted from 1.
fn line(text: &str, number: usize) -> &str {
    text.lines().nth(number.saturating_sub(1)).unwrap_or("")
}

/// A tab used as indentation. The parser often fails only after it.
fn tab(text: &str, place: Position, kind: &ErrorKind) -> Option<Problem> {
    use ErrorKind::*;
    const WHY: &str = "a tab cannot indent: indent with spaces";
    let is_tab = matches!(
        kind,
        TabNotAllowed | TabInBlockIndentation | TabAtBlockScalarStart | TabInIndentation | TabInPlainScalar
    );
    let around = [place.line, place.line + 1, place.line.saturating_sub(1)];
    let begins = |number: &usize| *number > 0 && line(text, *number).starts_with('\t');
    // Blame the next line only if the parser mentions a tab.
    let blamed = around.into_iter().filter(|number| is_tab || *number <= place.line).find(begins);
    match blamed {
        Some(number) => Some(Problem::at(Position::new(number, 1), WHY)),
        None => is_tab.then(|| Problem::at(place, WHY)),
    }
}

/// A value that begins with the braces of a template, which YAML reads as a map.
pub(super) fn braces(text: &str, place: Position) -> Option<Problem> {
    let line = line(text, place.line);
    let opening = ["{{", "{%"].into_iter().find_map(|opening| {
        let at = line.find(opening)?;
        let before = line[..at].trim_end();
        let begins = before.is_empty() || before.ends_with([':', '-', ',', '[', '{']);
        // A quoted value is correct, and the text before it decides.
        (begins && !before.contains(['"', '\''])).then_some((opening, at))
    });
    let (opening, at) = opening?;
    let column = line[..at].chars().count() + 1;
    let why = format!(
        "a value that begins with `{opening}` needs quotes: \"{opening} …\", or `|` and a line of its own"
    );
    Some(Problem::at(Position::new(place.line, column), why))
}

/// The bracket or quote that was never closed. The parser notices it only lines later, at something else.
fn opening(text: &str, place: Position, kind: &ErrorKind) -> Option<Problem> {
    use ErrorKind::*;
    /// How many lines back it looks.
    const LINES: usize = 100;
    let quotes = match kind {
        InvalidQuotedScalarIndent | UnclosedQuotedScalar | DocumentIndicatorInQuotedScalar => true,
        InvalidColonPlacement
        | UnclosedFlowCollection { .. }
        | UnexpectedEofFlowSequence
        | UnexpectedEofFlowMapping
        | UnexpectedEofImplicitFlowMapping
        | ExpectedFlowMappingSeparator
        | ExpectedFlowSequenceSeparator
        | InvalidFlowScalarIndent => false,
        _ => return None,
    };
    let lines: Vec<&str> = text.lines().take(place.line).collect();
    let found = (0..lines.len()).rev().take(LINES).find_map(|index| {
        let (bracket, quote) = left_open(lines[index]);
        Some((index + 1, if quotes { quote? } else { bracket? }))
    });
    let (number, (column, open)) = found?;
    Some(Problem::at(
        Position::new(number, column),
        format!("this is not YAML: this `{open}` is never closed"),
    ))
}

/// A character and its column.
type Sign = (usize, char);

/// The bracket and the quote that a line opens and does not close, with their columns.
fn left_open(line: &str) -> (Option<Sign>, Option<Sign>) {
    let mut brackets = vec![];
    let mut quote: Option<Sign> = None;
    let mut before = ' ';
    let mut escaped = false;
    let mut chars = line.chars().enumerate().peekable();
    while let Some((index, c)) = chars.next() {
        let doubled = chars.peek().is_some_and(|(_, next)| *next == c);
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some((_, '"')), '\\') => escaped = true,
            // In single quotes a quote is written twice.
            (Some((_, '\'')), '\'') if doubled => escaped = true,
            (Some((_, open)), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '#') if before == ' ' => break,
            // A quote within a word is an apostrophe.
            (None, '"' | '\'') if " [{,".contains(before) => quote = Some((index + 1, c)),
            (None, '[' | '{') => brackets.push((index + 1, c)),
            (None, ']' | '}') => drop(brackets.pop()),
            _ => {}
        }
        before = c;
    }
    (brackets.pop(), quote)
}

fn why(kind: &ErrorKind) -> String {
    use ErrorKind::*;
    let plain = match kind {
        UnexpectedEofFlowSequence | ExpectedFlowSequenceSeparator => {
            "a list that begins with `[` goes on with `,` or ends with `]`"
        }
        UnexpectedEofFlowMapping | UnexpectedEofImplicitFlowMapping | ExpectedFlowMappingSeparator => {
            "a map that begins with `{` goes on with `,` or ends with `}`"
        }
        UnclosedFlowCollection { open } => return format!("a `{open}` is never closed"),
        MismatchedFlowCollectionEnd { open, close } => return format!("`{open}` is closed by `{close}`"),
        MisplacedFlowCollectionEnd => "a bracket is closed that was never opened",
        UnclosedQuotedScalar | DocumentIndicatorInQuotedScalar => "a quote is never closed",
        InvalidTrailingSingleQuotedScalar | InvalidTrailingDoubleQuotedScalar => {
            "something stands behind the closing quote; put all of the value into the quotes"
        }
        InvalidQuotedScalarIndent => "a text in quotes goes on in a line that is not indented far enough",
        UnknownQuotedScalarEscape | InvalidQuotedScalarHexEscape | InvalidUnicodeEscape => {
            "there is no such character with `\\` in double quotes; write `\\\\`, or use single quotes"
        }
        MappingValueNotAllowed | InvalidColonPlacement | FlowMappingValueAdjacentCollection => {
            "a `:` stands where no key can be; a value with `: ` in it needs quotes, or the line above lacks its `:`"
        }
        InvalidMappingValueWhitespace => "a `:` is followed by a space",
        ExpectedBlockMappingKey => {
            "here should be a key; indent the keys of a map alike, and end each with `:`"
        }
        SimpleKeyExpected | InvalidSimpleKey => {
            "this line has no `:` behind its key; or a text of several lines is not indented"
        }
        ExpectedBlockSequenceEntry => {
            "this is no item of the list above; items begin with `- `, and a map is no part of a list"
        }
        BlockSequenceEntryNotAllowed | BlockEntryInFlowCollection => {
            "a list with `- ` cannot begin here; put it on lines of its own, indented"
        }
        InvalidIndentation
        | InvalidFlowScalarIndent
        | InvalidBlockScalarIndent
        | UnexpectedEndOfPlainScalar => "the indentation is wrong; indent what belongs together alike",
        InvalidBlockScalarHeader | ZeroBlockScalarIndent => {
            "behind `|` or `>` the line ends; the text stands below it, indented"
        }
        UnexpectedCharacter { character } => {
            return format!("a value cannot begin with `{}`; put it into quotes", character.escape_default());
        }
        CommentNotSeparated => "a `#` that begins a comment has a space before it",
        CommentInterceptedScalar => "a comment stands in the middle of a text",
        MissingAnchorOrAliasName => "a value cannot begin with `&` or `*`; put it into quotes",
        RecursionLimitExceeded => "it is nested too deep",
        ExpectedDocumentStart | InvalidDocumentEnd | MultipleDocumentsUnsupported => {
            "something stands behind the end of the document; indent keys alike"
        }
        UnexpectedEof | UnexpectedEofBlockMapping | UnexpectedEofBlockSequence | ExpectedNodeContent => {
            "a value is missing, or something is begun and not ended"
        }
        _ => "it cannot be parsed from here on; put values with special characters into quotes",
    };
    plain.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn every_slip_is_told_in_plain_words_where_it_is() {
        for (text, line, column, why) in [
            ("steps:\n\ta: b\n", 2, 1, "indent with spaces"),
            ("steps:\n  a:\n    agent: one\n\t  prompt: x\n", 4, 1, "indent with spaces"),
            ("steps:\n  a:\n      b: 1\n    c: 2\n", 4, 5, "indent the keys of a map alike"),
            ("a: [1, 2\nb: 3\n", 1, 4, "this `[` is never closed"),
            ("a: {b: c\nd: e\n", 1, 4, "this `{` is never closed"),
            ("a: \"hi\nb: 3\n", 1, 4, "this `\"` is never closed"),
            ("a: 'it''s\nb: 3\n", 1, 4, "this `'` is never closed"),
            ("prompt: hi {{ 1 }}: there\n", 1, 19, "a value with `: ` in it needs quotes"),
            ("- a\nb: c\n", 2, 1, "no item of the list above"),
            ("a: 1\n- b\n", 2, 3, "an item of a list stands among the keys"),
            ("prompt: {{ 1 }}\nb: c\n", 1, 9, "a value that begins with `{{` needs quotes"),
            ("prompt: {{ 1 }} and\nb: c\n", 1, 9, "a value that begins with `{{` needs quotes"),
            ("prompt: {% if x %}\n", 1, 9, "a value that begins with `{%` needs quotes"),
            ("a: 'x' y\n", 1, 8, "behind the closing quote"),
            ("a: @x\n", 1, 4, "a value cannot begin with `@`"),
            ("a: \"\\q\"\n", 1, 4, "no such character"),
            ("a: ]\n", 1, 4, "never opened"),
            ("key: - a\n", 1, 6, "on lines of its own"),
        ] {
            let problem = parse(text).unwrap_err();
            assert_eq!(problem.place, Position::new(line, column), "{text:?}: {problem}");
            assert!(problem.message.contains(why), "{text:?}: {problem}");
        }
    }

    #[test]
    fn a_map_as_a_key_is_still_none() {
        assert!(parse("{a: b}: c\n").unwrap_err().message.contains("a key is one word"));
    }
}
