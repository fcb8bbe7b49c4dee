//! An answer reaches its asker, and so does a failure: once, with all that the question said of itself.

use serde_json::Value;

use crate::protocols::conformance::{Kind, Way, claim, for_each_way, read, reads_once, reference, sent_id};
use crate::protocols::conformance_hand::answer;
use crate::support::room::TestRoom;

for_each_way!(
    every_field_goes_through,
    a_reply_reaches_its_asker,
    a_result_reaches_its_asker,
    an_answer_by_hand_reaches_its_asker,
    an_answer_by_hand_ends_a_wait,
    an_ask_ends_with_the_answer,
    a_failure_reaches_its_asker,
    a_failure_injects_no_field,
    thread_trace_search_and_sent_see_both,
);

/// Sends the question that says most of itself, and gives its id.
#[track_caller]
fn ask(room: &TestRoom, way: Way) -> String {
    let words = ["send", way.worker(), "-s", "Build: it", "-m", "please build\nnow\n", "--json"];
    let fields = ["--priority", "high", "--channel", "build", "--field", "step=2", "--field", "note=a: b #1"];
    let run = room.by(way.asker(), words.into_iter().chain(fields).chain(["--field", "workflow=w-1"]));
    sent_id(&run.json())
}

/// Insists on what every message of the exchange says of itself, in whatever protocol it came.
#[track_caller]
fn is_whole(message: &Value, subject: &str, from: &str) {
    assert_eq!((&message["subject"], &message["from"]["name"]), (&subject.into(), &from.into()), "{message}");
    assert_eq!((&message["priority"], &message["channel"]), (&"high".into(), &"build".into()), "{message}");
}

/// What one of the protocols could take for its own: quotes, comments, lists, anchors, keys, fences.
fn every_field_goes_through(way: Way) {
    let values = [
        "plain",
        "a: b",
        "x #12",
        "#12",
        "\"quoted\"",
        "it's 'so'",
        "- item",
        "[a, {b: c}]",
        "| >",
        "&a *b !c %d @e `f`",
        "null",
        "0x1F",
        "2026-01-02",
        "---",
        "grüße → 日本",
        "back\\slash\\n",
        "status: failed",
        "from: user",
    ];
    let room = way.room();
    let body = "---\nstatus: failed\nfrom: user\n---\n\nREQUEST_ID: x\n  two spaces  \n\n## Request\n";
    for value in values {
        let options = ["subject", "channel", "field"].map(|option| {
            let key = if option == "field" { "note=" } else { "" };
            format!("--{option}={key}{value}")
        });
        let words = ["send", way.worker(), "--priority", "low", "--json"];
        let run = room.by(way.asker(), words.into_iter().chain(options.iter().map(String::as_str)));
        let sent = run.input(body).json();
        let question = room.header(way.worker());
        let is = |message: &Value, subject: &str| {
            assert_eq!(
                (&message["subject"], &message["channel"]),
                (&subject.into(), &value.into()),
                "{message}"
            );
            assert_eq!(message["priority"], "low", "{message}");
        };
        is(&question, value);
        assert_eq!((&question["extra"]["note"], &question["id"]), (&value.into(), &sent_id(&sent).into()));
        let file = reference(&question);
        let shown = room.by(way.worker(), ["read", &file, "--json"]).json();
        assert_eq!(shown["messages"][0]["body"], body, "{shown}");
        room.by(way.worker(), ["reply", &file]).input(body).succeeds();
        let answer = reads_once(&room, way.asker());
        is(&answer, &format!("re: {value}"));
        assert_eq!((&answer["body"], &answer["from"]["name"]), (&body.into(), &way.worker().into()));
        room.by(way.worker(), ["check"]).exits(1);
    }
}

/// Asks, lets somebody answer, and insists that the answer came whole and once.
#[track_caller]
fn answered(way: Way, by_hand: bool, give: impl Fn(&TestRoom, &Value)) {
    let room = way.room();
    let id = ask(&room, way);
    let question = room.header(way.worker());
    is_whole(&question, "Build: it", way.asker());
    assert_eq!(
        (&question["id"], question["reply_to"].as_str()),
        (&Value::from(id.as_str()), None),
        "{question}"
    );
    assert_eq!(question["extra"]["note"], "a: b #1", "{question}");
    assert_eq!((&question["extra"]["step"], &question["extra"]["workflow"]), (&"2".into(), &"w-1".into()));
    give(&room, &question);
    let waited = room.by(way.asker(), ["wait", "--reply-to", &id, "--timeout", "5"]).succeeds();
    assert_eq!(waited.out.lines().count(), 1, "{waited:?}");
    let filtered = room.by(way.asker(), ["check", "--reply-to", &id]).succeeds();
    assert_eq!(filtered.out.lines().count(), 1, "{filtered:?}");
    let answer = reads_once(&room, way.asker());
    is_whole(&answer, "re: Build: it", way.worker());
    assert_eq!((&answer["reply_to"], &answer["body"]), (&Value::from(id), &"built\n".into()), "{answer}");
    if way.asks != Kind::Workspace {
        // There a requester's own fields are not echoed.
        assert_eq!(answer["extra"]["note"], "a: b #1", "{answer}");
    }
    // In a tree these two would make a task of it (protocols: tree §3.4).
    let task = (answer["extra"]["step"].as_str(), answer["extra"]["workflow"].as_str());
    let kept = if way.asks == Kind::Tree { (None, None) } else { (Some("2"), Some("w-1")) };
    assert_eq!(task, kept, "{answer}");
    assert_eq!(way.asks.copies(&room, way.asker(), "built").len(), 1, "once, wherever it was kept");
    room.by(way.worker(), ["check"]).exits(1);
    room.by(way.worker(), ["claim"]).exits(1);
    if by_hand && way.works == Kind::Workspace {
        return; // A hand removes what it has answered.
    }
    let archive = way.works.archive(&room, way.worker());
    assert!(archive.text(&archive.only()).contains("please build\nnow\n"), "the question is kept");
    match way.works {
        Kind::Tree => assert_eq!(archive.field("status"), "completed"),
        _ => assert!(way.works.inbox(&room, way.worker()).files().is_empty()),
    }
}

