//! The dispatcher starts the real programs: a message reaches the model, its words come back as the answer, and the next
//! message goes on with the same conversation. An outage pauses the agent, a refused tool is seen, and a stop ends them.

use serde_json::{Value, json};

use crate::support::models::{MISSING, Program, Stage, claude, codex, copilot, gemini, opencode};
use crate::support::room::TestRoom;
use crate::support::staffed::{AT_ONCE, inbox, runs, staffed};
use crate::support::until::{skip, until_at_last};

fn plays(test: &str, real: Option<Program>, settings: &str) {
    let Some(real) = real else { return skip(test, MISSING) };
    let settings =
        format!("[agents.worker]\npreset = \"{}\"\nsession = true\n{settings}\n{AT_ONCE}", real.name);
    let room = staffed(&["worker"], &settings);
    let stage = Stage::set(&room, real);
    room.send("alice", "worker", "This is marker-1.");
    dispatched(&room, &stage);
    assert_eq!(inbox(&room, "alice"), ["heard marker-1\n"], "{:?}", runs(&room));
    let session = runs(&room)[0]["session"].as_str().unwrap().to_owned();
    assert!(!session.is_empty(), "{:?}", runs(&room));
    room.send("alice", "worker", "And this is marker-2.");
    dispatched(&room, &stage);
    assert!(inbox(&room, "alice").contains(&"heard marker-1 marker-2\n".to_owned()), "{:?}", runs(&room));
    assert_eq!(runs(&room)[1]["session"].as_str(), Some(session.as_str()), "the conversation went on");
}

/// The model calls a tool and says something: both are in the transcript, and no line is left over.
fn is_told(test: &str, real: Option<Program>, settings: &str) {
    let Some(real) = real else { return skip(test, MISSING) };
    let settings = format!("[agents.worker]\npreset = \"{}\"\n{settings}\n{AT_ONCE}", real.name);
    let room = staffed(&["worker"], &settings);
    let stage = Stage::set(&room, real);
    room.send("alice", "worker", "Who is there?");
    let root = room.root().display().to_string();
    let script = json!([{"shell": "postroom names"}, {"text": "Two are there."}]);
    stage.plays(&script, [env!("CARGO_BIN_EXE_postroom"), "--root", &root, "dispatch"]);
    let run = &runs(&room)[0];
    let told = room.run(["runs", run["id"].as_str().unwrap(), "--json"]).json();
    let events = told["events"].as_array().unwrap();
    let has = |kind: &str, key: &str, word: &str| {
        events.iter().any(|e| e["event"] == kind && e[key].as_str().is_some_and(|text| text.contains(word)))
    };
    assert!(has("called", "about", "postroom names"), "{told}");
    assert!(has("returned", "outcome", "done") && has("returned", "output", "worker maildir"), "{told}");
    assert!(has("said", "text", "Two are there."), "{told}");
    assert_eq!(told["skipped"], 0, "{told}");
    if run["preset"] != "copilot" {
        assert!(run["tokens"]["output"].as_u64().is_some_and(|tokens| tokens > 0), "{run}");
    }
}

fn dispatched(room: &TestRoom, stage: &Stage<'_>) {
    let root = room.root().display().to_string();
    stage.plays(&json!([]), [env!("CARGO_BIN_EXE_postroom"), "--root", &root, "dispatch"]);
}

#[test]
fn claude_answers() {
    plays("claude_answers", claude(), "");
}

#[test]
fn codex_answers() {
    plays("codex_answers", codex(), "env = [\"MOCK_API_KEY\"]");
}

#[test]
fn gemini_answers() {
    plays("gemini_answers", gemini(), "model = \"gemini-2.5-flash\"");
}

#[test]
fn opencode_answers() {
    plays("opencode_answers", opencode(), "model = \"mock/m\"");
}

#[test]
fn copilot_answers() {
    plays("copilot_answers", copilot(), "");
}

/// An outage, then a run that is denied a tool, then one that is stopped. `denied`: the turn that the program refuses,
/// and the words by which `runs` shows it.
fn endures(test: &str, real: Option<Program>, settings: &str, denied: (Value, &str)) {
    let Some(real) = real else { return skip(test, MISSING) };
    let settings = format!(
        "[agents.worker]\npreset = \"{}\"\nretries = 0\n{settings}\n[dispatch]\nback_off = \"0s\"\nprobe = \"1h\"\n",
        real.name
    );
    let room = staffed(&["worker"], &settings);
    let stage = Stage::set(&room, real);
    let root = room.root().display().to_string();
    let dispatch = [env!("CARGO_BIN_EXE_postroom"), "--root", &root, "dispatch"];

    let message = room.send("alice", "worker", "This is marker-1.");
    let script = json!([{"status": 401, "repeat": true}]);
    assert_eq!(stage.command(&script, dispatch).output().unwrap().status.code(), Some(5));
    let told = runs(&room);
    assert_eq!((told.len(), &told[0]["state"]), (1, &"again".into()), "{told:?}");
    assert!(told[0]["why"].as_str().unwrap().contains("is not logged in"), "{told:?}");
    assert_eq!((room.files("worker", "inbox").len(), room.files("worker", "failed").len()), (1, 0));

    room.run(["resume", "worker"]).succeeds();
    let (turn, wanted) = denied;
    let ran = stage.command(&json!([turn, {"text": "all done"}]), dispatch).output().unwrap();
    let table = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(table.contains(wanted), "{table}: {:?}", runs(&room));
    assert_eq!(runs(&room)[1]["attempt"], 1, "{message} was not charged for the outage");
    assert!(!std::path::Path::new(MAY_NOT).exists(), "it was refused");

    room.send("alice", "worker", "This is marker-3.");
    let never = room.around().join("never").display().to_string();
    let playing = stage.starts(&json!([{"text": "too late", "after": never}]), dispatch);
    until_at_last("the model is asked", || {
        stage.turns().iter().any(|request| request["body"].to_string().contains("marker-3"))
    });
    let stopped = room.run(["stop", "worker"]).succeeds().out;
    assert!(stopped.contains("is parked"), "{stopped}");
    assert_eq!(runs(&room)[2]["state"], "parked");
    playing.ends();
    assert_eq!(room.files("worker", "inbox").len(), 1);
}

