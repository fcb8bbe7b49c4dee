//! `postroom claude` and the others, with stand-ins for the programs: what they are started with, whose exit code it is, and
//! what is left when they end or are killed. The real programs are in launch_real.rs.

use std::path::PathBuf;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::room::{Ran, Run, TestRoom};
use crate::support::staffed::{program, with_path};
use crate::support::until::until;

/// A stand-in that says what it was given; `end` is the rest of it.
pub(crate) fn stand_in(room: &TestRoom, name: &str, end: &str) {
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    let script = "test \"$1\" = --version && { echo 99.0.0; exit; }\ntest \"$1\" = app-server && exit 1\n\
         echo \"as $AGENT_MAILBOX_ID in $POSTROOM_ROOT\"; printf '<%s>' \"$@\"; echo";
    program(room, name, &format!("{script}\n{end}"));
}

pub(crate) fn start<'a>(room: &TestRoom, words: impl IntoIterator<Item = &'a str>) -> Run {
    with_path(room, room.run(words))
}

fn home(room: &TestRoom) -> PathBuf {
    room.around().join("home")
}

/// The directories of starts that are there.
fn starts(room: &TestRoom) -> Vec<String> {
    let list = std::fs::read_dir(home(room).join(".local/state/postroom/starts")).unwrap();
    let names = list.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lock").collect()
}

/// The keepers of a room's starts.
pub(crate) fn keepers(room: &TestRoom) -> Vec<Pid> {
    let home = format!("HOME={}", home(room).display());
    let is_keeper = |pid: &i32| {
        let has = |what: &str, word: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
            bytes.split(|b| *b == 0).any(|found| found == word.as_bytes())
        };
        has("cmdline", "keeper") && has("environ", &home)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_keeper);
    all.filter_map(Pid::from_raw).collect()
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A start that runs until it is killed.
fn lasting(room: &TestRoom, words: &[&str]) -> Child {
    let begun = room.around().join(format!("begun-{}", words.join("-")));
    let run = start(room, words.iter().copied()).env("BEGUN", &begun);
    let child = run.start();
    until("the start", || begun.exists());
    child
}

const LASTS: &str = "touch \"$BEGUN\"; exec sleep 1000";

#[test]
fn a_program_has_its_mailbox_its_words_and_its_exit_code() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "claude", "exit 7");
    let ran = start(&room, ["claude", "-p", "it's", "--as", "bob", "--about", "reviews", "--", "--as", "x"])
        .exits(7);
    let (id, root) = (room.id("bob"), room.root().canonicalize().unwrap());
    assert!(ran.out.starts_with(&format!("as {id} in {}\n", root.display())), "{}", ran.out);
    assert!(
        ran.out.contains("<--plugin-dir>") && ran.out.ends_with("<-p><it's><--><--as><x>\n"),
        "{}",
        ran.out
    );
    assert!(ran.err.starts_with("postroom: Claude Code is bob, room "), "{}", ran.err);
    let names = room.run(["names"]).succeeds().out;
    assert!(names.contains("bob maildir claude unread=0") && names.contains(": reviews"), "{names}");
    // The same mailbox, which has mail now; options of ours may also stand before the program.
    room.by("alice", ["send", "bob", "-m", "x"]).succeeds();
    let again = start(&room, ["--as", "bob", "claude"]).exits(7);
    assert!(again.out.contains(&id) && again.err.contains(", 1 unread"), "{again:?}");
    let quiet = start(&room, ["-q", "--as", "bob", "claude"]).exits(7);
    assert_eq!(quiet.err, "");
    assert_eq!(room.files("bob", "inbox").len(), 1, "its mail stays");
    // A signal is what a shell makes of it.
    stand_in(&room, "claude", "kill -TERM $$");
    let line = format!(
        "PATH='{}':$PATH; postroom claude --as bob; echo \"ended $?\"",
        room.around().join("bin").display()
    );
    assert!(room.bash(&line).succeeds().out.ends_with("ended 143\n"));
}

#[test]
fn without_a_name_a_free_one_is_chosen_and_shown() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "gemini", "exit 0");
    let ran = start(&room, ["gemini"]).succeeds();
    let name =
        ran.err.strip_prefix("postroom: Gemini CLI is ").unwrap().split(',').next().unwrap().to_owned();
    assert!(ran.out.contains(&room.id(&name)), "{ran:?}");
    // Who goes on with a session in the program's own way has its mailbox, and needs no new one.
    let before = room.tree();
    let ran = start(&room, ["gemini", "--resume", "latest"]).env("AGENT_MAILBOX_ID", "nobody").succeeds();
    assert!(
        ran.out.starts_with("as  in ") && ran.err.contains("keeps the mailbox of its session"),
        "{ran:?}"
    );
    room.is_still(&before, "a resumed session");
}

