//! Who a client of `postroom mcp` is: nobody until something says so.

use serde_json::{Value, json};

use crate::support::mcp_client::Client;
use crate::support::room::TestRoom;

#[test]
fn who_nobody_is_is_told_how_to_become_somebody() {
    let room = TestRoom::empty();
    let mut client = Client::start(&room, None, &[]);
    client.greet("2025-06-18");
    let text = client.fails("check", json!({}));
    assert!(text.contains("call the tool setup with a name") && text.contains("--as NAME"), "{text}");
    let (text, value) = client.calls("setup", json!({"name": "carol", "about": "reviews"}));
    assert!(text.contains("this lasts as long as the server runs"), "{text}");
    assert!(text.ends_with(value["note"].as_str().unwrap()), "some clients show only the values: {value}");
    assert_eq!(
        (&value["name"], &value["bound"], &value["unread"]),
        (&json!("carol"), &json!(false), &json!(0))
    );
    assert_eq!(client.calls("check", json!({})).0, "no unread mail for carol");
    assert_eq!(client.calls("setup", json!({})).1["name"], "carol", "again it is the same");
    client.ends();
    // Another server is another client: it neither is carol nor gets her name.
    let mut client = Client::start(&room, None, &[]);
    client.greet("2025-06-18");
    assert!(client.fails("check", json!({})).contains("has no identity"));
    assert!(client.fails("setup", json!({"name": "carol"})).contains("the name `carol` is taken"));
    client.ends();
}

#[test]
fn a_session_is_known_by_the_environment_and_codex_by_its_calls() {
    let room = TestRoom::empty();
    let session = [("CLAUDE_CODE_SESSION_ID", "s-1")];
    let mut client = Client::start(&room, None, &session);
    client.greet("2025-11-25");
    assert_eq!(client.calls("setup", json!({"name": "dora"})).1["bound"], true);
    client.ends();
    let mut client = Client::start(&room, None, &session);
    client.greet("2025-11-25");
    assert_eq!(client.calls("check", json!({})).0, "no unread mail for dora");
    client.ends();

    let mut client = Client::start(&room, None, &[]);
    client.greet("2025-06-18");
    let mut call = |thread: &str, tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"threadId": thread}});
        client.asks("tools/call", params)["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(call("t-1", "setup", json!({"name": "emil"})).starts_with("name: emil"));
    assert_eq!(call("t-1", "check", json!({})), "no unread mail for emil");
    assert!(call("t-2", "check", json!({})).contains("has no identity"), "another thread is another agent");
    let registry = std::fs::read_to_string(room.root().join("registry.json")).unwrap();
    assert!(
        registry.contains("\"harness\":\"codex\"") && registry.contains("\"harness\":\"claude\""),
        "{registry}"
    );
    client.ends();
}
