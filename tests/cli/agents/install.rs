//! Installing into settings as people have them, and taking everything out again.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::picture::{Tree, tree};
use crate::support::room::{Run, TestRoom};
use crate::support::staffed::{program, with_path};

const PROGRAMS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "copilot"];

/// Settings with unknown keys and hooks of other tools, and with comments and trailing commas where the program allows it.
const NASTY: [(&str, &str); 8] = [
    (
        ".claude/settings.json",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [ {\"hooks\": [{\"type\":\"command\",\"command\":\"beep\"}]} ],\n\t\t\"Future\": {\"x\": 1}\n\t},\n\t\"permissions\": {\"allow\": [\"Bash(ls)\"], \"deny\": []},  \"unknown\" : [1,2\n] }",
    ),
    (
        ".claude.json",
        "{\"hasCompletedOnboarding\":true,\"projects\":{\"/a\":{\"x\":[]}},\"mcpServers\":{\"z\":{\"command\":\"z\"}}}",
    ),
    (
        ".codex/config.toml",
        "# mine\nmodel = \"x\"   # why\n\n[mcp_servers.z]\ncommand = 'z'\n\n[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\", # one\n]\n\n[hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
    ),
    (".codex/hooks.json", "{\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n    ]\r\n  }\r\n}\r\n"),
    (
        ".gemini/settings.json",
        "\u{feff}{ /* c */ \"security\": {\"auth\": {}},\n\n\n  \"hooks\": {\"AfterTool\": [{\"matcher\": \"*\", \"hooks\": [{\"command\": \"x\"}]}]}}",
    ),
    (
        ".config/opencode/opencode.json",
        "{\n  \"$schema\": \"s\",\n  \"permission\": \"ask\", // all\n  \"mcp\": {},\n}\n",
    ),
    (".copilot/mcp-config.json", "{}"),
    (".agents/skills/other/SKILL.md", "theirs"),
];

pub(crate) fn home(room: &TestRoom) -> PathBuf {
    room.around().join("home")
}

/// A home with settings, and programs that only say their version.
pub(crate) fn settled() -> TestRoom {
    let room = TestRoom::with(&["alice"]);
    for (path, text) in NASTY {
        let path = home(&room).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for name in PROGRAMS {
        program(&room, name, "case $1 in --version) echo 9.9.999;; mcp) echo postroom;; esac");
    }
    room
}

pub(crate) fn postroom<'a>(room: &TestRoom, arguments: impl IntoIterator<Item = &'a str>) -> Run {
    with_path(room, room.run(arguments))
}

/// The home without the state of postroom.
pub(crate) fn picture(room: &TestRoom) -> Tree {
    let mut tree = tree(&home(room));
    tree.retain(|path, _| !path.starts_with(".local"));
    tree
}

pub(crate) fn write(room: &TestRoom, path: &str, text: &str) {
    let path = home(room).join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn read(room: &TestRoom, path: &str) -> String {
    std::fs::read_to_string(home(room).join(path)).unwrap()
}

#[test]
fn what_was_there_comes_back_to_the_byte() {
    let room = settled();
    let before = tree(&home(&room));
    for name in PROGRAMS {
        let ran = postroom(&room, ["install", name, "--mcp"]).succeeds();
        assert!(ran.out.contains("written ") && ran.out.contains("9.9.999"), "{}", ran.out);
        let again = postroom(&room, ["install", name]).succeeds();
        assert!(again.out.contains("in its place already"), "{}", again.out);
        let check = postroom(&room, ["install", name, "--check"]).ends();
        assert!(check.out.starts_with(&format!("{name} user current (9.9.999)")), "{check:?}");
        // The stand-in has no server that tells of trust, and what is not known is not taken for granted.
        assert_eq!(check.code, i32::from(name == "codex"), "{check:?}");
    }
    let installed = tree(&home(&room));
    for (path, text) in NASTY.iter().filter(|(path, _)| !path.contains("skills") && !path.contains("copilot"))
    {
        let now = std::fs::read_to_string(home(&room).join(path)).unwrap();
        assert!(now.contains("postroom") && now != *text, "{path}");
        for kept in [
            "\"command\":\"beep\"",
            "\"unknown\" : [1,2\n]",
            "\"Future\"",
            "# why",
            "# one",
            "/* c */",
            "// all",
        ] {
            assert_eq!(text.contains(kept), now.contains(kept), "{path}: {now}");
        }
    }
    assert!(installed.len() > before.len() + 20);
    for name in PROGRAMS {
        postroom(&room, ["uninstall", name]).succeeds();
        postroom(&room, ["uninstall", name]).exits(1);
    }
    let mut after = tree(&home(&room));
    after.retain(|path, _| !path.contains(".local"));
    let mut before = before;
    before.retain(|path, _| !path.contains(".local"));
    assert_eq!(after, before);
}

#[test]
fn a_project_gets_its_own_and_gives_it_back() {
    let room = settled();
    let project = room.around().join("work");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::create_dir_all(project.join(".claude")).unwrap();
    std::fs::write(project.join(".claude/settings.json"), "{ }  \n").unwrap();
    let before = tree(&project);
    for name in PROGRAMS {
        postroom(&room, ["install", name, "--project"]).within(&project.join("src")).succeeds();
    }
    let settings = std::fs::read_to_string(project.join(".claude/settings.json")).unwrap();
    let own = room.around().display().to_string();
    assert!(
        settings.contains("command -v postroom") && !settings.contains(&own),
        "no path of this machine: {settings}"
    );
    for name in PROGRAMS {
        postroom(&room, ["uninstall", name, "--project"]).within(&project).succeeds();
    }
    assert_eq!(tree(&project), before);
}

#[test]
fn settings_that_do_not_parse_are_refused_with_the_line_and_nothing_is_changed() {
    let room = settled();
    let bad = home(&room).join(".claude.json");
    std::fs::write(&bad, "{\n  \"a\": 1,\n  \"b\" 2\n}\n").unwrap();
    let before = tree(&home(&room));
    let ran = postroom(&room, ["install", "claude", "--mcp"]).exits(4);
    assert!(ran.err.contains(".claude.json: line 3") && ran.err.contains("correct the file"), "{}", ran.err);
    let mut after = tree(&home(&room));
    after.retain(|path, _| !path.contains(".local"));
    assert_eq!(after, before, "also the files that could be read");
}

#[test]
fn what_is_not_installed_or_not_writable_is_told() {
    let room = TestRoom::with(&["alice"]);
    let ran = room.run(["install", "gemini"]).exits(3);
    assert!(ran.err.contains("Gemini CLI is not installed"), "{}", ran.err);
    room.run(["install", "vim"]).exits(2);
    let room = settled();
    let path = home(&room).join(".gemini/settings.json");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let ran = postroom(&room, ["install", "gemini"]).exits(4);
    assert!(ran.err.contains("settings.json is read-only"), "{}", ran.err);
    std::fs::create_dir_all(home(&room).join(".claude/skills/mailbox")).unwrap();
    std::fs::write(home(&room).join(".claude/skills/mailbox/SKILL.md"), "theirs").unwrap();
    let ran = postroom(&room, ["install", "claude"]).exits(4);
    assert!(ran.err.contains("not postroom's") && ran.err.contains("--replace"), "{}", ran.err);
    postroom(&room, ["install", "claude", "--replace"]).succeeds();
    postroom(&room, ["uninstall", "claude"]).succeeds();
    assert_eq!(
        std::fs::read_to_string(home(&room).join(".claude/skills/mailbox/SKILL.md")).unwrap(),
        "theirs"
    );
    // A name is one in the room of each session, and here it is made.
    let ran = postroom(&room, ["install", "claude", "--replace", "--name", "dora"]).succeeds();
    assert!(ran.out.contains("made the mailbox dora"), "{}", ran.out);
    assert!(room.run(["names"]).succeeds().out.contains("dora"));
    let ran = postroom(&room, ["install", "claude", "--name", "dora"]).succeeds();
    assert!(!ran.out.contains("made the mailbox"), "{}", ran.out);
    postroom(&room, ["install", "claude", "--name", "../x"]).exits(4);
}

#[test]
fn sandboxed_programs_may_write_in_rooms_and_sessions_alone() {
    let room = settled();
    let state = home(&room).join(".local/state/postroom");
    let roots =
        [state.join("rooms"), state.join("sessions"), room.root()].map(|path| path.display().to_string());
    for program in ["claude", "codex", "opencode"] {
        postroom(&room, ["install", program]).succeeds();
    }
    let file = |path: &str| std::fs::read_to_string(home(&room).join(path)).unwrap();
    let settings =
        [file(".claude/settings.json"), file(".codex/config.toml"), file(".config/opencode/opencode.json")];
    for text in &settings {
        assert!(roots.iter().all(|root| text.contains(root.as_str())), "{text}");
        assert!(!text.contains(&format!("\"{}\"", state.display())), "{text}");
    }
    assert!(state.join("rooms").is_dir() && state.join("sessions").is_dir());
}

#[test]
fn a_change_by_hand_is_seen_and_kept() {
    let room = settled();
    postroom(&room, ["install", "claude"]).succeeds();
    let path = home(&room).join(".claude/settings.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("Bash(ls)", "Bash(pwd)").replace(" hook claude stop", " hook claude stop --x"),
    )
    .unwrap();
    let ran = postroom(&room, ["install", "claude", "--check"]).exits(1);
    assert!(ran.out.contains("claude user drifted") && ran.out.contains("settings.json"), "{}", ran.out);
    let document = postroom(&room, ["install", "claude", "--check", "--json"]).json();
    assert_eq!(document["programs"][0]["state"], "drifted", "{document}");
    let ran = postroom(&room, ["uninstall", "claude"]).succeeds();
    assert!(ran.out.contains("removed from ") && ran.out.contains("removed /"), "{}", ran.out);
    let left = std::fs::read_to_string(&path).unwrap();
    assert!(left.contains("Bash(pwd)") && !left.contains("postroom") && left.contains("beep"), "{left}");
}

#[test]
fn an_installed_hook_works_and_does_nothing_without_postroom() {
    let room = settled();
    postroom(&room, ["install", "claude", "--name", "alice"]).succeeds();
    let text = std::fs::read_to_string(home(&room).join(".claude/settings.json")).unwrap();
    let line = text.split('"').find(|word| word.contains(" hook claude session-start")).unwrap();
    assert!(line.starts_with("test -x ") && line.ends_with("--name alice"), "{line}");
    let ran = room.bash(line).input("{\"session_id\":\"s\",\"hook_event_name\":\"SessionStart\"}").succeeds();
    assert!(ran.out.contains("the mailbox alice"), "{ran:?}");
    let own = env!("CARGO_BIN_EXE_postroom");
    let ran = room.bash(&line.replace(own, "/nowhere/postroom")).input("{}").succeeds();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn an_older_program_is_told_and_gets_no_hook_it_does_not_know() {
    let room = settled();
    program(&room, "claude", "echo 1.0.5");
    let ran = postroom(&room, ["install", "claude"]).succeeds();
    assert!(ran.out.contains("tested with 2.1.325"), "{}", ran.out);
    let text = std::fs::read_to_string(home(&room).join(".claude/settings.json")).unwrap();
    assert!(text.contains("PostToolUse") && !text.contains("FileChanged"));
}

#[test]
fn settings_in_every_dress_come_back() {
    let dresses: [(&str, &str, &str); 6] = [
        ("gemini", ".gemini/settings.json", ""),
        ("gemini", ".gemini/settings.json", "\n// only a comment\n"),
        ("gemini", ".gemini/settings.json", "\u{feff}{\r\n  // c\r\n  \"a\": [1\r\n  ]\r\n}\r\n"),
        ("codex", ".codex/config.toml", ""),
        (
            "codex",
            ".codex/config.toml",
            "\u{feff}model = \"x\"\r\n# c\r\n[mcp_servers.z]\r\ncommand = 'z' # d\r\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "# c\n[mcp_servers.postroom]\ncommand = \"mine\"\n[[x]]\nat = 2026-01-01T00:00:00Z",
        ),
    ];
    for (name, path, text) in dresses {
        let room = settled();
        write(&room, path, text);
        postroom(&room, ["install", name, "--mcp"]).succeeds();
        let now = read(&room, path);
        assert!(now.contains("postroom") && text.contains("// c") == now.contains("// c"), "{now}");
        assert_eq!(text.contains("# d"), now.contains("# d"), "{now}");
        postroom(&room, ["uninstall", name]).succeeds();
        assert_eq!(read(&room, path), text);
    }
    let room = settled();
    for (text, told) in
        [("{\"hooks\": {}, \"hooks\": {}}", "twice"), ("[]", "object"), ("{\"a\": 1", "line 1")]
    {
        write(&room, ".gemini/settings.json", text);
        let before = picture(&room);
        assert!(postroom(&room, ["install", "gemini"]).exits(4).err.contains(told));
        assert_eq!(picture(&room), before);
    }
    let mode = PermissionsExt::from_mode(0o640);
    std::fs::set_permissions(home(&room).join(".codex/config.toml"), mode).unwrap();
    postroom(&room, ["install", "codex"]).succeeds();
    postroom(&room, ["uninstall", "codex"]).succeeds();
    let mode = home(&room).join(".codex/config.toml").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    program(&room, "claude", "exit 3");
    let ran = postroom(&room, ["install", "claude"]).succeeds();
    assert!(
        ran.out.contains("of an unknown version could not be asked about: hooks, skill\n"),
        "{}",
        ran.out
    );
}
