//! Where a recording is made: a home with the agent programs, a repository, and a terminal, all of it below `target/recording`.
//!
//! The programs run in namespaces of their own, where it is `/srv` and the only network is loopback. So what they print names
//! no home and no checkout of this machine, and what they leave running ends with the namespace. Their models are the
//! stand-in of the tests (tests/agents).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cells::Screen;
use super::programs::{self, Program};
use crate::repo::Repo;
use crate::run;

/// Where the programs see the stage.
const HOME: &str = "/srv";
const PATH: &str = "/srv/bin:/usr/local/bin:/usr/bin:/bin";
pub(crate) const PROJECT: &str = "/srv/parser";
/// How often a screen is looked at.
pub(crate) const SAMPLE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(60);

/// Binds the installed programs into the stage and the stage to its place; `$0` is the stage, `$1` the programs.
const ENTER: &str =
    r#"mount --bind "$1" "$0/agents" && mount --rbind "$0" /srv && cd /srv/parser && shift && exec "$@""#;

const TMUX: &str = "set -g status off\nset -g focus-events on\nset -g mouse on\nset -g exit-empty off\nset -g remain-on-exit on\n\
    set -g default-terminal tmux-256color\nset -ga terminal-features ',*:RGB'\nset -g default-command bash\n\
    set -g pane-border-status top\nset -g pane-border-format ' #[fg=colour252]#{@who}#[default] '\nset -g pane-border-style fg=colour240\n\
    set -g pane-active-border-style fg=colour240\n";

/// Settings of Codex for a quiet screen, beside those that it has for its models.
const CODEX: &str = "\n[projects.\"/srv/parser\"]\ntrust_level = \"trusted\"\n[features]\nplugins = false\n\
    [notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n\
    [tui]\nanimations = false\nshow_tooltips = false\nstatus_line = [\"model\", \"current-dir\"]\n";

#[derive(Debug)]
pub(crate) struct Stage {
    directory: PathBuf,
    agents: PathBuf,
    programs: Vec<Program>,
    terminal: Option<Child>,
}

impl Stage {
    /// Makes all of it anew, with this file in the repository and this script for the models.
    pub(crate) fn set(repo: &Repo, file: (&str, &str), script: &Value) -> Result<Self, String> {
        let missing = "is not installed in target/agents: run `cargo xtask test` once";
        let agents = repo.target.join("agents");
        let agents = agents.canonicalize().map_err(|e| format!("{}: {e}", agents.display()))?;
        let installed = agents.join("node_modules");
        let programs = vec![
            programs::claude(&installed).ok_or_else(|| format!("Claude Code {missing}"))?,
            programs::codex(&installed).ok_or_else(|| format!("Codex {missing}"))?,
        ];
        run::run(repo.cargo().args(["build", "--quiet", "--bin", "postroom", "--example", "models"]))?;
        let stage = Self { directory: repo.target.join("recording"), agents, programs, terminal: None };
        stage.furnish(repo, file, script).map_err(|e| format!("{}: {e}", stage.directory.display()))?;
        Ok(stage)
    }

