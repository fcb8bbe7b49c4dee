//! Folding of styled text to the width of a panel: between words, with a hanging indent; a word that is wider is cut. What a
//! terminal draws as one character is never cut.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// One line of styled parts, in as many lines as it needs. `first` and `hang` stand before the first line and the others.
pub(super) fn fold(
    parts: &[Span<'_>],
    width: usize,
    first: &Span<'static>,
    hang: &Span<'static>,
) -> Vec<Line<'static>> {
    let width = width.max(4);
    let mut folding =
        Folding { width, hang: hang.clone(), lines: vec![], line: vec![first.clone()], used: first.width() };
    let mut word: Vec<(String, Style)> = vec![];
    for part in parts {
        for grapheme in part.styled_graphemes(Style::new()) {
            let is_space = grapheme.symbol == " ";
            if is_space || word.last().is_some_and(|(symbol, _)| symbol == " ") {
                folding.word(&mut word);
            }
            word.push((grapheme.symbol.to_owned(), grapheme.style));
        }
    }
    folding.word(&mut word);
    folding.break_line();
    folding.lines
}

struct Folding {
    width: usize,
    hang: Span<'static>,
    lines: Vec<Line<'static>>,
    line: Vec<Span<'static>>,
    used: usize,
}

impl Folding {
    fn break_line(&mut self) {
        // A space at the edge says nothing.
        while let Some(last) = self.line.last_mut().filter(|last| last.content.ends_with(' ')) {
            let end = last.content.trim_end_matches(' ').len();
            last.content.to_mut().truncate(end);
            if end > 0 || self.line.len() == 1 {
                break;
            }
            self.line.pop();
        }
        self.lines.push(Line::from(std::mem::take(&mut self.line)));
        self.line.push(self.hang.clone());
        self.used = self.hang.width();
    }

    fn word(&mut self, word: &mut Vec<(String, Style)>) {
        let width: usize = word.iter().map(|(symbol, _)| symbol.width()).sum();
        let is_space = word.first().is_some_and(|(symbol, _)| symbol == " ");
        let begins = self.line.len() <= 1;
        if self.used + width > self.width && !begins {
            self.break_line();
            if is_space {
                word.clear();
                return;
            }
        }
        for (symbol, style) in word.drain(..) {
            let wide = symbol.width();
            if self.used + wide > self.width && self.line.len() > 1 {
                self.break_line();
            }
            self.used += wide;
            let begins = self.line.len() <= 1;
            match self.line.last_mut().filter(|last| last.style == style && !begins) {
                Some(last) => last.content.to_mut().push_str(&symbol),
                _ => self.line.push(Span::styled(symbol, style)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str, width: usize) -> Vec<String> {
        let (none, hang) = (Span::raw(""), Span::raw("  "));
        fold(&[Span::raw(text.to_owned())], width, &none, &hang).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_break_between_words_and_long_words_are_cut() {
        assert_eq!(folded("one two three", 8), ["one two", "  three"]);
        assert_eq!(folded("abcdefghijkl", 6), ["abcdef", "  ghij", "  kl"]);
        assert_eq!(folded("陳陳陳陳", 5), ["陳陳", "  陳", "  陳"]);
        assert_eq!(folded("", 5), [""]);
        assert_eq!(folded("👨‍👩‍👧‍👦 x", 4), ["👨‍👩‍👧‍👦 x"]);
    }

    #[test]
    fn no_line_is_wider_than_the_panel() {
        for width in 4..30 {
            for text in ["a bb  ccc dddd eeeee ffffffffffffffffffffff g", "陳 陳陳陳陳陳陳陳陳 x y 陳"]
            {
                assert!(folded(text, width).iter().all(|line| line.width() <= width), "{text} {width}");
            }
        }
    }
}
