//! The directories above a room: who could move it away.

use std::os::unix::fs::PermissionsExt;

use crate::support::room::TestRoom;

#[test]
fn a_room_whose_grandparent_others_may_write_to_was_accepted() {
    let room = TestRoom::empty();
    let open = room.around().join("open");
    std::fs::create_dir_all(open.join("own/deep")).unwrap();
    let set = |mode| std::fs::set_permissions(&open, PermissionsExt::from_mode(mode)).unwrap();
    let root = open.join("own/deep/room");
    let run = |words: &[&str]| room.bare(["--root", root.to_str().unwrap()].iter().chain(words).copied());
    set(0o755);
    run(&["setup", "bob"]).succeeds();
    let staying: [&[&str]; 6] = [
        &["setup", "--child", "carol"],
        &["--as", "bob", "wait", "--timeout", "1"],
        &["dispatch", "--watch"],
        &["--as", "bob", "mcp"],
        &["--as", "bob", "mcp", "--http"],
        &["adopt", open.to_str().unwrap()],
    ];
    for mode in [0o777, 0o775, 0o757] {
        set(mode);
        for words in staying {
            let refused = run(words).exits(4).err;
            assert!(
                refused.contains(&format!("chmod go-w {}", open.display())),
                "{mode:o} {words:?}: {refused}"
            );
        }
        let found = run(&["doctor"]).ends();
        assert!(found.code != 0 && found.out.contains("can be moved away"), "{found:?}");
        assert!(found.out.contains(&format!("chmod go-w {}", open.display())), "{found:?}");
        // What is over at once looks no further than before.
        run(&["--as", "bob", "check"]).exits(1);
        run(&["--as", "bob", "wait", "--timeout", "0"]).exits(1);
        let made = open.join("own/other");
        let refused = room.bare(["--root", made.to_str().unwrap(), "setup", "bob"]).exits(4).err;
        assert!(refused.contains("chmod go-w") && !made.exists(), "{refused}");
    }
    for mode in [0o1777, 0o755] {
        set(mode);
        run(&["--as", "bob", "wait", "--timeout", "1"]).exits(1);
        run(&["doctor"]).succeeds();
    }
}
