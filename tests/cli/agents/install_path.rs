//! Which path of `postroom` an agent program is given, and the link on the search path that a person is offered.

use std::path::{Path, PathBuf};

use crate::agents::install::{home, read, settled};
use crate::support::room::{Run, TestRoom};
use crate::support::staffed::program;

/// The binary at another place, as a package manager would put it there.
fn placed(room: &TestRoom, path: &str) -> PathBuf {
    let path = home(room).join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_postroom"));
    std::fs::hard_link(binary, &path).or_else(|_| std::fs::copy(binary, &path).map(|_| ())).unwrap();
    path
}

/// `postroom install claude` by that binary, with these directories on the search path.
fn install(room: &TestRoom, binary: &Path, path: &[&Path]) -> Run {
    let path = std::env::join_paths(path.iter().copied().chain([Path::new("/usr/bin"), Path::new("/bin")]));
    room.bash("exec \"$BINARY\" install claude --mcp").env("BINARY", binary).env("PATH", path.unwrap())
}

fn registered(room: &TestRoom) -> String {
    let settings: serde_json::Value = serde_json::from_str(&read(room, ".claude.json")).unwrap();
    settings["mcpServers"]["postroom"]["command"].as_str().unwrap().to_owned()
}

#[test]
fn a_launcher_on_the_search_path_is_not_registered_but_the_binary() {
    let room = settled();
    let bin = room.around().join("bin");
    program(&room, "postroom", "exec node elsewhere");
    let own = placed(&room, "lib/node_modules/postroom/node_modules/postroom-linux-x64/bin/postroom");
    let ran = install(&room, &own, &[&bin]).succeeds();
    assert_eq!(registered(&room), own.display().to_string());
    assert!(!ran.err.contains("was registered, but"), "{ran:?}");
    assert!(!ran.out.contains("search path; agents"), "the launcher is there: {ran:?}");
    std::fs::create_dir_all(home(&room).join(".local/bin")).unwrap();
    let ran = install(&room, &own, &[&bin]).succeeds();
    assert!(ran.out.contains("is a script that starts postroom") && ran.out.contains("ln -s "), "{ran:?}");
    // A binary further on is on the search path, and so lasts longer than what an upgrade of the package replaces.
    let later = placed(&room, "opt/postroom");
    install(&room, &own, &[&bin, later.parent().unwrap()]).succeeds();
    assert_eq!(registered(&room), later.display().to_string());
}

#[test]
fn a_path_in_a_cache_is_registered_only_without_another_and_with_a_warning() {
    let room = settled();
    let cached = placed(&room, ".npm/_npx/0a1b/node_modules/postroom-linux-x64/bin/postroom");
    let on_path = cached.parent().unwrap();
    let ran = install(&room, &cached, &[on_path]).succeeds();
    assert_eq!(registered(&room), cached.display().to_string());
    assert!(ran.err.contains("was registered, but it is in a cache, which may be emptied"), "{ran:?}");
    // No line to paste would make a link that lasts.
    std::fs::create_dir_all(home(&room).join(".local/bin")).unwrap();
    let ran = install(&room, &cached, &[]).succeeds();
    assert!(ran.out.contains("so put it there") && !ran.out.contains("ln -s"), "{ran:?}");
    let kept = placed(&room, "opt/postroom");
    let ran = install(&room, &cached, &[on_path, kept.parent().unwrap()]).succeeds();
    assert_eq!(registered(&room), kept.display().to_string());
    assert!(!ran.err.contains("was registered, but"), "{ran:?}");
}

#[test]
fn without_a_terminal_the_line_to_paste_is_printed() {
    let room = settled();
    let own = placed(&room, "opt/post room/postroom");
    let ran = install(&room, &own, &[]).succeeds();
    assert!(ran.out.contains("agents call it by that name, so put it there"), "{ran:?}");
    // The directory is there, or would be searched if it were.
    let bin = home(&room).join(".local/bin");
    let ran = install(&room, &own, &[&bin]).succeeds();
    let (_, line) = ran.out.split_once("agents call it by that name: ").unwrap_or_else(|| panic!("{ran:?}"));
    assert!(!bin.join("postroom").exists());
    room.bash(line).succeeds();
    assert_eq!(bin.join("postroom").canonicalize().unwrap(), own.canonicalize().unwrap());
    let ran = install(&room, &own, &[&bin]).succeeds();
    assert!(!ran.out.contains("agents call it"), "{ran:?}");
    assert_eq!(registered(&room), bin.join("postroom").display().to_string());
}

#[test]
fn a_person_is_asked_before_a_link_is_made() {
    let room = settled();
    let own = placed(&room, "opt/postroom");
    let bin = home(&room).join(".local/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let link = bin.join("postroom");
    let ran = install(&room, &own, &[]).by_doubter().with(0);
    assert!(ran.out.contains("ln -s ") && !link.is_symlink(), "{ran:?}");
    // What a removed package left behind is in nobody's way.
    std::os::unix::fs::symlink("/nonexistent/postroom", &link).unwrap();
    let ran = install(&room, &own, &[]).by_person().with(0);
    assert!(ran.out.contains(&format!("linked {}; log in again", link.display())), "{ran:?}");
    assert_eq!(std::fs::read_link(&link).unwrap(), own);
    // What somebody else put there stays.
    std::fs::remove_file(&link).unwrap();
    std::fs::write(&link, "theirs").unwrap();
    let ran = install(&room, &own, &[]).by_person().with(0);
    assert!(ran.err.contains("was not made"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&link).unwrap(), "theirs");
    // In the session of an agent nothing is done, even at a terminal.
    std::fs::remove_file(&link).unwrap();
    let ran = install(&room, &own, &[]).env("CLAUDECODE", "1").by_person().with(4);
    assert!(ran.err.contains("session of an agent") && !link.is_symlink(), "{ran:?}");
}
