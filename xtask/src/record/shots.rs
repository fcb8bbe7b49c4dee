//! Pictures of the terminal client: `cargo xtask shots` starts it in tmux, in the room of `tests/web/scene.rs`, goes from place
//! to place, and draws what it sees. The first picture is docs/pictures/tui.svg; all are in target/pictures/tui/.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::cells::Screen;
use super::film::Film;
use super::svg::{Words, draw};
use crate::repo::Repo;

/// Name, size, keys, and a text that is on the screen then.
type Shot = (&'static str, (usize, usize), &'static [&'static str], &'static str);

const SHOTS: &[Shot] = &[
    ("mail", (120, 34), &["2", "Tab"], "approve? plan"),
    ("now", (120, 34), &["1"], "What happens"),
    ("message", (120, 34), &["1", "Tab", "j", "Enter"], "Message"),
    ("runs", (120, 34), &["3"], "running"),
    ("transcript", (120, 34), &["3", "Enter"], "transcript"),
    ("workflow", (120, 34), &["4", "Enter"], "Result"),
    ("failed", (120, 34), &["5"], "tests do not pass"),
    ("help", (120, 34), &["1", "?"], "Everywhere"),
    ("compose", (120, 34), &["Escape", "c"], "Write a message"),
    ("small", (60, 15), &["C-x", "1"], "Waits for you"),
    ("large", (160, 50), &["2", "Tab"], "Mailboxes"),
];

pub(crate) fn run(_: &[String]) -> Result<(), String> {
    let repo = Repo::open()?;
    let built = Command::new(env!("CARGO"))
        .current_dir(&repo.root)
        .args(["build", "--bin", "postroom", "--example", "scene"])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("it cannot be built".to_owned());
    }
    let theatre = Theatre::open(&repo.target.join("debug"))?;
    let pictures = repo.target.join("pictures/tui");
    fs::create_dir_all(&pictures).map_err(|e| e.to_string())?;
    for (name, size, keys, text) in SHOTS {
        let screen = theatre.look(*size, keys, text)?;
        let mut film = Film::default();
        film.add(Duration::ZERO, screen);
        film.hold(Duration::from_secs(1));
        let words = Words { title: "postroom tui", description: &format!("The terminal client: {name}") };
        let svg = draw(&film, [0..size.0 / 2, size.0 / 2..size.0], &words);
        fs::write(pictures.join(format!("{name}.svg")), &svg).map_err(|e| e.to_string())?;
        if *name == "now" {
            fs::write(repo.root.join("docs/pictures/tui.svg"), &svg).map_err(|e| e.to_string())?;
        }
    }
    println!("{}", pictures.display());
    Ok(())
}

/// A home with the room of the scene, and the client in tmux.
struct Theatre {
    home: tempfile::TempDir,
    scene: Child,
    postroom: PathBuf,
}

impl Theatre {
    fn open(built: &Path) -> Result<Self, String> {
        let home = tempfile::tempdir().map_err(|e| e.to_string())?;
        let (root, project) = (home.path().join("state/postroom/rooms/main"), home.path().join("work"));
        fs::create_dir_all(&project).map_err(|e| e.to_string())?;
        fs::create_dir_all(root.parent().unwrap_or(&root)).map_err(|e| e.to_string())?;
        let mut scene = Command::new(built.join("examples/scene"));
        scene.arg(&root).arg(&project).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut scene = scene.spawn().map_err(|e| e.to_string())?;
        let said =
            scene.stdout.take().and_then(|out| BufReader::new(out).lines().map_while(Result::ok).next());
        if said.as_deref() != Some("ready") {
            return Err("the scene is not ready".to_owned());
        }
        let theatre = Self { home, scene, postroom: built.join("postroom") };
        let mut trust = Command::new(&theatre.postroom);
        trust.args(["--room", "main", "trust"]).arg(&project).env_clear().envs(theatre.environment());
        match crate::seat::run(&trust, b"", true) {
            (0, ..) => Ok(theatre),
            (code, _, said) => Err(format!("trust ended with {code}: {said}")),
        }
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let at = |part: &str| self.home.path().join(part).display().to_string();
        vec![
            ("HOME", at("")),
            ("XDG_STATE_HOME", at("state")),
            ("XDG_CONFIG_HOME", at("config")),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("TERM", "tmux-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
        ]
    }

    fn tmux(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new("tmux");
        command.env_clear().envs(self.environment()).args(["-u", "-S"]).arg(self.home.path().join("socket"));
        let output = command.args(words).stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The screen after some keys, once it shows a text.
    fn look(&self, size: (usize, usize), keys: &[&str], text: &str) -> Result<Screen, String> {
        let (width, height) = (size.0.to_string(), size.1.to_string());
        if self.tmux(&["has-session", "-t", "s"]).is_ok() && self.tmux(&["list-sessions"])?.is_empty() {
            let program = format!("exec '{}' --room main tui", self.postroom.display());
            let work = self.home.path().join("work").display().to_string();
            let new = [
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-s",
                "s",
                "-x",
                &width,
                "-y",
                &height,
                "-c",
                &work,
                &program,
            ];
            self.tmux(&new)?;
            self.until("What happens")?;
        }
        self.tmux(&["resize-window", "-t", "s", "-x", &width, "-y", &height])?;
        for key in keys {
            self.tmux(&["send-keys", "-t", "s", key])?;
            std::thread::sleep(Duration::from_millis(600));
        }
        self.until(text)?;
        Ok(Screen::read(&self.tmux(&["capture-pane", "-t", "s", "-p", "-e", "-N"])?))
    }

    fn until(&self, text: &str) -> Result<(), String> {
        let start = Instant::now();
        loop {
            let seen = self.tmux(&["capture-pane", "-t", "s", "-p"])?;
            match start.elapsed() {
                _ if seen.contains(text) => return Ok(()),
                long if long > Duration::from_secs(20) => {
                    return Err(format!("`{text}` was not seen:\n{seen}"));
                }
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

impl Drop for Theatre {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
        drop(self.scene.stdin.take());
        let _ = self.scene.wait();
    }
}
