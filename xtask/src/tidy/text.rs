//! Text of every kind: white space at the ends, notes left for later, and what belongs to one machine only.
//!
//! A path of somebody's home or the host of a package registry in a tracked file works on one machine and tells others
//! about it. Words that are searched for are spelled apart here, so that this file is not its own finding.

use std::env;
use std::path::Path;

use super::Finding;
use super::files::File;

const NOTES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

const REGISTRIES: [&str; 7] = [
    concat!("crates", ".io"),
    concat!("deb.debian", ".org"),
    concat!("npmjs", ".com"),
    concat!("npmjs", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
];

const HOST_WORDS: [&str; 3] = ["mirror", "proxy", "registry"];

const HOMES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];

pub(super) fn findings(files: &[File], private: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.name() != "Cargo.lock") {
        if !is_verbatim(file) {
            findings.extend(final_newline(file));
        }
        for (number, line) in file.lines() {
            let mut add = |what: String| findings.push(Finding::new(file, number, what));
            if !is_verbatim(file) && line.ends_with(char::is_whitespace) {
                add("white space at the end of the line".to_owned());
            }
            if let Some(note) = NOTES.into_iter().find(|note| has_word(line, note)) {
                add(format!("`{note}`: do it, or write an issue"));
            }
            if let Some(path) = private_path(line, private) {
                add(format!("`{path}` is a path of one machine"));
            }
            if let Some(host) = registry_host(line) {
                add(format!("`{host}` is a package registry, mirror or proxy; leave it to each machine"));
            }
        }
    }
    findings
}

/// The directories of this machine that no file may name: the checkout and the home directory. A path of one part, such
/// as `/src`, is left out, because it may well mean something else.
pub(super) fn private_directories(root: &Path) -> Vec<String> {
    let home = env::var("HOME").unwrap_or_default();
    let directories = [root.to_string_lossy().into_owned(), home];
    directories.into_iter().filter(|path| path.starts_with('/') && path.matches('/').count() >= 2).collect()
}

/// Test data whose bytes are the point.
pub(super) fn is_verbatim(file: &File) -> bool {
    let folders = ["corpus", "fixtures", "golden"];
    file.path.ends_with(".snap") || file.path.split('/').any(|part| folders.contains(&part))
}

fn final_newline(file: &File) -> Option<Finding> {
    let last = file.text.lines().count().max(1);
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        return Some(Finding::new(file, last, "no newline at the end of the file"));
    }
    file.text.ends_with("\n\n").then(|| Finding::new(file, last, "empty lines at the end of the file"))
}

fn has_word(line: &str, word: &str) -> bool {
    let joins = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word)
        .any(|(start, _)| !line[..start].ends_with(joins) && !line[start + word.len()..].starts_with(joins))
}

fn private_path<'a>(line: &'a str, private: &[String]) -> Option<&'a str> {
    let homes = HOMES.iter().copied().flat_map(|home| line.match_indices(home));
    let owner_follows = |(start, home): &(usize, &str)| {
        line[start + home.len()..].starts_with(|character: char| character.is_alphanumeric())
    };
    let directories = private.iter().flat_map(|directory| line.match_indices(directory.as_str()));
    let ends = |(start, directory): &(usize, &str)| {
        !line[start + directory.len()..].starts_with(|character: char| character.is_alphanumeric())
    };
    let mut found = homes.filter(owner_follows).chain(directories.filter(ends));
    found.find(|(start, _)| begins_a_path(&line[..*start])).map(|(_, path)| path)
}

/// Whether an absolute path can begin after this text: not within a longer path, nor after a variable.
fn begins_a_path(before: &str) -> bool {
    let within = |character: char| character.is_alphanumeric() || "/._-~>}$)*…".contains(character);
    before.ends_with("://") || !before.ends_with(within)
}

