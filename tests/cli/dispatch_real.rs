//! The real programs, as `cargo xtask test` installs them from the npm registry, against a stand-in for their models
//! (tests/agents/models.py): a message reaches the model, its words come back as the answer, and the next message goes
//! on with the same conversation. Nothing leaves the machine: where that is possible they run without any network
//! beyond loopback.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::room::TestRoom;
use crate::staffed::{AT_ONCE, inbox, program, runs, staffed};
use crate::until::skip;

/// Where `cargo xtask test` puts them.
fn installed() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents").join("node_modules")
}

/// The first file below that has this ending, in a directory whose name begins like this.
fn native(scope: &str, begins: &str, ends: &[&str]) -> Option<PathBuf> {
    let list = std::fs::read_dir(installed().join(scope)).ok()?;
    let mut found: Vec<PathBuf> = list
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(begins))
        .flat_map(|entry| ends.iter().map(move |end| entry.path().join(end)))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found.into_iter().next()
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Words that take the network away, as far as this machine lets us.
fn alone() -> Vec<&'static str> {
    let words: &[&str] =
        if rustix::process::geteuid().is_root() { &["unshare", "-n"] } else { &["unshare", "-rn"] };
    let works = Command::new(words[0]).args(&words[1..]).arg("true").stderr(Stdio::null()).status();
    if works.is_ok_and(|status| status.success()) { words.to_vec() } else { vec![] }
}

/// One program: its file, what it needs in its environment, and the files of its home.
struct Real<'a> {
    preset: &'a str,
    file: Option<PathBuf>,
    environment: &'a [(&'a str, &'a str)],
    files: &'a [(&'a str, &'a str)],
    settings: &'a str,
}

fn plays(test: &str, real: &Real<'_>) {
    let Some(file) = &real.file else {
        return skip(test, "the program is not installed; cargo xtask test installs it where npm is");
    };
    if !is_there("python3") {
        return skip(test, "python3 is not installed");
    }
    let settings = format!(
        "[agents.worker]\npreset = \"{}\"\nsession = true\n{}\n{AT_ONCE}",
        real.preset, real.settings
    );
    let room = staffed(&["worker"], &settings);
    program(&room, real.preset, &format!("exec '{}' \"$@\"", file.display()));
    let home = room.around().join("home");
    for (name, text) in real.files {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    room.send("alice", "worker", "This is marker-1.");
    dispatched(&room, real);
    assert_eq!(inbox(&room, "alice"), ["heard marker-1\n"], "{:?}", runs(&room));
    let session = runs(&room)[0]["session"].as_str().unwrap().to_owned();
    assert!(!session.is_empty(), "{:?}", runs(&room));
    room.send("alice", "worker", "And this is marker-2.");
    dispatched(&room, real);
    assert!(inbox(&room, "alice").contains(&"heard marker-1 marker-2\n".to_owned()), "{:?}", runs(&room));
    assert_eq!(runs(&room)[1]["session"].as_str(), Some(session.as_str()), "the conversation went on");
}

fn dispatched(room: &TestRoom, real: &Real<'_>) {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/models.py");
    let mut words: Vec<std::ffi::OsString> = alone().into_iter().map(Into::into).collect();
    words.extend(["python3".into(), models.into_os_string()]);
    words.extend([env!("CARGO_BIN_EXE_postroom").into(), "--root".into(), room.root().into_os_string()]);
    words.push("dispatch".into());
    let home = room.around().join("home");
    let files: Vec<String> =
        real.files.iter().map(|(name, _)| home.join(name).display().to_string()).collect();
    // A file that was filled in for the first server is written anew for the second.
    for (name, text) in real.files {
        std::fs::write(home.join(name), text).unwrap();
    }
    let node = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{node}", room.around().join("bin").display());
    let ended = Command::new(&words[0])
        .args(&words[1..])
        .env_clear()
        .envs(real.environment.iter().copied())
        .env("HOME", &home)
        .env("PATH", path)
        .env("MODELS_FILES", files.join(":"))
        .current_dir(room.around())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{text} {:?}", runs(room));
}

#[test]
fn claude_answers() {
    let real = Real {
        preset: "claude",
        file: native("@anthropic-ai", "claude-code-linux", &["claude"]),
        environment: &[
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:{PORT}"),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
        ],
        files: &[],
        settings: "",
    };
    plays("claude_answers", &real);
}

#[test]
fn codex_answers() {
    let config = "model = \"gpt-5.5\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n\
                  [model_providers.mock]\nname = \"mock\"\nbase_url = \"http://127.0.0.1:{PORT}/v1\"\nenv_key = \"MOCK_API_KEY\"\n\
                  wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n[analytics]\nenabled = false\n";
    let ends = [
        "vendor/x86_64-unknown-linux-musl/bin/codex",
        "vendor/aarch64-unknown-linux-musl/bin/codex",
        "vendor/x86_64-unknown-linux-musl/codex/codex",
    ];
    let real = Real {
        preset: "codex",
        file: native("@openai", "codex-linux", &ends),
        environment: &[("MOCK_API_KEY", "none")],
        files: &[(".codex/config.toml", config)],
        settings: "env = [\"MOCK_API_KEY\"]",
    };
    plays("codex_answers", &real);
}

#[test]
fn gemini_answers() {
    let settings = "{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}},\"general\":{\"enableAutoUpdate\":false},\
                    \"privacy\":{\"usageStatisticsEnabled\":false}}";
    let real = Real {
        preset: "gemini",
        file: Some(installed().join(".bin/gemini")).filter(|file| file.is_file()),
        environment: &[("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:{PORT}"), ("GEMINI_API_KEY", "none")],
        files: &[(".gemini/settings.json", settings)],
        settings: "model = \"gemini-2.5-flash\"",
    };
    plays("gemini_answers", &real);
}

#[test]
fn opencode_answers() {
    let config = "{\"provider\":{\"mock\":{\"npm\":\"@ai-sdk/openai-compatible\",\"options\":{\"baseURL\":\"http://127.0.0.1:{PORT}/v1\",\
                  \"apiKey\":\"none\"},\"models\":{\"m\":{\"name\":\"m\"}}}},\"model\":\"mock/m\",\"small_model\":\"mock/m\"}";
    let real = Real {
        preset: "opencode",
        file: native("", "opencode-linux", &["bin/opencode"]),
        environment: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        files: &[(".config/opencode/opencode.json", config)],
        settings: "model = \"mock/m\"",
    };
    plays("opencode_answers", &real);
}
