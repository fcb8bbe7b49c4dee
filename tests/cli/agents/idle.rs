//! Idle sessions of the real programs in a terminal (tmux) are woken by mail: what is special in Codex and Gemini CLI. What
//! all programs have in common is in `matrix/`.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::agents::real::at_home;
use crate::agents::waker::wakers;
use crate::support::models::{MISSING, Program, Stage, codex, gemini};
use crate::support::room::TestRoom;
use crate::support::staffed::program;
use crate::support::until::{skip, until_at_last};

/// A program in a terminal, beside its models. It ends with this value.
pub(crate) struct Terminal<'a> {
    room: &'a TestRoom,
    child: Child,
}

impl<'a> Terminal<'a> {
    /// Opens it.
    pub(crate) fn open(room: &'a TestRoom, stage: &Stage<'_>, line: &str) -> Self {
        let script =
            json!([{"text": "first answer"}, {"shell": "postroom check"}, {"text": "second answer"}]);
        Self::play(room, stage, &script, line)
    }

    /// Opens it beside models that play this script.
    pub(crate) fn play(room: &'a TestRoom, stage: &Stage<'_>, script: &Value, line: &str) -> Self {
        let over = room.around().join("over");
        let _ = std::fs::remove_file(&over);
        let body = format!(
            "tmux -S '{0}' -f /dev/null new-session -d -x 120 -y 40 -s t \"{line}\"\n\
             while ! test -e '{1}'; do sleep 0.1; done; tmux -S '{0}' kill-server",
            room.around().join("tmux.sock").display(),
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
        self.screen_of("t:0")
    }

    /// The screen of a window.
    pub(crate) fn screen_of(&self, window: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-t", window])
    }

    /// Presses a key, as the person would, until the screen shows that it was taken.
    pub(crate) fn press(&self, key: &str, what: &str, is_so: impl Fn(&str) -> bool) {
        self.press_in("t:0", key, what, is_so);
    }

    pub(crate) fn press_in(&self, window: &str, key: &str, what: &str, is_so: impl Fn(&str) -> bool) {
        let mut last: Option<Instant> = None;
        until_at_last(what, || {
            let so = is_so(&self.screen_of(window));
            if !so && last.is_none_or(|last| last.elapsed().as_secs() >= 3) {
                self.tmux(&["send-keys", "-t", window, key]);
                last = Some(Instant::now());
            }
            so
        });
    }

    /// Opens another window with this line.
    pub(crate) fn opens(&self, stage: &Stage<'_>, window: &str, line: &str) {
        let around = self.room.around();
        let mut tmux = Command::new("tmux");
        tmux.arg("-S")
            .arg(around.join("tmux.sock"))
            .args(["new-window", "-d", "-t", window, "-c"])
            .arg(around)
            .arg(line);
        // A new window has the search path of the command that opens it.
        assert!(tmux.env("PATH", stage.path()).status().unwrap().success());
    }

    /// Kills every process of a window, as when the machine runs out of memory.
    pub(crate) fn kills(&self, window: &str) {
        let leader = self.tmux(&["display-message", "-p", "-t", window, "#{pane_pid}"]);
        self.room.bash(&format!("kill -9 $(ps -s {} -o pid=)", leader.trim())).succeeds();
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
pub(crate) fn is_woken(
    room: &TestRoom,
    stage: &Stage<'_>,
    terminal: &Terminal<'_>,
    idle: &str,
) -> Vec<Value> {
    let rests = |screen: String| screen.contains("first answer") && screen.contains(idle);
    until_at_last("the rest after the first answer", || rests(terminal.screen()));
    assert_eq!(stage.turns().len(), 1);
    room.by("alice", ["send", "bob", "-s", "marker-one", "-m", "BODY-OF-MAIL"]).succeeds();
    until_at_last("the turn for the mail", || stage.turns().len() >= 3);
    let turns = stage.turns();
    assert!(turns[1]["body"].to_string().contains("marker-one"), "{}", turns[1]);
    assert!(turns.iter().all(|turn| !turn["body"].to_string().contains("BODY-OF-MAIL")));
    until_at_last("the second answer on the screen", || terminal.screen().contains("second answer"));
    turns
}

/// Whether hooks have said that a session works, and not yet that it stopped. A program may show its answer before.
pub(crate) fn is_at_work(room: &TestRoom) -> bool {
    let sessions = room.around().join("home/.local/state/postroom/sessions");
    let files = std::fs::read_dir(sessions).unwrap().flatten();
    files.map(|file| file.path()).any(|path| path.extension().is_some_and(|end| end == "busy"))
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
        "projects": {here.to_str().unwrap(): {"hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["postroom"]}},
    });
    std::fs::write(room.around().join("home/.claude.json"), known.to_string()).unwrap();
}

/// Codex as a person has it who trusts this directory.
fn codex_at_home<'a>(room: &'a TestRoom, real: Program) -> Stage<'a> {
    let stage = at_home(room, real);
    settle_codex(room);
    stage
}

/// Answers what Codex asks a new person, but for the trust in hooks.
pub(crate) fn settle_codex(room: &TestRoom) {
    greet_codex(room);
    let here = room.around().canonicalize().unwrap();
    adds_to_codex(room, &format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", here.display()));
}

/// Answers what Codex asks a new person, but for the trust in hooks and in the folder.
pub(crate) fn greet_codex(room: &TestRoom) {
    let answers = "\n[features]\nplugins = false\n[notice.model_migrations]\n\"gpt-5.5\" = \"gpt-6-sol\"\n";
    adds_to_codex(room, answers);
}

fn adds_to_codex(room: &TestRoom, more: &str) {
    let config = room.around().join("home/.codex/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text + more).unwrap();
}

/// The person trusts the hooks.
pub(crate) fn trusts(terminal: &Terminal<'_>) {
    let question = "Hooks need review";
    until_at_last(question, || terminal.screen().contains(question));
    let is_chosen = |screen: &str| screen.contains("› 2. Trust all") || !screen.contains(question);
    terminal.press("2", "the choice", is_chosen);
    terminal.press("Enter", "the answer", |screen| !screen.contains(question));
}

#[test]
fn an_idle_codex_is_woken() {
    let (Some(real), true) = (codex(), has_tmux()) else { return skip("an_idle_codex_is_woken", MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = codex_at_home(&room, real);
    let terminal = Terminal::open(&room, &stage, "codex --no-daemon 'hello there'");
    trusts(&terminal);
    let turns = is_woken(&room, &stage, &terminal, "Worked for");
    assert!(turns[1]["body"].to_string().contains("mail has arrived for this session"), "{}", turns[1]);
    assert_eq!(wakers(&room).len(), 1);
    drop(terminal);
    until_at_last("the end of the waker with the terminal", || wakers(&room).is_empty());
    let check = stage.plays(&json!([]), ["postroom", "install", "codex", "--check"]);
    assert!(check.contains("its hooks are trusted"), "by the person, in the program: {check}");
    let config = || std::fs::read_to_string(stage.home().join(".codex/config.toml")).unwrap();
    assert!(config().contains("trusted_hash"), "{}", config());
    stage.plays(&json!([]), ["postroom", "uninstall", "codex"]);
    assert!(!config().contains("trusted_hash") && !config().contains("[hooks"), "{}", config());
}

/// The process with the only window, and the session in it.
fn window(room: &TestRoom) -> (rustix::process::Pid, String) {
    let open = room.around().join("home/.local/state/postroom/sessions/.open");
    let entry = std::fs::read_dir(open).unwrap().next().unwrap().unwrap();
    let name = entry.file_name().into_string().unwrap();
    let pid = name.split('-').next().unwrap().parse().unwrap();
    let record = std::fs::read_to_string(entry.path().join("session")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    (rustix::process::Pid::from_raw(pid).unwrap(), record["session"].as_str().unwrap().to_owned())
}

/// The daemon of Codex, which outlives its terminals.
pub(crate) struct Daemon<'a>(pub(crate) &'a TestRoom);

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        for name in ["daemon.pid", "daemon-updater.pid"] {
            let file = self.0.around().join("home/.codex/app-server-daemon").join(name);
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let digits: String =
                text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
            let pid = digits.parse().ok().and_then(rustix::process::Pid::from_raw);
            let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        }
    }
}

#[test]
fn a_codex_of_the_daemon_is_woken_while_its_terminal_is_open_and_not_after() {
    let test = "a_codex_of_the_daemon_is_woken_while_its_terminal_is_open_and_not_after";
    let (Some(real), true) = (codex(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let file = real.file.clone();
    let stage = codex_at_home(&room, real);
    let _daemon = Daemon(&room);
    // The terminal stays when the program in it is gone, so that the models do.
    let terminal = Terminal::open(&room, &stage, "codex 'hello there'; exec cat");
    trusts(&terminal);
    is_woken(&room, &stage, &terminal, "Worked for");
    let (program, thread) = window(&room);
    assert_eq!(wakers(&room).len(), 1);
    // As when its window is closed hard.
    rustix::process::kill_process(program, rustix::process::Signal::KILL).unwrap();
    until_at_last("the end of the waker with the terminal", || wakers(&room).is_empty());
    room.by("alice", ["send", "bob", "-s", "marker-two", "-m", "x"]).succeeds();
    // Even a line that is in its queue already is dropped by the hook.
    let asked = stage.turns().len();
    let push = "postroom: mail has arrived for this session's mailbox. `postroom check` lists it.";
    for line in [push, "a line of somebody else"] {
        let mut queue = Command::new(&file);
        queue.args(["queue", "--thread", &thread, "--message", line]).env("HOME", stage.home());
        let queued = queue.output().unwrap();
        assert!(queued.status.success(), "{queued:?}");
    }
    until_at_last("the line behind it", || stage.turns().len() > asked);
    let after = stage.turns()[asked]["body"].to_string();
    assert!(after.contains("a line of somebody else"), "{after}");
    assert_eq!(after.matches("mail has arrived for this session").count(), 1, "the one of before: {after}");
}

/// Answers what Copilot CLI asks a new person.
pub(crate) fn settle_copilot(room: &TestRoom) {
    let here = room.around().canonicalize().unwrap();
    std::fs::create_dir_all(room.around().join("home/.copilot")).unwrap();
    let known = json!({"trustedFolders": [here]});
    std::fs::write(room.around().join("home/.copilot/config.json"), known.to_string()).unwrap();
}

#[test]
fn an_idle_gemini_is_woken_by_typing_where_that_was_allowed() {
    let test = "an_idle_gemini_is_woken_by_typing_where_that_was_allowed";
    let (Some(real), true) = (gemini(), has_tmux()) else { return skip(test, MISSING) };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    stage.plays(&json!([]), ["postroom", "install", "gemini", "--name", "bob", "--type-into-tmux"]);
    // Notes how often somebody looks at the pane.
    let looks = room.around().join("looks");
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|dir| dir.join("tmux")).find(|file| file.is_file()).unwrap();
    let tmux = format!("echo \"$*\" >>'{}'; exec '{}' \"$@\"", looks.display(), real.display());
    program(&room, "tmux", &tmux);
    let seen = || std::fs::read_to_string(&looks).unwrap_or_default().matches("capture-pane").count();
    let once_more = |what: &str| {
        let before = seen();
        until_at_last(what, || seen() > before);
    };
    let gate = room.around().join("gate");
    let script = json!([
        {"text": "first answer"},
        {"shell": "postroom check"}, {"text": "second answer"},
        {"text": "third answer", "after": gate}, {"text": "fourth answer"}
    ]);
    let line = "gemini --skip-trust -m gemini-2.5-flash";
    let terminal = Terminal::play(&room, &stage, &script, line);
    let typed = "mail has arrived for this session";
    until_at_last("the prompt", || terminal.screen().contains("Type your message"));
    terminal.press("hello there", "the text", |screen| screen.contains("> hello there"));
    terminal.press("Enter", "the answer", |screen| screen.contains("first answer"));
    until_at_last("a waker", || wakers(&room).len() == 1);
    terminal.press("half a draft", "a draft", |screen| screen.contains("> half a draft"));
    room.by("alice", ["send", "bob", "-s", "marker-one", "-m", "BODY-OF-MAIL"]).succeeds();
    once_more("a look at the draft");
    assert!(terminal.screen().contains("> half a draft") && !terminal.screen().contains(typed));
    terminal.press("C-u", "an empty input", |screen| !screen.contains("half a draft"));
    until_at_last("the turn for the mail", || stage.turns().len() >= 3);
    assert!(stage.turns()[1]["body"].to_string().contains(typed));
    assert!(stage.turns()[1]["body"].to_string().contains("marker-one"));
    until_at_last("the rest", || {
        terminal.screen().contains("second answer") && !terminal.screen().contains("esc to cancel")
    });
    // A turn that runs is left alone, and hears of the mail at its end.
    terminal.press("go on", "the text", |screen| screen.contains("> go on"));
    terminal.press("Enter", "the turn", |screen| screen.contains("esc to cancel"));
    room.by("alice", ["send", "bob", "-s", "marker-two", "-m", "x"]).succeeds();
    once_more("a look at the turn");
    std::fs::write(&gate, "").unwrap();
    until_at_last("what came of it", || stage.turns().len() >= 5);
    let last = stage.turns()[4]["body"].to_string();
    assert!(last.contains("marker-two") && last.matches(typed).count() == 1, "nothing was typed: {last}");
    drop(terminal);
    until_at_last("the end of the waker with the terminal", || wakers(&room).is_empty());
}

#[test]
fn gemini_runs_a_flow_by_its_name() {
    let (Some(real), true) = (gemini(), has_tmux()) else {
        return skip("gemini_runs_a_flow_by_its_name", MISSING);
    };
    let room = TestRoom::with(&["alice", "bob"]);
    let stage = at_home(&room, real);
    let terminal = Terminal::open(&room, &stage, "gemini --skip-trust -m gemini-2.5-flash");
    until_at_last("the prompt", || terminal.screen().contains("Type your message"));
    terminal.tmux(&["send-keys", "-t", "t:0", "/mailbox"]);
    // Until it has read its skills, it would send the line to the model as it is.
    until_at_last("the skill in its menu", || terminal.screen().contains("Mail between agent"));
    terminal.press(" check", "the command", |screen| screen.contains("> /mailbox check"));
    terminal.press("Enter", "the answer", |screen| screen.contains("first answer"));
    let heard = stage.turns()[0]["body"].to_string();
    assert!(heard.contains("<activated_skill") && heard.contains(r#"{"text":"check"}"#), "{heard}");
}
