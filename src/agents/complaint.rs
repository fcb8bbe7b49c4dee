//! A complaint: what a program prints about settings that it does not load. Found by the path of the file, and told in the
//! program's own words. Nothing is known of its wording beyond that.

use std::path::{Path, PathBuf};

use crate::message::visible;

/// A settings file that its program does not load, in the words of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub path: PathBuf,
    pub why: String,
}

/// The lines below a heading, up to the next empty line after some.
pub(super) fn section(text: &str, heading: &str) -> Option<String> {
    let rest = text.split_once(&format!("{heading}\n"))?.1.trim_start_matches('\n');
    Some(rest.split("\n\n").next().unwrap_or_default().to_owned())
}

/// The file that a text complains about, with its words from there on.
pub(super) fn complaint(said: &str, settings: &[&Path]) -> Option<Refusal> {
    let said = without_colours(said);
    let mut named = settings.iter().filter_map(|path| {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let name = [*path, &real].map(|path| path.display().to_string());
        let line = said.lines().position(|line| name.iter().any(|name| is_whole(line, name)))?;
        let words: Vec<&str> =
            said.lines().skip(line).take(8).map(str::trim).filter(|l| !l.is_empty()).collect();
        let words = words.join(" ");
        // An entry that is passed over does not keep the rest of the file from being loaded.
        let after = name.iter().find_map(|name| words.split_once(name.as_str())).map_or("", |(_, rest)| rest);
        let is_entry = after.starts_with(" › ");
        (!is_entry).then(|| Refusal {
            path: path.to_path_buf(),
            why: visible::clip(after.trim_start_matches([':', ' ']), 300),
        })
    });
    named.next()
}

/// Whether a line has this path, and not a longer one.
fn is_whole(line: &str, path: &str) -> bool {
    line.split_once(path)
        .is_some_and(|(_, rest)| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '.'))
}

/// A text without the sequences that colour it.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_load_is_named_in_the_words_of_the_program() {
        let settings = [Path::new("/h/.x/a.json"), Path::new("/h/.x/a.jsonc")];
        let why = |said: &str| complaint(said, &settings).map(|refusal| refusal.why);
        assert_eq!(
            why("- /h/.x/a.json: Invalid or malformed JSON\n").as_deref(),
            Some("Invalid or malformed JSON")
        );
        assert_eq!(
            why("\u{1b}[91mError: \u{1b}[0mConfiguration is invalid at /h/.x/a.jsonc\n↳ Expected object, got 3\n").as_deref(),
            Some("↳ Expected object, got 3")
        );
        assert_eq!(why("Error: /h/.x/a.json:8:5: extra `=`").as_deref(), Some("8:5: extra `=`"));
        assert_eq!(why("- /h/.x/a.json › hooks.Future: Unknown hook event"), None, "it is passed over");
        assert_eq!(why("- /h/.x/b.json: Invalid"), None);
        assert_eq!(
            section("a\n\nInvalid settings\n- x\n- y\n\nz", "Invalid settings").as_deref(),
            Some("- x\n- y")
        );
        assert_eq!(section("**Hooks**\n\n- one\n\n**Next**", "**Hooks**").as_deref(), Some("- one"));
    }
}
