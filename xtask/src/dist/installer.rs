//! `install.sh` of a release: the script of the repository, with the version and the digest of its archive in it.

use super::release::Release;
use super::sha256;

const SCRIPT: &str = include_str!("../../../packaging/install.sh");

/// `from` is the address that the archive is downloaded from; empty if it is beside the script.
pub(crate) fn script(release: &Release, name: &str, archive: &[u8], from: &str) -> String {
    let values = [
        ("@VERSION@", release.version),
        ("@ARCHIVE@", name),
        ("@SHA256@", &sha256(archive)),
        ("@FROM@", from),
    ];
    values.iter().fold(SCRIPT.to_owned(), |text, (word, value)| text.replace(word, value))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use super::super::archive::tar_gz;
    use super::super::files::File;
    use super::super::test::picture::picture;
    use super::*;

    const NAME: &str = "postroom-1.2.3-x86_64-linux.tar.gz";

    /// A release whose program is a script, and a home to install it in.
    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Self { folder: tempfile::tempdir().unwrap() };
            fs::create_dir(place.home()).unwrap();
            place
        }

        fn home(&self) -> PathBuf {
            self.folder.path().join("my home")
        }

        /// Puts an archive with these files, and its script, where they are downloaded to.
        fn publish(&self, files: &[(&str, &str)]) {
            let program = |(path, text): &(&str, &str)| {
                File::program(format!("postroom-1.2.3-x86_64-linux/{path}"), *text)
            };
            let archive = tar_gz(&files.iter().map(program).collect::<Vec<_>>(), 0);
            let release = Release { version: "1.2.3", time: 0, path: "/".into(), binary: vec![] };
            fs::write(self.folder.path().join("install.sh"), script(&release, NAME, &archive, "")).unwrap();
            fs::write(self.folder.path().join(NAME), archive).unwrap();
        }

        fn run(&self, words: &[&str]) -> Output {
            let mut sh = Command::new("/bin/sh");
            sh.arg(self.folder.path().join("install.sh")).args(words);
            sh.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.home()).output().unwrap()
        }

        fn installs(&self, words: &[&str]) {
            let output = self.run(words);
            assert!(output.status.success(), "{output:?}");
        }

        fn refuses(&self, words: &[&str], why: &str) {
            let output = self.run(words);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && said.contains(why), "{output:?}");
        }
    }

    const FILES: [(&str, &str); 2] =
        [("bin/postroom", "#!/bin/sh\necho here\n"), ("share/man/man1/postroom.1", "page")];

    fn says(program: &Path) -> String {
        String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap()
    }

    #[test]
    fn what_is_installed_runs_and_is_removed_without_a_trace() {
        let place = Place::new();
        place.publish(&FILES);
        // Somebody else's directory stays, although nothing is left in it.
        fs::create_dir_all(place.home().join(".local/bin")).unwrap();
        let before = picture(&place.home());
        place.installs(&[]);
        assert_eq!(says(&place.home().join(".local/bin/postroom")), "here\n");
        place.installs(&["--uninstall"]);
        assert_eq!(picture(&place.home()), before);
        place.refuses(&["--uninstall"], "nothing is installed");
        // A prefix that is made, two directories deep.
        let prefix = place.home().join("a/b c");
        place.installs(&["--prefix", prefix.to_str().unwrap()]);
        assert_eq!(says(&prefix.join("bin/postroom")), "here\n");
        place.installs(&["--uninstall", "--prefix", prefix.to_str().unwrap()]);
        assert_eq!(picture(&place.home()), before);
    }

    #[test]
    fn another_archive_is_refused() {
        let place = Place::new();
        place.publish(&FILES);
        let path = place.folder.path().join(NAME);
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
        let before = picture(&place.home());
        place.refuses(&[], "is not the one that belongs to this script");
        fs::remove_file(&path).unwrap();
        place.refuses(&[], "there is no");
        place.refuses(&["--prefx", "/x"], "there is no option");
        assert_eq!(picture(&place.home()), before);
    }

    #[test]
    fn a_file_of_somebody_else_is_not_replaced() {
        let place = Place::new();
        place.publish(&FILES);
        let path = place.home().join(".local/bin/postroom");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/nonexistent", &path).unwrap();
        let before = picture(&place.home());
        place.refuses(&[], "is not of an earlier installation");
        assert_eq!(picture(&place.home()), before);
    }

    #[test]
    fn a_new_version_takes_the_place_of_the_old_one() {
        let place = Place::new();
        let before = picture(&place.home());
        place.publish(&FILES);
        place.installs(&[]);
        place.publish(&[("bin/postroom", "#!/bin/sh\necho newer\n"), ("share/x/y", "new")]);
        place.installs(&[]);
        let local = place.home().join(".local");
        assert_eq!(says(&local.join("bin/postroom")), "newer\n");
        assert!(!local.join("share/man/man1/postroom.1").exists() && local.join("share/x/y").exists());
        place.installs(&["--uninstall"]);
        assert_eq!(picture(&place.home()), before);
    }
}
