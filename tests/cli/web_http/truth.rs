//! What is shown is so: *running* is said of what runs, and *nothing* of what was looked at.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::looking::Scene;
use super::server::Server;
use crate::support::crew::{begin, crew, status};
use crate::support::hand::tighten;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, shell, staffed};

#[test]
fn a_run_whose_supervisor_was_killed_is_not_shown_as_running() {
    let mut scene = Scene::new();
    let before = Server::person(&scene.room);
    let now = before.enter().get("/r/-/now").body;
    assert!(!now.contains("interrupted"), "{now}");
    scene.kill();
    let server = Server::person(&scene.room);
    let browser = server.enter();
    let list = browser.get("/r/-/runs?state=interrupted").body;
    let ids: Vec<&str> =
        list.split("<tr id=\"run-").skip(1).map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(ids.len(), 3, "{list}");
    assert!(!list.contains("busy") && list.contains("the next dispatch ends it"), "{list}");
    let running = browser.get("/r/-/runs?state=running").body;
    assert!(!running.contains("<tr id=\"run-"), "{running}");
    let one = browser.get(&format!("/r/-/runs/{}", ids[0])).body;
    assert!(one.contains(">interrupted</span>") && one.contains("the next dispatch ends it"), "{one}");
    for wrong in ["data-deed=\"stop\"", "running for", "busy"] {
        assert!(!one.contains(wrong), "{wrong}: {one}");
    }
    let now = browser.get("/r/-/now").body;
    for id in ids {
        assert!(now.contains(&format!("id=\"interrupted-{id}\"")), "{id}: {now}");
    }
}

#[test]
fn a_workflow_that_failed_is_on_the_board() {
    let room = crew(&[("planner", "echo no idea >&2; exit 3"), ("coder", "echo built")], &[]);
    room.run(["setup", "--child", "user"]).succeeds();
    let run = begin(&room, "plan-approve", &["task=a parser"]);
    dispatch(&room, []).ends();
    assert_eq!(status(&room, &run), "failed");
    let now = Server::reader(&room).enter().get("/r/-/now").body;
    let row =
        now.split(&format!("<li id=\"flow-{run}\"")).nth(1).unwrap_or_else(|| panic!("no {run}: {now}"));
    let row = row.split("</li>").next().unwrap();
    for wanted in [">failed</span>", "plan-approve", "exited with 3", &format!("/workflows/{run}")] {
        assert!(row.contains(wanted), "{wanted}: {row}");
    }
}

/// A state that only old runs have is found by going on: the page looks at some thousand runs at once.
#[test]
fn runs_that_were_not_looked_at_are_not_said_to_be_none() {
    let room = staffed(&["worker"], &shell("worker", "echo done", "cwd = \"..\""));
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    let runs = room.root().join(".dispatch/runs");
    let known = fs::read_dir(&runs).unwrap().next().unwrap().unwrap();
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(known.path().join("run.json")).unwrap()).unwrap();
    let put = |number: usize, state: &str| {
        let mut record = record.clone();
        let id = format!("20260101T{number:09}Z-0000000000000000");
        (record["id"], record["state"]) = (json!(id), json!(state));
        fs::create_dir(runs.join(&id)).unwrap();
        fs::write(runs.join(&id).join("run.json"), record.to_string()).unwrap();
        tighten(&runs.join(&id).join("run.json"));
    };
    put(0, "parked");
    (1..1100).for_each(|number| put(number, "done"));
    let server = Server::reader(&room);
    let browser = server.enter();
    let first = browser.get("/r/-/runs?state=parked").body;
    assert!(first.contains("Older runs were not looked at") && !first.contains("No runs"), "{first}");
    let next = first
        .split("&amp;before=")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a link to older ones");
    let second = browser.get(&format!("/r/-/runs?state=parked&before={next}")).body;
    assert_eq!(second.matches("<tr id=\"run-").count(), 1, "{second}");
    let none = browser.get("/r/-/runs?state=interrupted&agent=nobody").body;
    assert!(none.contains("No such runs"), "{none}");
}

#[test]
fn what_cannot_be_read_is_not_shown_as_empty() {
    let room = TestRoom::with(&["alice", "bob", "user"]).leaves_faults();
    let file = room.around().join("note.txt");
    fs::write(&file, "attached").unwrap();
    let path = file.display().to_string();
    let sent = room.by("alice", ["send", "bob", "-m", "see the file", "--attach", &path, "--json"]).json();
    let id = sent["receipts"][0]["id"].as_str().or_else(|| sent["id"].as_str()).unwrap().to_owned();
    let server = Server::reader(&room);
    let browser = server.enter();
    assert!(browser.get("/r/-/failed").body.contains("Nothing failed"));
    let parked = room.root().join(".dispatch/parked");
    fs::create_dir_all(parked.join("a note that cannot be read")).unwrap();
    let failed = browser.get("/r/-/failed").body;
    assert!(failed.contains("chip bad\">bob: ") && !failed.contains("Nothing failed"), "{failed}");
    fs::remove_dir_all(room.root().join(".dispatch")).unwrap();
    // What is attached lies beside the mail.
    let address = format!("/r/-/file/{id}/note.txt");
    assert_eq!(browser.get(&address).status, 200);
    let found = Command::new("find").arg(room.root()).args(["-name", "*note.txt"]).output().unwrap();
    let kept = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
    fs::remove_file(&kept).unwrap();
    let missing = browser.get(&address);
    assert!(missing.status == 404 && missing.body.contains("is missing"), "{missing:?}");
    fs::write(&kept, "other bytes").unwrap();
    tighten(&kept);
    let changed = browser.get(&address);
    assert!(changed.status == 403 && changed.body.contains("it was changed"), "{changed:?}");
    let settings = room.around().join("postroom.toml");
    fs::write(&settings, "[agents.bob\n").unwrap();
    let runs = browser.get("/r/-/runs").body;
    assert!(runs.contains("class=\"chip bad\">the agents: "), "{runs}");
    fs::remove_file(&settings).unwrap();
    // An error of the disk is not called a page that does not exist.
    assert!(browser.get("/r/-/runs/none").body.contains("<title>not found"));
    fs::write(room.root().join(".dispatch"), "").unwrap();
    let wrong = browser.get("/r/-/runs");
    assert!(wrong.status == 503 && wrong.body.contains("<title>that did not work"), "{wrong:?}");
}
