//! Installations under bad luck: calls that fail, and what people have set on their files. What could not be looked at is
//! not taken for gone, and who may read a file stays so.

use std::os::unix::fs::{MetadataExt, chown};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;

use crate::agents::install::{home, picture, postroom, read, settled, write};
use crate::support::edges_strike::{can_be_struck, points, sample, struck};
use crate::support::room::TestRoom;
use crate::support::until::skip;

fn records(room: &TestRoom) -> usize {
    let records = home(room).join(".local/state/postroom/.installed");
    let list = std::fs::read_dir(records).into_iter().flatten();
    list.filter(|entry| entry.as_ref().unwrap().path().extension().is_some()).count()
}

#[test]
fn an_error_while_looking_is_no_missing_file() {
    if !can_be_struck("an_error_while_looking_is_no_missing_file") {
        return;
    }
    let room = settled();
    let before = picture(&room);
    postroom(&room, ["install", "codex"]).succeeds();
    let all = points(&room, "statx", "uninstall codex");
    assert_eq!(picture(&room), before);
    let mut told = 0;
    for point in sample(all, 16) {
        postroom(&room, ["install", "codex"]).succeeds();
        let kept = records(&room);
        let ran = struck(&room, &point, "error=EIO", "uninstall codex");
        if ran.code != 0 {
            assert_eq!(ran.code, 5, "{point:?}: {ran:?}");
            assert!(ran.err.contains("Input/output error") && ran.err.contains("run it again"), "{ran:?}");
            assert_eq!(records(&room), kept, "{point:?}");
            postroom(&room, ["uninstall", "codex"]).succeeds();
            told += 1;
        }
        assert_eq!(picture(&room), before, "{point:?}: {ran:?}");
    }
    assert!(told > 0, "nothing was looked at");
}

#[test]
fn a_failed_chmod_leaves_nothing_beside_the_file() {
    if !can_be_struck("a_failed_chmod_leaves_nothing_beside_the_file") {
        return;
    }
    let room = settled();
    let path = home(&room).join(".gemini/settings.json");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let before = picture(&room);
    let all = points(&room, "fchmod,fchmodat", "install gemini --quiet");
    postroom(&room, ["uninstall", "gemini"]).succeeds();
    let mut struck_there = 0;
    for point in all {
        let ran = struck(&room, &point, "error=EPERM", "install gemini --quiet");
        let beside: Vec<_> = std::fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(".settings.json."))
            .collect();
        assert_eq!(beside, [""; 0], "{point:?}: {ran:?}");
        struck_there += usize::from(ran.err.contains("settings.json"));
        postroom(&room, ["uninstall", "gemini"]).ends();
        assert_eq!(picture(&room), before, "{point:?}: {ran:?}");
    }
    assert!(struck_there > 0, "no mode of the settings was set");
}

/// Entries of an access list: tag, rights, id.
fn access_list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let entry = |(tag, rights, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec()].into_iter().chain(entries.iter().map(entry)).flatten().collect()
}

#[test]
fn group_and_access_list_stay() {
    const NAME: &str = "system.posix_acl_access";
    const NONE: u32 = u32::MAX;
    let room = settled();
    write(&room, ".gemini/settings.json", "{}\n");
    let path = home(&room).join(".gemini/settings.json");
    let list = access_list(&[(1, 6, NONE), (2, 4, 12345), (4, 4, NONE), (0x10, 4, NONE), (0x20, 0, NONE)]);
    match setxattr(&path, NAME, &list, XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP) => return skip("group_and_access_list_stay", "no access lists here"),
        other => other.unwrap(),
    }
    // New files here would have another list.
    let other = access_list(&[(1, 7, NONE), (2, 7, 54321), (4, 5, NONE), (0x10, 7, NONE), (0x20, 0, NONE)]);
    setxattr(path.parent().unwrap(), "system.posix_acl_default", &other, XattrFlags::empty()).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(&path, None, Some(12345)).unwrap();
    }
    let seen = || {
        let mut list = vec![0; 1024];
        let length = getxattr(&path, NAME, &mut list).unwrap_or(0);
        list.truncate(length);
        let stat = path.metadata().unwrap();
        (list, stat.gid(), stat.mode())
    };
    let before = seen();
    assert_eq!((before.0.clone(), before.2 & 0o777), (list, 0o640));
    postroom(&room, ["install", "gemini"]).succeeds();
    assert!(read(&room, ".gemini/settings.json").contains("postroom"));
    assert_eq!(seen(), before);
    postroom(&room, ["uninstall", "gemini"]).succeeds();
    assert_eq!((seen(), read(&room, ".gemini/settings.json").as_str()), (before, "{}\n"));
    // A file without a list gets none from its directory.
    rustix::fs::removexattr(&path, NAME).unwrap();
    let before = seen();
    assert!(before.0.is_empty());
    postroom(&room, ["install", "gemini"]).succeeds();
    assert_eq!(seen(), before);
}
