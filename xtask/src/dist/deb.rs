//! The package for Debian and its relatives: `ar` of two tar archives. It has no scripts and depends on nothing, because the
//! binary is static.

use super::archive::{ar, gzip, tar_gz};
use super::files::{DOC, File, MAN};
use super::release::Release;

const DESCRIPTION: &str = "mail for coding agents, on plain files
 Postroom gives every coding agent a mailbox in a directory, a name that the
 others can write to, and truthful delivery. It needs no daemon and no network.
";

pub(crate) fn package(release: &Release, files: &[File]) -> Vec<u8> {
    let mut data: Vec<File> = files.iter().map(as_debian_has_it).collect();
    data.push(File::new(format!("usr/{DOC}/copyright"), copyright(files)));
    data.sort_by(|a, b| a.path.cmp(&b.path));
    let kilobytes = data.iter().map(|file| file.bytes.len().div_ceil(1024)).sum::<usize>();
    let control = format!(
        "Package: postroom\nVersion: {}\nArchitecture: amd64\nMaintainer: The Postroom authors\n\
         Installed-Size: {kilobytes}\nSection: utils\nPriority: optional\nDescription: {DESCRIPTION}",
        release.version
    );
    let control = tar_gz(&[File::new("control", control)], release.time);
    let data = tar_gz(&data, release.time);
    ar(&[("debian-binary", b"2.0\n"), ("control.tar.gz", &control), ("data.tar.gz", &data)], release.time)
}

/// Below `/usr`; man pages and the changelog are compressed (Debian policy 12.1 and 12.7).
fn as_debian_has_it(file: &File) -> File {
    let zsh = file.path.replace("zsh/site-functions", "zsh/vendor-completions");
    let path = format!("usr/{zsh}");
    if file.path.starts_with(MAN) || file.path.ends_with("CHANGELOG.md") {
        return File::new(format!("{path}.gz").replace("CHANGELOG.md", "changelog"), gzip(&file.bytes));
    }
    File { path, ..file.clone() }
}

fn copyright(files: &[File]) -> String {
    let mit = files.iter().find(|file| file.path.ends_with("LICENSE-MIT"));
    let mit = mit.map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).unwrap_or_default();
    let other = "of the libraries in the binary in LICENSES-THIRD-PARTY.txt";
    format!(
        "Postroom is licensed under MIT or Apache-2.0, at your choice.\nThe text of the second is in \
         /usr/share/common-licenses/Apache-2.0, and those {other}.\n\n{mit}"
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn dpkg_reads_it() {
        if !crate::run::succeeds(Command::new("dpkg-deb").arg("--version")) {
            println!("skipped: dpkg_reads_it: dpkg-deb is not installed");
            return;
        }
        let release = Release { version: "1.2.3", time: 0, path: "/".into(), binary: vec![] };
        let page = File::new(format!("{MAN}/postroom.1"), ".TH postroom 1\n");
        let files =
            [File::program("bin/postroom", "x"), File::new(format!("{DOC}/LICENSE-MIT"), "MIT"), page];
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), package(&release, &files)).unwrap();
        let says = |word: &str| {
            let output = Command::new("dpkg-deb").arg(word).arg(file.path()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let control = says("--field");
        assert!(control.contains("Version: 1.2.3\n") && control.contains("\n Postroom gives"), "{control}");
        let listed = says("--contents");
        for path in
            ["usr/bin/postroom", "usr/share/man/man1/postroom.1.gz", "usr/share/doc/postroom/copyright"]
        {
            assert!(listed.contains(path), "{listed}");
        }
    }
}
