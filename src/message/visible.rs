//! Text made harmless to look at: what a message holds never reaches a terminal as a control.
//!
//! [`line`] gives one line, [`text`] keeps line breaks. Controls, bidirectional overrides, invisible and
//! tag characters become visible escapes such as `\u{1b}`, so that a reader sees that something was there.

/// One line: line breaks and tabs become spaces.
pub fn line(text: &str) -> String {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' | '\u{2028}' | '\u{2029}' => out.push(' '),
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Several lines: line breaks stay, tabs become spaces.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\t' => out.push_str("    "),
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// How many columns a line takes.
pub fn columns(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line(text).as_str())
}

/// A line filled up, or cut, to exactly `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    let text = clip(text, width);
    let fill = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(fill))
}

/// One line of at most `width` columns, the last of them an ellipsis when something was left out.
pub fn clip(text: &str, width: usize) -> String {
    use unicode_width::UnicodeWidthChar;
    let clean = line(text);
    let mut used = 0;
    for (at, c) in clean.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            let mut keep = at;
            let mut room = used - c.width().unwrap_or(0);
            while room >= width.max(1) {
                let Some((before, last)) = clean[..keep].char_indices().next_back() else {
                    break;
                };
                room -= last.width().unwrap_or(0);
                keep = before;
            }
            return format!("{}…", &clean[..keep]);
        }
    }
    clean
}

/// One line of at most so many bytes, the last of them an ellipsis when something was left out.
pub fn cut(text: &str, bytes: usize) -> String {
    let mut clean = line(text);
    if clean.len() > bytes {
        clean.truncate(clean.floor_char_boundary(bytes.saturating_sub('…'.len_utf8())));
        clean.push('…');
    }
    clean
}

/// Whether a terminal or a reader could be misled by this character.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_visible() {
        assert_eq!(line("a\u{1b}[2Jb\nc\td"), "a\\u{1b}[2Jb c d");
        assert_eq!(text("a\r\nb\tc\rd"), "a\nb    c\\u{d}d");
        assert_eq!(line("x\u{202e}y\u{e0041}z\u{200b}"), "x\\u{202e}y\\u{e0041}z\\u{200b}");
        assert_eq!(line("\u{9b}31m\u{7f}"), "\\u{9b}31m\\u{7f}");
        assert_eq!(line("Ångström 陳 👩\u{200d}🔬"), "Ångström 陳 👩\u{200d}🔬");
    }

    #[test]
    fn cutting_counts_bytes() {
        assert_eq!((cut("hello", 5).as_str(), cut("hello!", 5).as_str()), ("hello", "he…"));
        assert_eq!((cut("陳陳陳", 8).as_str(), cut("a\n\u{1b}", 12).as_str()), ("陳…", "a \\u{1b}"));
    }

    #[test]
    fn clipping_counts_columns() {
        assert_eq!(clip("hello", 5), "hello");
        assert_eq!(clip("hello!", 5), "hell…");
        assert_eq!(clip("陳陳陳", 5), "陳陳…");
        assert_eq!(clip("陳陳陳", 4), "陳…");
    }
}
