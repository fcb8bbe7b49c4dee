//! What a second reader broke: mail between protocols, and what strange files and a failing disk do to it
//! (mail within a tree is in tree/broken.rs).

use std::time::{Duration, Instant};

use crate::protocols::conformance::{claim, reads_once, reference, sent_id};
use crate::support::edges_strike::{can_be_struck, points, sample, struck};
use crate::support::kinds_room::{request, task};
use crate::support::project::Project;
use crate::support::room::TestRoom;
use crate::support::staffed::{dispatch, settle, shell};

const ID: &str = "2026-01-02-001";

/// A project with alice and bob outside its tree.
fn project() -> Project {
    Project::with(&["alice", "bob"], &["explore", "writer"])
}

/// Writes a task for a name outside the tree into an inbox of that name, as a hand does.
fn for_outside(project: &Project, name: &str, id: &str) {
    let inbox = project.room.of_agent("inboxes", name);
    inbox.put(&format!("{id}.md"), task(id, "writer", name, "Look at this.\n"));
}

/// Answers the only message of a workspace by hand, and takes it away.
#[track_caller]
fn says_done(room: &TestRoom, workspace: &str) {
    let inbox = room.of_workspace(workspace, "inbox");
    let [id, reply, own] = ["REQUEST_ID", "REPLY_INBOX_PATH", "RECEIVER_INBOX_PATH"].map(|k| inbox.field(k));
    std::fs::write(&reply, request("REPLY", &id, reply.as_ref(), own.as_ref(), "Done.\n")).unwrap();
    std::fs::remove_file(inbox.0.join(inbox.only())).unwrap();
}

/// Asks a workspace that answers every round by hand, and always in the same words.
#[track_caller]
fn hears_every_round(room: &TestRoom, asker: &str) {
    room.workspace("carol");
    room.by(asker, ["send", "carol", "-m", "do it"]).succeeds();
    for round in ["first", "second", "third", "fourth"] {
        says_done(room, "carol");
        let answers = room.headers(asker);
        assert_eq!(answers.len(), 1, "{round} round: {answers:?}");
        let answer = reference(&answers[0]);
        let body = room.by(asker, ["read", &answer, "--json"]).json()["messages"][0]["body"].clone();
        assert_eq!(body.as_str().map(str::trim), Some("Done."), "{round} round");
        room.by(asker, ["reply", &answer, "-m", &format!("after the {round}")]).succeeds();
    }
}

#[test]
fn a_workspace_that_answers_a_maildir_in_the_same_words_is_heard_every_round() {
    hears_every_round(&TestRoom::with(&["alice"]), "alice");
}

#[test]
fn a_workspace_that_answers_an_agent_in_the_same_words_is_heard_every_round() {
    hears_every_round(&project().room, "explore");
}

#[test]
fn a_slow_writer_to_a_name_outside_the_tree_is_read_when_the_file_is_whole() {
    let project = project();
    let path = project.path(&format!("inboxes/alice/{ID}.md"));
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, task(ID, "writer", "alice", "first\n")).unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn(move || {
        let mut file = std::fs::File::options().append(true).open(path).unwrap();
        let mut say = |line: &str| std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
        while stopped.recv_timeout(Duration::from_millis(10)).is_err() {
            say("more\n");
        }
        say("last: do NOT deploy\n");
    });
    let early = project.by("alice", ["check"]).ends();
    stop.send(()).unwrap();
    writer.join().unwrap();
    assert_eq!((early.code, early.out.as_str()), (1, ""), "half-way: {early:?}");
    let body = reads_once(&project.room, "alice")["body"].as_str().unwrap().to_owned();
    assert!(body.contains("first\n") && body.trim_end().ends_with("last: do NOT deploy"), "{body}");
}

#[test]
fn mail_out_of_a_tree_that_ends_without_an_answer_ends_its_task() {
    for (verb, status) in [("done", "completed"), ("archive", "completed"), ("fail", "failed")] {
        let project = project();
        for_outside(&project, "alice", ID);
        let file = reference(&project.room.header("alice"));
        match verb {
            "archive" => project.by("alice", ["archive", &file]).succeeds(),
            "done" => project.by("alice", ["done", &claim(&project.room, "alice", &[])]).succeeds(),
            _ => {
                let token = claim(&project.room, "alice", &[]);
                project.by("alice", ["fail", &token, "--reason", "cannot"]).succeeds()
            }
        };
        assert_eq!(project.status("alice", ID), status, "{verb}");
        project.by("alice", ["check"]).exits(1);
    }
}

#[test]
fn dispatch_sees_mail_for_a_name_outside_the_tree() {
    let project = project();
    std::fs::create_dir_all(project.room.around().join("home")).unwrap();
    settle(&project.room, &shell("alice", "cat > /dev/null; echo said", ""));
    for_outside(&project, "alice", ID);
    dispatch(&project.room, []).succeeds();
    assert_eq!(project.status("alice", ID), "completed");
    assert!(reads_once(&project.room, "writer")["body"].as_str().unwrap().contains("said"));
}

#[test]
fn what_is_called_like_an_inbox_and_is_none_stops_nobody() {
    let project = project();
    project.by("bob", ["send", "alice", "-m", "good"]).succeeds();
    let inbox = project.path("inboxes/alice");
    let shows = |what: &str| {
        let ran = project.by("alice", ["check"]).ends();
        assert!(ran.code == 0 && ran.out.contains("good"), "{what}: {ran:?}");
    };
    std::fs::write(&inbox, "").unwrap();
    shows("a file");
    std::fs::remove_file(&inbox).unwrap();
    std::os::unix::fs::symlink("/etc", &inbox).unwrap();
    shows("a link");
    std::fs::remove_file(&inbox).unwrap();
    let (tree, aside) = (project.path(""), project.dir.join("aside"));
    let tree = tree.components().as_path();
    std::fs::rename(tree, &aside).unwrap();
    std::fs::write(tree, "").unwrap();
    shows("a file for a tree");
    std::fs::remove_file(tree).unwrap();
    std::os::unix::fs::symlink("aside", tree).unwrap();
    shows("a link for a tree");
    std::fs::remove_file(tree).unwrap();
    std::fs::rename(&aside, tree).unwrap();
}

