//! `NAME@ROOM`: mail to another room of the same user, and the way back, in every protocol.

use crate::support::hand::tighten;
use crate::support::room::{Ran, TestRoom};
use crate::support::staffed::{dispatch, reason, shell, staffed};

/// A home with the rooms `api` and `web`: alice asks from `api`, in `web` there is a worker of each protocol.
struct Site {
    room: TestRoom,
}

const WORKERS: [&str; 3] = ["bob", "shop", "explore"];

impl Site {
    fn new() -> Self {
        let site = Self { room: TestRoom::empty() };
        for dir in ["ws", "project"] {
            std::fs::create_dir(site.room.around().join(dir)).unwrap();
        }
        site.good("api", "setup alice");
        site.good("web", "setup bob");
        site.good("web", "setup shop --workspace ws");
        site.good("web", "setup --tree project explore");
        site
    }

    fn run(&self, room: &str, words: &str) -> Ran {
        let script =
            format!("env -u POSTROOM_ROOT -u AGENT_MAILBOX_ID postroom --room {room} {words}; exit $?");
        self.room.bash(&script).ends()
    }

    #[track_caller]
    fn good(&self, room: &str, words: &str) -> String {
        let ran = self.run(room, words);
        assert_eq!(ran.code, 0, "{words}: {ran:?}");
        ran.out
    }

    fn json(&self, room: &str, words: &str) -> serde_json::Value {
        serde_json::from_str(&self.run(room, &format!("{words} --json")).out).unwrap()
    }

    /// The one unread message of somebody.
    #[track_caller]
    fn only(&self, room: &str, name: &str) -> serde_json::Value {
        let told = self.json(room, &format!("--as {name} check"));
        let messages = told["messages"].as_array().unwrap().clone();
        assert_eq!(messages.len(), 1, "{name}: {told}");
        messages[0].clone()
    }
}

#[test]
fn a_message_to_another_room_is_answered_by_command_in_every_protocol() {
    for worker in WORKERS {
        let site = Site::new();
        let sent = site.good("api", &format!("--as alice send {worker}@web -s question -m 'what is it?'"));
        assert!(sent.contains(&format!("for {worker}@web: question")), "{sent}");
        let asked = site.only("web", worker);
        assert_eq!(asked["from"]["name"], "alice@api", "{asked}");
        let id = asked["id"].as_str().unwrap();
        site.good("web", &format!("--as {worker} reply {id} -m 'it is this'"));
        let answer = site.only("api", "alice");
        assert_eq!(answer["subject"], "re: question", "{worker}: {answer}");
        assert_eq!(answer["from"]["name"], format!("{worker}@web"), "{answer}");
        assert_eq!(answer["reply_to"], asked["id"], "{worker}");
        // And once more the other way.
        site.good("api", &format!("--as alice reply {} -m thanks", answer["id"].as_str().unwrap()));
        let thanks = site.only("web", worker);
        assert_eq!(thanks["from"]["name"], "alice@api", "{thanks}");
        site.good("web", "doctor");
        site.good("api", "doctor");
    }
}

#[test]
fn a_sender_waits_for_the_fate_of_a_message_in_another_room() {
    for worker in WORKERS {
        let site = Site::new();
        let waits = |until: &str, timeout: &str| {
            let words = format!("--as alice send {worker}@web -m job --wait-for {until} --timeout {timeout}");
            site.room.bash(&format!(
                "env -u POSTROOM_ROOT -u AGENT_MAILBOX_ID postroom --room api {words}; exit $?"
            ))
        };
        let late = waits("shown", "0").ends();
        assert_eq!((late.code, late.err.as_str()), (1, ""), "{worker}: {late:?}");
        let first = site.only("web", worker)["id"].as_str().unwrap().to_owned();
        site.good("web", &format!("--as {worker} archive {first}"));
        let script = waits("done", "60").start();
        let unread = || site.json("web", &format!("--as {worker} check"))["messages"][0]["id"].clone();
        crate::support::until::until("the second message is there", || unread().is_string());
        let asked = unread().as_str().unwrap().to_owned();
        site.good("web", &format!("--as {worker} reply {asked} -m 'it is done'"));
        let ended = script.wait_with_output().unwrap();
        let out = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{worker}: {out}");
        assert!(out.contains(&format!("for {worker}@web: answered ")), "{worker}: {out}");
    }
}

#[test]
fn an_end_of_a_claim_reaches_the_asker_in_another_room() {
    for worker in WORKERS {
        for (end, subject) in
            [("done TOKEN -m answer", "re: question"), ("fail TOKEN --reason no", "failed: question")]
        {
            let site = Site::new();
            site.good("api", &format!("--as alice send {worker}@web -s question -m 'what is it?'"));
            let claim = site.json("web", &format!("--as {worker} claim"));
            let token = claim["claim"]["token"].as_str().unwrap();
            site.good("web", &format!("--as {worker} {}", end.replace("TOKEN", token)));
            let told = site.only("api", "alice");
            let is_told =
                told["subject"] == subject || worker == "explore" && told["subject"] == "re: question";
            assert!(is_told, "{worker} {end}: {told}");
        }
    }
}