fn registry_host(line: &str) -> Option<&str> {
    let known = REGISTRIES.into_iter().find(|host| line.contains(host));
    let hosts = line.match_indices("://").map(|(start, mark)| {
        let rest = &line[start + mark.len()..];
        let end =
            rest.find(|character: char| character.is_whitespace() || "/?#\"'`<>()[]{}\\".contains(character));
        &rest[..end.unwrap_or(rest.len())]
    });
    let suspect = |host: &&str| HOST_WORDS.iter().any(|word| host.to_ascii_lowercase().contains(word));
    known.or_else(|| hosts.into_iter().find(suspect))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let private = ["/srv/checkouts/postroom".to_owned()];
        let findings = findings(&[File::new(path, text)], &private);
        findings.into_iter().map(|finding| (finding.line, finding.what)).collect()
    }

    fn count(line: &str) -> usize {
        found("docs/page.md", &format!("{line}\n")).len()
    }

    #[test]
    fn lines_and_files_end_clean() {
        assert!(found("a.md", "one\n\ntwo\n").is_empty());
        assert!(found("a.md", "").is_empty());
        assert_eq!(found("a.md", "one\ntwo \n")[0].0, 2);
        assert_eq!(found("a.md", "one\r\n").len(), 1);
        assert_eq!(found("a.md", "one\ntwo"), [(2, "no newline at the end of the file".to_owned())]);
        assert_eq!(found("a.md", "one\n\n"), [(2, "empty lines at the end of the file".to_owned())]);
        for path in ["tests/attacks/corpus/crlf.md", "tests/fixtures/seed.md", "tests/cli/help.snap"] {
            assert!(found(path, "one \r\ntwo").is_empty(), "{path}");
        }
    }

    #[test]
    fn a_note_for_later_is_found_as_a_word() {
        for note in NOTES {
            assert_eq!(count(&format!("// {note}: later")), 1);
            assert_eq!(count(&format!("# {note}")), 1);
            assert_eq!(count(&format!("mk{note}.{note}S_{note}")), 0);
        }
        assert_eq!(count(&"X".repeat(6)), 0);
    }

    #[test]
    fn the_path_of_a_home_is_found() {
        for home in HOMES {
            assert_eq!(count(&format!("see {home}alice/postroom")), 1, "{home}");
            assert_eq!(count(&format!("\"{home}alice\"")), 1, "{home}");
            assert_eq!(count(&format!("file://{home}alice")), 1, "{home}");
            for before in ["src", "~", "<root>", "{root}", "..", "$HOME"] {
                assert_eq!(count(&format!("{before}{home}alice")), 0, "{before}{home}");
            }
            assert_eq!(count(&format!("below {home}")), 0);
        }
    }

    #[test]
    fn the_path_of_this_checkout_is_found() {
        assert_eq!(count("cd /srv/checkouts/postroom && make"), 1);
        assert_eq!(count("cd /srv/checkouts/postroom/src"), 1);
        assert_eq!(count("cd /srv/checkouts/postroom2"), 0);
        assert!(
            private_directories(Path::new("/srv/checkouts/postroom"))
                .contains(&"/srv/checkouts/postroom".into())
        );
        assert!(!private_directories(Path::new("/src")).contains(&"/src".into()));
    }

    #[test]
    fn the_host_of_a_package_registry_is_found() {
        for host in REGISTRIES {
            assert_eq!(count(&format!("index = \"sparse+https://index.{host}/\"")), 1, "{host}");
            assert_eq!(count(&format!("the host {host}")), 1, "{host}");
            assert!(found("Cargo.lock", &format!("source = \"{host}\"\n")).is_empty());
        }
        for word in HOST_WORDS {
            assert_eq!(count(&format!("see https://{word}.example.net/a")), 1, "{word}");
            assert_eq!(count(&format!("see https://my-{}.example.net", word.to_uppercase())), 1, "{word}");
            assert_eq!(count(&format!("see https://example.net/{word}, and {word}.json")), 0, "{word}");
        }
    }
}
