//! The page docs/why/benchmarks.md: the table of the last recorded run between two markers, the rest written by people.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;
use std::thread::available_parallelism;

use super::programs::PROFILE;
use super::table::Table;
use crate::repo::Repo;

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// What the bench measures; the battery drives a binary that is linked as usual.
const LINKED: &str = "Postroom is linked statically, as it is shipped, and the floor as usual.";

/// The page before its first table.
const NEW: &str = "# How fast it is

`cargo xtask bench` measures the mail path. Each figure is a ratio against a floor that is measured in the same run: a
small program without argument parsing or checks (`xtask/src/bin/floor.rs`) that makes only the system calls without
which the work cannot be done. Both are started as processes, alternately; the run is cut into ten blocks, and the ratio
is the median of the ratios of their medians, with the middle half of them in brackets. The times themselves differ from
machine to machine and from minute to minute: read the ratios. `cargo xtask bench --write` replaces the table below.

<!-- bench:begin -->
<!-- bench:end -->
";

pub(crate) fn write(repo: &Repo, table: &Table) -> Result<(), String> {
    let path = repo.root.join("docs/why/benchmarks.md");
    let told = |e: std::io::Error| format!("docs/why/benchmarks.md: {e}");
    let page = match fs::read_to_string(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => NEW.to_owned(),
        read => read.map_err(told)?,
    };
    let page = replaced(&page, &format!("{}; {LINKED}\n\n{}", machine(repo, PROFILE)?, table.markdown()))?;
    fs::create_dir_all(repo.root.join("docs")).and_then(|()| fs::write(&path, page)).map_err(told)
}

/// The page with other text between the markers.
fn replaced(page: &str, text: &str) -> Result<String, String> {
    let none = || format!("docs/why/benchmarks.md has no {BEGIN} … {END}");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(none)?;
    let (_, after) = rest.split_once(END).ok_or_else(none)?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", text.trim_end()))
}

/// What a reader has to know of the machine, and no more: neither its name nor its paths.
pub(crate) fn machine(repo: &Repo, profile: &str) -> Result<String, String> {
    let date = said(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let compiler = said(repo.command("rustc").arg("--version"))?;
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let cores = available_parallelism().map_err(|e| format!("cannot count cores: {e}"))?;
    let root = rustix::process::geteuid().is_root();
    let storage = if root { "ext4 on a loop device and tmpfs" } else { "ext4 and tmpfs" };
    Ok(format!("{date}, Linux {kernel}, {cores} cores, {storage}, {compiler}, profile `{profile}`"))
}

pub(crate) fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("cannot run {:?}: {e}", command.get_program()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = format!("# Speed\n\n{BEGIN}\nold\n{END}\n\nAfter.\n");
        let new = replaced(&page, "| a |\n").unwrap();
        assert_eq!(new, format!("# Speed\n\n{BEGIN}\n| a |\n{END}\n\nAfter.\n"));
        assert_eq!(replaced(&new, "old").unwrap(), page);
    }

    #[test]
    fn a_new_page_has_the_markers() {
        assert!(replaced(NEW, "| a |").unwrap().ends_with(&format!("{BEGIN}\n| a |\n{END}\n")));
    }

    #[test]
    fn a_page_without_markers_is_left_alone() {
        assert!(replaced("# Speed\n", "| a |").unwrap_err().contains(BEGIN));
        assert!(replaced(&format!("{END} {BEGIN}"), "| a |").is_err());
    }
}
