//! One repository, one room: worktrees, submodules, moved and copied repositories, and directories that are no repository.

use std::path::{Path, PathBuf};

use crate::support::room::{Ran, TestRoom};

/// A home with repositories in it.
struct Site {
    room: TestRoom,
}

impl Site {
    fn new() -> Self {
        Self { room: TestRoom::empty() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.room.around().canonicalize().unwrap().join(path)
    }

    /// Runs git, which the tests need and Postroom does not.
    fn git(&self, within: &str, arguments: &str) {
        let dir = self.path(within);
        std::fs::create_dir_all(&dir).unwrap();
        let names =
            "-c user.name=t -c user.email=t@t -c init.defaultBranch=main -c protocol.file.allow=always";
        self.room
            .bash(&format!("cd '{}' && git {names} {arguments} >/dev/null 2>&1", dir.display()))
            .succeeds();
    }

    fn repository(&self, path: &str) {
        self.git(path, "init");
        self.git(path, "commit --allow-empty -m first");
    }

    fn run<'a>(&self, within: &str, arguments: impl IntoIterator<Item = &'a str>) -> Ran {
        let dir = self.path(within);
        std::fs::create_dir_all(&dir).unwrap();
        self.room.bare(arguments).within(&dir).ends()
    }

    /// Sets somebody up, and says in which room.
    fn setup(&self, within: &str, name: &str) -> String {
        let ran = self.run(within, ["setup", name, "--json"]);
        assert_eq!(ran.code, 0, "{within}: {ran:?}");
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let root = Path::new(told["root"].as_str().unwrap());
        let rooms = self.path("home/.local/state/postroom/rooms");
        assert_eq!(root.parent(), Some(rooms.as_path()), "{told}");
        assert_eq!(told["room"], root.file_name().unwrap().to_str().unwrap(), "{told}");
        told["room"].as_str().unwrap().to_owned()
    }

    /// The room that a command is about.
    fn room_of(&self, within: &str) -> String {
        let ran = self.run(within, ["names", "--json"]);
        let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        told["room"].as_str().unwrap_or_else(|| panic!("{within}: {ran:?}")).to_owned()
    }
}