#[test]
fn commands_of_the_program_and_questions_go_through_as_they_are() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "codex", "exit 3");
    let before = room.tree();
    for words in [&["mcp", "list"][..], &["-V"], &["exec", "-h"]] {
        let given: String = words.iter().map(|word| format!("<{word}>")).collect();
        let ran = start(&room, ["codex"].into_iter().chain(words.iter().copied())).exits(3);
        assert!(ran.out.ends_with(&format!("{given}\n")) && ran.err.is_empty(), "{ran:?}");
    }
    room.is_still(&before, "no session");
    assert!(!home(&room).join(".local/state/postroom/starts").exists());
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "claude", "exit 0");
    let ran = start(&room, ["claude"]).env("CODEX_THREAD_ID", "t").exits(4);
    assert!(
        ran.err.contains("session of an agent") && ran.err.contains("postroom help spawn"),
        "{}",
        ran.err
    );
    let ran = start(&room, ["opencode"]).exits(3);
    assert!(ran.err.contains("OpenCode is not installed: no `opencode` on the search path"), "{}", ran.err);
    let ran = start(&room, ["claude", "--as", "user"]).exits(4);
    assert!(ran.err.contains("`user`"), "{}", ran.err);
    start(&room, ["claude", "--as"]).exits(2);
    start(&room, ["claude", "--as", "a/b"]).exits(4);
    let ran = start(&room, ["3", "vim"]).exits(2);
    assert!(ran.err.contains("no program `vim`") && ran.err.contains("claude, codex"), "{}", ran.err);
    start(&room, ["99", "claude"]).exits(2);
    let ran = start(&room, ["cladue", "-p"]).exits(2);
    assert!(ran.err.contains(" claude -p\n"), "{}", ran.err);
    assert!(start(&room, ["aider"]).exits(2).err.contains("postroom help claude"));
    start(&room, ["claude", "--as", "nobody", "--resume"]).exits(3);
    assert!(!room.run(["names"]).succeeds().out.contains("nobody"));
    let ran = start(&room, ["claude", "--as", "alice", "--resume"]).exits(3);
    assert!(ran.err.contains("`alice` had no conversation with claude yet"), "{}", ran.err);
}

#[test]
fn the_last_conversation_of_a_name_is_resumed() {
    let room = TestRoom::with(&["alice", "bob"]);
    stand_in(&room, "codex", "exit 0");
    for (at, thread) in ["thread-1", "thread-2"].iter().enumerate() {
        let input = serde_json::json!({"session_id": thread, "cwd": room.around(), "hook_event_name": "SessionStart"});
        let hook = |event: &str| {
            let run = room.run(["hook", "codex", event]).env("AGENT_MAILBOX_ID", room.id("bob"));
            run.input(input.to_string()).succeeds()
        };
        assert!(hook("session-start").out.contains("bob"), "{at}");
        hook("session-end");
    }
    let words = |ran: Ran| ran.out.lines().nth(1).unwrap().to_owned();
    let ran = words(start(&room, ["codex", "--resume", "--as", "bob"]).succeeds());
    assert!(ran.contains("<--no-daemon><resume><thread-2>"), "{ran}");
    let ran = words(start(&room, ["--as", "bob", "codex", "--resume"]).succeeds());
    assert!(ran.ends_with("<resume><thread-2>"), "a name before the program counts too: {ran}");
    let ran = words(start(&room, ["codex", "exec", "--as", "bob", "--resume", "-x"]).succeeds());
    assert!(ran.starts_with("<exec><") && ran.ends_with("<resume><thread-2><-x>"), "{ran}");
}

#[test]
fn a_name_in_session_is_refused_with_another_and_free_after_a_kill() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "claude", LASTS);
    let mut running = lasting(&room, &["claude", "--as", "bob"]);
    let ran = start(&room, ["claude", "--as", "bob"]).exits(4);
    assert!(ran.err.contains("`bob` is in session already"), "{}", ran.err);
    assert!(ran.err.contains("--as bob-2") && ran.err.contains(" claude"), "{}", ran.err);
    let ran = start(&room, ["claude", "--as", "bob", "--resume"]).exits(4);
    assert!(!ran.err.contains("bob-2"), "it has no conversation to resume: {}", ran.err);
    let names = room.run(["names", "bob"]).succeeds();
    assert!(names.out.contains("seen just now"), "though it has called no hook: {}", names.out);
    assert_eq!(starts(&room).len(), 1);
    kill(&mut running);
    let mut running = lasting(&room, &["claude", "--as", "bob", "again"]);
    assert_eq!(starts(&room).len(), 1, "what was killed is cleared away by the next");
    kill(&mut running);
    room.run(["doctor", "--fix"]).succeeds();
    assert_eq!(starts(&room), Vec::<String>::new(), "or by the doctor");
}

/// Every file below a directory, with its bytes.
fn tree_of(dir: &std::path::Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => {
                files.extend(tree_of(&entry.path()));
                files.insert(entry.path(), vec![]);
            }
            false => drop(files.insert(entry.path(), std::fs::read(entry.path()).unwrap())),
        }
    }
    files
}

