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
        let wanted: String = text.chars().take(room).filter_map(|c| printable(c, single)).collect();
        let mut pieces = wanted.split('\n');
        self.put(pieces.next().unwrap_or_default());
        let new: Vec<String> = pieces.map(str::to_owned).collect();
        let Some(last) = new.last() else { return };
        let (at, column) = (self.byte(), last.chars().count());
        let rest = self.lines[self.row].split_off(at);
        let (below, count) = (self.row + 1, new.len());
        self.lines.splice(below..below, new);
        self.row += count;
        self.lines[self.row].push_str(&rest);
        self.column = column;
    }

    /// Inserts a piece of a line.
    fn put(&mut self, piece: &str) {
        let at = self.byte();
        self.lines[self.row].insert_str(at, piece);
        self.column += piece.chars().count();
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

/// A character as it may stand in a text; `None` if it may not.
fn printable(c: char, single: bool) -> Option<char> {
    match c {
        '\n' if single => Some(' '),
        '\n' => Some('\n'),
        '\t' => Some(' '),
        c => Some(c).filter(|c| !c.is_control()),
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

    #[test]
    fn a_paste_in_the_middle_is_as_if_it_was_typed() {
        for single in [false, true] {
            let (mut pasted, mut typed) = (TextBox::new("one 陳two"), TextBox::new("one 陳two"));
            for _ in 0..3 {
                pasted.key(Key::plain(Code::Left), single);
                typed.key(Key::plain(Code::Left), single);
            }
            let text = "a\tb\n\nc\u{1b} 陳\nd";
            pasted.insert(text, single);
            text.chars().for_each(|c| typed.insert(&c.to_string(), single));
            assert_eq!(pasted, typed);
        }
    }

    /// A scan of the line for each character would take minutes.
    #[test]
    fn a_long_line_is_pasted_at_once() {
        let mut text = TextBox::default();
        text.insert(&"陳".repeat(LIMIT / 2), true);
        assert_eq!(text.cursor(), (0, LIMIT / 2));
    }
}
