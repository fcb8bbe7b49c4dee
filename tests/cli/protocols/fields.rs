//! Fields of one's own: each key once, in every protocol, whatever it is called.

use crate::support::room::TestRoom;

fn room() -> TestRoom {
    let room = TestRoom::with(&["alice", "bob"]);
    room.workspace("carol");
    room.agents(&["explore"]);
    room
}

#[test]
fn a_field_that_is_given_twice_is_refused() {
    let room = room();
    let before = room.tree();
    for to in ["bob", "carol", "explore"] {
        let ran =
            room.by("alice", ["send", to, "-m", "x", "--field", "step=2", "--field", "step=3"]).exits(2);
        assert!(ran.err.contains("the field `step` is given twice"), "{}", ran.err);
    }
    room.is_still(&before, "refusals");
}

#[test]
fn an_answer_may_set_a_field_that_it_would_keep() {
    let room = room();
    for to in ["bob", "carol", "explore"] {
        room.by(
            "alice",
            ["send", to, "-m", "q", "--field", "step=2", "--field", "note=a", "--field", "kept=k"],
        )
        .succeeds();
        let file = room.header(to)["file"].as_str().unwrap().to_owned();
        room.by(
            to,
            [
                "reply",
                &file,
                "-m",
                "a",
                "--field",
                "step=3",
                "--field",
                "note=b",
                "--priority",
                "low",
                "--channel",
                "new",
            ],
        )
        .succeeds();
        let answer = room.header("alice");
        let extra = &answer["extra"];
        assert_eq!(
            (extra["step"].as_str(), extra["note"].as_str(), extra["kept"].as_str()),
            (Some("3"), Some("b"), Some("k")),
            "{to}: {answer}"
        );
        assert_eq!(
            (answer["priority"].as_str(), answer["channel"].as_str()),
            (Some("low"), Some("new")),
            "{to}"
        );
        room.by("alice", ["read"]).succeeds();
    }
}

#[test]
fn a_field_called_like_one_of_a_protocol_makes_no_message_unreadable() {
    let room = room();
    let keys = [
        "from",
        "to",
        "subject",
        "msg_id",
        "reply_to",
        "priority",
        "channel",
        "id",
        "status",
        "created",
        "context",
        "request_id",
        "error",
        "REQUEST_ID",
        "MESSAGE_TYPE",
        "CHANNEL_ID",
        "RECEIVER_INBOX_PATH",
        "REPLY_INBOX_PATH",
        "request",
        "duration_seconds",
    ];
    for to in ["bob", "carol", "explore"] {
        let fields: Vec<String> = keys.iter().map(|key| format!("--field={key}=value")).collect();
        // What would be marked is there already.
        let more =
            ["--field=x-status=other", "--field=x-from=other", "--field=x-step=other", "--field=step=4"];
        let arguments = ["send", to, "-m", "q", "-s", "the subject"];
        let all = arguments.into_iter().chain(fields.iter().map(String::as_str)).chain(more);
        room.by("alice", all).succeeds();
        let header = room.header(to);
        assert_eq!(
            (header["subject"].as_str(), header["from"]["name"].as_str()),
            (Some("the subject"), Some("alice")),
            "{to}: {header}"
        );
        let values: Vec<&str> =
            header["extra"].as_object().unwrap().values().filter_map(|v| v.as_str()).collect();
        assert_eq!(values.iter().filter(|v| **v == "other").count(), 3, "{to}: {header}");
        let file = header["file"].as_str().unwrap();
        room.by(
            to,
            ["reply", file, "-m", "a", "--field", "status=odd", "--field", "id=odd", "--field", "from=odd"],
        )
        .succeeds();
        let answer = room.header("alice");
        assert_eq!(
            (answer["subject"].as_str(), answer["from"]["name"].as_str()),
            (Some("re: the subject"), Some(to)),
            "{answer}"
        );
        assert!(
            answer["extra"].as_object().unwrap().values().filter(|v| *v == "odd").count() == 3,
            "{to}: {answer}"
        );
        room.by("alice", ["read"]).succeeds();
    }
}
