//! What a release consists of, made on this machine: the static binary, and the packages around it, in `target/packages/`.
//!
//! `--test` then installs each package from its file, without a network, runs `postroom demo` with it, removes it, and compares
//! what is there with what was there before. What a person uploads where is in CONTRIBUTING.md.

mod archive;
mod deb;
mod files;
mod installer;
mod licences;
mod npm;
mod release;
mod test;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::repo::Repo;
use files::File;
pub(crate) use release::Release;

/// The packages of a release, each with the path of its file.
#[derive(Debug)]
struct Packages {
    archive: PathBuf,
    installer: PathBuf,
    deb: PathBuf,
    npm: [PathBuf; 2],
    wheel: PathBuf,
}

const USAGE: &str = "cargo xtask dist [--from URL] [--test]";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let (mut tests, mut from) = (false, String::new());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--test" => tests = true,
            "--from" => from = words.next().ok_or(USAGE)?.clone(),
            other => return Err(format!("`{other}` is no option: {USAGE}")),
        }
    }
    let repo = Repo::open()?;
    let release = Release::build(&repo)?;
    let folder = repo.target.join("packages");
    let packages = make(&repo, &release, &folder, &from)?;
    if tests { test::run(&release, &packages) } else { Ok(()) }
}

fn make(repo: &Repo, release: &Release, folder: &Path, from: &str) -> Result<Packages, String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let files = files::installed(repo, release)?;
    let name = format!("postroom-{}-x86_64-linux", release.version);
    let archive = archive::tar_gz(&under(&files, &name), release.time);
    let archive_name = format!("{name}.tar.gz");
    let script = installer::script(release, &archive_name, &archive, from);
    let [launcher, native] = npm::packages(release, &files);
    let (wheel_name, wheel) = wheel::package(release, &files);
    let deb = deb::package(release, &files);
    let made = [
        (archive_name, archive),
        ("install.sh".to_owned(), script.into_bytes()),
        (format!("postroom_{}_amd64.deb", release.version), deb),
        launcher,
        native,
        (wheel_name, wheel),
    ];
    let mut sums = String::new();
    println!("    {:>9} bytes  {}", release.binary.len(), release.path.display());
    for (name, bytes) in &made {
        let path = folder.join(name);
        write(&path, bytes)?;
        sums.push_str(&format!("{}  {name}\n", sha256(bytes)));
        println!("    {:>9} bytes  {}", bytes.len(), path.display());
    }
    write(&folder.join("SHA256SUMS"), sums.as_bytes())?;
    let [archive, installer, deb, launcher, native, wheel] = made.map(|(name, _)| folder.join(name));
    Ok(Packages { archive, installer, deb, npm: [launcher, native], wheel })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files below a directory of this name.
fn under(files: &[File], directory: &str) -> Vec<File> {
    files.iter().map(|file| File { path: format!("{directory}/{}", file.path), ..file.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_refused_before_anything_is_built() {
        assert!(run(&["--quick".to_owned()]).unwrap_err().contains("--quick"));
        assert!(run(&["--from".to_owned()]).is_err());
    }

    #[test]
    fn a_digest_is_written_as_sha256sum_does() {
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
