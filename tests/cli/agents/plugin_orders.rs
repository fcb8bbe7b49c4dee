//! Our own plugins under Node, beside a stand-in for the program that loads them: an idle session is woken in every order
//! of events. The real programs are in `matrix/`; here the moments lie closer together than a person types.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use postroom::agents::texts;

use crate::support::room::{Run, TestRoom};
use crate::support::staffed::program;
use crate::support::until::skip;

/// Loads the plugin as OpenCode does, and plays the events that it is told.
const OPENCODE: &str = r#"
import { createInterface } from "node:readline"
import { Postroom } from "./postroom.mjs"
const promptAsync = async ({ path, body }) => console.log(`woken ${path.id}: ${body.parts[0].text}`)
const client = { session: { promptAsync, list: async () => ({ data: [] }) } }
const plugin = await Postroom({ client, directory: process.cwd() })
for await (const line of createInterface({ input: process.stdin })) {
  const [what, sessionID] = line.split(" ")
  const output = { parts: [], message: { id: "m" } }
  if (what === "prompt") await plugin["chat.message"]({ sessionID }, output)
  if (what === "idle") await plugin.event({ event: { type: "session.idle", properties: { sessionID } } })
  console.log(`done ${line}`)
}
"#;

/// Loads the extension as Copilot CLI does, which gives it the session.
const COPILOT: &str = r#"
import { mkdirSync, writeFileSync } from "node:fs"
const sdk = "node_modules/@github/copilot-sdk"
mkdirSync(sdk, { recursive: true })
writeFileSync(`${sdk}/package.json`, '{"type":"module","exports":{"./extension":"./extension.js"}}')
writeFileSync(`${sdk}/extension.js`, "export const joinSession = async () => globalThis.session")
const send = async ({ prompt }) => console.log(`woken s1: ${prompt}`)
globalThis.session = { sessionId: "s1", on: () => {}, send }
await import("./postroom.mjs")
process.stdin.resume()
"#;

/// A plugin that runs. It ends with this value.
struct Plugin {
    child: Child,
    lines: Receiver<String>,
}

impl Plugin {
    /// Starts it; it calls postroom through a script, which sends a message after the hook that the file `late` names.
    fn start(room: &TestRoom, text: &str, driver: &str) -> Self {
        let own = env!("CARGO_BIN_EXE_postroom");
        let late = room.around().join("late");
        let script = format!(
            "test -e '{0}' || exec '{own}' \"$@\"\n'{own}' \"$@\"\n\
             test \"$(cat '{0}')\" != \"$3\" || {{ rm '{0}'; '{own}' --as alice send bob -m late; }} >/dev/null",
            late.display()
        );
        let called = program(room, "postroom-late", &script);
        let text = texts::whole(text)
            .replace("{postroom}", called.to_str().unwrap())
            .replace("[{name}]", "[]")
            .replace("\"{start}\"", "null");
        std::fs::write(room.around().join("postroom.mjs"), text).unwrap();
        std::fs::write(room.around().join("driver.mjs"), driver).unwrap();
        let mut node = Command::new("node");
        node.arg("driver.mjs").current_dir(room.around()).env_clear();
        node.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", room.around().join("home"));
        node.env("POSTROOM_ROOT", room.root()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = node.spawn().unwrap();
        let (send, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        Self { child, lines }
    }

    fn says(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).expect("the plugin says nothing")
    }

    /// An event of the program, which the plugin has dealt with on return.
    fn hears(&mut self, event: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{event}").unwrap();
        assert_eq!(self.says(), format!("done {event}"));
    }

    fn wakes(&self) {
        let line = self.says();
        assert!(line.starts_with("woken s1: postroom: mail has arrived"), "{line}");
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has_node(test: &str) -> bool {
    let has = Command::new("node").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has {
        skip(test, "node is not installed");
    }
    has
}

/// A command of the agent in the session.
fn agent<'a>(room: &TestRoom, words: impl IntoIterator<Item = &'a str>) -> Run {
    room.run(words).env("POSTROOM_OPENCODE_SESSION", "s1")
}

#[test]
fn opencode_is_woken_though_it_rested_a_moment_after_its_setup() {
    if !has_node("opencode_is_woken_though_it_rested_a_moment_after_its_setup") {
        return;
    }
    let room = TestRoom::with(&["alice"]);
    let mut plugin = Plugin::start(&room, "opencode.js", OPENCODE);
    plugin.hears("prompt s1");
    agent(&room, ["setup", "bob"]).succeeds();
    plugin.hears("idle s1");
    let names = room.run(["names"]).succeeds().out;
    let is_there = |line: &str| line.starts_with("bob ") && line.ends_with(" in session");
    assert!(names.lines().any(is_there), "its process is known: {names}");
    room.send("alice", "bob", "one");
    plugin.wakes();
}

#[test]
fn opencode_is_woken_for_the_mailbox_that_it_took_over_and_not_for_the_one_before() {
    if !has_node("opencode_is_woken_for_the_mailbox_that_it_took_over_and_not_for_the_one_before") {
        return;
    }
    let room = TestRoom::with(&["alice", "carol"]);
    agent(&room, ["setup", "bob"]).succeeds();
    let mut plugin = Plugin::start(&room, "opencode.js", OPENCODE);
    plugin.hears("prompt s1");
    plugin.hears("idle s1");
    room.send("alice", "bob", "one");
    plugin.wakes();
    plugin.hears("prompt s1");
    agent(&room, ["takeover", "carol", "--force"]).succeeds();
    plugin.hears("idle s1");
    room.send("alice", "bob", "two");
    room.send("alice", "carol", "three");
    plugin.wakes();
    plugin.hears("prompt s1");
}

#[test]
fn opencode_is_woken_for_mail_that_came_before_it_watched() {
    if !has_node("opencode_is_woken_for_mail_that_came_before_it_watched") {
        return;
    }
    let room = TestRoom::with(&["alice"]);
    let mut plugin = Plugin::start(&room, "opencode.js", OPENCODE);
    plugin.hears("prompt s1");
    agent(&room, ["setup", "bob"]).succeeds();
    std::fs::write(room.around().join("late"), "stop").unwrap();
    writeln!(plugin.child.stdin.as_mut().unwrap(), "idle s1").unwrap();
    plugin.wakes();
    assert!(!room.around().join("late").exists(), "it came after that hook");
}

#[test]
fn copilot_is_woken_for_mail_that_came_before_it_watched() {
    if !has_node("copilot_is_woken_for_mail_that_came_before_it_watched") {
        return;
    }
    let room = TestRoom::with(&["alice"]);
    room.run(["setup", "bob"]).env("COPILOT_AGENT_SESSION_ID", "s1").succeeds();
    std::fs::write(room.around().join("late"), "mail").unwrap();
    let plugin = Plugin::start(&room, "copilot.mjs", COPILOT);
    plugin.wakes();
    assert!(!room.around().join("late").exists(), "it came after that hook");
}
