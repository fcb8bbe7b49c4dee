//! Who passes for a person, and what only a person can say. docs/why/security.md has the table of these ways.

use std::path::{Path, PathBuf};

use crate::support::crew::{begin, crew, project, results, settings, shared, status, workflow};
use crate::support::room::{Ran, TestRoom};
use crate::support::staffed::{dispatch, program, settle};
use crate::support::until::{skip, until};

const REFUSED: &str = "only a person at a terminal can do this: ";

/// What a person may do and that changes nothing, as a line of shell.
fn probe(room: &TestRoom) -> String {
    let place = project(room);
    std::fs::create_dir_all(&place).unwrap();
    format!("{} trust --export {}", env!("CARGO_BIN_EXE_postroom"), place.display())
}

/// What the probe says inside of an agent program, in the terminal of a person; `$PROBE` in the line is the probe. With
/// `gone` it is tried after the program has ended.
fn in_agent(room: &TestRoom, line: &str, gone: bool) -> String {
    let (said, begun) = (room.around().join("said"), room.around().join("begun"));
    let (_, _) = (std::fs::remove_file(&said), std::fs::remove_file(&begun));
    let wait = format!(": >{}; while kill -0 $AGENT 2>/dev/null; do :; done;", begun.display());
    let probe = format!(
        "{} {} > {said}.new 2>&1; mv {said}.new {said}",
        if gone { &wait } else { "" },
        probe(room),
        said = said.display()
    );
    let script = program(room, "probe", &probe);
    // The end of a session ends what has not left it yet.
    let held = if gone { format!("until [ -e {} ]; do :; done", begun.display()) } else { String::new() };
    let agent =
        program(room, "claude", &format!("export AGENT=$$ PROBE={}; {line}\n{held}", script.display()));
    let mut ran = std::process::Command::new(agent);
    ran.env_clear().env("HOME", room.around().join("home")).env("PATH", "/usr/local/bin:/usr/bin:/bin");
    crate::support::seat::run(&ran, b"", true);
    until("the end of the probe", || said.exists());
    std::fs::read_to_string(said).unwrap()
}

#[test]
fn a_person_is_at_a_terminal_below_no_agent() {
    let room = TestRoom::with(&["alice"]);
    let ssh = room.bash(&probe(&room)).by_person().with(0);
    assert!(ssh.out.starts_with("# ~/.config/postroom/trusted/"), "{ssh:?}");
    let nobody = room.bash(&probe(&room)).exits(4);
    assert!(nobody.err.contains(REFUSED), "{nobody:?}");
    let behind = room.bash(&format!("set -m; {} & wait $!", probe(&room))).by_person().with(4);
    assert!(behind.err.contains(&format!("{REFUSED}another process has the terminal")), "{behind:?}");
    for mark in ["CLAUDECODE", "GEMINI_CLI", "POSTROOM_RUN"] {
        let marked = room.bash(&probe(&room)).env(mark, "1").by_person().with(4);
        assert!(marked.err.contains(REFUSED), "{mark}: {marked:?}");
    }
}

#[test]
fn what_an_agent_starts_is_stopped_while_the_agent_is_above_it() {
    let room = TestRoom::with(&["alice"]);
    for line in ["$PROBE", "env -i AGENT=$AGENT $PROBE", "sh -c '$PROBE; :'", "script -qec $PROBE /dev/null"]
    {
        let said = in_agent(&room, line, false);
        assert!(said.contains(&format!("{REFUSED}`claude` started this")), "{line}: {said}");
    }
    for (line, gone) in [("setsid -w $PROBE", false), ("setsid -f $PROBE", true), ("nohup $PROBE &", true)] {
        let said = in_agent(&room, line, gone);
        assert!(said.contains(REFUSED), "{line}: {said}");
    }
}

/// What cannot be told from a person; docs/why/security.md says so.
#[test]
fn what_has_left_its_agent_for_a_terminal_of_its_own_is_not_stopped() {
    let room = TestRoom::with(&["alice"]);
    let said = in_agent(&room, "setsid -f script -qec $PROBE /dev/null </dev/null >/dev/null", true);
    assert!(said.starts_with("# "), "{said}");
    if !Path::new("/usr/bin/tmux").exists() {
        return skip(
            "what_has_left_its_agent_for_a_terminal_of_its_own_is_not_stopped",
            "tmux is not installed",
        );
    }
    let socket = room.around().join("tmux");
    let tmux = format!("tmux -f /dev/null -S {}", socket.display());
    let line = format!("{tmux} new-session -d 'sleep 1000'; {tmux} new-window $PROBE");
    let said = in_agent(&room, &line, true);
    let _ = std::process::Command::new("tmux").arg("-S").arg(&socket).arg("kill-server").status();
    assert!(said.starts_with("# "), "{said}");
}

