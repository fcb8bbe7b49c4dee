//! Three kinds of mailboxes write to three kinds: subject, thread, priority, channel and extra fields come through a
//! question and its answer, whoever uses Postroom and whoever acts by hand (matrix_hand.rs).

use serde_json::Value;

use crate::room::TestRoom;

/// One that asks and one that answers, of each kind.
pub(crate) const ASKERS: [&str; 3] = ["alice", "carol", "explore"];
pub(crate) const ANSWERERS: [&str; 3] = ["bob", "dave", "writer"];

/// A room with two mailboxes of each kind.
pub(crate) fn all_kinds() -> TestRoom {
    let room = TestRoom::with(&["alice", "bob"]);
    room.workspace("carol");
    room.workspace("dave");
    room.agents(&["explore", "writer"]);
    room
}

/// Sends the question that every test asks, and gives its id.
#[track_caller]
pub(crate) fn ask(room: &TestRoom, from: &str, to: &str) -> String {
    let fields = ["--priority", "high", "--channel", "build", "--field", "step=2", "--field", "note=a: b #1"];
    let words =
        ["send", to, "-s", "Build: it", "-m", "please build\nnow\n", "--field", "workflow=w-1", "--json"];
    let sent = room.by(from, words.into_iter().chain(fields)).json();
    assert_eq!(sent["receipts"][0]["state"], "queued", "{sent}");
    sent["receipts"][0]["id"].as_str().unwrap().to_owned()
}

/// Insists on what a message must say, in whatever protocol it came.
#[track_caller]
pub(crate) fn is_whole(message: &Value, subject: &str, from: &str, reply_to: Option<&str>, way: &str) {
    let text = |key: &str| message[key].as_str().map(str::to_owned);
    assert_eq!(text("subject").as_deref(), Some(subject), "{way}: {message}");
    assert_eq!(message["from"]["name"], from, "{way}: {message}");
    assert_eq!(text("reply_to").as_deref(), reply_to, "{way}: {message}");
    assert_eq!(
        (text("priority").as_deref(), text("channel").as_deref()),
        (Some("high"), Some("build")),
        "{way}: {message}"
    );
    let extra = |key: &str| message["extra"][key].as_str();
    let extras = (extra("step"), extra("note"), extra("workflow"));
    assert_eq!(extras, (Some("2"), Some("a: b #1"), Some("w-1")), "{way}: {message}");
}

/// Reads the next message of a mailbox.
#[track_caller]
pub(crate) fn read(room: &TestRoom, name: &str) -> Value {
    let read = room.by(name, ["read", "--json"]).json();
    assert_eq!(read["messages"].as_array().unwrap().len(), 1, "{name}: {read}");
    read["messages"][0].clone()
}

/// Every pair of an asker and an answerer, each in a room of its own.
pub(crate) fn every_way(test: impl Fn(&TestRoom, &str, &str, &str)) {
    for asker in ASKERS {
        for answerer in ANSWERERS {
            test(&all_kinds(), asker, answerer, &format!("{asker} -> {answerer}"));
        }
    }
}

#[test]
fn both_by_postroom() {
    every_way(|room, asker, answerer, way| {
        let id = ask(room, asker, answerer);
        is_whole(&room.header(answerer), "Build: it", asker, None, way);
        let question = read(room, answerer);
        is_whole(&question, "Build: it", asker, None, way);
        assert_eq!(
            (question["id"].as_str(), question["body"].as_str()),
            (Some(id.as_str()), Some("please build\nnow\n")),
            "{way}"
        );
        let file = question["file"].as_str().unwrap();
        let told = room.by(answerer, ["reply", file, "-m", "built\n"]).succeeds().out;
        assert!(told.ends_with(&format!(" for {asker}: re: Build: it\n")), "{way}: {told}");
        is_whole(&room.header(asker), "re: Build: it", answerer, Some(&id), way);
        let answer = read(room, asker);
        is_whole(&answer, "re: Build: it", answerer, Some(&id), way);
        assert_eq!(answer["body"], "built\n", "{way}");
        room.by(asker, ["read"]).exits(1);
        assert!(room.headers(answerer).is_empty(), "{way}: the question is answered");
    });
}

#[test]
fn an_ask_ends_with_the_answer() {
    every_way(|room, asker, answerer, way| {
        let asking = room.by(asker, ["ask", answerer, "-m", "how many?", "--timeout", "60"]).start();
        room.by(answerer, ["wait", "--timeout", "60"]).succeeds();
        let question = read(room, answerer);
        room.by(answerer, ["reply", question["file"].as_str().unwrap(), "-m", "forty-two"]).succeeds();
        let output = asking.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{way}: {out}");
        assert!(out.contains("\nforty-two\n"), "{way}: {out}");
        room.by(asker, ["check"]).exits(1);
    });
}

#[test]
fn thread_trace_search_and_sent_see_all_kinds() {
    every_way(|room, asker, answerer, way| {
        let id = ask(room, asker, answerer);
        let found = room.run(["search", "please build"]).succeeds().out;
        assert!(found.contains(&format!("({answerer}/inbox)")), "{way}: {found}");
        let trace = room.run(["trace", &id, "--json"]).json();
        assert_eq!(trace["subject"], "Build: it", "{way}: {trace}");
        assert!(room.run(["trace", &id]).succeeds().out.contains("queued"), "{way}");
        assert!(room.by(asker, ["sent"]).succeeds().out.contains(&format!("{answerer} queued")), "{way}");
        let file = room.header(answerer)["file"].as_str().unwrap().to_owned();
        room.by(answerer, ["reply", &file, "-m", "it is built"]).succeeds();
        let answer = read(room, asker)["id"].as_str().unwrap().to_owned();
        for either in [&id, &answer] {
            let thread = room.run(["thread", either]).succeeds().out;
            let lines: Vec<&str> = thread.lines().collect();
            assert_eq!(lines.len(), 2, "{way}: {thread}");
            assert!(lines[0].contains(&format!("{asker} → {answerer}: Build: it")), "{way}: {thread}");
            assert!(
                lines[1].starts_with("  ")
                    && lines[1].contains(&format!("{answerer} → {asker}: re: Build: it")),
                "{way}: {thread}"
            );
        }
        let sent = room.by(asker, ["sent"]).succeeds().out;
        assert!(sent.contains(&format!("{answerer} answered")), "{way}: {sent}");
        let trace = room.run(["trace", &id]).succeeds().out;
        assert!(trace.contains(&format!("answered by {answerer}: {answer}")), "{way}: {trace}");
        let found = room.run(["search", "it is built"]).succeeds().out;
        assert!(found.contains(&format!("({asker}/archive)")), "{way}: {found}");
    });
}