/// What no agent here may make.
const MAY_NOT: &str = "/var/tmp/postroom-may-not";

/// A command that needs more than the agent may do.
fn forbidden() -> Value {
    json!({"shell": format!("touch {MAY_NOT}")})
}

#[test]
fn claude_endures() {
    endures("claude_endures", claude(), "", (forbidden(), "done, 1 denied: Bash "));
}

#[test]
fn codex_endures() {
    // Its sandbox refuses, and its events tell of a command that failed.
    endures("codex_endures", codex(), "env = [\"MOCK_API_KEY\"]", (forbidden(), "done "));
}

#[test]
fn codex_is_refused_a_command_and_a_patch_and_its_events_name_no_denial() {
    let test = "codex_is_refused_a_command_and_a_patch_and_its_events_name_no_denial";
    let Some(real) = codex() else { return skip(test, MISSING) };
    let settings = format!(
        "[agents.worker]\npreset = \"codex\"\non_denied = \"fail\"\nenv = [\"MOCK_API_KEY\"]\n{AT_ONCE}"
    );
    let room = staffed(&["worker"], &settings);
    let stage = Stage::set(&room, real);
    room.send("alice", "worker", "Make it.");
    let root = room.root().display().to_string();
    let patch = format!("*** Begin Patch\n*** Add File: {MAY_NOT}\n+x\n*** End Patch\n");
    let script = json!([forbidden(), {"tool": "apply_patch", "input": patch}, {"text": "all done"}]);
    stage.plays(&script, [env!("CARGO_BIN_EXE_postroom"), "--root", &root, "dispatch"]);
    assert!(!std::path::Path::new(MAY_NOT).exists());
    let turns = stage.turns();
    let heard = |at: usize| turns[at]["body"].to_string();
    assert!(
        heard(1).contains("Read-only file system") && heard(2).contains("patch rejected"),
        "{}",
        heard(2)
    );
    let run = &runs(&room)[0];
    assert_eq!((run["state"].as_str(), run.get("denied")), (Some("done"), None), "{run}");
    let told = room.run(["runs", run["id"].as_str().unwrap(), "--json"]).json();
    let events = told["events"].as_array().unwrap();
    let returned = events.iter().filter(|event| event["event"] == "returned");
    let outcomes: Vec<&Value> = returned.map(|event| &event["outcome"]).collect();
    // The command at most: a short one is not always in its events.
    assert!(outcomes.is_empty() || outcomes == ["failed"], "nothing of the patch: {told}");
}

#[test]
fn gemini_endures() {
    let turn = json!({"tool": "run_shell_command", "input": {"command": format!("touch {MAY_NOT}")}});
    let wanted = "done, 1 denied: run_shell_command ";
    endures("gemini_endures", gemini(), "model = \"gemini-2.5-flash\"", (turn, wanted));
}

#[test]
fn opencode_endures() {
    // It ends without a word after a refusal.
    let wanted = "failed, 1 denied: bash ";
    endures("opencode_endures", opencode(), "model = \"mock/m\"", (forbidden(), wanted));
}

#[test]
fn copilot_endures() {
    endures("copilot_endures", copilot(), "", (forbidden(), "done, 1 denied: bash "));
}

#[test]
fn claude_is_told_in_a_transcript() {
    is_told("claude_is_told_in_a_transcript", claude(), "");
}

#[test]
fn codex_is_told_in_a_transcript() {
    is_told("codex_is_told_in_a_transcript", codex(), "env = [\"MOCK_API_KEY\"]");
}

#[test]
fn gemini_is_told_in_a_transcript() {
    is_told("gemini_is_told_in_a_transcript", gemini(), "model = \"gemini-2.5-flash\"");
}

#[test]
fn opencode_is_told_in_a_transcript() {
    is_told("opencode_is_told_in_a_transcript", opencode(), "model = \"mock/m\"");
}

#[test]
fn copilot_is_told_in_a_transcript() {
    is_told("copilot_is_told_in_a_transcript", copilot(), "");
}
