//! Folding: a line is broken between words, where the terminal would break it within one. Colours take no columns.
//!
//! What goes on is indented: below the second column if the line has one (`NAME   what it is`), else a little. A word that
//! is wider than the terminal is left to it. A command stays one line for the shell that it is pasted into: it is filled with
//! spaces up to the edge instead of being broken. A line is a command if it begins with the program, or has it behind a
//! colon. In a sentence a command stands in backquotes, and is not broken either.
//!
//! Only this program's own lines are folded. A text of others is shown line by line, so that it can be copied.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

const COMMAND: &str = "postroom ";
const AT_THE_END: &str = ": postroom ";

/// The line, in as many lines as it needs on a terminal of `width` columns.
pub(super) fn fold(line: &str, width: usize) -> Cow<'_, str> {
    if line.len() <= width || columns(line) <= width {
        return Cow::Borrowed(line);
    }
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let is_command = text.starts_with(COMMAND) || text.contains(AT_THE_END);
    let hang = second_column(text).map_or(indent + 2, |at| indent + at);
    let hang = if hang <= width / 2 { hang } else { (indent + 2).min(width / 2) };
    let (mut out, mut used, mut is_begun) = (line[..indent].to_owned(), indent, false);
    for (gap, word) in words(text) {
        let (gap_columns, word_columns) = (gap.len(), columns(word));
        if used + gap_columns + word_columns <= width || !is_begun {
            out.push_str(gap);
            used += gap_columns;
        } else {
            match is_command {
                true => out.push_str(&" ".repeat(width.saturating_sub(used))),
                false => out.push('\n'),
            }
            out.push_str(&" ".repeat(hang));
            used = hang;
        }
        out.push_str(word);
        (used, is_begun) = (used + word_columns, true);
        if used > width {
            used %= width;
        }
    }
    Cow::Owned(out)
}

/// Several lines, each folded.
pub(super) fn fold_lines(text: &str, width: usize) -> String {
    text.split('\n').map(|line| fold(line, width)).collect::<Vec<_>>().join("\n")
}

/// The columns of a painted line.
fn columns(line: &str) -> usize {
    let mut chars = line.chars();
    let mut count = 0;
    while let Some(c) = chars.next() {
        match c {
            // Only this program's own colours are left in a line that is shown: ESC [ … m.
            '\u{1b}' => drop(chars.by_ref().find(|c| *c == 'm')),
            c => count += c.width().unwrap_or(0),
        }
    }
    count
}

/// Where the second column of a line begins: behind its first gap of several spaces.
fn second_column(text: &str) -> Option<usize> {
    let gap = text.find("  ")?;
    let rest = text[gap..].trim_start_matches(' ');
    (!rest.is_empty()).then(|| columns(&text[..text.len() - rest.len()]))
}

/// Words, each with the spaces before it. A text in quotation marks is one word, as in a shell, and so is one in
/// backquotes.
fn words(text: &str) -> Vec<(&str, &str)> {
    let mut words = vec![];
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.trim_start_matches(' ');
        let gap = &rest[..rest.len() - word.len()];
        let quoted = ['\'', '`'].into_iter().find_map(|mark| word.strip_prefix(mark)?.find(mark));
        let quoted = quoted.map_or(0, |at| at + 2);
        let end = word[quoted..].find(' ').map_or(word.len(), |at| quoted + at);
        words.push((gap, &word[..end]));
        rest = &word[end..];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words() {
        assert_eq!(fold("one two three", 13), "one two three");
        assert_eq!(fold("one two three", 9), "one two\n  three");
        assert_eq!(fold("  one two three", 9), "  one two\n    three");
        assert_eq!(fold("\u{1b}[1mone\u{1b}[0m two three", 9), "\u{1b}[1mone\u{1b}[0m two\n  three");
        assert_eq!(fold("陳陳 陳陳", 6), "陳陳\n  陳陳");
    }

    #[test]
    fn a_second_column_stays_one() {
        assert_eq!(fold("send  one two three", 14), "send  one two\n      three");
        // There is no place for it.
        assert_eq!(fold("a long name  one two", 14), "a long name\n  one two");
    }

    #[test]
    fn a_long_word_is_left_to_the_terminal() {
        assert_eq!(fold("at /a/rather/long/path now", 10), "at\n  /a/rather/long/path now");
        assert_eq!(fold("/a/rather/long/path", 10), "/a/rather/long/path");
    }

    #[test]
    fn a_command_can_still_be_pasted() {
        assert_eq!(fold("try: postroom send bob -m 'a b c'", 19), "try: postroom send   bob -m 'a b c'");
        assert!((10..40).all(|width| !fold("try: postroom send bob -m 'a b c'", width).contains('\n')));
        assert!((10..40).all(|width| fold("postroom send bob -m 'a b c'", width).ends_with("'a b c'")));
    }

    /// Every line with the word was filled with spaces, also a sentence.
    #[test]
    fn a_sentence_about_a_command_is_broken_between_words() {
        assert_eq!(
            fold("its message is parked; postroom stops", 25),
            "its message is parked;\n  postroom stops"
        );
        assert_eq!(fold("say `postroom retry x` now", 16), "say\n  `postroom retry x` now");
    }

    #[test]
    fn each_line_is_folded_and_none_is_lost() {
        assert_eq!(fold_lines("one two three\n\none\n", 9), "one two\n  three\n\none\n");
    }
}