#[test]
fn files_in_the_home_stay_while_a_start_needs_them_and_go_with_the_last() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "codex", LASTS);
    stand_in(&room, "gemini", LASTS);
    let settings = home(&room).join(".gemini/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    std::fs::write(&settings, "{ /* mine */ }\n").unwrap();
    let own = |name: &str| tree_of(&home(&room).join(name));
    let before = [own(".codex"), own(".gemini")];
    let skill =
        home(&room).join(".codex/plugins/cache/postroom-local/postroom/1.0.0/skills/mailbox/SKILL.md");
    let extension = home(&room).join(".gemini/extensions/postroom/gemini-extension.json");

    let mut one = lasting(&room, &["codex", "--as", "one"]);
    let mut two = lasting(&room, &["codex", "--as", "two"]);
    let mut three = lasting(&room, &["gemini", "--as", "three"]);
    assert!(skill.exists() && extension.exists());
    assert_eq!(keepers(&room).len(), 3);
    kill(&mut one);
    until("the end of its keeper", || keepers(&room).len() == 2);
    assert!(skill.exists(), "the other needs it");
    kill(&mut two);
    kill(&mut three);
    until("the end of the keepers", || keepers(&room).is_empty());
    assert_eq!([own(".codex"), own(".gemini")], before);
    assert_eq!(starts(&room), Vec::<String>::new());

    // Killed with its keeper: the next start of any program clears it away.
    let mut one = lasting(&room, &["codex", "--as", "one", "more"]);
    let mut two = lasting(&room, &["gemini", "--as", "two", "more"]);
    keepers(&room).into_iter().for_each(|keeper| kill_process(keeper, Signal::KILL).unwrap());
    kill(&mut one);
    kill(&mut two);
    assert!(skill.exists() && extension.exists());
    stand_in(&room, "claude", "exit 0");
    start(&room, ["claude", "--as", "four"]).succeeds();
    assert_eq!([own(".codex"), own(".gemini")], before);

    // A file of the person at that place stays, and the start goes on without ours.
    std::fs::create_dir_all(extension.parent().unwrap()).unwrap();
    std::fs::write(&extension, "mine").unwrap();
    stand_in(&room, "gemini", "exit 0");
    let ran = start(&room, ["gemini", "--as", "three"]).succeeds();
    assert!(ran.err.contains("is not postroom's, so Gemini CLI starts without"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&extension).unwrap(), "mine");
}

#[test]
fn what_is_installed_is_not_brought_twice() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "claude", "exit 0");
    start(&room, ["install", "claude", "--user"]).succeeds();
    let ran = start(&room, ["claude", "--as", "bob", "-p", "go"]).succeeds();
    assert!(ran.out.ends_with("\n<-p><go>\n"), "{}", ran.out);
    // Somebody took the hooks out by hand.
    std::fs::write(home(&room).join(".claude/settings.json"), "{}\n").unwrap();
    let ran = start(&room, ["claude", "--as", "bob"]).succeeds();
    assert!(ran.out.contains("<--plugin-dir>"), "{}", ran.out);
}

#[test]
fn several_open_in_panes_or_their_commands_are_printed() {
    let room = TestRoom::with(&["alice"]);
    stand_in(&room, "claude", "exit 0");
    let ran = start(&room, ["2", "claude", "--as", "worker", "--model", "it's"]).succeeds();
    assert!(ran.err.contains("no tmux or zellij around"), "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(
        lines[0].starts_with("postroom --root ")
            && lines[0].ends_with(" claude --as worker-1 --model 'it'\\''s'")
    );
    let path = format!("PATH='{}':$PATH; ", room.around().join("bin").display());
    let pasted = room.bash(&format!("{path}{}", lines[1])).succeeds();
    assert!(
        pasted.out.contains(&room.id("worker-2")) && pasted.out.ends_with("<--model><it's>\n"),
        "{pasted:?}"
    );

    let log = room.around().join("tmux.log");
    program(&room, "tmux", &format!("printf '%s|' \"$@\" >> '{0}'; echo >> '{0}'", log.display()));
    let ran = start(&room, ["2", "claude"]).env("TMUX", "/x,1,0").succeeds();
    assert_eq!(ran.out.matches("opened the pane ").count(), 2, "{}", ran.out);
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!(said.matches("split-window|-d|-c|").count(), 2, "{said}");
    assert!(said.ends_with("select-layout|tiled|\n"), "{said}");

    // It says why it could not.
    program(&room, "zellij", "echo 'no session' >&2; exit 1");
    let ran = start(&room, ["1", "claude"]).env("ZELLIJ", "0").succeeds();
    assert!(ran.err.contains("no session") && ran.out.starts_with("postroom --root "), "{ran:?}");
}
