//! Tests of the disk: publishing, refusing and tightening, on a real directory.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::super::lock::Hold;
use super::*;

fn room() -> (tempfile::TempDir, Dir) {
    let temp = tempfile::tempdir().unwrap();
    let dir = Dir::make(&temp.path().join("a/b")).unwrap();
    (temp, dir)
}

#[test]
fn made_directories_are_private() {
    let (temp, dir) = room();
    for made in ["a", "a/b"] {
        assert_eq!(temp.path().join(made).metadata().unwrap().mode() & 0o777, 0o700);
    }
    assert_eq!(dir.create_dir("c").unwrap().path(), temp.path().join("a/b/c"));
}

#[test]
fn publishing_never_replaces() {
    let (_temp, dir) = room();
    dir.stage("x", b"one").unwrap();
    dir.stage("y", b"two").unwrap();
    let to = dir.create_dir("in").unwrap();
    dir.publish("x", &to, "m").unwrap();
    assert!(matches!(dir.publish("y", &to, "m"), Err(Error::Exists { .. })));
    assert!(matches!(dir.publish_staged("y", &to, "m"), Err(Error::Exists { .. })));
    assert!(dir.read("y", 10).unwrap().is_none(), "nothing is left of what was refused");
    assert_eq!(to.read("m", 10).unwrap().unwrap(), b"one");
}

#[test]
fn a_tree_with_names_that_are_no_text_is_removed() {
    let (_temp, dir) = room();
    let odd = OsString::from_vec(b"odd-\xff".to_vec());
    std::fs::create_dir_all(dir.path().join("tree").join(&odd).join(&odd)).unwrap();
    std::fs::write(dir.path().join("tree").join(&odd).join("file"), "x").unwrap();
    dir.remove_tree("tree").unwrap();
    assert!(dir.stat("tree").unwrap_err().is_missing());
}

#[test]
fn links_and_odd_files_are_refused_without_waiting() {
    let (temp, dir) = room();
    let outside = temp.path().join("canary");
    std::fs::write(&outside, "secret").unwrap();
    symlink(&outside, dir.path().join("link")).unwrap();
    symlink(temp.path(), dir.path().join("dirlink")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, dir.path().join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(matches!(dir.open_file("link"), Err(Error::Link { .. })));
    assert!(matches!(dir.sub("dirlink"), Err(Error::Link { .. })));
    assert!(matches!(dir.sub("fifo"), Err(Error::NotADirectory { .. })));
    assert!(matches!(dir.open_file("fifo"), Err(Error::NotAFile { what: "a FIFO", .. })));
    assert!(matches!(dir.try_lock("link", Hold::Alone), Err(Error::Link { .. })));
    assert!(dir.append("link", b"x").is_err());
    assert!(matches!(Dir::open(&dir.path().join("dirlink/a")), Err(Error::Link { .. })));
    assert_eq!(std::fs::read(outside).unwrap(), b"secret");
}

#[test]
fn loose_modes_are_tightened() {
    let (_temp, dir) = room();
    let file = dir.path().join("m");
    std::fs::write(&file, "x").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let sub = dir.path().join("s");
    std::fs::create_dir(&sub).unwrap();
    std::fs::set_permissions(&sub, PermissionsExt::from_mode(0o755)).unwrap();
    dir.open_file("m").unwrap();
    dir.sub("s").unwrap();
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    assert_eq!(sub.metadata().unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let (_temp, dir) = room();
    dir.stage("big", &[b'x'; 100]).unwrap();
    assert!(matches!(dir.read("big", 99), Err(Error::TooLarge { size: 100, limit: 99, .. })));
    assert_eq!(dir.read("big", 100).unwrap().unwrap().len(), 100);
}

#[test]
fn a_lock_has_one_holder_until_it_is_dropped() {
    let (_temp, dir) = room();
    let lock = dir.lock("l").unwrap();
    assert!(dir.try_lock("l", Hold::Together).unwrap().is_none());
    drop(lock);
    let shared = dir.try_lock("l", Hold::Together).unwrap().unwrap();
    assert!(dir.try_lock("l", Hold::Together).unwrap().is_some());
    assert!(dir.try_lock("l", Hold::Alone).unwrap().is_none());
    drop(shared);
}

#[test]
fn replacing_leaves_no_litter_and_touching_makes_a_file() {
    let (_temp, dir) = room();
    dir.replace_synced("r", b"1").unwrap();
    dir.replace_synced("r", b"2").unwrap();
    dir.touch("seen").unwrap();
    dir.touch("seen").unwrap();
    let mut names = vec![];
    dir.scan(|name, kind| names.push((String::from_utf8_lossy(name).into_owned(), kind))).unwrap();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(names, [("r".to_owned(), FileType::RegularFile), ("seen".to_owned(), FileType::RegularFile)]);
}

#[test]
fn where_no_rename_refuses_to_replace_a_taken_name_is_still_refused() {
    let (_temp, dir) = room();
    dir.create_dir("a").unwrap();
    dir.create_dir("b").unwrap().write_new("f", b"x").unwrap();
    dir.write_new("c", b"x").unwrap();
    for taken in ["b", "c"] {
        let moved = dir.rename_plainly("a".as_ref(), &dir, taken);
        assert!(matches!(moved, Err(Error::Exists { .. })), "{taken}: {moved:?}");
    }
    dir.rename_plainly("a".as_ref(), &dir, "d").unwrap();
    assert!(dir.sub("d").is_ok() && dir.sub("a").unwrap_err().is_missing());
}
