//! The real agent programs, as `cargo xtask test` installs them from the npm registry, against a stand-in for their models
//! (tests/agents, built as an example). Nothing leaves the machine: where that is possible they run without any
//! network beyond loopback, always with a home of their own and without an account.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::support::programs;
pub(crate) use crate::support::programs::Program;
use crate::support::room::TestRoom;
use crate::support::staffed::program;

/// Where `cargo xtask test` puts them.
pub(crate) fn installed() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents").join("node_modules")
}

pub(crate) fn claude() -> Option<Program> {
    programs::claude(&installed())
}

pub(crate) fn codex() -> Option<Program> {
    programs::codex(&installed())
}

pub(crate) fn gemini() -> Option<Program> {
    programs::gemini(&installed())
}

pub(crate) fn opencode() -> Option<Program> {
    programs::opencode(&installed())
}

pub(crate) fn copilot() -> Option<Program> {
    programs::copilot(&installed())
}

/// Why a test that wants one of them is skipped.
pub(crate) const MISSING: &str = "the program is not installed; cargo xtask test installs it where npm is";

/// A program in a home of its own beside a room.
pub(crate) struct Stage<'a> {
    room: &'a TestRoom,
    program: Program,
}

impl<'a> Stage<'a> {
    /// Puts the program on the search path, and its settings into its home.
    pub(crate) fn set(room: &'a TestRoom, real: Program) -> Self {
        program(room, real.name, &format!("exec '{}' \"$@\"", real.file.display()));
        let stage = Self { room, program: real };
        for (name, text) in stage.program.files {
            let path = stage.home().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(stage.home().join(".cache")).unwrap();
        if stage.program.name == "copilot" {
            // It unpacks 235 MB of itself at its first start, which is enough once.
            let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copilot");
            std::fs::create_dir_all(&unpacked).unwrap();
            std::os::unix::fs::symlink(unpacked, stage.home().join(".cache/copilot")).unwrap();
        }
        stage
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.room.around().join("home")
    }

    /// The search path of the program.
    pub(crate) fn path(&self) -> String {
        let own = Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap();
        let usual = std::env::var("PATH").unwrap_or_default();
        format!("{}:{}:{usual}", self.room.around().join("bin").display(), own.display())
    }

    /// A command that runs beside the models, which play this script (see tests/agents/script.rs).
    pub(crate) fn command<'w>(&self, script: &Value, words: impl IntoIterator<Item = &'w str>) -> Command {
        let around = self.room.around();
        let file = around.join("script.json");
        std::fs::write(&file, script.to_string()).unwrap();
        let mut command = models();
        command.arg("--script").arg(file).arg("--log").arg(around.join("requests.jsonl"));
        for (name, _) in self.program.files {
            command.arg("--fill").arg(self.home().join(name));
        }
        command.args(words);
        command
            .env_clear()
            .envs(self.program.environment.iter().copied())
            .env("HOME", self.home())
            .env("PATH", self.path())
            .env("POSTROOM_ROOT", self.room.root())
            .current_dir(around)
            .stdin(Stdio::null());
        command
    }

    /// Starts it and goes on.
    pub(crate) fn starts<'w>(&self, script: &Value, words: impl IntoIterator<Item = &'w str>) -> Playing {
        let mut command = self.command(script, words);
        Playing(Some(command.process_group(0).stdout(Stdio::piped()).spawn().unwrap()))
    }

    /// Runs it to its end, which must be a good one, and gives what it printed.
    #[track_caller]
    pub(crate) fn plays<'w>(&self, script: &Value, words: impl IntoIterator<Item = &'w str>) -> String {
        let ended = self.command(script, words).output().unwrap();
        let text =
            String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{}: {text}", ended.status);
        text
    }

    /// Every request that reached the models, in order (see tests/agents/http.rs).
    pub(crate) fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.room.around().join("requests.jsonl")).unwrap_or_default();
        // The last line may still be in the writing.
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Those of them in which the agent takes a turn.
    pub(crate) fn turns(&self) -> Vec<Value> {
        self.requests().into_iter().filter(|request| request["kind"] == "turn").collect()
    }
}

/// A program that plays. Whatever it has started ends with the test, also when the test fails.
pub(crate) struct Playing(Option<Child>);

impl Playing {
    /// Waits for its end.
    pub(crate) fn ends(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let group = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
        }
    }
}

/// The stand-in, with words before it that take the network away, as far as this machine lets us.
fn models() -> Command {
    let beside = std::env::current_exe().unwrap();
    let file = beside.parent().unwrap().with_file_name("examples").join("models");
    assert!(file.is_file(), "{} is not there: cargo build --example models", file.display());
    let words: &[&str] =
        if rustix::process::geteuid().is_root() { &["unshare", "-n"] } else { &["unshare", "-rn"] };
    let works = Command::new(words[0]).args(&words[1..]).arg("true").stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        return Command::new(file);
    }
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(file);
    command
}
