//! The first shipped workflow with the real `claude` and `codex`: each gets its request, what the first one says reaches the
//! second, and the run ends.

use serde_json::json;

use crate::support::crew::{begin, crew, results, status, steps};
use crate::support::models::{MISSING, Stage, claude, codex};
use crate::support::staffed::{AT_ONCE, runs, settle};
use crate::support::until::skip;

#[test]
fn claude_researches_and_codex_creates() {
    let (Some(claude), Some(codex)) = (claude(), codex()) else {
        return skip("claude_researches_and_codex_creates", MISSING);
    };
    let room = crew(&[("explore", "true"), ("skill-writer", "true")], &[]);
    let settings = format!(
        "[agents.explore]\npreset = \"claude\"\n[agents.skill-writer]\npreset = \"codex\"\nenv = [\"MOCK_API_KEY\"]\n{AT_ONCE}"
    );
    settle(&room, &settings);
    let environment = claude.environment;
    Stage::set(&room, claude);
    let stage = Stage::set(&room, codex);
    let run = begin(&room, "research-create", &["topic=marker-1"]);
    let mut dispatch = stage.command(&json!([]), ["postroom", "dispatch"]);
    let ended = dispatch.envs(environment.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{text} {:?}", runs(&room));
    assert_eq!(status(&room, &run), "completed", "{:?} {text}", steps(&room, &run));
    assert_eq!(results(&room, &run, "explore"), ["heard marker-1"]);
    assert_eq!(results(&room, &run, "create"), ["heard marker-1"]);
    let apis: Vec<String> =
        stage.turns().iter().map(|turn| turn["api"].as_str().unwrap().to_owned()).collect();
    assert_eq!(apis, ["anthropic", "responses"], "each program spoke to its own model");
    let second = stage.turns()[1]["body"].to_string();
    assert!(second.contains("heard marker-1") && second.contains("based on the findings below"), "{second}");
}
