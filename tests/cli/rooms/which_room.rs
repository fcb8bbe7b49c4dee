//! Which room a command is about, and what is a room at all.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::picture::tree;
use crate::support::room::TestRoom;

/// A named room of the builder's home directory.
fn named(room: &TestRoom, name: &str) -> PathBuf {
    room.around().join("home/.local/state/postroom/rooms").join(name)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn make(path: &Path) -> &str {
    std::fs::create_dir_all(path).unwrap();
    path.to_str().unwrap()
}

#[test]
fn the_first_of_flag_name_environment_project_and_main_holds() {
    let room = TestRoom::empty();
    let project = room.around().join("project/src/deep");
    make(&project);
    std::fs::write(room.around().join("project/postroom.toml"), "room = \"build\"\n").unwrap();
    let (flag, environment) = (room.around().join("flag"), room.around().join("environment"));
    let (flag, environment) = (flag.to_str().unwrap(), environment.to_str().unwrap());
    let place = |arguments: &[&str], environment: &str, within: &Path| {
        let made = room
            .bare(arguments.iter().copied())
            .arg("--json")
            .env("POSTROOM_ROOT", environment)
            .within(within)
            .json();
        (made["root"].as_str().unwrap().to_owned(), made["room"].as_str().map(str::to_owned))
    };
    let path = |name| named(&room, name).to_str().unwrap().to_owned();
    assert_eq!(place(&["--root", flag, "setup"], environment, &project), (flag.into(), None));
    assert_eq!(
        place(&["--room", "shop", "setup"], environment, &project),
        (path("shop"), Some("shop".into()))
    );
    assert_eq!(place(&["setup"], environment, &project), (environment.into(), None));
    assert_eq!(place(&["setup"], "", &project), (path("build"), Some("build".into())));
    assert_eq!(place(&["setup"], "", room.around()), (path("main"), Some("main".into())));
}

#[test]
fn the_nearest_project_file_holds_and_worktrees_share_a_room() {
    let room = TestRoom::empty();
    for (directory, name) in [("a", "shared"), ("a/inner", "own"), ("b", "shared")] {
        let directory = room.around().join(directory);
        make(&directory);
        std::fs::write(directory.join("postroom.toml"), format!("room = \"{name}\"\n")).unwrap();
    }
    let within = |directory: &str, arguments: &[&str]| {
        room.bare(arguments.iter().copied()).within(&room.around().join(directory))
    };
    within("a", &["setup", "alice"]).succeeds();
    within("b", &["setup", "bob"]).succeeds();
    within("a", &["--as", "alice", "send", "bob", "-m", "from one worktree to the other"]).succeeds();
    assert_eq!(within("b", &["--as", "bob", "check", "--count"]).succeeds().out, "1\n");
    within("a/inner", &["names"]).exits(3);
}

#[test]
fn named_rooms_follow_xdg_state_home() {
    let room = TestRoom::empty();
    let state = room.around().join("state");
    let made = room.bare(["setup", "--json"]).env("XDG_STATE_HOME", &state).json();
    assert_eq!(made["root"], state.join("postroom/rooms/main").to_str().unwrap());
    // A relative one is none, as its specification says.
    let made = room.bare(["setup", "--json"]).env("XDG_STATE_HOME", "state").json();
    assert_eq!(made["root"], named(&room, "main").to_str().unwrap());
}

#[test]
fn a_project_file_with_a_mistake_is_refused_with_its_place() {
    let room = TestRoom::with(&["bob"]);
    let directory = room.around().join("p");
    make(&directory);
    for (text, said) in [
        ("rom = \"x\"\n", "line 1, column 1"),
        ("room = 3\n", "line 1, column 8"),
        ("room = \"../x\"\n", "`room`"),
        ("room = \"\"\n", "`room`"),
        ("room = \n", "line 1"),
    ] {
        std::fs::write(directory.join("postroom.toml"), text).unwrap();
        let ran = room.bare(["--as", "bob", "check"]).within(&directory).exits(4);
        assert!(ran.err.contains("p/postroom.toml") && ran.err.contains(said), "{text}: {}", ran.err);
        assert!(ran.err.contains("correct that file"), "{}", ran.err);
        // A command that names the room needs no project.
        room.by("bob", ["check"]).within(&directory).exits(1);
    }
}

#[test]
fn the_limits_file_of_a_room_is_not_a_project_file() {
    let room = TestRoom::with(&["bob"]);
    room.limit("mailbox_messages = 5");
    let ran = room.bare(["names"]).within(&room.root()).ends();
    assert!(!ran.err.contains("unknown field"), "{ran:?}");
    room.run(["names"]).within(&room.root()).succeeds();
}

#[test]
fn limits_with_a_mistake_are_refused_with_their_place() {
    let room = TestRoom::with(&["bob"]);
    room.limit("mailbox_mesages = 5");
    let ran = room.by("bob", ["check"]).exits(4);
    assert!(ran.err.contains("room/postroom.toml") && ran.err.contains("line 2, column 1"), "{}", ran.err);
    std::fs::remove_file(room.root().join("postroom.toml")).unwrap();
}

/// Outside a repository only `setup` was named, which makes one more room.
#[test]
fn the_rooms_that_are_there_were_not_named() {
    let room = TestRoom::empty();
    let postroom = |words: &[&str]| room.bare(words.iter().copied()).within(room.around());
    assert!(!postroom(&["check"]).exits(3).err.contains("your rooms"), "there is none");
    postroom(&["--room", "repo", "setup", "bob"]).succeeds();
    let ran = postroom(&["check"]).exits(3);
    let wanted = "\n  your rooms: repo\n  postroom --room repo names  # who is in that one\n";
    assert!(ran.err.ends_with(wanted), "{}", ran.err);
    assert!(!postroom(&["--room", "other", "check"]).exits(3).err.contains("your rooms"), "a room was named");
}

#[test]
fn a_room_that_is_not_there_is_told_and_not_made() {
    let room = TestRoom::empty();
    for verb in ["check", "read", "names", "log", "doctor", "whoami", "wait"] {
        let ran = room.run(["--as", "bob", verb]).exits(3);
        assert!(
            ran.err.contains("there is no room at") && ran.err.contains(" setup  # "),
            "{verb}: {}",
            ran.err
        );
    }
    room.run(["--as", "bob", "send", "alice", "-m", "x"]).exits(3);
    assert!(!room.root().exists());
}

#[test]
fn agents_that_begin_at_once_make_one_room() {
    for _ in 0..8 {
        let room = TestRoom::empty();
        let racing: Vec<_> = (0..6).map(|n| room.run(["setup"]).arg(format!("agent-{n}")).start()).collect();
        for child in racing {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(room.run(["names"]).succeeds().out.lines().count(), 6);
    }
}

#[test]
fn a_first_setup_that_was_interrupted_does_not_spoil_the_place() {
    let room = TestRoom::empty();
    std::fs::create_dir(room.root()).unwrap();
    let staged = room.root().join("..postroom.0123abcd");
    std::fs::write(&staged, "post").unwrap();
    crate::support::hand::tighten(&staged);
    room.run(["setup", "bob"]).succeeds();
}

#[test]
fn a_directory_with_other_directories_does_not_become_a_room() {
    let room = TestRoom::empty();
    let project = room.around().join("project");
    make(&project.join("src"));
    std::fs::write(project.join("main.rs"), "fn main() {}\n").unwrap();
    let before = tree(&project);
    for arguments in [["setup", "bob"], ["mb", "names"], ["mb", "ensure"]] {
        let run = room.bare(["--root", "project"].into_iter().chain(arguments));
        let ran = if arguments[1] == "ensure" { run.arg("bob") } else { run }.ends();
        assert!([3, 4].contains(&ran.code) && ran.err.contains("room"), "{arguments:?}: {ran:?}");
        assert!(ran.err.lines().count() > 1, "{}", ran.err);
        assert_eq!(tree(&project), before);
    }
}

#[test]
fn a_directory_that_holds_only_files_becomes_a_room_and_they_stay_as_they_are() {
    let room = TestRoom::empty().leaves_faults();
    make(&room.root());
    let files = ["handoff.md", "test.log", ".hidden"].map(|name| room.root().join(name));
    for (file, mode) in files.iter().zip([0o644, 0o666, 0o400]) {
        std::fs::write(file, "not ours\n").unwrap();
        std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
    }
    let picture = || files.iter().map(|f| (mode(f), std::fs::read(f).unwrap())).collect::<Vec<_>>();
    let (before, around) = (picture(), mode(&room.root()));
    // What does not set anything up makes no room there, and looks at nothing.
    for arguments in [vec!["names"], vec!["--as", "bob", "check"], vec!["doctor", "--fix"]] {
        let ran = room.run(arguments).exits(3);
        assert!(ran.err.contains("there is no room at"), "{}", ran.err);
    }
    assert_eq!((picture(), mode(&room.root())), (before.clone(), around));
    for arguments in [
        vec!["setup", "bob"],
        vec!["--as", "bob", "send", "bob", "-m", "hi"],
        vec!["--as", "bob", "read"],
        vec!["doctor", "--fix"],
        vec!["names"],
    ] {
        room.run(arguments).succeeds();
        assert_eq!(picture(), before);
    }
}

#[test]
fn each_mark_of_a_room_is_enough_and_other_directories_in_it_stay_as_they_are() {
    for mark in ["registry.json", ".registry.lock", "carol/inbox"] {
        let room = TestRoom::empty().leaves_faults();
        let docs = room.root().join("docs");
        make(&docs.join("deep"));
        std::fs::write(docs.join("page.md"), "not ours\n").unwrap();
        match mark {
            "registry.json" => std::fs::write(room.root().join(mark), "{}\n").unwrap(),
            ".registry.lock" => std::fs::write(room.root().join(mark), "").unwrap(),
            _ => drop(make(&room.root().join(mark))),
        }
        for (path, mode) in [("docs", 0o755), ("docs/deep", 0o775), ("docs/page.md", 0o644)] {
            std::fs::set_permissions(room.root().join(path), PermissionsExt::from_mode(mode)).unwrap();
        }
        let picture = || (mode(&docs), tree(&docs));
        let before = picture();
        for arguments in [
            vec!["names"],
            vec!["setup", "bob"],
            vec!["setup", "docs-2"],
            vec!["--as", "bob", "send", "@all", "-m", "hi"],
            vec!["--as", "bob", "send", "docs", "-m", "hi"],
            vec!["--as", "docs", "check"],
            vec!["--as", "bob", "search", "hi"],
            vec!["--as", "bob", "read"],
            vec!["prune", "--archived", "0s", "--yes"],
            vec!["doctor"],
            vec!["doctor", "--fix"],
        ] {
            let ran = room.run(arguments.clone()).ends();
            assert!(!ran.err.contains("there is no room"), "{mark}: {arguments:?}: {ran:?}");
            assert_eq!(picture(), before, "{mark}: {arguments:?}: {ran:?}");
        }
        assert!(room.run(["names"]).succeeds().out.contains("bob "), "{mark}");
    }
}

#[test]
fn a_directory_that_is_no_room_is_left_alone() {
    // A mistyped --root once set the modes of a whole project, and `doctor --fix` made folders in it.
    let room = TestRoom::empty();
    let project = room.around().join("project");
    make(&project.join("src"));
    std::fs::write(project.join("src/main.rs"), "fn main() {}\n").unwrap();
    for path in [&project, &project.join("src")] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let picture = || (project.metadata().unwrap().permissions().mode(), tree(&project));
    let before = picture();
    let root = project.to_str().unwrap();
    for arguments in [
        vec!["names"],
        vec!["check"],
        vec!["--as", "src", "check"],
        vec!["log"],
        vec!["doctor"],
        vec!["doctor", "--fix"],
    ] {
        let ran = room.bare(["--root", root].into_iter().chain(arguments.clone())).exits(3);
        assert!(ran.err.contains("there is no room at"), "{arguments:?}: {}", ran.err);
        assert_eq!(picture(), before, "{arguments:?}");
    }
}

#[test]
fn a_room_made_by_hand_is_a_room() {
    let room = TestRoom::empty();
    for folder in ["bob/tmp", "bob/inbox", "bob/archive"] {
        make(&room.root().join(folder));
    }
    room.bash("chmod -R go-rwx \"$POSTROOM_ROOT\"").succeeds();
    room.by("bob", ["check"]).exits(1);
    room.by("bob", ["send", "bob", "-m", "to myself"]).succeeds();
    room.by("bob", ["read"]).succeeds();
}

#[test]
fn the_path_of_a_room_may_be_relative() {
    let room = TestRoom::empty();
    make(&room.around().join("sub"));
    let made = room.bare(["--root", "room", "setup", "bob", "--json"]).json();
    assert_eq!(made["root"], room.root().canonicalize().unwrap().to_str().unwrap());
    let seen = room.bare(["--root", "../room", "names"]).within(&room.around().join("sub")).succeeds();
    assert!(seen.out.starts_with("bob "), "{}", seen.out);
}

#[test]
fn links_on_the_way_to_a_room_are_refused() {
    let room = TestRoom::with(&["bob"]);
    symlink(room.root(), room.around().join("link")).unwrap();
    symlink(room.around(), room.around().join("above")).unwrap();
    for root in ["link", "above/room"] {
        let ran = room.bare(["--root", root, "--as", "bob", "check"]).exits(4);
        assert!(
            ran.err.contains("is a symbolic link") && ran.err.contains("links are not followed"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_room_where_others_could_swap_it_is_refused() {
    let room = TestRoom::empty();
    let open = room.around().join("open");
    make(&open);
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    let ran = room.bare(["--root", "open/room", "setup", "bob"]).exits(4);
    assert!(ran.err.contains("chmod go-w"), "{}", ran.err);
    assert!(!open.join("room").exists());
}

#[test]
fn a_newer_room_is_only_read() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "hi");
    std::fs::write(room.root().join(".postroom"), "postroom 2\n").unwrap();
    std::fs::remove_file(room.root().join(room.id("bob")).join("seen")).unwrap();
    // Here even the marks count that a comparison of mail leaves out.
    let all = || room.bash("cd \"$POSTROOM_ROOT\" && find . | sort && cat registry.json").succeeds().out;
    let before = all();
    room.by("bob", ["check"]).succeeds();
    room.by("bob", ["read", "--keep"]).succeeds();
    room.by("bob", ["wait", "--timeout", "0"]).succeeds();
    room.run(["names"]).succeeds();
    room.run(["doctor"]).succeeds();
    for arguments in [
        vec!["send", "alice", "-m", "x"],
        vec!["reply", &id, "-m", "x"],
        vec!["archive", &id],
        vec!["setup", "--about", "x"],
        vec!["doctor", "--fix"],
    ] {
        let ran = room.by("bob", arguments.clone()).exits(4);
        assert!(
            ran.err.contains("format 2") && ran.err.contains("newer postroom"),
            "{arguments:?}: {}",
            ran.err
        );
    }
    assert_eq!(all(), before);
    std::fs::write(room.root().join(".postroom"), "postroom 1\n").unwrap();
}

#[test]
fn a_hostile_room_name_is_refused() {
    let room = TestRoom::empty();
    for name in ["../x", "/tmp/x", "", ".", "..", "a/b", "a b", "-rf", "~", &"x".repeat(65)] {
        let ran = room.bare(["setup", "bob"]).arg(format!("--room={name}")).ends();
        assert!([2, 4].contains(&ran.code), "{name:?}: {ran:?}");
    }
    assert!(!room.around().join("home").exists());
}

#[test]
fn root_and_room_together_are_a_mistake_of_usage() {
    let room = TestRoom::empty();
    room.run(["--room", "x", "names"]).exits(2);
}
