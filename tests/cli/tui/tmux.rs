//! The client in a real terminal program: tmux, with a shell that it goes back to.

use std::process::{Command, Stdio};

use crate::agents::idle::has_tmux;
use crate::support::room::TestRoom;
use crate::support::until::{skip, until};

/// A server of its own, ended with this value.
struct Tmux(tempfile::TempDir);

impl Tmux {
    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").arg("-S").arg(self.0.path().join("socket")).args(words);
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn types(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", "s"], keys].concat());
    }

    fn sees(&self, text: &str) {
        let mut last = String::new();
        until(&format!("`{text}`"), || {
            last = self.run(&["capture-pane", "-p", "-t", "s"]);
            last.contains(text)
        });
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn in_tmux_it_is_drawn_sleeps_and_leaves_the_shell_as_it_was() {
    if !has_tmux() {
        return skip("in_tmux_it_is_drawn_sleeps_and_leaves_the_shell_as_it_was", "there is no tmux");
    }
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "陳大文 says hello");
    let own = room.run(["tui"]).command();
    let tmux = Tmux(tempfile::tempdir().unwrap());
    let mut words: Vec<String> = vec![
        "env".into(),
        "-i".into(),
        "TERM=tmux-256color".into(),
        "CLAUDECODE=1".into(),
        "PS1=ready> ".into(),
    ];
    words.extend(
        own.get_envs().filter_map(|(key, value)| Some(format!("{}={}", key.to_str()?, value?.to_str()?))),
    );
    words.extend(["bash", "--norc", "--noprofile", "-i"].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    tmux.run(
        &[
            &[
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-s",
                "s",
                "-x",
                "90",
                "-y",
                "25",
                "-c",
                room.around().to_str().unwrap(),
            ],
            words.as_slice(),
        ]
        .concat(),
    );
    tmux.sees("ready>");
    let line: Vec<String> = std::iter::once(own.get_program())
        .chain(own.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    tmux.types(&[&line.join(" "), "Enter"]);
    tmux.sees("What happens");
    tmux.types(&[":mail bob", "Enter"]);
    tmux.sees("陳大文 says hello");
    tmux.types(&["C-z"]);
    tmux.sees("Stopped");
    tmux.types(&["fg", "Enter"]);
    tmux.sees("陳大文 says hello");
    tmux.run(&["resize-window", "-t", "s", "-x", "60", "-y", "15"]);
    tmux.sees("Flows");
    tmux.types(&["q"]);
    until("the first screen", || {
        tmux.run(&["display-message", "-p", "-t", "s", "#{alternate_on}"]).trim() == "0"
    });
    tmux.types(&["echo after $?", "Enter"]);
    tmux.sees("after 0");
}
