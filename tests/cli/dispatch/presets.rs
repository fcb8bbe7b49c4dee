//! The presets, each with a recorded stream of its program: what it is started with, that the prompt comes on standard
//! input and no byte of a message anywhere else, and what is read out of what it prints.

use crate::support::staffed::{AT_ONCE, dispatch, inbox, program, reason, runs, staffed};

/// One program: its stream, the arguments it is started with, and those with which it goes on.
struct Recorded {
    preset: &'static str,
    stream: &'static str,
    start: &'static str,
    resume: &'static str,
    lost: &'static str,
}

const CLAUDE: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","tools":["Bash"]}
{"type":"assistant","message":{"content":[{"type":"text","text":"Looking."}]},"session_id":"s-1"}
{"type":"result","subtype":"success","is_error":false,"result":"the answer","session_id":"s-1","num_turns":1,"total_cost_usd":0.5}"#;

const CODEX: &str = r#"{"type":"thread.started","thread_id":"s-1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"a warning"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"the answer"}}
{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":2}}"#;

const GEMINI: &str = r#"{"type":"init","session_id":"s-1","model":"m"}
{"type":"message","role":"user","content":"the prompt"}
{"type":"message","role":"assistant","content":"the ","delta":true}
{"type":"message","role":"assistant","content":"answer","delta":true}
{"type":"result","status":"success","stats":{}}"#;

const OPENCODE: &str = r#"{"type":"step_start","sessionID":"s-1","part":{}}
{"type":"tool_use","sessionID":"s-1","part":{"tool":"bash"}}
{"type":"text","sessionID":"s-1","part":{"text":"the answer"}}
{"type":"step_finish","sessionID":"s-1","part":{"reason":"stop"}}"#;

const COPILOT: &str = r#"{"type":"assistant.message","data":{"content":"the answer"}}
{"type":"result","sessionId":"s-1","exitCode":0}"#;

const ALL: [Recorded; 5] = [
    Recorded {
        preset: "claude",
        stream: CLAUDE,
        start: "-p --output-format stream-json --verbose --allowedTools Bash(postroom *) --permission-mode acceptEdits --model m-1 --add-dir ROOT",
        resume: "-p --resume s-1 --output-format stream-json",
        lost: "No conversation found with session ID: s-1",
    },
    Recorded {
        preset: "codex",
        stream: CODEX,
        start: "exec --json -o LAST --skip-git-repo-check --disable plugins -c allow_login_shell=false -c sandbox_mode=\"workspace-write\" -c approval_policy=\"never\" -c model=m-1 -c sandbox_workspace_write.writable_roots=[\"ROOT\"] -",
        resume: "exec resume s-1 --json",
        lost: "Error: no rollout found for thread id s-1",
    },
    Recorded {
        preset: "gemini",
        stream: GEMINI,
        start: "--skip-trust --output-format stream-json --approval-mode auto_edit --allowed-tools run_shell_command(postroom) -m m-1 --include-directories ROOT",
        resume: "--skip-trust --resume s-1",
        lost: "Error resuming session: No previous sessions found",
    },
    Recorded {
        preset: "opencode",
        stream: OPENCODE,
        start: "run --format json --model m-1",
        resume: "run --format json --session s-1",
        lost: "Session not found",
    },
    Recorded {
        preset: "copilot",
        stream: COPILOT,
        start: "--output-format json --allow-tool shell(postroom:*) --allow-tool write --model m-1 --add-dir ROOT",
        resume: "--resume s-1",
        lost: "No session found",
    },
];

/// A program that notes its arguments and its input, and prints its stream; it may have lost its conversations.
fn fake(recorded: &Recorded) -> String {
    format!(
        "printf '%s\\n' \"$*\" >> \"$HOME/arguments\"; cat >> \"$HOME/input\"\n\
         if [ -e \"$HOME/lost\" ]; then case \"$*\" in *s-1*) echo '{}' >&2; exit 1;; esac; fi\n\
         cat <<'END'\n{}\nEND",
        recorded.lost, recorded.stream
    )
}

fn settings(preset: &str) -> String {
    format!("[agents.worker]\npreset = \"{preset}\"\nmodel = \"m-1\"\nsession = true\n{AT_ONCE}")
}

#[test]
fn each_program_is_started_told_and_read() {
    for recorded in ALL {
        let room = staffed(&["worker"], &settings(recorded.preset));
        program(&room, recorded.preset, &fake(&recorded));
        let home = room.around().join("home");
        let secret = "hostile $(touch pwned) --flag";
        room.send("alice", "worker", secret);
        dispatch(&room, []).succeeds();
        assert_eq!(inbox(&room, "alice"), ["the answer\n"], "{}", recorded.preset);
        let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
        let run = runs(&room).pop().unwrap();
        let last = room.root().join(".dispatch/runs").join(run["id"].as_str().unwrap()).join("last");
        let start = recorded
            .start
            .replace("ROOT", &room.root().display().to_string())
            .replace("LAST", &last.display().to_string());
        assert_eq!(read("arguments").trim_end(), start, "{}", recorded.preset);
        assert!(read("input").contains(secret), "the prompt is read from standard input");
        assert_eq!(run["session"], "s-1", "{run}");
        assert_eq!(run["cost"].as_f64(), (recorded.preset == "claude").then_some(0.5), "{run}");

        // The next message goes on with the conversation, and once afresh when it is lost.
        room.send("alice", "worker", "second");
        dispatch(&room, []).succeeds();
        let second = read("arguments").lines().last().unwrap().to_owned();
        assert!(second.starts_with(recorded.resume), "{second}");
        std::fs::write(home.join("lost"), "").unwrap();
        room.send("alice", "worker", "third");
        dispatch(&room, []).succeeds();
        let told = read("arguments");
        assert_eq!(told.lines().count(), 4, "resumed in vain, then afresh: {told}");
        assert!(!told.lines().last().unwrap().contains("s-1"), "{told}");
        assert_eq!(inbox(&room, "alice").len(), 3, "{}", recorded.preset);
        assert_eq!(runs(&room).len(), 3);
    }
}

#[test]
fn a_conversation_is_one_of_a_channel() {
    let [claude, ..] = ALL;
    let room = staffed(&["worker"], &settings("claude"));
    program(&room, "claude", &fake(&claude));
    for channel in ["red", "blue", "red"] {
        room.by("alice", ["send", "worker", "-m", "x", "--channel", channel]).succeeds();
        dispatch(&room, []).succeeds();
    }
    let told = std::fs::read_to_string(room.around().join("home/arguments")).unwrap();
    let resumed: Vec<bool> = told.lines().map(|line| line.contains("--resume")).collect();
    assert_eq!(resumed, [false, false, true]);
}

/// What each program says when it fails, and a part of what the person hears about it.
const FAILURES: [(&str, &str, &str); 9] = [
    (
        "claude",
        r#"echo '{"type":"assistant","error":"authentication_failed","message":{"id":"m"}}
{"type":"result","is_error":true,"terminal_reason":"api_error","api_error_status":null,"result":"Not logged in · Please run /login"}'; exit 1"#,
        "`claude` is not logged in; start it once by hand and log in",
    ),
    (
        "claude",
        r#"echo '{"type":"result","is_error":true,"result":"Overloaded"}'; exit 1"#,
        "it failed: Overloaded",
    ),
    (
        "codex",
        r#"echo '{"type":"turn.failed","error":{"message":"401 Unauthorized"}}'; exit 1"#,
        "`codex` is not logged in",
    ),
    (
        "codex",
        "echo 'thread x already has an active writer' >&2; exit 1",
        "its conversation is in use elsewhere",
    ),
    ("gemini", "echo 'Please set an Auth method' >&2; exit 41", "`gemini` is not logged in"),
    (
        "opencode",
        r#"echo '{"type":"error","error":{"data":{"message":"no such model"}}}'; exit 1"#,
        "it failed: no such model",
    ),
    ("opencode", r#"echo '{"type":"step_start","sessionID":"s"}'"#, "it ended without an answer"),
    (
        "copilot",
        "echo 'Error: No authentication information found.' >&2; exit 1",
        "`copilot` is not logged in",
    ),
    (
        "claude",
        "echo 'Segmentation fault'",
        "its output is not the JSON that its preset expects; another version",
    ),
];

#[test]
fn each_failure_has_a_reason() {
    for (preset, script, wanted) in FAILURES {
        let room = staffed(&["worker"], &format!("[agents.worker]\npreset = \"{preset}\"\nretries = 0\n"));
        program(&room, preset, &format!("cat >/dev/null\n{script}"));
        room.send("alice", "worker", "x");
        dispatch(&room, []).exits(5);
        assert!(reason(&room).contains(wanted), "{preset}: {}", reason(&room));
        let bounces = inbox(&room, "alice");
        match wanted.contains("is not logged in") {
            // That is not the message's fault.
            true => assert!(bounces.is_empty() && room.files("worker", "inbox").len() == 1, "{bounces:?}"),
            false => assert!(bounces[0].contains(wanted), "{preset}: {bounces:?}"),
        }
    }
}

/// A stream that gives the reason is not repeated, also if it is long; another one ends as its transcript does.
#[test]
fn a_failure_is_told_without_the_events_of_its_program() {
    let long = "x".repeat(9000);
    let fill = format!(r#"{{"type":"system","subtype":"init","session_id":"s","skills":["{long}"]}}"#);
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look first."},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"make"}}]}}"#;
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 400 bad request"}"#;
    for (lines, wanted) in [
        (format!("{fill}\n{said}\n{failed}"), "it failed: API Error: 400 bad request"),
        (format!("{said}\n{fill}"), "it exited with 1; it ended with:\nI look first.\n→ Bash: make"),
    ] {
        let room = staffed(&["worker"], "[agents.worker]\npreset = \"claude\"\nretries = 0\n");
        let asked = room.send("alice", "worker", "x");
        program(&room, "claude", &format!("cat >/dev/null\ncat <<'END'\n{lines}\nEND\nexit 1"));
        dispatch(&room, []).exits(5);
        assert_eq!(reason(&room), wanted);
        let trace = room.by("alice", ["trace", &asked]).succeeds().out;
        assert!(trace.contains(wanted.lines().next().unwrap()) && !trace.contains("subtype"), "{trace}");
    }
}

#[test]
fn an_answer_that_speaks_of_logins_is_an_answer() {
    let room = staffed(&["worker"], "[agents.worker]\npreset = \"claude\"\n");
    program(
        &room,
        "claude",
        r#"echo '{"type":"result","is_error":false,"result":"it says: Invalid API key"}'"#,
    );
    room.send("alice", "worker", "what does it say?");
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice"), ["it says: Invalid API key\n"]);
}

#[test]
fn the_environment_is_clean_but_for_what_is_allowed() {
    let script = "cat >/dev/null; env | cut -d= -f1 | sort | tr '\\n' ' '";
    let settings = format!(
        "[agents.worker]\npreset = \"command\"\ncommand = [\"sh\", \"-c\", '''{script}''']\nenv = [\"ALLOWED\"]\n"
    );
    let room = staffed(&["worker"], &settings);
    room.send("alice", "worker", "x");
    dispatch(&room, []).env("ALLOWED", "1").env("SECRET_TOKEN", "2").succeeds();
    assert_eq!(
        inbox(&room, "alice")[0].trim(),
        "AGENT_HARNESS AGENT_MAILBOX_ID ALLOWED HOME PATH POSTROOM_HOPS POSTROOM_ROOT POSTROOM_RUN POSTROOM_THREAD PWD"
    );
}
