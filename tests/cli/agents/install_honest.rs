//! `install` says what is so: what a program does not load is not touched, a plan shows the difference, and what was taken out
//! is called so.

use crate::agents::install::{home, picture, postroom, read, settled, write};
use crate::agents::install_again::times;
use crate::command_line::terminal::lent;
use crate::support::picture::tree;
use crate::support::room::{Run, TestRoom};
use crate::support::staffed::program;

#[test]
fn what_a_program_does_not_load_is_refused_with_the_line_and_nothing_is_changed() {
    let cases = [
        ("claude", ".claude/settings.json", "{\n  // mine\n  \"a\": 1\n}\n", 2),
        ("claude", ".claude.json", "{\n  \"a\": [\n    1\n  ],\n}\n", 4),
        ("codex", ".codex/hooks.json", "{\n  \"hooks\": {} // none\n}\n", 2),
        ("codex", ".codex/config.toml", "model = \"x\"\nb = = 2\n", 2),
        ("gemini", ".gemini/settings.json", "{\n  \"a\": 1, // fine\n  \"b\": {},\n}\n", 3),
    ];
    for (name, path, text, line) in cases {
        let room = settled();
        write(&room, path, text);
        let before = times(room.around());
        let ran = postroom(&room, ["install", name, "--mcp"]).exits(4);
        let place = format!("{}: line {line}, column ", home(&room).join(path).display());
        assert!(ran.err.contains(&place) && ran.err.contains("correct the file first"), "{}", ran.err);
        assert_eq!(times(room.around()), before, "{path}");
    }
}

#[test]
fn the_program_itself_is_believed() {
    let room = settled();
    let settings = home(&room).join(".config/opencode/opencode.json");
    let says = format!(
        "echo 'Error: Configuration is invalid at {}' >&2; echo '↳ got 3' >&2; exit 1",
        settings.display()
    );
    program(&room, "opencode", &format!("case $1 in --version) echo 9.9.999;; debug) {says};; esac"));
    let before = times(room.around());
    let ran = postroom(&room, ["install", "opencode"]).exits(4);
    let told = format!("OpenCode does not load {}: ↳ got 3", settings.display());
    assert!(ran.err.contains(&told) && ran.err.contains("nothing was changed"), "{}", ran.err);
    assert_eq!(times(room.around()), before);
    // A complaint about something else is none about these settings.
    program(
        &room,
        "opencode",
        "case $1 in --version) echo 9.9.999;; debug) echo 'no account'; exit 1;; esac",
    );
    let ran = postroom(&room, ["install", "opencode"]).succeeds();
    assert!(ran.out.contains("could not be asked about: hooks, skill\n"), "{}", ran.out);
    assert!(ran.out.contains("@opencode-ai/plugin"), "what is missing: {}", ran.out);
}

