//! The matrix of docs/guides/programs.md is whole: each of its tables has every event, and no cell is empty.

use super::Finding;
use super::files::File;
use crate::matrix::{BEGIN, END, EVENTS, PAGE, PROGRAMS, TABLES};

pub(super) fn findings(files: &[File]) -> Vec<Finding> {
    files.iter().find(|file| file.path == PAGE).map(gaps).unwrap_or_default()
}

fn gaps(page: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let inside = page.lines().skip_while(|(_, line)| *line != BEGIN).take_while(|(_, line)| *line != END);
    let rows: Vec<(usize, Vec<&str>)> = inside
        .filter_map(|(number, line)| Some((number, line.strip_prefix('|')?.strip_suffix('|')?)))
        .map(|(number, row)| (number, row.split('|').map(str::trim).collect()))
        .collect();
    for (number, cells) in &rows {
        if cells.len() != PROGRAMS.len() + 1 || cells.iter().any(|cell| cell.is_empty()) {
            findings.push(Finding::new(page, *number, "a cell of the matrix is empty: cargo xtask matrix"));
        }
    }
    for event in EVENTS {
        let count = rows.iter().filter(|(_, cells)| cells.first() == Some(&event)).count();
        if count != TABLES.len() {
            findings.push(Finding::new(page, 1, format!("the matrix has not {event} in each of its tables")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(cell: &str) -> File {
        let row = |event: &&str| format!("| {event} | a | b | c | d | {cell} |\n");
        let table = EVENTS.iter().map(row).collect::<String>();
        File::new(PAGE, &format!("{BEGIN}\n{}{END}\n", table.repeat(TABLES.len())))
    }

    #[test]
    fn an_empty_cell_or_a_missing_event_is_found() {
        assert_eq!(findings(&[page("e")]), []);
        assert_eq!(findings(&[page("")]).len(), EVENTS.len() * TABLES.len());
        let less = page("e").text.replacen("| exit |", "| exit? |", 1);
        assert_eq!(findings(&[File::new(PAGE, &less)]).len(), 1);
        assert_eq!(findings(&[File::new("README.md", "")]), []);
    }
}
