//! What a hand does in each protocol: `sh` with `sed`, `cat`, `cp`, `mv`, as the seed of the protocol describes it,
//! without a command or a field of Postroom's.

use crate::protocols::conformance::{Kind, Way};
use crate::support::room::TestRoom;

/// What every hand knows: the registry by its lines, a field by its key, and where things lie.
const KNOWS: &str = r#"set -eu; umask 077
id() { sed -n "s/^ *\"$1\": {\"id\":\"\([^\"]*\)\".*/\1/p" "$ROOT/registry.json"; }
field() { sed -n "s/^$1: //p" "$2" | sed 1q; }
"#;

/// Runs a script of a hand. `ME` and `PEER` are names, `ROOT` the room, `AROUND` where the workspaces lie.
#[track_caller]
fn hand(room: &TestRoom, me: &str, peer: &str, script: &str) {
    let run = room.bash("exec sh -c \"$SCRIPT\"").env("SCRIPT", format!("{KNOWS}{script}"));
    let run = run.env("PATH", "/usr/bin:/bin").env("ROOT", room.root()).env("AROUND", room.around());
    run.env("ME", me).env("PEER", peer).succeeds();
}

/// The id that a hand gives to its question.
pub(crate) fn question_id(asks: Kind) -> &'static str {
    match asks {
        Kind::Maildir => "beef2222-0000-4000-8000-000000000000",
        Kind::Workspace => "beef22220000400080000000000000aa",
        Kind::Tree => "2026-01-02-001",
    }
}

/// Asks by hand, with the body `please build` and, where the protocol has one, the subject `Build it`.
#[track_caller]
pub(crate) fn ask(room: &TestRoom, way: Way) {
    let id = question_id(way.asks);
    let script = match way.asks {
        // Seed 001: stage beside the inbox of the id that the registry names, and move.
        Kind::Maildir => format!(
            r#"d="$ROOT/$(id "$PEER")"; n=20260102T000000Z-beef2222-build-it.md
            {{ echo ---; echo "from: $(id "$ME")"; echo 'msg_id: {id}'; echo 'subject: Build it'
              echo "to: $(id "$PEER")"; echo ---; echo; echo 'please build'; }} > "$d/tmp/$n"; mv "$d/tmp/$n" "$d/inbox/$n""#
        ),
        // Seeds 000 and 002: a draft in scratch, and a copy of it. A mailbox of another protocol has an inbox for
        // this one at its home in the room.
        Kind::Workspace => {
            let place = match way.works {
                Kind::Workspace => r#""$AROUND/$PEER/.mailbox/inbox""#,
                _ => r#""$ROOT/$(id "$PEER")/.mailbox/inbox""#,
            };
            format!(
                r#"d={place}; mkdir -p "$d"; own="$AROUND/$ME/.mailbox"
                {{ echo ---; echo 'REQUEST_ID: {id}'; echo 'MESSAGE_TYPE: NEW'; echo "RECEIVER_INBOX_PATH: $d/{id}"
                  echo "REPLY_INBOX_PATH: $own/inbox/{id}"; echo ---; echo; echo 'please build'; }} > "$own/scratch/{id}"
                cp "$own/scratch/{id}" "$d/{id}""#
            )
        }
        // Seed 003: a file in the inbox of that name in its own tree.
        Kind::Tree => format!(
            r#"d="$AROUND/project/.claude/inboxes/$PEER"; mkdir -p "$d"
            {{ echo ---; echo 'id: {id}'; echo "from: $ME"; echo "to: $PEER"; echo 'priority: high # low | normal | high | urgent'
              echo 'status: pending'; echo 'created: 2026-01-02T00:00:00Z'; echo 'context: "Build it"'
              echo ---; echo; echo 'please build'; }} > "$AROUND/draft"; mv "$AROUND/draft" "$d/{id}.md""#
        ),
    };
    hand(room, way.asker(), way.worker(), &script);
}

/// Answers `built` by hand to the only question of the worker.
#[track_caller]
pub(crate) fn answer(room: &TestRoom, way: Way) {
    let script = match way.works {
        // Seed 001: stage, move into the inbox of `from`, file the question away.
        Kind::Maildir => {
            r#"cd "$ROOT/$(id "$ME")"; f=$(ls inbox); to=$(field from "inbox/$f"); q=$(field msg_id "inbox/$f")
            n=20260102T000000Z-feed1111-answer.md
            { echo ---; echo "from: $(id "$ME")"; echo 'msg_id: feed1111-0000-4000-8000-000000000000'
              echo "subject: re: $(field subject "inbox/$f")"; echo "reply_to: $q"; echo "to: $to"; echo ---; echo; echo built; } > "$ROOT/$to/tmp/$n"
            mv "$ROOT/$to/tmp/$n" "$ROOT/$to/inbox/$n"; mv "inbox/$f" archive/"#
        }
        // Seeds 000 and 002: a draft in scratch, a copy to where the request says, the request removed.
        Kind::Workspace => {
            r#"cd "$AROUND/$ME/.mailbox"; f=$(ls inbox); to=$(field REPLY_INBOX_PATH "inbox/$f")
            { echo ---; echo "REQUEST_ID: $(field REQUEST_ID "inbox/$f")"; echo 'MESSAGE_TYPE: REPLY'
              echo "RECEIVER_INBOX_PATH: $to"; echo "REPLY_INBOX_PATH: $(field RECEIVER_INBOX_PATH "inbox/$f")"; echo ---; echo; echo built; } > "scratch/$f"
            cp "scratch/$f" "$to"; rm "inbox/$f""#
        }
        // Seed 003: a response in the outbox, and the status of the request.
        Kind::Tree => {
            r#"cd "$AROUND/project/.claude"; f=$(ls "inboxes/$ME"); q=$(field id "inboxes/$ME/$f")
            { echo ---; echo "id: $q-response"; echo "request_id: $q"; echo "from: $ME"; echo "to: $(field from "inboxes/$ME/$f")"
              echo 'status: completed # done'; echo 'created: 2026-01-02T00:00:00Z'; echo ---; echo; echo built; } > "outboxes/$ME/$q-response.md"
            sed 's/^status: pending/status: completed/' "inboxes/$ME/$f" > tmp; mv tmp "inboxes/$ME/$f""#
        }
    };
    hand(room, way.worker(), way.asker(), script);
}

/// Insists that a hand finds the answer where its own protocol says, by what it knows its question by.
#[track_caller]
pub(crate) fn finds_answer(room: &TestRoom, way: Way, question: &str) {
    let inbox = way.asks.inbox(room, way.asker());
    let name = inbox.only();
    let text = inbox.text(&name);
    match way.asks {
        Kind::Maildir => {
            assert_eq!(inbox.field("reply_to"), question, "{text}");
            assert_eq!(inbox.field("from"), room.id(way.worker()), "{text}");
        }
        Kind::Workspace => {
            assert_eq!((name.as_str(), inbox.field("REQUEST_ID").as_str()), (question, question), "{text}");
            assert_eq!(inbox.field("MESSAGE_TYPE"), "REPLY", "{text}");
        }
        Kind::Tree => {
            assert_eq!(inbox.field("request_id"), question, "{text}");
            assert_eq!(
                (inbox.field("status"), inbox.field("from")),
                ("completed".into(), way.worker().into())
            );
            for key in ["workflow:", "step:"] {
                assert!(!text.lines().any(|line| line.starts_with(key)), "an answer is no task: {text}");
            }
        }
    }
    assert!(text.contains("built\n"), "{text}");
}
