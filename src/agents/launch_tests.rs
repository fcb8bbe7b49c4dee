//! Tests of `launch`: arguments, variables, files and trust of a start, for each program.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::agents::programs::{PROGRAMS, find};

fn site() -> Site {
    Site {
        home: "/h".into(),
        config: "/h/.x".into(),
        moved: false,
        project: None,
        postroom: "/opt/postroom".to_owned(),
        roots: vec!["/s/rooms".into(), "/s/sessions".into()],
        name: None,
        bodies: None,
        wakes: true,
        types: false,
        start: Some("/s/starts/1/kit".into()),
        mcp: true,
        called: None,
    }
}

fn typed(line: &str) -> Typed {
    Typed::split(line.split_whitespace().map(OsString::from)).unwrap()
}

fn asked(settings: Option<Value>) -> Asked {
    Asked { hooks: vec!["-c".to_owned(), "HOOKS".to_owned()], settings }
}

/// The command line of a start, in one line.
fn started(word: &str, line: &str, installed: bool, session: Option<&str>) -> String {
    let site = site();
    let kit = Kit { program: find(word).unwrap(), site: &site, installed, has_skill: installed };
    let words = kit.words(&typed(line), &asked(None), session);
    words.join(&OsString::from(" ")).into_string().unwrap()
}

#[test]
fn our_options_are_taken_out_and_everything_else_stays() {
    let split = typed("--model x --as alice --about=docs -p go --room=web -- --as bob");
    assert_eq!((split.acting.as_deref(), split.about.as_deref()), (Some("alice"), Some("docs")));
    assert_eq!(split.room.as_deref(), Some("web"));
    assert_eq!(split.words, ["--model", "x", "-p", "go", "--", "--as", "bob"]);
    assert!(typed("-p go --type-into-tmux").types && !typed("-p go -- --type-into-tmux").types);
    assert_eq!(typed("-p --type-into-tmux go").words, ["-p", "go"]);
    assert_eq!(Typed::split(["--as".into()]), Err("--as"));
    let odd = std::ffi::OsStr::from_bytes(b"\xff=x").to_owned();
    assert_eq!(Typed::split([odd.clone()]).unwrap().words, [odd]);
}

#[test]
fn a_bare_resume_is_ours_only_with_a_name() {
    assert!(typed("--as alice --resume").resumes);
    assert!(typed("--resume -p go --as alice").resumes);
    for line in ["--resume", "--as alice --resume 0cb9", "--as alice -- --resume"] {
        let split = typed(line);
        assert!(!split.resumes && split.words.contains(&"--resume".into()), "{line}");
    }
}

#[test]
fn a_question_or_a_command_of_the_program_is_no_session() {
    let claude = find("claude").unwrap();
    for line in ["mcp list", "--version", "-p --help", "doctor"] {
        assert!(!typed(line).is_session(claude), "{line}");
    }
    for line in ["", "-p mcp", "fix the bug", "-- --help"] {
        assert!(typed(line).is_session(claude), "{line}");
    }
    assert!(
        typed("exec go").is_session(find("codex").unwrap())
            && !typed("login").is_session(find("codex").unwrap())
    );
    assert!(typed("-c").goes_on(claude) && !typed("-c model=x").goes_on(find("codex").unwrap()));
    assert!(typed("resume --last").goes_on(find("codex").unwrap()));
    assert!(!typed("go -- --continue").goes_on(claude));
}

#[test]
fn each_program_gets_its_words_and_those_of_the_person_in_their_order() {
    assert_eq!(
        started("claude", "--model x go", false, Some("S")),
        "--plugin-dir /s/starts/1/kit --allowedTools=Bash(postroom *),mcp__plugin_postroom_postroom \
         --add-dir=/s/rooms --add-dir=/s/sessions --resume S --model x go"
    );
    let codex = started("codex", "go", false, None);
    assert!(codex.starts_with(
        "-c HOOKS -c plugins={\"postroom@postroom-local\"={enabled=true}} -c mcp_servers.postroom={ "
    ));
    assert!(
        codex.contains(
            "env_vars = [\"POSTROOM_ROOT\", \"XDG_STATE_HOME\", \"CODEX_HOME\", \"AGENT_MAILBOX_ID\"]"
        ),
        "{codex}"
    );
    assert!(
        codex
            .ends_with(" -c allow_login_shell=false --add-dir /s/rooms --add-dir /s/sessions --no-daemon go")
    );
    let alone = started("codex", "exec --json -", false, Some("S"));
    assert!(
        alone.starts_with("exec -c HOOKS ") && alone.ends_with(" --add-dir /s/sessions resume S --json -"),
        "{alone}"
    );
    assert_eq!(
        started("gemini", "-i hello", false, None),
        "-i hello --policy=/s/starts/1/kit/policy.toml --policy=/h/.x/policies"
    );
    assert_eq!(
        started("gemini", "--policy=/mine -- hello", false, None),
        "--policy=/mine --policy=/s/starts/1/kit/policy.toml -- hello"
    );
    assert_eq!(started("opencode", "run go", false, Some("S")), "run --session S go");
    assert_eq!(
        started("copilot", "-p go", false, None),
        "--plugin-dir=/s/starts/1/kit --allow-tool=shell(postroom:*) --allow-tool=postroom -p go"
    );
}

