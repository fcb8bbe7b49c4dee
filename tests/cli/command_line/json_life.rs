//! The documents of claims, questions, groups, threads, traces, searches, takeovers, prunes and figures, when there is
//! something to tell and when there is nothing. The builder holds each against its schema.

use serde_json::{Value, json};

use crate::command_line::json::{HEADER, carries, has};
use crate::support::room::TestRoom;
use crate::support::taken::{claim, claim_json};

#[test]
fn claims_and_dead_letters_have_their_documented_keys() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    let taken = claim_json(&room, "bob", &[]);
    has(&taken, &["claim", "messages"]);
    carries(&taken["claim"], &["token", "queue", "until", "attempt"]);
    carries(&taken["messages"][0], &HEADER);
    carries(&taken["messages"][0], &["was", "body"]);
    let token = taken["claim"]["token"].as_str().unwrap();
    let renewed = room.by("bob", ["claim", "--renew", token, "--json"]).json();
    has(&renewed, &["token", "state", "until"]);
    assert_eq!((&renewed["state"], &renewed["token"]), (&"renewed".into(), &token.into()));
    assert!(renewed["until"].is_string());
    let released = room.by("bob", ["release", token, "--json"]).json();
    has(&released, &["token", "state"]);
    assert_eq!((&released["state"], &released["until"]), (&"released".into(), &Value::Null));

    let token = claim(&room, "bob", &[]);
    let failed = room.by("bob", ["fail", &token, "--reason", "x", "--json"]).json();
    assert_eq!(failed["state"], "failed");
    let list = room.by("bob", ["--json", "failed", "list"]).json();
    has(&list, &["failed"]);
    carries(&list["failed"][0], &["id", "subject", "file", "reason", "attempts"]);
    let id = list["failed"][0]["id"].as_str().unwrap();
    let shown = room.by("bob", ["--json", "failed", "show", id]).json();
    has(&shown, &["message", "attempts"]);
    carries(&shown["message"], &["was", "body"]);
    carries(&shown["attempts"][0], &["time", "token", "owner", "how"]);
    let retried = room.by("bob", ["--json", "failed", "retry", id]).json();
    has(&retried, &["retried"]);
    assert_eq!(retried["retried"], json!([id]));

    let token = claim(&room, "bob", &[]);
    let answered = room.by("bob", ["done", &token, "-m", "x", "--json"]).json();
    has(&answered, &["receipts"]);
    carries(&answered["receipts"][0], &["id", "to", "subject", "state", "file"]);
    room.send("alice", "bob", "another");
    let done = room.by("bob", ["done", &claim(&room, "bob", &[]), "--json"]).json();
    has(&done, &["token", "state"]);
    assert_eq!(done["state"], "done");
}

#[test]
fn questions_have_their_documented_keys() {
    let room = TestRoom::with(&["alice", "bob"]);
    let asked = room.by("alice", ["ask", "bob", "-m", "why?", "--timeout", "0", "--json"]).exits(1);
    let told: Value = serde_json::from_str(&asked.out).unwrap();
    has(&told, &["id", "timed_out", "bounced", "state", "messages"]);
    assert_eq!((&told["timed_out"], &told["messages"]), (&true.into(), &json!([])));
    let asking = room.by("alice", ["ask", "bob", "-m", "why not?", "--timeout", "60", "--json"]).start();
    crate::support::until::until("the question", || room.files("bob", "inbox").len() == 2);
    for file in room.files("bob", "inbox") {
        room.by("bob", ["reply", &file[17..25], "-m", "Because."]).succeeds();
    }
    let output = asking.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    has(&told, &["id", "timed_out", "bounced", "messages"]);
    carries(&told["messages"][0], &HEADER);
    assert_eq!(told["messages"][0]["body"], "Because.");
}

