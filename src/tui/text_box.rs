//! A box for text: some lines and a cursor, edited by keys. Pure. A cursor is always within the text.

use super::event::{Code, Key};

/// The most characters. What is longer is written in an editor, or sent as a file.
const LIMIT: usize = 256 * 1024;

/// Text in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextBox {
    lines: Vec<String>,
    row: usize,
    /// In characters.
    column: usize,
}

impl Default for TextBox {
    fn default() -> Self {
        Self::new("")
    }
}

impl TextBox {
    /// The cursor is at the end.
    pub(super) fn new(text: &str) -> Self {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let row = lines.len() - 1;
        let column = lines[row].chars().count();
        Self { lines, row, column }
    }

    pub(super) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(super) fn is_blank(&self) -> bool {
        self.lines.iter().all(|line| line.trim().is_empty())
    }

    /// Row and column of the cursor, in characters.
    pub(super) fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }

    /// Inserts text; `single`: line breaks become spaces.
    pub(super) fn insert(&mut self, text: &str, single: bool) {
        let room = LIMIT.saturating_sub(self.lines.iter().map(|line| line.len() + 1).sum());
        for c in text.chars().take(room) {
            match c {
                '\n' if single => self.put(' '),
                '\n' => self.break_line(),
                '\t' => self.put(' '),
                c if c.is_control() => {}
                c => self.put(c),
            }
        }
    }

    fn put(&mut self, c: char) {
        let at = self.byte();
        self.lines[self.row].insert(at, c);
        self.column += 1;
    }

    fn break_line(&mut self) {
        let at = self.byte();
        let rest = self.lines[self.row].split_off(at);
        self.row += 1;
        self.lines.insert(self.row, rest);
        self.column = 0;
    }

    /// Where the cursor is in the bytes of its line.
    fn byte(&self) -> usize {
        let line = &self.lines[self.row];
        line.char_indices().nth(self.column).map_or(line.len(), |(at, _)| at)
    }

    fn width(&self, row: usize) -> usize {
        self.lines[row].chars().count()
    }

    /// Edits by a key. `false` if the key means nothing here.
    pub(super) fn key(&mut self, key: Key, single: bool) -> bool {
        match (key.code, key.ctrl) {
            (Code::Char('u'), true) => {
                let at = self.byte();
                self.lines[self.row].drain(..at);
                self.column = 0;
            }
            (Code::Char('w'), true) => {
                let at = self.byte();
                let before = &self.lines[self.row][..at];
                let word = before.trim_end();
                let start = word
                    .char_indices()
                    .rfind(|(_, c)| c.is_whitespace())
                    .map_or(0, |(at, c)| at + c.len_utf8());
                self.lines[self.row].drain(start..at);
                self.column = self.lines[self.row][..start].chars().count();
            }
            (Code::Char('a'), true) | (Code::Home, _) => self.column = 0,
            (Code::Char('e'), true) | (Code::End, _) => self.column = self.width(self.row),
            (Code::Char(c), false) if !key.alt => self.insert(c.encode_utf8(&mut [0; 4]), single),
            (Code::Enter, _) if !single => self.insert("\n", false),
            (Code::Backspace, _) => self.backspace(),
            (Code::Delete, _) => {
                let before = (self.row, self.column);
                self.right();
                if (self.row, self.column) != before {
                    self.backspace();
                }
            }
            (Code::Left, _) => self.left(),
            (Code::Right, _) => self.right(),
            (Code::Up, _) if self.row > 0 => self.go_to_row(self.row - 1),
            (Code::Down, _) if self.row + 1 < self.lines.len() => self.go_to_row(self.row + 1),
            _ => return false,
        }
        true
    }

    fn go_to_row(&mut self, row: usize) {
        self.row = row;
        self.column = self.column.min(self.width(row));
    }

    fn left(&mut self) {
        if self.column > 0 {
            self.column -= 1;
        } else if self.row > 0 {
            self.row -= 1;
            self.column = self.width(self.row);
        }
    }

    fn right(&mut self) {
        if self.column < self.width(self.row) {
            self.column += 1;
        } else if self.row + 1 < self.lines.len() {
            self.row += 1;
            self.column = 0;
        }
    }

    fn backspace(&mut self) {
        if self.column > 0 {
            self.column -= 1;
            let at = self.byte();
            self.lines[self.row].remove(at);
        } else if self.row > 0 {
            let rest = self.lines.remove(self.row);
            self.row -= 1;
            self.column = self.width(self.row);
            self.lines[self.row].push_str(&rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[Key]) -> TextBox {
        let mut text = TextBox::default();
        for key in keys {
            text.key(*key, false);
        }
        text
    }

    #[test]
    fn words_lines_and_wide_characters() {
        let mut text = TextBox::default();
        text.insert("ein 陳 zwei\nx", false);
        text.key(Key::plain(Code::Backspace), false);
        text.key(Key::plain(Code::Backspace), false);
        assert_eq!((text.text().as_str(), text.cursor()), ("ein 陳 zwei", (0, 10)));
        text.key(Key::ctrl('w'), false);
        assert_eq!((text.text().as_str(), text.cursor()), ("ein 陳 ", (0, 6)));
        text.key(Key::plain(Code::Left), false);
        text.key(Key::plain(Code::Backspace), false);
        assert_eq!(text.text(), "ein  ");
        text.key(Key::ctrl('u'), false);
        assert_eq!(text.text(), " ");
    }

    #[test]
    fn a_single_line_stays_one() {
        let mut text = TextBox::default();
        text.insert("a\nb\tc\u{1b}", true);
        assert!(!text.key(Key::plain(Code::Enter), true));
        assert_eq!(text.text(), "a b c");
        let two = typed(&[Key::char('a'), Key::plain(Code::Enter), Key::char('b'), Key::plain(Code::Up)]);
        assert_eq!((two.lines().len(), two.cursor()), (2, (0, 1)));
    }
}
