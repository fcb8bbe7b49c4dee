//! What a message, a run or a workflow holds can neither run nor load anything: every view is taken apart as a browser does.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::looking::Scene;
use super::server::Server;
use crate::support::hand::tighten;

/// Everything that runs, loads or closes something, for one line.
const LINE: &str = r#"evil"'><script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)><style>*{background:url(https://evil.example)}</style><a href="javascript:alert(1)">{{7*7}}{% raw %}</textarea></title>"#;

/// The same in Markdown.
const BODY: &str = r#"evil
[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>alert(1)</script>) [d](vbscript:x) [e](//evil.example)
![p](https://evil.example/p.png) ![q](data:image/svg+xml,<svg onload=alert(1)>) ![r](javascript:alert(1))
<https://ok.example/"onmouseover=alert(1)> <script>alert(1)</script> <img src=x onerror=alert(1)>
[x]: javascript:alert(1) "a"
[x] [t](https://ok.example 'a" onclick="alert(1)')

<div style="background:url(https://evil.example)" onclick=alert(1)>
<iframe src="https://evil.example"></iframe><base href="https://evil.example/"><meta http-equiv=refresh content="0;url=https://evil.example">

| a" onclick="x | b |
|:--|--:|
| <svg onload=alert(1)> | {{7*7}} |

```"><script>alert(1)</script>
</code></pre><script>alert(1)</script>
```
"#;

/// The tags of a document with their attributes, as a browser finds them.
fn tags(html: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let (mut found, mut rest) = (vec![], html);
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        rest = &rest[end..];
        let mut attributes = BTreeMap::new();
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() || rest.starts_with('>') {
                break;
            }
            let end =
                rest.find(|c: char| c.is_whitespace() || "=>/".contains(c)).unwrap_or(rest.len()).max(1);
            let key = rest[..end].to_ascii_lowercase();
            rest = rest[end..].trim_start();
            let mut value = String::new();
            if let Some(after) = rest.strip_prefix('=') {
                let after = after.trim_start();
                let quote = after.chars().next().filter(|c| "\"'".contains(*c));
                let (text, left) = match quote {
                    Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
                    None => after
                        .split_at(after.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(after.len())),
                };
                value = text.replace("&#38;", "&").replace("&amp;", "&").replace("&#58;", ":");
                rest = left;
            }
            attributes.insert(key, value);
        }
        found.push((name, attributes));
    }
    found
}

/// What a document could run or load that is not the page's own.
fn faults(html: &str) -> Vec<String> {
    let mut faults = vec![];
    let all = tags(html);
    let scripts = all.iter().filter(|(name, _)| name == "script").count();
    if scripts != 2 {
        faults.push(format!("{scripts} scripts"));
    }
    for (name, attributes) in &all {
        if [
            "style",
            "iframe",
            "object",
            "embed",
            "base",
            "template",
            "math",
            "foreignobject",
            "animate",
            "set",
            "video",
            "audio",
            "source",
        ]
        .contains(&name.as_str())
        {
            faults.push(format!("<{name}>"));
        }
        for (key, value) in attributes {
            let own = (value.starts_with('/') && !value.starts_with("//")) || value.starts_with(['#', '?']);
            let rel = attributes.get("rel").map_or("", String::as_str);
            let checked = ["http://", "https://", "mailto:"].iter().any(|scheme| value.starts_with(scheme))
                && rel.contains("noreferrer")
                && rel.contains("noopener")
                && name == "a"
                && key == "href";
            let is_address = [
                "src",
                "href",
                "xlink:href",
                "action",
                "formaction",
                "srcset",
                "data",
                "poster",
                "ping",
                "background",
            ];
            if is_address.contains(&key.as_str()) && !own && !checked
                || key.starts_with("on")
                || key == "style"
                || key == "http-equiv"
                || (name == "script" && key == "src" && !value.starts_with("/static/"))
            {
                faults.push(format!("<{name} {key}={value:.80}>"));
            }
        }
    }
    faults
}

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