#[test]
fn a_plan_shows_the_difference_and_changes_nothing() {
    let room = settled();
    let before = times(room.around());
    let ran = postroom(&room, ["install", "claude", "--dry-run"]).succeeds();
    let settings = home(&room).join(".claude/settings.json");
    assert!(ran.out.contains(&format!("would change {}\n", settings.display())), "{}", ran.out);
    assert!(ran.out.contains(&format!("would write {}", home(&room).join(".claude/skills").display())));
    for line in [
        "\n+         \"SessionStart\": [\n",
        "Bash(postroom *)",
        "\n-         \"Future\": {\"x\": 1}\n",
        "\n+ ## setup\n",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert_eq!(times(room.around()), before);
    postroom(&room, ["install", "claude"]).succeeds();
    let installed = read(&room, ".claude/settings.json");
    for line in installed.lines().filter(|line| line.contains("hook claude")) {
        assert!(ran.out.contains(line.trim()), "what was shown is what was done: {line}");
    }
    let before = times(room.around());
    assert_eq!(postroom(&room, ["install", "claude", "--dry-run"]).succeeds().out, "nothing would change\n");
    let ran = postroom(&room, ["uninstall", "claude", "--dry-run"]).succeeds();
    assert!(
        ran.out.contains("would remove ") && ran.out.contains("\n-         \"SessionStart\": [\n"),
        "{}",
        ran.out
    );
    assert_eq!(times(room.around()), before);
}

#[test]
fn a_second_installation_changes_no_byte() {
    let room = settled();
    for name in ["claude", "codex", "gemini", "opencode", "copilot"] {
        postroom(&room, ["install", name, "--name", "alice"]).succeeds();
        let before = tree(&home(&room));
        let ran = postroom(&room, ["install", name, "--name", "alice"]).succeeds();
        assert!(ran.out.contains("in its place already"), "{}", ran.out);
        assert!(tree(&home(&room)) == before, "{name}: also the records are as they were");
    }
}

#[test]
fn a_check_is_about_what_is_installed() {
    let room = settled();
    postroom(&room, ["install", "--check"]).exits(1);
    postroom(&room, ["install", "claude"]).succeeds();
    let ran = postroom(&room, ["install", "--check"]).succeeds();
    assert!(ran.out.contains("claude user current") && !ran.out.contains("user missing"), "{}", ran.out);
    let ran = postroom(&room, ["install", "gemini", "--check"]).exits(1);
    // `gemini user missing` was read as a mailbox `user` that is missing.
    let wanted = "Gemini CLI 9.9.999: skill and hooks are not installed for your user\n  postroom ";
    assert!(ran.out.starts_with(wanted) && ran.out.ends_with(" install gemini\n"), "{}", ran.out);
    write(&room, ".claude/skills/mailbox/SKILL.md", "mine");
    postroom(&room, ["install", "--check"]).exits(1);
}

/// It ended with the files that it wrote.
#[test]
fn what_comes_after_an_installation_was_not_told() {
    if !lent("what_comes_after_an_installation_was_not_told") {
        return;
    }
    let room = settled();
    let path = format!("{}:/usr/bin:/bin", room.around().join("bin").display());
    let own = env!("CARGO_BIN_EXE_postroom");
    let line = format!("script -qec \"'{own}' install gemini $MORE\" /dev/null");
    let shown = |more: &str| room.bash(&line).env("PATH", &path).env("MORE", more).ends().out;
    let next = "tell the agent: set up your mailbox as carol";
    assert!(!shown("--dry-run").contains(next), "nothing was installed");
    let told = shown("");
    assert!(told.contains(next), "{told}");
}

#[test]
fn without_a_program_those_that_are_here_are_listed_and_a_person_is_asked() {
    let room = TestRoom::with(&["alice"]);
    let ran = postroom(&room, ["install"]).exits(3);
    assert!(ran.err.contains("no agent program is installed here"), "{}", ran.err);
    let ran = postroom(&room, ["install", "--check"]).exits(1);
    assert!(ran.out.contains("Gemini CLI: not on the search path\n"), "{}", ran.out);
    for name in ["claude", "gemini"] {
        program(&room, name, "case $1 in --version) echo 9.9.999;; esac");
    }
    let ran = postroom(&room, ["install"]).exits(2);
    assert_eq!(ran.out, "claude: Claude Code 9.9.999\ngemini: Gemini CLI 9.9.999\n");
    assert!(ran.err.contains("postroom") && ran.err.contains("install gemini"), "{}", ran.err);
    // Each question was answered with no, and then an error asked for the name of a program.
    let ran = postroom(&room, ["install"]).by_doubter().with(0);
    assert!(!ran.out.contains("written") && !ran.out.contains("name the program"), "{}", ran.out);
    let ran = postroom(&room, ["install"]).by_person().with(0);
    assert!(
        ran.out.contains(".claude/settings.json") && ran.out.contains(".gemini/settings.json"),
        "{}",
        ran.out
    );
    postroom(&room, ["install", "--check"]).succeeds();
}

#[test]
fn the_server_is_registered_only_if_that_is_wanted() {
    let room = settled();
    let before = picture(&room);
    let has = |path: &str, word: &str| read(&room, path).contains(word);
    let is_registered = || {
        let server = has(".claude.json", "postroom");
        assert_eq!(has(".claude/settings.json", "mcp__postroom"), server);
        server
    };
    postroom(&room, ["install", "claude"]).succeeds();
    assert!(!is_registered());
    postroom(&room, ["install", "claude", "--mcp"]).succeeds();
    assert!(is_registered());
    // An installation again keeps what the person chose.
    postroom(&room, ["install", "claude"]).succeeds();
    assert!(is_registered());
    let ran = postroom(&room, ["install", "claude", "--no-mcp"]).succeeds();
    assert!(!is_registered() && ran.out.contains("restored "), "{}", ran.out);
    postroom(&room, ["install", "claude", "--check"]).succeeds();
    postroom(&room, ["uninstall", "claude"]).succeeds();
    assert_eq!(picture(&room), before);
}

#[test]
fn a_login_shell_that_does_not_find_postroom_is_given_its_path() {
    let room = settled();
    let install =
        || -> Run { postroom(&room, ["install", "codex", "--name", "alice"]).env("SHELL", "/bin/sh") };
    write(&room, ".profile", "PATH=/usr/bin:/bin\n");
    let ran = install().succeeds();
    let own = env!("CARGO_BIN_EXE_postroom");
    assert!(ran.out.contains("login shell, which finds no `postroom`: its rules allow /"), "{}", ran.out);
    assert!(read(&room, ".codex/rules/postroom.rules").contains(&format!("[\"{own}\"]")));
    let hooks: serde_json::Value = serde_json::from_str(&read(&room, ".codex/hooks.json")).unwrap();
    let line = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    // The hook takes the process above it for the program, and this test is none.
    let told = room.bash(&format!("( {line} ); true")).input("{\"session_id\":\"s\"}").succeeds().out;
    assert!(told.contains(&format!("finds postroom only by the path {own}")), "{told}");
    // A project is shared, so it has no path of this machine.
    let project = room.around().join("work");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let ran = postroom(&room, ["install", "codex", "--project"])
        .env("SHELL", "/bin/sh")
        .within(&project)
        .succeeds();
    assert!(ran.out.contains("put it on the search path there"), "{}", ran.out);
    assert!(
        std::fs::read_to_string(project.join(".codex/rules/postroom.rules"))
            .unwrap()
            .contains("[\"postroom\"]")
    );
    let bin = std::path::Path::new(own).parent().unwrap();
    write(&room, ".profile", &format!("PATH='{}':/usr/bin:/bin\n", bin.display()));
    let ran = install().succeeds();
    assert!(!ran.out.contains("login shell"), "{}", ran.out);
    assert!(read(&room, ".codex/rules/postroom.rules").contains("[\"postroom\"]"));
}

#[test]
fn the_trust_of_our_hooks_goes_with_them() {
    let room = settled();
    write(
        &room,
        ".codex/hooks.json",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]}}\n",
    );
    let before = (read(&room, ".codex/config.toml"), read(&room, ".codex/hooks.json"));
    postroom(&room, ["install", "codex"]).succeeds();
    let hooks = home(&room).canonicalize().unwrap().join(".codex/hooks.json");
    let entry = |place: &str| {
        format!("\n[hooks.state.\"{}:{place}\"]\ntrusted_hash = \"sha256:ab\"\n", hooks.display())
    };
    let installed = read(&room, ".codex/config.toml");
    let trusted =
        ["stop:1:0", "session_start:0:0", "user_prompt_submit:0:0", "post_tool_use:0:0", "session_end:0:0"];
    // The person trusts all, also the hook that was there before.
    let all: String = trusted.iter().map(|place| entry(place)).collect();
    write(&room, ".codex/config.toml", &format!("{installed}{all}{}", entry("stop:0:0")));
    let ran = postroom(&room, ["uninstall", "codex"]).succeeds();
    let left = read(&room, ".codex/config.toml");
    assert_eq!(left.matches("trusted_hash").count(), 2, "{left}");
    assert!(left.contains("stop:0:0\"") && left.contains("/x:stop:0:0") && left.contains("# one"), "{left}");
    assert!(left.starts_with(&before.0[..before.0.find("[sandbox").unwrap()]), "{left}");
    assert_eq!(read(&room, ".codex/hooks.json"), before.1);
    assert!(ran.out.contains("removed from "), "{}", ran.out);
}

#[test]
fn a_rule_for_all_commands_is_one_word_again() {
    let room = settled();
    postroom(&room, ["install", "opencode"]).succeeds();
    let installed = read(&room, ".config/opencode/opencode.json");
    assert!(installed.contains("\"*\": \"ask\""), "{installed}");
    // The program writes into its settings at every start.
    write(
        &room,
        ".config/opencode/opencode.json",
        &installed.replace("\"$schema\": \"s\"", "\"$schema\": \"new\""),
    );
    postroom(&room, ["uninstall", "opencode"]).succeeds();
    let left = read(&room, ".config/opencode/opencode.json");
    assert_eq!(left, "{\n  \"$schema\": \"new\",\n  \"permission\": \"ask\", // all\n  \"mcp\": {},\n}\n");
}
