//! The containers of packages: tar with gzip, `ar` and zip. The order is given, the owner is root and the time is passed in, so
//! that the same files make the same bytes.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::files::File;

/// A compressed tar archive of these files, each directory before what is in it.
pub(crate) fn tar_gz(files: &[File], time: u64) -> Vec<u8> {
    let mut tar = tar::Builder::new(vec![]);
    let mut add = |path: &str, kind, mode, bytes: &[u8]| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(time);
        header.set_size(bytes.len() as u64);
        for name in [Header::set_username, Header::set_groupname] {
            name(&mut header, "root").unwrap_or_else(|e| panic!("root is a short name: {e}"));
        }
        tar.append_data(&mut header, path, bytes).unwrap_or_else(|e| panic!("{path}: {e}"));
    };
    let mut made = BTreeSet::new();
    for file in files {
        for directory in parents(&file.path) {
            if made.insert(directory.to_owned()) {
                add(&format!("{directory}/"), EntryType::Directory, 0o755, b"");
            }
        }
        add(&file.path, EntryType::Regular, file.mode(), &file.bytes);
    }
    gzip(&in_memory(tar.into_inner()))
}

/// The directories above a path, the highest first: `usr`, `usr/bin` for `usr/bin/postroom`.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzBuilder::new().write(vec![], Compression::best());
    in_memory(writer.write_all(bytes));
    in_memory(writer.finish())
}

/// An `ar` archive, as `.deb` has it: names of at most 15 characters.
pub(crate) fn ar(members: &[(&str, &[u8])], time: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let head = format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", bytes.len());
        archive.extend_from_slice(head.as_bytes());
        archive.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

/// A zip archive. Its time is the first that zip knows.
pub(crate) fn zip(files: &[File]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(vec![]));
    for file in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::default())
            .unix_permissions(file.mode());
        in_memory(zip.start_file(&file.path, options));
        in_memory(zip.write_all(&file.bytes));
    }
    in_memory(zip.finish()).into_inner()
}

/// What cannot fail, because it is written to memory.
fn in_memory<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|e| panic!("writing to memory: {e}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn files() -> Vec<File> {
        vec![File::program("usr/bin/x", "run"), File::new("usr/share/doc/x/copyright", "odd")]
    }

    /// What a program of the machine says about a file with these bytes.
    fn told(program: &str, words: &[&str], bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let output = Command::new(program).args(words).arg(file.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_tar_archive_has_directories_modes_owner_and_time() {
        let archive = tar_gz(&files(), 86_400);
        assert_eq!(archive, tar_gz(&files(), 86_400));
        let listed = told("tar", &["--utc", "--full-time", "-tvzf"], &archive);
        let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
        let names: Vec<&str> = lines.iter().map(|words| words[5]).collect();
        let directories = ["usr/", "usr/bin/", "usr/bin/x", "usr/share/", "usr/share/doc/"];
        assert_eq!(names[..5], directories, "{listed}");
        assert_eq!(lines[2], ["-rwxr-xr-x", "root/root", "3", "1970-01-02", "00:00:00", "usr/bin/x"]);
        assert_eq!(lines[6][0], "-rw-r--r--", "{listed}");
    }

    #[test]
    fn an_ar_archive_pads_odd_members() {
        let archive = ar(&[("debian-binary", b"2.0\n"), ("odd", b"abc"), ("last", b"")], 7);
        assert_eq!(&archive[..8], b"!<arch>\n");
        assert_eq!(archive.len(), 8 + 3 * 60 + 4 + 4);
        assert_eq!(&archive[68 + 4..][..16], b"odd             ");
        assert_eq!(&archive[68 + 4 + 60..][..4], b"abc\n");
    }

    #[test]
    fn a_zip_archive_gives_back_files_and_modes() {
        let mut archive = ::zip::ZipArchive::new(Cursor::new(zip(&files()))).unwrap();
        assert_eq!(zip(&files()), zip(&files()));
        let mut file = archive.by_index(0).unwrap();
        assert_eq!(file.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        assert_eq!(std::io::read_to_string(&mut file).unwrap(), "run");
    }
}
