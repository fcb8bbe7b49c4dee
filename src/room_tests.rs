//! What is a room, and what is left alone.

use super::*;
use crate::clock::SystemClock;
use std::os::unix::fs::PermissionsExt;

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

#[test]
fn a_room_is_made_once_and_then_opened() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state/room");
    assert!(matches!(Room::open(&path, clock()), Err(Error::NoRoom { .. })));
    Room::open_or_make(&path, clock()).unwrap().may_write().unwrap();
    assert_eq!(std::fs::read_to_string(path.join(".postroom")).unwrap(), "postroom 1\n");
    assert_eq!(Room::open_or_make(&path, clock()).unwrap().format(), 1);
}

#[test]
fn a_directory_of_something_else_is_no_room_and_stays_as_it_is() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("project");
    std::fs::create_dir_all(path.join("src")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(matches!(Room::open(&path, clock()), Err(Error::NoRoom { .. })));
    assert!(matches!(Room::open_or_make(&path, clock()), Err(Error::NotEmpty { .. })));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    std::fs::create_dir_all(path.join("bob/inbox")).unwrap();
    assert!(Room::open(&path, clock()).is_ok());
}

#[test]
fn files_alone_make_no_room_and_are_in_nobody_s_way() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("new");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("handoff.md"), "x").unwrap();
    assert!(matches!(Room::open(&path, clock()), Err(Error::NoRoom { .. })));
    assert!(Room::is_vacant(&path).unwrap());
    std::os::unix::fs::symlink("/tmp", path.join("link")).unwrap();
    assert!(!Room::is_vacant(&path).unwrap());
    assert!(matches!(Room::open_or_make(&path, clock()), Err(Error::NotEmpty { .. })));
    std::fs::remove_file(path.join("link")).unwrap();
    assert!(Room::open_or_make(&path, clock()).is_ok());
}

#[test]
fn a_mailbox_that_another_engine_is_making_is_waited_for() {
    let temp = tempfile::tempdir().unwrap();
    for parts in [&["bob"][..], &["bob/tmp"], &["bob/tmp", "carol"]] {
        let path = temp.path().join(parts.join("-").replace('/', "-"));
        parts.iter().for_each(|part| std::fs::create_dir_all(path.join(part)).unwrap());
        assert_eq!(standing(&Dir::look(&path).unwrap()).unwrap(), Standing::Unclear, "{parts:?}");
        let inbox = path.join("bob/inbox");
        let maker = std::thread::spawn(move || std::fs::create_dir(inbox).unwrap());
        assert!(Room::open_or_make(&path, clock()).is_ok(), "{parts:?}");
        maker.join().unwrap();
    }
}

#[test]
fn a_directory_of_something_else_is_no_mailbox() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("room");
    let room = Room::open_or_make(&path, clock()).unwrap();
    for (made, extent) in [
        ("docs/deep", Extent::Absent),
        ("docs/tmp", Extent::Absent),
        ("docs/inbox", Extent::Part),
        ("docs/archive", Extent::Whole),
    ] {
        std::fs::create_dir_all(path.join(made)).unwrap();
        assert_eq!(room.extent(&MailboxId::parse("docs").unwrap()), extent, "{made}");
    }
}

#[test]
fn a_newer_room_is_read_only() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("room");
    Room::open_or_make(&path, clock()).unwrap();
    std::fs::write(path.join(".postroom"), "postroom 2\n").unwrap();
    assert!(matches!(Room::open(&path, clock()).unwrap().may_write(), Err(Error::Newer { found: 2, .. })));
    std::fs::write(path.join(".postroom"), "???").unwrap();
    assert!(matches!(Room::open(&path, clock()), Err(Error::BadVersion { .. })));
}

#[test]
fn loose_parents_and_odd_paths_are_refused() {
    let temp = tempfile::tempdir().unwrap();
    let parent = temp.path().join("p");
    std::fs::create_dir(&parent).unwrap();
    std::fs::set_permissions(&parent, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(matches!(
        Room::open_or_make(&parent.join("r"), clock()),
        Err(Error::Disk(mailbox::Error::LooseParent { .. }))
    ));
    std::fs::set_permissions(&parent, PermissionsExt::from_mode(0o1777)).unwrap();
    assert!(Room::open_or_make(&parent.join("r"), clock()).is_ok());
    for bad in ["relative", "/", "/a/../b"] {
        assert!(matches!(Room::open(Path::new(bad), clock()), Err(Error::BadPath { .. })), "{bad}");
    }
}
