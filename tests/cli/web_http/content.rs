//! What a message, a run or a workflow holds can neither run nor load anything: every view is taken apart as a browser does.

use std::fs;

use serde_json::Value;

use super::looking::Scene;
use super::server::Server;
use super::tags::{BODY, LINE, faults};
use crate::support::hand::tighten;

fn poison_json(file: &std::path::Path, keys: &[&str]) {
    let mut record: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    for key in keys {
        record[*key] = LINE.into();
    }
    if let Some(inputs) = record.get_mut("inputs").and_then(Value::as_object_mut) {
        inputs.values_mut().for_each(|value| *value = LINE.into());
        inputs.insert(LINE.to_owned(), LINE.into());
    }
    fs::write(file, record.to_string()).unwrap();
}

#[test]
fn the_tokenizer_finds_what_a_browser_would_run() {
    let frame = "<script src=\"/static/x/a.js\"></script><script src='/static/x/b.js' defer></script>";
    assert_eq!(faults(frame), Vec::<String>::new());
    for bad in [
        "<script>x</script>",
        "<img src=x onerror=y>",
        "<svg/onload=x>",
        "<a href='javascript:x'>",
        "<p style=x>",
        "<a href=//evil>",
        "<a href=https://evil.example>",
        "<IMG SRC=\"https://evil.example\">",
        "<base href=/x>",
        "<b a='>'onclick=x>",
    ] {
        assert!(!faults(&format!("{frame}{bad}")).is_empty(), "{bad}");
    }
}

#[test]
fn nothing_in_a_room_runs_or_loads() {
    let scene = Scene::new();
    let room = &scene.room;
    let named = room.around().join("evil\"><img src=x onerror=alert(1)>.svg");
    fs::write(&named, "<svg onload=alert(1)>").unwrap();
    room.run(["setup", "--child", "mallory", "--about", LINE]).succeeds();
    let file = named.display().to_string();
    let sent = room
        .by("mallory", ["send", "builder", "-s", LINE, "-m", BODY, "--attach", &file, "--allow-secrets"])
        .ends();
    if sent.code != 0 {
        room.by("mallory", ["send", "builder", "-s", LINE, "-m", BODY]).succeeds();
    }
    room.by("mallory", ["send", "user", "-s", LINE, "-m", BODY]).succeeds();
    // A sender that was written by hand, and a file that is no message.
    let inbox = room.folder("builder", "inbox");
    let forged = format!(
        "---\nid: 11111111-1111-4111-8111-111111111111\nfrom: \"{}\"\nto: builder\nsubject: {}\ndate: 2026-11-18T08:00:00Z\n---\n{BODY}",
        LINE.replace('"', "'"),
        LINE.replace('"', "'")
    );
    for (name, text) in [
        ("20261118T080000Z-11111111-evil.md", forged.as_str()),
        ("20261118T080001Z-22222222-<img src=x onerror=x>.md", "no message <script>"),
    ] {
        fs::write(inbox.join(name), text).unwrap();
        tighten(&inbox.join(name));
    }
    for (at, entry) in fs::read_dir(room.root().join(".dispatch/runs")).unwrap().flatten().enumerate() {
        let keys: &[&str] = if at % 2 == 0 {
            &["activity", "why", "from"]
        } else {
            &["activity", "why", "agent", "from", "session"]
        };
        poison_json(&entry.path().join("run.json"), keys);
        let lines = [
            serde_json::json!({"type": "assistant", "message": {"content": [{"type": "text", "text": BODY}]}}),
            serde_json::json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "name": LINE, "input": {"command": LINE, LINE: LINE}}]}}),
            serde_json::json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": LINE, "is_error": true}]}}),
            serde_json::json!({"type": "result", "subtype": "success", "result": BODY}),
        ];
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        let out = entry.path().join("out");
        let before = fs::read_to_string(&out).unwrap_or_default();
        fs::write(&out, format!("{before}\n{LINE}\n{}\n", text.join("\n"))).unwrap();
    }
    for entry in fs::read_dir(room.root().join(".workflows/runs")).unwrap().flatten() {
        poison_json(&entry.path().join("run.json"), &["by"]);
    }
    for server in [Server::person(room), Server::reader(room)] {
        let browser = server.enter();
        let (mut evil, mut shown) = (0, 0);
        let ids = scene.parts("message");
        let more = ids.iter().map(|id| format!("/r/-/message/{id}"));
        let mallory = [
            "mail/mallory",
            "message/11111111-1111-4111-8111-111111111111",
            "search?q=evil",
            "compose?to=%22%3E%3Cscript%3E",
            "search?q=%22%3E%3Cscript%3E",
            "mail/%3Cscript%3E",
            "%3Cscript%3E",
        ];
        let addresses =
            scene.addresses().into_iter().chain(more).chain(mallory.map(|path| format!("/r/-/{path}")));
        for address in addresses.filter(|address| !address.contains("/file/")) {
            let reply = browser.get(&address);
            if !reply.head.contains("text/html") {
                continue;
            }
            let found = faults(&reply.body);
            // What went wrong outside of a view stays as it is.
            let is_bare = !reply.body.contains("/app.js");
            assert!(
                found.is_empty() || is_bare && found == ["1 scripts"],
                "{address} ({}): {found:#?}",
                reply.status
            );
            for header in ["default-src 'none'; script-src 'self'", "nosniff", "no-referrer", "no-store"] {
                assert!(reply.head.contains(header), "{address}: {header}");
            }
            shown += 1;
            evil += usize::from(reply.body.contains("evil"));
        }
        assert!(shown > 60 && evil > 20, "{evil} of {shown} views show it");
    }
}
