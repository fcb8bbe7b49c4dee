//! What takes time over MCP: waiting, its cancellation and progress, and notices of change.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::mcp_client::Client;
use crate::support::room::TestRoom;
use crate::support::until::{until, until_watching};

fn wait(client: &mut Client, arguments: Value) -> u64 {
    client.begins("tools/call", json!({"name": "wait", "arguments": arguments}))
}

/// How many watches a process has open.
fn watches(client: &Client) -> usize {
    let list = std::fs::read_dir(format!("/proc/{}/fd", client.child().id())).unwrap();
    let is_watch = |to: std::path::PathBuf| to.to_string_lossy().contains("inotify");
    list.flatten().filter(|fd| std::fs::read_link(fd.path()).is_ok_and(is_watch)).count()
}

#[test]
fn mail_ends_a_wait_and_others_are_served_meanwhile() {
    let room = TestRoom::with(&["alice", "bob"]);
    let mut client = Client::greeted(&room, "alice");
    let id = wait(&mut client, json!({"from": "bob"}));
    until_watching(client.child());
    assert_eq!(client.calls("check", json!({})).1["unread"], 0);
    room.send("bob", "alice", "at last");
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["messages"][0]["subject"], "at last");
    let id = wait(&mut client, json!({}));
    assert_eq!(
        client.answer(id)["result"]["structuredContent"]["timed_out"],
        false,
        "at once if there is some"
    );
    client.ends();
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let room = TestRoom::with(&["alice"]);
    let mut client = Client::greeted(&room, "alice");
    let (text, value) = client.calls("wait", json!({"timeout": 0}));
    assert_eq!(text, "no mail for alice in 0 s; call wait again to go on");
    assert_eq!(value, json!({"timed_out": true, "messages": []}));
    client.ends();
}

#[test]
fn a_cancelled_wait_is_over_and_says_nothing() {
    let room = TestRoom::with(&["alice", "bob"]);
    let mut client = Client::greeted(&room, "alice");
    let id = wait(&mut client, json!({"timeout": 3600}));
    until_watching(client.child());
    client.notifies("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    until("the end of the watch", || watches(&client) == 0);
    room.send("bob", "alice", "too late");
    assert_eq!(client.calls("check", json!({})).1["unread"], 1);
    assert!(!client.has(|message| message["id"] == id));
    client.ends();
}

#[test]
fn a_server_ends_with_its_input_although_somebody_waits() {
    let room = TestRoom::with(&["alice"]);
    let mut client = Client::greeted(&room, "alice");
    wait(&mut client, json!({"timeout": 3600}));
    until_watching(client.child());
    let start = Instant::now();
    client.ends();
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn progress_is_told_to_who_asks_for_it() {
    let room = TestRoom::with(&["alice", "bob"]);
    let mut client = Client::greeted(&room, "alice");
    let params = json!({"name": "wait", "arguments": {"timeout": 60}, "_meta": {"progressToken": "p-1"}});
    let id = client.begins("tools/call", params);
    let told = client.next("progress", |message| message["method"] == "notifications/progress");
    assert_eq!(told["params"]["progressToken"], "p-1");
    assert!(told["params"]["progress"].as_f64().unwrap() >= 4.0, "{told}");
    assert!(told["params"]["message"].as_str().unwrap().starts_with("waiting for mail"));
    room.send("bob", "alice", "there");
    client.answer(id);
    client.ends();
}

#[test]
fn the_inbox_is_a_resource_that_can_be_watched() {
    let room = TestRoom::with(&["alice", "bob"]);
    let mut client = Client::greeted(&room, "alice");
    let listed = client.asks("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "postroom://inbox");
    let templates = client.asks("resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "postroom://thread/{id}");
    let inbox = json!({"uri": "postroom://inbox"});
    let text = |answer: &Value| answer["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text(&client.asks("resources/read", inbox.clone())), "unread: 0\n");
    assert_eq!(client.asks("resources/subscribe", inbox.clone())["result"], json!({}));
    let id = room.send("bob", "alice", "news");
    let updated = |message: &Value| {
        message["method"] == "notifications/resources/updated"
            && message["params"]["uri"] == "postroom://inbox"
    };
    client.next("the notice", updated);
    let now = text(&client.asks("resources/read", inbox.clone()));
    assert!(now.starts_with(&format!("unread: 1\n{id} ")) && now.ends_with("bob: news\n"), "{now}");
    // What leaves is a change, too.
    room.by("alice", ["archive", &id]).succeeds();
    client.next("the second notice", updated);
    assert_eq!(client.asks("resources/unsubscribe", inbox)["result"], json!({}));
    until("the end of the watch", || watches(&client) == 0);
    client.ends();
}

#[test]
fn a_thread_is_a_resource_that_can_be_watched() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "question");
    let mut client = Client::greeted(&room, "alice");
    let thread = json!({"uri": format!("postroom://thread/{id}")});
    client.asks("resources/subscribe", thread.clone());
    room.by("bob", ["reply", &id, "-m", "answer"]).succeeds();
    client.next("the notice", |message| message["params"]["uri"] == thread["uri"]);
    let text = client.asks("resources/read", thread)["result"]["contents"][0]["text"].clone();
    let text = text.as_str().unwrap();
    assert!(
        text.contains("alice → bob: question\n  ") && text.ends_with("bob → alice: re: question\n"),
        "{text}"
    );
    client.ends();
}

#[test]
fn the_newest_revision_listens_instead() {
    let room = TestRoom::with(&["alice", "bob"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut client = Client::start(&room, Some("alice"), &[]);
    let wanted = json!({"resourceSubscriptions": ["postroom://inbox", "file:///etc/passwd"], "toolsListChanged": true});
    let id = client.begins("subscriptions/listen", json!({"_meta": meta, "notifications": wanted}));
    let taken = client.next("the acknowledgement", |message| {
        message["method"] == "notifications/subscriptions/acknowledged"
    });
    assert_eq!(taken["params"]["notifications"], json!({"resourceSubscriptions": ["postroom://inbox"]}));
    // The first notice says that it is watched now, the second that something has come.
    for _ in 0..2 {
        let told =
            client.next("the notice", |message| message["method"] == "notifications/resources/updated");
        assert_eq!(told["params"]["uri"], "postroom://inbox");
        room.send("bob", "alice", "news");
    }
    client.notifies("notifications/cancelled", json!({"requestId": id, "_meta": meta}));
    until("the end of the watch", || watches(&client) == 0);
    client.ends();
}

#[test]
fn a_resource_that_is_none_is_an_error_that_names_those_there_are() {
    let room = TestRoom::with(&["alice"]);
    let mut client = Client::greeted(&room, "alice");
    for uri in
        ["file:///etc/passwd", "postroom://thread/", "postroom://inbox/../x", "postroom://thread/a/b", ""]
    {
        for method in ["resources/read", "resources/subscribe"] {
            let answer = client.asks(method, json!({"uri": uri}));
            assert_eq!(answer["error"]["code"], -32002, "{method} {uri}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("postroom://inbox"), "{answer}");
        }
    }
    let answer = client.asks("resources/read", json!({"uri": "postroom://thread/abcd1234"}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("no message"), "{answer}");
    for n in 0..17 {
        let answer =
            client.asks("resources/subscribe", json!({"uri": format!("postroom://thread/abcd{n:04}")}));
        assert_eq!(answer.get("error").is_some(), n == 16, "{answer}");
    }
    client.ends();
}