#[test]
fn looks_have_their_documented_keys() {
    let room = TestRoom::with(&["alice", "bob"]);
    let id = room.send("alice", "bob", "job");
    room.by("bob", ["reply", &id, "-m", "x"]).succeeds();
    let groups = room.run(["--json", "group", "add", "team", "bob"]).json();
    has(&groups, &["groups"]);
    assert_eq!(groups["groups"], json!({"team": ["bob"]}));

    let thread = room.by("alice", ["thread", &id, "--json"]).json();
    has(&thread, &["messages"]);
    carries(&thread["messages"][1], &["depth", "id", "reply_to", "from", "to", "subject", "time"]);
    assert_eq!((&thread["messages"][0]["depth"], &thread["messages"][1]["depth"]), (&0.into(), &1.into()));
    assert_eq!(thread["messages"][1]["reply_to"], thread["messages"][0]["id"]);

    let sent = room.by("alice", ["sent", "--json"]).json();
    has(&sent, &["sent"]);
    carries(&sent["sent"][0], &["id", "to", "subject", "time", "state"]);
    carries(&sent["sent"][0]["to"], &["id", "name"]);

    let trace = room.by("alice", ["trace", &id, "--json"]).json();
    has(&trace, &["id", "subject", "from", "copies", "answers", "events"]);
    carries(&trace["copies"][0], &["mailbox", "folder", "file", "state", "attempts"]);
    carries(&trace["answers"][0], &["id", "from"]);
    carries(&trace["events"][0], &["v", "time", "event", "by"]);

    let search = room.run(["search", "job", "--json"]).json();
    has(&search, &["hits", "more"]);
    let hit = &search["hits"][0];
    carries(hit, &HEADER);
    carries(hit, &["size", "mailbox", "folder", "lines"]);
    let lines = search["hits"].as_array().unwrap().iter().find_map(|hit| hit["lines"].get(0)).unwrap();
    carries(lines, &["line", "text"]);

    let stats = room.run(["stats", "--json"]).json();
    has(&stats, &["seconds", "mailboxes"]);
    let figures =
        ["mailbox", "received", "sent", "finished", "failed", "waiting_ms", "processing_ms", "arrivals"];
    carries(&stats["mailboxes"][0], &figures);
    let bob = stats["mailboxes"].as_array().unwrap().iter().find(|one| one["mailbox"]["name"] == "bob");
    carries(&bob.unwrap()["waiting_ms"], &["p50", "p90"]);

    let taken = room.run(["takeover", "bob", "--force", "--json"]).env("CODEX_THREAD_ID", "t").json();
    has(&taken, &["name", "id", "bound"]);
    assert_eq!(taken["bound"], true);
    let pruned = room.by("alice", ["prune", "--archived", "0s", "--json", "--yes"]).json();
    has(&pruned, &["removed", "items", "undo"]);
    let back = room.by("alice", ["undo", pruned["undo"].as_str().unwrap(), "--json"]).json();
    has(&back, &["restored"]);
    carries(&back["restored"], &["id", "at", "mailboxes", "runs", "messages"]);
    carries(&pruned["items"][0], &["mailbox", "folder", "file"]);
    let pruned = room.by("alice", ["prune", "bob", "--json", "--yes"]).json();
    carries(&pruned["items"][0], &["mailbox", "name", "unread", "messages"]);
}

#[test]
fn nothing_there_is_a_document_too() {
    let room = TestRoom::with(&["bob"]);
    std::fs::remove_dir_all(room.root().join(".journal")).unwrap();
    for (arguments, key, empty) in [
        (vec!["claim"], "claim", Value::Null),
        (vec!["failed", "list"], "failed", json!([])),
        (vec!["sent"], "sent", json!([])),
        (vec!["search", "x"], "hits", json!([])),
        (vec!["stats"], "mailboxes", json!([])),
        (vec!["prune", "--archived", "1d"], "items", json!([])),
    ] {
        let ran = room.by("bob", ["--json"].into_iter().chain(arguments.iter().copied())).exits(1);
        let told: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {ran:?}"));
        assert_eq!((&told["v"], &told[key]), (&json!(1), &empty), "{arguments:?}");
        assert_eq!(ran.err, "", "{arguments:?}");
    }
    let text = room.run(["group", "list"]).ends().code;
    let ran = room.run(["--json", "group", "list"]).ends();
    assert_eq!(serde_json::from_str::<Value>(&ran.out).unwrap()["groups"], json!({}));
    assert_eq!(ran.code, text, "the same exit code as in text");
}

