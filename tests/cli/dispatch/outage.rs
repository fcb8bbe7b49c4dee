//! Outages: what each program says when it cannot work. The agent waits, the mail is not touched, and the person is told once.
//! The lines are those that the real programs of November 2026 printed against a stand-in for their providers (real.rs).

use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, inbox, program, runs, staffed};

/// An agent of this program, which is a script: it prints these lines and exits with this code, until there is a file
/// `works`; then it prints these.
fn agent(name: &str, lines: &str, code: i32, works: &str, more: &str) -> TestRoom {
    // An outage uses up neither the attempts of a message nor the runs of its thread.
    let settings = format!(
        "[agents.worker]\npreset = \"{name}\"\nretries = 0\n{more}\n[dispatch]\nback_off = \"0s\"\nprobe = \"1h\"\nthread_runs = 2\n"
    );
    let room = staffed(&["worker"], &settings);
    room.run(["setup", "--child", "user"]).by_person();
    let works_file = room.around().join("works").display().to_string();
    let script = format!(
        "cat > /dev/null\nif [ -e {works_file} ]; then cat <<'EOF'\n{works}\nEOF\nelse cat <<'EOF'\n{lines}\nEOF\nexit {code}\nfi"
    );
    program(&room, name, &script);
    room
}

const CLAUDE: &str = r#"{"type":"result","is_error":false,"result":"fine","session_id":"s"}"#;
const CODEX: &str = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"fine"}}"#;
const GEMINI: &str = r#"{"type":"message","role":"assistant","content":"fine"}"#;
const OPENCODE: &str = r#"{"type":"text","sessionID":"s","part":{"text":"fine"}}"#;
const COPILOT: &str = r#"{"type":"assistant.message","data":{"messageId":"m","content":"fine"}}"#;

/// The message waits and the attempt does not count; the person is told once; the probe lets everything go on.
fn pauses(name: &str, lines: &str, code: i32, works: &str, why: &str) {
    let room = agent(name, lines, code, works, "");
    room.send("alice", "worker", "x");
    room.send("alice", "worker", "y");
    dispatch(&room, []).exits(5);
    let told = runs(&room);
    assert_eq!(told.len(), 1, "{name}: the second message is not tried: {told:?}");
    assert_eq!(told[0]["state"], "again", "{told:?}");
    assert!(told[0]["why"].as_str().unwrap().contains(why), "{name}: {told:?}");
    assert_eq!((room.files("worker", "inbox").len(), room.files("worker", "failed").len()), (2, 0));
    let waits = dispatch(&room, []).exits(1).err;
    assert!(waits.contains("worker: 2 messages wait until 20") && waits.contains(why), "{waits}");
    let resumed = room.run(["resume", "worker"]).succeeds().out;
    assert!(resumed.contains("resumed worker"), "{resumed}");
    dispatch(&room, []).exits(5);
    assert_eq!(runs(&room).len(), 2, "one probe");
    let mail = inbox(&room, "user");
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert!(mail[0].starts_with("The agent worker is paused: ") && mail[0].contains(why), "{mail:?}");
    std::fs::write(room.around().join("works"), "").unwrap();
    room.run(["resume", "worker"]).succeeds();
    while inbox(&room, "alice").len() < 2 {
        dispatch(&room, []).succeeds();
    }
    assert_eq!(inbox(&room, "alice"), ["fine\n", "fine\n"]);
    assert!(runs(&room).iter().all(|run| run["attempt"] == 1), "no attempt counted: {:?}", runs(&room));
    assert!(!room.run(["agents"]).ends().out.contains("waits until"));
}

const LOGIN: &str = "is not logged in";
const CREDIT: &str = "has no credit left";
const RATE: &str = "limits its rate";
const OVERLOAD: &str = "is overloaded or fails";
const NETWORK: &str = "cannot be reached";

#[test]
fn claude_without_credit() {
    let lines = r#"{"type":"system","subtype":"init","session_id":"s"}
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Credit balance is too low"}]},"error":"billing_error"}
{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"terminal_reason":"api_error","result":"Credit balance is too low"}"#;
    pauses("claude", lines, 1, CLAUDE, CREDIT);
}

#[test]
fn claude_in_an_overload() {
    let lines = r#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":529,"error":"overloaded"}
{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"API Error: Repeated 529"}]},"error":"overloaded"}
{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"terminal_reason":"api_error","result":"API Error"}"#;
    pauses("claude", lines, 1, CLAUDE, OVERLOAD);
}