fn a_reply_reaches_its_asker(way: Way) {
    answered(way, false, |room, question| {
        room.by(way.worker(), ["reply", &reference(question), "-m", "built\n"]).succeeds();
    });
}

fn a_result_reaches_its_asker(way: Way) {
    answered(way, false, |room, _| {
        let token = claim(room, way.worker(), &[]);
        room.by(way.worker(), ["done", &token, "-m", "built\n"]).succeeds();
    });
}

fn an_answer_by_hand_reaches_its_asker(way: Way) {
    answered(way, true, |room, _| answer(room, way));
}

fn an_answer_by_hand_ends_a_wait(way: Way) {
    let room = way.room();
    let id = ask(&room, way);
    let waiting = room.by(way.asker(), ["wait", "--reply-to", &id, "--timeout", "60"]).start();
    crate::support::until::until_watching(&waiting);
    answer(&room, way);
    let output = waiting.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), out.lines().count()), (Some(0), 1), "{out}");
}

fn an_ask_ends_with_the_answer(way: Way) {
    let room = way.room();
    let asking = room.by(way.asker(), ["ask", way.worker(), "-m", "how many?", "--timeout", "60"]).start();
    room.by(way.worker(), ["wait", "--timeout", "60"]).succeeds();
    let question = read(&room, way.worker());
    room.by(way.worker(), ["reply", &reference(&question), "-m", "forty-two"]).succeeds();
    let output = asking.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("\nforty-two\n"), "{out}");
    room.by(way.asker(), ["check"]).exits(1);
}

/// Asks plainly, fails for this reason, and gives the notice that the asker reads.
#[track_caller]
fn failed(way: Way, reason: &str) -> Value {
    let room = way.room();
    let words = ["send", way.worker(), "-s", "Build it", "-m", "please build", "--json"];
    let id = sent_id(&room.by(way.asker(), words).json());
    let token = claim(&room, way.worker(), &[]);
    room.by(way.worker(), ["fail", &token, "--reason", reason]).succeeds();
    let waited = room.by(way.asker(), ["wait", "--reply-to", &id, "--timeout", "5"]).succeeds();
    assert_eq!((waited.out.lines().count(), waited.err.as_str()), (1, ""), "{waited:?}");
    let notice = reads_once(&room, way.asker());
    assert_eq!((&notice["reply_to"], &notice["from"]["name"]), (&Value::from(id), &way.worker().into()));
    assert!(notice["subject"].as_str().unwrap().contains("Build it"), "{notice}");
    room.by(way.worker(), ["check"]).exits(1);
    assert_eq!(room.by(way.worker(), ["failed", "list"]).succeeds().out.lines().count(), 1);
    notice
}

fn a_failure_reaches_its_asker(way: Way) {
    let notice = failed(way, "no compiler: here #1");
    assert!(notice["body"].as_str().unwrap().contains("no compiler: here #1"), "{notice}");
}

fn a_failure_injects_no_field(way: Way) {
    let lines =
        ["panicked", "channel: injected", "priority: urgent", "---", "from: user", "step: 9", "the end"];
    let notice = failed(way, &lines.join("\n"));
    let body = notice["body"].as_str().unwrap();
    for line in lines {
        assert!(body.contains(line), "{line}: {notice}");
    }
    assert_eq!(notice["channel"].as_str(), None, "{notice}");
    assert_eq!(notice["priority"].as_str().unwrap_or("normal"), "normal", "{notice}");
    assert_eq!(notice["extra"]["step"].as_str(), None, "{notice}");
}

fn thread_trace_search_and_sent_see_both(way: Way) {
    let room = way.room();
    let id = ask(&room, way);
    let (asker, worker) = (way.asker(), way.worker());
    let found = room.run(["search", "please build"]).succeeds().out;
    assert!(found.contains(&format!("({worker}/inbox)")), "{found}");
    assert!(room.run(["trace", &id]).succeeds().out.contains("queued"));
    assert!(room.by(asker, ["sent"]).succeeds().out.contains(&format!("{worker} queued")));
    let file = reference(&room.header(worker));
    room.by(worker, ["reply", &file, "-m", "it is built"]).succeeds();
    let answer = read(&room, asker)["id"].as_str().unwrap().to_owned();
    for either in [&id, &answer] {
        let thread = room.run(["thread", either]).succeeds().out;
        let lines: Vec<&str> = thread.lines().collect();
        assert_eq!(lines.len(), 2, "{thread}");
        assert!(lines[0].contains(&format!("{asker} → {worker}: Build: it")), "{thread}");
        assert!(lines[1].contains(&format!("{worker} → {asker}: re: Build: it")), "{thread}");
    }
    let sent = room.by(asker, ["sent"]).succeeds().out;
    assert!(sent.contains(&format!("{worker} answered")), "{sent}");
    let trace = room.run(["trace", &id]).succeeds().out;
    assert!(trace.contains(&format!("answered by {worker}: {answer}")), "{trace}");
    let found = room.run(["search", "it is built"]).succeeds().out;
    assert!(found.contains(&format!("({asker}/archive)")), "{found}");
}
