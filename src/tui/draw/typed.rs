//! A line of input as much as fits: scrolled so that the cursor is seen, by columns and not by characters.

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::message::visible;

/// What is shown of a line whose cursor is before the character `column`, and the column of the cursor in it. A wide character is
/// shown whole or not at all.
pub(super) fn around_cursor(line: &str, column: usize, width: usize) -> (String, usize) {
    let before: String = line.chars().take(column).collect();
    let at = visible::columns(&before);
    let too_much = (at + 1).saturating_sub(width);
    let whole = Span::raw(visible::line(line));
    let mut skipped = 0;
    let shown = whole.styled_graphemes(Style::new()).map(|grapheme| grapheme.symbol).skip_while(|symbol| {
        let is_left_of_it = skipped < too_much;
        skipped += if is_left_of_it { symbol.width() } else { 0 };
        is_left_of_it
    });
    let shown = shown.collect();
    (shown, at.saturating_sub(skipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 of these in 76 columns were 15 of them, and the cursor was 45 columns right of the last one.
    #[test]
    fn the_cursor_follows_the_last_wide_character() {
        for (text, width) in [("陳".repeat(60), 76), ("陳".repeat(60), 75), ("a陳é".repeat(30), 20)] {
            let (shown, at) = around_cursor(&text, text.chars().count(), width);
            assert_eq!(visible::columns(&shown), at, "{shown}");
            assert!((width - 2..width).contains(&at), "{at} of {width}");
            assert!(text.ends_with(&shown));
        }
    }

    #[test]
    fn what_fits_is_not_scrolled_and_a_cursor_within_it_is_where_its_text_is() {
        assert_eq!(around_cursor("陳ab", 1, 10), ("陳ab".into(), 2));
        let (shown, at) = around_cursor(&"陳".repeat(60), 50, 20);
        assert_eq!((visible::columns(&shown) - at, at), (20, 18));
        assert_eq!(around_cursor("", 0, 5), (String::new(), 0));
        assert_eq!(around_cursor("陳", 1, 0), (String::new(), 0));
    }
}
