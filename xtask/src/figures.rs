//! The figures in docs/why/reliability.md: one row for each test and tier, between two markers. A run with `--write` puts in
//! what passed, in the place of what stood there for the same test and tier, and leaves the other rows alone.

use std::collections::BTreeMap;
use std::fs;

use crate::bench::page::machine;
use crate::repo::Repo;

const PAGE: &str = "docs/why/reliability.md";
const BEGIN: &str = "<!-- torture:begin -->";
const END: &str = "<!-- torture:end -->";
const HEAD: &str = "| test | tier | date | figure |\n|---|---|---|---|\n";

/// Writes what the lines of a run tell into the page.
pub(crate) fn write(repo: &Repo, tier: u8, lines: &[String]) -> Result<(), String> {
    let path = repo.root.join(PAGE);
    let told = |e: std::io::Error| format!("{PAGE}: {e}");
    let page = fs::read_to_string(&path).map_err(told)?;
    let machine = format!("{}.", machine(repo, "release")?);
    let date = machine.split(',').next().unwrap_or_default().to_owned();
    let page = replaced(&page, &machine, &date, tier, lines)?;
    fs::write(&path, page).map_err(told)
}

fn replaced(page: &str, machine: &str, date: &str, tier: u8, lines: &[String]) -> Result<String, String> {
    let none = || format!("{PAGE} has no {BEGIN} … {END}");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(none)?;
    let (old, after) = rest.split_once(END).ok_or_else(none)?;
    let mut rows: BTreeMap<(String, String), String> = BTreeMap::new();
    for row in old.lines() {
        let mut cells = row.trim_matches('|').splitn(3, '|').map(str::trim);
        if let (Some(id), Some(tier), Some(_)) = (cells.next(), cells.next(), cells.next())
            && tier.bytes().all(|b| b.is_ascii_digit())
        {
            rows.insert((id.to_owned(), tier.to_owned()), row.to_owned());
        }
    }
    for (id, figure) in lines.iter().filter_map(|line| figure(line)) {
        let row = format!("| {id} | {tier} | {date} | {} |", figure.replace('|', "/"));
        rows.insert((id.to_owned(), tier.to_string()), row);
    }
    let rows: Vec<String> = rows.into_values().collect();
    Ok(format!("{before}{BEGIN}\n{machine}\n\n{HEAD}{}\n{END}{after}", rows.join("\n")))
}

/// The id and the figure of a line such as `A1 passed killed at every system call: 2 points (0.3 s)`.
fn figure(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.split_once(" passed ")?;
    let (_, figure) = rest.split_once(": ")?;
    (!id.contains(' ') && !id.is_empty()).then_some((id, figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_replaces_its_own_rows_and_no_others() {
        let page = format!(
            "# Page\n{BEGIN}\nold machine\n\n{HEAD}| A1 | 0 | d | one |\n| A1 | 1 | d | two |\n{END}\nafter\n"
        );
        let lines = [
            "A1 passed killed: 3 points: all (0.1 s)",
            "B1 failed full: 2 findings; x (1.0 s)",
            "torture: 1 passed, 1 failed, 0 skipped in 1.1 s",
        ];
        let new =
            replaced(&page, "2027-01-01, Linux", "2027-01-01", 1, &lines.map(str::to_owned)).expect("a page");
        let rows = "| A1 | 0 | d | one |\n| A1 | 1 | 2027-01-01 | 3 points: all (0.1 s) |\n";
        assert_eq!(new, format!("# Page\n{BEGIN}\n2027-01-01, Linux\n\n{HEAD}{rows}{END}\nafter\n"));
        assert!(replaced("# Page\n", "m", "d", 1, &[]).is_err());
    }
}
