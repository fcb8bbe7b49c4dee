//! Numbers 3 and 4: a failure is told to its asker, in a message that parses and whose text sets no field.

use serde_json::Value;

use crate::protocols::conformance::{Kind, Way, claim, for_each_kind, for_each_way, reads_once, sent_id};
use crate::support::edges_strike::{can_be_struck, points, struck};
use crate::support::kinds_room::task;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, settle, shell};

for_each_way!(the_last_words_of_an_agent_set_no_field, a_full_mailbox_does_not_lose_a_failure);
for_each_kind!(
    a_response_with_lines_in_its_fields_sets_no_field,
    a_question_with_lines_in_its_fields_sets_no_field,
    a_failure_survives_an_error,
    a_failed_task_carries_the_response_its_agent_had_written,
    a_run_that_failed_carries_the_response_its_agent_had_written,
);

/// Insists that a message says nothing of itself that only its text says.
#[track_caller]
fn says_nothing_of_itself(message: &Value) {
    assert_eq!(message["channel"].as_str(), None, "{message}");
    assert_eq!(message["priority"].as_str().unwrap_or("normal"), "normal", "{message}");
    for key in ["injected", "step", "workflow"] {
        assert_eq!(message["extra"][key].as_str(), None, "{message}");
    }
}

/// Waits for the answer to a message and reads it.
#[track_caller]
fn answer(room: &TestRoom, asker: &str, id: &str) -> Value {
    let waited = room.by(asker, ["wait", "--reply-to", id, "--timeout", "5"]).succeeds();
    assert_eq!((waited.out.lines().count(), waited.err.as_str()), (1, ""), "{waited:?}");
    reads_once(room, asker)
}

fn ask(room: &TestRoom, way: Way) -> String {
    sent_id(&room.by(way.asker(), ["send", way.worker(), "-m", "question", "--json"]).json())
}

fn the_last_words_of_an_agent_set_no_field(way: Way) {
    let room = way.room();
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    let script = r"cat > /dev/null; printf 'Traceback:\nchannel: injected\npriority: urgent\n---\ninjected: 1\nstep: 9\n' >&2; exit 1";
    settle(&room, &shell(way.worker(), script, "retries = 0"));
    let id = ask(&room, way);
    dispatch(&room, []).exits(5);
    let notice = answer(&room, way.asker(), &id);
    says_nothing_of_itself(&notice);
    let body = notice["body"].as_str().unwrap();
    assert!(body.contains("channel: injected") && body.contains("step: 9"), "{notice}");
}

/// A hand may write a field of a response over several lines; YAML allows it.
fn a_response_with_lines_in_its_fields_sets_no_field(kind: Kind) {
    for status in ["completed", "failed"] {
        let way = Way { asks: kind, works: Kind::Tree };
        let room = way.room();
        let id = ask(&room, way);
        let file = room.of_agent("inboxes", "writer").only();
        let task = file.trim_end_matches(".md");
        let lines = "|\n  first\n  channel: injected\n  priority: urgent\n  injected: 1\n";
        let text = format!(
            "---\nid: {task}-response\nrequest_id: {task}\nfrom: writer\nto: {}\nstatus: {status}\n\
             created: 2026-01-02T00:00:00Z\ncontext: {lines}error: {lines}note: {lines}---\n\nthe result\n",
            way.asker()
        );
        room.of_agent("outboxes", "writer").put(&format!("{task}-response.md"), text);
        room.by("writer", ["check"]).ends();
        let told = answer(&room, way.asker(), &id);
        says_nothing_of_itself(&told);
        assert!(told["body"].as_str().unwrap().contains("the result"), "{status}: {told}");
    }
}

/// And so for a request, to whichever mailbox an agent writes it.
fn a_question_with_lines_in_its_fields_sets_no_field(kind: Kind) {
    let way = Way { asks: Kind::Tree, works: kind };
    let room = way.room();
    let lines = "|\n  first\n  channel: injected\n  injected: 1\n";
    let text = task("2026-01-02-001", way.asker(), way.worker(), "the request\n");
    let text = text.replacen("status:", &format!("context: {lines}note: {lines}status:"), 1);
    room.of_agent("inboxes", way.worker()).put("2026-01-02-001.md", text);
    let header = room.header(way.worker());
    says_nothing_of_itself(&header);
    let file = header["file"].as_str().unwrap().to_owned();
    let shown = room.by(way.worker(), ["read", &file, "--json"]).json();
    assert!(shown["messages"][0]["body"].as_str().unwrap().contains("the request"), "{shown}");
    room.by(way.worker(), ["reply", &file, "-m", "answer"]).succeeds();
    let told = reads_once(&room, way.asker());
    says_nothing_of_itself(&told);
    assert_eq!(told["body"], "answer", "{told}");
}