    fn furnish(&self, repo: &Repo, (name, text): (&str, &str), script: &Value) -> std::io::Result<()> {
        let directory = &self.directory;
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        let put = |name: &str, text: &str| {
            let path = directory.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text))
        };
        for folder in ["agents", "bin"] {
            fs::create_dir_all(directory.join(folder))?;
        }
        fs::copy(repo.binary("debug", "postroom"), directory.join("bin/postroom"))?;
        fs::copy(repo.binary("debug", "examples/models"), directory.join("bin/models"))?;
        for program in &self.programs {
            self.link(&program.file, program.name)?;
            // Only Codex has one.
            for (name, text) in program.files {
                put(name, &format!("{text}{CODEX}"))?;
            }
        }
        // Without a program of this name on its path, Codex warns and uses the one that it brings.
        if let Some(vendor) = self.programs[1].file.ancestors().nth(2) {
            self.link(&vendor.join("codex-resources/bwrap"), "bwrap")?;
        }
        let known = json!({
            "hasCompletedOnboarding": true, "hasSeenAutoDefaultNotice": true, "hasSeenAutoDefaultNudge": true,
            "hasSeenAutoModeEntryWarning": true, "theme": "dark",
            "customApiKeyResponses": {"approved": ["none"], "rejected": []},
            "projects": {PROJECT: {"hasTrustDialogAccepted": true}},
        });
        put(".claude.json", &known.to_string())?;
        let settings = json!({"viewMode": "verbose", "spinnerTipsEnabled": false, "permissions": {"defaultMode": "default"}});
        put(".claude/settings.json", &settings.to_string())?;
        // A login shell has its own idea of the search path.
        put(".profile", "export PATH=/srv/bin:$PATH\n")?;
        put(".bashrc", "PS1='\\w $ '\n")?;
        put("tmux.conf", TMUX)?;
        put("script.json", &script.to_string())?;
        put(&format!("parser/{name}"), text)
    }

    /// A program on the path of the stage, by the name that its file has there.
    fn link(&self, file: &Path, name: &str) -> std::io::Result<()> {
        let below = file.strip_prefix(&self.agents).unwrap_or(file);
        symlink(Path::new(HOME).join("agents").join(below), self.directory.join("bin").join(name))
    }

    /// A command on the stage, beside the models.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", ENTER]).arg(&self.directory).arg(&self.agents);
        command.args(["/srv/bin/models", "--script", "/srv/script.json", "--log", "/srv/requests.jsonl"]);
        command.args(["--fill", "/srv/.codex/config.toml"]).args(words).env_clear();
        command.envs(self.programs.iter().flat_map(|program| program.environment.iter().copied()));
        command.env("HOME", HOME).env("PATH", PATH).env("TZ", "UTC");
        command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor").env("LANG", "C.UTF-8");
        command
    }

    /// Runs a line of shell before the recording.
    pub(crate) fn prepare(&self, line: &str) -> Result<(), String> {
        println!("    {line}");
        let output =
            self.command(&["sh", "-c", line]).output().map_err(|e| format!("cannot run unshare: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("`{line}`: {}: {}", output.status, said.trim()))
        }
    }

    /// Opens the terminal.
    pub(crate) fn open(&mut self) -> Result<(), String> {
        let tmux = ["tmux", "-u", "-D", "-S", "/srv/tmux.sock", "-f", "/srv/tmux.conf"];
        let child = self.command(&tmux).stdin(Stdio::null()).spawn();
        self.terminal = Some(child.map_err(|e| format!("cannot run unshare: {e}"))?);
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if self.directory.join("tmux.sock").exists() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("tmux did not start".to_owned())
    }

    /// Asks the terminal for something.
    pub(crate) fn tmux(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.directory.join("tmux.sock")).args(words).env_remove("TMUX");
        // A pane that is opened from outside has the search path of who opens it.
        command.env("PATH", PATH);
        let output = command.output().map_err(|e| format!("cannot run tmux: {e}"))?;
        if !output.status.success() {
            return Err(format!("tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What a pane shows, with its cursor.
    pub(crate) fn screen(&self, pane: &str) -> Result<Screen, String> {
        let cursor = "#{cursor_flag} #{cursor_x} #{cursor_y}";
        let said = self.tmux(&[
            "display",
            "-p",
            "-t",
            pane,
            cursor,
            ";",
            "capture-pane",
            "-p",
            "-e",
            "-N",
            "-t",
            pane,
        ])?;
        let (first, rest) = said.split_once('\n').unwrap_or_default();
        let mut screen = Screen::read(rest);
        if let [1, column, line] = first.split(' ').filter_map(|n| n.parse().ok()).collect::<Vec<usize>>()[..]
        {
            screen.set_cursor(column, line);
        }
        Ok(screen)
    }

    /// Returns once a pane shows this. A key is pressed for it, again if the program did not listen yet.
    pub(crate) fn until(&self, pane: &str, text: &str, key: Option<&str>) -> Result<(), String> {
        let mut pressed: Option<Instant> = None;
        appears(text, || {
            let screen = self.screen(pane)?;
            if let Some(key) = key.filter(|_| pressed.is_none_or(|last| last.elapsed().as_secs() >= 2)) {
                self.tmux(&["send-keys", "-t", pane, key])?;
                pressed = Some(Instant::now());
            }
            Ok(screen.words())
        })
    }

    /// Ends what runs there and removes it. After a failure it stays, for a look.
    pub(crate) fn clear(self) -> Result<(), String> {
        let directory = self.directory.clone();
        drop(self);
        fs::remove_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))
    }
}

/// Looks at words until this text is among them.
pub(crate) fn appears(text: &str, mut look: impl FnMut() -> Result<String, String>) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let words = look()?;
        if words.contains(text) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("`{text}` did not appear within {} s: {words}", PATIENCE.as_secs()));
        }
        std::thread::sleep(SAMPLE);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(child) = &mut self.terminal {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}
