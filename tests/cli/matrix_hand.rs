//! The same matrix with a hand at one end: `sh` with `sed`, `cat`, `cp`, `mv` and nothing of Postroom.

use crate::kinds_room::Folder;
use crate::matrix::{ANSWERERS, ASKERS, all_kinds, ask, every_way, is_whole, read};
use crate::room::TestRoom;

/// What every hand knows: the registry by its lines, a field by its key, and where things lie.
const KNOWS: &str = r#"set -eu; umask 077
id() { sed -n "s/^ *\"$1\": {\"id\":\"\([^\"]*\)\".*/\1/p" "$ROOT/registry.json"; }
field() { sed -n "s/^$1: //p" "$2" | sed 1q; }
"#;

/// Runs a script of a hand. `ME` and `PEER` are names, `ROOT` the room, `AROUND` where the workspaces lie.
#[track_caller]
fn hand(room: &TestRoom, me: &str, peer: &str, script: &str) -> String {
    let run = room.bash("exec sh -c \"$SCRIPT\"").env("SCRIPT", format!("{KNOWS}{script}"));
    let run = run.env("PATH", "/usr/bin:/bin").env("ROOT", room.root()).env("AROUND", room.around());
    run.env("ME", me).env("PEER", peer).succeeds().out
}

/// How a hand of each kind answers the only question it has.
fn answer_of(name: &str) -> &'static str {
    match name {
        // Seed 001: stage, move into the inbox of `from`, file the question away.
        "bob" => {
            r#"cd "$ROOT/$(id "$ME")"; f=$(ls inbox); to=$(field from "inbox/$f"); q=$(field msg_id "inbox/$f")
            n=20260102T000000Z-feed1111-answer.md
            { echo ---; echo "from: $(id "$ME")"; echo 'msg_id: feed1111-0000-4000-8000-000000000000'
              echo "subject: re: $(field subject "inbox/$f")"; echo "reply_to: $q"; echo "to: $to"; echo ---; echo; echo built; } > "$ROOT/$to/tmp/$n"
            mv "$ROOT/$to/tmp/$n" "$ROOT/$to/inbox/$n"; mv "inbox/$f" archive/"#
        }
        // Seeds 000 and 002: a draft in scratch, a copy to where the request says, the request removed.
        "dave" => {
            r#"cd "$AROUND/$ME/.mailbox"; f=$(ls inbox); to=$(field REPLY_INBOX_PATH "inbox/$f")
            { echo ---; echo "REQUEST_ID: $(field REQUEST_ID "inbox/$f")"; echo 'MESSAGE_TYPE: REPLY'
              echo "RECEIVER_INBOX_PATH: $to"; echo "REPLY_INBOX_PATH: $(field RECEIVER_INBOX_PATH "inbox/$f")"; echo ---; echo; echo built; } > "scratch/$f"
            cp "scratch/$f" "$to"; rm "inbox/$f""#
        }
        // Seed 003: a response in the outbox, and the status of the request.
        _ => {
            r#"cd "$AROUND/project/.claude"; f=$(ls "inboxes/$ME"); q=$(field id "inboxes/$ME/$f")
            { echo ---; echo "id: $q-response"; echo "request_id: $q"; echo "from: $ME"; echo "to: $(field from "inboxes/$ME/$f")"
              echo 'status: completed # done'; echo 'created: 2026-01-02T00:00:00Z'; echo ---; echo; echo built; } > "outboxes/$ME/$q-response.md"
            sed 's/^status: pending/status: completed/' "inboxes/$ME/$f" > tmp; mv tmp "inboxes/$ME/$f""#
        }
    }
}

#[test]
fn an_answer_by_hand_comes_back_whole() {
    every_way(|room, asker, answerer, way| {
        let id = ask(room, asker, answerer);
        hand(room, answerer, asker, answer_of(answerer));
        let answer = read(room, asker);
        is_whole(&answer, "re: Build: it", answerer, Some(&id), way);
        assert_eq!(answer["body"], "built\n", "{way}");
        room.by(asker, ["read"]).exits(1);
        assert!(room.headers(answerer).is_empty(), "{way}: the question is answered");
        let thread = room.run(["thread", &id]).succeeds().out;
        assert_eq!(thread.lines().count(), 2, "{way}: {thread}");
        assert!(room.by(asker, ["sent"]).succeeds().out.contains(&format!("{answerer} ")), "{way}");
        let trace = room.run(["trace", &id]).succeeds().out;
        assert!(trace.contains(&format!("answered by {answerer}: ")), "{way}: {trace}");
    });
}

#[test]
fn an_answer_by_hand_ends_a_wait() {
    every_way(|room, asker, answerer, way| {
        let id = ask(room, asker, answerer);
        let waiting = room.by(asker, ["wait", "--reply-to", &id, "--timeout", "60"]).start();
        crate::until::until_watching(&waiting);
        hand(room, answerer, asker, answer_of(answerer));
        let output = waiting.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{way}");
        assert_eq!(out.lines().count(), 1, "{way}: {out}");
    });
}