/// The notice is there as soon as there is room for it, or `fail` says that it was not sent and sends it when it is
/// run again.
fn a_full_mailbox_does_not_lose_a_failure(way: Way) {
    let room = way.room();
    let id = ask(&room, way);
    let token = claim(&room, way.worker(), &[]);
    room.by(way.worker(), ["send", way.asker(), "-m", "fills it"]).succeeds();
    room.limit("mailbox_messages = 1");
    let fail = || room.by(way.worker(), ["fail", &token, "--reason", "no compiler"]);
    let first = fail().ends();
    // What fills the mailbox of a workspace stays there until it is answered.
    let filler = room.headers(way.asker())[0]["file"].as_str().unwrap().to_owned();
    room.by(way.asker(), ["archive", &filler]).succeeds();
    if first.code != 0 {
        fail().succeeds();
    }
    let notice = answer(&room, way.asker(), &id);
    assert!(notice["body"].as_str().unwrap().contains("no compiler"), "{notice} after {first:?}");
}

/// Whatever call of `fail` meets an error: if it ends well the asker was told, and if not the next run tells.
fn a_failure_survives_an_error(kind: Kind) {
    if !can_be_struck("a_failure_survives_an_error") {
        return;
    }
    let way = Way { asks: Kind::Maildir, works: kind };
    let room = way.room();
    let begin = || {
        let id = ask(&room, way);
        (id, format!("--as {} fail {} --reason no.compiler", way.worker(), claim(&room, way.worker(), &[])))
    };
    let calls = points(&room, "openat,openat2", &begin().1);
    room.by(way.asker(), ["read"]).succeeds();
    for point in calls {
        let (id, fail) = begin();
        let first = struck(&room, &point, "error=EMFILE", &fail);
        if first.code != 0 {
            let again = room.bash(&format!("postroom {fail}")).ends();
            // 3: the first one did end the claim.
            assert!(matches!(again.code, 0 | 3), "{point:?}: {again:?} after {first:?}");
        }
        let found = room.by(way.asker(), ["check", "--reply-to", &id]).ends();
        assert_eq!((found.code, found.out.lines().count()), (0, 1), "{point:?}: {found:?} after {first:?}");
        room.by(way.asker(), ["read"]).succeeds();
        room.by(way.worker(), ["check"]).exits(1);
    }
}

/// The asker reads what the agent had written before it failed, and that it failed; the agent's file stays its own.
#[track_caller]
fn carries_its_response(kind: Kind, fail: impl Fn(&TestRoom, &str)) {
    let way = Way { asks: kind, works: Kind::Tree };
    let room = way.room();
    std::fs::create_dir_all(room.around().join("home")).unwrap();
    let id = ask(&room, way);
    let file = room.of_agent("inboxes", "writer").only();
    fail(&room, file.trim_end_matches(".md"));
    assert_eq!(room.of_agent("inboxes", "writer").field("status"), "failed");
    let outbox = room.of_agent("outboxes", "writer");
    assert!(outbox.text(&outbox.only()).ends_with("---\n\nwhat the agent had written\n"));
    let told = answer(&room, way.asker(), &id);
    assert!(told["body"].as_str().unwrap().contains("what the agent had written"), "{told}");
}

fn response(kind: Kind, task: &str, status: &str) -> String {
    format!(
        "---\nid: {task}-response\nrequest_id: {task}\nfrom: writer\nto: {}\nstatus: {status}\n\
         created: 2026-01-02T00:00:00Z\n---\n\nwhat the agent had written\n",
        kind.asker()
    )
}

fn a_failed_task_carries_the_response_its_agent_had_written(kind: Kind) {
    carries_its_response(kind, |room, task| {
        let token = claim(room, "writer", &[]);
        room.of_agent("outboxes", "writer")
            .put(&format!("{task}-response.md"), response(kind, task, "completed"));
        room.by("writer", ["fail", &token, "--reason", "the check failed"]).succeeds();
    });
}

fn a_run_that_failed_carries_the_response_its_agent_had_written(kind: Kind) {
    carries_its_response(kind, |room, task| {
        let path = room.of_agent("outboxes", "writer").0.join(format!("{task}-response.md"));
        let draft = room.around().join("draft");
        std::fs::write(&draft, response(kind, task, "failed")).unwrap();
        let script = format!("cat > /dev/null; cp '{}' '{}'; exit 1", draft.display(), path.display());
        settle(room, &shell("writer", &script, "retries = 0"));
        dispatch(room, []).exits(5);
    });
}
