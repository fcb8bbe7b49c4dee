//! The files of an installation, by their paths below a prefix such as `/usr` or `~/.local`.

use std::path::Path;
use std::process::Command;

use crate::repo::Repo;

use super::licences;
use super::release::Release;

/// A file in a package.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl File {
    pub(crate) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), is_program: false }
    }

    pub(crate) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_program: true, ..Self::new(path, bytes) }
    }

    pub(crate) fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

pub(crate) const BINARY: &str = "bin/postroom";
pub(crate) const MAN: &str = "share/man/man1";
pub(crate) const DOC: &str = "share/doc/postroom";

const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/postroom"),
    ("fish", "share/fish/vendor_completions.d/postroom.fish"),
    ("zsh", "share/zsh/site-functions/_postroom"),
];

/// Documents of the repository that come with the program.
const DOCUMENTS: [&str; 4] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Everything that is installed, in the order of the paths.
pub(crate) fn installed(repo: &Repo, release: &Release) -> Result<Vec<File>, String> {
    let says = |words: &[&str]| says(&release.path, words);
    let mut files = vec![File::program(BINARY, release.binary.clone())];
    let page = says(&["tools", "man"])?;
    let verbs = verbs(&page);
    files.push(File::new(format!("{MAN}/postroom.1"), page));
    for verb in verbs {
        files.push(File::new(format!("{MAN}/postroom-{verb}.1"), says(&["tools", "man", &verb])?));
    }
    for (shell, path) in COMPLETIONS {
        files.push(File::new(path, says(&["tools", "completions", shell])?));
    }
    for name in DOCUMENTS {
        let path = repo.root.join(name);
        let text = std::fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        files.push(File::new(format!("{DOC}/{name}"), text));
    }
    files.push(File::new(format!("{DOC}/{}", licences::NAME), licences::collect(repo)?));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// What a program prints.
fn says(program: &Path, words: &[&str]) -> Result<String, String> {
    let failed = |why: String| format!("`{} {}`: {why}", program.display(), words.join(" "));
    let output = Command::new(program).args(words).output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    String::from_utf8(output.stdout).map_err(|e| failed(e.to_string()))
}

/// The verbs that the page of postroom refers to, as `postroom\-send(1)`.
fn verbs(page: &str) -> Vec<String> {
    let names = page.lines().filter_map(|line| line.strip_prefix("postroom\\-")?.strip_suffix("(1)"));
    names.map(|name| name.replace('\\', "")).filter(|name| name != "help").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_read_off_the_man_page() {
        let page = ".TH postroom 1\n.TP\npostroom\\-send(1)\nSend\n.TP\npostroom\\-shell\\-init(1)\n.TP\npostroom\\-help(1)\n";
        assert_eq!(verbs(page), ["send", "shell-init"]);
    }
}
