//! A terminal's screen as cells, read from what `tmux capture-pane -p -e -N` prints.
//!
//! A cell is one character with its style, or a wide one that takes two columns; a character without a width belongs to
//! the cell before it. Escape sequences other than colours and attributes change nothing here.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Colour {
    /// One of the 256 of a terminal.
    Index(u8),
    Rgb(u8, u8, u8),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Style {
    pub(crate) fore: Option<Colour>,
    pub(crate) back: Option<Colour>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) inverse: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    pub(crate) column: usize,
    pub(crate) width: usize,
    pub(crate) text: String,
    pub(crate) style: Style,
}

pub(crate) type Row = Vec<Cell>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) rows: Vec<Row>,
}

impl Screen {
    /// The style goes on from line to line, as tmux prints it.
    pub(crate) fn read(text: &str) -> Self {
        let mut style = Style::default();
        Self { rows: text.lines().map(|line| row(line, &mut style)).collect() }
    }

    /// Shows the cursor as terminals do: the cell below it is inverted.
    pub(crate) fn set_cursor(&mut self, column: usize, line: usize) {
        let Some(row) = self.rows.get_mut(line) else { return };
        while end(row) <= column {
            row.push(Cell { column: end(row), width: 1, text: " ".to_owned(), style: Style::default() });
        }
        if let Some(cell) = row.iter_mut().find(|cell| cell.column + cell.width > column) {
            cell.style.inverse = !cell.style.inverse;
        }
    }

    /// Some columns of it, counted from the first of them.
    pub(crate) fn part(&self, columns: Range<usize>) -> Self {
        let within = |cell: &&Cell| columns.contains(&cell.column);
        let moved = |cell: &Cell| Cell { column: cell.column - columns.start, ..cell.clone() };
        Self { rows: self.rows.iter().map(|row| row.iter().filter(within).map(moved).collect()).collect() }
    }

    /// What can be read on it, with one space for a line's end, so that a sentence may be wrapped.
    pub(crate) fn words(&self) -> String {
        let text: String =
            self.rows.iter().flat_map(|row| row.iter().map(|cell| &*cell.text).chain([" "])).collect();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn end(row: &Row) -> usize {
    row.last().map_or(0, |cell| cell.column + cell.width)
}

fn row(line: &str, style: &mut Style) -> Row {
    let mut row = Row::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if first == '\u{1b}' {
            rest = escape(&rest[1..], style);
            continue;
        }
        rest = &rest[first.len_utf8()..];
        match (width(first), row.last_mut()) {
            (0, Some(before)) => before.text.push(first),
            (0, None) => {}
            (width, _) => {
                row.push(Cell { column: end(&row), width, text: first.to_string(), style: *style });
            }
        }
    }
    row
}

/// Applies the sequence that an ESC begins, and gives what follows it.
fn escape<'a>(rest: &'a str, style: &mut Style) -> &'a str {
    if let Some(body) = rest.strip_prefix('[') {
        let Some(end) = body.find(|c: char| ('@'..='~').contains(&c)) else { return "" };
        if body[end..].starts_with('m') {
            apply(&body[..end], style);
        }
        return &body[end + 1..];
    }
    if let Some(body) = rest.strip_prefix(']') {
        let Some(end) = body.find(['\u{7}', '\u{1b}']) else { return "" };
        return body[end..].trim_start_matches(['\u{7}', '\u{1b}']).trim_start_matches('\\');
    }
    let mut after = rest.chars();
    after.next();
    after.as_str()
}

fn apply(parameters: &str, style: &mut Style) {
    // A colon joins what belongs to one number, such as a curly underline.
    let mut numbers =
        parameters.split(';').map(|n| n.split(':').next().unwrap_or_default().parse().unwrap_or(0u8));
    while let Some(number) = numbers.next() {
        match number {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.inverse = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            24 => style.underline = false,
            27 => style.inverse = false,
            30..=37 => style.fore = Some(Colour::Index(number - 30)),
            38 => style.fore = long(&mut numbers),
            39 => style.fore = None,
            40..=47 => style.back = Some(Colour::Index(number - 40)),
            48 => style.back = long(&mut numbers),
            49 => style.back = None,
            // The colour of an underline is not drawn.
            58 => drop(long(&mut numbers)),
            90..=97 => style.fore = Some(Colour::Index(number - 90 + 8)),
            100..=107 => style.back = Some(Colour::Index(number - 100 + 8)),
            _ => {}
        }
    }
}

fn long(numbers: &mut impl Iterator<Item = u8>) -> Option<Colour> {
    match numbers.next()? {
        5 => numbers.next().map(Colour::Index),
        2 => Some(Colour::Rgb(numbers.next()?, numbers.next()?, numbers.next()?)),
        _ => None,
    }
}

/// How many columns a character takes. The marks and the wide scripts that a terminal program prints, not all of Unicode.
fn width(character: char) -> usize {
    match character {
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{300}'..='\u{36f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_attributes_last_until_they_are_reset() {
        let screen = Screen::read("a\x1b[1;31mb\nc\x1b[0md\x1b[38;5;208;48;2;1;2;3me\x1b[39;7mf");
        let styles = |row: usize| screen.rows[row].iter().map(|cell| cell.style).collect::<Vec<_>>();
        let red = Style { fore: Some(Colour::Index(1)), bold: true, ..Style::default() };
        assert_eq!(styles(0), [Style::default(), red]);
        let back = Style { back: Some(Colour::Rgb(1, 2, 3)), ..Style::default() };
        let orange = Style { fore: Some(Colour::Index(208)), ..back };
        assert_eq!(styles(1), [red, Style::default(), orange, Style { inverse: true, ..back }]);
    }

    #[test]
    fn other_sequences_leave_no_trace() {
        let screen = Screen::read("\x1b]8;;https://example.net\x1b\\link\x1b]8;;\x07 \x1b[2Kon\x1b=!");
        assert_eq!(screen.words(), "link on!");
    }

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        let row = &Screen::read("漢e\u{301}x").rows[0];
        let places: Vec<_> = row.iter().map(|cell| (cell.column, cell.width, cell.text.as_str())).collect();
        assert_eq!(places, [(0, 2, "漢"), (2, 1, "e\u{301}"), (3, 1, "x")]);
    }

    #[test]
    fn the_cursor_inverts_a_cell_also_behind_the_end_of_a_line() {
        let mut screen = Screen::read("ab\nc");
        screen.set_cursor(1, 0);
        screen.set_cursor(3, 1);
        assert!(screen.rows[0][1].style.inverse && !screen.rows[0][0].style.inverse);
        assert_eq!(screen.rows[1].len(), 4);
        assert!(screen.rows[1][3].style.inverse);
    }

    #[test]
    fn a_part_counts_from_its_own_first_column() {
        let part = Screen::read("ab│cd\nx │y").part(3..5);
        assert_eq!(part.words(), "cd y");
        assert_eq!(part.rows[0][0].column, 0);
    }
}