#[test]
fn a_directory_in_the_inbox_of_a_workspace_stops_no_message_with_an_id() {
    let room = TestRoom::with(&["alice"]);
    room.workspace("carol");
    let strange = room.of_workspace("carol", "inbox").0.join("strange");
    std::fs::create_dir(&strange).unwrap();
    let words = ["send", "carol", "-m", "hello", "--id", "abcdef01-0000-4000-8000-000000000001"];
    for _ in 0..2 {
        room.by("alice", words).succeeds();
    }
    std::fs::remove_dir(&strange).unwrap();
    assert_eq!(room.header("carol")["subject"], "hello");
}

#[test]
fn a_registry_that_cannot_be_opened_is_a_failure_for_who_acts_by_id() {
    if !can_be_struck("a_registry_that_cannot_be_opened_is_a_failure_for_who_acts_by_id") {
        return;
    }
    let project = project();
    project.room.workspace("carol");
    for name in ["carol", "writer"] {
        project.by("alice", ["send", name, "-m", "hello"]).succeeds();
        let id = project.room.id(name);
        for verb in ["check", "check --count", "read --keep", "claim", "wait --timeout 0"] {
            let strike = "strace -o /dev/null -P registry.json -e inject=openat:error=EMFILE";
            let ran = project.room.bash(&format!("{strike} postroom --as {id} {verb}; exit $?")).exits(5);
            assert!(ran.err.contains("registry.json: Too many open files"), "{name}, {verb}: {ran:?}");
        }
        let check = format!("--as {id} check");
        for point in sample(points(&project.room, "openat", &check), 15) {
            let ran = struck(&project.room, &point, "error=EMFILE", &check);
            let told = ran.code == 0 && ran.out.contains("hello") || ran.code == 5;
            assert!(told, "{name}, {point:?}: {ran:?}");
        }
    }
}

/// Sends alice a message whose fields say that it came out of a task of somebody, and ends it in every way.
#[track_caller]
fn ends_nothing(project: &Project, inbox: &str) {
    for end in ["reply", "archive", "done", "fail"] {
        assert_eq!(project.status(inbox, ID), "in_progress", "before {end}");
        let fields = [format!("tree_inbox={inbox}"), format!("request={ID}")];
        let words = ["send", "alice", "-m", "hello?", "--field", &fields[0], "--field", &fields[1]];
        if project.by("writer", words).ends().code != 0 {
            continue; // Refused: nothing can come of it.
        }
        let token = || claim(&project.room, "alice", &[]);
        match end {
            "done" => project.by("alice", ["done", &token()]).succeeds(),
            "fail" => project.by("alice", ["fail", &token(), "--reason", "no"]).succeeds(),
            "reply" => {
                let file = reference(&project.room.header("alice"));
                project.by("alice", ["reply", &file, "-m", "ok"]).succeeds()
            }
            _ => {
                let file = reference(&project.room.header("alice"));
                project.by("alice", ["archive", &file]).succeeds()
            }
        };
        assert_eq!(project.status(inbox, ID), "in_progress", "{end} ended a task of {inbox}");
    }
}

#[test]
fn fields_of_a_sender_end_no_task_of_an_agent() {
    let project = project();
    project.put("explore", ID, "from: writer\n");
    project.claim("explore", &[]);
    ends_nothing(&project, "explore");
}

#[test]
fn fields_of_a_sender_end_no_task_of_a_name_outside_the_tree() {
    let project = project();
    for_outside(&project, "bob", ID);
    claim(&project.room, "bob", &[]);
    ends_nothing(&project, "bob");
}

#[test]
fn a_full_workspace_takes_neither_an_answer_nor_a_failure() {
    for verb in ["done", "fail"] {
        let room = TestRoom::with(&["alice", "bob"]);
        room.workspace("carol");
        room.limit("mailbox_messages = 1");
        sent_id(&room.by("carol", ["send", "bob", "-m", "question", "--json"]).json());
        let token = claim(&room, "bob", &[]);
        room.by("alice", ["send", "carol", "-m", "fill"]).succeeds();
        let words = match verb {
            "done" => ["done", &token, "-m", "the end"],
            _ => ["fail", &token, "--reason", "the end"],
        };
        let full = room.by("bob", words).ends();
        let headers = room.headers("carol");
        assert!(headers.len() == 1 && headers[0]["subject"] == "fill", "{verb}: {full:?}, {headers:?}");
        room.by("carol", ["archive", &reference(&headers[0])]).succeeds();
        room.by("bob", words).ends();
        let body = reads_once(&room, "carol")["body"].as_str().unwrap().to_owned();
        assert!(body.contains("the end"), "{verb}: {full:?}, {body}");
    }
}

#[test]
fn forty_responses_at_once_do_not_make_a_look_slow() {
    let project = project();
    for number in 10..50 {
        let id = format!("2026-01-02-0{number}");
        project.put("writer", &id, "from: explore\n");
        project.respond("writer", &id, "explore", "completed", "said\n");
    }
    let start = Instant::now();
    project.by("writer", ["check"]).exits(1);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(project.by("explore", ["check", "--count"]).succeeds().out, "40\n");
}
