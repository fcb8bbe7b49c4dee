//! What a person does on the page, as its forms send it.

use serde_json::json;

use super::client::Browser;
use super::server::Server;
use crate::support::crew::{begin, crew, results, status};
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, inbox, shell, staffed};

/// Does it, and gives what the page says then.
#[track_caller]
fn does(browser: &Browser, deed: &str, body: &serde_json::Value) -> String {
    let reply = browser.post(&format!("/r/-/{deed}"), body);
    assert_eq!(reply.status, 200, "{deed}: {reply:?}");
    let done: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    done["said"].as_str().unwrap().to_owned()
}

#[test]
fn a_workflow_is_retried_and_cancelled() {
    let script = "[ -e whole ] || exit 3; echo a plan";
    let room = crew(&[("planner", script), ("coder", "echo built")], &[]);
    room.run(["setup", "--child", "user"]).succeeds();
    let server = Server::person(&room);
    let browser = server.enter();
    let run = begin(&room, "plan-approve", &["task=a parser"]);
    dispatch(&room, []).ends();
    assert_eq!(status(&room, &run), "failed");
    let page = browser.get(&format!("/r/-/workflows/{run}")).body;
    assert!(page.contains("data-deed=\"workflow/retry\"") && !page.contains("workflow/cancel"), "{page}");
    std::fs::write(room.around().join("whole"), "").unwrap();
    let said = does(&browser, "workflow/retry", &json!({"run": run}));
    assert!(said.contains("in progress"), "{said}");
    dispatch(&room, []).ends();
    let page = browser.get(&format!("/r/-/workflows/{run}")).body;
    assert!(page.contains("a plan") && page.contains("data-deed=\"workflow/cancel\""), "{page}");
    does(&browser, "workflow/cancel", &json!({"run": run}));
    assert_eq!(status(&room, &run), "cancelled");
    let again = browser.post("/r/-/workflow/cancel", &json!({"run": run}));
    assert!(again.status < 500, "{again:?}");
    assert_eq!(status(&room, &run), "cancelled");
    assert_eq!(browser.post("/r/-/workflow/cancel", &json!({"run": "none"})).status, 404);
}

#[test]
fn an_agent_is_paused_and_goes_on() {
    let room = staffed(&["worker"], &shell("worker", "echo done", "cwd = \"..\""));
    let server = Server::person(&room);
    let browser = server.enter();
    let said = does(&browser, "pause", &json!({"agent": "worker"}));
    assert_eq!(said, "worker is paused; its mail waits");
    room.send("alice", "worker", "x");
    dispatch(&room, []).ends();
    assert!(inbox(&room, "alice").is_empty());
    let card = browser.get("/r/-/now").body;
    assert!(card.contains("data-deed=\"resume\"") && card.contains("on the page"), "{card}");
    assert_eq!(does(&browser, "resume", &json!({"agent": "worker"})), "worker goes on");
    assert_eq!(does(&browser, "resume", &json!({"agent": "worker"})), "worker was not paused");
    dispatch(&room, []).ends();
    assert_eq!(inbox(&room, "alice"), ["done\n"]);
    assert_eq!(browser.post("/r/-/pause", &json!({"agent": "nobody"})).status, 404);
}

#[test]
fn a_message_that_was_archived_meanwhile_is_still_answered() {
    let room = TestRoom::with(&["alice", "user"]);
    room.send("alice", "user", "May I merge it?");
    let server = Server::person(&room);
    let browser = server.enter();
    let list = browser.get("/r/-/mail/user").body;
    let id = list.split("/r/-/message/").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(browser.get(&format!("/r/-/message/{id}")).body.contains("data-deed=\"archive\""));
    assert_eq!(does(&browser, "archive", &json!({"id": id})), "archived");
    assert!(room.files("user", "inbox").is_empty() && room.files("user", "archive").len() == 1);
    let page = browser.get(&format!("/r/-/message/{id}")).body;
    assert!(!page.contains("data-deed=\"archive\"") && page.contains("data-deed=\"reply\""), "{page}");
    // From a tab that was open before.
    let said = does(&browser, "reply", &json!({"id": id, "text": "Yes."}));
    assert!(said.contains("queued"), "{said}");
    assert_eq!(inbox(&room, "alice"), ["Yes."]);
    let again = browser.post("/r/-/archive", &json!({"id": id}));
    assert!(again.status < 500, "{again:?}");
    assert_eq!(room.files("user", "archive").len(), 1);
}

#[test]
fn a_gate_that_is_approved_twice_passes_once() {
    let room = crew(&[("planner", "echo a plan"), ("coder", "echo built")], &[]);
    room.run(["setup", "--child", "user"]).succeeds();
    let server = Server::person(&room);
    let browser = server.enter();
    let run = begin(&room, "plan-approve", &["task=a parser"]);
    dispatch(&room, []).ends();
    let now = browser.get("/r/-/now").body;
    let gate = now.split("name=\"gate\" value=\"").nth(1).unwrap_or_else(|| panic!("no gate: {now}"));
    let gate = json!({"gate": gate.split('"').next().unwrap()});
    assert!(!now.contains("mine-mail"), "its request is not counted as mail beside it: {now}");
    let said = does(&browser, "approve", &gate);
    assert!(said.contains("approve"), "{said}");
    let before = room.tree();
    let again = browser.post("/r/-/approve", &gate);
    assert_eq!(again.status, 404, "another tab: {again:?}");
    let rejected = browser.post("/r/-/reject", &json!({"gate": gate["gate"], "why": "too late"}));
    assert_eq!(rejected.status, 404, "{rejected:?}");
    room.is_still(&before, "a second decision");
    dispatch(&room, []).ends();
    assert_eq!(status(&room, &run), "completed");
    assert_eq!(results(&room, &run, "implement"), ["built"]);
}