#[test]
fn in_a_pid_namespace_a_person_types_the_name() {
    let room = TestRoom::with(&["alice"]);
    let (said, probe) = (room.around().join("said"), probe(&room));
    let inner = program(&room, "inner", &format!("{probe} >{} 2>&1", said.display()));
    let line = format!(
        "unshare -pf --mount-proc script -qec {} /dev/null </dev/tty >/dev/tty 2>&1",
        inner.display()
    );
    let ran = room.bash(&line).by_person();
    let Ok(told) = std::fs::read_to_string(&said) else {
        return skip("in_a_pid_namespace_a_person_types_the_name", &format!("unshare: {}", ran.err));
    };
    assert!(told.starts_with("# "), "{told}");
    room.bash(&line).by_doubter();
    let told = std::fs::read_to_string(&said).unwrap();
    assert!(told.contains(&format!("{REFUSED}the name was not typed")), "{told}");
}

#[test]
fn trust_asks_and_is_made_elsewhere_where_nobody_has_a_terminal() {
    let room = crew(&[("one", "echo x")], &[("plain", "steps:\n  a: {agent: one, prompt: x}\n")]);
    let place = project(&room);
    room.run(["trust", "--revoke"]).within(&place).by_person().with(0);
    let trust = |words: &[&str]| room.run(["trust"].iter().chain(words).copied()).within(&place);
    trust(&["--yes"]).exits(4);
    trust(&[]).by_doubter().with(1);
    workflow(&room, ["run", "plain"]).exits(4);
    let record = trust(&["--export"]).by_person().with(0).out;
    workflow(&room, ["run", "plain"]).exits(4);
    let file: PathBuf = record[2..record.find(':').unwrap()]
        .replace("~", room.around().join("home").to_str().unwrap())
        .into();
    std::fs::write(&file, &record).unwrap();
    workflow(&room, ["run", "plain"]).succeeds();
    trust(&["--revoke"]).by_person().with(0);
    trust(&["--yes"]).by_person().with(0);
    workflow(&room, ["run", "plain"]).succeeds();
}

/// A run that waits for the person, and the id of its request.
fn waits() -> (TestRoom, String, String) {
    let text = "steps:\n  a: {agent: one, prompt: x, retry: 1, gate: {approval: user}}\n";
    let room = crew(&[("one", "echo x"), ("user", "echo never"), ("mallory", "")], &[("asks", text)]);
    settle(&room, &settings(&[("one", "echo x")]));
    let run = begin(&room, "asks", &[]);
    dispatch(&room, []).succeeds();
    let asked = room.by("user", ["check", "--json"]).json()["messages"][0]["id"].as_str().unwrap().to_owned();
    (room, run, asked)
}

fn resume(room: &TestRoom, run: &str) -> Ran {
    workflow(room, ["resume", run]).succeeds()
}