#[test]
fn codex_without_quota_and_without_a_connection() {
    let failed = |why: &str| format!(r#"{{"type":"turn.failed","error":{{"message":"{why}"}}}}"#);
    pauses("codex", &failed("Quota exceeded. Check your plan and billing details."), 1, CODEX, CREDIT);
    let why = "stream disconnected before completion: error sending request";
    pauses("codex", &failed(why), 1, CODEX, NETWORK);
    pauses("codex", &failed("exceeded retry limit, last status: 429 Too Many Requests"), 1, CODEX, RATE);
}

#[test]
fn gemini_by_its_exit_code_and_its_error() {
    pauses("gemini", r#"{"type":"init","session_id":"s"}"#, 173, GEMINI, RATE);
    let lines = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: {\"error\":{\"code\":401,\"status\":\"UNAUTHENTICATED\"}}]"}}"#;
    pauses("gemini", lines, 1, GEMINI, LOGIN);
}

#[test]
fn opencode_by_the_status_of_its_provider() {
    let lines = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":402}}}"#;
    pauses("opencode", lines, 1, OPENCODE, CREDIT);
}

#[test]
fn copilot_by_each_of_its_calls() {
    let lines = r#"{"type":"model.call_failure","data":{"failureKind":"transport","retryAttempt":5}}
{"type":"session.error","data":{"errorType":"query","message":"Could not connect"}}"#;
    pauses("copilot", lines, 1, COPILOT, NETWORK);
}

/// "Credit balance is too low" killed a message in 50 s; said by an agent, it is an answer like any other.
#[test]
fn the_words_of_an_answer_are_no_outage() {
    let text = "HTTP 429, 401 Unauthorized: Credit balance is too low, Please run /login";
    let lines = format!(r#"{{"type":"result","is_error":false,"result":"{text}"}}"#);
    let room = agent("claude", &lines, 0, "", "");
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    assert_eq!(inbox(&room, "alice"), [format!("{text}\n")]);
    // Nor are they one when the run fails.
    let room = agent("claude", &lines, 1, "", "");
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    assert_eq!((room.files("worker", "failed").len(), room.files("worker", "inbox").len()), (1, 0));
}

/// A run that began before the outage ended well, and the outage was told anew.
#[test]
fn a_run_from_before_does_not_end_an_outage() {
    let room = staffed(
        &["worker"],
        "[agents.worker]\npreset = \"opencode\"\nretries = 3\nconcurrency = 2\n[dispatch]\nback_off = \"0s\"\nprobe = \"1h\"\n",
    );
    room.run(["setup", "--child", "user"]).by_person();
    let around = room.around().display().to_string();
    let outage = r#"{"type":"error","error":{"name":"APIError","data":{"statusCode":429}}}"#;
    program(
        &room,
        "opencode",
        &format!(
            "if grep -q slow; then : > {around}/begun; until [ -e {around}/go ]; do sleep 0.05; done; echo '{OPENCODE}'\n\
             elif [ -e {around}/kill ]; then kill -9 $$; else echo '{outage}'; exit 1; fi"
        ),
    );
    room.send("alice", "worker", "slow");
    let mut watch = dispatch(&room, ["--watch"]).start();
    crate::support::until::until("the slow one", || room.around().join("begun").exists());
    room.send("alice", "worker", "fast");
    let is_paused =
        || room.run(["agents", "--json"]).json()["agents"].to_string().contains(r#""kind":"outage""#);
    crate::support::until::until("the outage", is_paused);
    std::fs::write(room.around().join("go"), "").unwrap();
    crate::support::until::until("the slow answer", || inbox(&room, "alice").len() == 1);
    crate::support::until::until("the end of its run", || runs(&room)[0]["ended"] != "");
    assert!(is_paused(), "its success says nothing about the time after it began");
    watch.kill().unwrap();
    watch.wait().unwrap();
    // A program that somebody killed says nothing either.
    std::fs::write(room.around().join("kill"), "").unwrap();
    room.run(["resume", "worker"]).succeeds();
    dispatch(&room, []).exits(5);
    std::fs::remove_file(room.around().join("kill")).unwrap();
    dispatch(&room, []).exits(5);
    let outages = runs(&room).iter().filter(|run| run["why"].as_str().unwrap().contains(RATE)).count();
    assert_eq!((outages, inbox(&room, "user").len()), (2, 1), "one outage is told once: {:?}", runs(&room));
}

/// Some programs try without a word until their time is over.
#[test]
fn a_program_that_never_came_to_its_model_met_an_outage() {
    let room = staffed(
        &["worker"],
        "[agents.worker]\npreset = \"opencode\"\nretries = 0\ntime_limit = \"1s\"\n[dispatch]\nback_off = \"0s\"\n",
    );
    program(&room, "opencode", "exec sleep 1000");
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    assert!(runs(&room)[0]["why"].as_str().unwrap().contains(NETWORK));
    assert_eq!(room.files("worker", "failed").len(), 0);
}

/// A program that tries on against a wrong key is not waited for.
#[test]
fn a_program_that_tries_in_vain_is_ended() {
    let room = staffed(
        &["worker"],
        "[agents.worker]\npreset = \"claude\"\nretries = 0\n[dispatch]\nback_off = \"0s\"\n",
    );
    program(
        &room,
        "claude",
        r#"echo '{"type":"system","subtype":"api_retry","attempt":1,"error_status":401,"error":"authentication_failed"}'; exec sleep 1000"#,
    );
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    assert!(runs(&room)[0]["why"].as_str().unwrap().contains(LOGIN));
}

/// While a watch runs, the probe comes by itself, and its success lets the rest go on.
#[test]
fn a_watch_probes_and_goes_on() {
    let lines = r#"{"type":"error","error":{"name":"APIError","data":{"statusCode":429}}}"#;
    let room = agent("opencode", lines, 1, OPENCODE, "concurrency = 3");
    let settings = std::fs::read_to_string(room.root().join("postroom.toml")).unwrap();
    crate::support::staffed::settle(&room, &settings.replace("probe = \"1h\"", "probe = \"0.2s\""));
    for text in ["a", "b", "c", "d"] {
        room.send("alice", "worker", text);
    }
    let mut watch = dispatch(&room, ["--watch"]).start();
    crate::support::until::until("a second probe", || {
        runs(&room).iter().filter(|run| run["ended"] != "").count() > 4
    });
    std::fs::write(room.around().join("works"), "").unwrap();
    crate::support::until::until("all answers", || inbox(&room, "alice").len() == 4);
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(room.files("worker", "failed").len(), 0);
    assert_eq!(inbox(&room, "user").len(), 1, "{:?}", inbox(&room, "user"));
}

/// The message that had met the outage was probed again and again, and the others were never tried.
#[test]
fn one_message_that_always_meets_an_outage_does_not_keep_the_others() {
    let room = staffed(
        &["worker"],
        "[agents.worker]\npreset = \"claude\"\nretries = 1\nbatch = 9\n[dispatch]\nback_off = \"0s\"\nprobe = \"0.1s\"\n",
    );
    room.run(["setup", "--child", "user"]).by_person();
    let outage = r#"{"type":"result","is_error":true,"api_error_status":500,"terminal_reason":"api_error","result":"API Error"}"#;
    program(
        &room,
        "claude",
        &format!("if grep -q cursed; then echo '{outage}'; exit 1; fi; echo '{CLAUDE}'"),
    );
    room.send("alice", "worker", "cursed");
    for text in ["a", "b", "c"] {
        room.run(["--as", "alice", "send", "worker", "--channel", text, "-m", text]).succeeds();
    }
    let mut watch = dispatch(&room, ["--watch"]).start();
    crate::support::until::until("its end", || room.files("worker", "failed").len() == 1);
    crate::support::until::until("the answers", || inbox(&room, "alice").len() == 4);
    watch.kill().unwrap();
    watch.wait().unwrap();
    let told = runs(&room);
    let cursed: Vec<_> = told.iter().filter(|run| run["state"] != "done").collect();
    let attempts: Vec<_> = cursed.iter().map(|run| run["attempt"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [1, 1, 1, 2], "two outages that others outlived, then two attempts: {told:?}");
    let why = cursed[3]["why"].as_str().unwrap();
    assert!(why.contains(OVERLOAD) && why.contains("but other messages were answered meanwhile"), "{why}");
    assert_eq!(told.iter().filter(|run| run["state"] == "done").count(), 3);
    assert!(room.files("worker", "inbox").is_empty());
}

/// Messages of one sender are worked on together, but one that may have met an outage of its own is tried alone.
#[test]
fn a_suspect_takes_no_other_message_with_it() {
    let lines = r#"{"type":"error","error":{"name":"APIError","data":{"statusCode":429}}}"#;
    let room = agent("opencode", lines, 1, OPENCODE, "batch = 9");
    room.send("alice", "worker", "first");
    dispatch(&room, []).exits(5);
    std::fs::write(room.around().join("works"), "").unwrap();
    room.send("alice", "worker", "second");
    room.send("alice", "worker", "third");
    room.run(["resume", "worker"]).succeeds();
    dispatch(&room, []).succeeds();
    let together: Vec<_> = runs(&room).iter().map(|run| run["also"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!(together, [0, 1, 0], "{:?}", runs(&room));
}