#[test]
fn an_answer_by_hand_finds_its_way_to_another_room() {
    let site = Site::new();
    site.good("api", "--as alice send explore@web -s question -m 'what is it?'");
    site.room
        .bash(
            "cd project/.claude && file=$(ls inboxes/explore/*.md) && id=$(sed -n 's/^id: //p' $file) && \
             from=$(sed -n 's/^from: //p' $file) && mkdir -p outboxes/explore && \
             printf -- '---\\nid: %s-response\\nrequest_id: %s\\nfrom: explore\\nto: %s\\nstatus: completed\\ncreated: \
             2026-01-02T03:04:05Z\\n---\\n\\nby hand\\n' $id $id $from > draft && touch -d '10 seconds ago' draft && \
             mv draft outboxes/explore/$id-response.md",
        )
        .succeeds();
    site.run("web", "--as explore check");
    assert!(site.good("api", "--as alice read").contains("by hand"));
    let site = Site::new();
    site.good("api", "--as alice send shop@web -s question -m 'what is it?'");
    site.room
        .bash(
            "file=$(ls ws/.mailbox/inbox/*) && back=$(sed -n 's/^REPLY_INBOX_PATH: //p' $file) && \
             sed \"s/^MESSAGE_TYPE: .*/MESSAGE_TYPE: REPLY/; s/what is it?/by hand/\" $file > draft && \
             touch -d '10 seconds ago' draft && mv draft \"$back\"",
        )
        .succeeds();
    assert!(site.good("api", "--as alice read").contains("by hand"));
}

#[test]
fn a_retry_with_an_id_is_delivered_once_and_a_room_that_is_not_there_is_told() {
    let site = Site::new();
    let send = "--as alice send bob@web -s once -m x --id c405e000-0000-4000-8000-000000000001";
    site.good("api", send);
    assert!(site.good("api", send).starts_with("sent before "));
    site.only("web", "bob");
    for (address, code, said) in [
        ("bob@shop", 3, "no room `shop`"),
        ("carol@web", 3, "nobody"),
        ("bob@../x", 4, "the room"),
        ("@all@web", 4, "group"),
    ] {
        let ran = site.run("api", &format!("--as alice send {address} -m x"));
        assert_eq!(ran.code, code, "{address}: {ran:?}");
        assert!(ran.err.contains(said), "{address}: {ran:?}");
    }
    // One that is only a directory cannot be answered.
    let ran = site.room.bash("postroom --root room setup carol -q && postroom --root room --as carol send bob@web -m x; exit $?").ends();
    assert!(ran.code == 4 && ran.err.contains("no name"), "{ran:?}");
}

#[test]
fn a_name_in_the_other_room_is_nobody_s_here() {
    let site = Site::new();
    site.good("web", "setup alice");
    site.good("api", "--as alice send bob@web explore@web -s question -m 'what is it?'");
    for worker in ["bob", "explore"] {
        let asked = site.only("web", worker);
        assert_eq!(asked["from"]["name"], "alice@api", "{asked}");
        site.good("web", &format!("--as {worker} reply {} -m answer", asked["id"].as_str().unwrap()));
    }
    assert_eq!(site.json("api", "--as alice check")["unread"], 2);
    assert_eq!(site.json("web", "--as alice check")["unread"], 0, "not the alice of this room");
}

#[test]
fn what_became_of_it_is_told_from_the_other_room() {
    for worker in WORKERS {
        let site = Site::new();
        site.good("api", &format!("--as alice send {worker}@web -s question -m 'what is it?'"));
        let sent = site.good("api", "--as alice sent");
        assert!(sent.contains(&format!("{worker}@web queued, unread")), "{sent}");
        let id = site.only("web", worker)["id"].as_str().unwrap().to_owned();
        site.good("web", &format!("--as {worker} reply {id} -m answer"));
        let sent = site.good("api", "--as alice sent");
        assert!(sent.contains("answered"), "{worker}: {sent}");
        let asked = site.run("api", &format!("--as alice ask {worker}@web -s more -m x --timeout 1"));
        assert!(
            asked.code == 1 && asked.err.contains("unread") || asked.out.contains("unread"),
            "{worker}: {asked:?}"
        );
    }
}

#[test]
fn mail_from_another_room_starts_an_agent_only_if_its_table_says_so() {
    for (more, starts) in [("", false), ("from = [\"shop\"]", false), ("from = [\"shop\", \"api\"]", true)] {
        let room = staffed(&["worker"], &shell("worker", "echo ran", more));
        let file = room.folder("worker", "inbox").join("20260102T030405Z-c405e000-job.md");
        let (alice, worker) = (room.id("alice"), room.id("worker"));
        let head = format!(
            "from: {alice}\nmsg_id: c405e000-0000-4000-8000-000000000001\nsubject: job\nto: {worker}"
        );
        std::fs::write(&file, format!("---\n{head}\nfrom_room: api\n---\n\njob\n")).unwrap();
        tighten(&file);
        dispatch(&room, []).ends();
        let ran = crate::support::staffed::runs(&room);
        assert_eq!(reason(&room).contains("not in `from`"), !starts, "{more}: {ran:?}");
        assert_eq!(room.files("worker", "failed").len(), usize::from(!starts), "{more}: {ran:?}");
    }
}