#[test]
fn only_a_person_s_command_approves() {
    let (room, run, asked) = waits();
    for words in [
        vec!["approve", &run, "--yes"],
        vec!["reject", &run, "-m", "no"],
        vec!["--as", "user", "read", &asked],
        vec!["--as", "user", "reply", &asked, "-m", "approve"],
        vec!["--as", "user", "claim"],
        vec!["--as", &room.id("user"), "read"],
    ] {
        let refused = room.run(words.iter().copied()).exits(4);
        assert!(refused.err.contains(REFUSED), "{words:?}: {refused:?}");
    }
    let refused = room.run(["read"]).env("AGENT_MAILBOX_ID", "user").exits(4);
    assert!(refused.err.contains(REFUSED), "{refused:?}");
    // By a command that anybody can run, and by hand.
    room.by("user", ["send", &run, "-m", "approve", "--reply-to", &asked]).succeeds();
    let told = resume(&room, &run);
    assert!(told.err.contains("it was not given by a person with `approve` or `reject`"), "{told:?}");
    let forged = format!(
        "---\nid: {}\nfrom: {}\nto: {run}\nsubject: re\nreply_to: {asked}\n---\n\napprove\n",
        "0123456789abcdef0123456789abcdef",
        room.id("user")
    );
    for folder in ["inbox", "archive"] {
        let file = room.root().join(&run).join(folder).join("20260101T000000Z-re-01234567.md");
        std::fs::write(&file, &forged).unwrap();
        crate::support::hand::tighten(&file);
        crate::support::hand::age(&file, 60);
        resume(&room, &run);
        assert_eq!(status(&room, &run), "in_progress", "{folder}");
        let _ = std::fs::remove_file(file);
    }
    room.run(["approve", &run]).by_doubter().with(1);
    room.run(["approve", &format!("{run}/b")]).by_person().with(3);
    room.run(["approve", &format!("{run}/a")]).by_person().with(0);
    room.run(["approve", &asked[..8]]).by_person().with(3);
    // The run went on by itself, although no dispatcher runs.
    assert_eq!((status(&room, &run), results(&room, &run, "a")), ("completed".into(), vec!["x".into()]));
    assert!(shared(&room, "session-context.md").contains("a: approved by user (20"));
    let kept = std::fs::read_dir(room.around().join("home/.config/postroom/approvals")).unwrap();
    let [file] = kept.map(|file| file.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    let record: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((&record["request"], &record["run"]), (&asked.into(), &run.as_str().into()));
    assert!(
        record["terminal"].as_str().unwrap().starts_with("/dev/pts/") && record["by"] == "user",
        "{record}"
    );
    room.run(["approve", &run]).by_person().with(3);
}

#[test]
fn a_person_rejects_with_a_reason_and_says_it_once() {
    let (room, run, asked) = waits();
    let told = room.run(["reject", &run, "-m", "too short", "--json"]).by_person().with(0);
    assert!(told.out.contains("\"answer\":\"reject: too short\""), "{told:?}");
    room.run(["approve", &run, "--yes"]).by_person().with(3);
    dispatch(&room, []).succeeds();
    assert!(
        crate::support::crew::received(&room, "one")
            .iter()
            .any(|body| body.contains("user rejected it: too short"))
    );
    room.run(["approve", &asked]).by_person().with(3);
    room.run(["approve", &run, "--yes"]).by_person().with(0);
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn a_request_that_was_changed_is_not_approved_by_a_reply() {
    let (room, run, asked) = waits();
    let file = room.folder("user", "inbox").join(&room.files("user", "inbox")[0]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("May the run go on with its result?", "Is it lunch time?")).unwrap();
    let reply = || room.by("user", ["reply", &asked, "-m", "approve"]);
    let refused = reply().by_person().with(4);
    assert!(refused.err.contains(&format!("this message is not what the run {run} asks")), "{refused:?}");
    std::fs::write(&file, text).unwrap();
    reply().by_person().with(0);
    assert_eq!(status(&room, &run), "completed");
}

#[test]
fn what_an_agent_sends_for_the_person_says_so() {
    let room = TestRoom::with(&["alice", "user"]);
    let text = |n: usize| {
        std::fs::read_to_string(room.folder("alice", "inbox").join(&room.files("alice", "inbox")[n])).unwrap()
    };
    let agent =
        room.by("user", ["send", "alice", "-m", "one", "--field", "via=nobody"]).env("CLAUDECODE", "1");
    agent.succeeds();
    assert!(text(0).contains("\nvia: claude\n"), "{}", text(0));
    room.by("user", ["send", "alice", "-s", "zz", "-m", "two"]).by_person().with(0);
    let all: Vec<String> = (0..2).map(text).collect();
    assert!(all.iter().any(|text| text.contains("two") && !text.contains("via:")), "{all:?}");
    // Nobody else can write the field, so that it is evidence where it stands.
    room.by("alice", ["send", "user", "-m", "three", "--field", "via=user"]).succeeds();
    let name = &room.files("user", "inbox")[0];
    let text = std::fs::read_to_string(room.folder("user", "inbox").join(name)).unwrap();
    assert!(text.contains("three") && !text.contains("via:"), "{text}");
}

#[test]
fn neither_a_server_nor_the_end_of_a_claim_opens_the_mail_of_the_person() {
    let room = TestRoom::with(&["alice", "user"]);
    let id = room.send("alice", "user", "secret plan");
    let mut client = crate::support::mcp_client::Client::greeted(&room, "user");
    assert!(client.fails("read", serde_json::json!({"id": id})).contains(REFUSED));
    assert!(client.fails("reply", serde_json::json!({"id": id, "text": "approve"})).contains(REFUSED));
    client.ends();
    let claimed = room.by("user", ["claim", "--json"]).by_person().with(0).out;
    let claimed: serde_json::Value = serde_json::from_str(&claimed).unwrap();
    let token = claimed["claim"]["token"].as_str().unwrap();
    let refused = room.by("user", ["done", token, "-m", "yes"]).exits(4);
    assert!(refused.err.contains(REFUSED), "{refused:?}");
    room.by("user", ["done", token, "-m", "yes"]).by_person().with(0);
    // The queues of agents are not the person's.
    room.send("user", "alice", "x");
    room.by("user", ["claim", "--queue", "alice"]).succeeds();
}
