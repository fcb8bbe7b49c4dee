//! Tables: rows whose cells are aligned, and cut where the terminal ends.
//!
//! A column is as wide as its widest cell. If all of them do not fit, the widest are cut first, then the last one, which is
//! the subject, and then the others once more. Ids and names that people type, [`CYAN`] and [`NAME`], are never cut. Columns that are
//! empty in every row are left out.

use anstyle::Style;

use super::output::{CYAN, NAME};
use crate::message::visible;

/// The text of one column in one row, and how it is painted.
pub(super) type Cell = (Style, String);

const GAP: usize = 2;

/// What a column other than the last is not cut below, and what is too little to begin one with.
const LEAST: usize = 6;

/// The rows with each cell as wide as its column; the last cell of a row is not filled up.
pub(super) fn fitted(rows: Vec<Vec<Cell>>, width: usize) -> Vec<Vec<Cell>> {
    let rows = without_empty(rows);
    let mut columns = natural(&rows);
    let Some(last) = columns.pop() else { return rows };
    let is_typed = |(style, _): &Cell| [CYAN, NAME].contains(style);
    let is_id = |at: usize| rows.iter().any(|row| row.get(at).is_some_and(is_typed));
    // How wide the others stay at least, so that the last one has what it needs, or a good part of it, or a little.
    for (least, last) in [(20, last), (2 * LEAST, last.min(width / 5 * 2)), (LEAST, last.min(2 * LEAST))] {
        while columns.iter().map(|column| column + GAP).sum::<usize>() + last > width {
            let widest = (0..columns.len()).filter(|at| columns[*at] > least && !is_id(*at));
            let Some(widest) = widest.max_by_key(|at| columns[*at]) else { break };
            columns[widest] -= 1;
        }
    }
    rows.into_iter().map(|row| cut(row, &columns, width)).collect()
}

/// What the columns of these rows leave for one more, with its gap.
pub(super) fn left_beside(rows: &[Vec<Cell>], width: usize) -> usize {
    width.saturating_sub(natural(rows).iter().map(|column| column + GAP).sum())
}

/// Every column with the width of its widest cell.
fn natural(rows: &[Vec<Cell>]) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(move |row| row.get(at)).map(|(_, text)| visible::columns(text));
    (0..count).map(|at| width(at).max().unwrap_or(0)).collect()
}

/// Leaves out the columns in which no row has anything. A row without its last cells has nothing there.
fn without_empty(mut rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    rows.iter_mut().flatten().for_each(|(_, text)| text.truncate(text.trim_end().len()));
    let is_used: Vec<bool> = natural(&rows).iter().map(|column| *column > 0).collect();
    let keep = |row: Vec<Cell>| {
        row.into_iter().zip(&is_used).filter(|(_, used)| **used).map(|(cell, _)| cell).collect()
    };
    rows.into_iter().map(keep).collect()
}

/// One row, cut at the edge of the terminal.
fn cut(row: Vec<Cell>, columns: &[usize], width: usize) -> Vec<Cell> {
    let (mut left, count) = (width, row.len());
    let mut cells = vec![];
    for (at, (style, text)) in row.into_iter().enumerate() {
        let wanted = match columns.get(at) {
            Some(column) if at + 1 < count => *column,
            _ => visible::columns(&text),
        };
        if left < wanted.min(LEAST) {
            break;
        }
        let column = wanted.min(left);
        let shown = if at + 1 < count { visible::pad(&text, column) } else { visible::clip(&text, column) };
        left = left.saturating_sub(column + GAP);
        cells.push((style, shown));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::{BOLD, PLAIN};

    fn shown(rows: &[&[&str]], width: usize) -> Vec<String> {
        let styles = [CYAN, BOLD, PLAIN, PLAIN];
        let row = |row: &&[&str]| styles.into_iter().zip(row.iter().map(|text| (*text).to_owned())).collect();
        let line = |row: Vec<Cell>| row.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("  ");
        fitted(rows.iter().map(row).collect(), width).into_iter().map(line).collect()
    }

    #[test]
    fn columns_are_as_wide_as_they_need() {
        let rows: [&[&str]; 2] = [&["1", "bob", "a subject"], &["22", "carol", "陳"]];
        assert_eq!(shown(&rows, 80), ["1   bob    a subject", "22  carol  陳"]);
    }

    #[test]
    fn what_does_not_fit_is_cut_and_never_an_id() {
        let rows: [&[&str]; 2] =
            [&["12345678", "bob", "a subject that is long"], &["87654321", "a.long.name.of.an.agent", "x"]];
        let at_40 = shown(&rows, 40);
        assert_eq!(at_40, ["12345678  bob           a subject that …", "87654321  a.long.name…  x"]);
        for width in 20..80 {
            for line in shown(&rows, width) {
                assert!(visible::columns(&line) <= width, "{width}: {line}");
                assert!(line.starts_with("12345678") || line.starts_with("87654321"), "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_column_without_text_is_left_out() {
        let rows: [&[&str]; 2] = [&["1", "", "a"], &["2", "", "b"]];
        assert_eq!(shown(&rows, 80), ["1  a", "2  b"]);
        let rows: [&[&str]; 2] = [&["1", "x", "a"], &["2", "", "b"]];
        assert_eq!(shown(&rows, 80), ["1  x  a", "2     b"]);
    }
}