#[test]
fn two_repositories_have_two_rooms_and_their_worktrees_share_them() {
    let site = Site::new();
    for name in ["web", "api"] {
        site.repository(name);
        site.git(name, &format!("worktree add ../{name}-fix"));
    }
    assert_eq!(site.setup("web/src/deep", "coder"), "web");
    assert_eq!(site.setup("api-fix", "coder"), "api");
    for (within, room) in [("web", "web"), ("web-fix", "web"), ("web-fix/src", "web"), ("api/src", "api")] {
        assert_eq!(site.room_of(within), room, "{within}");
    }
    let sent = site.run("web", ["--as", "coder", "send", "coder", "-m", "for web alone"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    assert_eq!(site.run("web-fix", ["--as", "coder", "check", "--count"]).out, "1\n");
    assert_eq!(site.run("api", ["--as", "coder", "check", "--count"]).out, "0\n");
    assert_eq!(site.setup("elsewhere", "coder"), "main");
}

#[test]
fn a_repository_has_no_room_until_somebody_sets_up() {
    let site = Site::new();
    site.repository("web");
    site.setup("elsewhere", "coder");
    for arguments in
        [&["--as", "coder", "check"][..], &["names"], &["--as", "coder", "send", "coder", "-m", "x"]]
    {
        let ran = site.run("web", arguments.iter().copied());
        assert_eq!(ran.code, 3, "never the room `main`: {ran:?}");
        assert!(ran.err.contains("rooms/web") && ran.err.contains("postroom setup  # "), "{ran:?}");
    }
    let ran = site.run("web", ["adopt", "."]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(!site.path("home/.local/state/postroom/rooms/web").exists());
    assert_eq!(site.setup("web", "coder"), "web");
}

#[test]
fn repositories_of_one_name_and_reserved_names_get_a_number() {
    let site = Site::new();
    for (path, room) in [
        ("a/web", "web"),
        ("b/web", "web-2"),
        ("c/Web", "web-3"),
        ("main", "main-2"),
        ("tmp", "tmp-2"),
        ("d/日本", "room"),
    ] {
        site.repository(path);
        assert_eq!(site.setup(path, "coder"), room, "{path}");
    }
    assert_eq!(site.room_of("b/web"), "web-2");
}

#[test]
fn many_who_set_up_at_once_get_one_room() {
    for _ in 0..4 {
        let site = Site::new();
        site.repository("web");
        let begin =
            |n: usize| site.room.bare(["setup"]).arg(format!("agent-{n}")).within(&site.path("web")).start();
        let racing: Vec<_> = (0..6).map(begin).collect();
        for child in racing {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(site.run("web", ["names"]).out.lines().count(), 6);
    }
}

#[test]
fn a_submodule_uses_the_room_of_its_superproject() {
    let site = Site::new();
    site.repository("lib");
    site.repository("web");
    site.git("web", "submodule add ../lib lib");
    assert_eq!(site.setup("web/lib", "coder"), "web");
    assert_eq!(site.room_of("web"), "web");
    assert_eq!(site.setup("lib", "coder"), "lib");
}

#[test]
fn a_moved_repository_keeps_its_room_and_a_copy_gets_its_own() {
    let site = Site::new();
    site.repository("web");
    site.setup("web", "coder");
    site.room
        .bash(&format!("cp -a '{}' '{}'", site.path("web").display(), site.path("copy").display()))
        .succeeds();
    assert_eq!(site.setup("copy", "coder"), "copy");
    std::fs::rename(site.path("web"), site.path("shop")).unwrap();
    let told = site.run("shop", ["names"]);
    assert!(told.err.contains("its room `web` came with it"), "{told:?}");
    assert!(site.run("shop", ["names"]).err.is_empty(), "told once");
    assert_eq!(site.room_of("shop"), "web");
    // A clone in the old place is at the same path, and that is the same room.
    site.repository("web");
    assert_eq!(site.room_of("web"), "web");
    let listed = site.run(".", ["rooms"]);
    assert!(!listed.out.contains("(gone)"), "{listed:?}");
    assert_eq!(site.run(".", ["rooms", "prune", "--yes"]).code, 1, "every repository is there");
}

#[test]
fn a_broken_link_is_not_taken_for_a_repository_without_a_room() {
    let site = Site::new();
    site.repository("web");
    site.setup("web", "coder");
    let links = site.path("home/.local/state/postroom/rooms/.repositories");
    for text in ["{", "{\"v\":1,\"room\":\"../x\",\"path\":\"/p\",\"device\":1,\"inode\":1}"] {
        for file in std::fs::read_dir(&links).unwrap() {
            std::fs::write(file.unwrap().path(), text).unwrap();
        }
        for arguments in [["names", "--json"], ["setup", "other"]] {
            let ran = site.run("web", arguments);
            assert!(ran.code == 4 && (ran.err + &ran.out).contains(".repositories/p"), "{arguments:?}");
        }
    }
}

#[test]
fn bare_repositories_and_dotfiles() {
    let site = Site::new();
    site.repository("origin");
    site.git("p", "clone --bare ../origin .bare");
    std::fs::write(site.path("p/.git"), "gitdir: ./.bare\n").unwrap();
    site.git("p", "worktree add main");
    assert_eq!(site.setup("p/main", "coder"), "p");
    assert_eq!((site.room_of("p"), site.room_of("p/.bare")), ("p".into(), "p".into()));
    site.git(".", "clone --bare origin x.git");
    assert_eq!(site.setup("x.git", "coder"), "x");
    site.git("home", "init");
    assert_eq!(site.setup("home/notes", "coder"), "main", "dotfiles are no project");
}

#[test]
fn a_git_file_that_leads_nowhere_is_an_error() {
    let site = Site::new();
    site.setup("elsewhere", "coder");
    std::fs::create_dir_all(site.path("broken/src")).unwrap();
    std::fs::write(site.path("broken/.git"), "gitdir: ../gone/.git/worktrees/broken\n").unwrap();
    let ran = site.run("broken/src", ["--as", "coder", "check"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.err.contains("broken/.git") && ran.err.contains("--room NAME"), "{ran:?}");
    assert_eq!(site.run("broken", ["--room", "main", "--as", "coder", "check"]).code, 1);
}

#[test]
fn a_project_file_comes_before_the_repository() {
    let site = Site::new();
    site.repository("web");
    std::fs::write(site.path("web/postroom.toml"), "room = \"shared\"\n").unwrap();
    assert_eq!(site.setup("web", "coder"), "shared");
}

#[test]
fn rooms_are_listed_with_their_repositories_and_what_waits() {
    let site = Site::new();
    assert_eq!(site.run(".", ["rooms"]).code, 1);
    site.repository("web");
    site.setup("web", "coder");
    site.setup("elsewhere", "tester");
    site.run("web", ["--as", "coder", "send", "coder", "-m", "x"]);
    let common = site.path("web/.git");
    let listed = site.run(".", ["rooms"]);
    let wanted = format!("main unread=0 running=0\nweb unread=1 running=0 {}\n", common.display());
    assert_eq!((listed.code, listed.out.as_str()), (0, wanted.as_str()), "{listed:?}");
    let told: serde_json::Value = serde_json::from_str(&site.run(".", ["rooms", "--json"]).out).unwrap();
    assert_eq!(told["rooms"][1]["repositories"][0], common.to_str().unwrap(), "{told}");
    // A name of another room is not taken for one of this room, and is not silently unknown either.
    let ran = site.run("elsewhere", ["--as", "tester", "send", "coder", "-m", "x"]);
    assert!(ran.code == 3 && ran.err.contains("coder@web"), "{ran:?}");
}

#[test]
fn a_room_follows_its_repository_to_another_disk_and_goes_when_it_is_gone() {
    let site = Site::new();
    site.repository("web");
    site.setup("web", "coder");
    site.room
        .bash(&format!(
            "cp -a '{0}' '{1}' && rm -rf '{0}'",
            site.path("web").display(),
            site.path("new").display()
        ))
        .succeeds();
    assert!(site.run(".", ["rooms"]).out.contains("(gone)"));
    assert_eq!(site.run("new", ["names"]).code, 3, "a copy has no room");
    let ran = site.run(".", ["rooms", "relink", "web", "new"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(site.room_of("new"), "web");
    assert_eq!(site.run(".", ["rooms", "prune", "--yes"]).code, 1);
    assert_eq!(site.run(".", ["rooms", "relink", "shop", "new"]).code, 3);
    assert_eq!(site.run(".", ["rooms", "relink", "web", "home"]).code, 3);
    std::fs::remove_dir_all(site.path("new")).unwrap();
    let ran = site.run(".", ["rooms", "prune"]);
    assert!(ran.code == 4 && ran.out.contains("would remove the room web"), "{ran:?}");
    let ran = site.run(".", ["rooms", "prune", "--yes"]);
    assert!(ran.code == 0 && ran.out.contains("rooms/.trash/web-"), "{ran:?}");
    assert_eq!(site.run(".", ["rooms"]).code, 1);
}

/// The other repository would have lost its room without a word, and its agents their mail.
#[test]
fn a_room_is_not_taken_from_a_repository_that_exists() {
    let site = Site::new();
    for name in ["web", "shop", "new"] {
        site.repository(name);
    }
    site.setup("web", "coder");
    site.setup("shop", "seller");
    let ran = site.run(".", ["rooms", "relink", "web", "new"]);
    assert!(ran.code == 4 && ran.err.contains("--force") && ran.err.contains("web/.git"), "{ran:?}");
    let ran = site.run(".", ["rooms", "relink", "web", "shop"]);
    assert!(ran.code == 4 && site.room_of("shop") == "shop" && site.room_of("web") == "web", "{ran:?}");
    assert_eq!(site.run(".", ["rooms", "relink", "web", "web"]).code, 0, "its own room");
    std::fs::remove_dir_all(site.path("web")).unwrap();
    let ran = site.run(".", ["rooms", "relink", "web", "shop"]);
    assert!(ran.code == 4 && ran.err.contains("has the room shop"), "{ran:?}");
    assert_eq!(site.run(".", ["rooms", "relink", "web", "shop", "--force"]).code, 0);
    assert_eq!(site.room_of("shop"), "web");
}

#[test]
fn finding_the_room_costs_little() {
    if !crate::support::edges_strike::can_be_struck("finding_the_room_costs_little") {
        return;
    }
    let site = Site::new();
    site.repository("web");
    site.setup("web", "coder");
    site.git("web", "worktree add ../fix");
    let count = |within: &str, more: &str| {
        let log = site.path("log");
        let dir = site.path(within);
        std::fs::create_dir_all(&dir).unwrap();
        let script = format!(
            "cd '{}' && env -u POSTROOM_ROOT strace -o '{}' postroom {more} --as coder check; exit $?",
            dir.display(),
            log.display()
        );
        assert_eq!(site.room.bash(&script).ends().code, 1);
        let text = std::fs::read_to_string(&log).unwrap();
        // A build for tests looks at every descriptor before it closes it.
        let own =
            text.lines().skip_while(|line| !line.starts_with("execve")).filter(|l| !l.contains("F_GETFD"));
        (own.count(), dir.components().count())
    };
    let root = site.path("home/.local/state/postroom/rooms/web");
    let (named, _) = count("web", &format!("--root '{}'", root.display()));
    let common = site.path("web/.git").components().count();
    // In a worktree the way to the repository is looked at, too.
    let more = common;
    for (within, more) in [("web", 0), ("web/a/b/c", 0), ("fix", more), ("fix/a/b", more)] {
        let (found, levels) = count(within, "");
        let levels = levels + more;
        assert!(
            found <= named + 6 + 2 * levels,
            "{within}: {found} calls, {named} with --root, {levels} levels"
        );
    }
}

#[test]
fn an_agent_that_goes_elsewhere_stays_who_it_is() {
    let site = Site::new();
    for name in ["web", "api"] {
        site.repository(name);
        site.setup(name, "coder");
    }
    let bare = |within: &str, arguments: &[&str]| {
        site.room.bare(arguments.iter().copied()).within(&site.path(within)).env("CODEX_THREAD_ID", "t1")
    };
    bare("web", &["setup", "worker"]).succeeds();
    // What a daemon leaked from another thread does not count either.
    let leaked = site.path("leaked");
    let who = |within: &str| {
        let run = bare(within, &["whoami", "--json"]);
        let told = run.env("AGENT_MAILBOX_ID", "coder").env("POSTROOM_ROOT", leaked.to_str().unwrap()).json();
        (told["room"].as_str().unwrap().to_owned(), told["name"].as_str().unwrap().to_owned())
    };
    for within in ["web", "api", "."] {
        assert_eq!(who(within), ("web".into(), "worker".into()), "{within}");
    }
    // What is about a project is about the one that it stands in, and says so where that is another.
    let ran = bare("api", &["agents"]).exits(4);
    assert!(ran.err.contains("rooms/web") && ran.err.contains("rooms/api"), "{ran:?}");
    assert_eq!(bare("api", &["--room", "api", "agents"]).ends().code, 1);
    assert_eq!(bare("web", &["agents"]).ends().code, 1);
}

#[test]
fn hooks_look_from_where_their_session_works() {
    let site = Site::new();
    site.repository("web");
    site.setup("web", "coder");
    let input = format!("{{\"session_id\":\"s1\",\"cwd\":\"{}\"}}", site.path("web").display());
    let script = format!(
        "printf '%s' '{input}' | env -u POSTROOM_ROOT postroom hook claude session-start --name coder"
    );
    let ran = site.room.bash(&script).succeeds();
    assert!(ran.out.contains("coder"), "{ran:?}");
}

#[test]
fn a_repository_in_another_is_its_submodule_only_if_that_says_so() {
    let site = Site::new();
    site.repository("web");
    site.repository("web/vendor/lib");
    site.repository("web/vendor/other");
    std::fs::write(site.path("web/.gitmodules"), "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = x\n")
        .unwrap();
    assert_eq!(site.setup("web/vendor/lib", "one"), "web");
    assert_eq!(site.setup("web/vendor/other", "two"), "other");
    assert_eq!(site.room_of("web"), "web");
}