/// What a hand of each kind writes to one that it knows by name, and where it puts that.
fn question_of(asker: &str, answerer: &str) -> String {
    let fields = "echo 'priority: high'; echo 'step: 2'; echo 'note: a: b #1'; echo 'workflow: w-1'";
    let place = match (asker, answerer) {
        ("alice", _) => r#""$ROOT/$(id "$PEER")/inbox""#,
        // A workspace copies to an inbox of its own protocol: that of a workspace, or that at the home of another.
        ("carol", "dave") => r#""$AROUND/$PEER/.mailbox/inbox""#,
        ("carol", _) => r#""$ROOT/$(id "$PEER")/.mailbox/inbox""#,
        // An agent files into inboxes of its own tree, and elsewhere into whatever inbox there is.
        (_, "writer") => r#""$AROUND/project/.claude/inboxes/$PEER""#,
        (_, "dave") => r#""$AROUND/$PEER/.mailbox/inbox""#,
        _ => r#""$ROOT/$(id "$PEER")/inbox""#,
    };
    // In the native protocol the name of a file tells its priority as well.
    let priority = if answerer == "bob" { "--high" } else { "" };
    match asker {
        "alice" => format!(
            r#"d={place}; n=20260102T000000Z-beef2222-build--high.md
            {{ echo ---; echo "from: $(id "$ME")"; echo 'msg_id: beef2222-0000-4000-8000-000000000000'; echo 'subject: Build: it'
              echo "to: $(id "$PEER")"; echo 'channel: build'; {fields}; echo ---; echo; echo 'please build'; }} > "$d/../tmp/$n"; mv "$d/../tmp/$n" "$d/$n""#
        ),
        "carol" => format!(
            r#"d={place}; mkdir -p "$d"; n=beef22220000400080000000000000aa; own="$AROUND/$ME/.mailbox"
            {{ echo ---; echo "REQUEST_ID: $n"; echo 'MESSAGE_TYPE: NEW'; echo 'CHANNEL_ID: build'; echo "RECEIVER_INBOX_PATH: $d/$n"
              echo "REPLY_INBOX_PATH: $own/inbox/$n"; echo 'subject: Build: it'; {fields}; echo ---; echo; echo 'please build'; }} > "$own/scratch/$n"
            cp "$own/scratch/$n" "$d/$n""#
        ),
        _ => format!(
            r#"d={place}; n=2026-01-02-001
            {{ echo ---; echo "id: $n"; echo "from: $ME"; echo "to: $PEER"; echo 'status: pending'; echo 'created: 2026-01-02T00:00:00Z'
              echo 'context: "Build: it"'; echo 'channel: build'; echo 'priority: high'; echo 'step: 2'; echo 'note: "a: b #1"'; echo 'workflow: w-1'
              echo ---; echo; echo 'please build'; }} > "$AROUND/draft"; mv "$AROUND/draft" "$d/$n{priority}.md""#
        ),
    }
}

/// Insists that a hand finds the answer where its own protocol says, with what it knows it by.
#[track_caller]
fn finds_answer(room: &TestRoom, asker: &str, answerer: &str, way: &str) {
    let text = match asker {
        "alice" => {
            let inbox = Folder(room.folder(asker, "inbox"));
            assert_eq!(inbox.field("reply_to"), "beef2222-0000-4000-8000-000000000000", "{way}");
            assert_eq!(inbox.field("from"), room.id(answerer), "{way}");
            inbox.text(&inbox.only())
        }
        "carol" => {
            let inbox = room.of_workspace(asker, "inbox");
            assert_eq!(inbox.only(), "beef22220000400080000000000000aa", "{way}");
            assert_eq!(
                (inbox.field("REQUEST_ID"), inbox.field("MESSAGE_TYPE")),
                (inbox.only(), "REPLY".into()),
                "{way}"
            );
            assert_eq!(inbox.field("CHANNEL_ID"), "build", "{way}");
            inbox.text(&inbox.only())
        }
        _ => {
            let inbox = room.of_agent("inboxes", asker);
            assert_eq!(
                (inbox.field("request_id"), inbox.field("status")),
                ("2026-01-02-001".into(), "pending".into()),
                "{way}"
            );
            if answerer == "writer" {
                assert_eq!(room.of_agent("outboxes", answerer).only(), "2026-01-02-001-response.md");
            }
            inbox.text(&inbox.only())
        }
    };
    assert!(text.ends_with("---\n\nbuilt\n"), "{way}: {text}");
    for line in ["step: 2", "priority: high", "workflow: w-1"] {
        assert!(text.lines().any(|l| l == line), "{way}: {line}: {text}");
    }
}

#[test]
fn a_question_by_hand_is_answered_where_its_protocol_says() {
    every_way(|room, asker, answerer, way| {
        hand(room, asker, answerer, &question_of(asker, answerer));
        let question = read(room, answerer);
        is_whole(&question, "Build: it", asker, None, way);
        assert_eq!(question["body"], "please build\n", "{way}");
        room.by(answerer, ["reply", question["file"].as_str().unwrap(), "-m", "built\n"]).succeeds();
        finds_answer(room, asker, answerer, way);
        is_whole(&read(room, asker), "re: Build: it", answerer, question["id"].as_str(), way);
    });
}

#[test]
fn a_question_by_hand_ends_a_wait() {
    for answerer in ANSWERERS {
        for asker in ASKERS {
            let room = all_kinds();
            // The directory at the home of a mailbox is made by whoever needs it first.
            if asker == "carol" && answerer != "dave" {
                std::fs::create_dir_all(room.folder(answerer, ".mailbox/inbox")).unwrap();
            }
            let waiting = room.by(answerer, ["wait", "--timeout", "60"]).start();
            crate::until::until_watching(&waiting);
            hand(&room, asker, answerer, &question_of(asker, answerer));
            let output = waiting.wait_with_output().unwrap();
            let out = String::from_utf8(output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(0), "{asker} -> {answerer}");
            assert!(out.contains(&format!(" {asker} high")), "{asker} -> {answerer}: {out}");
        }
    }
}