#[test]
fn errors_are_documents_with_their_exit_code() {
    let room = TestRoom::with(&["alice", "bob"]);
    room.send("alice", "bob", "job");
    let token = claim(&room, "bob", &[]);
    for (arguments, code) in [
        (vec!["done", &token], 4),
        (vec!["done", "0123456789abcdef"], 3),
        (vec!["claim", "--renew", "x"], 3),
        (vec!["claim", "--queue", "nobody"], 3),
        (vec!["fail", &token], 2),
        (vec!["failed", "show", "0000dead"], 3),
        (vec!["ask", "@all", "-m", "x"], 2),
        (vec!["send", "@nobody", "-m", "x"], 3),
        (vec!["group", "add", "a", "@a"], 4),
        (vec!["thread", "0000dead"], 3),
        (vec!["trace", "0000dead"], 3),
        (vec!["search", "--regex", "("], 2),
        (vec!["takeover", "nobody"], 3),
        (vec!["takeover", "bob"], 4),
        (vec!["prune", "alice", "--yes"], 4),
        (vec!["prune"], 2),
        (vec!["stats", "--since", "x"], 2),
    ] {
        let ran = room.by("alice", ["--json"].into_iter().chain(arguments.iter().copied())).exits(code);
        let told: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {ran:?}"));
        assert_eq!(told["error"]["code"], code, "{arguments:?}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(!message.is_empty() && ran.err.is_empty(), "{arguments:?}: {ran:?}");
        assert!(!told["error"]["hints"].as_array().unwrap().is_empty(), "{arguments:?} gets no hint: {told}");
    }
    room.by("bob", ["done", &token]).succeeds();
}

#[test]
fn options_of_everywhere_may_stand_behind_the_second_word() {
    let room = TestRoom::with(&["alice", "bob"]);
    let root = room.root();
    let root = root.to_str().unwrap();
    room.run(["group", "add", "team", "bob"]).succeeds();
    for arguments in [
        vec!["group", "list", "--json", "--root", root],
        vec!["group", "--json", "list", "--root", root],
        vec!["--json", "--root", root, "group", "list"],
    ] {
        let told = room.bare(arguments.clone()).json();
        assert_eq!(told["groups"], json!({"team": ["bob"]}), "{arguments:?}");
    }
    let ran = room.bare(["failed", "list", "--as", "bob", "--root", root]).exits(1);
    assert_eq!(ran.err, "");
    assert_eq!(room.bare(["group", "add", "x", "bob", "-q", "--root", root]).succeeds().out, "");
}

#[test]
fn trees_and_adopted_mailboxes_have_their_documented_keys() {
    let room = TestRoom::with(&["alice"]);
    let site = room.around().join("site");
    std::fs::create_dir(&site).unwrap();
    let made = room.run(["setup", "explore", "--json", "--tree"]).arg(&site).json();
    has(&made, &["adopted"]);
    carries(&made["adopted"][0], &["name", "protocol", "inbox", "state", "id"]);
    let again = room.run(["adopt", "--json"]).arg(&site).json();
    assert_eq!(again["adopted"][0]["state"], "already here");
    room.send("alice", "explore", "find it");
    let status = room.run(["tree", "status", "--json", "--tree"]).arg(&site).json();
    has(&status, &["tree", "agents", "latest", "shared", "faults"]);
    carries(&status["agents"][0], &["agent", "messages", "responses"]);
    assert_eq!(status["agents"][0]["messages"]["pending"], 1);
    carries(&status["latest"][0], &["agent", "id", "from", "status", "subject", "time"]);
    let id = status["latest"][0]["id"].as_str().unwrap();
    room.by("explore", ["reply", id, "-m", "here"]).succeeds();
    let cleaned = room.run(["tree", "cleanup", "--json", "--tree"]).arg(&site).json();
    has(&cleaned, &["dry_run", "archived"]);
    carries(&cleaned["archived"][0], &["agent", "id", "request", "responses"]);
    let shared = |arguments: &[&str]| {
        room.run(["tree", "shared", "--json"].into_iter().chain(arguments.iter().copied()))
            .within(&site)
            .json()
    };
    has(&shared(&["get"]), &["files"]);
    has(&shared(&["set", "workflow-state", "current_step", "-1"]), &["done"]);
    let part = shared(&["get", "workflow-state", "current_step"]);
    has(&part, &["file", "part", "text"]);
    assert_eq!(part["text"], "-1");
    assert_eq!(room.by("alice", ["check", "--json"]).json()["messages"][0]["protocol"], "maildir");
}
