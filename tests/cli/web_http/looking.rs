//! Looking changes nothing, and leads nowhere but into the room.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::client::Browser;
use super::server::Server;
use crate::support::hand::tighten;
use crate::support::room::TestRoom;
use crate::support::staffed::{settle, shell};

/// The room of the pictures (tests/web) around a test: mail, runs and workflows in every state.
pub(crate) struct Scene {
    pub(crate) room: TestRoom,
    child: Child,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let room = TestRoom::empty().leaves_faults();
        let project = room.around().join("project");
        fs::create_dir(&project).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_postroom")).parent().unwrap().join("examples/scene");
        let mut child = Command::new(&program)
            .arg(room.root())
            .arg(&project)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}; cargo build --example scene", program.display()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let scene = Self { room, child };
        // Reading a file tightens its mode, so modes are tight before the comparison.
        scene.files().iter().for_each(|file| tighten(file.as_ref()));
        scene
    }

    /// Kills the process that holds the runs that go on.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn files(&self) -> Vec<String> {
        let root = self.room.root();
        let found = Command::new("find").arg(&root).args(["-type", "f"]).output().unwrap();
        String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// What `*` may stand for after a word of the table of views.
    pub(crate) fn parts(&self, word: &str) -> Vec<String> {
        let root = self.room.root();
        let in_folder = |folder: &str| -> Vec<String> {
            let entries = fs::read_dir(root.join(folder)).unwrap().flatten();
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
        };
        match word {
            "mail" => ["user", "builder", "planner", "reviewer", "nobody"].map(str::to_owned).to_vec(),
            "message" | "file" => {
                let mail = self.files().into_iter().filter(|file| file.ends_with(".md"));
                let ids = mail.filter_map(|file| {
                    let text = fs::read_to_string(file).ok()?;
                    let line = text.lines().find_map(|line| line.strip_prefix("id: "))?;
                    Some(line.trim_matches('"').to_owned())
                });
                // Of each folder some: they are in the order of the directory.
                ids.step_by(3).chain(["00000000".to_owned()]).collect()
            }
            "runs" => in_folder(".dispatch/runs").into_iter().step_by(5).collect(),
            "workflows" => {
                in_folder(".workflows/runs").into_iter().chain(["implement-review".to_owned()]).collect()
            }
            other => panic!("say what * stands for after `{other}`"),
        }
    }

    /// Addresses for every entry of the tables of what a GET gives.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let source = include_str!("../../../src/web/routes.rs");
        let mut all = vec![];
        for table in ["const VIEWS", "const FILES"] {
            let table = source.split(table).nth(1).unwrap().split("];").next().unwrap();
            let patterns: Vec<&str> =
                table.split("(\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
            assert!(!patterns.is_empty());
            for pattern in patterns {
                let word = pattern.split('/').next().unwrap();
                match pattern.contains('*') {
                    true => all.extend(
                        self.parts(word).iter().map(|part| format!("/r/-/{}", pattern.replace('*', part))),
                    ),
                    false => all.push(format!("/r/-/{pattern}")),
                }
            }
        }
        let queries = [
            "search?q=parser",
            "numbers?window=7d",
            "flow?window=7d",
            "runs?failed=1",
            "runs?agent=builder",
            "runs?state=again",
            "runs?state=parked",
            "workflows?skip=1",
            "compose?to=bob",
        ];
        all.extend(queries.map(|query| format!("/r/-/{query}")));
        for folder in ["unread", "archive", "claimed", "failed", "quarantine", "all"] {
            all.push(format!("/r/-/mail/builder?in={folder}"));
        }
        all
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn looks(scene: &Scene, browser: &Browser, least: usize) {
    let addresses = scene.addresses();
    let before = picture(&scene.room.root());
    let mut shown = 0;
    for address in &addresses {
        let reply = browser.get(address);
        assert!([200, 400, 404].contains(&reply.status), "{address}: {reply:?}");
        shown += usize::from(reply.status == 200);
    }
    assert!(shown >= least, "only {shown} of {} were shown", addresses.len());
    let after = picture(&scene.room.root());
    let changed: Vec<_> = after.lines().filter(|line| !before.contains(*line)).collect();
    assert!(before == after, "looking changed {changed:#?}");
}

/// Every path with mode, size, time of change and content; marks of last sight and locks, too.
fn picture(root: &Path) -> String {
    let script = "find . -printf '%p %m %s %T@\\n' | sort; find . -type f -exec sha256sum {} + | sort";
    let looked = Command::new("sh").args(["-c", script]).current_dir(root).output().unwrap();
    assert!(looked.status.success());
    String::from_utf8(looked.stdout).unwrap()
}

/// Leaves the note of a parked message that is no longer unread.
fn park_and_archive(scene: &Scene, browser: &Browser) {
    // Only the mail of an agent can be stopped.
    settle(&scene.room, &shell("docs", "true", ""));
    let id = scene.room.send("ann", "docs", "parked and gone");
    let stopped = browser.post("/r/-/stop", &serde_json::json!({"what": id}));
    assert_eq!(stopped.status, 200, "{stopped:?}");
    scene.room.by("docs", ["archive", &id]).succeeds();
    assert_eq!(fs::read_dir(scene.room.root().join(".dispatch/parked")).unwrap().count(), 1);
}

#[test]
fn no_get_changes_anything() {
    let scene = Scene::new();
    let server = Server::person(&scene.room);
    let browser = server.enter();
    park_and_archive(&scene, &browser);
    looks(&scene, &browser, 60);
    let server = Server::reader(&scene.room);
    looks(&scene, &server.enter(), 60);
}

#[test]
fn lists_show_what_was_chosen() {
    let scene = Scene::new();
    let server = Server::reader(&scene.room);
    let browser = server.enter();
    for state in ["running", "done", "failed"] {
        let body = browser.get(&format!("/r/-/runs?state={state}")).body;
        let rows = body.split("<tr id=\"run-").skip(1);
        assert!(rows.clone().count() > 0, "{state}: {body}");
        for row in rows {
            assert!(row.contains(&format!("\">{state}</span>")), "{state}: {row}");
            assert!(row.contains("<span class=\"two\">"), "it has no subject: {row}");
        }
    }
    let runs =
        |query: &str| browser.get(&format!("/r/-/workflows{query}")).body.matches("<tr id=\"wf-").count();
    assert_eq!((runs(""), runs("?skip=2"), runs("?skip=9")), (3, 1, 0));
    // The run that waits says for whom, and who began it is a name.
    let list = browser.get("/r/-/workflows").body;
    assert!(list.contains("waits for approval by user"), "{list}");
    let id = list.split("id=\"wf-plan-approve").nth(1).unwrap().split('"').next().unwrap();
    let one = browser.get(&format!("/r/-/workflows/plan-approve{id}")).body;
    for wanted in ["by ann<", "what it was asked", "<blockquote>", "worked ", ">builder</text>"] {
        assert!(one.contains(wanted), "{wanted} is not in {one}");
    }
    assert!(!one.contains("postroom approve") && !one.contains(" bytes]"), "{one}");
}

#[test]
fn no_address_leads_out_of_the_room() {
    let room = TestRoom::with(&["alice", "bob", "user"]);
    let canary = room.around().join("canary");
    let attached = room.around().join("note.txt");
    fs::write(&canary, "a secret outside of the room").unwrap();
    fs::write(&attached, "attached").unwrap();
    let file = attached.display().to_string();
    let sent = room.by("alice", ["send", "bob", "-m", "see the file", "--attach", &file, "--json"]).json();
    let message =
        sent["receipts"][0]["id"].as_str().or_else(|| sent["id"].as_str()).unwrap_or_default().to_owned();
    assert!(!message.is_empty(), "{sent}");
    let server = Server::person(&room);
    let browser = server.enter();
    let got = browser.get(&format!("/r/-/file/{message}/note.txt"));
    assert!(got.status == 200 && got.body == "attached", "{got:?}");
    assert!(got.head.contains("content-disposition: attachment"), "{got:?}");
    let before = room.tree();
    let outside = canary.display().to_string().replace('/', "%2f");
    let long = "x".repeat(20_000);
    let hostile = [
        "..",
        ".",
        "%2e%2e",
        "..%2f..%2fcanary",
        "..%2fcanary",
        "%2fetc%2fpasswd",
        &outside,
        "a%00b",
        "%00",
        "%ff",
        "%zz",
        "..%5c..%5ccanary",
        "%252e%252e%252fcanary",
        "*",
        "a%0d%0aset-cookie:%20x=1",
        ".journal",
        "registry.json",
        &long,
        "%E2%80%AE",
        "~",
        "$(id)",
        "-rf",
    ];
    let patterns = [
        "/r/*/now",
        "/r/*/events",
        "/r/-/mail/*",
        "/r/-/message/*",
        "/r/-/runs/*",
        "/r/-/runs/*/diff",
        "/r/-/workflows/*",
        "/r/-/workflows/*/start",
        "/r/-/file/*/*",
        "/static/*/*",
        "/*",
        "/r/-/*",
    ];
    let with_message = format!("/r/-/file/{message}/*");
    for pattern in patterns.into_iter().chain([with_message.as_str()]) {
        for part in hostile {
            let address = pattern.replace('*', part);
            let reply = browser.get(&address);
            assert!((400..500).contains(&reply.status), "{address:.90}: {} {}", reply.status, reply.head);
            let told = format!("{}{}", reply.head, reply.body);
            assert!(!told.contains("a secret outside") && !told.contains("root:x:"), "{address:.90}: {told}");
            assert!(!reply.head.contains("set-cookie"), "{address:.90}: {}", reply.head);
        }
    }
    for query in [
        "search?q=*",
        "mail/bob?in=*",
        "mail/bob?before=*",
        "runs?agent=*",
        "flow?window=*",
        "numbers?window=*",
        "compose?to=*",
        "events?after=*",
    ] {
        for part in hostile.iter().filter(|_| !query.starts_with("events")) {
            let reply = browser.get(&format!("/r/-/{}", query.replace('*', part)));
            assert!([200, 400, 403, 404].contains(&reply.status), "{query} {part:.50}: {reply:?}");
            assert!(!reply.body.contains("a secret outside"), "{query} {part:.50}");
        }
    }
    room.is_still(&before, "hostile addresses");
}
