//! Attempts, back-off and guards: when a message is tried again, and when enough is enough.

use crate::support::staffed::{AT_ONCE, dispatch, inbox, program, reason, runs, settle, shell, staffed};

fn states(room: &crate::support::room::TestRoom) -> Vec<String> {
    runs(room).iter().map(|run| run["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_message_is_tried_again_and_then_given_up_with_a_bounce() {
    let room = staffed(&["worker"], &shell("worker", "exit 1", "retries = 2"));
    room.send("alice", "worker", "x");
    for _ in 0..3 {
        dispatch(&room, []).exits(5);
    }
    assert_eq!(states(&room), ["again", "again", "failed"]);
    let bounce = inbox(&room, "alice");
    assert_eq!(bounce.len(), 1);
    assert!(bounce[0].contains("was given up after 3 attempt(s)"), "{bounce:?}");
    dispatch(&room, []).exits(1);
    // By hand it gets another chance, counted anew.
    let file = room.files("worker", "failed").pop().unwrap();
    room.by("worker", ["failed", "retry", &file]).succeeds();
    settle(&room, &shell("worker", "echo fine", "retries = 2"));
    dispatch(&room, []).succeeds();
    assert!(inbox(&room, "alice").contains(&"fine\n".to_owned()));
}

#[test]
fn what_failed_waits_before_it_is_tried_again() {
    let settings = shell("worker", "exit 1", "").replace("0s", "1h");
    let room = staffed(&["worker"], &settings);
    room.send("alice", "worker", "x");
    dispatch(&room, []).exits(5);
    dispatch(&room, []).exits(1);
    assert!(dispatch(&room, ["--dry-run"]).exits(1).out.is_empty());
    assert_eq!((states(&room).len(), room.files("worker", "inbox").len()), (1, 1));
    // Other mail is not held up by it.
    room.send("alice", "worker", "y");
    dispatch(&room, []).exits(5);
    assert_eq!(states(&room).len(), 2);
}

#[test]
fn a_watch_tries_again_when_the_time_has_come() {
    let script = "if [ -e tried ]; then echo fine; else touch tried; exit 1; fi";
    let settings = shell("worker", script, "cwd = \"..\"").replace("0s", "1s");
    let room = staffed(&["worker"], &settings);
    let mut watch = dispatch(&room, ["--watch", "--limit", "2"]).start();
    let asked = room.by("alice", ["ask", "worker", "-m", "x", "--timeout", "20"]).succeeds();
    assert!(asked.out.contains("fine"), "{}", asked.out);
    assert_eq!(watch.wait().unwrap().code(), Some(5), "one attempt failed");
}

#[test]
fn automatic_steps_in_a_row_are_limited() {
    let settings = format!("{}hops = 2\n", shell("worker", "echo x", ""));
    let room = staffed(&["worker"], &settings);
    for (hops, code) in [("0", 0), ("1", 5)] {
        let sent = room.by("alice", ["send", "worker", "-m", "x"]).env("POSTROOM_HOPS", hops);
        sent.succeeds();
        dispatch(&room, []).exits(code);
    }
    assert_eq!(reason(&room), "2 automatic steps led to it; the limit `hops` is 2");
    assert_eq!(room.files("worker", "failed").len(), 1);
}

#[test]
fn a_person_in_between_is_no_automatic_step() {
    let settings = format!("{}hops = 2\n", shell("worker", "echo x", ""));
    let room = staffed(&["worker"], &settings);
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    for _ in 0..3 {
        let answer = room.files("alice", "inbox").pop().unwrap();
        room.by("alice", ["reply", &answer, "-m", "go on"]).succeeds();
        dispatch(&room, []).succeeds();
        room.by("worker", ["send", "alice", "-m", "next"]).succeeds();
    }
}

#[test]
fn two_agents_that_write_to_each_other_come_to_an_end() {
    let write = |to: &str| format!("cat >/dev/null; postroom send {to} -m more -q; echo done");
    let both = format!(
        "{}{}hops = 4\n",
        shell("one", &write("two"), "").replace(AT_ONCE, ""),
        shell("two", &write("one"), "")
    );
    let room = staffed(&["one", "two"], &both);
    room.send("alice", "one", "start");
    for _ in 0..20 {
        if dispatch(&room, []).ends().code == 1 {
            break;
        }
    }
    assert_eq!(dispatch(&room, []).ends().code, 1, "it came to an end");
    assert!(runs(&room).iter().any(|run| run["why"].as_str().unwrap().contains("the limit `hops` is 4")));
    assert_eq!(inbox(&room, "alice"), ["done\n"]);
}

#[test]
fn runs_of_a_thread_and_of_an_hour_are_limited() {
    for (limit, wanted) in [
        ("thread_runs = 2", "its thread had 2 runs; the limit `thread_runs` is 2"),
        ("hour_runs = 2", "its agent had 2 runs within an hour; the limit `hour_runs` is 2"),
    ] {
        let room = staffed(&["worker"], &format!("{}{limit}\n", shell("worker", "exit 1", "retries = 9")));
        room.send("alice", "worker", "x");
        for _ in 0..3 {
            dispatch(&room, []).exits(5);
        }
        assert_eq!(reason(&room), wanted);
        assert_eq!(states(&room), ["again", "again", "failed"]);
        assert!(inbox(&room, "alice")[0].contains(wanted));
    }
}

#[test]
fn what_an_agent_may_spend_is_limited() {
    let settings = "[agents.worker]\npreset = \"claude\"\n[dispatch]\nday_cost = 0.7\n";
    let room = staffed(&["worker"], settings);
    program(&room, "claude", r#"echo '{"type":"result","result":"x","total_cost_usd":0.4}'"#);
    for code in [0, 0, 5] {
        room.send("alice", "worker", "x");
        dispatch(&room, []).exits(code);
    }
    assert_eq!(reason(&room), "its agent spent 0.80 dollars within a day; the limit `day_cost` is 0.70");
}

#[test]
fn old_runs_go() {
    // After a run that printed much, whoever ran it looks at once.
    let room = staffed(&["worker"], &shell("worker", "head -c 1100000 /dev/zero >&2; echo x", ""));
    let kept = room.root().join(".dispatch/runs");
    room.send("alice", "worker", "x");
    dispatch(&room, []).succeeds();
    let record = std::fs::read(kept.join(runs(&room)[0]["id"].as_str().unwrap()).join("run.json")).unwrap();
    for n in 0..1060 {
        let run = kept.join(format!("20200101T000000Z-{n:08x}"));
        std::fs::create_dir(&run).unwrap();
        std::fs::write(run.join("run.json"), &record).unwrap();
    }
    room.send("alice", "worker", "y");
    dispatch(&room, []).succeeds();
    let left = std::fs::read_dir(&kept).unwrap().count();
    assert_eq!(left, 1000, "the newest are kept");
    std::fs::remove_dir_all(room.root().join(".dispatch")).unwrap();
}
