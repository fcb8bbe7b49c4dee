//! Idle sessions of the real programs in a terminal (tmux) are woken by mail, each in its own way and without a key being
//! pressed for it. Gemini CLI has no way; it hears of mail at its next prompt. In a terminal it knows its commands.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::agents::real::{at_home, opencode_at_home};
use crate::support::models::{MISSING, Stage, claude, codex, gemini, opencode};
use crate::support::room::TestRoom;
use crate::support::until::{skip, until};

/// A program in a terminal, beside its models. It ends with this value.
pub(crate) struct Terminal<'a> {
    room: &'a TestRoom,
    child: Child,
}

impl<'a> Terminal<'a> {
    /// Opens it; `also` is a line of shell that runs beside it.
    fn open(room: &'a TestRoom, stage: &Stage<'_>, line: &str, also: &str) -> Self {
        let script =
            json!([{"text": "first answer"}, {"shell": "postroom check"}, {"text": "second answer"}]);
        Self::play(room, stage, &script, line, also)
    }

    /// Opens it beside models that play this script.
    pub(crate) fn play(
        room: &'a TestRoom,
        stage: &Stage<'_>,
        script: &Value,
        line: &str,
        also: &str,
    ) -> Self {
        let over = room.around().join("over");
        let body = format!(
            "tmux -S tmux.sock -f /dev/null new-session -d -x 120 -y 40 -s t \"{line}\"; {also}\n\
             while ! test -e '{}'; do sleep 0.1; done; tmux -S tmux.sock kill-server",
            over.display()
        );
        let child =
            stage.command(script, ["sh", "-c", &body]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self { room, child: child.unwrap() }
    }

    pub(crate) fn tmux(&self, words: &[&str]) -> String {
        let socket = self.room.around().join("tmux.sock");
        let output = Command::new("tmux").arg("-S").arg(socket).args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "t"])
    }

    /// Presses a key, as the person would, until the screen shows that it was taken.
    pub(crate) fn press(&self, key: &str, what: &str, is_so: impl Fn(&str) -> bool) {
        let mut last: Option<Instant> = None;
        until(what, || {
            let so = is_so(&self.screen());
            if !so && last.is_none_or(|last| last.elapsed().as_secs() >= 3) {
                self.tmux(&["send-keys", "-t", "t", key]);
                last = Some(Instant::now());
            }
            so
        });
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.screen());
        }
        let _ = std::fs::write(self.room.around().join("over"), "");
        let _ = self.child.wait();
    }
}

/// Mail comes while it is idle, which the screen shows by this text; the requests show what became of it.
fn is_woken(room: &TestRoom, stage: &Stage<'_>, terminal: &Terminal<'_>, idle: &str) -> Vec<Value> {
    let rests = |screen: String| screen.contains("first answer") && screen.contains(idle);
    until("the rest after the first answer", || rests(terminal.screen()));
    assert_eq!(stage.turns().len(), 1);
    room.by("alice", ["send", "bob", "-s", "marker-one", "-m", "BODY-OF-MAIL"]).succeeds();
    until("the turn for the mail", || stage.turns().len() >= 3);
    let turns = stage.turns();
    assert!(turns[1]["body"].to_string().contains("marker-one"), "{}", turns[1]);
    assert!(turns.iter().all(|turn| !turn["body"].to_string().contains("BODY-OF-MAIL")));
    until("the second answer on the screen", || terminal.screen().contains("second answer"));
    turns
}

pub(crate) fn has_tmux() -> bool {
    Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok()
}

/// Answers what Claude Code asks a new person.
pub(crate) fn settle_claude(room: &TestRoom) {
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    let here = room.around().canonicalize().unwrap();
    let known = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["none"], "rejected": []},
        "projects": {here.to_str().unwrap(): {"hasTrustDialogAccepted": true}},
    });
    std::fs::write(room.around().join("home/.claude.json"), known.to_string()).unwrap();
}

#[test]
fn an_idle_claude_is_woken() {
    let (Some(real), true) = (claude(), has_tmux()) else { return skip("an_idle_claude_is_woken", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    settle_claude(&room);
    let stage = at_home(&room, real);
    let terminal = Terminal::open(&room, &stage, "claude 'hello there'", "");
    let turns = is_woken(&room, &stage, &terminal, " · done ");
    assert!(turns[1]["body"].to_string().contains("mail has arrived for this session"), "{}", turns[1]);
}

#[test]
fn an_idle_codex_is_woken() {
    let (Some(real), true) = (codex(), has_tmux()) else { return skip("an_idle_codex_is_woken", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let config = room.around().join("home/.codex/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let here = room.around().canonicalize().unwrap();
    let more = format!(
        "\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n[features]\nplugins = false\n\
         [notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n",
        here.display()
    );
    std::fs::write(&config, text + &more).unwrap();
    let terminal =
        Terminal::open(&room, &stage, "codex --no-daemon 'hello there'", "postroom attend --patience 0.1 &");
    let question = "Hooks need review";
    until(question, || terminal.screen().contains(question));
    terminal.press("2", "the choice", |screen| screen.contains("› 2. Trust all"));
    terminal.press("Enter", "the answer", |screen| !screen.contains(question));
    let turns = is_woken(&room, &stage, &terminal, "Worked for");
    assert!(turns[1]["body"].to_string().contains("mail has arrived for this session"), "{}", turns[1]);
    drop(terminal);
    let check = stage.plays(&json!([]), ["postroom", "install", "codex", "--check"]);
    assert!(check.contains("its hooks are trusted"), "by the person, in the program: {check}");
}

#[test]
fn an_idle_opencode_is_woken() {
    let (Some(real), true) = (opencode(), has_tmux()) else {
        return skip("an_idle_opencode_is_woken", MISSING);
    };
    let room = TestRoom::with(&["alice", "bob"]);
    let Some(stage) = opencode_at_home(&room, real) else {
        return skip("an_idle_opencode_is_woken", "its package for plugins is not installed");
    };
    let terminal = Terminal::open(&room, &stage, "opencode --prompt 'hello there'", "");
    is_woken(&room, &stage, &terminal, "Build · m");
}

#[test]
fn gemini_runs_a_flow_by_its_name() {
    let (Some(real), true) = (gemini(), has_tmux()) else {
        return skip("gemini_runs_a_flow_by_its_name", MISSING);
    };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let terminal = Terminal::open(&room, &stage, "gemini --skip-trust -m gemini-2.5-flash", "");
    until("the prompt", || terminal.screen().contains("Type your message"));
    terminal.press("/mailbox check", "the command", |screen| screen.contains("> /mailbox check"));
    terminal.press("Enter", "the answer", |screen| screen.contains("first answer"));
    let heard = stage.turns()[0]["body"].to_string();
    assert!(
        heard.contains("Activate the skill `mailbox`") && heard.contains("cannot know: check"),
        "{heard}"
    );
}