#[test]
fn codex_starts_in_a_read_only_sandbox_and_keeps_the_writable_roots_of_the_person() {
    let site = site();
    let kit = Kit { program: find("codex").unwrap(), site: &site, installed: false, has_skill: true };
    let words = |line: &str, settings: Value| {
        let words = kit.words(&typed(line), &asked(Some(settings)), None);
        words.join(&OsString::from(" ")).into_string().unwrap()
    };
    let roots = r#"-c sandbox_workspace_write.writable_roots=["/s/rooms", "/s/sessions"] --no-daemon"#;
    for settings in [json!({}), json!({"default_permissions": ":read-only"})] {
        let line = words("go", settings);
        assert!(line.contains(roots) && !line.contains("--add-dir"), "{line}");
    }
    let own = json!({"sandbox_workspace_write": {"writable_roots": ["/mine", "/s/rooms"]}});
    let line = words("go", own.clone());
    assert!(line.contains(r#"writable_roots=["/mine", "/s/rooms", "/s/sessions"]"#), "{line}");
    // There the list has no effect, or another one may count.
    for (line, settings) in [("go", json!({"default_permissions": ":workspace"})), ("-p work go", own)] {
        let line = words(line, settings);
        assert!(line.contains("--add-dir /s/rooms") && !line.contains("writable_roots"), "{line}");
    }
}

#[test]
fn what_is_installed_is_not_brought_again() {
    for program in &PROGRAMS {
        let site = site();
        let kit = Kit { program, site: &site, installed: true, has_skill: true };
        assert_eq!(kit.files(), (vec![], vec![]), "{}", program.word);
    }
    assert_eq!(started("claude", "go", true, None), "go");
    assert_eq!(started("codex", "exec go", true, None), "exec -c HOOKS go");
    assert_eq!(started("copilot", "", true, None), "--allow-tool=shell(postroom:*) --allow-tool=postroom");
    // The skill of another program's installation is enough.
    let site = site();
    let kit = |word| Kit { program: find(word).unwrap(), site: &site, installed: false, has_skill: true };
    assert_eq!(kit("codex").files(), (vec![], vec![]));
    let (_, gemini) = kit("gemini").files();
    assert_eq!(gemini.len(), 2, "{gemini:?}");
}

#[test]
fn every_file_of_a_start_has_its_text() {
    for program in &PROGRAMS {
        let site = site();
        let kit = Kit { program, site: &site, installed: false, has_skill: false };
        let (own, others) = kit.files();
        for piece in own.iter().chain(&others) {
            let text = text(piece).unwrap();
            assert!(!text.contains("{start}") && !text.contains("{postroom}") && !text.is_empty(), "{text}");
            let is_json = piece.path.extension().is_some_and(|end| end == "json");
            assert!(!is_json || serde_json::from_str::<Value>(&text).is_ok_and(|v| v.is_object()), "{text}");
        }
        assert!(own.iter().all(|piece| piece.path.starts_with("/s/starts/1/kit")));
        assert!(others.iter().all(|piece| piece.path.starts_with("/h/.x")));
    }
    let hook = site().command(find("gemini").unwrap(), crate::agents::programs::Event::Stop);
    assert!(hook.starts_with("test -n \"$POSTROOM_START\" || exit 0; test -x /opt/postroom"), "{hook}");
}

#[test]
fn variables_of_the_person_are_kept() {
    let odd = Site { start: Some(PathBuf::from("/s t/ä")), ..site() };
    let kit = |word| Kit { program: find(word).unwrap(), site: &odd, installed: false, has_skill: false };
    let set = |word, now: Option<&str>| kit(word).variables(|_| now.map(str::to_owned)).unwrap()[0].1.clone();
    let ours = "file:///s%20t/%C3%A4/postroom.js";
    assert_eq!(serde_json::from_str::<Value>(&set("opencode", None)).unwrap(), json!({"plugin": [ours]}));
    let merged = set("opencode", Some(r#"{"model":"m","plugin":["mine"]}"#));
    let merged: Value = serde_json::from_str(&merged).unwrap();
    assert_eq!(merged, json!({"model": "m", "plugin": ["mine", ours]}));
    assert!(kit("opencode").variables(|_| Some("{".to_owned())).is_err());
    assert_eq!(set("copilot", None), "EXTENSIONS");
    assert_eq!(set("copilot", Some("A, EXTENSIONS,B")), "A,B,EXTENSIONS");
}

#[test]
fn only_our_own_hooks_are_trusted_and_only_all_of_them() {
    let site = site();
    let program = find("codex").unwrap();
    let kit = Kit { program, site: &site, installed: false, has_skill: false };
    let hook = |source: &str, command: String, at: usize| json!({"key": format!("{source}:{at}"), "source": source, "command": command, "currentHash": format!("sha256:{at}")});
    let ours = |source: &str| {
        let lines = program.hooks.iter().map(|hook| site.command(program, hook.event));
        lines.enumerate().map(|(at, line)| hook(source, line, at)).collect::<Vec<Value>>()
    };
    let mut seen = ours("sessionFlags");
    seen.push(hook("sessionFlags", "rm -rf /".to_owned(), 9));
    seen.extend(ours("user"));
    let trust = kit.trust(&seen).unwrap();
    assert_eq!(trust.len(), 2);
    assert!(trust[1].starts_with("hooks.state={") && trust[1].contains("sessionFlags:0"), "{trust:?}");
    assert!(!trust[1].contains(":9\"") && !trust[1].contains("user:"), "{trust:?}");
    assert_eq!(kit.trust(&seen[1..]), None, "one of ours is not as it was given");
    let words = kit.hook_words();
    assert_eq!(words.iter().filter(|word| *word == "-c").count(), program.hooks.len());
    for setting in words.iter().filter(|word| *word != "-c") {
        let (key, value) = setting.split_once('=').unwrap();
        assert!(
            key.starts_with("hooks.") && toml::from_str::<toml::Table>(&format!("x = {value}")).is_ok(),
            "{setting}"
        );
    }
}
